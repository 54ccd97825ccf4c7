"""What dense captioning and procedures share: stories of videos against one or more sets of reference stories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import is_, methodcaller
from pathlib import Path
from typing import NamedTuple

from fabula import io
from fabula.core.errors import InputError, MissingExtra, SpecError, shown
from fabula.core.notes import Notes, name_id
from fabula.core.rows import Rows
from fabula.data.ids import reconcile, resolve_aliases
from fabula.data.segments import check_predictions, check_references
from fabula.data.stories import Corpus
from fabula.documents.document import open_document
from fabula.documents.files import check_path
from fabula.evaluate.inputs import Readable
from fabula.evaluate.request import Request
from fabula.evaluate.score import Cache, Comparison, Parts
from fabula.io.shelf import SHELVES
from fabula.metrics import Metric
from fabula.metrics.stories import Stories

OURS = "fabula"  # whose rules read answers in words, where nobody says


def compare(request: Request, task: str | None) -> tuple[Comparison, list[Metric]]:
    """Stories; without a task, predictions that have captions are dense captions, others a procedure."""
    if request.runner is not None or request.options.work is not None or request.options.resume:
        from fabula.evaluate import sharded

        return sharded.compare(request, task)
    ready = find_ready(request)
    sets, pred, data = ready.data.refs, ready.data.preds, ready.data
    task = task or ("dense" if (pred if ready.events else sets[0]).captioned else "procedure")
    notes = Notes()
    notes.extend(ready.notes)
    chosen = keep_equipped(request, choose(request, task, len(sets)), notes)
    categories = sets[0].categories
    return Comparison(
        task=task,
        rows_of=methodcaller("table", data, request.progress),
        counts=dict(ready.counts),
        notes=notes,
        facts={"sets": len(sets), "missing": ready.counts["missing"]},
        parts=Parts("videos", lambda rows: group_places(rows, categories)) if categories else None,
        evidence=lambda metrics: {"refs": tuple(sets), "predictions": pred, "paired": data if data.is_small else None},
    ), chosen


def group_places(rows: Rows, groups: Mapping[str, str]) -> dict[str, list[int]]:
    """Which rows belong to each group, where their keys have one."""
    places: dict[str, list[int]] = {}
    for i, key in enumerate(rows.keys):
        if (group := groups.get(str(key))) is not None:
            places.setdefault(group, []).append(i)
    return places


class Ready(NamedTuple):
    """Files read, judged and made to meet."""

    data: Stories
    events: int  # predicted
    counts: dict[str, int]
    notes: Notes


def find_ready(request: Request) -> Ready:
    """Made once for all requests that prepare the files in the same way."""
    reader = request.protocol.answers if request.protocol else ""
    key = "stories", request.judges_segments, reader or reader_of(request)
    return request.cache.once(key, lambda: make_ready(request))


def make_ready(request: Request) -> Ready:
    notes = Notes()
    sets, pred = gather(request, notes)
    counts = count(pred, sets, notes)
    data = Stories(sets, pred)  # another rule may have prepared the very same ones: what was made of them is shared
    others = (ready.data for ready in request.cache.made.values() if isinstance(ready, Ready))
    return Ready(next((other for other in others if are_same(data, other)), data), pred.events, counts, notes)


def are_same(a: Stories, b: Stories) -> bool:
    """True where both hold the very same stories under the same names."""
    if len(a.refs) != len(b.refs):
        return False
    sides = zip((*a.refs, a.preds), (*b.refs, b.preds), strict=True)
    return all(list(x) == list(y) and all(map(is_, x.values(), y.values())) for x, y in sides)


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
    sets = [read_side(r, notes, options.refs_format, "references", reader, request.cache) for r in request.refs]
    predictions, format = (request.predictions, options.format) if reader else choose_reader(request)
    pred = read_side(predictions, notes, format or own_format(request), "predictions", reader)
    pred = check_predictions(pred, notes, options.strict, request.judges_segments)
    if request.judges_segments:
        sets = [check_references(ref, notes, options.repair) for ref in sets]
    for ref in (ref for ref in sets if ref.aliases):
        pred = resolve_aliases(pred, {name: v for name, v in ref.aliases.items() if name not in ref}, notes)
    sets = [sets[0], *(reconcile(ref, sets[0], notes) for ref in sets[1:])]
    if request.only is not None:
        named = request.only.limit({v: None for ref in sets for v in ref}, notes)
        sets = [replace(ref, stories={v: story for v, story in ref.items() if v in named}) for ref in sets]
    known = {v for ref in sets for v in ref}
    return sets, pred if known.issuperset(pred) else reconcile(pred, known, notes)


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


def reader_of(request: Request) -> str:
    """The one reader of answers in words that all metrics take: two would need two readings of the file."""
    readers = {m.param("reader", OURS): m for m in request.metrics or () if m.reads == "stories"}
    if len(readers) > 1:
        both = " and ".join(f"{m.title} as {reader} does" for reader, m in readers.items())
        raise SpecError(f"{both}: answers are read in one way at a time; score one metric after the other")
    return next(iter(readers), OURS)


def choose_reader(request: Request) -> tuple[Readable, str | None]:
    """The predictions and their format, with the reader for words where there are any.

    Answers that were read by our rules already are read again from their file.
    """
    predictions, format, reader = request.predictions, request.options.format, reader_of(request)
    if reader == OURS:
        return predictions, format
    if not isinstance(predictions, Corpus):
        return predictions, io.read_spoken(check_path(predictions), format, reader)
    called, _, argument = predictions.format.partition(":")
    found = io.find(called)[0] if called else None
    if found is None or not found.spoken or f"reader={reader}" in argument.split(","):
        return predictions, format
    return Path(predictions.name), io.read_spoken(check_path(predictions.name), predictions.format, reader)


def read_side(
    readable: Readable, notes: Notes, format: str | None, role: str, reader: str = "", cache: Cache | None = None
) -> Corpus:
    """The stories of a file, or those that were read before, with what there was to say of them.

    Of a file whose records hold both sides the one that is asked for, by a protocol's reader.
    """
    if isinstance(readable, Corpus):
        if not (reader and SHELVES["stories"].find_sides(readable.format.partition(":")[0])):
            return readable
        format, readable = readable.format, Path(readable.name)
    name, _, argument = (format or "").partition(":")
    shelf = SHELVES["stories"]
    if sides := shelf.find_sides(name if format is not None else shelf.find_record_format(open_document(readable))):
        parts = [argument, f"reader={reader}" if reader and "reader=" not in argument else ""]
        more = ",".join(filter(None, parts))
        format = sides[role] + (f":{more}" if more else "")
    key, files = (str(readable), format), {} if cache is None else cache.files
    if key not in files:
        files[key] = io.read(readable, format)
    read, remarks = files[key]
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
