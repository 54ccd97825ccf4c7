"""What dense captioning and procedures share: stories of videos against one or more sets of reference stories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fabula import io
from fabula.core.errors import InputError, MissingExtra, shown
from fabula.core.notes import Notes, name_id
from fabula.core.rows import Rows
from fabula.data.ids import reconcile, resolve_aliases
from fabula.data.result import Result
from fabula.data.segments import check_predictions, check_references
from fabula.data.stories import Corpus
from fabula.documents.document import open_document
from fabula.evaluate.base import Readable, Request, Shelf, Tally, measure, with_parts
from fabula.evaluate.spoken import listen, reader_of
from fabula.io.stories import find_record_format, find_sides
from fabula.metrics import Metric
from fabula.metrics.stories import Stories, compare


def run(request: Request, task: str | None) -> Result:
    """Score stories; without a task, predictions that say something are dense captions, others a procedure."""
    if request.options.sharded or request.runner is not None:
        from fabula.evaluate import sharded

        return sharded.run(request, task)
    judged = request.protocol is None or request.protocol.judges_segments
    reader = request.protocol.answers if request.protocol else ""
    ready = request.once(("stories", judged, reader or reader_of(request)), lambda: make_ready(request))
    sets, pred, data = ready.data.refs, ready.data.preds, ready.data
    telling = pred if ready.told else sets[0]
    task = task or ("dense" if telling.captioned else "procedure")
    notes = Notes()
    notes.extend(ready.notes)
    chosen = keep_equipped(request, choose(request, task, len(sets)), notes)

    def rows_of(metric: Metric) -> Rows:
        return metric.table(data, request.progress)

    tally = Tally({"sets": len(sets), "missing": ready.counts["missing"]}, dict(ready.counts), notes)
    result = replace(measure(request, task, chosen, rows_of, tally), refs=tuple(sets), predictions=pred)
    return with_categories(result, sets[0].categories) if sets[0].categories else result


def with_categories(result: Result, categories: Mapping[str, str]) -> Result:
    """The result with each score by category of video as well, where the references have categories."""

    def places_of(rows: Rows) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for i, video in enumerate(rows.keys):
            if (category := categories.get(str(video))) is not None:
                places.setdefault(category, []).append(i)
        return places

    return with_parts(result, "videos", places_of)


class Ready(NamedTuple):
    """Files read, judged and made to meet."""

    data: Stories
    told: int  # predicted events
    counts: dict[str, int]
    notes: Notes


def make_ready(request: Request) -> Ready:
    notes = Notes()
    sets, pred = gather(request, notes)
    counts = count(pred, sets, notes)
    return Ready(compare(sets, pred), pred.events, counts, notes)


def choose(request: Request, task: str, sets: int) -> list[Metric]:
    """The metrics, if they can score stories of so many reference sets."""
    chosen = request.readable(task, "stories")
    for metric in chosen:
        metric.check_sets(sets)
    return chosen


def gather(request: Request, notes: Notes) -> tuple[list[Corpus], Corpus]:
    """Reference sets and predictions, read, judged by the protocol's rule, ids reconciled."""
    request.need_refs()
    options = request.options
    reader = request.protocol.answers if request.protocol else ""
    sets = [read_side(r, notes, options.refs_format, "references", reader, request.shelf) for r in request.refs]
    predictions, format = (request.predictions, options.format) if reader else listen(request)
    pred = read_side(predictions, notes, format or own_format(request), "predictions", reader)
    judged = request.protocol is None or request.protocol.judges_segments
    pred = check_predictions(pred, notes, options.strict, judged)
    if judged:
        sets = [check_references(ref, notes, options.repair) for ref in sets]
    for ref in sets:
        pred = resolve_aliases(pred, {name: v for name, v in ref.aliases.items() if name not in ref}, notes)
    sets = [sets[0], *(reconcile(ref, sets[0], notes) for ref in sets[1:])]
    return sets, reconcile(pred, [v for ref in sets for v in ref], notes)


def own_format(request: Request) -> str | None:
    """The format by which the protocol's evaluator reads a table of predictions, where it has one."""
    if request.protocol is None or isinstance(request.predictions, Corpus):
        return None
    return request.protocol.tables or None if open_document(request.predictions).is_table else None


def keep_equipped(request: Request, chosen: list[Metric], notes: Notes) -> list[Metric]:
    """The metrics whose extras are there. All were meant: those that lack one are left out and named; else an error."""
    left = []
    for metric in chosen:
        try:
            metric.about()
        except MissingExtra as error:
            if not request.means_all or len(chosen) == 1:
                raise
            notes.add(f"{metric.title} is left out: {error}")
        else:
            left.append(metric)
    return left


def read_side(
    readable: Readable, notes: Notes, format: str | None, role: str, reader: str = "", shelf: Shelf | None = None
) -> Corpus:
    """`read_corpus`; of a file whose records hold both sides the one that is asked for, by a protocol's reader."""
    if isinstance(readable, Corpus):
        told = readable.format
        if not (reader and find_sides(told.partition(":")[0])):
            return readable
        return read_side(Path(readable.name), notes, told, role, reader, shelf)
    name, _, argument = (format or "").partition(":")
    if sides := find_sides(name if format is not None else find_record_format(readable)):
        parts = [argument, f"reader={reader}" if reader and "reader=" not in argument else ""]
        told = ",".join(filter(None, parts))
        format = sides[role] + (f":{told}" if told else "")
    return read_corpus(readable, notes, format, shelf)


def read_corpus(readable: Readable, notes: Notes, format: str | None, shelf: Shelf | None = None) -> Corpus:
    """The stories of a file, or those that stand on the shelf, with what there was to say of them."""
    if isinstance(readable, Corpus):
        return readable
    key = str(readable), format
    found = io.read(readable, format) if shelf is None or key not in shelf else shelf[key]
    if shelf is not None:
        shelf[key] = found
    read, remarks = found
    notes.extend(remarks)
    return read


def count(pred: Corpus, sets: Sequence[Corpus], notes: Notes) -> dict[str, int]:
    """How many there are, and warnings for what does not meet."""
    eventful = {v for ref in sets for v, story in ref.items() if len(story)}
    videos = dict.fromkeys(v for ref in sets for v in ref if v in eventful)
    for ref in sets:
        for v, story in ref.items():
            if not len(story):
                notes.add(EMPTY, name_id(v))
    if not videos:
        raise no_events(sets[0].name)
    missing = [v for v in videos if v not in pred]
    if len(pred) and len(missing) == len(videos):
        raise none_in_common(pred.name, next(iter(pred)), next(iter(videos)))
    for v in missing:
        notes.add(MISSING, name_id(v))
    for v in pred:
        if v not in videos:
            notes.add(UNKNOWN, name_id(v))
    return {
        "videos": len(videos),
        "missing": len(missing),
        "unparsed": notes.tally.get("unparsed", 0),
        "unknown": sum(v not in videos for v in pred),
        "references": sum(ref.events for ref in sets),
        "predictions": sum(len(pred[v]) for v in videos if v in pred),
    }


EMPTY = "{n} reference videos have no events and are left out"
MISSING = "{n} reference videos have no prediction (see missing=… in each signature)"
UNKNOWN = "{n} predicted videos are not in the references and are not scored"


def no_events(references: str) -> InputError:
    return InputError("no reference video has an event", file=references or None, hint="check the reference file")


def none_in_common(predictions: str, predicted: str, wanted: str) -> InputError:
    ids = f"compare the ids: predictions have {shown(predicted)}, references {shown(wanted)}"
    return InputError("no predicted video is among the references", file=predictions or None, hint=ids)
