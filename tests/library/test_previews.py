"""Previews: made once for a stretch of a file, a minute at most, the oldest gone first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabula.library.page import previews as module
from fabula.library.page.previews import LONGEST, MOST_FILES, Previews


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """The stretches that were cut; a file of their times stands for a film."""
    seen: list[tuple[float, float]] = []

    def cut(path: Path, start: float, end: float, out: Path) -> None:
        seen.append((start, end))
        out.write_text(f"{start} {end}")
        if start < 0:
            raise ValueError("no such stretch")

    monkeypatch.setattr(module, "cut", cut)
    return seen


@pytest.fixture
def film(tmp_path: Path) -> Path:
    (tmp_path / "film.avi").write_bytes(b"film")
    return tmp_path / "film.avi"


@pytest.fixture
def kept() -> Iterator[Previews]:
    previews = Previews()
    yield previews
    previews.folder.cleanup()


def test_a_stretch_is_made_once_and_another_anew(made, film, kept):
    first = kept.get(film, 1.0, 3.0)
    assert kept.get(film, 1.0, 3.0) == first == kept.get(film, 1.001, 3.001) and first.read_text() == "1.0 3.0"
    others = [kept.get(film, start, end) for start, end in ((1.04, 3.0), (1.0, 3.04), (0.96, 3.0))]
    assert len({first, *others}) == 4 and made == [(1.0, 3.0), (1.04, 3.0), (1.0, 3.04), (0.96, 3.0)]
    os.utime(film, (1, 1))
    assert kept.get(film, 1.0, 3.0) != first  # the film is another one


def test_of_a_long_stretch_its_beginning(made, film, kept):
    kept.get(film, 5.0, 500.0)
    assert made == [(5.0, 5.0 + LONGEST)] and LONGEST == 60


def test_the_one_that_was_asked_for_longest_ago_goes(made, film, kept):
    files = [kept.get(film, float(i), i + 1.0) for i in range(MOST_FILES)]
    kept.get(film, 0.0, 1.0)  # asked for again: now the second is the oldest
    last = kept.get(film, 99.0, 100.0)
    assert [f.exists() for f in (*files[:3], last)] == [True, False, True, True] and len(kept.files) == MOST_FILES


def test_what_cannot_be_cut_leaves_nothing(made, film, kept):
    with pytest.raises(ValueError, match="no such stretch"):
        kept.get(film, -1.0, 1.0)
    assert not kept.files and not list(Path(kept.folder.name).iterdir())
