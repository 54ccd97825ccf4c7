"""What people have in memory as documents: objects, rows of frames, pairs of plain lists.

An object is read like the file it has the shape of: the same checks, the same messages, the same numbers. It has a
name of its own: `predictions given as a dict: video 'v_1': event 3 timestamp: …`. Nothing of the user's is changed.

dict                    a document, as in a .json; a line, where it is one
                        {video: [(start, end, caption), …]} as well
list, iterator          entries: the lines of a .jsonl, or a list in a .json where the format is one
list of rows            {"video", "start", "end", "caption"}, as frame.to_dict("records") gives them
Corpus, (Corpus, Notes) what `fabula.read` returns
frame                   pandas, polars, Arrow: a row per event, window, caption, box or line (frames.py)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from numbers import Real
from pathlib import Path
from typing import Any

from fabula.core.errors import FabulaError, InputError
from fabula.core.notes import Notes
from fabula.data.stories import Corpus, Item, Story
from fabula.documents.document import Document, ObjectDocument
from fabula.documents.frames import QUERIES, VIDEOS, gather_rows, is_frame, list_entries
from fabula.documents.plain_objects import Place, name_kind, to_plain

# what an entry calls the one it is about
ENTRY_IDS = (
    "id",
    "qid",
    "desc_id",
    "image_id",
    "annotation_id",
    "video",
    "video_id",
    "vid",
    "query_id",
    "clip",
    "clip_path",
    "video_name",
    "uid",
    "index",
    "idx",
    "doc_id",
)
LISTS = (  # fields of the entries of formats that are a list in one document
    {"image_id", "caption"},
    {"image_id", "bbox"},
    {"annotation_id", "times"},
    {"test", "refs"},
    {"regions"},
)
RECORDS = ({"index", "prediction"}, {"index", "answer"}, {"doc", "resps"})  # the same, of questions
WANTED = "give a path, a dict, a list, an iterator, a frame, or what fabula.read returns"


@dataclass(frozen=True, slots=True)
class Hint:
    """What is known of an input besides its shape: what it is called, its side, the task, the format."""

    name: str
    role: str = "predictions"
    task: str | None = None
    format: str | None = None
    lines: bool | None = None  # whether files of the format are lines; None where no format is named


class TextDocument(ObjectDocument):
    """Lines of text, as the tables of LSMDC have them."""

    def pieces(self) -> Iterator[bytes]:
        return (f"{line}\n".encode() for line in self.value)

    def texts(self) -> Iterator[tuple[str, str]]:
        return ((self.place(n), text) for n, line in enumerate(self.value, 1) if (text := line.strip()))


# ── what an object is ───────────────────────────────────────────────────────────────────────────────────────────────


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
    if isinstance(first, str | Path | Corpus | Document | list | tuple) or is_frame(first):
        return False
    return not isinstance(first, Mapping) or is_entry(first)


def is_texts(value: Any) -> bool:
    """A list, an array or a column of plain captions."""
    if isinstance(value, str | bytes | Mapping | Corpus | Path | Document) or is_frame(value):
        return False
    texts = value if isinstance(value, list | tuple) else to_list(value)
    return bool(texts) and all(isinstance(text, str) for text in texts)


def to_list(value: Any) -> list[Any]:
    """An array or a column as a list; nothing of anything else."""
    try:
        found = value.tolist() if hasattr(value, "tolist") else value.to_list() if hasattr(value, "to_list") else []
    except Exception:
        return []
    return found if isinstance(found, list) else []


def is_entry(value: Any) -> bool:
    """A dict that tells of one thing; a document has its things by id, or under a name."""
    if not isinstance(value, Mapping):
        return False
    if isinstance(value.get("regions"), list | tuple):
        return True
    return any(key in value and not isinstance(value[key], Mapping | list | tuple) for key in ENTRY_IDS)


def is_event(value: Any) -> bool:
    """A row of a table of events: {"video", "start", "end", "caption"}, as `frame.to_dict("records")` gives it."""
    if not isinstance(value, Mapping) or not {"start", "end"} <= value.keys():
        return False
    is_flat = not any(isinstance(cell, Mapping | list | tuple) for cell in value.values())
    return is_flat and not value.keys().isdisjoint(VIDEOS) and value.keys().isdisjoint(QUERIES)


def is_events_by_video(value: Mapping[Any, Any]) -> bool:
    """{video: [(start, end, caption), …]}, captions or not."""
    if not all(isinstance(events, list | tuple) for events in value.values()):
        return False
    everything = [event for events in value.values() for event in events]
    return bool(everything) and all(
        isinstance(e, list | tuple) and len(e) in (2, 3) and is_triple(*e) for e in everything
    )


def is_triple(start: Any, end: Any, caption: Any = "") -> bool:
    return isinstance(start, Real) and isinstance(end, Real) and isinstance(caption, str)


def is_labels(value: Mapping[Any, Any]) -> bool:
    """{clip: ids}: text, or lists of text."""
    if not value or "id" in value:
        return False
    return all(
        isinstance(v, str) or (isinstance(v, list | tuple) and all(isinstance(x, str) for x in v))
        for v in value.values()
    )


def is_caption(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "caption" in entry and "image_id" in entry and "bbox" not in entry


def is_lines(first: Sequence[Any], hint: Hint) -> bool:
    """Whether entries that begin so are lines, or the list of a document."""
    if hint.lines is not None:
        return hint.lines
    if not first:
        return hint.task != "captions"
    keys = set(first[0]) if isinstance(first[0], Mapping) else set[Any]()
    lists = (*LISTS, *RECORDS) if hint.task == "questions" else LISTS
    return not any(fields <= keys for fields in lists)


def holds_stories(hint: Hint) -> bool:
    """True where events of videos may be meant."""
    return hint.format is None and hint.task in (None, "dense", "procedure")


# ── an object as a document ─────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def name_faults(called: str) -> Iterator[None]:
    """What an object of the user's raises when it is looked at, under the name of the input."""
    try:
        yield
    except FabulaError:
        raise
    except Exception as error:
        problem = f"cannot be read ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        raise InputError(problem, file=called, hint=WANTED) from error


