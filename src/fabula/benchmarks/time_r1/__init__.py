"""Time-R1."""
