"""What the task identity scores: sets of clips with their blanks, or with their captions, met by name."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, name_id
from fabula.data.identity import Clip, ClipSet
from fabula.evaluate.base import Request
from fabula.io import identity
from fabula.io.identity import fillin
from fabula.io.identity.captionsets import Sets, SetText
from fabula.text.identity import as_text, hide_ids, ids, pattern, respell_ids


@dataclass(frozen=True, slots=True)
class Gathered:
    """The sets to score, and how many predicted ones are not among them (clips, where the files are of clips)."""

    sets: list[ClipSet]
    unknown: int
    predictions: Path
    grouping: Path  # the file that would have to group blanks


def gather(request: Request, notes: Notes) -> Gathered:
    predictions, refs = request.paths("identity")
    inline = not refs and identity.is_pairs(predictions)
    if len(refs) != 1 and not inline:
        raise SpecError(f"the task identity takes one reference file with --refs, {len(refs)} were given")
    grouping = request.options.sets
    if not inline and all(identity.is_table(f) and identity.holds_ids(f) for f in (predictions, refs[0])):
        if grouping is None:
            raise SpecError("the sets of clips are missing; name their file with --sets (valSets.csv)")
        return clip_by_clip((predictions, refs[0], grouping), notes)
    if grouping is not None and (inline or not any(map(identity.is_table, (predictions, refs[0])))):
        notes.add("--sets is not read: the files say themselves which clips belong together", name_id(grouping.name))
    if inline:
        truth, told = identity.read_inline(predictions, notes)
    else:
        truth = identity.read_sets(refs[0], notes, request.options.refs_format, grouping)
        told = identity.read_sets(predictions, notes, request.options.format, grouping)
    unknown = sum(id not in truth for id in told)
    return Gathered(
        join_sets(truth, told, request.options.people, predictions, notes), unknown, predictions, predictions
    )


def clip_by_clip(files: tuple[Path, Path, Path], notes: Notes) -> Gathered:
    """LSMDC's three files: predictions, references, sets."""
    predictions, refs, grouping = files
    truth, sets = fillin.read_references(refs, notes), fillin.read_grouping(grouping, notes)
    given = fillin.read_predictions(predictions, notes)
    found = fillin.join_labels(truth, given, sets, (refs, predictions, grouping), notes)
    known = sum(clip.given is not None for s in found for clip in s.clips)
    return Gathered(found, len(given) - known, predictions, grouping)


def join_sets(truth: Sets, given: Sets, people: str | None, file: Path, notes: Notes) -> list[ClipSet]:
    """Both sides met by the names of their sets."""
    if not truth:
        raise InputError("the references have no captionset", hint="check the reference file")
    if given and not any(id in truth for id in given):
        both = f"predictions have {next(iter(given))!r}, references {next(iter(truth))!r}"
        raise InputError("no predicted captionset is among the references", file=file, hint=f"compare the ids: {both}")
    for id in given:
        if id not in truth:
            notes.add("{n} predicted captionsets are not in the references and are not scored", name_id(id))
    for id in truth:
        if id not in given:
            notes.add("{n} captionsets have no prediction (see missing=… in each signature)", name_id(id))
    written = pattern(people)
    truth, given = ({id: rewrite(t, written) for id, t in side.items()} for side in (truth, given))
    filled = fills(truth, given)
    blanks = filled or any(t.blanks is not None for t in given.values())
    return [make_set(id, ref, given.get(id), blanks, filled) for id, ref in truth.items()]


def rewrite(told: SetText, people: re.Pattern[str]) -> SetText:
    return told if told.captions is None else replace(told, captions=tuple(respell_ids(told.captions, people)))


def fills(truth: Sets, given: Sets) -> bool:
    """True where predictions are the references' own words with people filled in: their ids are the answer to FITB."""
    both = [(truth[id].captions, t.captions) for id, t in given.items() if id in truth]
    return bool(both) and all(a and b and list(map(hide_ids, a)) == list(map(hide_ids, b)) for a, b in both)


def make_set(id: str, ref: SetText, pred: SetText | None, blanks: bool, filled: bool) -> ClipSet:
    text = None if ref.captions is None else as_text(ref.captions)
    said = None if pred is None or pred.captions is None else as_text(pred.captions)
    clips: tuple[Clip, ...] = ()
    if blanks:
        truth = ids_in(ref, True) or ()
        given = None if pred is None else ids_in(pred, filled)
        if given is not None and len(given) != len(truth):  # not clip by clip: one for all
            truth, given = (sum(truth, ()),), (sum(given, ()),)
        several = [None] * len(truth) if given is None else list(given)
        clips = tuple(Clip(f"{id} {k}", t, g) for k, (t, g) in enumerate(zip(truth, several, strict=True), 1))
    return ClipSet(clips, name=id, candidate=said, reference=text)


def ids_in(told: SetText, captions: bool) -> tuple[tuple[str, ...], ...] | None:
    """The ids of a side, clip by clip: those it fills in, or those its captions name."""
    if told.blanks is not None or not captions or told.captions is None:
        return told.blanks
    return tuple(tuple(ids(caption)) for caption in told.captions)
