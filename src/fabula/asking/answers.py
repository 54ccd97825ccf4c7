"""Answers as `fabula score` reads them, beside the benchmark that they answer.

grounding    {"id": query, "answer": the model's words}          any reader of windows: fabula list readers
highlights   {"id": query, "windows": [[start, end], …]}         windows as Fabula's own reader finds them
questions    {"id": question, "answer": the model's words}
dense        {"id": film, "answer": the model's words, "duration": seconds}

Every line has the signature of the run as "run". What was not answered has no line, and counts as missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabula.asking.bench import BenchFile, Inquiry
from fabula.core.errors import InputError
from fabula.documents.fields import JsonDict
from fabula.documents.files import write_text
from fabula.io.answers.answer import parse

RUN = "run"  # the key of the signature
HALF = 16  # digits of the settings' part


@dataclass(frozen=True, slots=True)
class AnswerText:
    """An answer, and the length of the film that it is about."""

    text: str
    seconds: float


def write_answers(path: Path, bench: BenchFile, answers: Mapping[int, AnswerText], signature: str) -> None:
    """All answers, whole or not at all. `answers` by the place of the question in the benchmark."""
    write_text(path, list_lines(bench, answers, signature))


def list_lines(bench: BenchFile, answers: Mapping[int, AnswerText], signature: str) -> Iterator[str]:
    for place, inquiry in enumerate(bench.inquiries):
        if place in answers:
            entry = {"id": inquiry.id, **read_fields(inquiry, answers[place]), RUN: signature}
            yield json.dumps(entry, ensure_ascii=False) + "\n"


def read_fields(inquiry: Inquiry, answer: AnswerText) -> JsonDict:
    if inquiry.kind == "highlights":
        events = parse(answer.text).events
        return {"windows": [[e.segment.start, e.segment.end] for e in events if e.segment.start < e.segment.end]}
    if inquiry.kind == "dense":
        return {"answer": answer.text, "duration": answer.seconds}
    return {"answer": answer.text}


def check_target(path: Path, settings: str, overwrites: bool) -> None:
    """Refuse a file that is there, unless a run with the same settings has written it."""
    if overwrites or not path.exists():
        return
    try:
        with path.open(encoding="utf-8") as lines:
            first = json.loads(next(lines, "{}"))
        own = str(first.get(RUN, ""))[:HALF]
    except (OSError, ValueError, AttributeError):
        own = ""
    if own != settings:
        problem = "exists already" + (", with answers of a run with other settings" if own else "")
        raise InputError(problem, file=path, hint="choose another name, or say --overwrite")
