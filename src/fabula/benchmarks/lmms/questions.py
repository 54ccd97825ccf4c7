"""VDC in lmms-eval: the log of --log_samples, and the rows of its data set, {"video_name", "caption", "qa_list"}.

The log has no questions (since 0.4 the document is left out): name the rows with --refs. Both meet by the video's name,
which a log has under its metrics; a log that keeps its documents holds all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from fabula.benchmarks.lmms.log import sample_text, task_values
from fabula.data.questions import Response
from fabula.documents.fields import Source
from fabula.io.format import Format, HeadRule
from fabula.io.questions.lines import number_entries, read_asked

LOG = HeadRule(all=("doc_id",), any=("filtered_resps", "resps"))
ROW = HeadRule(all=("video_name", "qa_list"))


def read_log(source: Source) -> Iterator[Response]:
    for at, entry in source.document.entries():
        entry = source.mapping(entry, at)
        doc = entry.get("doc")
        names = [v["video_name"] for v in task_values(entry) if isinstance(v.get("video_name"), str)]
        id = names[0] if names else source.identity(source.entry(entry, "doc_id", None, at), f"{at} doc_id")
        answer = source.caption(sample_text(entry, at, source), at, id)
        response = read_row(doc, at, id, source) if isinstance(doc, dict) and "qa_list" in doc else Response(id)
        yield Response(
            id, answer, group=str(id), kind=response.kind, references=response.references, asked=response.asked
        )


def read_rows(source: Source) -> Iterator[Response]:
    for at, entry in number_entries(source):
        entry = source.mapping(entry, at)
        name = source.text(source.entry(entry, "video_name", None, at), f"{at} video_name")
        yield read_row(entry, at, name, source)


def read_row(entry: dict[str, object], at: str, id: str | int, source: Source) -> Response:
    meant = entry.get("caption")
    questions = source.entry(entry, "qa_list", id, at)
    if isinstance(questions, str):
        try:
            questions = json.loads(questions)
        except (ValueError, RecursionError):
            raise source.wrong("qa_list is text that is no JSON", id, at, "it is a list of questions") from None
    return Response(
        id=id,
        group=str(id),
        kind=str(entry.get("caption_type") or ""),
        references=(source.caption(meant, f"{at} caption", id),) if meant else (),
        asked=read_asked(questions, f"{at} qa_list", id, source),
    )


FORMATS = (
    Format(
        name="lmms-vdc",
        about="lmms-eval's log of VDC (--log_samples): doc_id, filtered_resps, and what its metrics keep of the video",
        known_by=(replace(LOG, none=("plm_fgqa_scores", "plm_sgqa_scores")),),
        certain=(replace(LOG, starts="llmms_eval", lines=True),),
        holds="predictions",
        tasks=("questions",),
        pattern="*.jsonl",
        read_responses=read_log,
        example='{"doc_id": 0, "filtered_resps": "A red car.", "llmms_eval_acc": {"video_name": "v_1", "acc": 0.5}}',
    ),
    Format(
        name="lmms-vdc-rows",
        about="rows of lmms-eval's data set of VDC: video_name, caption, qa_list of questions and answers",
        known_by=(ROW,),
        certain=(replace(ROW, lines=True),),
        holds="references",
        tasks=("questions",),
        pattern="*.jsonl, *.json",
        read_responses=read_rows,
        example='{"video_name": "v_1", "caption": "A red car stands.", "qa_list": [{"question": "Which colour?", '
        '"answer": "red"}]}',
    ),
)
