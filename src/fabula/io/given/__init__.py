"""What people have in memory, let in by the door that files come in by: objects, rows of frames, pairs of plain lists.

An object is written down as the file it has the shape of, in a temporary folder that goes when nobody needs it any
more, and is then read like any other: the same checks, the same messages, the same numbers. It keeps its name:
`predictions given as a dict: video 'v_1': event 3 timestamp: …`. Nothing of the user's is changed, and an iterator is
written as it comes, so that what it yields need not fit into memory.

dict                    a document, as in a .json; a line, where it is one
                        {video: [(start, end, caption), …]} as well
list, iterator          entries: the lines of a .jsonl, or a list in a .json where the format is one
list of rows            {"video", "start", "end", "caption"}, as frame.to_dict("records") gives them
Corpus, (Corpus, Notes) what `fabula.read` returns
frame                   pandas, polars, Arrow: a row per event, window, caption, box or line (frames.py)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from fabula.core.errors import FabulaError, InputError
from fabula.core.notes import Notes
from fabula.data.stories import Corpus, Item, Story
from fabula.io.given.frames import gather_rows, is_frame, list_entries
from fabula.io.given.path import Given, keep
from fabula.io.given.plain import Place, name_kind, to_plain
from fabula.io.given.shapes import ENTRY_IDS, find_ending, is_entry, is_event, is_events_by_video, is_labels

__all__ = ["Given", "Hint", "hold", "hold_pairs", "hold_sets", "is_one", "is_texts", "read_stories", "unpack"]


@dataclass(frozen=True, slots=True)
class Hint:
    """What is known of an input besides its shape: what it is called, its side, the task, the format."""

    name: str
    role: str = "predictions"
    task: str | None = None
    format: str | None = None


def unpack(value: Any) -> Any:
    """What `fabula.read` returns is a corpus and its notes; the corpus is what is meant."""
    is_read = isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Notes)
    return value[0] if is_read and isinstance(value[0], Corpus) else value


def is_one(value: Any) -> bool:
    """True for one input, False for a list of several: of paths, corpora, frames, documents, or lists of entries."""
    value = unpack(value)
    if not isinstance(value, list | tuple) or not value:
        return not isinstance(value, list | tuple)
    first = unpack(value[0])
    if isinstance(first, str | Path | Corpus | list | tuple) or is_frame(first):
        return False
    return not isinstance(first, Mapping) or is_entry(first)


def is_texts(value: Any) -> bool:
    """A list, an array or a column of plain captions."""
    if isinstance(value, str | bytes | Mapping | Corpus | Path) or is_frame(value):
        return False
    some = value if isinstance(value, list | tuple) else to_list(value)
    return bool(some) and all(isinstance(text, str) for text in some)


def to_list(value: Any) -> list[Any]:
    """An array or a column as a list; nothing of anything else."""
    try:
        made = value.tolist() if hasattr(value, "tolist") else value.to_list() if hasattr(value, "to_list") else []
    except Exception:
        return []
    return made if isinstance(made, list) else []


@contextmanager
def name_faults(called: str) -> Iterator[None]:
    """What an object of the user's raises when it is looked at, under the name of what was given."""
    try:
        yield
    except FabulaError:
        raise
    except Exception as error:
        problem = f"cannot be read ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        raise InputError(problem, file=called, hint=WANTED) from error


def hold(value: Any, hint: Hint) -> Path:
    """The path of an object's copy; a path is its own."""
    value = unpack(value)
    if isinstance(value, str | Path):
        return value if isinstance(value, Path) else Path(value)
    called = f"{hint.name} given as {name_kind(value)}"
    with name_faults(called):
        return hold_object(value, called, hint)


def read_stories(value: Any, hint: Hint) -> Corpus | None:
    """Plain stories without a copy; None for all else."""
    if not tells_stories(hint):
        return None
    from fabula.io.given.columns import read_plain_stories

    return read_plain_stories(value, f"{hint.name} given as {name_kind(value)}")


