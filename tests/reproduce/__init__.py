"""Tables of papers: their files, and runs of them that are killed."""
