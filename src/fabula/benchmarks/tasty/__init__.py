"""Tasty."""
