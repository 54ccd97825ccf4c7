"""E.T. Bench's questions with options (Liu et al., NeurIPS 2024): rar, eca, rvq, and gvq, which asks for a window too.

An option that is a window, [start, end], is the text "start - end". `p` is the place of the right one, from 0. A
question's kind is its source, its group its video.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabula.benchmarks.etbench.records import ARGUMENT, FIELDS, read_samples
from fabula.data.questions import Response, letter
from fabula.documents.fields import Source
from fabula.io.format import Format, HeadRule

TASKS = ("rar", "eca", "rvq", "gvq")
MOST = 26  # options: a letter each


def read_responses(source: Source) -> Iterator[Response]:
    for sample in read_samples(source, TASKS):
        entry, id = sample.entry, sample.id
        options = source.listing(source.entry(entry, "o", id, sample.at), "o", id, "options are a list of texts")
        right = source.number(source.entry(entry, "p", id, sample.at), "p", id)
        if not (right == int(right) and 0 <= right < len(options) <= MOST):
            raise source.wrong(f"p is {right:g} of {len(options)} options", id, "p", "it is the place of one, from 0")
        window = entry.get("tgt") if entry["task"] == "gvq" else None
        span = None if window is None else source.segment(window, "tgt", id)
        yield Response(
            id=id,
            answer=None if entry.get("a") is None else source.text(entry["a"], "a", id),
            group=source.text(source.entry(entry, "video", id, sample.at), "video", id),
            kind=sample.source,
            question="" if entry.get("q") is None else source.text(entry["q"], "q", id),
            options=tuple(read_option(option, f"o[{k}]", id, source) for k, option in enumerate(options)),
            gold=letter(int(right)),
            windows=() if span is None else ((span.start, span.end),),
        )


def read_option(option: object, at: str, id: str, source: Source) -> str:
    if isinstance(option, list):
        if len(option) != 2:
            raise source.wrong(f"a list of {len(option)}", id, at, "an option is a text, or [start, end]")
        return f"{option[0]} - {option[1]}"
    return source.caption(option, at, id)


FORMAT = Format(
    name="etbench-questions",
    about="E.T. Bench's rar, eca, rvq, gvq: [{task, source, idx, video, o, p, a}], both sides in one",
    known_by=(HeadRule(all=FIELDS),),
    shared=HeadRule(all=FIELDS, where=("task", TASKS)),
    holds="either",
    tasks=("questions",),
    pattern="*.json, *.jsonl",
    read_responses=read_responses,
    argument=ARGUMENT,
    example='[{"task": "rvq", "source": "kites", "idx": 0, "video": "kite.mp4", '
    '"o": ["a kite", "a dog", "a cat", "a cow"], "p": 0, "q": "what rises?", "a": "(A) a kite"}]',
)
