"""Ego4D's natural language queries (Grauman et al., CVPR 2022): clips, their annotations, their queries; and answers.

queries      {"videos": [{"clips": [{"clip_uid", "annotations": [{"annotation_uid",
              "language_queries": [{"clip_start_sec", "clip_end_sec", "query"}, …]}, …]}, …]}, …]}
predictions  {"version": "1.0", "challenge": "ego4d_nlq_challenge",
              "results": [{"clip_uid", "annotation_uid", "query_idx", "predicted_times": [[start, end], …]}, …]}

A query's id is annotation_uid/query_idx; times are seconds within the clip, which stands for the video.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.core.notes import name_id
from fabula.data.moments import Query, Ranking, VideoNumbers
from fabula.documents.fields import Source
from fabula.io.format import Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import read_rows, read_text, split_rows

START = r'\s*\{(?:\s*"(?:version|date|description|manifest)"\s*:\s*"[^"]*"\s*,)*\s*"videos"\s*:\s*\['
ANSWERED = (
    HeadRule(begins=r"(?s).*ego4d_nlq_challenge"),
    HeadRule(begins=r"\s*", all=("query_idx", "predicted_times")),
)
ENTRY = '{"clip_uid", "annotation_uid", "query_idx", "predicted_times": [[start, end], …]}'
HEADER = {"version": "1.0", "challenge": "ego4d_nlq_challenge"}


def children(source: Source, entry: dict[str, Any], key: str, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a list within an object, each with its place."""
    for i, child in enumerate(source.listing(source.entry(entry, key, None, at), f"{at}{key}")):
        where = f"{at}{key}[{i}]."
        yield where, source.mapping(child, where.rstrip("."))


def read_queries(source: Source) -> Iterator[Query]:
    root = source.mapping(source.document.tree(), "the root", hint='it is {"videos": […]}')
    for at, video in children(source, root, "videos", ""):
        for within, clip in children(source, video, "clips", at):
            name = source.text(source.entry(clip, "clip_uid", None, within), f"{within}clip_uid")
            for inside, annotation in children(source, clip, "annotations", within):
                uid = source.text(source.entry(annotation, "annotation_uid", None, inside), f"{inside}annotation_uid")
                for i, (_, query) in enumerate(children(source, annotation, "language_queries", inside)):
                    yield read_query(source, query, f"{uid}/{i}", name)


def read_query(source: Source, query: dict[str, Any], id: str, clip: str) -> Query:
    start, end = (source.number(source.entry(query, k, id), k, id) for k in ("clip_start_sec", "clip_end_sec"))
    return Query(id, clip, ((start, end),), None, read_text(query, "query", id, source))


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    root = source.mapping(source.document.tree(), "the root", hint=f'it is {{"results": [{ENTRY}, …]}}')
    for key, value in HEADER.items():
        if root.get(key) != value:
            source.notes.add(f"{key} is not {value!r}, which the challenge wants", name_id("the root"))
    for i, entry in enumerate(source.listing(source.entry(root, "results"), "results")):
        at = f"results[{i}]"
        entry = source.mapping(entry, at, hint=f"it is {ENTRY}")
        uid = source.text(source.entry(entry, "annotation_uid", None, at), f"{at}.annotation_uid")
        index = source.entry(entry, "query_idx", None, at)
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            raise source.wrong(f"query_idx is {index!r:.60}", uid, at, "it is a whole number from 0 on")
        id = f"{uid}/{index}"
        rows = read_rows(
            source.entry(entry, "predicted_times", id, at), "[start, end]", 2, "predicted_times", id, source
        )
        spans, _ = split_rows(rows, "predicted_times", id, source, "[start, end]")
        source.unused(entry, {"clip_uid", "annotation_uid", "query_idx", "predicted_times"}, "predictions")
        yield "", Ranking(id, spans)


FORMATS = (
    Format(
        name="ego4d-nlq",
        about="Ego4D's language queries: {videos: [{clips: [{annotations: [{language_queries}]}]}]}",
        known_by=(HeadRule(begins=START, all=("clips",)),),
        main_task="grounding",
        holds="references",
        tasks=("grounding",),
        read_queries=read_queries,
        example='{"videos": [{"clips": [{"clip_uid": "c", "annotations": [{"annotation_uid": "a", "language_queries": '
        '[{"clip_start_sec": 0, "clip_end_sec": 10.5, "query": "where is the kite"}]}]}]}]}',
    ),
    Format(
        name="ego4d-nlq-predictions",
        about="answers to them: {version, challenge, results: [{annotation_uid, query_idx, predicted_times}]}",
        known_by=ANSWERED,
        certain=ANSWERED,
        main_task="grounding",
        holds="predictions",
        tasks=("grounding",),
        read_rankings=read_rankings,
        example='{"version": "1.0", "challenge": "ego4d_nlq_challenge", "results": [{"annotation_uid": "a", '
        '"query_idx": 0, "predicted_times": [[0, 10.5]]}]}',
    ),
)
