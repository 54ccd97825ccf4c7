"""Stores of the people of coded films, with portraits that are coded, too."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fabula.media.coded.code import PictureCode, draw_code
from fabula.media.coded.film import CodedFilm
from fabula.media.frame_sets import PictureFormat
from fabula.media.people.cast import Cast, Faces, FilmedVideo


def build_cast(films: Mapping[str, CodedFilm], order: Mapping[int, int]) -> Cast:
    """A store that numbers the coded people otherwise: coded person p is number order[p]."""
    rows = []
    for k, film in enumerate(films.values()):
        for i, code in enumerate(film.codes()):
            rows += [(k, i, code.time / 1000, int(name[1:])) for name in code.names()]
    video, frame, time, who = (np.array(column) for column in zip(*rows, strict=True))
    n, person = len(rows), np.array([order[p] for p in who])
    box = np.stack([4 + who, 6 + who, 20 + who, 30 + who], 1).astype(np.float32)
    faces = Faces(
        video, frame, time.astype(float), np.zeros(n, int), person, box, np.ones(n, np.float32), np.ones((n, 1), "f4")
    )
    videos = tuple(FilmedVideo(id, film.seconds, 80, 60, np.array([[0, film.seconds]])) for id, film in films.items())
    portrait = PictureFormat(side=0, quality=95)
    thumbs = {order[p]: portrait.write(draw_code(PictureCode(0, people=1 << (p - 1)), 60, 72)) for p in order}
    return Cast(videos, faces, person, {}, thumbs, {"recipe": {"look": {"fps": 2}}})
