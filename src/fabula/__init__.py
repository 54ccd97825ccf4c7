"""Fabula: scores, matches, trains and builds data for systems that tell the story of a video."""

__version__ = "0.1.0"
