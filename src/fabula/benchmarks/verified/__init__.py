"""VERIFIED."""
