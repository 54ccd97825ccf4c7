"""Simulated worlds to train in: a recipe in, annotations and features out. They are no evidence about real films."""
