"""People filled into blanks (LSMDC, captionsets): is there an id for every blank, and is it spelled as one?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fabula.checks._check import Check, CheckRequest, Facts, Kind, Mended, Place, Report, report
from fabula.core.errors import SpecError, shown
from fabula.core.notes import Notes
from fabula.data.stories import Corpus
from fabula.documents.document import Document, open_document
from fabula.documents.fields import Source
from fabula.documents.files import check_path, has_lines, write_text
from fabula.io import identity as files
from fabula.io.identity import captionsets, fillin
from fabula.io.identity.captionsets import SetText

SPELLED = re.compile(r"\[[^\[\]\s'\",]+\]|[^\[\]\s'\",]+")  # [PERSON1] or PERSON1, nothing else
NOBODY = re.compile(r"(\w*_)?(PERSON|SOMEONE|BLANK|UNK)", re.IGNORECASE)  # a placeholder that nobody filled
AROUND = " \t[]'\""


@dataclass(frozen=True, slots=True)
class Filled:
    """The ids of every clip, as they are spelled; and the blanks that the references have."""

    clips: Mapping[str, tuple[str, ...]]
    blanks: Mapping[str, int] | None = None


def ids(facts: Facts) -> Iterator[tuple[str, int, str]]:
    """Every id with its place; a lone `_` is no id."""
    if isinstance(facts.more, Filled):
        for clip, labels in facts.more.clips.items():
            yield from ((clip, i, id) for i, id in enumerate(labels) if labels != (fillin.NO_BLANK,))


def malformed(facts: Facts) -> Iterator[Place]:
    return (Place(clip, i, shown(id)) for clip, i, id in ids(facts) if bare(id) and not SPELLED.fullmatch(id))


def nobody(facts: Facts) -> Iterator[Place]:
    for clip, i, id in ids(facts):
        if bare(id) in ("", fillin.NO_BLANK) or NOBODY.fullmatch(bare(id)):
            yield Place(clip, i, shown(id))


def unlike(facts: Facts, more: bool) -> Iterator[Place]:
    """Clips with more ids than blanks, or with fewer."""
    filled = facts.more if isinstance(facts.more, Filled) else Filled({})
    for clip, blanks in (filled.blanks or {}).items():
        labels = [id for id in filled.clips.get(clip, ()) if bare(id) not in ("", fillin.NO_BLANK)]
        if clip in filled.clips and (len(labels) > blanks > 0 if more else len(labels) < blanks):
            yield Place(clip, None, f"{len(labels)} ids for {blanks} blanks")


def needless(facts: Facts) -> Iterator[Place]:
    filled = facts.more if isinstance(facts.more, Filled) else Filled({})
    for clip, blanks in (filled.blanks or {}).items():
        labels = filled.clips.get(clip, (fillin.NO_BLANK,))
        if not blanks and labels not in ((), (fillin.NO_BLANK,)):
            yield Place(clip, None, ", ".join(labels))


def everyone(facts: Facts) -> Iterator[Place]:
    """One person in all blanks of the file: FITB's class is 0."""
    named = [bare(id) for _, _, id in ids(facts) if bare(id)]
    if len(named) > 2 and len(set(named)) == 1:
        yield Place(None, None, f"{shown(named[0])} in all {len(named):,} blanks")


def bare(id: str) -> str:
    return id.strip(AROUND)


CHECKS = (
    Check("too-few-ids", "error", "A blank has no id: it is wrong in all its pairs, and may move all that follow.",
          lambda f: unlike(f, more=False)),
    Check("unfilled", "error", "A blank holds a placeholder instead of somebody.", nobody),
    Check("malformed-id", "warning", "Brackets, quotes or blanks that are not paired around one id: as text it is "
          "somebody else.", malformed, "spell"),
    Check("too-many-ids", "warning", "More ids than blanks: not read, or they move all that follow.",
          lambda f: unlike(f, more=True)),
    Check("one-person", "warning", "Every blank holds the same person.", everyone),
    Check("no-blank", "info", "Ids for a clip that has no blank: not read.", needless),
)  # fmt: skip
FAMILIES = ("identity", "ids")


# The kind -------------------------------------------------------------------------------------------------------------


def look(request: CheckRequest) -> tuple[Report, str]:
    if of_captions(request):
        return look_at_captions(request)
    return look_at_sets(request) if of_sets(request) else look_at_ids(request)


def of_captions(request: CheckRequest) -> bool:
    """Captionsets and captions of clips: by the format's name, or by what the file holds."""
    if request.format:
        return request.format in ("captionsets", "clip-captions")
    return not files.is_table(request.path) or not files.holds_ids(request.path)


def of_sets(request: CheckRequest) -> bool:
    """A file that says which clips belong together: by its name, or by a line of three clips or more."""
    if request.format:
        return request.format == "fillin-sets"
    return any(line.strip().count("\t") > 1 for line in open_document(request.path).text.splitlines())


