"""What dense captioning and procedures share: stories of videos against one or more sets of reference stories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fabula import io
from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, named
from fabula.core.nouns import Corpus
from fabula.core.result import Result
from fabula.core.rows import Rows
from fabula.engine.local import story_rows
from fabula.io.ids import reconcile
from fabula.io.segments import check_predictions, check_references
from fabula.metrics import Metric
from fabula.metrics._paragraph import Paragraph
from fabula.metrics._story import StoryMetric
from fabula.tasks._task import Readable, Request, measured, wrong_task


def run(request: Request, task: str | None) -> Result:
    """Score stories; without a task, predictions that say something are dense captions, others a procedure."""
    if request.sharded:
        from fabula.tasks import _sharded

        return _sharded.run(request, task)
    notes = Notes()
    sets, pred = gather(request, notes)
    told = pred if pred.events else sets[0]
    task = task or ("dense" if told.captioned else "procedure")
    counts = count(pred, sets, notes)

    def rows_of(metric: Metric) -> Rows:
        return story_rows(checked(metric, task, len(sets)), sets, pred, request.progress)

    result = measured(request, task, rows_of, {"sets": len(sets), "missing": counts["missing"]}, counts, notes)
    return replace(result, refs=tuple(sets), predictions=pred)


def checked(metric: Metric, task: str, sets: int) -> StoryMetric | Paragraph:
    """The metric, if it can score stories of so many reference sets."""
    if not isinstance(metric, StoryMetric | Paragraph):
        raise wrong_task(metric, task)
    if isinstance(metric, StoryMetric) and metric.refs == "single" and sets > 1:
        raise SpecError(f"{metric} takes one reference set, {sets} were given; say refs=mean, best or merged")
    return metric


def gather(request: Request, notes: Notes) -> tuple[list[Corpus], Corpus]:
    """Reference sets and predictions, read, judged by the protocol's rule, ids reconciled."""
    if not request.refs:
        raise SpecError("no references; name at least one reference file with --refs")
    sets = [corpus(r, notes, request.refs_format) for r in request.refs]
    pred = corpus(request.predictions, notes, request.format)
    judged = request.protocol is None or request.protocol.judges_segments
    pred = check_predictions(pred, notes, request.strict, judged)
    if judged:
        sets = [check_references(ref, notes, request.repair) for ref in sets]
    sets = [sets[0], *(reconcile(ref, sets[0], notes) for ref in sets[1:])]
    return sets, reconcile(pred, [v for ref in sets for v in ref], notes)


def corpus(readable: Readable, notes: Notes, format: str | None) -> Corpus:
    if isinstance(readable, Corpus):
        return readable
    read, remarks = io.read(readable, format)
    notes.extend(remarks)
    return read


def count(pred: Corpus, sets: Sequence[Corpus], notes: Notes) -> dict[str, int]:
    """How many there are, and warnings for what does not meet."""
    told = {v for ref in sets for v, story in ref.items() if story.events}
    videos = dict.fromkeys(v for ref in sets for v in ref if v in told)
    for ref in sets:
        for v, story in ref.items():
            if not story.events:
                notes.add(EMPTY, named(v))
    if not videos:
        raise no_events(sets[0].name)
    missing = [v for v in videos if v not in pred]
    if len(pred) and len(missing) == len(videos):
        raise none_in_common(pred.name, next(iter(pred)), next(iter(videos)))
    for v in missing:
        notes.add(MISSING, named(v))
    for v in pred:
        if v not in videos:
            notes.add(UNKNOWN, named(v))
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
