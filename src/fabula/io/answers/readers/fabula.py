"""Our own reader of windows: in the answer itself, not in the thoughts before it, every way to name two ends of a time.

what counts     text outside <think>…</think>, and of it the last <answer>…</answer> where there is one
a time          12, 12.5, 12,5 · 0:12, 1:02:03.5 · with s, sec, minutes, h; an end without a unit has the other's
a window        a - b, a ~ b, a to b, a until b · between a and b · [a, b], (a, b) · starts … a … ends … b, so too JSON
which           all, in the order told, ends in order; where some say that they are times (a unit, a clock, a tag,
                brackets, "from", "happens in", …) the others are not: 2-3 people. Hundredths and frames are no times
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import Reader, Window, put_forward
from fabula.io.answers.times import PLAIN

N = r"\d{1,9}(?:\.\d{1,9})?"
BEFORE, AFTER = r"[^\d<\[({%]{0,80}?(?<![\w.:-])", r"[\s.!]{0,3}\Z"
SECOND = r"(?: ?s(?:ec(?:ond)?s?)?)?"
PLAINEST = lazy(rf"{BEFORE}({N}) ?(?:-| to) ?({N}){SECOND}{AFTER}")
CLOCKS = lazy(rf"{BEFORE}(\d{{1,3}}):(\d\d) ?(?:-| to) ?(\d{{1,3}}):(\d\d){AFTER}")
ENDED = lazy(
    rf"[^\d<\[({{%]{{0,60}}?\bstarts? (?:time is )?(?:at )?({N})(?: s| seconds)? and "
    rf"(?:the )?ends? (?:time is )?(?:at )?({N}){SECOND}{AFTER}"
)
DIGIT = lazy(r"\d")
THOUGHT = lazy(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
ANSWER = lazy(r".*<answer>(.*?)(?:</answer>|\Z)", re.DOTALL | re.IGNORECASE)
BESIDE = r"(?=\s*(?:-|~|to\b|s\b|sec|\Z))"  # a dash or a unit comes next
TIME = lazy(  # begins with its digit, so that a search leaps from digit to digit; the groups have what follows it
    rf"""\d(?:(?<![\w.:]\d)|(?<=\dto\d))(?:(?=\d{{0,5}}[:,])(?:
        (?P<clock>\d{{0,2}}:\d{{2}}(?::\d{{2}})?(?:[.,]\d{{1,9}})?)(?![\d:])
      | (?P<comma>\d{{0,5}},\d{{1,2}}){BESIDE}
      | (?P<thousands>\d{{0,2}}(?:,\d{{3}})+(?:\.\d{{1,9}})?){BESIDE})
      | (?P<number>\d{{0,8}}(?:\.\d{{1,9}})?)\.?(?!\d)
    )(?:\s?(?=[%fhmps])(?P<unit>milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|%|percent|frames?)(?![a-z]))?""",
    re.IGNORECASE | re.VERBOSE,
)
UNITS = {
    "ms": 0.001,
    "mil": 0.001,
    "s": 1.0,
    "sec": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "hou": 3600.0,
    "hr": 3600.0,
}
RANGE = lazy(
    r"\s*(?:mark\s*)?(?:--?>?|~|to|until|till|through|thru)\s*(?:(?:about|around|the|at|second)\s+){0,2}", re.IGNORECASE
)
JOINING = {  # what mostly stands between two times, and what it is by the expressions above and below
    **dict.fromkeys(("-", "~", "to", "until", "--", "->"), "range"),
    **dict.fromkeys((",", ";"), "comma"),
    "and": "and",
}
AND = lazy(r"\s*(?:and|&)\s*", re.IGNORECASE)
LISTED = lazy(r"\s*(?:[,;]|and|&)?\s*(?:and)?\s*", re.IGNORECASE)  # from window to window
BETWEEN = lazy(r"between\s+(?:(?:about|around|the|seconds?)\s+){0,2}\Z", re.IGNORECASE)
CUE = lazy(
    r"(?:<time>|\b(?:from|between|at|in|during|happen\w*|occur\w*|time\w*|interval|moment|segment|window|span|answer)\b)"
    r"[^.!?\n]{0,24}\Z",
    re.IGNORECASE,
)
CUED = 60  # characters before a window in which it may be said that one comes
FRAMES = lazy(r"\bframes?[\s#:]{0,3}\Z", re.IGNORECASE)
STARTS = lazy(r"start|begin|from", re.IGNORECASE)
ENDS = lazy(r"\bend|stop|finish|until", re.IGNORECASE)


class Time(NamedTuple):
    value: float
    scale: float | None  # seconds of its unit; None: a number alone
    start: int
    end: int


make_time: Callable[[tuple[float, float | None, int, int]], Time] = partial(tuple.__new__, Time)  # in half the time


def read(text: str) -> list[Window]:
    """Plain answers, which most are, by one expression each; all others by `read_all`, which reads these too."""
    if DIGIT.search(text) is None:
        return []
    if "<" in text:
        text = answer_in(text)
    if "rame" not in text:
        if plain := PLAINEST.match(text) or ENDED.match(text):
            return [put_forward((float(plain[1]), float(plain[2])))]
        if clocks := CLOCKS.match(text):
            a, b, c, d = map(float, clocks.groups())
            return [put_forward((60 * a + b, 60 * c + d))]
    return read_all(text)


def answer_in(text: str) -> str:
    """Without what was thought, and of the rest the last <answer> where there is one."""
    text = THOUGHT.sub(" ", text).rpartition("</think>")[2]
    found = ANSWER.match(text)
    return found[1] if found else text


def read_all(text: str) -> list[Window]:
    """The same for any answer."""
    if not text.isascii():
        text = text.translate(PLAIN)
    if "<" in text:
        text = answer_in(text)
    times = scan(text)
    found: list[list[Window]] = []  # those of one list together
    before: list[list[str]] = []  # of each list, the words before its windows; "" where the form says that it is a time
    i, last_end = 0, 0  # the next time, and where the last window ended
    while i + 1 < len(times):
        a, b = times[i], times[i + 1]
        form = join(text, last_end, a, b)
        i += 1
        if not form:
            continue
        if not (found and LISTED.fullmatch(text, last_end, a.start)):
            found.append([])
            before.append([])
        found[-1].append(put_forward(seconds(a, b)))
        says = form == "sure" or a.scale is not None or b.scale is not None
        before[-1].append("" if says else text[max(last_end, a.start - CUED) : a.start] or " ")
        i, last_end = i + 1, b.end
    if len(found) < 2:
        return found[0] if found else []
    sure = [any(not words or CUE.search(words) for words in texts) for texts in before]
    return [window for windows, says in zip(found, sure, strict=True) if says or not any(sure) for window in windows]


def scan(text: str) -> list[Time]:
    """The times of a text in order; hours, minutes and seconds side by side are one."""
    out: list[Time] = []
    framed = "rame" in text or "RAME" in text
    for match in TIME.finditer(text):
        clock, comma, thousands, number, unit = match.groups()
        start, end = match.span()
        first = text[start]
        if clock:
            out.append(make_time((clock_value(first + clock), 1.0, start, end)))
            continue
        if number is not None:
            value = float(first + number)
        else:
            value = float(first + (comma.replace(",", ".") if comma else thousands.replace(",", "")))
        if unit is None:
            if not (framed and FRAMES.search(text, max(0, start - 10), start)):
                out.append(make_time((value, None, start, end)))
            continue
        scale = UNITS.get(unit[:3].lower()) or UNITS.get(unit[:1].lower())
        if scale is None:  # hundredths, frames
            continue
        before = out[-1] if out else None
        if before and before.scale and before.scale > scale >= 1 and LISTED.fullmatch(text, before.end, start):
            out[-1] = Time(before.value * before.scale / scale + value, scale, before.start, end)
        else:
            out.append(make_time((value, scale, start, end)))
    return out


def clock_value(clock: str) -> float:
    parts = clock.replace(",", ".").split(":")
    return sum(float(part) * 60.0**k for k, part in enumerate(reversed(parts)))


def join(text: str, told: int, a: Time, b: Time) -> str:
    """'sure' where the two are a window by their form alone, 'maybe' where a dash or a "to" joins them, else ''."""
    form = JOINING.get(text[a.end : b.start].strip())
    if form == "range" or (form is None and RANGE.fullmatch(text, a.end, b.start)):
        return "maybe"
    if form == "comma":
        pair = text[told : a.start].rstrip()[-1:] + text[b.end : b.end + 8].lstrip()[:1]
        return "sure" if pair in ("[]", "()") else ""
    if form == "and" or (form is None and AND.fullmatch(text, a.end, b.start)):
        return "sure" if BETWEEN.search(text[told : a.start]) else ""
    return "sure" if ENDS.search(text, a.end, b.start) and STARTS.search(text, told, a.start) else ""


def seconds(a: Time, b: Time) -> Window:
    """A bare end has the unit of the other: from 1 to 2 minutes."""
    return a.value * (a.scale or b.scale or 1.0), b.value * (b.scale or a.scale or 1.0)


READER = Reader(
    name="fabula",
    about="after all thought, in <answer>: clocks, units, dashes, 'to', 'until', 'between', brackets, starts … ends",
    read=read,
)
