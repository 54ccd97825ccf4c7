"""VLMEvalKit."""
