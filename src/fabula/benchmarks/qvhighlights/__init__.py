"""QVHighlights."""