def hold_object(value: Any, called: str, hint: Hint) -> Given:
    if isinstance(value, Corpus):
        return keep(f"{called}.jsonl", lambda file: write_stories(value.values(), file, called))
    if is_frame(value):
        entries = list_entries(value, called, hint.role, hint.task)
        if isinstance(entries, dict):
            return hold_labels(entries, called)
        return hold_entries(iter(entries), called, hint)
    if isinstance(value, Mapping):
        return hold_mapping(value, called, hint)
    if isinstance(value, list | tuple) and tells_stories(hint) and value and all(map(is_event, value)):
        names = list(dict.fromkeys(name for row in value for name in row))
        return hold_entries(iter(gather_rows(names, value, called, hint.role, hint.task)), called, hint)
    if isinstance(value, str | bytes | bytearray | memoryview) or not isinstance(value, Iterable):
        raise InputError(f"{name_kind(value)} is no input", file=called, hint=WANTED)
    if isinstance(value, set | frozenset):
        raise InputError("a set has no order", file=called, hint="give a list")
    return hold_entries(watch(value, called), called, hint)


def tells_stories(hint: Hint) -> bool:
    """True where events of videos may be meant."""
    return hint.format is None and hint.task in (None, "dense", "procedure")


WANTED = "give a path, a dict, a list, an iterator, a frame, or what fabula.read returns"


def watch(values: Iterable[Any], called: str) -> Iterator[Any]:
    """What an iterator yields; what goes wrong in it is said with the place."""
    n = 0
    try:
        for value in values:
            yield value
            n += 1
    except FabulaError:
        raise
    except Exception as error:
        problem = f"its iterator ended with {type(error).__name__}: {error}"
        raise InputError(problem, file=called, field=f"[{n}]", hint="mend what makes it") from error


def hold_mapping(value: Mapping[Any, Any], called: str, hint: Hint) -> Given:
    if hint.task == "identity" and is_labels(value):
        return hold_labels(value, called)
    if value and all(isinstance(v, Story) for v in value.values()):
        return keep(f"{called}.jsonl", lambda file: write_stories(value.values(), file, called))
    if tells_stories(hint) and is_events_by_video(value):
        keys = ("start", "end", "caption")
        lines = (
            {"id": str(v), "events": [dict(zip(keys, e, strict=False)) for e in some]} for v, some in value.items()
        )
        return hold_entries(lines, called, hint)
    if is_entry(value) and find_ending([value], hint) == ".jsonl":
        return hold_entries(iter([value]), called, hint)
    place = Place(called)
    return keep(f"{called}.json", lambda file: file.write(encode(to_plain(value, place), place)))


def hold_entries(entries: Iterator[Any], called: str, hint: Hint) -> Given:
    """Entries as lines, or as the list of a document, written as they come."""
    first = list(islice(entries, 1))
    entries = chain(first, entries)
    if first and isinstance(first[0], Story):
        return keep(f"{called}.jsonl", lambda file: write_stories(entries, file, called))
    ending = find_ending(first, hint)
    opening, between, closing = ("", "\n", "\n") if ending == ".jsonl" else ("[", ",\n", "]\n")
    if ending == ".json" and hint.role == "references" and first and is_caption(first[0]):
        opening, closing = '{"annotations": [', "]}\n"  # what COCO's references are

    def write(file: Any) -> None:
        file.write(opening.encode())
        n = -1
        for n, entry in enumerate(entries):
            place = Place(called, (n,), name_entry(entry))
            file.write((between if n else "").encode() + encode(to_plain(write_item(entry), place), place))
        file.write((closing if n >= 0 or opening else "").encode())

    return keep(f"{called}{ending}", write)


