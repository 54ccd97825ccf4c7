"""Tests of fabula.io.records."""
