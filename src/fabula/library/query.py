"""What is asked of a library: text and pictures with weights, one step or several in order; a value that prints itself.

    query   = step { " then " step } { "video:" name | "person:" name }
    step    = part { ("+" | "-" | "−") part }            a sign stands behind a blank: x-ray is a word
    part    = [ weight ":" ] ( words | "words as they are" | picture.jpg )

    2:golden retriever + pool.jpg − fruit                a man opens a door then a dog runs out person:Anna

A weight is a number before a colon that no digit follows: 2:dog, and 10:30 is a time. Quotes take the meaning from
signs, colons and `then`; in them "" is a quote, and a quote that nothing closes is a letter. What minus does, and what
it cannot do, is said in `remarks` and travels with every answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from fabula.core.errors import SpecError, shown

WORDS, PARTS, STEPS, LETTERS = 200, 16, 8, 4_000  # at most; longer texts no text tower reads to their end
PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif")
MINUS = "-−–"
WEIGHT = re.compile(r"(\d{1,4}(?:\.\d{1,4})?|\.\d{1,4}):(?!\d)")
INSIDE = r'"((?:[^"]|"")*)"'
QUOTED = re.compile(INSIDE)
FILTER = re.compile(rf"(video|person):(?:{INSIDE}|(\S+))")
NEGATIONS = frozenset(
    [
        "no",
        "not",
        "without",
        "never",
        "nobody",
        "nothing",
        "none",
        "isn't",
        "aren't",
        "doesn't",
        "don't",
        "didn't",
        "can't",
        "cannot",
        "except",
    ]
)


@dataclass(frozen=True)
class Part:
    """One addend of a query: words or a picture, and how much it counts."""

    what: str  # the words, or the picture's path
    weight: float = 1.0
    picture: bool = False
    data: bytes | None = None  # the picture itself, where no path is to be read

    def __str__(self) -> str:
        size = abs(self.weight)
        text = quote(self.what) if needs_quotes(self.what) else self.what
        if looks_like_picture(self.what) and not self.picture:  # words in two quotes name no file
            before, _, last = self.what.rpartition(" ")
            text = f'"{double(before)}" "{double(last)}"'
        if size == 1:
            return text
        return f"{size:.8g}:{quote(self.what) if text[0].isdigit() else text}"  # 2:10 would be a time


Step = tuple[Part, ...]


@dataclass(frozen=True)
class Query:
    """Steps in order (one, mostly), and where to look."""

    steps: tuple[Step, ...]
    videos: tuple[str, ...] = ()
    people: tuple[str, ...] = ()

    def __str__(self) -> str:
        steps = " then ".join(print_step(step) for step in self.steps)
        names = [("video", name) for name in self.videos] + [("person", name) for name in self.people]
        places = [f"{kind}:{quote(name) if needs_blanks(name) else name}" for kind, name in names]
        return " ".join([steps, *places])

    def parts(self) -> Iterator[Part]:
        return (part for step in self.steps for part in step)

    @property
    def plain(self) -> bool:
        """One text, nothing else: what a calibration was made on."""
        return len(self.steps) == 1 and len(self.steps[0]) == 1 and not self.steps[0][0].picture

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What an answer to this query must say of itself."""
        out = []
        if away := [part for part in self.parts() if part.weight < 0]:
            named = ", ".join(shown(part.what, 30) for part in away)
            out.append(
                f"minus {named}: clips that look like it are ranked lower, none is left out; "
                "a clip that has it may still be found"
            )
        words = {word.lower().strip(".,!?") for part in self.parts() if not part.picture for word in part.what.split()}
        if found := sorted(words & NEGATIONS):
            out.append(
                f"{', '.join(map(repr, found))} is read as a word like any other: embeddings of text hardly know "
                "negation; write − and what is not wanted, or look through the answers"
            )
        return tuple(out)


def print_step(step: Step) -> str:
    signs = ["− " if step[0].weight < 0 else ""] + [" − " if p.weight < 0 else " + " for p in step[1:]]
    return "".join(f"{sign}{part}" for sign, part in zip(signs, step, strict=True))


def double(words: str) -> str:
    """As it stands between quotes."""
    return words.replace('"', '""')


def quote(words: str) -> str:
    return f'"{double(words)}"'


def needs_blanks(name: str) -> bool:
    """A name that is more than one word, or none."""
    return not name or any(c.isspace() or c == '"' for c in name)


def needs_quotes(words: str) -> bool:
    """Would it be read as something else?"""
    tokens = words.split()
    special = any(t.lower() == "then" or t[0] in f"+{MINUS}" or FILTER.match(t) or WEIGHT.match(t) for t in tokens)
    return special or '"' in words or tokens[-1] == "and"


def looks_like_picture(text: str) -> bool:
    return text.lower().endswith(PICTURES)


