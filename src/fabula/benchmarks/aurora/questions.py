"""VDC as AuroraCap keeps it: captions in a list [{"doc": {"video_id"}, "resps": [[caption]]}], questions in lines.

A line of questions is {video: [{"question", "answer"}, …]}, of one video or several; its file is called as the kind of
caption is (background.jsonl).
"""

from __future__ import annotations

from collections.abc import Iterator

from fabula.data.questions import Response
from fabula.documents.fields import Source
from fabula.io.format import Format, HeadRule
from fabula.io.questions.lines import read_asked

CAPTIONS = HeadRule(all=("doc", "resps"), lines=False)
QUESTIONS = HeadRule(at="/*0", all=("question", "answer"), none=("id",), lines=True)
KINDS = ("short", "detailed", "background", "main_object", "camera")


def read_captions(source: Source) -> Iterator[Response]:
    for k, entry in enumerate(source.listing(source.document.tree(), "the root")):
        at = f"entry {k}"
        entry = source.mapping(entry, at)
        doc = source.mapping(source.entry(entry, "doc", None, at), f"{at} doc")
        video = source.text(source.entry(doc, "video_id", None, at), f"{at} video_id")
        caption = source.entry(entry, "resps", video, at)
        for _ in range(2):
            responses = source.listing(caption, f"{at} resps", video, "it is [[caption]]")
            if not responses:
                raise source.wrong("no caption", video, f"{at} resps", "it is [[caption]]")
            caption = responses[0]
        yield Response(video, source.caption(caption, f"{at} resps", video))


def read_questions(source: Source) -> Iterator[Response]:
    stem = source.document.filename.partition(".")[0]
    for at, entry in source.document.entries():
        for video, entries in source.mapping(entry, at).items():
            questions = read_asked(entries, at, video, source)
            yield Response(video, group=video, kind=stem if stem in KINDS else "", asked=questions)


FORMATS = (
    Format(
        name="aurora",
        about='captions as AuroraCap\'s evaluator takes them: [{"doc": {"video_id": id}, "resps": [[caption]]}, …]',
        known_by=(CAPTIONS,),
        certain=(CAPTIONS,),
        holds="predictions",
        tasks=("questions",),
        read_responses=read_captions,
        example='[{"doc": {"video_id": "v_1"}, "resps": [["A red car."]]}]',
    ),
    Format(
        name="aurora-questions",
        about="questions of VDC as AuroraCap has them: {video: [{question, answer}, …]} a line",
        known_by=(QUESTIONS,),
        certain=(QUESTIONS,),
        holds="references",
        tasks=("questions",),
        pattern="*.jsonl",
        read_responses=read_questions,
        example='{"v_1": [{"question": "Which colour?", "answer": "red"}]}',
    ),
)
