"""What a check is, how checks run over a file, and what a kind of file is.

A check has an id, a level, one sentence, and a function that finds the places. A kind of file says how it is
recognised, checked and repaired: one module of this package per kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from fabula.core.notes import Notes
from fabula.data.ids import reconcile, respell_id
from fabula.data.statistics import Statistics, find_covered
from fabula.data.stories import Corpus, Event, Story
from fabula.documents.document import Document
from fabula.io.idlist import IdList

if TYPE_CHECKING:
    from fabula.documents.safe_open import File

Level = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where, and what was seen there. No video: the file as a whole."""

    video: str | int | None
    event: int | None = None
    detail: str = ""
    part: str = "event"  # what an id has several of: events, boxes, windows, blanks

    def __str__(self) -> str:
        where = (
            []
            if self.video is None
            else [repr(self.video) + (f" {self.part} {self.event}" if self.event is not None else "")]
        )
        return " ".join([*where, *([self.detail] if self.detail else [])])

    def to_dict(self) -> dict[str, object]:
        return {"video": self.video, "event": self.event, "seen": self.detail}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What checks look at: the stories, all words with their places, and what the references know."""

    corpus: Corpus  # empty where single captions are looked at
    words: tuple[tuple[str | int, int | None, str | None], ...]  # whose, which event, what it says
    durations: Mapping[str, float] = field(default_factory=dict)  # the file's own, else the references'
    known: frozenset[str | int] | None = None  # ids of the references; None where there are none
    part: str = "event"  # what the numbers in places count
    more: object = None  # what a family of checks brings for itself: boxes, rankings, blanks

    def events(self) -> Iterator[tuple[str, int, Event]]:
        for video, story in self.corpus.items():
            for i, event in enumerate(story.events):
                yield video, i, event

    def timed(self) -> Iterator[tuple[str, Story, float]]:
        """The stories whose duration is known."""
        for video, story in self.corpus.items():
            if video in self.durations:
                yield video, story, self.durations[video]

    @property
    def ids(self) -> list[str | int]:
        return list(dict.fromkeys([*self.corpus, *(whose for whose, _, _ in self.words)]))


@dataclass(frozen=True, slots=True)
class Check:
    """Looks for one thing."""

    id: str
    level: Level
    about: str  # one sentence: what it is and why it matters
    find: Callable[[Facts], Iterator[Place]]
    fix: str | None = None  # what --fix does about it


@dataclass(frozen=True, slots=True)
class Finding:
    """A check that found something."""

    check: str
    level: Level
    about: str
    places: tuple[Place, ...]
    fix: str | None = None

    def to_dict(self) -> dict[str, object]:
        return {
            "check": self.check,
            "level": self.level,
            "about": self.about,
            "fix": self.fix,
            "count": len(self.places),
            "places": [p.to_dict() for p in self.places],
        }


def span(event: Event) -> str:
    return f"[{event.segment.start:g}, {event.segment.end:g}]"


# --- running them -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Report:
    """What lint found in one file, errors first, and a few numbers about it."""

    findings: tuple[Finding, ...]
    numbers: Mapping[str, float]

    def at(self, level: Level) -> list[Finding]:
        return [f for f in self.findings if f.level == level]

    @property
    def sound(self) -> bool:
        return not self.at("error")

    def count_places(self) -> dict[Level, int]:
        levels: tuple[Level, ...] = ("error", "warning", "info")
        return {level: sum(len(f.places) for f in self.at(level)) for level in levels}

    def to_dict(self) -> dict[str, object]:
        return {
            "numbers": dict(self.numbers),
            "levels": self.count_places(),
            "findings": [f.to_dict() for f in self.findings],
        }


def examine(
    corpus: Corpus, refs: Sequence[Corpus] = (), notes: Notes | None = None, only: IdList | None = None
) -> Report:
    """Every check on stories; ids are matched with the references' as in scoring, `v_x` and `x` being one."""
    remarks = notes or Notes()
    known = dict.fromkeys(v for ref in refs for v in ref) if refs else None
    if known is not None and only is not None:
        known = only.limit(known, remarks)
    met = reconcile(corpus, known, remarks) if known is not None else corpus
    words = tuple((video, i, e.caption) for video, story in met.items() for i, e in enumerate(story.events))
    facts = Facts(
        corpus=met, words=words, durations=durations(met, refs), known=None if known is None else frozenset(known)
    )
    return report(facts, remarks)


def durations(corpus: Corpus, refs: Sequence[Corpus]) -> dict[str, float]:
    """Of each video: its own, else the first that a reference knows."""
    found: dict[str, float] = {}
    for video, story in corpus.items():
        spellings = [video, *respell_id(video)]
        known = [story.duration, *(ref[v].duration for ref in refs for v in spellings if v in ref)]
        if (first := next((d for d in known if d is not None), None)) is not None:
            found[video] = first
    return found


def examine_items(
    captions: Iterable[tuple[str | int, str | None]],
    known: Iterable[str | int] | None = None,
    notes: Notes | None = None,
) -> Report:
    """The checks of words and ids, on single captions."""
    words = tuple((id, None, caption) for id, caption in captions)
    ids = None if known is None else frozenset(known)
    return report(Facts(corpus=Corpus({}), words=words, known=ids), notes or Notes())


def report(facts: Facts, notes: Notes, families: Sequence[str] | None = None) -> Report:
    """What the checks find; of the families named, where a kind of file does not take them all."""
    from fabula.checks import checks

    findings = []
    for check in checks(families):
        if places := tuple(replace(place, part=facts.part) for place in check.find(facts)):
            findings.append(Finding(check.id, check.level, check.about, places, check.fix))
    if lines := notes.lines():
        places = tuple(Place(None, None, line) for line in lines)
        findings.append(Finding("reader", "info", "What the reader noticed.", places))
    return Report(tuple(findings), numbers(facts, with_coverage=families is None))


def numbers(facts: Facts, with_coverage: bool = True) -> dict[str, float]:
    out: dict[str, float] = {
        "videos": len(facts.ids),
        "events": len(facts.words),
        "with_duration": len(facts.durations),
    }
    if with_coverage and (shares := [find_covered(story, long) for _, story, long in facts.timed() if len(story)]):
        out["told"] = fmean(shares)  # mean share of a video that events cover
    if facts.known is not None:
        out["references"] = len(facts.known)
        out["found"] = len(facts.known.intersection(facts.ids))
    return out


# --- kinds of files ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """The file to check, and its references."""

    path: File
    refs: Sequence[File] = ()
    format: str | None = None
    refs_format: str | None = None
    only: IdList | None = None  # which references are meant; None: all

    def limit(self, known: Iterable[str | int], notes: Notes) -> frozenset[str | int]:
        """The ids of the references that are meant."""
        return frozenset(known if self.only is None else self.only.limit(dict.fromkeys(known), notes))


@dataclass(frozen=True, slots=True)
class Mended:
    """The repair of a file: the format of the copy, what that format lost, and each change."""

    format: str
    deeds: Sequence[Mapping[str, object]]  # each has "deed" and its place
    meanings: Mapping[str, str]  # what each deed means
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of file."""

    name: str
    tasks: tuple[str, ...]
    knows: Callable[[Document], bool]  # recognises the beginning of a file
    named: Callable[[str], bool]  # recognises the name of a format
    look: Callable[[CheckRequest], tuple[Report, str]]  # findings, and the name of the format
    mend: Callable[[CheckRequest, Path], Mended]
    statistics: Callable[[CheckRequest], Statistics] | None = None  # means over its videos; None: it has no videos
    last: int = 0  # tried after kinds of a smaller number: its shape includes theirs
