"""Films with painted marks in place of faces, so that who is where at every moment is known."""

from __future__ import annotations

import colorsys
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.media.conftest import write_video

if importlib.util.find_spec("av") is None or importlib.util.find_spec("cv2") is None:
    collect_ignore_glob = ["test_*.py"]  # needs fabula[features]

H, W, SIDE = 96, 160, 28
MARKS = {"detector": "marks", "embedder": "marks"}


def colour(person: int) -> list[int]:
    """Strong colours far from one another."""
    return [round(255 * v) for v in colorsys.hsv_to_rgb(person / 6, 1, 1)]


def scene(who: Mapping[int, tuple[int, int]], back: int = 60) -> Any:
    """A picture with people at (x, y)."""
    made = np.full((H, W, 3), back, np.uint8)
    for person, (x, y) in who.items():
        made[y : y + SIDE, x : x + SIDE] = colour(person)
    return made


def film(path: Path, shots: list[tuple[int, dict[int, tuple[int, int]]]], fps: int = 10) -> Path:
    """Shots of so many pictures with people who walk to the right; each shot has another background."""
    pictures = []
    for k, (length, who) in enumerate(shots):
        back = (60, 220, 120)[k % 3]
        for t in range(length):
            pictures.append(scene({p: (x + t // 2, y) for p, (x, y) in who.items()}, back))
    return write_video(path, pictures, fps=fps)


@pytest.fixture(scope="session")
def cast_films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two films: persons 0, 1 | 0, 2 | 1 and 2, 0 | nobody."""
    folder = tmp_path_factory.mktemp("cast")
    film(folder / "a.mkv", [(20, {0: (5, 10), 1: (90, 40)}), (20, {0: (60, 40), 2: (5, 5)}), (20, {1: (30, 30)})])
    film(folder / "b.mkv", [(20, {2: (10, 30), 0: (80, 20)}), (20, {})])
    return folder


@pytest.fixture(scope="session")
def cast(cast_films: Path) -> Any:
    from fabula.media.people import Cast

    return Cast.of(cast_films, **MARKS)
