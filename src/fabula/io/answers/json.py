"""JSON inside an answer: fenced or bare, a list or an object, whole, cut short, or with Python's quotes.

An entry is an object with start and end (or timestamp, segment, …) and words, a list [start, end, words], or a pair
"00:12 - 00:30": words. Times may be numbers or text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from fabula.core.errors import shown
from fabula.core.patterns import lazy, read_python_literal
from fabula.io.answers.text import apply_unit, find_spans, parse_span
from fabula.io.answers.times import PLAIN, Time, scan_times
from fabula.io.answers.words import Span

FENCE = lazy(r"```[ \t]{0,3}[\w-]{0,12}[ \t]{0,3}\n?(?P<body>.*?)(?:```|\Z)", re.DOTALL)
OBJECT = lazy(r"\{[^{}]*\}")
TRAILING = lazy(r",(\s{0,20}[\]}])")
STARTS = lazy(r"(?:t_?)?(?:start|begin|from|onset)", re.I)
ENDS = lazy(r"(?:t_?)?(?:end|stop|finish|offset)|to$", re.I)
PAIRS = lazy(r"time|segment|interval|window|span|range|period|duration|frames", re.I)
WORDS = (
    "caption",
    "sentence",
    "description",
    "text",
    "event",
    "action",
    "summary",
    "label",
    "title",
    "content",
    "step",
)
BARE = lazy(
    r"[\[{](?=\s{0,20}[\[{\"'\]}\d-])"
)  # in `[{"start"`, each of the two: where the list is cut, its first object
LIKELY = lazy(r"\[\s{0,20}\{|\{\s{0,20}[\"']|\[\s{0,20}\[")
CANDIDATES = 40  # brackets that are tried
DEEPEST = 40
LITERAL = 100_000  # characters that are tried as Python
VAST = 10**300  # whole numbers up to here are floats, too


@dataclass(slots=True)
class Found:
    """What the JSON of an answer holds."""

    spans: list[Span] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)  # the entry as JSON, the reason
    repairs: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)  # the lines beside it


def find_events(text: str) -> Found | None:
    """The JSON of an answer; None where there is none that could hold events."""
    out = Found()
    last = 0
    for start, end, body in find_pieces(text):
        documents, rest, repair = decode_body(body)
        got = [pair for document in documents for pair in list_entries(document)]
        if not any(isinstance(span, Span) for _, span in got):
            continue
        out.outside += [*text[last:start].split("\n")]
        out.refused += [(line, "JSON that is cut short") for line in rest if "{" in line]
        out.outside += [line for line in rest if "{" not in line]
        last = end
        out.repairs += [repair] if repair else []
        for entry, span in got:
            if isinstance(span, Span):
                span.entry = show_entry(entry)
                out.spans.append(span)
            else:
                out.refused.append((show_entry(entry), span))
    out.outside += text[last:].split("\n")
    return out if out.spans else None


def find_pieces(text: str) -> list[tuple[int, int, str]]:
    """The stretches that look like JSON: what stands in fences, or else all from the first bracket on."""
    fenced = [(m.start(), m.end(), m["body"]) for m in FENCE.finditer(text) if "{" in m["body"] or "[" in m["body"]]
    if fenced:
        return fenced
    starts = [m.start() for m in islice(BARE.finditer(text), CANDIDATES)]
    for at in starts:
        try:
            document, end = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict) or any(isinstance(v, dict | list | str) for v in document):
            return [(at, len(text), text[at:])]
        if not any(c.isalnum() for c in text[:at] + text[end:]):
            return [(at, len(text), text[at:])]
    likely = [at for at in starts if LIKELY.match(text, at)]
    return [(likely[0], len(text), text[likely[0] :])] if likely else []


def show_entry(entry: Any) -> str:
    try:
        return json.dumps(entry, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        return shown(entry)


def decode_body(body: str) -> tuple[list[Any], list[str], str | None]:
    """The documents of a text, the lines left over, and how it had to be mended."""
    body = body.strip()
    try:
        document, end = json.JSONDecoder().raw_decode(body)
        more, rest = parse_objects(body[end:])  # one object a line
        return [document, *more], rest, None
    except (ValueError, RecursionError):
        pass
    mended = TRAILING.sub(r"\1", body)
    try:
        document, end = json.JSONDecoder().raw_decode(mended)
        return [document], mended[end:].split("\n"), "JSON with a comma too many"
    except (ValueError, RecursionError):
        pass
    closed = body[: body.rfind("]" if body.startswith("[") else "}") + 1]
    if closed and len(closed) < LITERAL:
        try:
            return [parse_literal(closed)], body[len(closed) :].split("\n"), "JSON with Python's quotes"
        except ValueError:
            pass
    documents, rest = parse_objects(body)
    return documents, rest, "JSON that is broken or cut short: its whole objects were read" if documents else None


def parse_literal(text: str) -> Any:
    """Python's own notation for the same thing."""
    try:
        return tame(read_python_literal(text))
    except (RecursionError, TypeError, OverflowError) as error:
        raise ValueError(str(error)) from None


