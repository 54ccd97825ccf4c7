"""Scores and tables: predictions against references, systems side by side, what there is."""
