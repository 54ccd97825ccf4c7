"""Stories scored shard by shard: the numbers, counts and warnings of `_stories.run`, in bounded memory, resumable.

Fabula's own JSON Lines are streamed; other files and corpora are read whole and then cut up as well.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fabula import __version__, io
from fabula.core.errors import SpecError
from fabula.core.notes import Notes
from fabula.core.nouns import Corpus, Story
from fabula.core.result import Result
from fabula.core.rows import Rows
from fabula.engine import shards
from fabula.engine.local import story_rows
from fabula.engine.shards import PREDICTIONS, Record, Surveyed, Work
from fabula.io._fields import Source
from fabula.io._files import dump_json, failures_named
from fabula.io.fabula_jsonl import twice
from fabula.io.ids import matched
from fabula.io.segments import check_predictions, check_references
from fabula.metrics import Metric
from fabula.metrics._paragraph import Paragraph
from fabula.metrics._story import StoryMetric
from fabula.tasks._stories import EMPTY, MISSING, UNKNOWN, checked, no_events, none_in_common
from fabula.tasks._task import Readable, Request, measured


def run(request: Request, task: str | None) -> Result:
    """As `_stories.run`. Without a work folder, one is made and taken away again."""
    if not request.refs:
        raise SpecError("no references; name at least one reference file with --refs")
    if request.resume and request.work is None:
        raise SpecError("--resume goes on with the run of a work folder; name it with --work")
    folder: AbstractContextManager[str | Path] = (
        tempfile.TemporaryDirectory(prefix="fabula-", ignore_cleanup_errors=True)
        if request.work is None
        else nullcontext(request.work)
    )
    with folder as name:
        return run_in(Work(Path(name).absolute()), request, task)


def run_in(work: Work, request: Request, task: str | None) -> Result:
    engine = request.engine or shards.Here()
    inputs = [Input(r, k, request.refs_format) for k, r in enumerate(request.refs)]
    inputs.append(Input(request.predictions, PREDICTIONS, request.format))
    judged = request.protocol is None or request.protocol.judges_segments
    n = work.begin(fingerprint(inputs, request, judged), shards.shards_for(sum(i.size for i in inputs)), request.resume)
    if not work.path("facts.json").exists():
        reader = Reader(inputs, request, judged)
        work.split(reader.records(), n)
        dump_json(work.path("facts.json"), reader.facts())
    facts = work.facts
    notes = Notes(facts["notes"]["kinds"], facts["notes"]["counts"])
    task = task or ("dense" if facts["captioned"] else "procedure")
    sets = len(inputs) - 1
    chosen = [checked(m, task, sets) for m in request.chosen(task)]
    parts = [m for m in chosen if not (isinstance(m, Paragraph) and m.whole)]
    with engine.ready():
        counts = judge(shards.survey_all(work, n, parts, engine, request.progress), facts["names"], notes)
        shards.score_all(work, n, parts, engine, request.progress)

    def rows_of(metric: Metric) -> Rows:
        assert isinstance(metric, StoryMetric | Paragraph)
        if metric in parts:
            return work.rows(metric, n)
        everything = shards.read(work, range(n))  # the one case in which the corpus must fit in memory
        return story_rows(metric, everything.sets, everything.preds, request.progress)

    result = measured(request, task, rows_of, {"sets": sets, "missing": counts["missing"]}, counts, notes)
    if any(i.streams for i in inputs):
        return result
    everything = shards.read(work, range(n))  # it was in memory before: reports may have it
    return replace(result, refs=tuple(everything.sets), predictions=everything.preds)


def judge(seen: Surveyed, names: list[str], notes: Notes) -> dict[str, int]:
    """The errors and warnings of the local engine, in its order."""
    for k, line, first, id in seen.twice:
        raise twice(Source(Path(names[k])), id, line, first)
    for k in (*range(1, len(names) - 1), PREDICTIONS):
        seen.note(str(k), matched(names[k]), notes)
    seen.note("empty", EMPTY, notes)
    if seen.first_video is None:
        raise no_events(names[0])
    if seen.first_predicted is not None and seen.counts["missing"] == seen.counts["videos"]:
        raise none_in_common(names[PREDICTIONS], seen.first_predicted, seen.first_video)
    seen.note("missing", MISSING, notes)
    seen.note("unknown", UNKNOWN, notes)
    return seen.counts


@dataclass(slots=True)
class Input:
    """One file or corpus, read once it is needed."""

    readable: Readable
    set: int
    format: str | None
    streams: bool = field(init=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.readable.name if isinstance(self.readable, Corpus) else str(self.readable)
        self.streams = not isinstance(self.readable, Corpus) and io.stream(self.readable, self.format) is not None

    @property
    def size(self) -> int:
        """Bytes, about."""
        if isinstance(self.readable, Corpus):
            return 100 * self.readable.events
        path = Path(self.readable)
        with failures_named(path):
            return path.stat().st_size * (5 if path.suffix == ".gz" else 1)

    def digest(self) -> str:
        """What stands in it; the same file elsewhere is the same."""
        if isinstance(self.readable, Corpus):
            made = hashlib.blake2b(digest_size=16)
            for story in self.readable.values():
                made.update(Record(0, 0, 0, story).text().encode())
            return made.hexdigest()
        with failures_named(Path(self.readable)), Path(self.readable).open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()

    def stories(self, notes: Notes) -> Iterator[tuple[int, Story]]:
        """Line numbers and stories; the notes are complete at the end."""
        if isinstance(self.readable, Corpus):
            yield from ((0, story) for story in self.readable.values())
            return
        streamed = io.stream(self.readable, self.format)
        if streamed is None:
            corpus, remarks = io.read(self.readable, self.format)
            yield from ((0, story) for story in corpus.values())
        else:
            source, told = streamed
            yield from told
            remarks = source.notes
        notes.extend(remarks)


def fingerprint(inputs: list[Input], request: Request, judged: bool) -> dict[str, Any]:
    """What decides the content of the shards. Metrics do not: their rows stand in folders of their own."""
    files = {"predictions" if i.set == PREDICTIONS else f"reference set {i.set + 1}": i.digest() for i in inputs}
    rules = {"format": request.format, "refs-format": request.refs_format, "strict": request.strict}
    repair = list(request.repair) if judged else "as they come"
    return {"fabula": __version__, **files, **rules, "repair": repair}


class Reader:
    """Streams the inputs once and notes on the way what the local engine would note, in its order."""

    def __init__(self, inputs: list[Input], request: Request, judged: bool) -> None:
        self.inputs, self.strict, self.repair, self.judged = inputs, request.strict, request.repair, judged
        self.read = [Notes() for _ in inputs]
        self.check = [Notes() for _ in inputs]
        self.captioned = [False for _ in inputs]
        self.events = 0  # predicted

    def records(self) -> Iterator[Record]:
        place = 0
        if self.judged:
            check_references(Corpus({}), Notes(), self.repair)  # a wrong name of a repair is said before the reading
        for i, given in enumerate(self.inputs):
            check = self.checker(given, self.check[i])
            for line, story in given.stories(self.read[i]):
                if not all(e.segment.sound for e in story.events):
                    story = check(story)
                self.captioned[i] = self.captioned[i] or any(e.caption for e in story.events)
                self.events += len(story) if given.set == PREDICTIONS else 0
                yield Record(given.set, place, line, story)
                place += 1

    def checker(self, given: Input, notes: Notes) -> Callable[[Story], Story]:
        def check(story: Story) -> Story:
            alone = Corpus({story.id: story}, name=given.name)
            if given.set == PREDICTIONS:
                return check_predictions(alone, notes, self.strict, self.judged)[story.id]
            return check_references(alone, notes, self.repair)[story.id] if self.judged else story

        return check

    def facts(self) -> dict[str, Any]:
        notes = Notes()
        for some in (*self.read, self.check[-1], *self.check[:-1]):
            notes.extend(some)
        return {
            "names": [i.name for i in self.inputs],
            "captioned": self.captioned[-1] if self.events else self.captioned[0],
            "notes": {"kinds": notes.kinds, "counts": notes.counts},
        }
