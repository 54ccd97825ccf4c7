"""The verbs: what the command line does, as library calls. `fabula.score(...)` is `fabula score`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fabula
from fabula import io, metrics, protocols
from fabula.core import spec
from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, named
from fabula.core.nouns import Corpus, Event, Item, Segment, Story
from fabula.core.result import Result, Score
from fabula.core.rows import Rows
from fabula.engine.captions import Tokenised, caption_rows
from fabula.engine.local import Progress, silent, story_rows
from fabula.io.captions import read as read_items
from fabula.io.ids import reconcile
from fabula.io.segments import check_predictions, check_references
from fabula.metrics import Metric
from fabula.metrics._caption import CaptionMetric
from fabula.metrics._story import StoryMetric
from fabula.protocols import Protocol

Readable = str | Path | Corpus
TASKS = {
    "dense": "dense video captions: events with times and words",
    "procedure": "procedure steps: events with times alone",
    "captions": "single captions against references: COCO results, or pairs",
}


def score(
    predictions: Readable,
    refs: Readable | Sequence[Readable] = (),
    *,
    task: str | None = None,
    protocol: str | None = None,
    metrics: Sequence[str | Metric] | str | None = None,
    repair: Sequence[str] = (),
    strict: bool = False,
    tok: str | None = None,
    format: str | None = None,
    refs_format: str | None = None,
    progress: Progress = silent,
) -> Result:
    """Score predictions against one or more reference sets.

    With a protocol, the published evaluator's numbers; without, the corrected ones. `metrics` chooses among them:
    names or specs such as "SODA_c(refs=best)". `repair` says what to do with malformed reference segments, `tok`
    sets the tokeniser of every metric that has one.
    """
    several: Sequence[Readable] = [refs] if isinstance(refs, str | Path | Corpus) else refs
    named_protocol = protocols.protocol(protocol) if protocol else None
    task = agreed_task(task, named_protocol, chosen := choose(metrics, named_protocol))
    notes = Notes()
    if task == "captions":
        return score_captions(predictions, several, named_protocol, retokenised(chosen, task, tok), notes, progress)

    if not several:
        raise SpecError("no references; name at least one reference file with --refs")
    sets = [corpus(r, notes, refs_format) for r in several]
    pred = corpus(predictions, notes, format)
    task = task or ("dense" if pred.captioned else "procedure")
    judged = named_protocol is None or named_protocol.judges_segments
    pred = check_predictions(pred, notes, strict, judged)
    if judged:
        sets = [check_references(ref, notes, repair) for ref in sets]
    sets = [sets[0], *(reconcile(ref, sets[0], notes) for ref in sets[1:])]
    pred = reconcile(pred, [v for ref in sets for v in ref], notes)
    counts = count(pred, sets, notes)

    def rows_of(metric: Metric) -> Rows:
        if not isinstance(metric, StoryMetric):
            raise SpecError(f"{metric.name} does not score stories; it is for the task {' and '.join(metric.tasks)}")
        if metric.refs == "single" and len(sets) > 1:
            raise SpecError(f"{metric} takes one reference set, {len(sets)} were given; say refs=mean, best or merged")
        return story_rows(metric, sets, pred, progress)

    facts = {"sets": len(sets), "missing": counts["missing"]}
    result = measured(retokenised(chosen, task, tok), rows_of, facts, task, named_protocol, counts, notes)
    return replace(result, refs=tuple(sets), predictions=pred)


def score_captions(
    predictions: Readable,
    refs: Sequence[Readable],
    protocol: Protocol | None,
    chosen: Sequence[Metric],
    notes: Notes,
    progress: Progress,
) -> Result:
    """The task `captions`: items, each a candidate with its references."""
    if isinstance(predictions, Corpus) or any(isinstance(r, Corpus) for r in refs):
        raise SpecError("the task captions reads files, not story corpora")
    items, remarks = read_items(predictions, [r for r in refs if not isinstance(r, Corpus)])
    notes.extend(remarks)
    if not items:
        raise InputError("no items to score", file=predictions, hint="check the file")
    missing = sum(i.candidate is None for i in items)
    counts = {
        "items": len(items),
        "missing": missing,
        "unparsed": 0,
        "references": sum(len(i.references) for i in items),
    }
    tokenised = Tokenised(items)

    def rows_of(metric: Metric) -> Rows:
        if not isinstance(metric, CaptionMetric):
            raise SpecError(f"{metric.name} does not score single captions; it is for {' and '.join(metric.tasks)}")
        return caption_rows(metric, tokenised, progress)

    return measured(chosen, rows_of, {"missing": missing}, "captions", protocol, counts, notes)


def measured(
    chosen: Sequence[Metric],
    rows_of: Callable[[Metric], Rows],
    facts: Mapping[str, object],
    task: str,
    protocol: Protocol | None,
    counts: dict[str, int],
    notes: Notes,
) -> Result:
    """Each metric's rows, folded and signed."""
    scores: dict[str, Score] = {}
    rows: dict[str, Rows] = {}
    for metric in chosen:
        name = metric.name if sum(m.name == metric.name for m in chosen) == 1 else str(metric)
        if name in scores:
            raise SpecError(f"the metric {metric} is asked for twice")
        table = rows_of(metric)
        if not len(table):
            raise InputError("nothing is left to score", hint="missing=drop leaves out what has no prediction")
        unit = "videos" if table.unit == "video" else "items"
        signature = metric.signature({unit: len(set(table.keys)), **facts, "fabula": fabula.__version__})
        scores[name] = Score(metric.name, metric.fold(table), metric.primary, signature, scale=metric.scale)
        rows[name] = table
    name = protocol.name if protocol else "default"
    return Result(fabula.__version__, task, name, scores, counts, tuple(notes.lines()), rows)


