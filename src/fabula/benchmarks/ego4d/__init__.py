"""Ego4D."""
