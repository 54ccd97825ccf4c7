"""Visual Genome."""
