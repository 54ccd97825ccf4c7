"""lmms-eval."""
