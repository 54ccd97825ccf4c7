"""The verbs: what the command line does, as library calls. `fabula.score(...)` is `fabula score`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import fabula
from fabula import io, metrics, protocols
from fabula.core import spec
from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, named
from fabula.core.nouns import Corpus
from fabula.core.result import Result, Score
from fabula.core.rows import Rows
from fabula.engine.local import Progress, silent, story_rows
from fabula.io.ids import reconcile
from fabula.io.segments import check_predictions, check_references
from fabula.metrics import Metric
from fabula.metrics._story import StoryMetric
from fabula.protocols import Protocol

Readable = str | Path | Corpus
TASKS = {
    "dense": "dense video captions: events with times and words",
    "procedure": "procedure steps: events with times alone",
}


def score(
    predictions: Readable,
    refs: Readable | Sequence[Readable],
    *,
    task: str | None = None,
    protocol: str | None = None,
    metrics: Sequence[str | Metric] | str | None = None,
    repair: Sequence[str] | str = (),
    strict: bool = False,
    format: str | None = None,
    refs_format: str | None = None,
    progress: Progress = silent,
) -> Result:
    """Score predictions against one or more reference sets.

    With a protocol, the published evaluator's numbers; without, the corrected ones. `metrics` chooses among them:
    names or specs such as "SODA_c(refs=best)". `repair` says what to do with malformed reference segments.
    """
    notes = Notes()
    several: Sequence[Readable] = [refs] if isinstance(refs, str | Path | Corpus) else refs
    sets = [corpus(r, notes, refs_format) for r in several]
    if not sets:
        raise SpecError("no references; name at least one reference file")
    pred = corpus(predictions, notes, format)
    chosen_protocol = protocols.protocol(protocol) if protocol else None
    if task is not None and task not in TASKS:
        raise SpecError(f"no task is called {task!r}; there are: {', '.join(TASKS)}")
    if chosen_protocol and task and task != chosen_protocol.task:
        raise SpecError(f"the protocol {chosen_protocol.name} is for the task {chosen_protocol.task}, not {task}")
    task = task or (chosen_protocol.task if chosen_protocol else None) or ("dense" if pred.captioned else "procedure")
    chosen = choose(metrics, chosen_protocol, task)

    judged = chosen_protocol is None or chosen_protocol.judges_segments
    pred = check_predictions(pred, notes, strict, judged)
    if judged:
        ways = [repair] if isinstance(repair, str) else repair
        sets = [check_references(ref, notes, ways) for ref in sets]
    sets = [sets[0], *(reconcile(ref, sets[0], notes) for ref in sets[1:])]
    pred = reconcile(pred, [v for ref in sets for v in ref], notes)
    counts = count(pred, sets, notes)

    scores: dict[str, Score] = {}
    rows: dict[str, Rows] = {}
    for metric in chosen:
        name = metric.name if sum(m.name == metric.name for m in chosen) == 1 else str(metric)
        if name in scores:
            raise SpecError(f"the metric {metric} is asked for twice")
        scores[name], rows[name] = measure(metric, sets, pred, counts, progress)
    return Result(
        fabula=fabula.__version__,
        task=task,
        protocol=chosen_protocol.name if chosen_protocol else "default",
        scores=scores,
        counts=counts,
        warnings=tuple(notes.lines()),
        rows=rows,
    )


def corpus(readable: Readable, notes: Notes, format: str | None) -> Corpus:
    if isinstance(readable, Corpus):
        return readable
    read, remarks = io.read(readable, format)
    notes.extend(remarks)
    return read


def choose(wanted: Sequence[str | Metric] | str | None, protocol: Protocol | None, task: str) -> list[Metric]:
    """The metrics asked for; all of the protocol, or of the task, when none is named."""
    if wanted is None:
        return list(protocol.metrics) if protocol else metrics.default(task)
    names = spec.split(wanted) if isinstance(wanted, str) else wanted
    if not names:
        raise SpecError("no metric is named; leave --metrics out to get all")
    make = protocol.metric if protocol else metrics.metric
    return [make(name) if isinstance(name, str) else name for name in names]


def count(pred: Corpus, sets: Sequence[Corpus], notes: Notes) -> dict[str, int]:
    """How many there are, and warnings for what does not meet."""
    videos = dict.fromkeys(v for ref in sets for v in ref if any(len(r[v]) for r in sets if v in r))
    for ref in sets:
        for v, story in ref.items():
            if not len(story):
                notes.add("{n} reference videos have no events and are left out", named(v))
    if not videos:
        raise InputError("no reference video has an event", file=sets[0].name or None, hint="check the reference file")
    missing = [v for v in videos if v not in pred]
    if len(pred) and len(missing) == len(videos):
        some = f"predictions have {shown(next(iter(pred)))}, references {shown(next(iter(videos)))}"
        raise InputError(
            "no predicted video is among the references", file=pred.name or None, hint=f"compare the ids: {some}"
        )
    for v in missing:
        notes.add("{n} reference videos have no prediction (see missing:… in each signature)", named(v))
    for v in pred:
        if v not in videos:
            notes.add("{n} predicted videos are not in the references and are not scored", named(v))
    return {
        "videos": len(videos),
        "missing": len(missing),
        "unparsed": 0,
        "unknown": sum(v not in videos for v in pred),
        "references": sum(ref.events for ref in sets),
        "predictions": sum(len(pred[v]) for v in videos if v in pred),
    }


def measure(
    metric: Metric, sets: Sequence[Corpus], pred: Corpus, counts: dict[str, int], progress: Progress
) -> tuple[Score, Rows]:
    if not isinstance(metric, StoryMetric):
        raise SpecError(f"{metric.name} does not score stories")
    if metric.refs == "single" and len(sets) > 1:
        raise SpecError(f"{metric} takes one reference set, {len(sets)} were given; say refs=mean, best or merged")
    rows = story_rows(metric, sets, pred, progress)
    if not len(rows):
        raise InputError(
            "no video is left to score", file=pred.name or None, hint="missing=drop leaves out what is absent"
        )
    facts = {
        "sets": len(sets),
        "videos": len(set(rows.video)),
        "missing": counts["missing"],
        "fabula": fabula.__version__,
    }
    return Score(metric.name, metric.fold(rows), metric.primary, metric.signature(facts), scale=metric.scale), rows
