"""A kept list as files: a submission that `fabula score --task moments` reads, or clips in a .zip.

The list comes from a browser and is believed in nothing: a moment is a key of the catalogue and two times inside its
video; the name that is written is the store's own.
"""

from __future__ import annotations

import io
import json
import math
import re
import tempfile
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fabula.core.errors import FabulaError, SpecError, shown
from fabula.data.moments import Id, Ranking, VideoNumbers
from fabula.documents.document import open_document
from fabula.documents.fields import JsonDict, Source
from fabula.io.moments.lines import write_rankings
from fabula.library.page.catalogue import Catalogue
from fabula.library.page.cut import Cut, cut
from fabula.library.store import Video

MOST = 200  # moments of a list
LONGEST = 1800.0  # seconds of all clips together
WORDS = 500  # characters of a query's id
SLACK = 0.5  # seconds that a moment may reach beyond its video: times are rounded
PIECE = 1 << 16


class ExportedMoment(NamedTuple):
    """One moment of a list."""

    query: Id
    video: Video  # of the store's table
    start: float
    end: float
    score: float | None


def read_moments(sent: object, catalogue: Catalogue) -> list[ExportedMoment]:
    """What a page sends, checked. A moment of a video that is no longer there is an error that says which."""
    rows = sent.get("moments") if isinstance(sent, dict) else None
    if not isinstance(rows, list) or not rows:
        raise SpecError("the list is empty; keep a moment first")
    if len(rows) > MOST:
        raise SpecError(f"{len(rows):,} moments; at most {MOST} are exported at once")
    return [read_one(row, k + 1, catalogue) for k, row in enumerate(rows)]


def read_one(row: object, place: int, catalogue: Catalogue) -> ExportedMoment:
    if not isinstance(row, dict):
        raise SpecError(f"moment {place} is {shown(row)}, no moment")
    query, key = row.get("query"), row.get("video")
    if not isinstance(query, str | int) or isinstance(query, bool) or not str(query).strip() or len(str(query)) > WORDS:
        raise SpecError(f"moment {place} has no query of at most {WORDS} characters")
    video = catalogue.find(key) if isinstance(key, str) else None
    if video is None:
        raise SpecError(f"moment {place} is of a video that the store no longer has; take it off the list")
    start, end = read_number(row.get("start")), read_number(row.get("end"))
    if start is None or end is None or not 0 <= start < end <= (video.duration or math.inf) + SLACK:
        span = f"{shown(row.get('start'))} to {shown(row.get('end'))}"
        raise SpecError(f"moment {place} lasts from {span}, which is no stretch of {shown(video.video)}")
    return ExportedMoment(query, video, start, end, read_number(row.get("score")))


def read_number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e9:
        return None
    return float(value)


def write_submission(marks: Sequence[ExportedMoment]) -> str:
    """A line a query, its moments best first (those without a score last, as they were kept)."""
    numbers, groups = VideoNumbers(), dict[Id, list[ExportedMoment]]()
    for one in marks:
        groups.setdefault(one.query, []).append(one)

    def rank() -> Iterator[Ranking]:
        for query, members in groups.items():
            members = sorted(members, key=lambda m: math.inf if m.score is None else -m.score)
            spans = np.array([(m.start, m.end) for m in members])
            scores = np.array([m.score for m in members], float) if all(m.score is not None for m in members) else None
            yield Ranking(query, spans, scores, np.array([numbers[m.video.video] for m in members], np.int64))

    return "".join(write_rankings(rank(), numbers, Source(open_document(Path("submission.jsonl")), noun="query")))


class Pipe(io.RawIOBase):
    """What a zip file is written into while it is read."""

    def __init__(self) -> None:
        self.buffer = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.buffer += data
        return len(data)

    def take(self) -> bytes:
        data, self.buffer = bytes(self.buffer), bytearray()
        return data


def check_length(marks: Iterable[ExportedMoment]) -> None:
    total = sum(m.end - m.start for m in marks)
    if total > LONGEST:
        raise SpecError(f"{total:,.0f} s of clips; at most {LONGEST:,.0f} s are cut at once: export a shorter list")


def zip_clips(
    marks: Sequence[ExportedMoment], catalogue: Catalogue, plain: Callable[[str], str] = str
) -> Generator[bytes, None, None]:
    """The bytes of a .zip, clip by clip as they are cut: the clips, list.jsonl, and the submission.

    What could not be cut stands in list.jsonl with its reason.
    """
    pipe, failures = Pipe(), list[str]()
    with tempfile.TemporaryDirectory(prefix="fabula-clips-") as work, zipfile.ZipFile(pipe, "w") as out:
        for k, one in enumerate(marks):
            name, data = (
                f"{k + 1:03d}-{tidy(one.video.video)}-{one.start:.1f}-{one.end:.1f}.mp4",
                Path(work) / "clip.mp4",
            )
            about: JsonDict = {"query": one.query, "video": one.video.video, "start": one.start, "end": one.end}
            try:
                done = cut_one(one, catalogue, data)
                out.write(data, name)
                about |= {"clip": name, "begins": round(done.start, 3), "ends": round(done.end, 3), "how": done.how}
            except (FabulaError, OSError, ValueError) as error:
                about |= {"clip": None, "problem": plain(str(error)).replace(str(work), "")}
            finally:
                data.unlink(missing_ok=True)
            failures.append(json.dumps(about, ensure_ascii=False) + "\n")
            yield pipe.take()
        out.writestr("list.jsonl", "".join(failures))
        out.writestr("submission.jsonl", write_submission(marks))
    yield pipe.take()


def cut_one(one: ExportedMoment, catalogue: Catalogue, out: Path) -> Cut:
    path = catalogue.path(one.video)
    if path is None:
        raise SpecError(f"{shown(one.video.video)} is no longer where it was indexed")
    return cut(path, one.start, one.end, out)


def tidy(video: str) -> str:
    """A name that no system stumbles over."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", Path(video).stem)[:60].strip("._") or "video"
