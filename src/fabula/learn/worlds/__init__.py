"""Simulated worlds to train in: a recipe in, annotations and features out. They say nothing of real film."""
