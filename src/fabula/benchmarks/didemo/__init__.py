"""DiDeMo."""
