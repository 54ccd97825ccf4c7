"""TimeChat."""
