"""Coded films, made once."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

if importlib.util.find_spec("av") is None or importlib.util.find_spec("cv2") is None:
    collect_ignore_glob = ["test_*.py"]  # decoding needs fabula[features]


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four films of 35 to 56 s."""
    from tests.narration.toys import small_films, write_films, write_refs

    folder = tmp_path_factory.mktemp("coded")
    write_refs(folder / "refs.json", write_films(folder / "films", small_films(4)))
    return folder
