"""Captionsets as files: lines of clips in, the challenge's lines out; and captions without knowing who is who.

The ending of a file says what is written:

.jsonl, .json   captionsets
.csv, .tsv      a line a clip: `clip ⇥ [id],[id]`, where blanks are filled in (the fill-in challenge's submission); else
                `clip ⇥ caption`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Literal

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, name_id
from fabula.documents.document import open_document
from fabula.documents.fields import Source
from fabula.documents.files import LINES, check_path, write_text
from fabula.evaluate.identity import ids_in, rewrite
from fabula.io import identity
from fabula.io.identity import captionsets, clip_captions, fillin
from fabula.io.identity.captionsets import Sets, SetText
from fabula.text.identity import ID, label, pattern

People = Literal["model", "same", "different"]
NAMES = ("captionsets", "fillin", "clip-captions", "fillin-sets")  # of the formats that captionsets are written in


def read_captionsets(
    path: str | Path,
    notes: Notes,
    format: str | None = None,
    sets: Path | None = None,
    grouped: identity.Grouped = "disjoint",
    ids: Path | None = None,
) -> Sets:
    """A file of captionsets or of captions of clips, people as P1, P2, …"""
    found = identity.read_sets(path, notes, format, sets, grouped, ids)
    if sets is not None and not identity.is_table(path):
        notes.add("--sets is not read: the file says itself which clips belong together", name_id(sets.name))
    tags = pattern(None)
    return {name: rewrite(one, tags) for name, one in found.items()}


# --- who is who ------------------------------------------------------------------------------------------------------


def overwrite_people(captions: Iterable[str], people: People) -> tuple[str, ...]:
    """Captions with all their ids P1, or P1, P2, P3, … in the order of occurrence: the baselines of Table 5."""
    if people == "model":
        return tuple(captions)
    number = count(1)
    return tuple(ID.sub(lambda _: "P1" if people == "same" else f"P{next(number)}", text) for text in captions)


def overwrite_set(one: SetText, people: People) -> SetText:
    """A captionset with such people in its captions and its blanks."""
    number = count(1)
    blanks = tuple(tuple("P1" if people == "same" else f"P{next(number)}" for _ in clip) for clip in one.blanks or ())
    return replace(
        one,
        captions=None if one.captions is None else overwrite_people(one.captions, people),
        blanks=None if one.blanks is None else blanks,
    )


# --- files -----------------------------------------------------------------------------------------------------------


def check_ending(path: str | Path) -> None:
    """Refuse a file whose ending does not say what is written."""
    path = Path(path)
    if not is_table(path) and not is_lines(path) and path.name.removesuffix(".gz")[-5:].lower() != ".json":
        raise SpecError(f"{path}: captionsets are written as .jsonl, .json or .csv (a line a clip); end the name so")


def is_table(path: Path) -> bool:
    return Path(path.name.removesuffix(".gz")).suffix.lower() in clip_captions.TABLES


def is_lines(path: Path) -> bool:
    return path.name.endswith(LINES) or path.is_relative_to("/dev")


def guess_format(sets: Mapping[str, SetText], path: Path) -> str:
    """By the ending; of tables, ids where blanks are filled in."""
    check_ending(path)
    if not is_table(path):
        return "captionsets"
    return "fillin" if any(one.blanks is not None for one in sets.values()) else "clip-captions"


def write_captionsets(sets: Mapping[str, SetText], path: str | Path, format: str | None = None) -> str:
    """Captionsets as a file, by its ending or in a format of NAMES; returns the format."""
    path = check_path(path)
    format = format or guess_format(sets, path)
    target = Source(open_document(path), Notes(), noun="captionset")
    if (format == "captionsets") == is_table(path):
        ending = ".jsonl or .json" if format == "captionsets" else ".csv or .tsv"
        raise SpecError(f"{path}: the format {format} is written as {ending}")
    write_text(path, list_texts(sets, path, format, target))
    return format


def list_texts(sets: Mapping[str, SetText], path: Path, format: str, target: Source) -> Iterator[str]:
    if format == "fillin":
        return fillin.write_labels(collect_labels(sets, target), target)
    if format == "clip-captions":
        return clip_captions.write_captions(collect_captions(sets, target), target)
    if format == "fillin-sets":
        return fillin.write_grouping((clips_of(id, one, target) for id, one in sets.items()), target)
    lines = captionsets.write_sets(sets, target)
    return lines if is_lines(path) else as_list(lines)


def as_list(lines: Iterable[str]) -> Iterator[str]:
    """Lines of JSON as one list."""
    before = "["
    for line in lines:
        yield f"{before}\n{line.rstrip()}"
        before = ","
    yield "\n]\n" if before == "," else "[]\n"


def clips_of(id: str, one: SetText, target: Source) -> tuple[str, ...]:
    if not one.clips:
        raise target.wrong("no clips are named", id, None, 'a line of a table is a clip: add "clips": [name, …]')
    return one.clips


def by_clip(sets: Mapping[str, SetText], target: Source, what: str) -> Iterator[tuple[str, str, int]]:
    """Set, clip and the clip's place in it; every clip once."""
    known: set[str] = set()
    for id, one in sets.items():
        for k, clip in enumerate(clips_of(id, one, target)):
            if clip in known:
                raise InputError(
                    f"in two sets, so that it has two {what}", file=target.document, video=clip, noun="clip",
                    hint="write captionsets (.jsonl), or predict sets that do not overlap",
                )  # fmt: skip
            known.add(clip)
            yield id, clip, k


def collect_labels(sets: Mapping[str, SetText], target: Source) -> fillin.Labels:
    """The ids in the blanks of every clip: those filled in, or those its caption names."""
    rows = {id: ids_in(one, True) or () for id, one in sets.items()}
    for id, one in sets.items():
        if len(rows[id]) != len(clips_of(id, one, target)):
            problem = f"blanks of {len(rows[id])} clips, where the set has {len(one.clips or ())}"
            raise target.wrong(problem, id, None, "give blanks, or captions, clip by clip")
    return {clip: tuple(map(label, rows[id][k])) for id, clip, k in by_clip(sets, target, "lines of ids")}


def collect_captions(sets: Mapping[str, SetText], target: Source) -> dict[str, str]:
    """The caption of every clip."""
    for id, one in sets.items():
        if one.captions is None or len(one.captions) != len(clips_of(id, one, target)):
            problem = f"{len(one.captions or ())} captions for {len(one.clips or ())} clips"
            raise target.wrong(problem, id, None, "a caption a clip")
    return {clip: (sets[id].captions or ())[k] for id, clip, k in by_clip(sets, target, "captions")}
