"""Times as people and models write them: 12s, 00:12, 1:02:03.5, 1 minute 5 seconds, 40%, frame 12, <time_token_22>.

`scan_times` finds them in a text, one pass, no pattern that can backtrack far; `Clock` turns them into seconds. A
number without a unit stays bare until the whole answer is known: only then is its unit declared, deduced, or unclear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fabula.core.errors import SpecError
from fabula.core.patterns import lazy
from fabula.core.registry import close_to

UNITS = {
    "auto": "numbers without a unit are seconds, where nothing speaks against it",
    "seconds": "numbers without a unit are seconds",
    "milliseconds": "numbers without a unit are milliseconds",
    "minutes": "numbers without a unit are minutes",
    "percent": "numbers without a unit are hundredths of the duration",
    "fraction": "numbers without a unit are parts of the duration, 0 to 1",
    "frames": "numbers without a unit are frame numbers",
    "tokens": "time tokens, and numbers without a unit: n · duration / (bins − 1)",
    "vtimellm": "two digits: from n · duration / 100 to (n + 1) · duration / 100",
}
SPELLED = {
    word: float(value)
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
} | {"thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "half a": 0.5}
SECONDS_IN = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}

# Signs that mean the same, one character for one, so that places in the text stay what they are.
PLAIN = str.maketrans(
    dict.fromkeys("‐‑‒–—―−﹣－﹘", "-")
    | dict.fromkeys("～〜∼", "~")
    | dict.fromkeys("\xa0\u2002\u2003\u2007\u2009\u200a\u202f\u3000\t", " ")
    | dict.fromkeys("’‘′", "'")
    | dict.fromkeys("“”″„", '"')
    | {"→": "~", "➔": "~", "⇒": "~", "…": "~", "：": ":", "％": "%", "，": ",", "。": ".", "｜": "|"}
    | dict.fromkeys("【［〔", "[")
    | dict.fromkeys("】］〕", "]")
    | dict.fromkeys("（", "(")
    | dict.fromkeys("）", ")")
    | {chr(0xFF10 + d): str(d) for d in range(10)}
)

N = r"\d{1,9}(?:\.\d{1,9})?"
ATOM = lazy(
    rf"""
    <[a-z][a-z_\- ]{{0,20}}(?P<token>\d{{1,6}})\s?>
  | (?<![\d:.])(?P<clock>\d{{1,3}}:\d{{1,2}}(?::\d{{1,2}})?(?:[.,]\d{{1,6}})?)(?!\d|:\d|\s?[ap]\.?m\b)
        (?:\s?(?:s|secs?|seconds?|mins?|minutes?)\b(?!\s?\d))?
  | (?<![\d.])(?P<prime>\d{{1,3}}'\s?\d{{1,2}}(?:\.\d{{1,3}})?")
  | \b(?P<framed>frames?)[\s_\#:=]{{0,3}}(?:(?:no\.?|number|index|id)[\s:=]{{1,3}})?(?P<frame>\d{{1,9}})(?![\w%]|\.\d)
  | (?<![\w.])(?P<percent>{N})\s?(?:%|percent\b|per\scent\b)
  | (?<![\w.])(?P<h>{N})\s?(?:h|hrs?|hours?)(?=\W|\d|$)
  | (?<![\w.])(?P<ms>{N})\s?(?:ms|msecs?|milliseconds?)(?=\W|$)
  | (?:(?<![\w.])|(?<=[hm]))(?P<s>{N})\s?(?:s|secs?|seconds?|second\smark)(?=\W|$)
  | (?:(?<![\w.])|(?<=h))(?P<m>{N})(?:m(?=\W|\d|$)|\s?(?:mins?|minutes?)(?=\W|\d|$))
  | (?<![\w.])(?P<nth>\d{{1,9}})(?:st|nd|rd|th)?\sframes?\b
  | \b(?P<spelled>{"|".join(SPELLED)})\s(?P<of>hours?|minutes?|seconds?)\b
  | \bseconds?\s(?P<second>{N})(?![\w%]|\.\d)
  | (?P<sign>(?<=[\s\[(,:])-|^-)?(?:(?<![\w.])|(?<=\dt)|(?<=[ _]t))(?P<bare>{N})(?![\w%]|\.\d)
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
GAP = lazy(r"\s{0,2}(?:,|and)?\s{0,2}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Time:
    """A number and what it counts: s, clock, percent, fraction, frame, token, or "" where the text does not say."""

    value: float
    unit: str
    start: int = 0  # its place in the text
    end: int = 0
    repair: str | None = None  # what had to be mended to read it
    scale: float | None = 1.0  # seconds of its unit; None where several units add up
    signed: bool = False  # a minus stands before it, which may as well be a dash

    @property
    def has_unit(self) -> bool:
        """Whether the text itself says that this is a time."""
        return self.unit != ""


def scan_times(text: str) -> list[Time]:
    """Every number of the text that could be a time, in order; hours, minutes and seconds side by side are one."""
    found: list[Time] = []
    for match in ATOM.finditer(text):
        time = build_time(match)
        if found and (joined := compose_times(found[-1], time, text)):
            found[-1] = joined
        else:
            found.append(time)
    return [convert_to_seconds(t) if t.unit in SECONDS_IN else t for t in found]


def convert_to_seconds(time: Time) -> Time:
    seconds = SECONDS_IN[time.unit]
    return replace(time, value=time.value * seconds, unit="s", scale=time.scale and seconds)


def build_time(match: re.Match[str]) -> Time:
    kind = match.lastgroup or ""
    at = match.span()
    if kind == "of":
        return Time(SPELLED[match["spelled"].lower()], match["of"][0].lower(), *at)
    if kind == "clock":
        parts = [float(p) for p in match["clock"].replace(",", ".").split(":")]
        seconds = sum(part * 60.0**power for power, part in enumerate(reversed(parts)))
        past = any(part >= 60 for part in parts[1:])
        return Time(seconds, "clock", *at, repair="a clock past 59 seconds" if past else None)
    if kind == "prime":
        minutes, seconds_ = match["prime"].rstrip('"').split("'")
        return Time(float(minutes) * 60 + float(seconds_), "clock", *at)
    unit = {"nth": "frame", "second": "s", "bare": ""}.get(kind, kind)
    value = float(match[kind])
    if kind == "bare" and match["sign"]:
        return Time(-value, "", *at, signed=True)
    return Time(value, unit, *at)


def compose_times(big: Time, small: Time, text: str) -> Time | None:
    """1 h + 2 min + 3 s, where they stand side by side; the unit is that of the last, so that more can follow."""
    order = ["h", "m", "s", "ms"]
    if big.unit not in order or small.unit not in order or order.index(small.unit) <= order.index(big.unit):
        return None
    if small.value * SECONDS_IN[small.unit] >= SECONDS_IN[big.unit]:
        return None
    gap = text[big.end : small.start]
    if len(gap) > 7 or not GAP.fullmatch(gap) or (gap.strip().lower() == "and" and follows_between(text, big.start)):
        return None
    total = big.value * SECONDS_IN[big.unit] + small.value * SECONDS_IN[small.unit]
    return Time(total / SECONDS_IN[small.unit], small.unit, big.start, small.end, scale=None)


def follows_between(text: str, at: int) -> bool:
    return text[max(0, at - 9) : at].lower().rstrip().endswith("between")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user declares, and what is known of the video. Nothing here is guessed."""

    unit: str = "auto"
    duration: float | None = None
    fps: float | None = None
    frames: float | None = None  # how many frames the model was shown, spread over the duration
    bins: float | None = None  # how many time tokens there are
    reversed: str = "swap"  # or keep: leave a span whose end comes first as it is
    reader: str = "fabula"  # or a published evaluator's, which reads as it reads and heeds nothing else here

    @classmethod
    def of(cls, text: str | None) -> Options:
        """From the argument of a format: `percent`, `frames,fps=2`, `tokens,bins=100`, `reversed=keep`."""
        given: dict[str, str | float] = {}
        for part in (text or "auto").split(","):
            name, equals, value = (p.strip() for p in part.partition("="))
            name, value = (name.lower(), value.lower()) if equals else ("unit", name.lower())
            if name in given:
                raise SpecError(f"answers: {name} is said twice in {text!r}")
            given[name] = cls.check(name, value)
        return cls(**given)  # type: ignore[arg-type]

    @staticmethod
    def check(name: str, value: str) -> str | float:
        if name == "unit":
            if value not in UNITS:
                raise SpecError(f"answers: no unit is called {value!r}; {close_to(value, list(UNITS))}")
            return value
        if name == "reversed":
            if value not in ("swap", "keep"):
                raise SpecError(f"answers: reversed is swap or keep, not {value!r}")
            return value
        if name == "reader":
            from fabula.io.answers.readers import find_telling

            return find_telling(value).name
        if name not in ("duration", "fps", "frames", "bins"):
            names = ["unit", "duration", "fps", "frames", "bins", "reversed", "reader"]
            raise SpecError(f"answers: no option is called {name!r}; {close_to(name, names)}")
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not 0 < number < 1e9 or (name == "bins" and number < 2):
            raise SpecError(f"answers: {name} is a number above {1 if name == 'bins' else 0}, not {value!r}")
        return number


class UnclearError(Exception):
    """Why a span cannot be told in seconds; the line goes to the audit with this reason."""


@dataclass(slots=True)
class Clock:
    """Seconds from times, for one answer. `bare` is what its numbers without a unit turned out to be."""

    options: Options
    bare: str = "s"
    why: str | None = None  # reason why bare numbers cannot be read
    deduced: str | None = None

    @classmethod
    def of(cls, options: Options, pairs: Sequence[tuple[Time, Time]]) -> Clock:
        """Decide on the bare numbers by looking at all of them."""
        clock = cls(options)
        bare = [(a.value, b.value) for a, b in pairs if not a.has_unit and not b.has_unit]
        if options.unit != "auto":
            clock.bare = {"seconds": "s", "frames": "frame", "tokens": "token"}.get(options.unit, options.unit)
        elif bare:
            clock.decide(bare)
        return clock

    def decide(self, bare: Sequence[tuple[float, float]]) -> None:
        numbers = [n for pair in bare for n in pair]
        long = self.options.duration
        if all(0 <= n <= 1 for n in numbers) and any(n != int(n) for n in numbers):
            if long is None:
                self.why = "numbers between 0 and 1: seconds or parts of the video? give the duration or declare a unit"
            elif long >= 10:
                self.bare, self.deduced = "fraction", "numbers between 0 and 1 read as parts of the duration"
            else:
                self.why = "numbers between 0 and 1 in a short video: seconds or parts of it? declare a unit"
        elif long is not None and sum(max(pair) <= 1.5 * long for pair in bare) * 2 < len(bare):
            self.why = f"most numbers lie far past the duration ({long:g} s): declare a unit"
        else:
            self.deduced = "numbers without a unit read as seconds"

    def seconds(self, a: Time, b: Time) -> tuple[float, float, str | None]:
        """Start, end, and what was deduced for them."""
        units = {t.unit for t in (a, b) if t.has_unit}
        if units == {"s", "clock"}:
            units = {"s"}
        if len(units) > 1:
            raise UnclearError(f"two units in one span ({' and '.join(sorted(units))})")
        if not units:
            if self.why:
                raise UnclearError(self.why)
            return self.to_seconds(a.value, self.bare, 0), self.to_seconds(b.value, self.bare, 1), self.deduced
        unit = units.pop()
        scale = 1.0
        if not (a.has_unit and b.has_unit):  # "12 to 30 seconds": one unit for both
            shared = (a if a.has_unit else b).scale
            if unit == "clock" or shared is None:
                raise UnclearError("a number without a unit beside a clock time, or beside minutes and seconds")
            scale = shared if unit == "s" else 1.0
        start, end = (t.value if t.has_unit else t.value * scale for t in (a, b))
        return self.to_seconds(start, unit, 0), self.to_seconds(end, unit, 1), None

    def to_seconds(self, value: float, unit: str, end: int) -> float:
        match unit:
            case "s" | "clock":
                return value
            case "milliseconds":
                return value / 1000
            case "minutes":
                return value * 60
            case "percent":
                return self.share(value / 100, "percent")
            case "fraction":
                return self.share(value, "parts of the video")
            case "vtimellm":
                return self.share((value + end) / 100, "hundredths")
            case "token":
                if self.options.bins is None:
                    raise UnclearError("time tokens need their number: --format answers:tokens,bins=100")
                return self.share(value / (self.options.bins - 1), "time tokens")
        return self.frame(value)

    def share(self, part: float, what: str) -> float:
        if self.options.duration is None:
            raise UnclearError(f"{what} need the video's duration")
        if part > 1.02:
            raise UnclearError(f"{what} past the end of the video")
        return part * self.options.duration

    def frame(self, number: float) -> float:
        known = self.options
        if known.fps is not None:
            return number / known.fps
        if known.frames is not None and known.duration is not None:
            return number / known.frames * known.duration
        raise UnclearError("frame numbers need fps, or the frame count and the duration")


def cut_lines(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each line, without its newline."""
    at = 0
    for line in text.split("\n"):
        yield at, at + len(line)
        at += len(line) + 1
