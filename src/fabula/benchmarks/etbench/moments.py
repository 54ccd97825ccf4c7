"""E.T. Bench's tasks with windows (Liu et al., NeurIPS 2024): tvg, epm, tem, tal, evs, vhd; both sides in one record.

A query's id is task/source/idx, its type the source. Windows of all annotators of a highlight (vhd) are its windows. An
answer stays as it was said: the metric's reader finds the windows. A record without `a` is a question of the data set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.benchmarks.etbench.records import ARGUMENT, RECORD, Sample, read_samples
from fabula.data.moments import Query, Ranking, Span, VideoNumbers
from fabula.documents.fields import Source
from fabula.io.format import Format
from fabula.io.moments import Answers
from fabula.io.moments.fields import NO_WINDOWS, read_duration, read_text, read_window, read_windows, read_words

TASKS = ("tvg", "epm", "tem", "tal", "evs", "vhd")
ONE = ("tvg", "epm")  # whose truth is one window


def read_queries(source: Source) -> Iterator[Query]:
    for sample in read_samples(source, TASKS):
        entry, id = sample.entry, sample.id
        video = source.text(source.entry(entry, "video", id, sample.at), "video", id)
        windows = read_truth(source.entry(entry, "tgt", id, sample.at), sample, source)
        duration = read_duration(entry, id, source)
        yield Query(id, video, windows, duration, read_text(entry, "q", id, source), None, sample.source)


def read_truth(truth: Any, sample: Sample, source: Source) -> tuple[Span, ...]:
    if sample.entry["task"] in ONE and not (isinstance(truth, list) and truth and isinstance(truth[0], list)):
        return (read_window(truth, "tgt", sample.id, source),)
    if sample.entry["task"] == "vhd" and is_nested(truth):
        return tuple(w for i, some in enumerate(truth) for w in read_windows(some, f"tgt[{i}]", sample.id, source))
    return read_windows(truth, "tgt", sample.id, source)


def is_nested(truth: object) -> bool:
    """True for a list of annotators, each of which has a list of windows."""
    for _ in range(2):
        truth = truth[0] if isinstance(truth, list) and truth else None
    return isinstance(truth, list)


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    for sample in read_samples(source, TASKS):
        if (said := sample.entry.get("a")) is not None:
            yield "", Ranking(sample.id, NO_WINDOWS, answer=read_words(said, "a", sample.id, source))


FORMAT = Format(
    name="etbench",
    about="E.T. Bench's tvg, epm, tem, tal, evs, vhd: [{task, source, idx, video, tgt, a}], both sides in one",
    known_by=(RECORD,),
    shared=RECORD,
    main_task="grounding",
    holds="either",
    tasks=("grounding",),
    pattern="*.json, *.jsonl",
    read_queries=read_queries,
    read_rankings=read_rankings,
    argument=ARGUMENT,
    example='[{"task": "tvg", "source": "kites", "idx": 0, "video": "kite.mp4", "duration": 30.5, "tgt": [0, 10.5], '
    '"q": "when does the kite rise", "a": "0 - 10.5 seconds"}]',
)
