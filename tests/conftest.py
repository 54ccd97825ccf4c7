"""Compiled tables are cached in .cache/ (git-ignored): the real METEOR index is built once, not per run."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("FABULA_CACHE", str(Path(__file__).parents[1] / ".cache"))
