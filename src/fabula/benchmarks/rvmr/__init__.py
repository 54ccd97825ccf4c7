"""TVR-Ranking."""
