"""Tests of fabula.llm."""
