"""(candidate, references) → number: one caption metric per file, its equation on top; no video is seen here."""
