"""The official SPICE's output, beside the repository (../shared/data); without it a test is skipped."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared(name: str) -> Path:
    file = FOLDER / name
    if not file.exists():
        pytest.skip(f"no shared data: {file} is absent")
    return file


@cache
def read(name: str) -> list[dict[str, Any]]:
    with gzip.open(FOLDER / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def rows(name: str) -> list[dict[str, Any]]:
    shared(name)
    return read(name)
