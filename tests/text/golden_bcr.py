"""Reads the outputs of the official tools, which live beside the repository; without them a test is skipped."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "golden"


def rows(name: str) -> list[dict[str, Any]]:
    file = FOLDER / f"{name}.jsonl.gz"
    if not file.exists():
        pytest.skip(f"no golden outputs of the official tools: {file} is absent")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