def wrap(value: Any, hint: Hint) -> Document:
    """The document of an object."""
    value = unpack(value)
    called = f"{hint.name} given as {name_kind(value)}"
    with name_faults(called):
        return wrap_object(value, called, hint)


def read_stories(value: Any, hint: Hint) -> Corpus | None:
    """Plain stories without a document; None for all else."""
    if not holds_stories(hint):
        return None
    from fabula.documents.object_columns import read_plain_stories

    return read_plain_stories(value, f"{hint.name} given as {name_kind(value)}")


def wrap_object(value: Any, called: str, hint: Hint) -> Document:
    if isinstance(value, Corpus):
        return wrap_stories(value.values(), called)
    if is_frame(value):
        entries = list_entries(value, called, hint.role, hint.task)
        return wrap_labels(entries, called) if isinstance(entries, dict) else wrap_entries(entries, called, hint)
    if isinstance(value, Mapping):
        return wrap_mapping(value, called, hint)
    if isinstance(value, list | tuple) and holds_stories(hint) and value and all(map(is_event, value)):
        names = list(dict.fromkeys(name for row in value for name in row))
        return wrap_entries(gather_rows(names, value, called, hint.role, hint.task), called, hint)
    if isinstance(value, str | bytes | bytearray | memoryview) or not isinstance(value, Iterable):
        raise InputError(f"{name_kind(value)} is no input", file=called, hint=WANTED)
    if isinstance(value, set | frozenset):
        raise InputError("a set has no order", file=called, hint="give a list")
    return wrap_entries(watch(value, called), called, hint)


def watch(values: Iterable[Any], called: str) -> Iterator[Any]:
    """What an iterator yields; what goes wrong in it is reported with the place."""
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


def wrap_mapping(value: Mapping[Any, Any], called: str, hint: Hint) -> Document:
    if hint.task == "identity" and is_labels(value):
        return wrap_labels(value, called)
    if value and all(isinstance(v, Story) for v in value.values()):
        return wrap_stories(value.values(), called)
    if holds_stories(hint) and is_events_by_video(value):
        keys = ("start", "end", "caption")
        lines = ({"id": str(v), "events": [dict(zip(keys, e, strict=False)) for e in es]} for v, es in value.items())
        return wrap_entries(lines, called, hint)
    if is_entry(value) and is_lines([value], hint):
        return wrap_entries([value], called, hint)
    return ObjectDocument(to_plain(value, Place(called)), called, ".json")