def tame(value: Any, depth: int = 0) -> Any:
    """The same with nothing that JSON has not: a tuple is a list, and what is neither text nor number is refused."""
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return {name_key(k): tame(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [tame(v, depth + 1) for v in value]
    if value is None or isinstance(value, str | bool | float) or (isinstance(value, int) and abs(value) < VAST):
        return value
    raise ValueError(f"{type(value).__name__} is nothing that JSON has")


def name_key(key: Any) -> str:
    """A key as text; one that JSON could not have is refused."""
    if key is None or isinstance(key, str | bool | float) or (isinstance(key, int) and abs(key) < VAST):
        return str(key)
    raise ValueError(f"a key that is a {type(key).__name__}")


def parse_objects(text: str) -> tuple[list[Any], list[str]]:
    """The innermost objects that are whole, and the lines without them."""
    documents: list[Any] = []
    rest: list[str] = []
    last = 0
    for match in OBJECT.finditer(text):
        for read in (json.loads, parse_literal):
            try:
                documents.append(read(TRAILING.sub(r"\1", match[0])))
            except (ValueError, RecursionError):
                continue
            rest += text[last : match.start()].split("\n")
            last = match.end()
            break
    rest += text[last:].split("\n")
    return documents, [line for line in (line.strip("[],` ") for line in rest) if any(c.isalnum() for c in line)]


def list_entries(value: Any, depth: int = 0) -> Iterator[tuple[Any, Span | str]]:
    """Every entry with its span, or with the reason why it has none."""
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        yield from read_object({str(k): v for k, v in value.items()}, depth)
    elif isinstance(value, list | tuple):
        if (span := read_list(value)) is not None:
            yield value, span
        else:
            for inner in value:
                if isinstance(inner, dict | list | tuple):
                    yield from list_entries(inner, depth + 1)
                elif isinstance(inner, str) and inner.strip():
                    span = read_worded(inner)
                    yield inner, span or "no time"


def read_object(entry: dict[str, Any], depth: int) -> Iterator[tuple[Any, Span | str]]:
    parallel = [k for k, v in entry.items() if PAIRS.search(k) and is_nested(v)]
    if parallel:
        times = entry[parallel[0]]
        texts = next(
            (v for k, v in entry.items() if is_for_words(k) and isinstance(v, list) and len(v) == len(times)), None
        )
        for i, time in enumerate(times):
            pair = read_pair(time, parallel[0])
            one = {parallel[0]: time} | ({"caption": texts[i]} if texts else {})
            yield one, build_span(*pair, texts[i] if texts else "") if pair else "no time"
        return
    start = next((k for k in entry if STARTS.match(k)), None)
    end = next((k for k in entry if ENDS.match(k)), None)
    pair = None
    if start is not None and end is not None:
        a, b = read_time(entry[start], start), read_time(entry[end], end)
        pair = (a, b) if a and b else None
    if pair is None:
        pair = next((p for k, v in entry.items() if PAIRS.search(k) and (p := read_pair(v, k))), None)
    if pair is None:
        pair = next((p for v in entry.values() if isinstance(v, str) and (p := parse_span(v.translate(PLAIN)))), None)
    if pair is not None:
        name, words = find_caption(entry)
        span = build_span(*pair, words)
        span.remarks = list_remarks(entry, name)
        yield entry, span
        return
    keyed = {k: p for k in entry if (p := parse_span(k.translate(PLAIN)))}
    if keyed:
        for k, v in entry.items():
            words = find_caption(v)[1] if isinstance(v, dict) else v
            yield {k: v}, build_span(*keyed[k], words) if k in keyed else "no time"
        return
    inner = [v for v in entry.values() if isinstance(v, dict | list) and v]
    if inner:
        for v in inner:
            yield from list_entries(v, depth + 1)
    elif any(is_for_words(k) for k in entry):
        yield entry, "no time"


def is_nested(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(v, list | tuple | str) for v in value)
        and (
            isinstance(value[0], list | tuple)
            or all(isinstance(v, str) and parse_span(v.translate(PLAIN)) for v in value)
        )
    )


def is_for_words(key: str) -> bool:
    return any(word in key.lower() for word in WORDS)


def find_caption(entry: dict[str, Any]) -> tuple[str | None, Any]:
    """The field that holds the words, and the words; a field of another name where it alone holds text."""
    for word in WORDS:
        for key, value in entry.items():
            if word in key.lower() and isinstance(value, str) and not STARTS.match(key) and not ENDS.match(key):
                return key, value
    rest = [k for k, v in entry.items() if isinstance(v, str) and not PAIRS.search(k) and any(c.isalpha() for c in v)]
    name = next((k for k in rest if not scan_times(entry[k].translate(PLAIN))), None)
    return name, "" if name is None else entry[name]


def list_remarks(entry: dict[str, Any], name: str | None) -> list[str]:
    """What to say of fields that no format knows: the one that held the words, and those that were not read."""
    said = [] if name is None or is_for_words(name) else [f"words read from a field called {shown(name, 30)}"]
    for key, value in entry.items():
        timed = STARTS.match(key) or ENDS.match(key) or PAIRS.search(key)
        if key != name and not timed and key.lower() not in COUNTED and value not in (None, "", [], {}):
            said.append(f"a field called {shown(key, 30)} was not read")
    return said


COUNTED = {"id", "index", "idx", "no", "number", "video", "video_id", "vid", "event_id", "segment_id", "score"}


def read_list(value: Any) -> Span | None:
    """[12, 30], [12, 30, words], [words, 12, 30], [[12, 30], words]."""
    if not 2 <= len(value) <= 4:
        return None
    words = [v for v in value if isinstance(v, str) and not read_time(v, "")]
    times = [t for v in value if not isinstance(v, dict | list | tuple) and (t := read_time(v, ""))]
    pairs = [p for v in value if isinstance(v, list | tuple | str) and (p := read_pair(v, ""))]
    if len(times) == 2 and len(words) <= 1 and len(times) + len(words) == len(value):
        return build_span(times[0], times[1], words[0] if words else "")
    if len(pairs) == 1 and len(value) == 2 and len(words) >= 1:
        others = [w for w in words if not read_pair(w, "")]
        return build_span(*pairs[0], others[0]) if others else None
    return None


def read_time(value: Any, name: str) -> Time | None:
    """One time: a number, or text that is nothing but one."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return apply_unit(Time(float(value), ""), name.lower()) if abs(value) < 1e12 else None
    if isinstance(value, str) and len(value) < 60:
        times = scan_times(value.translate(PLAIN))
        if len(times) == 1:
            left = value[: times[0].start] + value[times[0].end :]
            return (
                None if re.sub(r"(?i)[\s<>\[\]()~.]|about|at|around", "", left) else apply_unit(times[0], name.lower())
            )
    return None


def read_pair(value: Any, name: str) -> tuple[Time, Time] | None:
    if isinstance(value, list | tuple) and len(value) == 2:
        a, b = read_time(value[0], name), read_time(value[1], name)
        return (a, b) if a and b else None
    if isinstance(value, dict):
        return next(
            ((s.a, s.b) for _, s in read_object({str(k): v for k, v in value.items()}, DEEPEST) if isinstance(s, Span)),
            None,
        )
    if isinstance(value, str) and len(value) < 120 and (pair := parse_span(value.translate(PLAIN))):
        return apply_unit(pair[0], name.lower()), apply_unit(pair[1], name.lower())
    return None


def read_worded(text: str) -> Span | None:
    """A string in a list that tells its own times: "0-10s: a man runs"."""
    spans = find_spans(text, text.translate(PLAIN)).spans
    return spans[0] if len(spans) == 1 else None


def build_span(a: Time, b: Time, words: Any) -> Span:
    return Span(a, b, 0, 0, caption=words.strip() if isinstance(words, str) else "")
