"""Stories scored shard by shard: the numbers, counts and warnings of a run in memory, in bounded memory, resumable.

Fabula's own lines, as JSON or Parquet, are read piece by piece; other files and corpora are read whole and cut up too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fabula import __version__, io
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.core.rows import Rows
from fabula.data.ids import describe_match
from fabula.data.segments import check_references
from fabula.data.stories import Corpus
from fabula.documents.document import Document, open_document
from fabula.documents.fields import Source
from fabula.documents.files import check_path, find_parts, temporary_folder
from fabula.evaluate import shards
from fabula.evaluate.inputs import Readable
from fabula.evaluate.request import Request
from fabula.evaluate.score import Comparison
from fabula.evaluate.shards import Surveyed
from fabula.evaluate.split import PREDICTIONS, WITHIN, Cut, PieceSurvey, Rules, Whole, pack_record
from fabula.evaluate.stories import EMPTY, MISSING, UNKNOWN, choose, choose_reader, no_events, none_in_common
from fabula.io.pieces import Piece
from fabula.io.stories.fabula_jsonl import refuse_twin
from fabula.jobs.folder import Folder, begin, taken_away_if_refused
from fabula.jobs.runner import Runner, runner_for
from fabula.metrics import Metric
from fabula.metrics.stories import Stories

WORK = "fabula-work"  # a work folder that nobody named


def compare(request: Request, task: str | None) -> tuple[Comparison, list[Metric]]:
    """A plan: the inputs are cut into shards and counted here, rows are made a shard at a time.

    Without a work folder, one is made, and removed when the plan is scored.
    """
    request.need_refs()
    options = request.options
    if options.resume and options.work is None:
        raise SpecError("--resume needs the folder of the run; name it with --work")
    with ExitStack() as stack:
        path = check_path(options.work).absolute() if options.work else stack.enter_context(temporary_folder(WORK))
        inputs, format = list_inputs(request)
        if request.judges_segments:
            check_references(Corpus({}), Notes(), options.repair)  # a wrong name of a repair is said before the reading
        size = sum(i.size for i in inputs)
        wanted = {"shards": shards.shards_for(size)}
        folder, plan = begin(path, fingerprint(inputs, request, format), wanted, options.resume)
        runner = request.runner or runner_for(size)
        stack.enter_context(nullcontext() if options.resume else taken_away_if_refused(folder))
        stack.enter_context(runner.ready())
        comparison, chosen = compare_shards(Run(folder, plan["shards"], inputs, runner, request), task)
        comparison.opened = stack.pop_all()
    return comparison, chosen


def list_inputs(request: Request) -> tuple[list[Input], str | None]:
    """The reference sets, then the predictions; and the format of these."""
    options = request.options
    inputs = [Input.of(r, k, options.refs_format) for k, r in enumerate(request.refs)]
    predictions, format = choose_reader(request)
    return [*inputs, Input.of(predictions, PREDICTIONS, format)], format


@dataclass(frozen=True, slots=True)
class Run:
    """A request over its shards."""

    folder: Folder
    shards: int
    inputs: list[Input]
    runner: Runner
    request: Request


def compare_shards(run: Run, task: str | None) -> tuple[Comparison, list[Metric]]:
    """On a runner that is ready."""
    folder, n, request, runner = run.folder, run.shards, run.request, run.runner
    rules = Rules(request.options.strict, request.options.repair, request.judges_segments)
    pieces = [(source, piece) for source in run.inputs for piece in source.pieces]
    cuts = [Cut(folder, i, source.set, source.name, piece, n, rules) for i, (source, piece) in enumerate(pieces)]
    folder.put(gather_facts(run.inputs, cuts, shards.split_all(cuts, runner, request.progress)), shards.FACTS)
    facts = folder.get(shards.FACTS)
    notes = Notes(**facts["notes"])
    task = task or ("dense" if facts["captioned"] else "procedure")
    sets = len(run.inputs) - 1
    chosen = choose(request, task, sets)
    apart = [m for m in chosen if not (m.whole or m.session)]  # a judge is asked from here alone
    counts = judge(shards.survey_all(folder, n, apart, runner, request.progress), facts, notes)
    shards.score_all(folder, n, apart, runner, request.progress)

    def rows_of(metric: Metric) -> Rows:
        if metric in apart:
            return shards.load_rows(folder, metric, n)
        everything = shards.read_shards(folder, range(n))  # the cases in which the corpus must fit in memory
        return metric.table(Stories(everything.sets, everything.preds), request.progress)

    def read_all(metrics: Mapping[str, Metric]) -> dict[str, object]:
        if any(i.streams for i in run.inputs):
            return {}
        everything = shards.read_shards(folder, range(n))  # it was in memory before: reports may have it
        return {"refs": tuple(everything.sets), "predictions": everything.preds}

    return Comparison(
        task=task,
        rows_of=rows_of,
        counts=counts,
        notes=notes,
        facts={"sets": sets, "missing": counts["missing"]},
        evidence=read_all,
    ), chosen


def judge(seen: Surveyed, facts: dict[str, Any], notes: Notes) -> dict[str, int]:
    """The errors and warnings of a run in memory, in its order."""
    names: list[str] = facts["names"]
    if seen.twice:
        raise stands_twice(seen.twice[0], facts["pieces"])
    for k in (*range(1, len(names) - 1), PREDICTIONS):
        seen.note(str(k), describe_match(names[k]), notes)
    seen.note("empty", EMPTY, notes)
    if seen.first_video is None:
        raise no_events(names[0])
    if seen.first_predicted is not None and seen.counts["missing"] == seen.counts["videos"]:
        raise none_in_common(names[PREDICTIONS], seen.first_predicted, seen.first_video)
    seen.note("missing", MISSING, notes)
    seen.note("unknown", UNKNOWN, notes)
    return {**seen.counts, "unparsed": notes.tally.get("unparsed", 0)}


def stands_twice(found: tuple[int, int, int, int, str], pieces: list[tuple[int, str]]) -> InputError:
    place, line, first_place, first_line, id = found
    path, first_path = (Path(pieces[p >> WITHIN][1]) for p in (place, first_place))
    source = Source(open_document(path))
    return (
        refuse_twin(source, id, line, first_line)
        if path == first_path
        else io.refuse_twin(source, id, open_document(first_path))
    )


@dataclass(frozen=True, slots=True)
class Input:
    """One file, folder or corpus, in pieces that are read once they are needed."""

    set: int
    name: str
    pieces: list[Piece | Whole | Corpus]
    digest: str  # of what stands in it; the same file elsewhere is the same
    size: int  # bytes, about
    notes: Notes = field(default_factory=Notes)

    @classmethod
    def of(cls, readable: Readable, set: int, format: str | None) -> Input:
        if isinstance(readable, Corpus):
            made = hashlib.blake2b(digest_size=16)
            for story in readable.values():
                made.update(pack_record(0, 0, story).encode())
            return cls(set, readable.name, [readable], made.hexdigest(), 100 * readable.events)
        found = io.cut_pieces(readable, format)
        if found is not None:
            pieces, notes, digest = found
            return cls(set, str(readable), [*pieces], digest, measure_bytes(readable), notes)
        return cls(set, str(readable), [Whole(readable, format)], io.digest_files(readable), measure_bytes(readable))

    @property
    def streams(self) -> bool:
        return all(isinstance(piece, Piece) for piece in self.pieces)


def measure_bytes(readable: str | Path | Document) -> int:
    """Bytes of what is packed, about."""
    if isinstance(readable, Document):
        return len(readable.raw())
    found, _ = find_parts(check_path(readable))
    return sum(f.stat().st_size * (5 if f.suffix in (".gz", ".parquet") else 1) for f in found)


def fingerprint(inputs: list[Input], request: Request, format: str | None) -> dict[str, object]:
    """What decides the content of the shards. Metrics do not: their rows stand in folders of their own."""
    files = {"predictions" if i.set == PREDICTIONS else f"reference set {i.set + 1}": i.digest for i in inputs}
    options = request.options
    rules = {"format": format, "refs-format": options.refs_format, "strict": options.strict}
    repair = list(options.repair) if request.judges_segments else "as they come"
    return {"fabula": __version__, **files, **rules, "repair": repair}


def gather_facts(inputs: list[Input], cuts: list[Cut], seen: list[PieceSurvey]) -> dict[str, Any]:
    """What was noticed while reading, in the order in which a run in memory would say it."""
    read, checks = Notes(), [Notes() for _ in inputs]
    captioned, events = [False for _ in inputs], 0
    for i, read_from in enumerate(inputs):
        own = [s for cut, s in zip(cuts, seen, strict=True) if cut.set == read_from.set]
        source = Source(open_document(read_from.name), read_from.notes)
        for s in own:
            source.notes.extend(s.read)
            source.count_unused(s.extras)
            checks[i].extend(s.checked)
        if read_from.streams:
            io.close_source(source, empty=not any(s.stories for s in own))
        read.extend(source.notes)
        captioned[i], events = any(s.captioned for s in own), sum(s.events for s in own)
    for some in (checks[-1], *checks[:-1]):
        read.extend(some)
    return {
        "names": [i.name for i in inputs],
        "pieces": [[c.set, str(c.piece.path) if isinstance(c.piece, Piece) else c.name] for c in cuts],
        "captioned": captioned[-1] if events else captioned[0],  # the predictions come last
        "notes": asdict(read),
    }
