"""SODA."""
