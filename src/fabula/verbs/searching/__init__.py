"""A library of videos: indexed, searched, looked at in a browser."""
