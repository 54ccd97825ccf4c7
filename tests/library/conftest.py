"""Small films of plain colours, and stores of them; the browser is that of the report's tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tests.media.conftest import write_video
from tests.report.conftest import chromium, screenshots

__all__ = ["chromium", "screenshots"]

if importlib.util.find_spec("av") is None or importlib.util.find_spec("lancedb") is None:
    collect_ignore_glob = ["test_*.py"]  # needs fabula[search]

RED, GREEN, BLUE, WHITE = (230, 20, 20), (20, 190, 20), (20, 20, 230), (250, 250, 250)


def film(path: Path, *colours: tuple[int, int, int], fps: int = 4) -> Path:
    """One second of each colour."""
    pictures = [np.full((48, 64, 3), colour, np.uint8) for colour in colours for _ in range(fps)]
    return write_video(path, pictures, fps=fps)


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    """Three films: of 4, 5 and 1 seconds; one in a folder."""
    folder = tmp_path / "videos"
    (folder / "inner").mkdir(parents=True)
    film(folder / "a.mkv", RED, RED, GREEN, GREEN)
    film(folder / "b.mkv", BLUE, BLUE, WHITE, WHITE, RED)
    film(folder / "inner" / "c.mkv", GREEN)
    (folder / "notes.txt").write_text("no video")
    return folder
