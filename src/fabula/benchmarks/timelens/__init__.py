"""TimeLens."""
