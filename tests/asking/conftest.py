"""Films and a benchmark that all tests of asking share; nobody writes into them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import NamedTuple

import pytest

if any(importlib.util.find_spec(name) is None for name in ("av", "cv2", "httpx")):
    collect_ignore_glob = ["test_*.py"]  # decoding needs fabula[features], asking fabula[llm]


class Shelf(NamedTuple):
    """Where the films are, what is asked, and the films themselves."""

    videos: Path
    bench: Path
    films: list


@pytest.fixture(scope="session")
def shelf(tmp_path_factory) -> Shelf:
    from tests.asking.toys import write_bench, write_films

    folder = tmp_path_factory.mktemp("asking")
    films = write_films(folder / "films", range(3), seconds=30.0)
    return Shelf(folder / "films", write_bench(folder / "bench.json", films), films)
