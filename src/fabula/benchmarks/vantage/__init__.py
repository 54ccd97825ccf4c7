"""VANTAGE-Bench."""
