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

import contextlib
import json
import struct
import sys
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fabula import _kernels
from fabula._kernels import native
from fabula.core import cachefile
from fabula.core.cachefile import cache_folder, find_distrust, make_folder
from fabula.core.errors import InputError, shown

if TYPE_CHECKING:
    from fabula._kernels import _native
    from fabula.text.ptb.scanner import Automaton

MAGIC = b"FABULA-PTB\0\0\0\0\0\0"
VERSION = 2  # of the kept tables: count it up when the kernel makes other tables of the same rules
DIGEST = "862e3e24cdbe5b39d61de8442baa1bcd129e9f24deef2e19eee1a2cfdb3e4e34"  # what they must hold

SOURCES = tuple(Path(__file__).with_name(name) for name in ("rules.py", "scanner.py"))  # what tables are made of

# Exact comparison with lower-cased tokens: the four brackets never match.
DROPPED = frozenset(
    ["''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";"]
)


class Engine(Protocol):
    """What turns texts into lines of tokens: the compiled scanner or its Python twin."""

    def lines(self, texts: list[str], /) -> list[str]: ...


@cache
def automaton() -> Automaton:
    from fabula.text.ptb import rules
    from fabula.text.ptb.scanner import compile_rules

    return compile_rules(rules.RULES, rules.vocabulary(), rules.BLANKS + rules.LINE_ENDS)


@cache
def python_engine() -> Engine:
    from fabula.text.ptb.scanner import Scanner

    return Scanner(automaton())


@cache
def native_engine(kernels: ModuleType) -> _native.Scanner:
    """The compiled scanner; its tables, which depend on the rules alone, are kept in the cache folder."""
    scanner: _native.Scanner
    place = locate_tables()
    sections = cachefile.load(*place) if place else None
    if sections is not None:
        with contextlib.suppress(KeyError, TypeError, ValueError):  # not what it says it is: made again
            packed, blanks = unpack_rules(sections["rules"].tobytes())
            tables = sections["classes"].tobytes(), sections["next"], sections["accepts"]
            scanner = kernels.Scanner(*tables, packed, blanks)
            return scanner
    a = automaton()
    packed, blanks = pack_rules(a)
    scanner = kernels.Scanner(a.classes, a.members, a.follow, a.accept, a.first, packed, blanks)
    if place:
        save_tables(*place, scanner, a)
    return scanner


Packed = tuple[list[tuple[object, ...]], str]


def pack_rules(a: Automaton) -> Packed:
    """The rules as the kernel takes them, each with the length of its look-ahead; and what separates tokens."""
    from fabula.text.ptb.rules import BLANKS, LINE_ENDS, RULES

    return [
        (length, rule.cut, rule.again, rule.kind, rule.whole, rule.empty, list(rule.edits))
        for rule, length in zip(RULES, a.ahead, strict=True)
    ], "".join(sorted(BLANKS + LINE_ENDS))


def unpack_rules(stored: bytes) -> Packed:
    """The same from the cache: the rules themselves need not be loaded."""
    packed, blanks = json.loads(stored)
    return [(*plain, [tuple(edit) for edit in edits]) for *plain, edits in packed], blanks


def locate_tables() -> tuple[Path, cachefile.Seal] | None:
    """Where the tables of these very rules are kept, made by this very Python; None where nothing can be kept."""
    try:
        sources = [path.read_bytes() for path in SOURCES]
        mark = struct.pack("<8I", sys.hexversion, *(n for s in sources for n in (zlib.crc32(s), len(s))), 0, 0, 0)
        path = cache_folder() / f"ptb-{VERSION}-{zlib.crc32(mark):08x}.tables"
        if why := find_distrust(path):  # a tenth of a second in every process, and no more
            import logging

            message = "%s: the tokenizer's tables are neither read from there nor kept"
            logging.getLogger(__name__).warning(message, why)
            return None
        return path, cachefile.Seal(MAGIC, VERSION, mark, bytes.fromhex(DIGEST))
    except (OSError, RuntimeError):  # no files (an archive), no home
        return None


def save_tables(path: Path, seal: cachefile.Seal, scanner: _native.Scanner, a: Automaton) -> None:
    """Where they cannot be written, the next process makes them again: a tenth of a second, and no error."""
    following, accepts = scanner.tables()
    classes = np.frombuffer(a.classes, np.uint8)
    rules = np.frombuffer(json.dumps(pack_rules(a)).encode("ascii"), np.uint8)
    with contextlib.suppress(OSError):
        make_folder(path.parent)
        cachefile.remove_leftovers(path, older_than=3600)
        cachefile.write(path, seal, {"classes": classes, "rules": rules, "next": following, "accepts": accepts})


def engine() -> Engine:
    kernels = native()
    return python_engine() if kernels is None else native_engine(kernels)


def raw_tokens(text: str) -> list[str]:
    """The tokenizer's line for one caption, as a list."""
    line = raw_lines([check_caption(text, 0)])[0]
    return line.split(" ") if line else []


def tokenize(text: str, remove_nonascii: bool = False) -> str:
    """The caption as the metrics see it: tokens without punctuation, joined by one blank."""
    return tokenize_all([text], remove_nonascii)[0]


def tokenize_all(texts: Sequence[str], remove_nonascii: bool = False, strict: bool = False) -> list[str]:
    """`tokenize` for many captions, each distinct one once; `strict` lets neighbours influence it, as officially."""
    if isinstance(texts, str):
        raise InputError(f"captions are {shown(texts)}, one string", hint="give a list of strings, or call tokenize")
    captions = list(texts)
    if set(map(type, captions)) - {str}:
        captions = [check_caption(text, i) for i, text in enumerate(captions)]
    if remove_nonascii and not all(map(str.isascii, captions)):
        captions = [text if text.isascii() else ascii_only(text) for text in captions]
    if strict:
        return [drop_punctuation(line) for line in batch_lines(captions)]
    distinct = list(dict.fromkeys(captions))
    if len(distinct) == len(captions):
        return tokenize_lines(captions)
    tokens = dict(zip(distinct, tokenize_lines(distinct), strict=True))
    return [tokens[text] for text in captions]


def check_caption(text: object, index: int) -> str:
    if not isinstance(text, str):
        raise InputError(f"caption {index} is {shown(text)}, a {type(text).__name__}", hint="a caption is a string")
    return text


def ascii_only(text: str) -> str:
    """Each non-ASCII character becomes a blank (densevid_eval, SODA)."""
    return text if text.isascii() else "".join(c if c < "\x80" else " " for c in text)


def raw_lines(texts: Iterable[str]) -> list[str]:
    """One line of lower-cased tokens for each text, each read alone."""
    return [lower_tokens(line[:-1]) for line in engine().lines([text.replace("\n", " ") + "\n" for text in texts])]


def tokenize_lines(texts: list[str]) -> list[str]:
    """`drop_punctuation` of each text's line; the kernel does all of it for plain ASCII."""
    kernels = native()
    if kernels is None:
        return [drop_punctuation(line) for line in raw_lines(texts)]
    lines = native_engine(kernels).kept(texts, list(DROPPED), _kernels.threads())
    others = iter(raw_lines([text for text, line in zip(texts, lines, strict=True) if line is None]))
    return [drop_punctuation(next(others)) if line is None else line for line in lines]


def batch_lines(texts: Sequence[str]) -> list[str]:
    """The same with all texts read as one file, one per line."""
    if not texts:
        return []
    page = engine().lines(["\n".join(text.replace("\n", " ") for text in texts)])[0]
    return [lower_tokens(line) for line in page.split("\n")]


def lower_tokens(line: str) -> str:
    """Lower case token by token: a final sigma is final in its token."""
    return line.lower() if line.isascii() else " ".join(token.lower() for token in line.split(" "))


def drop_punctuation(line: str) -> str:
    return " ".join([token for token in line.rstrip().split(" ") if token not in DROPPED])
