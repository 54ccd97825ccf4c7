"""One text from many readings of it: letters are aligned by edit distance and voted, weighted by how sure each was.

    columns   the readings, the surest first, are aligned one by one to the columns of letters so far; the ends are
              free, for a text may be cut by the edge of the picture, or hidden by what passes before it
    letter    of a column: the one with most weight; the column stays where half of the readings that reach across it
              have a letter there, and at the ends where at least two readings, and a share of them, reach so far
    sure      that weight's share · the mean confidence of the readings that have the letter

After ROVER (Fiscus, ASRU 1997), which votes words of speech recognisers so.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fabula.media.signs.base import Line, set_spaces

MOST = 48  # readings that vote, the surest
MOST_WORTH = 8  # readings that one made of several pictures stands for
FOREIGN = 0.4  # likeness to the text so far, below which a reading has no vote
ENDS = 0.15  # of the readings must reach so far as the first and the last letter
SPACED = 0.3  # mean of what readings say for a space
LONGEST = 400  # letters of a reading that are compared


class Voted(NamedTuple):
    """A text, and how sure each letter and each space before it is."""

    letters: str
    sure: tuple[float, ...]
    space: tuple[float, ...]

    @property
    def text(self) -> str:
        return set_spaces(self.letters, self.space, SPACED)

    @property
    def confidence(self) -> float:
        return sum(self.sure) / len(self.sure) if self.sure else 0.0


@dataclass
class Column:
    """The letters that readings have at one place; `by` names them."""

    weight: dict[str, float] = field(default_factory=dict)
    sure: dict[str, list[float]] = field(default_factory=dict)
    space: list[float] = field(default_factory=list)
    by: set[int] = field(default_factory=set)

    def add(self, reading: int, letter: str, sure: float, space: float, worth: float) -> None:
        self.weight[letter] = self.weight.get(letter, 0.0) + worth * sure * sure
        self.sure.setdefault(letter, []).append(sure)
        self.space.append(space)
        self.by.add(reading)

    @property
    def best(self) -> str:
        return max(sorted(self.weight), key=lambda c: self.weight[c])


def vote(lines: Sequence[Line]) -> Voted:
    """The text that the readings agree on most."""
    chosen = sorted(lines, key=lambda line: -worth(line))[:MOST]
    columns: list[Column] = []
    known: dict[str, list[Column]] = {}  # where the letters of a reading lie; the same letters lie there again
    for k, line in enumerate(chosen):
        if line.letters not in known:
            so_far = fold_text("".join(column.best for column in columns))
            if columns and likeness(fold_text(line.letters), so_far) < FOREIGN:
                continue  # another text, or none: nothing of it can be laid beside the others
            columns, known[line.letters] = place(columns, line.letters[:LONGEST])
        for j, column in enumerate(known[line.letters]):
            column.add(k, line.letters[j], line.sure[j], line.space[j], min(line.pictures, MOST_WORTH))
    return choose(columns, len(chosen))


def worth(line: Line) -> float:
    return line.confidence**2 * min(len(line.letters), LONGEST)


def place(columns: list[Column], letters: str) -> tuple[list[Column], list[Column]]:
    """The columns, with new ones where a reading has a letter and they have none; and those of its letters."""
    merged: list[Column] = []
    own: list[Column] = []
    for i, j in align([column.weight for column in columns], letters):
        merged.append(columns[i] if i is not None else Column())
        if j is not None:
            own.append(merged[-1])
    return merged, own


def align(columns: Sequence[dict[str, float]], letters: str) -> list[tuple[int | None, int | None]]:
    """Pairs of a column and a letter, in order; None: the other has nothing there. What hangs over at an end is free
    for the side that is longer there."""
    n, m = len(columns), len(letters)
    share = []
    for weights in columns:
        total = sum(weights.values()) or 1.0
        folded = {fold_letter(c): w / total for c, w in weights.items()}
        share.append(folded | {c: w / total for c, w in weights.items()})
    score = [[0.0] * (m + 1) for _ in range(n + 1)]  # best sum; ends free: the first row and column are 0
    for i in range(1, n + 1):
        row, above, likely = score[i], score[i - 1], share[i - 1]
        for j in range(1, m + 1):
            c = letters[j - 1]
            match = above[j - 1] + (2 * max(likely.get(c, 0.0), 0.6 * likely.get(fold_letter(c), 0.0)) - 0.8)
            row[j] = max(match, above[j] - 0.7, row[j - 1] - 0.7)
    ends = [(score[n][j], n, j) for j in range(m + 1)] + [(score[i][m], i, m) for i in range(n + 1)]
    _, i, j = max(ends, key=lambda end: (end[0], end[1] + end[2]))
    pairs: list[tuple[int | None, int | None]] = []
    pairs += [(None, b) for b in range(m - 1, j - 1, -1)]
    pairs += [(a, None) for a in range(n - 1, i - 1, -1)]
    while i and j:
        c, likely = letters[j - 1], share[i - 1]
        match = score[i - 1][j - 1] + (2 * max(likely.get(c, 0.0), 0.6 * likely.get(fold_letter(c), 0.0)) - 0.8)
        if abs(score[i][j] - match) < 1e-9:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif abs(score[i][j] - (score[i - 1][j] - 0.7)) < 1e-9:
            i -= 1
            pairs.append((i, None))
        else:
            j -= 1
            pairs.append((None, j))
    pairs += [(a, None) for a in range(i - 1, -1, -1)]
    pairs += [(None, b) for b in range(j - 1, -1, -1)]
    return pairs[::-1]


def choose(columns: list[Column], readings: int) -> Voted:
    """The columns that enough readings have, each as its best letter."""
    first, last = dict[int, int](), dict[int, int]()
    for place, column in enumerate(columns):
        for k in column.by:
            first.setdefault(k, place)
            last[k] = place
    chosen: list[tuple[Column, float]] = []
    least = 1 if readings < 3 else max(2.0, ENDS * readings)
    for place, column in enumerate(columns):
        across = sum(first[k] <= place <= last[k] for k in first)
        if across < least or len(column.by) < 0.5 * across:
            continue
        letter = column.best
        mean = sum(column.sure[letter]) / len(column.sure[letter])
        agreed = column.weight[letter] / sum(column.weight.values()) * len(column.by) / across
        chosen.append((column, agreed * mean))
    letters = "".join(column.best for column, _ in chosen)
    space = [sum(column.space) / len(column.space) for column, _ in chosen]
    if space:
        space[0] = 0.0
    return Voted(letters, tuple(sure for _, sure in chosen), tuple(space))


def fold_letter(letter: str) -> str:
    """Without case and marks: É and e are nearly the same letter."""
    return unicodedata.normalize("NFD", letter.casefold())[0]


def fold_text(text: str) -> str:
    """Letters and digits alone, without case and marks."""
    return "".join(fold_letter(c) for c in text if c.isalnum())


def likeness(a: str, b: str) -> float:
    """How alike two texts are, from 0 to 1: 1 − edits / letters of the shorter one, the longer one's ends free.

    A text that is part of another is like it, if it has three letters at least; the less so, the smaller a part."""
    if a == b:
        return 1.0
    short, long = sorted((a[:LONGEST], b[:LONGEST]), key=len)
    if not short:
        return 0.0
    if len(short) < 3:
        return 1 - edits(short, long, free=False) / len(long)
    part = 0.7 + 0.3 * len(short) / len(long)
    return part * max(0.0, 1 - edits(short, long, free=True) / len(short))


def edits(short: str, long: str, free: bool) -> int:
    """Insertions, deletions and exchanges from one text to the other; `free`: to the part of it that fits best.

    Bit by bit in whole columns (Myers, JACM 1999; global: Hyyrö, 2003): bit i of `plus` and `minus` says whether row
    i + 1 of the table is one above or below row i."""
    m = len(short)
    if m == 0:
        return 0 if free else len(long)
    places: dict[str, int] = {}
    for i, c in enumerate(short):
        places[c] = places.get(c, 0) | 1 << i
    full, last = (1 << m) - 1, 1 << (m - 1)
    plus, minus, score = full, 0, m
    least = score
    for c in long:
        equal = places.get(c, 0)
        vertical = equal | minus
        across = (((equal & plus) + plus) ^ plus) | equal
        up, down = minus | (~(across | plus) & full), plus & across
        score += bool(up & last) - bool(down & last)
        up, down = (up << 1) | (not free), down << 1
        plus, minus = (down | ~(vertical | up)) & full, up & vertical & full
        least = min(least, score)
    return least if free else score
