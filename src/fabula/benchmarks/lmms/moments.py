"""lmms-eval's --log_samples of grounding (charades_sta, timelens, extremewhenbench; 0.7.3): truth and answer in a line.

The id of a query is its `doc_id`. A log scores against itself: fabula score x.jsonl --refs x.jsonl --task grounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.benchmarks.lmms.log import sample_text, sample_truth
from fabula.data.moments import Query, Ranking, VideoNumbers
from fabula.documents.document import Document
from fabula.documents.fields import Source
from fabula.io.answers.hosts import note_failed
from fabula.io.format import MOMENTS, Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import NO_WINDOWS, check_object, read_id, read_words

SHAPE = '{"doc_id", "filtered_resps", a metric: {"video>>>sentence>>>[start, end]": answer} or {"gt": [start, end]}}'


def list_samples(source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    for at, entry in source.document.entries():
        yield at, check_object(entry, at, source, SHAPE)


def read_queries(source: Source) -> Iterator[Query]:
    for at, entry in list_samples(source):
        id = read_id(entry, "doc_id", at, source)
        truth = sample_truth(entry)
        if truth is None:
            raise source.wrong("the line does not hold the truth", id, at, "name the data set's own file with --refs")
        video, text, windows = truth
        yield Query(id, video, windows, None, text)


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    for at, entry in list_samples(source):
        id = read_id(entry, "doc_id", at, source)
        yield (
            "",
            Ranking(
                id,
                NO_WINDOWS,
                answer=note_failed(read_words(sample_text(entry, at, source), at, id, source), id, source),
            ),
        )


def holds_truth(head: Document) -> bool:
    return sample_truth(dict(head.first_object)) is not None


FORMAT = Format(
    name="lmms-grounding",
    about="lmms-eval's --log_samples of grounding: {doc_id, filtered_resps, metric: {video>>>text>>>window: answer}}",
    known_by=(HeadRule(all=("doc_id", "filtered_resps")),),
    sniff=holds_truth,
    main_task="grounding",
    holds="either",
    tasks=MOMENTS,
    pattern="*.jsonl",
    read_queries=read_queries,
    read_rankings=read_rankings,
    example='{"doc_id": 0, "filtered_resps": "It happens in 0 - 9 seconds.", '
    '"charades_sta_mIOU": {"kite.mp4>>>a kite rises>>>[0.0, 10.5]": "It happens in 0 - 9 seconds."}}',
)