def wrap_entries(entries: Iterable[Any], called: str, hint: Hint) -> Document:
    """Entries as lines, or as the list of a document."""
    coming = iter(entries)
    first = list(islice(coming, 1))
    coming = chain(first, coming)
    if first and isinstance(first[0], Story):
        return wrap_stories(coming, called)
    found = [to_plain(write_item(e), Place(called, (n,), name_entry(e))) for n, e in enumerate(coming)]
    if is_lines(first, hint):
        return ObjectDocument(found, called, ".jsonl")
    if hint.role == "references" and first and is_caption(first[0]):
        return ObjectDocument({"annotations": found}, called, ".json")  # what COCO's references are
    return ObjectDocument(found, called, ".json")


def name_entry(entry: Any) -> object:
    """The id of an entry, where it has one."""
    if not isinstance(entry, Mapping):
        return None
    return next((entry[key] for key in ENTRY_IDS if isinstance(entry.get(key), str | int)), None)


def write_item(entry: Any) -> Any:
    if isinstance(entry, Item):
        return {"id": entry.id, "cand": entry.candidate, "refs": list(entry.references)}
    return entry


def wrap_stories(stories: Iterable[Any], called: str) -> Document:
    found = []
    for n, story in enumerate(stories):
        if not isinstance(story, Story):
            problem = f"expected a Story, saw {name_kind(story)}"
            raise InputError(problem, file=called, field=f"[{n}]", hint="give stories alone, or entries alone")
        found.append(story.to_dict())
    return ObjectDocument(found, called, ".jsonl")


def wrap_pairs(candidates: Any, references: Any, name: str) -> Document:
    """Plain lists: a caption, and its references (one text, or several), in the same order."""
    called = f"{name} given as {name_kind(candidates)}"
    texts, others = (list(v) if isinstance(v, list | tuple) else to_list(v) for v in (candidates, references))
    if len(texts) != len(others):
        problem = f"{len(texts)} captions, but references for {len(others)}"
        raise InputError(problem, file=called, hint="give one list of references for each caption")
    lines = (
        {"id": i, "cand": candidate, "refs": [refs] if isinstance(refs, str) else refs}
        for i, (candidate, refs) in enumerate(zip(texts, others, strict=True))
    )
    return wrap_entries(lines, called, Hint(name, format="pairs", lines=True))


def wrap_labels(value: Mapping[Any, Any], called: str) -> Document:
    """LSMDC's fill-in lines: {clip: ids}, the ids as text between commas or as a list."""
    places = ((clip, ids, Place(called, (clip,), clip)) for clip, ids in value.items())
    found = [f"{to_cell(clip, place)}\t{join_ids(ids, place)}" for clip, ids, place in places]
    return TextDocument(found, called, ".csv")


def join_ids(ids: Any, place: Place) -> str:
    plain = to_plain(ids, place)
    if isinstance(plain, list):
        return ",".join(to_cell(id, place) for id in plain) or "_"
    return to_cell(plain, place)


def to_cell(value: Any, place: Place) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise place.wrong(f"expected text, saw {name_kind(value)}", "ids are text")
    if "\t" in str(value) or "\n" in str(value) or "\r" in str(value):
        raise place.wrong("a tab or a line end in a name", "names of clips and people are one line of text")
    return str(value)


def wrap_sets(value: Any) -> Document:
    """Which clips belong together, as lists of clips."""
    called = f"sets given as {name_kind(value)}"
    if isinstance(value, Mapping | bytes) or not isinstance(value, Iterable):
        raise InputError(f"{name_kind(value)} is no list of sets", file=called, hint='give [["clip", …], …]')
    found = []
    for n, clips in enumerate(watch(value, called)):
        place = Place(called, (n,))
        plain = to_plain(clips, place)
        if not isinstance(plain, list):
            raise place.wrong(f"expected a list of clips, saw {name_kind(clips)}", 'sets are [["clip", …], …]')
        found.append("\t".join(to_cell(clip, place) for clip in plain))
    return TextDocument(found, called, ".csv")
