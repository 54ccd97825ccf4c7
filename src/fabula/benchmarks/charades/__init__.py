"""Charades-STA."""
