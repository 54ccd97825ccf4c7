"""VTimeLLM."""
