"""When a film is looked at, and the times of texts between looks; with a reader that knows what is painted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabula.media.signs.base import Box, Line, SignModel
from fabula.media.signs.looks import FilmWalk, Stretch
from fabula.media.signs.ocr import HEIGHT, Found
from tests.media.conftest import write_video

FPS = 20
BOX: Box = (0.25, 0.4, 0.75, 0.6)


def picture(text: bool, level: int = 90, seed: int | None = None) -> Any:
    """A white pattern as of letters in BOX, or none."""
    made = np.full((120, 160, 3), level, np.uint8)
    if seed is not None:
        made += np.random.default_rng(seed).integers(0, 60, (120, 160, 1), dtype=np.uint8)
    if text:
        made[50:70, 44:116:6] = 255
        made[50:53, 44:116] = 255
    return made


def read(given: Any, model: SignModel) -> Found:
    if not (given[51, 50:110] > 240).all():
        return Found([], [])
    return Found([Line(BOX, "HI", (1.0, 1.0), (0.0, 0.0), 0.9)], [np.zeros((HEIGHT, 40, 3), np.uint8)])


def walk(path: Path, **settings: Any) -> list[Stretch]:
    return list(FilmWalk(path, SignModel(**settings), read).stretches())


def test_times_are_those_of_pictures_that_were_not_read(tmp_path):
    pictures = [picture(13 <= i < 37, seed=i) for i in range(60)]
    (stretch,) = walk(write_video(tmp_path / "a.mkv", pictures, fps=FPS), fps=2)
    seen = [s for look in stretch.looks for s in look.sightings]
    assert min(s.since for s in seen) == pytest.approx(13 / FPS)
    assert max(s.until for s in seen) == pytest.approx(37 / FPS)


def test_to_the_end_of_the_film(tmp_path):
    pictures = [picture(i >= 7, seed=i) for i in range(30)]
    (stretch,) = walk(write_video(tmp_path / "a.mkv", pictures, fps=FPS), fps=4)
    assert max(s.until for look in stretch.looks for s in look.sightings) == pytest.approx(30 / FPS)


def test_a_picture_that_does_not_change_is_read_seldom(tmp_path):
    path = write_video(tmp_path / "a.mkv", [picture(True)] * 200, fps=FPS)
    (stretch,) = walk(path, fps=4, still=4)
    times = [look.time for look in stretch.looks]
    assert times[0] == 0 and times[1] == pytest.approx(0.1)  # the new text is confirmed
    assert len(times) == 4 and times[-1] > 8
    assert stretch.looks[0].sightings[0].until == pytest.approx(0.1)


def test_a_new_text_is_confirmed_soon(tmp_path):
    pictures = [picture(21 <= i < 26) for i in range(60)]
    (stretch,) = walk(write_video(tmp_path / "a.mkv", pictures, fps=FPS), fps=4)
    assert sum(bool(look.sightings) for look in stretch.looks) >= 2  # a quarter of a second


def test_a_film_of_one_picture(tmp_path):
    (stretch,) = walk(write_video(tmp_path / "a.mkv", [picture(True)], fps=FPS))
    (look,) = stretch.looks
    assert len(look.sightings) == 1 and look.sightings[0].until == pytest.approx(1 / FPS)


def test_a_text_is_followed_where_it_moves(tmp_path):
    def scene(i: int) -> Any:
        return np.roll(picture(True, seed=1), i, axis=1)

    path = write_video(tmp_path / "a.mkv", [scene(i) for i in range(6)] + [picture(False, seed=1)] * 10, fps=FPS)
    (stretch,) = walk(path, fps=1)
    assert stretch.looks[0].sightings and stretch.looks[0].sightings[0].until >= 2 / FPS


def test_finished_minutes_are_not_read_again_and_all_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("fabula.media.signs.looks.STRETCH", 1.0)
    pictures = [picture(i % 37 < 20, seed=i) for i in range(100)]
    path = write_video(tmp_path / "a.mkv", pictures, fps=FPS)
    whole = walk(path)
    assert [stretch.number for stretch in whole] == [0, 1, 2, 3, 4]
    for done in range(1, 5):
        again = FilmWalk(path, SignModel(), read)
        rest = list(again.stretches(lambda k, n=done: round(whole[k].looks[-1].time, 3) if k < n else None))
        assert [s.number for s in rest] == list(range(done, 5))
        assert [s.looks for s in rest] == [s.looks for s in whole[done:]]
