"""The inputs cut into shards, a piece at a time, on whatever engine.

A piece is read once, by one worker. What it tells gathers shard by shard; when a block of it is full, the block is
written: a JSON list a shard, end to end. An index says where each list begins, so that whoever scores a shard takes its
own stretch of every piece and no more. A piece that is complete has facts; it is not read again.

    pieces/00003.jsonl   [[n, line, id, duration, [[start, end, caption, score], …]], …] of shard 0, of shard 1, …
    pieces/00003.npy     where they begin, and where the last one ends: [blocks, shards + 1]
    pieces/00003.json    what was noticed while reading, and the seals of the other two

A piece whose files are not those that were sealed is read again, before anybody takes a story from it.
"""

from __future__ import annotations

import hashlib
import io as memory
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fabula import io
from fabula.core.errors import InputError
from fabula.core.notes import Notes
from fabula.data.ids import stem
from fabula.data.segments import check_predictions, check_references
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.documents.document import Document, open_document
from fabula.documents.fields import Source
from fabula.io.pieces import Piece
from fabula.jobs.folder import Folder

PREDICTIONS = -1  # the set that is none
BLOCK = 8 << 20  # characters of records that gather in memory
WITHIN = 32  # bits of a place that count within a piece; those above number the pieces
UNSEEN = Event(Segment(0.0, 0.0))  # stands for an event that is only counted


@dataclass(frozen=True, slots=True)
class Rules:
    """How segments that are no stretch of time are judged."""

    strict: bool
    repair: tuple[str, ...]
    judged: bool

    def check(self, story: Story, set: int, name: str, notes: Notes) -> Story:
        if all(e.segment.sound for e in story.events):
            return story
        alone = Corpus({story.id: story}, name=name)
        if set == PREDICTIONS:
            return check_predictions(alone, notes, self.strict, self.judged)[story.id]
        return check_references(alone, notes, self.repair)[story.id] if self.judged else story


@dataclass(frozen=True, slots=True)
class Whole:
    """A file of another format, or a folder of such: read in one piece, by the process that began the run."""

    path: str | Path | Document
    format: str | None


@dataclass(frozen=True, slots=True)
class Cut:
    """One piece, and what becomes of it. Small, unless the piece is a corpus that was in memory before."""

    folder: Folder
    index: int
    set: int
    name: str  # of the input
    piece: Piece | Whole | Corpus
    shards: int
    rules: Rules

    def file(self, ending: str) -> tuple[str, str]:
        return piece_file(self.index, ending)


@dataclass(slots=True)
class PieceSurvey:
    """What was noticed in a piece."""

    captioned: bool = False
    stories: int = 0
    events: int = 0
    read: Notes = field(default_factory=Notes)
    checked: Notes = field(default_factory=Notes)
    extras: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: dict[str, Any]) -> PieceSurvey:
        return cls(**{**facts, "read": Notes(**facts["read"]), "checked": Notes(**facts["checked"])})


def piece_file(index: int, ending: str) -> tuple[str, str]:
    """Where it lies in the work folder."""
    return "pieces", f"{index:05}.{ending}"


def split_piece(cut: Cut) -> int:
    """Read one piece, unless that has been done."""
    folder = cut.folder
    if folder.holds(*cut.file("json")):
        sealed = folder.get(*cut.file("json"))["seals"]
        if all(folder.seal_of(*cut.file(ending)) == seal for ending, seal in sealed.items()):
            return cut.index
    survey = PieceSurvey()
    index: list[list[int]] = []
    seals = {"jsonl": folder.put_large(make_blocks(cut, survey, index), *cut.file("jsonl"))}
    out = memory.BytesIO()
    np.save(out, np.array(index, dtype=np.int64).reshape(len(index), cut.shards + 1))
    seals["npy"] = folder.put_large([out.getvalue()], *cut.file("npy"))
    folder.put({"seals": seals, "seen": asdict(survey)}, *cut.file("json"))
    return cut.index


