"""A package that is not Fabula's: a task and a model that it offers by entry points (see tests/learn/test_tasks.py)."""
