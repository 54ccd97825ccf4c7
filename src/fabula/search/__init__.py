"""A library of videos that can be asked: a store of clips, a vector stage, moments with a probability, a page."""
