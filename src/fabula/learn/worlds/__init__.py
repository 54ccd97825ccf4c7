"""Simulated worlds to train in: a recipe in, annotations and features out. What is learnt there says nothing of real film."""
