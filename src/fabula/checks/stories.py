"""Stories: events of videos, in any format of fabula.io; --fix writes the format that was read."""

from __future__ import annotations

from pathlib import Path

from fabula import io
from fabula.checks._check import CheckRequest, Kind, Mended, Report, durations, examine
from fabula.checks._repair import DEEDS, repair
from fabula.core.errors import SpecError
from fabula.data.statistics import Statistics
from fabula.data.stories import Corpus


def references(request: CheckRequest) -> list[Corpus]:
    return [io.read(path, request.refs_format)[0] for path in request.refs]


def look(request: CheckRequest) -> tuple[Report, str]:
    corpus, notes = io.read(request.path, request.format)
    return examine(corpus, references(request), notes, request.only), corpus.format


def mend(request: CheckRequest, target: Path) -> Mended:
    """In the format that was read; in Fabula's own where that cannot be written."""
    corpus, _ = io.read(request.path, request.format)
    repaired, deeds = repair(corpus, durations(corpus, references(request)))
    to = corpus.format if io.find(corpus.format)[0].write else "fabula"
    io.check_name(target, to)
    notes = io.write(repaired, target, to)
    return Mended(to, [d.to_dict() for d in deeds], DEEDS, notes.lines())


def count_statistics(request: CheckRequest) -> Statistics:
    corpus, _ = io.read(request.path, request.format)
    return Statistics.of(corpus, durations(corpus, references(request)))


def knows_name(format: str) -> bool:
    try:
        return bool(io.find(format))
    except SpecError:
        return False


KIND = Kind(
    name="stories",
    tasks=("dense", "procedure"),
    knows=lambda path: True,  # what nobody else knows: the error then lists the formats of stories
    named=knows_name,
    look=look,
    mend=mend,
    statistics=count_statistics,
    last=9,
)