def is_caption(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "caption" in entry and "image_id" in entry and "bbox" not in entry


def name_entry(entry: Any) -> object:
    """The id of an entry, where it has one."""
    if not isinstance(entry, Mapping):
        return None
    return next((entry[key] for key in ENTRY_IDS if isinstance(entry.get(key), str | int)), None)


def write_item(entry: Any) -> Any:
    if isinstance(entry, Item):
        return {"id": entry.id, "cand": entry.candidate, "refs": list(entry.references)}
    return entry


def write_stories(stories: Iterable[Any], file: Any, called: str) -> None:
    from fabula.documents.fields import Source
    from fabula.io.stories import fabula_jsonl

    target = Source(Path(file.name))
    for n, story in enumerate(stories):
        if not isinstance(story, Story):
            problem = f"expected a Story, saw {name_kind(story)}"
            raise InputError(problem, file=called, field=f"[{n}]", hint="give stories alone, or entries alone")
        for text in fabula_jsonl.write_stories(Corpus({story.id: story}), target):
            file.write(text.encode(errors="backslashreplace"))


def encode(value: Any, place: Place) -> bytes:
    try:
        return json.dumps(value).encode()
    except ValueError:
        raise find_long(value, place).wrong("a whole number of more than 4,300 digits", "mend it") from None


def find_long(value: Any, place: Place) -> Place:
    """Where the number stands that cannot be written."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in inside:
        if isinstance(held, dict | list):
            found = find_long(held, place.inside(key))
            if found.path != (*place.path, key):
                return found
        elif isinstance(held, int) and held.bit_length() > LONG:
            return place.inside(key)
    return place


LONG = 14_000  # bits: about 4,300 digits


def hold_pairs(candidates: Any, references: Any, name: str) -> Given:
    """Plain lists: a caption, and its references (one text, or several), in the same order."""
    called = f"{name} given as {name_kind(candidates)}"
    some, others = (list(v) if isinstance(v, list | tuple) else to_list(v) for v in (candidates, references))
    if len(some) != len(others):
        problem = f"{len(some)} captions, but references for {len(others)}"
        raise InputError(problem, file=called, hint="give one list of references for each caption")

    def lines() -> Iterator[dict[str, Any]]:
        for i, (candidate, refs) in enumerate(zip(some, others, strict=True)):
            yield {"id": i, "cand": candidate, "refs": [refs] if isinstance(refs, str) else refs}

    return hold_entries(lines(), called, Hint(name, format="pairs"))


def hold_labels(value: Mapping[Any, Any], called: str) -> Given:
    """LSMDC's fill-in lines: {clip: ids}, the ids as text between commas or as a list."""

    def write(file: Any) -> None:
        for clip, ids in value.items():
            place = Place(called, (clip,), clip)
            file.write(f"{to_cell(clip, place)}\t{join_ids(ids, place)}\n".encode())

    return keep(f"{called}.csv", write)


def join_ids(ids: Any, place: Place) -> str:
    some = to_plain(ids, place)
    if isinstance(some, list):
        return ",".join(to_cell(id, place) for id in some) or "_"
    return to_cell(some, place)


def to_cell(value: Any, place: Place) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise place.wrong(f"expected text, saw {name_kind(value)}", "ids are text")
    if "\t" in str(value) or "\n" in str(value) or "\r" in str(value):
        raise place.wrong("a tab or a line end in a name", "names of clips and people are one line of text")
    return str(value)


def hold_sets(value: Any) -> Path:
    """Which clips belong together: a path, or lists of clips."""
    if isinstance(value, str | Path):
        return Path(value)
    called = f"sets given as {name_kind(value)}"
    if isinstance(value, Mapping | bytes) or not isinstance(value, Iterable):
        raise InputError(f"{name_kind(value)} is no list of sets", file=called, hint='give [["clip", …], …]')

    def write(file: Any) -> None:
        for n, clips in enumerate(watch(value, called)):
            place = Place(called, (n,))
            some = to_plain(clips, place)
            if not isinstance(some, list):
                raise place.wrong(f"expected a list of clips, saw {name_kind(clips)}", 'sets are [["clip", …], …]')
            file.write(("\t".join(to_cell(clip, place) for clip in some) + "\n").encode())

    return keep(f"{called}.csv", write)
