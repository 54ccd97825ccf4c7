"""Tarsier and DREAM-1K."""
