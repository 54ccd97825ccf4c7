"""Answers that carry their question, as lmms-eval and TimeLens keep them: one file holds both sides.

{"video>>>query>>>[start, end]": answer}        answer: text, or {"answers": text} or {"timestamps": [[start, end], …]}

The truth stands after the last >>>; of several windows there the first counts, as in lmms-eval. Also as lines of such
objects, or a list of them. Where a key comes again its last answer counts; `timestamps` win over `answers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.core.notes import name_id
from fabula.core.patterns import read_python_literal
from fabula.data.moments import Query, Ranking, VideoNumbers
from fabula.documents.fields import Source
from fabula.io.format import Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import NO_WINDOWS, read_rows, read_window, read_words, split_rows

BETWEEN = ">>>"
KEY = "video>>>query>>>[start, end]"
ENTRY = f'{{"{KEY}": answer}}'
KEYED = HeadRule(begins=r'\s*(?:\[\s*)?\{\s*"[^"]*>>>[^"]*"\s*:')
LONGEST = 200  # characters of a truth


def entries(source: Source) -> Iterator[tuple[str, Any]]:
    """Every key with its answer."""
    if source.document.lines:
        objects = list(source.document.entries())
    else:
        document = source.document.tree()
        listed = document if isinstance(document, list) else [document]
        objects = [(f"entry {i}" if isinstance(document, list) else "the root", o) for i, o in enumerate(listed)]
    for at, some in objects:
        yield from source.mapping(some, at, hint=f"it is {ENTRY}").items()


def split_key(key: str, source: Source) -> tuple[str, str, tuple[float, float]]:
    """Video, query, and the window of the truth."""
    video, first, rest = key.partition(BETWEEN)
    text, second, truth = rest.rpartition(BETWEEN)
    if not (first and second):
        raise source.wrong("a key without its three parts", key, None, f"it is {KEY!r}")
    try:
        if len(truth) > LONGEST:
            raise ValueError
        value = read_python_literal(truth.strip())  # numbers in brackets; it calls nothing
    except ValueError:
        raise source.wrong(f"a truth that is no window, {truth[:60]!r}", key, None, f"a key is {KEY!r}") from None
    value = list(value) if isinstance(value, tuple) else value
    if isinstance(value, list) and value and isinstance(value[0], list | tuple):
        if len(value) > 1:
            source.notes.add("{n} keys hold several windows: the first is the truth", name_id(key))
        value = list(value[0])
    return video, text, read_window(value, "its key", key, source)


def read_queries(source: Source) -> Iterator[Query]:
    seen: set[str] = set()
    for key, _ in entries(source):
        if key not in seen:
            seen.add(key)
            video, text, window = split_key(key, source)
            yield Query(key, video, (window,), None, text)


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    for key, answer in entries(source):
        if isinstance(answer, dict):
            source.unused(answer, {"answers", "timestamps"}, "answers")
            if "timestamps" in answer:
                rows = read_rows(answer["timestamps"], "[start, end]", 2, "timestamps", key, source)
                spans, _ = split_rows(rows, "timestamps", key, source, "[start, end]")
                yield "", Ranking(key, spans)
                continue
            answer = source.entry(answer, "answers", key)
        if answer is not None:
            yield "", Ranking(key, NO_WINDOWS, answer=read_words(answer, "its answer", key, source))


FORMAT = Format(
    name="keyed-answers",
    about="lmms-eval's and TimeLens' grounding: {video>>>query>>>[start, end]: answer}, both sides in one",
    known_by=(KEYED,),
    certain=(KEYED,),
    main_task="grounding",
    holds="either",
    tasks=("grounding",),
    pattern="*.json, *.jsonl",
    read_queries=read_queries,
    read_rankings=read_rankings,
    example='{"kite.mp4>>>a kite rises>>>[0, 10.5]": "from 0 to 10.5 seconds"}',
)
