"""Run every check over a corpus, or over single captions, and collect what they found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from fabula.checks._check import Facts, Finding, Level, Place
from fabula.core.notes import Notes
from fabula.data.ids import reconcile, respell_id
from fabula.data.stories import Corpus


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

    def to_dict(self) -> dict[str, object]:
        levels: tuple[Level, ...] = ("error", "warning", "info")
        return {
            "numbers": dict(self.numbers),
            "levels": {level: sum(len(f.places) for f in self.at(level)) for level in levels},
            "findings": [f.to_dict() for f in self.findings],
        }


def examine(corpus: Corpus, refs: Sequence[Corpus] = (), notes: Notes | None = None) -> Report:
    """Every check on stories; ids are matched with the references' as in scoring, `v_x` and `x` being one."""
    remarks = notes or Notes()
    known = frozenset(v for ref in refs for v in ref) if refs else None
    met = reconcile(corpus, known, remarks) if known is not None else corpus
    words = tuple((video, i, e.caption) for video, story in met.items() for i, e in enumerate(story.events))
    facts = Facts(corpus=met, words=words, durations=durations(met, refs), known=known)
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
    from fabula.checks.order import find_covered

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
