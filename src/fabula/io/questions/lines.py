"""Our own lines of questions: {"id", "answer"} and whatever the answer is held against, in one file or in two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fabula.data.questions import ExamQuestion, Response
from fabula.documents.fields import Source
from fabula.documents.files import encode_json
from fabula.io.format import Format, HeadRule

KNOWN = frozenset(
    {"id", "answer", "group", "kind", "question", "references", "asked", "events", "options", "gold", "windows"}
    | {"traits", "run"}  # run: the signature of fabula ask
)
TRUTH = ("gold", "asked", "references", "options")  # one of these makes a line one of questions
SHAPE = '{"id": id, "answer": text, …}'


def number_entries(source: Source) -> Iterator[tuple[str, Any]]:
    """Each entry of lines, or of a list, with its place."""
    if source.document.lines:
        yield from source.document.entries()
    else:
        document = source.listing(source.document.tree(), "the root", None, f"it is a list of {SHAPE}")
        yield from ((f"entry {number}", entry) for number, entry in enumerate(document))


def read_responses(source: Source) -> Iterator[Response]:
    for at, entry in number_entries(source):
        yield read_entry(source.mapping(entry, at, hint=f"an entry is {SHAPE}"), at, source)


def read_entry(entry: dict[str, Any], at: str, source: Source) -> Response:
    id = source.identity(source.entry(entry, "id", None, at), f"{at} id")
    source.unused(entry, KNOWN, "questions")

    def text(key: str) -> str:
        value = entry.get(key)
        return "" if value is None else source.caption(value, f"{at} {key}", id)

    events = None if entry.get("events") is None else read_texts(entry["events"], f"{at} events", id, source)
    gold = entry.get("gold")
    return Response(
        id=id,
        answer=None if entry.get("answer") is None else text("answer"),
        group=str(source.identity(entry["group"], f"{at} group")) if entry.get("group") is not None else "",
        kind=text("kind"),
        question=text("question"),
        references=read_texts(entry.get("references") or [], f"{at} references", id, source),
        asked=read_asked(entry.get("asked") or [], f"{at} asked", id, source),
        events=events,
        options=read_texts(entry.get("options") or [], f"{at} options", id, source),
        gold="" if gold is None else str(source.identity(gold, f"{at} gold")),
        windows=read_windows(entry.get("windows") or [], f"{at} windows", id, source),
        traits={
            name: source.number(value, f"{at} traits {name}", id)
            for name, value in source.mapping(entry.get("traits") or {}, f"{at} traits", id).items()
        },
    )


def read_texts(value: Any, at: str, id: object, source: Source) -> tuple[str, ...]:
    """One text, or several."""
    if isinstance(value, str):
        value = [value]
    return tuple(source.caption(v, f"{at}[{k}]", id) for k, v in enumerate(source.listing(value, at, id)))


def read_asked(value: Any, at: str, id: object, source: Source) -> tuple[ExamQuestion, ...]:
    """[{"question", "answer"}, …]"""
    hint = 'questions are [{"question": text, "answer": text}, …]'
    found = []
    for k, pair in enumerate(source.listing(value, at, id, hint)):
        pair, where = source.mapping(pair, f"{at}[{k}]", id, hint), f"{at}[{k}]"
        both = (
            source.caption(source.entry(pair, key, id, where), f"{where} {key}", id) for key in ExamQuestion._fields
        )
        found.append(ExamQuestion(*both))
    return tuple(found)


def read_windows(value: Any, at: str, id: object, source: Source) -> tuple[tuple[float, float], ...]:
    some = (source.segment(window, f"{at}[{k}]", id) for k, window in enumerate(source.listing(value, at, id)))
    return tuple((window.start, window.end) for window in some)


def write_responses(responses: Iterable[Response], target: Source) -> Iterator[str]:
    """A line each; what is empty is left out."""
    for response in responses:
        entry: dict[str, Any] = {"id": response.id}
        for key in ("answer", "group", "kind", "question", "references", "events", "options", "gold", "windows"):
            value = getattr(response, key)
            if value not in (None, "", ()) or (key in ("answer", "events") and value is not None):
                entry[key] = list(value) if isinstance(value, tuple) else value
        if response.asked:
            entry["asked"] = [pair._asdict() for pair in response.asked]
        if response.traits:
            entry["traits"] = dict(response.traits)
        yield encode_json(entry, target.document)


FORMAT = Format(
    name="question-lines",
    about='answers and what they are held against: {"id", "answer", "references" | "events" | "asked": [{"question", '
    '"answer"}] | "options", "gold"; "group", "kind"}',
    known_by=(HeadRule(all=("id",), any=("answer", *TRUTH), none=("prediction",)),),
    certain=(HeadRule(all=("id",), any=TRUTH),),
    order="lines",
    holds="either",
    tasks=("questions",),
    pattern="*.jsonl, *.json",
    read_responses=read_responses,
    write=write_responses,
    example='{"id": 1, "answer": "(A) a kite", "options": ["a kite", "a dog"], "gold": "A"}',
)
