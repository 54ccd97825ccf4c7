"""Text that came from outside, made fit for a terminal: what a terminal would obey is spelled out, a line is a line.

Escape sequences set window titles and colours, line ends forge lines, and characters that turn the direction of writing
make a text read as another. Each of them appears as a visible escape: \\x1b, \\n, \\u202e.
"""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST = 500  # characters of one message

# C0, DEL, C1 · soft hyphen and marks without a shape · line and paragraph separators, directions, invisible signs ·
# halves of characters · byte order mark, interlinear signs · tags and private planes
UNSEEN = (
    "\x00-\x1f\x7f-\x9f\xad\u061c\u070f\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff0-\ufffc\ufffe\uffff\U000e0000-\U0010ffff"
)


@lru_cache(1)
def harmful() -> re.Pattern[str]:
    """Made when a text first needs it: to begin is quicker without."""
    return re.compile(f"[{UNSEEN}]")


SPELLED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def printable(text: str) -> str:
    """The same text with every character that a terminal would obey, or not show, spelled out."""
    return text if text.isascii() and text.isprintable() else harmful().sub(lambda found: spell(found[0]), text)


def spell(character: str) -> str:
    code = ord(character)
    if character in SPELLED:
        return SPELLED[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cut(text: str, most: int, keep_end: bool = False) -> str:
    """At most so many characters: the beginning, or the end."""
    if len(text) <= most:
        return text
    return "…" + text[len(text) - most + 1 :] if keep_end else text[: most - 1] + "…"


def cut_words(text: str, most: int) -> str:
    """At most so many characters, cut between two words: no number is cut into another."""
    words = text[: most - 1].rpartition(" ")[0]
    return text if len(text) <= most else f"{words} …" if words else cut(text, most)


def one_line(text: str, most: int = LONGEST) -> str:
    """Printable and no longer than a message may be; the middle gives way, for what to do stands at the end."""
    if len(text) > 4 * most:  # spelled out it is longer still: what nobody will see is not looked at
        text = text[: 2 * most] + text[-2 * most :]
    text = printable(text)
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail - 3]} … {text[-tail:]}"


def fit(parts: list[str], most: int, names: int = 0) -> list[str]:
    """Parts cut so that they have at most so many characters together: the longest give way first.

    Of the first `names` the end is kept: a path is known by its last part.
    """
    lengths = [min(len(part), most) for part in parts]
    level = max(lengths, default=0)
    while level > 1 and sum(min(n, level) for n in lengths) > most:
        level -= 1
    return [cut(part, level, keep_end=i < names) for i, part in enumerate(parts)]
