"""PLM-VideoBench's questions (Cho et al., 2025): rows of fgqa and sgqa, answers by uid, and lmms-eval's log of both.

plm-fgqa     {uid, qa_uid, question, answer, options: {option_0, option_1, …}}; questions of a qa_uid are one
plm-sgqa     {uid, question, answer}
plm-answers  {uid, answer}, or a line of --log_samples, which holds the row too: it is scored against itself
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fabula.benchmarks.lmms.log import is_sample, sample_text
from fabula.benchmarks.plm.rows import row_id, sample_row
from fabula.data.questions import Response, letter
from fabula.documents.fields import Source
from fabula.io.answers.hosts import note_failed
from fabula.io.format import Format, HeadRule
from fabula.io.questions.lines import number_entries
from fabula.io.stories import TEXTS

CHOICES = '{"uid", "qa_uid", "question", "answer", "options": {"option_0": text, …}}'
OPEN = '{"uid", "question", "answer"}'
SAID = '{"uid": id, "answer": text}'
OPTION = re.compile(r"(?:.*_)?(\d{1,3})")  # the number at the end of its key is its place

CHOICE = HeadRule(all=("uid", "qa_uid", "question", "options"))
QUESTION = HeadRule(all=("uid", "question", "answer"), none=("options",))
LOG = HeadRule(objects=("plm_fgqa_scores", "plm_sgqa_scores"))  # what a task returned, in lmms-eval's log


def read_rows(source: Source, choices: bool) -> Iterator[Response]:
    shape = CHOICES if choices else OPEN
    for at, row in number_entries(source):
        row = source.mapping(row, at, hint=f"a row is {shape}")
        yield read_truth(row, choices, None, at, source)


def read_choices(source: Source) -> Iterator[Response]:
    return read_rows(source, True)


def read_open(source: Source) -> Iterator[Response]:
    return read_rows(source, False)


def read_truth(row: dict[str, Any], choices: bool, said: str | None, at: str, source: Source) -> Response:
    """A row, and what was answered to it."""
    id = row_id(row, at, source)
    question = source.caption(source.entry(row, "question", id, at), f"{at} question", id)
    right = source.caption(source.entry(row, "answer", id, at), f"{at} answer", id)
    kind = row["domain"] if isinstance(row.get("domain"), str) else ""
    if not choices:
        return Response(id, said, kind=kind, question=question, references=(right,))
    options = read_options(source.entry(row, "options", id, at), f"{at} options", id, source)
    if right not in options:
        raise source.wrong("the answer is none of the options", id, f"{at} answer", f"a row is {CHOICES}")
    gold = len(options) - 1 - options[::-1].index(right)  # of two equal ones the last, as published
    group = str(source.identity(source.entry(row, "qa_uid", id, at), f"{at} qa_uid"))
    return Response(id, said, group, kind, question, options=options, gold=f"({letter(gold)})")


def read_options(value: object, at: str, id: object, source: Source) -> tuple[str, ...]:
    """By their numbers; a row of a table has keys for more options than it uses, with nothing in them."""
    found: dict[int, str] = {}
    for name, text in source.mapping(value, at, id, f"a row is {CHOICES}").items():
        place = OPTION.fullmatch(name)
        if text is None and place is not None:
            continue
        if place is None:
            raise source.wrong(f"an option called {name!r:.40}", id, at, "they are called option_0, option_1, …")
        found[int(place[1])] = source.caption(text, f"{at} {name}", id)
    if sorted(found) != list(range(len(found))) or not 0 < len(found) <= 26:
        raise source.wrong(f"options {sorted(found)[:8]}", id, at, "they are called option_0, option_1, …, up to 26")
    return tuple(found[k] for k in range(len(found)))


def read_answers(source: Source) -> Iterator[Response]:
    for at, entry in number_entries(source):
        entry = source.mapping(entry, at, hint=f"an answer is {SAID}")
        if is_sample(entry):
            yield read_sample(entry, at, source)
            continue
        id = row_id(entry, at, source)
        words = next((key for key in TEXTS if key in entry), "answer")
        yield Response(id, source.caption(source.entry(entry, words, id, at), f"{at} {words}", id))
        source.unused(entry, {"uid", *TEXTS}, "answers")


def read_sample(entry: dict[str, object], at: str, source: Source) -> Response:
    """A line of the log; where its task returned the row, with what the answer is held against."""
    row = sample_row(entry, at, source)
    id = row_id(row, at, source)
    said = note_failed(source.caption(sample_text(entry, at, source), at, id), id, source)
    return read_truth(row, "options" in row, said, at, source) if "question" in row else Response(id, said)


FORMATS = (
    Format(
        name="plm-fgqa",
        about="PLM-VideoBench's questions with options: {uid, qa_uid, question, answer, options: {option_0, …}}",
        known_by=(CHOICE,),
        certain=(CHOICE,),
        holds="references",
        tasks=("questions",),
        pattern="*.jsonl, *.json",
        read_responses=read_choices,
        example='{"uid": "7_0", "qa_uid": "7", "question": "What rises?", "answer": "a kite", '
        '"options": {"option_0": "a dog", "option_1": "a kite"}}',
    ),
    Format(
        name="plm-sgqa",
        about="PLM-VideoBench's open questions: {uid, question, answer}",
        known_by=(QUESTION,),
        certain=(QUESTION,),
        holds="references",
        tasks=("questions",),
        pattern="*.jsonl, *.json",
        read_responses=read_open,
        example='{"uid": 7, "question": "What rises?", "answer": "a kite"}',
    ),
    Format(
        name="plm-answers",
        about="answers to PLM-VideoBench's questions: {uid, answer}, or lmms-eval's --log_samples",
        known_by=(LOG, HeadRule(all=("uid",), none=("question",))),
        certain=(LOG,),
        holds="either",
        tasks=("questions",),
        pattern="*.jsonl, *.json",
        read_responses=read_answers,
        example='{"doc_id": 0, "filtered_resps": "(B)", "plm_fgqa_scores": {"uid": "7_0", "qa_uid": "7", '
        '"question": "What rises?", "answer": "a kite", "options": {"option_0": "a dog", "option_1": "a kite"}}}',
    ),
)
