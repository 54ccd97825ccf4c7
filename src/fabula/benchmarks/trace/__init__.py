"""TRACE."""