def parse(text: str, *, pictures: bool = True) -> Query:
    """A query as people type it. With `pictures` false no file is named: text from elsewhere reads no disk."""
    if not isinstance(text, str) or not text.strip():
        raise SpecError("an empty query; say what to look for")
    if "\0" in text:
        raise SpecError("a query with a zero byte; write words")
    check_size(text)
    filters = {"video": list[str](), "person": list[str]()}
    rest, at = "", 0
    for found in outside_quotes(FILTER, text):
        kind, quoted, plain = found.groups()
        filters[kind].append(plain if quoted is None else quoted.replace('""', '"'))
        rest, at = f"{rest}{text[at : found.start()]} ", found.end()
    tokens = list(read_tokens(rest + text[at:]))
    steps = tuple(read_step(step, pictures) for step in split_steps(tokens))
    if len(steps) > STEPS:
        raise SpecError(f"{len(steps)} steps joined by 'then'; at most {STEPS} are looked for in order")
    if sum(map(len, steps)) > PARTS:
        raise SpecError(f"{sum(map(len, steps))} parts in one query; at most {PARTS} are added up")
    return Query(steps, tuple(filters["video"]), tuple(filters["person"]))


def check_size(text: str) -> None:
    """Refuse what no text tower reads to its end."""
    if (count := len(text.split())) > WORDS:
        raise SpecError(f"a query of {count:,} words; at most {WORDS} are read: shorten it")
    if len(text) > LETTERS:
        raise SpecError(f"a query of {len(text):,} characters; at most {LETTERS:,} are read: shorten it")


def outside_quotes(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Where a pattern stands at the beginning of a word, and not in quotes."""
    at = 0
    while at < len(text):
        if text[at] == '"' and (quoted := QUOTED.match(text, at)):
            at = quoted.end()
        elif (at == 0 or text[at - 1].isspace()) and (found := pattern.match(text, at)):
            yield found
            at = found.end()
        else:
            at += 1


@dataclass(frozen=True)
class Token:
    text: str
    quoted: bool = False


def read_tokens(text: str) -> Iterator[Token]:
    """Words, signs that stand before a word, and what is in quotes."""
    at, n = 0, len(text)
    fresh = True  # behind a blank, a sign or a weight
    while at < n:
        letter = text[at]
        if letter.isspace():
            at, fresh = at + 1, True
        elif letter == '"' and (quoted := QUOTED.match(text, at)):
            yield Token(" ".join(quoted.group(1).replace('""', '"').split()), quoted=True)
            at = quoted.end()
        elif fresh and letter in f"+{MINUS}":
            yield Token("+" if letter == "+" else "−")
            at += 1
        elif fresh and (found := WEIGHT.match(text, at)):
            yield Token(found.group(0))
            at = found.end()
        else:
            end = at
            while end < n and not text[end].isspace() and text[end] != '"':
                end += 1
            end = max(end, at + 1)  # a quote that nothing closes is a letter
            yield Token(text[at:end])
            at, fresh = end, False


def split_steps(tokens: list[Token]) -> list[list[Token]]:
    steps: list[list[Token]] = [[]]
    for token in tokens:
        if not token.quoted and token.text.lower() == "then":
            if len(steps[-1]) > 1 and steps[-1][-1] == Token("and"):  # … and then …
                steps[-1].pop()
            steps.append([])
        else:
            steps[-1].append(token)
    if any(not step for step in steps):
        where = "an empty query" if len(steps) == 1 else "nothing stands before or after a 'then'"
        raise SpecError(f'{where}; say what to look for, or write "then" in quotes')
    return steps


def read_step(tokens: list[Token], pictures: bool) -> Step:
    """Parts with their signs and weights."""
    parts: list[Part] = []
    sign, begun = 1.0, False
    pending: list[Token] = []
    for token in [*tokens, Token("+")]:
        if token.quoted or token.text not in ("+", "−"):
            pending.append(token)
            continue
        if pending:
            parts.append(read_part(pending, sign, pictures))
        elif begun:
            raise SpecError("a sign with nothing behind it; write what is added or taken away, or put signs in quotes")
        sign, pending, begun = (1.0 if token.text == "+" else -1.0), [], True
    if all(part.weight < 0 for part in parts):
        raise SpecError("nothing is looked for, only kept away; add what should be there: street − cars")
    return tuple(parts)


def read_part(tokens: list[Token], sign: float, pictures: bool) -> Part:
    weight = 1.0
    if not tokens[0].quoted and (found := WEIGHT.fullmatch(tokens[0].text)):
        weight, tokens = float(found.group(1)), tokens[1:]
        if not tokens:
            raise SpecError(f"nothing follows the weight {found.group(1)}:; write what it weighs")
        if weight == 0:
            raise SpecError("a weight of 0 has no effect; leave the part out")
    what = " ".join(token.text for token in tokens if token.text)
    if not what:
        raise SpecError('an empty part ""; say what to look for')
    picture = looks_like_picture(what) and (len(tokens) == 1 or not any(token.quoted for token in tokens))
    if picture and not pictures:
        raise SpecError(f"{shown(what)} names a file, and none is read here; describe the picture in words")
    return Part(what, sign * weight, picture)
