"""Answers that look at nothing: what a metric gives to them is its floor."""
