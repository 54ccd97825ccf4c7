"""Penn Treebank tokens as the COCO caption evaluation makes them (Stanford PTBTokenizer 3.4.1, re-implemented).

The evaluation runs `PTBTokenizer -preserveLines -lowerCase` over all captions at once and then drops punctuation:

    tokenize("A man's dog can't run (fast).")  →  "a man 's dog ca n't run -lrb- fast -rrb-"

Two habits of the official run are worth knowing. It lower-cases *before* it drops `-LRB-` and its kin, so brackets
stay. And it looks over line ends: whether "plan B." keeps its dot depends on the next caption. Here a caption is read
alone, as a line with nothing after it, so its tokens are its own; `strict=True` gives the official tokens, neighbours
and all.

A caption never becomes two. The official run turns only \\n into a blank, so a carriage return, VT, FF, U+2028 or
U+2029 inside a caption adds a line and shifts all captions after it; here they separate tokens and nothing more.
(U+0085 is an ellipsis to the tokenizer, a Windows leftover.) Lone surrogates, which no file can hold, are U+FFFD.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from types import ModuleType
from typing import Protocol

from fabula._kernels import native
from fabula.core.errors import InputError, shown
from fabula.text import ptb_rules
from fabula.text.scanner import Automaton, Scanner, compile_rules

# Exact comparison with lower-cased tokens: the four brackets never match.
DROPPED = frozenset(
    ["''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";"]
)


class Engine(Protocol):
    """What turns texts into lines of tokens: the compiled scanner or its Python twin."""

    def lines(self, texts: list[str], /) -> list[str]: ...


@cache
def automaton() -> Automaton:
    blanks = ptb_rules.BLANKS + ptb_rules.LINE_ENDS
    return compile_rules(ptb_rules.RULES, ptb_rules.vocabulary(), blanks)


@cache
def python_engine() -> Engine:
    return Scanner(automaton())


@cache
def native_engine(kernels: ModuleType) -> Engine:
    a = automaton()
    rules = [
        (ahead, rule.cut, rule.again, rule.kind, rule.whole, rule.empty, list(rule.edits))
        for rule, ahead in zip(a.rules, a.ahead, strict=True)
    ]
    made: Engine = kernels.Scanner(a.classes, a.members, a.follow, a.accept, a.first, rules, "".join(sorted(a.blanks)))
    return made


def engine() -> Engine:
    kernels = native()
    return python_engine() if kernels is None else native_engine(kernels)


def raw_tokens(text: str) -> list[str]:
    """The tokenizer's line for one caption, as a list."""
    line = raw_lines([checked(text, 0)])[0]
    return line.split(" ") if line else []


def tokenize(text: str, remove_nonascii: bool = False) -> str:
    """The caption as the metrics see it: tokens without punctuation, joined by one blank."""
    return tokenize_all([text], remove_nonascii)[0]


def tokenize_all(texts: Sequence[str], remove_nonascii: bool = False, strict: bool = False) -> list[str]:
    """`tokenize` for many captions, each distinct one once; `strict` lets neighbours influence it, as officially."""
    if isinstance(texts, str):
        raise InputError(f"captions are {shown(texts)}, one string", hint="give a list of strings, or call tokenize")
    captions = [checked(text, i) for i, text in enumerate(texts)]
    if remove_nonascii:
        captions = [ascii_only(text) for text in captions]
    if strict:
        return [kept(line) for line in batch_lines(captions)]
    distinct = list(dict.fromkeys(captions))
    made = dict(zip(distinct, map(kept, raw_lines(distinct)), strict=True))
    return [made[text] for text in captions]


def checked(text: object, index: int) -> str:
    if not isinstance(text, str):
        raise InputError(f"caption {index} is {shown(text)}, a {type(text).__name__}", hint="a caption is a string")
    return text


def ascii_only(text: str) -> str:
    """Each non-ASCII character becomes a blank (densevid_eval, SODA)."""
    return text if text.isascii() else "".join(c if c < "\x80" else " " for c in text)


def raw_lines(texts: Iterable[str]) -> list[str]:
    """One line of lower-cased tokens for each text, each read alone."""
    return [lowered(line[:-1]) for line in engine().lines([text.replace("\n", " ") + "\n" for text in texts])]


def batch_lines(texts: Sequence[str]) -> list[str]:
    """The same with all texts read as one file, one per line."""
    if not texts:
        return []
    page = engine().lines(["\n".join(text.replace("\n", " ") for text in texts)])[0]
    return [lowered(line) for line in page.split("\n")]


def lowered(line: str) -> str:
    """Lower case token by token: a final sigma is final in its token."""
    return line.lower() if line.isascii() else " ".join(token.lower() for token in line.split(" "))


def kept(line: str) -> str:
    return " ".join([token for token in line.rstrip().split(" ") if token not in DROPPED])