def make_blocks(cut: Cut, survey: PieceSurvey, index: list[list[int]]) -> Iterator[bytes]:
    """The records in blocks, sorted by shard; the index grows with them."""
    gathered: list[list[str]] = [[] for _ in range(cut.shards)]
    waiting = at = 0
    for line, story in check_stories(cut, survey):
        text = pack_record(survey.stories, line, story)
        gathered[shard_of(story.id, cut.shards)].append(text)
        survey.stories, waiting = survey.stories + 1, waiting + len(text)
        if waiting >= BLOCK:
            block, at = join_by_shard(gathered, at, index)
            yield block
            gathered, waiting = [[] for _ in range(cut.shards)], 0
    if waiting:
        yield join_by_shard(gathered, at, index)[0]


def join_by_shard(gathered: Sequence[Sequence[str]], at: int, index: list[list[int]]) -> tuple[bytes, int]:
    begins, lists = [at], []
    for records in gathered:
        lists.append(f"[{','.join(records)}]\n".encode("ascii") if records else b"")
        begins.append(begins[-1] + len(lists[-1]))
    index.append(begins)
    return b"".join(lists), begins[-1]


def check_stories(cut: Cut, survey: PieceSurvey) -> Iterator[tuple[int, Story]]:
    """Line numbers and stories, judged by the rules."""
    for line, story in read_stories(cut.piece, survey):
        story = cut.rules.check(story, cut.set, cut.name, survey.checked)
        survey.captioned = survey.captioned or any(e.caption for e in story.events)
        survey.events += len(story)
        yield line, story


def read_stories(piece: Piece | Whole | Corpus, survey: PieceSurvey) -> Iterator[tuple[int, Story]]:
    """0 where there are no lines."""
    if isinstance(piece, Piece):
        yield from io.read_piece(piece, Source(open_document(piece.path), survey.read, extras=survey.extras))
        return
    if isinstance(piece, Whole):
        piece, notes = io.read(piece.path, piece.format)
        survey.read.extend(notes)
    yield from ((0, story) for story in piece.values())


def pack_record(n: int, line: int, story: Story) -> str:
    """One story as JSON, in ASCII; nothing of it is lost."""
    duration = None if story.duration is None else float(story.duration)
    events = [[float(e.segment.start), float(e.segment.end), e.caption, e.score] for e in story.events]
    return json.dumps([n, line, story.id, duration, events], separators=(",", ":"))


def shard_of(id: str, shards: int) -> int:
    """The same in every process and on every machine. All spellings of an id share a shard."""
    digest = hashlib.blake2b(stem(id).encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shards


@dataclass(frozen=True, slots=True)
class Record:
    """One story in its shard. `place` counts through all inputs: pieces in their order, stories in theirs."""

    place: int
    line: int  # of its file; 0 where there are no lines
    story: Story

    @property
    def piece(self) -> int:
        return self.place >> WITHIN


def read_records(folder: Folder, pieces: int, shards: Iterable[int], outline: bool = False) -> Iterator[Record]:
    """The stories of some shards, piece by piece; an outline has their ids, and counts their events."""
    wanted = list(shards)
    for i in range(pieces):
        for text in read_stretches(folder, i, wanted):
            try:
                for n, line, id, duration, listed in json.loads(text):
                    events = (
                        (UNSEEN,) * len(listed)
                        if outline
                        else tuple(Event(Segment(s, e), c, x) for s, e, c, x in listed)
                    )
                    yield Record(i << WITHIN | n, line, Story(id, events, duration))
            except (ValueError, TypeError) as error:
                raise broken_piece(folder.at(*piece_file(i, "jsonl")), error) from None


def read_stretches(folder: Folder, piece: int, shards: Sequence[int]) -> Iterator[bytes]:
    """Each shard's part of each block of a piece."""
    lines, path = (folder.at(*piece_file(piece, ending)) for ending in ("jsonl", "npy"))
    try:
        if not lines.stat().st_size:
            return
        index = np.load(path, mmap_mode="r", allow_pickle=False)
        path = lines
        with path.open("rb") as file:
            for begins in index:
                for shard in shards:
                    start, end = int(begins[shard]), int(begins[shard + 1])
                    if start < end:
                        file.seek(start)
                        yield file.read(end - start)
    except (OSError, ValueError, IndexError, TypeError) as error:
        raise broken_piece(path, error) from None


def broken_piece(path: Path, error: Exception) -> InputError:
    """It was whole when the run began: the disk, or somebody, has changed it since."""
    hint = "--resume makes it again; every machine must see the work folder: put it on a shared disk"
    return InputError(f"cannot be read ({error})", file=path, hint=hint)