def agreed_task(task: str | None, protocol: Protocol | None, chosen: Sequence[Metric] | None) -> str | None:
    """The task that was named, or that the protocol or all metrics belong to; None where the files must tell."""
    if task is not None and task not in TASKS:
        raise SpecError(f"no task is called {task!r}; there are: {', '.join(TASKS)}")
    if protocol:
        if task and task != protocol.task:
            raise SpecError(f"the protocol {protocol.name} is for the task {protocol.task}, not {task}")
        return protocol.task
    if task is None and chosen and all(isinstance(m, CaptionMetric) for m in chosen):
        return "captions"
    return task


def choose(wanted: Sequence[str | Metric] | str | None, protocol: Protocol | None) -> list[Metric] | None:
    """The metrics asked for, or all of the protocol; None where the task decides."""
    if wanted is None:
        return list(protocol.metrics) if protocol else None
    names = spec.split(wanted) if isinstance(wanted, str) else wanted
    if not names:
        raise SpecError("no metric is named; leave --metrics out to get all")
    make = protocol.metric if protocol else metrics.metric
    return [make(name) if isinstance(name, str) else name for name in names]


def retokenised(chosen: Sequence[Metric] | None, task: str, tok: str | None) -> list[Metric]:
    """The chosen metrics, or the task's; with `tok`, those that tokenise do it that way."""
    some = list(chosen) if chosen is not None else metrics.default(task)
    return [m.with_params({"tok": tok}) if tok and "tok" in m.defaults() else m for m in some]


def corpus(readable: Readable, notes: Notes, format: str | None) -> Corpus:
    if isinstance(readable, Corpus):
        return readable
    read, remarks = io.read(readable, format)
    notes.extend(remarks)
    return read


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
        ids = f"compare the ids: predictions have {shown(next(iter(pred)))}, references {shown(next(iter(videos)))}"
        raise InputError("no predicted video is among the references", file=pred.name or None, hint=ids)
    for v in missing:
        notes.add("{n} reference videos have no prediction (see missing=… in each signature)", named(v))
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


Told = Sequence[tuple[float, float, str]]  # a story as training code has it: (start, end, caption)
Reward = Callable[[Sequence[Any], Sequence[Any]], NDArray[np.float64]]


def reward(metric: str | Metric) -> Reward:
    """A metric as a batched reward for reinforcement learning: `reward(candidates, references) → [B]`.

    METEOR, CIDEr, BLEU_4 …: a candidate is a sentence, its references a sentence or a list of them (CIDEr takes its
    document frequencies from the batch unless idf=file:… is given). SODA_c and its like: a candidate is a list of
    (start, end, caption), its reference another, or several of them in a list.
    """
    made = metrics.metric(metric) if isinstance(metric, str) else metric
    if isinstance(made, CaptionMetric):
        return lambda candidates, references: caption_reward(made, candidates, references)
    if isinstance(made, StoryMetric):
        return lambda candidates, references: story_reward(made, candidates, references)
    raise SpecError(f"{made.name} gives no reward per item")


def caption_reward(metric: CaptionMetric, candidates: Sequence[str], references: Sequence[Any]) -> NDArray[np.float64]:
    same_length(candidates, references)
    items = [
        Item(i, c, (r,) if isinstance(r, str) else tuple(r))
        for i, (c, r) in enumerate(zip(candidates, references, strict=True))
    ]
    for item in items:
        for text in (item.candidate, *item.references):
            if not isinstance(text, str):
                raise InputError(
                    f"expected text, saw {shown(text)}", field=f"item {item.id}", hint="rewards score text"
                )
    return caption_rows(metric, Tokenised(items))[metric.primary] if items else np.zeros(0)


def story_reward(metric: StoryMetric, candidates: Sequence[Told], references: Sequence[Any]) -> NDArray[np.float64]:
    same_length(candidates, references)
    sets: list[dict[str, Story]] = []
    for i, told in enumerate(references):
        for k, one in enumerate(told if nested(told) else [told]):
            sets += [{}] if k == len(sets) else []
            sets[k][str(i)] = story(str(i), one)
    preds = {str(i): story(str(i), told) for i, told in enumerate(candidates)}
    rows = story_rows(metric, [Corpus(s) for s in sets], Corpus(preds))
    value, n = np.zeros(len(candidates)), np.zeros(len(candidates))
    for key, number in zip(rows.keys, rows[metric.primary], strict=True):
        value[int(key)] += number
        n[int(key)] += 1
    return value / np.maximum(n, 1)


def nested(told: Any) -> bool:
    """True for a list of stories, False for one story."""
    return len(told) > 0 and len(told[0]) > 0 and not isinstance(told[0][0], int | float | np.number)


def story(id: str, told: Told) -> Story:
    try:
        return Story(id, tuple(Event(Segment(float(s), float(e)), str(c)) for s, e, c in told))
    except (TypeError, ValueError):
        hint = "a story is a list of (start, end, caption)"
        raise InputError(f"expected a story, saw {shown(told)}", field=f"item {id}", hint=hint) from None


def same_length(candidates: Sequence[Any], references: Sequence[Any]) -> None:
    if len(candidates) != len(references):
        raise InputError(f"{len(candidates)} candidates for {len(references)} references", hint="give one for each")
