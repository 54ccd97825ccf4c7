"""Answers of a language model about moments, in its own words: {"id": query, "answer": text}, a line each.

Which window an answer names is for the metric's reader to say: `Grounding(reader=…)`. An answer of null is none: the
query counts as unanswered. "run" is the signature of the run that got it (fabula ask).
"""

from __future__ import annotations

from fabula.data.moments import Ranking, VideoNumbers
from fabula.documents.fields import Source
from fabula.io.format import Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import NO_WINDOWS, check_object, read_id, read_words
from fabula.io.stories import TEXTS

ANSWER_IDS = ("id", "uid", "qid", "desc_id", "query_id", "annotation_uid")  # what files of answers call a query
LINE = HeadRule(any=ANSWER_IDS, texts=TEXTS, none=("windows", "video", "vid_name"), lines=True)
ENTRY = '{"id": query, "answer": text}'


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    for at, entry in source.document.entries():
        entry = check_object(entry, at, source, ENTRY)
        id = read_id(entry, next((key for key in ANSWER_IDS if key in entry), "id"), at, source)
        words = next((key for key in TEXTS if key in entry), "answer")
        text = source.entry(entry, words, id, at)
        source.unused(entry, {*ANSWER_IDS, *TEXTS, "run"}, "predictions")
        if text is not None:
            yield "", Ranking(id, NO_WINDOWS, answer=read_words(text, words, id, source))


FORMAT = Format(
    name="answer-lines",
    about="a language model's own words, a line a query: {id, answer}; the metric's reader finds the window",
    known_by=(LINE,),
    free_text=LINE,
    holds="predictions",
    tasks=("grounding",),
    pattern="*.jsonl",
    read_rankings=read_rankings,
    example='{"id": 1, "answer": "It happens from 0 to 10.5 seconds."}',
)
