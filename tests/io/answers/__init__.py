"""Tests of fabula.io.answers."""
