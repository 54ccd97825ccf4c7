"""People in videos: faces found, followed, embedded and grouped; corrected by hand; cut into clips for MICap.

    from fabula.media.people import Cast
    cast = Cast.of("film.mp4")           needs fabula[faces], or weights that you name

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.lazy_package import load_lazily

__all__ = [
    "Cast",
    "Clip",
    "Faces",
    "FilmedVideo",
    "Plan",
    "clusterer",
    "cut_cast",
    "face_model",
    "find_cast",
    "find_people",
    "rebuild_faces",
    "shots_as_clips",
    "write_streams",
]

if TYPE_CHECKING:
    from fabula.media.extract import Plan
    from fabula.media.people.cast import Cast, Faces, FilmedVideo
    from fabula.media.people.cluster import clusterer
    from fabula.media.people.find import find_cast, find_people
    from fabula.media.people.parse import face_model, rebuild_faces
    from fabula.media.people.streams import Clip, cut_cast, shots_as_clips, write_streams

load_lazily(
    __name__,
    {
        "Cast": "cast",
        "Clip": "streams",
        "Faces": "cast",
        "Plan": "find",
        "FilmedVideo": "cast",
        "clusterer": "cluster",
        "cut_cast": "streams",
        "face_model": "parse",
        "find_cast": "find",
        "find_people": "find",
        "rebuild_faces": "parse",
        "shots_as_clips": "streams",
        "write_streams": "streams",
    },
)
