"""Which words belong to a span: those of its line, or of the lines beside it, without bullets, labels and signs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from fabula.core.patterns import lazy
from fabula.io.answers.times import Time

HEAD = 80  # characters: what counts as the head of a line
TAG = lazy(r"</?[a-z_]{1,12}>", re.I)
BULLET = lazy(
    r"\s*(?:</?[a-z_]{1,12}>\s*)?(?:(?:[-*•·‣▪◦>#]+|\+)\s+)*(?:\*\*|__)?\s?"
    r"(?:(?:event|scene|step|segment|clip|part|shot|moment|action|chapter|caption|phase|activity)\s?\#?\d{1,4}\b(?!:\d|\s?(?:s|sec|seconds)\b)"
    r"|\(?\d{1,4}(?:[.)]|:(?=\s))(?!\d)|\[\d{1,4}\](?=\s)|\#\d{1,4}\b|[a-z]\)(?=\s))?"
    r"(?:\*\*|__)?\s{0,3}(?:[:.)]|-(?=\s))?\s*(?:\*\*|__)?",
    re.I,
)
SAID = lazy(
    r"\s*[\"'*_]{0,3}(?:captions?|sentences?|descriptions?|events?|actions?|labels?|text|summary|title|content)"
    r"[\"'*_]{0,3}\s?[:=]\s?[\"*_]{0,3}",
    re.I,
)


JOINING = {"and", "then", "and then", "or", "also"}  # between two spans; no words of either


@dataclass(slots=True)
class Span:
    """Two times that belong together, the stretch of text they take, and the words found for them."""

    a: Time
    b: Time
    low: int
    high: int
    lasting: bool = False  # b is a length, not an end
    caption: str = ""
    lines: list[int] = field(default_factory=list)  # the lines it was read from
    entry: str = ""  # where it came from JSON: the entry
    remarks: list[str] = field(default_factory=list)  # of JSON: fields that were not known


def find_bullet_end(plain: str, line: tuple[int, int]) -> int:
    """Where the words of a line begin, after its bullet, number or "Step 3"."""
    found = BULLET.match(plain, line[0], min(line[1], line[0] + HEAD))
    return found.end() if found else line[0]


def find_line(rows: Sequence[tuple[int, int]], at: int) -> int:
    low, high = 0, len(rows) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if rows[middle][0] <= at else (low, middle - 1)
    return low


def assign_words(spans: list[Span], text: str, plain: str, rows: Sequence[tuple[int, int]], covered: set[int]) -> None:
    """Give each span the words of its line, or of the lines beside it."""
    by_line: dict[int, list[Span]] = {}
    for span in spans:
        by_line.setdefault(find_line(rows, span.low), []).append(span)
    for n, group in by_line.items():
        share_words(group, text, plain, rows[n][0], rows[find_line(rows, group[-1].high)][1])
    used = {n for span in spans for n in span.lines} | covered
    silent = [span for span in spans if not span.caption]
    if not silent:
        return
    last = max(n for span in spans for n in span.lines)
    follow = any(plain[low:high].strip() for low, high in rows[last + 1 :])
    for span in silent:
        for n in find_lines_beside(span, rows, plain, used, follow):
            used.add(n)
            span.lines.append(n)
            span.caption = " ".join(filter(None, [span.caption, tidy_words(text[slice(*rows[n])])]))
        span.lines.sort()


def find_lines_beside(
    span: Span, rows: Sequence[tuple[int, int]], plain: str, held: set[int], follow: bool
) -> list[int]:
    """The lines below a span without words (or the one above it), up to a blank line or the next span."""
    found: list[int] = []
    step = 1 if follow else -1
    n = span.lines[-1] + 1 if follow else span.lines[0] - 1
    while 0 <= n < len(rows) and n not in held:
        line = plain[slice(*rows[n])].strip()
        if not any(c.isalpha() for c in line):
            if found or line:
                break
        elif found and not follow:
            break
        else:
            found.append(n)
        n += step
    return found


def share_words(group: list[Span], text: str, plain: str, low: int, high: int) -> None:
    """The words of one line among its spans: after each, or before each where the line ends with one."""
    start = find_bullet_end(plain, (low, group[0].low))
    head, tail = tidy_words(text[start : group[0].low]), tidy_words(text[group[-1].high : high])
    if len(group) == 1:
        group[0].caption = join_words(head, tail)
    elif head and not tail:
        at = start
        for span in group:
            span.caption, at = tidy_words(text[at : span.low]), span.high
    else:
        for span, next_low in zip(group, [*(s.low for s in group[1:]), high], strict=True):
            span.caption = tidy_words(text[span.high : next_low])
        group[0].caption = join_words(head, group[0].caption)


def join_words(head: str, tail: str) -> str:
    return f"{head} {tail}".strip()


def tidy_words(words: str) -> str:
    """The words without the signs that stood between them and their times."""
    words = TAG.sub(" ", words.replace("**", "")).strip()
    match = SAID.match(words)
    words = words[match.end() :] if match else words
    words = words.strip(" \t\n*_`|>").lstrip(":,;-–—.)]}= ：，。").rstrip("([{:;,-–—| \t").strip(" *_`")
    match = SAID.match(words)
    words = (words[match.end() :] if match else words).strip()
    for left, right in ('""', "''", "“”", "‘’"):
        if len(words) > 1 and words[0] == left and words[-1] == right:
            words = words[1:-1].strip()
    if words.endswith('"') and words.count('"') == 1:
        words = words[:-1].rstrip()
    return words if any(c.isalnum() for c in words) and words.lower().strip(",; ") not in JOINING else ""
