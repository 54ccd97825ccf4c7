"""lmms-eval's --log_samples (0.7.3): a line per sample, {"doc_id", "filtered_resps", …}; answers are read as stories.

A story's id is the video's name where the log has it (in `doc`, or in what the task returned), else its `doc_id`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.benchmarks.lmms.log import sample_duration, sample_id, sample_text
from fabula.data.stories import Story
from fabula.documents.fields import Source
from fabula.io.answers import files
from fabula.io.answers.times import UNITS
from fabula.io.format import STORIES, Format, HeadRule


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    yield from files.read_stories(((at, as_answer(entry, at, source)) for at, entry in document), source)


def as_answer(entry: Any, at: str, source: Source) -> dict[str, Any]:
    entry = source.mapping(entry, at, hint='a sample is {"doc_id", "filtered_resps", …}')
    source.entry(entry, "doc_id", None, at)
    answer = {"id": sample_id(entry), "answer": sample_text(entry, at, source)}
    return answer | {"duration": duration} if (duration := sample_duration(entry)) is not None else answer


FORMAT = Format(
    name="lmms-samples",
    about="lmms-eval's --log_samples, read as answers with an audit: {doc_id, filtered_resps, …}",
    known_by=(HeadRule(all=("doc_id", "filtered_resps")),),
    holds="predictions",
    tasks=STORIES,
    pattern="*.jsonl",
    spoken="by reader",
    read_stories=read_stories,
    argument=f"a unit for bare numbers ({', '.join(UNITS)}), or reader=",
    example='{"doc_id": 0, "target": "", "filtered_resps": "From 0 to 10.5 seconds, a kite rises.", '
    '"fabula_dense": {"id": "v_kite", "duration": 30.5}}',
)
