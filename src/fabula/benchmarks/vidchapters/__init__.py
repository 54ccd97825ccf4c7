"""VidChapters."""
