"""DenseCap."""
