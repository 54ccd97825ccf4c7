"""METEOR 1.5's English normaliser, `-norm` (Denkowski & Lavie 2014; after the Moses tokenizer, Koehn et al. 2007).

A fixed sequence of single left-to-right passes: what an earlier match has consumed a later one cannot see
again, so `a-b-c` loses its first hyphen only. Letter case matters until the very end (`U.S.` → `US`, `Mr.
Smith` keeps its dot, `end. Then` does not). `_kernels/meteor/meteor_word.cpp` repeats these rules for plain ASCII
text; other text comes here.
"""

from __future__ import annotations

from collections.abc import Collection

from fabula.core.errors import InputError
from fabula.core.patterns import lazy

MOST_DOTS = 1000  # METEOR's own loop is quadratic in a run of dots

ALPHA = (
    r"A-Za-z\u0160\u017D\u0161\u017E\u0178\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u017E"
    r"\u0400-\u04FF\u0500-\u0527\uA640-\uA66E\uA67E-\uA697\u1D00-\u1D7F"
)
ALNUM = "0-9" + ALPHA

RULES = [
    (rf"([^{ALNUM} \t\n\x0b\f\r.'`,\-\u2018\u2019])", r" \1 "),  # every sign alone, except . ' ` , -
    (r"\.(\.+)", r" DOTMULTI\1"),  # runs of dots are hidden from the rules below
]
HIDE_DOTS = [(r"DOTMULTI\.([^.])", r"DOTDOTMULTI \1"), (r"DOTMULTI\.", "DOTDOTMULTI")]  # repeated until no dot is left
LATER_RULES = [
    (r"([^0-9]),([^0-9])", r"\1 , \2"),  # commas, unless inside a number
    (r"([0-9]),([^0-9])", r"\1 , \2"),
    (r"([^0-9]),([0-9])", r"\1 , \2"),
    (r"[`\u2018\u2019]", "'"),
    (r"[\u201c\u201d]|''", ' " '),
    (r"\u2013", "-"),
    (r"--", "-"),
    (rf"([{ALNUM}.])-([{ALNUM}])", r"\1 \2"),  # hyphens inside words
    (rf"([^{ALPHA}])'([^{ALPHA}])", r"\1 ' \2"),  # apostrophes
    (rf"([^{ALNUM}])'([{ALPHA}])", r"\1 ' \2"),
    (rf"([{ALPHA}])'([^{ALPHA}])", r"\1 ' \2"),
    (rf"([{ALPHA}])'([{ALPHA}])", r"\1 '\2"),
    (r"([0-9])'(s)", r"\1 '\2"),
]
_FIRST = [(lazy(pattern), to) for pattern, to in RULES]
_HIDE = [(lazy(pattern), to) for pattern, to in HIDE_DOTS]
_LATER = [(lazy(pattern), to) for pattern, to in LATER_RULES]
_HIDE_ALL = lazy(r"DOTMULTI(\.+)")
_SHOW_ALL = lazy(r"((?:DOT)+)DOTMULTI")
_HAS_ALPHA = lazy(f"[{ALPHA}]")
_BLANKS = lazy("[ \u2000-\u200a\u202f\u205f\u3000\u00a0]+")
_GAPS = lazy("[ \t\n\r\f]+")
_TRIM = "".join(map(chr, range(0x21)))  # what Java's trim() takes away
_PLAIN = lazy("[a-z0-9]+(?: [a-z0-9]+)*")
_SURROGATES = lazy("[\ud800-\udfff]")


def normalise(text: str, prefixes: Collection[str], numeric_prefixes: Collection[str]) -> str:
    """The words of a sentence, lower-cased, one blank between them; a lone surrogate counts as U+FFFD."""
    if _PLAIN.fullmatch(text):
        return text  # no rule has anything to do
    line = f" {_SURROGATES.sub(chr(0xFFFD), text).strip(_TRIM)} "
    literal = "DOTMULTI" in line
    for pattern, to in _FIRST:
        line = pattern.sub(to, line)
    line = _hide_dots(line) if literal else _HIDE_ALL.sub(lambda run: "DOT" * len(run[1]) + "DOTMULTI ", line)
    for pattern, to in _LATER:
        line = pattern.sub(to, line)
    tokens = split(line)
    line = " ".join(
        _final_dot(token, following, prefixes, numeric_prefixes)
        for token, following in zip(tokens, [*tokens[1:], ""], strict=False)
    )
    line = _SHOW_ALL.sub(lambda run: "DOTMULTI" + "." * (len(run[1]) // 3), line)
    line = _BLANKS.sub(" ", line.replace("DOTMULTI", ".")).strip(_TRIM)
    return " ".join(split(line.lower()))


def split(line: str) -> list[str]:
    """Split at Java's StringTokenizer delimiters: blank, tab, newline, return, form feed."""
    return [token for token in _GAPS.split(line) if token]


def _hide_dots(line: str) -> str:
    """The dot rules as METEOR repeats them; one substitution does the same unless a text spells out DOTMULTI itself."""
    if "." * MOST_DOTS in line:
        raise InputError(
            f"a text that contains DOTMULTI and more than {MOST_DOTS} dots in a row", hint="shorten the dots"
        )
    while "DOTMULTI." in line:
        for pattern, to in _HIDE:
            line = pattern.sub(to, line)
    return line


def _final_dot(token: str, following: str, prefixes: Collection[str], numeric_prefixes: Collection[str]) -> str:
    """Keep, drop or split off the dot that ends a token."""
    pre = token[:-1]
    if not pre or not token.endswith("."):
        return token
    if "." in pre and _HAS_ALPHA.search(pre):
        return token.replace(".", "")
    if pre in prefixes or "a" <= following[:1] <= "z":
        return token
    if pre in numeric_prefixes and "0" <= following[:1] <= "9":
        return token
    return f"{pre} ."