def look_at_sets(request: CheckRequest) -> tuple[Report, str]:
    """Clips that the references have not, or that are in no set; a clip in two sets cannot be read."""
    notes = Notes()
    words = tuple((clip, None, None) for clips in fillin.read_grouping(request.path, notes) for clip in clips)
    known: frozenset[str | int] | None = None
    if request.refs:
        clips = (clip for ref in request.refs for clip in fillin.read_references(ref, notes))
        known = request.limit(clips, notes)
    return report(Facts(corpus=Corpus({}), words=words, known=known), notes, ("ids",)), "fillin-sets"


def look_at_ids(request: CheckRequest) -> tuple[Report, str]:
    notes = Notes()
    clips = fillin.read_predictions(request.path, notes)
    truth: dict[str, tuple[str, ...]] = {}
    for ref in request.refs:
        truth |= fillin.read_references(ref, notes)
    blanks = {clip: len(labels) for clip, labels in truth.items()} if request.refs else None
    words = tuple((clip, i, id) for clip, labels in clips.items() for i, id in enumerate(labels or ("",)))
    known: frozenset[str | int] | None = request.limit(truth, notes) if request.refs else None
    facts = Facts(corpus=Corpus({}), words=words, known=known, part="blank", more=Filled(clips, blanks))
    return report(facts, notes, FAMILIES), "fillin"


def look_at_captions(request: CheckRequest) -> tuple[Report, str]:
    """Words and ids of sets, as of single captions; their blanks, set by set."""
    notes, truth = Notes(), dict[str, SetText]()
    sets = files.read_sets(request.path, notes, grouped="disjoint")
    for ref in request.refs:
        truth |= files.read_sets(ref, notes, request.refs_format, grouped="disjoint")
    words = tuple((id, i, text) for id, entry in sets.items() for i, text in enumerate(entry.captions or (None,)))
    known: frozenset[str | int] | None = request.limit(truth, notes) if request.refs else None
    blanks = {id: len(ids_of_blanks(entry)) for id, entry in truth.items() if entry.blanks is not None}
    filled = Filled({id: ids_of_blanks(entry) for id, entry in sets.items() if entry.blanks is not None}, blanks)
    caption_report = report(Facts(corpus=Corpus({}), words=words, known=known, part="caption"), notes, ("words", "ids"))
    blank_report = report(Facts(corpus=Corpus({}), words=(), part="blank", more=filled), Notes(), ("identity",))
    both = sorted(
        (*blank_report.findings, *caption_report.findings), key=lambda f: ("error", "warning", "info").index(f.level)
    )
    return Report(tuple(both), caption_report.numbers), "captionsets"


def ids_of_blanks(entry: SetText) -> tuple[str, ...]:
    """The ids in all blanks of a set, end to end."""
    return sum(entry.blanks or (), ())


def mend_captions(request: CheckRequest, target: Path) -> Mended:
    """Every id in a blank without what stands around it; words are never touched."""
    if not has_lines(target):
        raise SpecError(f"the copy is written as lines of JSON; call it {target.stem}.jsonl")
    sets = files.read_sets(request.path, Notes(), grouped="disjoint")
    deeds = [
        {"deed": "spell", "set": id, "blank": i, "before": label, "after": bare(label)}
        for id, entry in sets.items()
        for i, label in enumerate(ids_of_blanks(entry))
        if bare(label) and not SPELLED.fullmatch(label)
    ]
    for id, entry in sets.items():
        if entry.blanks is not None:
            sets[id] = replace(
                entry, blanks=tuple(tuple(bare(label) or label for label in clip) for clip in entry.blanks)
            )
    write_text(check_path(target), captionsets.write_sets(sets, Source(open_document(target))))
    return Mended("captionsets", deeds, {"spell": "wrote an id without what stood around it"})


def mend(request: CheckRequest, target: Path) -> Mended:
    """Every id as [id]; nobody is invented, and nobody taken out."""
    if of_captions(request):
        return mend_captions(request, target)
    if of_sets(request):
        raise SpecError("--fix spells ids; a file of sets has none")
    clips = fillin.read_predictions(request.path, Notes())
    deeds: list[dict[str, object]] = []
    for clip, labels in clips.items():
        for i, id in enumerate(labels):
            if bare(id) and not SPELLED.fullmatch(id):
                deeds.append({"deed": "spell", "clip": clip, "blank": i, "before": id, "after": f"[{bare(id)}]"})
    spelled = {clip: () if labels == (fillin.NO_BLANK,) else tuple(map(bare, labels)) for clip, labels in clips.items()}
    write_text(check_path(target), fillin.write_labels(spelled, Source(open_document(target))))
    return Mended("fillin", deeds, {"spell": "wrote an id as [id]"})


def knows(head: Document) -> bool:
    """Lines with a tab, in a file that is not called JSON; captionsets in one that is."""
    if files.is_table(head):
        columns = head.text.partition("\n")[0].strip().split("\t")
        return len(columns) > 1 and not {"prediction", "answer"} & set(columns)  # those are kits' tables
    return files.is_set(head.first_entry)


KIND = Kind(
    name="identity",
    tasks=("identity",),
    knows=knows,
    named=lambda format: format in {rule.name for rule in files.SHELF.rules},
    look=look,
    mend=mend,
    last=2,
)
