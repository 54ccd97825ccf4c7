"""Tests of fabula.io.stories."""
