"""Tests of fabula.annotate."""
