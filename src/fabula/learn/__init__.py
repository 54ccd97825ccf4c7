"""Training: the only folder that imports torch; no evaluation imports it."""
