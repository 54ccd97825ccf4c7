"""File ↔ core: one file per format; each says in its report what it fixed."""
