"""The nouns, the errors and the registry: everything stands on these, and they stand on nothing of ours."""
