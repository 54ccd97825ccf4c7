"""E.T. Bench."""
