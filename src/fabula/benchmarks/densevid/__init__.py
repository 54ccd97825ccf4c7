"""densevid_eval."""
