"""What the tasks about moments share: queries with windows, against a file of rankings that is read as a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.core.rows import Rows
from fabula.data.moments import Id, Query, Rankings, VideoNumbers
from fabula.documents.files import pause_collector
from fabula.evaluate.kept import Answers
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.rankings import Reading, Scored, moment_rows
from fabula.evaluate.request import Request
from fabula.evaluate.score import Comparison, Parts
from fabula.io import moments as files
from fabula.metrics import Metric
from fabula.metrics.moments import MomentMetric

TYPES = ("v", "t", "vt")  # TVR: the video, the subtitles or both tell where it is


def compare(request: Request, task: str) -> tuple[Comparison, list[Metric]]:
    predictions, refs = request.paths(task)
    request.need_refs()
    notes, options = Notes(), request.options
    chosen = cast("list[MomentMetric]", request.readable(task, "moments"))
    queries = files.read_queries(refs, notes, options.refs_format, options.repair, judged=request.protocol is None)
    queries = request.limit(queries, notes)
    if not queries:
        raise InputError("no query", file=refs[0], hint="check the reference file")
    absent = {}
    if not any(q.saliency for q in queries.values()):
        absent = {m: "the references have no marks of clips" for m in chosen if m.needs == "saliency"}
    numbers = VideoNumbers(strangers=all(m.param("unlisted") == "wrong" for m in chosen))
    stream, _ = files.read_rankings(predictions, numbers, notes, options.format)
    able = [m for m in chosen if m not in absent]
    stream, clock = in_seconds(stream, queries, options, predictions)
    kept = Answers(queries, numbers, next(iter(able), None))
    with pause_collector():  # rankings hold no cycles
        scored = moment_rows(able, queries, kept.tap(stream), Reading(numbers, notes, options.strict, request.progress))
    absent |= scored.absent
    present = keep_usable(request, chosen, absent, notes)
    note_missing(scored, len(queries), predictions, notes)
    counts = {
        "queries": len(queries),
        "missing": scored.missing,
        "unparsed": scored.empty if task == "grounding" else 0,
        "unknown": scored.unknown,
        "empty": scored.empty,
        "references": sum(len(q.windows) for q in queries.values()),
        "predictions": scored.answers,
    }
    types = {id: q.type for id, q in queries.items() if q.type is not None}
    return Comparison(
        task=task,
        rows_of=lambda metric: scored.rows[cast("MomentMetric", metric)],
        counts=counts,
        notes=notes,
        facts={"missing": scored.missing, "empty": scored.empty, **clock},
        parts=Parts("queries", lambda rows: group_types(rows, types)) if types else None,
        evidence=lambda metrics: {"kept": kept},
    ), [*present]


def in_seconds(
    stream: files.Answers, queries: Mapping[Id, Query], options: ScoreOptions, file: object
) -> tuple[files.Answers, dict[str, str]]:
    """Answers that count frames as answers that count seconds, and what the signature says of it.

    --fps F: frame n is at n / F · --frames N: N frames sampled evenly over the video, frame n is at n·duration/N
    """
    fps, frames = options.fps, options.frames
    if fps is None and frames is None:
        return stream, {}
    if fps is not None and frames is not None:
        raise SpecError("--fps and --frames both say what a frame number is; leave one of them out")
    if fps is not None and not 0 < fps < 1e6:
        raise SpecError(f"--fps {fps:g}; it is a number of frames a second, above 0")

    def pace_of(id: Id) -> float | None:
        if fps is not None:
            return 1 / fps
        query = queries.get(id) or queries.get(str(id)) or (queries.get(int(id)) if str(id).isdecimal() else None)
        if query is None or frames is None:
            return None  # of no query that is scored
        if query.duration is None:
            hint = "--frames needs it to know what a frame number is; give references with durations, or --fps"
            raise InputError(
                "the references do not say how long this video is", file=file, video=id, noun="query", hint=hint
            )
        return query.duration / frames

    def walk() -> files.Answers:
        for name, some in stream:
            for ranking in some if isinstance(some, Rankings) else (some,):
                pace = pace_of(ranking.id)
                spans = ranking.spans if pace is None else ranking.spans * pace
                yield name, replace(ranking, spans=spans, pace=pace if ranking.answer is not None else None)

    return walk(), {"times": f"frame/{fps:g}" if fps is not None else f"frame*duration/{frames}"}


def group_types(rows: Rows, types: Mapping[Id, str]) -> dict[str, list[int]]:
    """Which rows each type of query has, in the order of TVR's evaluator: v, t, vt, then any other."""
    places: dict[str, list[int]] = {type: [] for type in TYPES}
    for i, key in enumerate(rows.keys):
        if key in types:
            places.setdefault(types[key], []).append(i)
    return places


def keep_usable(
    request: Request, chosen: list[MomentMetric], absent: dict[MomentMetric, str], notes: Notes
) -> list[MomentMetric]:
    """The metrics that the files allow. All were meant: those that cannot be are left out and named; else an error."""
    left = [m for m in chosen if m not in absent]
    if absent and (not request.means_all or not left):
        metric, why = next(iter(absent.items()))
        raise InputError(f"{metric.name}: {why}", file=str(request.predictions), hint="leave the metric out")
    for metric, why in absent.items():
        notes.add(f"{metric.name} is left out: {why}")
    return left


def note_missing(scored: Scored, total: int, predictions: object, notes: Notes) -> None:
    """Warnings for what does not meet."""
    if scored.unknown and scored.missing == total:
        hint = "compare the ids of the two files"
        raise InputError("no answered query is among the references", file=predictions, hint=hint)
    if scored.missing:
        notes.add(f"{scored.missing} queries have no answer (see missing=… in each signature)")
    if scored.empty:
        notes.add(f"{scored.empty} rankings are empty")
