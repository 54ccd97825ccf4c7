"""Calls every entry point of the compiled kernels with random, edge and hostile arguments, seeded and counted.

    python tools/sanitize_fuzz.py --rounds 100000 --seed 1 [--only threads] [--seconds 600]

A round is one call, or one object made and asked. Whatever is handed over, the kernel answers or raises one of ALLOWED;
anything else is printed with its seed, and the exit code is 1. A crash, and a sanitizer's report, end the process: run
it under one with tools/sanitize.py. A round depends on its seed alone: --first N --rounds 1 plays one again.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import random
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fabula._kernels import NATIVE
from fabula.text.meteor import index as meteor_index
from fabula.text.ptb.scanner import ANY, Automaton, Rule, compile_rules
from fabula.text.spice.pcfg import PHRASE, TAG, UNFINISHED

ALLOWED = (ValueError, TypeError, IndexError, KeyError, MemoryError, OverflowError, BufferError)
NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    63,
    64,
    65,
    255,
    2**16,
    2**20,
    2**31 - 1,
    2**31,
    2**32,
    3 * 10**9,
    2**53 + 1,
    2**62,
    2**63 - 1,
    -(2**63),
    2**64,
    10**30,
]
THREADS = [1, 1, 2, 2, 3, 8, 0, -1, 3 * 10**9, 2**62, -(2**63), 2**64]
REALS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e-310,
    1e-300,
    1e300,
    1.7e308,
    -1.7e308,
    2.0**63,
    -(2.0**63),
    2.0**53,
    float("inf"),
    float("-inf"),
    float("nan"),
]
WORDS = [
    "a",
    "the",
    "car",
    "auto",
    "goose",
    "geese",
    "bird",
    "run",
    "ran",
    "many",
    "a",
    "lot",
    "of",
    "plenty",
    "in",
    "hurry",
    "quickly",
    "Mr.",
    "No",
    "7",
    "U.S.",
    "can't",
    "--",
    "...",
    "é",
    "😀",
    "\ud800",
    "\x01",
    "\x02",
    "DOTMULTI",
    "gonna",
]
TEXTS = [
    "",
    " ",
    "\n",
    "\0",
    "a",
    "A.",
    "'" * 9,
    "-" * 70,
    "x" * 300,
    "." * 200,
    " \t\r\n\f\v",
    "\u2028",
    "\ufeff",
    "é" * 40,
    "😀" * 20,
    "\udfff\ud800",
]

native: Any = NATIVE


class Draw(random.Random):
    """Chance, and the shapes that arguments come in."""

    def often(self) -> bool:
        return self.random() < 0.85

    def number(self) -> int:
        return self.choice(NUMBERS) if self.random() < 0.5 else self.randrange(-3, 12)

    def real(self) -> float:
        return self.choice(REALS) if self.random() < 0.3 else self.gauss(0, 3)

    def text(self) -> str:
        if self.random() < 0.3:
            return self.choice(TEXTS) + self.choice(TEXTS)
        return " ".join(self.choices(WORDS, k=self.randrange(9)))

    def rubbish(self) -> Any:
        return self.choice(
            [
                None,
                "text",
                b"bytes",
                3,
                2.5,
                [],
                [[]],
                [None],
                {},
                (),
                object(),
                np.zeros(0),
                np.zeros((2, 2), object),
                float("nan"),
            ]
        )

    def reals(self, *shape: int, kind: Any = np.float64) -> Any:
        """Mostly finite ones, one time in four with a few that are not or are beyond measure."""
        made = np.array([self.gauss(0, 3) for _ in range(int(np.prod(shape)))], np.float64).reshape(shape)
        if made.size and self.random() < 0.25:
            made.flat[self.randrange(made.size)] = self.choice(REALS)
        with np.errstate(over="ignore"):
            return made.astype(kind)

    def bend(self, array: Any, chance: float = 0.12) -> Any:
        """The array, or now and then another one where a careless kernel would believe it is the same."""
        if self.random() >= chance or not isinstance(array, np.ndarray):
            return array
        flat = array.ravel()
        match self.randrange(11):
            case 0:
                return self.rubbish()
            case 1:
                with np.errstate(all="ignore"):
                    return array.astype(
                        self.choice(
                            [
                                np.int8,
                                np.int32,
                                np.uint64,
                                np.float32,
                                np.float64,
                                np.float16,
                                bool,
                                ">i8",
                                ">f8",
                                object,
                                complex,
                            ]
                        )
                    )
            case 2:
                return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
            case 3:  # begins at an odd byte
                raw = bytearray(array.nbytes + 1)
                bent = np.frombuffer(raw, np.uint8, array.nbytes, 1).view(array.dtype).reshape(array.shape)
                bent[...] = array
                return bent
            case 4:
                array = array.copy()
                array.setflags(write=False)
                return array
            case 5:
                return array[..., :-1] if array.ndim and array.shape[-1] else array
            case 6:
                return np.concatenate([flat, flat[:1]])
            case 7:
                return np.zeros(
                    self.choice([(0,), (0, 2**40), (2**40, 0), (0, 0, 2**33), (2**33, 0, 2), (0, 2), (1, 2)]),
                    array.dtype,
                )
            case 8 if array.size:
                array = array.copy()
                with np.errstate(all="ignore"):
                    value = self.choice(REALS) if array.dtype.kind == "f" else self.choice(NUMBERS)
                    if array.dtype.kind == "f" or (
                        array.dtype.kind in "iu" and np.iinfo(array.dtype).min <= value <= np.iinfo(array.dtype).max
                    ):
                        array.flat[self.randrange(array.size)] = value
                return array
            case 9:
                return np.broadcast_to(array.flat[0] if array.size else 0, (3,) * max(1, array.ndim)).astype(
                    array.dtype
                )
            case _:
                return array[::-1]

    def call(self, function: Callable[..., Any], *values: Any, **named: Any) -> Any:
        return function(*(self.bend(v) for v in values), **named)


# --- matching --------------------------------------------------------------------------------------------------------


def ordered(draw: Draw) -> None:
    draw.call(native.ordered, draw.reals(draw.randrange(6), draw.randrange(70)))


def shaped(draw: Draw) -> tuple[Any, int]:
    """Shapes of matrices that stand end to end, and how many cells they have if one believes the sound ones."""
    sides = [(draw.randrange(5), draw.randrange(5)) for _ in range(draw.randrange(4))]
    shapes = np.array(sides, np.int64).reshape(-1, 2)
    cells = int(shapes.prod(axis=1).sum())
    if draw.random() < 0.3 and len(shapes):
        shapes[draw.randrange(len(shapes))] = draw.choice(
            [(2**32, 2**32), (2**62, 4), (-1, -1), (2**63 - 1, 2), (0, 2**62), (2**33, 2**31), (-(2**63), 1)]
        )
    return shapes, cells


def ordered_many(draw: Draw) -> None:
    shapes, cells = shaped(draw)
    draw.call(native.ordered_many, draw.reals(cells), shapes, np.zeros(len(shapes)), np.zeros(cells, bool))


def marked_many(draw: Draw) -> None:
    shapes, cells = shaped(draw)
    draw.call(native.marked_many, draw.reals(cells), shapes, np.zeros(cells, bool))


def assignment_many(draw: Draw) -> None:
    shapes, cells = shaped(draw)
    draw.call(native.assignment_many, draw.reals(cells), shapes, np.zeros(len(shapes)), np.zeros(cells, bool))


def count_draws(draw: Draw) -> None:
    B, V = draw.randrange(4), draw.randrange(6)
    drawn = np.array([[draw.randrange(V) for _ in range(V)] for _ in range(B)], np.int64).reshape(B, V)
    draw.call(native.count_draws, drawn, np.zeros((B, V)))


def coded(draw: Draw) -> tuple[Any, Any, Any, Any]:
    """Codes, scales and errors of some rows, and the rows; whatever stands in them."""
    n, dims = draw.choice([0, 1, 5, 40, 600]), draw.choice([0, 1, 7, 33])
    codes = np.frombuffer(draw.randbytes(n * (-(-dims // 32) * 32)), np.int8).reshape(n, -(-dims // 32) * 32).copy()
    return codes, draw.reals(n, kind=np.float32), draw.reals(n, kind=np.float32), draw.reals(n, dims, kind=np.float32)


def encode_rows(draw: Draw) -> None:
    codes, scales, errors, rows = coded(draw)
    mean = draw.reals(rows.shape[1], kind=np.float32)
    draw.call(native.encode_rows, rows, mean, codes, scales, errors, draw.choice(THREADS))


def nearest_rows(draw: Draw) -> None:
    *parts, rows = coded(draw)
    query = draw.reals(rows.shape[1], kind=np.float32)
    marks = draw.choice([None, np.array([draw.random() < 0.5 for _ in rows], bool)])
    path = draw.choice([*native.code_paths(), "", "none"])
    draw.call(native.nearest_rows, *parts, rows, query, draw.choice(NUMBERS), marks, draw.choice(THREADS), path)


def code_products(draw: Draw) -> None:
    codes, *_ = coded(draw)
    query = np.array([draw.randrange(-(2**15), 2**15) for _ in range(codes.shape[1])], np.int16)
    draw.call(native.code_products, codes, query, draw.choice([*native.code_paths(), "", "none"]))


def code_paths(draw: Draw) -> None:
    draw.call(native.code_paths)


def batch(draw: Draw) -> tuple[Any, Any, Any]:
    B, N, M = draw.randrange(4), draw.randrange(6), draw.randrange(70)
    cost = draw.reals(B, N, M, kind=draw.choice([np.float32, np.float64]))
    n, m = (np.array([draw.randrange(k + 1) for _ in range(B)], np.int64) for k in (N, M))
    return cost, n, m


def ordered_batch(draw: Draw) -> None:
    cost, n, m = batch(draw)
    pairs = np.zeros((2, len(cost), min(cost.shape[1:])), np.int64)
    draw.call(native.ordered_batch, cost, n, m, pairs[0], pairs[1], np.zeros(len(cost), np.int64), draw.choice(THREADS))


def soft_ordered(draw: Draw) -> None:
    cost, n, m = batch(draw)
    gamma = draw.choice([0.01, 1.0, 1e-12, 1e300, 5e-324, 0.0, -1.0, float("inf"), float("nan")])
    form = draw.choice(["logsumexp", "expectation", "walk", "logsumexp", "expectation", "walk", "", "x\0"])
    E = np.zeros_like(cost) if draw.random() < 0.6 else np.zeros((0, 0, 0), cost.dtype)
    draw.call(native.soft_ordered, cost, n, m, gamma, form, np.zeros(len(cost)), E, draw.choice(THREADS))


def best_places(draw: Draw) -> None:
    Q, N = draw.randrange(4), draw.randrange(1, 90)
    K = draw.choice([1, 1, N, draw.randrange(1, 99), 0])
    values = draw.reals(Q, N, kind=np.float32)
    draw.call(
        native.best_places, values, np.zeros((Q, K), np.float32), np.zeros((Q, K), np.int64), draw.choice(THREADS)
    )


def best_of_stretches(draw: Draw) -> None:
    counts = np.array([draw.randrange(12) for _ in range(draw.randrange(5))], np.int64)
    if len(counts) and not draw.often():
        counts[0] = draw.choice([-1, 1, 5, 2**62, -(2**63)])
    Q = draw.randrange(4)
    values = draw.reals(Q, int(np.clip(counts, 0, 12).sum()), kind=np.float32)
    best = np.zeros((Q, len(counts)), np.float32)
    draw.call(native.best_of_stretches, values, counts, best, draw.real(), draw.choice(THREADS))


def compare_clips(draw: Draw) -> None:
    Q, K, R, T, H = (draw.randrange(1, 5) if draw.often() else draw.randrange(5) for _ in range(5))
    H *= draw.choice([1, 7, 16, 32])
    rows = np.array([[draw.randrange(max(R, 1)) for _ in range(K)] for _ in range(Q)], np.int64).reshape(Q, K)
    if rows.size and not draw.often():
        rows.flat[0] = draw.choice([-1, R, 2**62])
    extents = np.array(
        [draw.randrange(T + 1) if draw.often() else draw.choice([-1, T + 1]) for _ in range(R)], np.int64
    )
    numbers = draw.reals(Q, H, kind=np.float32), draw.reals(R, T, H, kind=np.float32)
    draw.call(native.compare_clips, *numbers, rows, extents, np.zeros((Q, K, T), np.float32), draw.choice(THREADS))


def best_spans(draw: Draw) -> None:
    Q, R, T, K = draw.randrange(3), draw.randrange(4), draw.randrange(40), draw.choice([1, 5, 200, 0])
    numbers = (abs(draw.reals(*shape, kind=np.float32)) for shape in ((Q, R, T), (Q, R, T), (Q, R)))
    shortest = draw.randrange(4) if draw.often() else draw.choice([-1, 2**62, T])
    longest = shortest + draw.randrange(1, 30) if draw.often() else draw.choice([0, -5, 2**62])
    places = (np.zeros((Q, K), np.int64) for _ in range(3))
    out = np.zeros((Q, K), np.float32)
    draw.call(native.best_spans, *numbers, shortest, longest, *places, out, draw.choice(THREADS))


def suppress_spans(draw: Draw) -> None:
    Q, K = draw.randrange(4), draw.randrange(30)
    videos = np.array([[draw.randrange(3) for _ in range(K)] for _ in range(Q)], np.int64).reshape(Q, K)
    stays = np.array([draw.often() for _ in range(Q * K)], bool).reshape(Q, K)
    draw.call(native.suppress_spans, draw.reals(Q, K, 2), videos, draw.real(), stays, draw.choice(THREADS))


def lcs(draw: Draw) -> None:
    top = draw.choice([3, 3, 3, 90, 2**20])
    A, B = (
        [[draw.randrange(top) for _ in range(draw.choice([0, 3, 64, 65, 130]))] for _ in range(draw.randrange(4))]
        for _ in range(2)
    )
    if draw.random() < 0.2 and A:
        A[0].append(draw.number())
    native.lcs(*(x if draw.often() else draw.rubbish() for x in (A, B)))


def sentences(draw: Draw) -> None:
    rows = native.Sentences()
    for _ in range(draw.choice([1, 1, 2])):
        rows.add([draw.text() for _ in range(draw.randrange(6))] if draw.often() else draw.rubbish())
    sizes = [
        draw.choice([1, 1, 2, 3, 0]) if draw.random() < 0.1 else draw.choice([1, 2]) for _ in range(draw.randrange(5))
    ]
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    candidates, references = (
        np.array([draw.randrange(max(1, len(rows))) for _ in range(k)], np.int64) for k in (len(sizes), int(starts[-1]))
    )
    groups = np.unique(np.array([0, draw.randrange(len(sizes) + 1), len(sizes)], np.int64))
    crew = draw.choice(THREADS)
    draw.call(rows.bleu, candidates, references, starts, threads=crew)
    draw.call(rows.cider, candidates, references, starts, groups, threads=crew)
    draw.call(rows.lcs, candidates, references[: len(candidates)], threads=crew)
    df = draw.call(rows.frequencies, references, starts)
    weights = draw.call(rows.weights, df, documents=max(1, len(sizes)) if draw.often() else draw.number())
    draw.call(rows.cider_given, candidates, references, starts, weights, threads=crew)
    rows.grams(draw.choice([0, 0, 3, draw.number()]))


def bleu(draw: Draw) -> None:
    draw.call(native.bleu, np.array([[draw.number() for _ in range(10)] for _ in range(draw.randrange(4))], np.int64))


# --- moments ---------------------------------------------------------------------------------------------------------


def ranking(draw: Draw) -> tuple[Any, Any, Any, Any]:
    counts = np.array([draw.randrange(5) for _ in range(draw.randrange(5))], np.int64)
    spans = draw.reals(int(counts.sum()), 2)
    if draw.random() < 0.2 and len(counts) > 1:
        counts[:2] = draw.choice(
            [(2**63 - 1, 2**63 - 1), (-1, counts[0] + counts[1] + 1), (2**62, 2**62), (-(2**63), 0)]
        )
    videos, own = (np.array([draw.randrange(2) for _ in range(k)], np.int64) for k in (len(spans), len(counts)))
    return counts, spans, videos, own


def first_right(draw: Draw) -> None:
    counts, spans, videos, own = ranking(draw)
    held = np.array([draw.randrange(3) for _ in counts], np.int64)
    windows = draw.reals(int(held.sum()), 2)
    taus = [draw.real() for _ in range(draw.randrange(4))]
    top = draw.choice([None, 1, 5, draw.number()])
    draw.call(
        native.first_right,
        counts,
        spans,
        videos,
        own,
        windows,
        held,
        taus,
        draw.often(),
        draw.often(),
        draw.number(),
        draw.number(),
        top,
        draw.often(),
    )


def window_precision(draw: Draw) -> None:
    Q, P, W = draw.randrange(4), draw.choice([0, 1, 2, 9, 130]), draw.randrange(5)
    flags = [np.array([draw.often() for _ in range(Q * n)], bool).reshape(Q, n) for n in (P, W)]
    draw.call(native.window_precision, draw.reals(Q, P, W), *flags, [draw.real() for _ in range(draw.randrange(4))])


def clip_precision(draw: Draw) -> None:
    counts = np.array([draw.randrange(6) for _ in range(draw.randrange(5))], np.int64)
    marks, scores = draw.reals(int(counts.sum()), draw.choice([1, 2, 3, 9])), draw.reals(int(counts.sum()))
    levels = [draw.real() for _ in range(draw.randrange(4))]
    draw.call(native.clip_precision, marks, np.nan_to_num(scores), counts, levels, draw.often())


def oddities(draw: Draw) -> None:
    counts, spans, _, _ = ranking(draw)
    draw.call(
        native.oddities, counts, spans, draw.choice([None, draw.reals(len(spans)), draw.reals(2 * len(spans))[::2]])
    )


def translated(draw: Draw) -> None:
    edges = [-(2**63), -(2**53), 0, 1, 2, 3, 7, 2**53, 2**53 + 1, 2**63 - 1]
    theirs = np.array(sorted(draw.sample(edges, draw.randrange(5))) if draw.often() else [3, 1], np.int64)
    numbers = np.array(
        [draw.choice([*map(float, theirs.tolist()), draw.real()]) for _ in range(draw.randrange(5))], np.float64
    )
    draw.call(native.translated, numbers, theirs, np.arange(len(theirs)))


# --- JSON ------------------------------------------------------------------------------------------------------------

PIECES = [
    '"a"',
    '"k":',
    '"k" :',
    "[[1,2],[3,4]]",
    "[[1]]",
    "[]",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "1e999",
    "-0.5",
    "1" * 25,
    "0.1e-7",
    "1.",
    "-",
    '"',
    '"\\u00e9"',
    '"\\ud800"',
    '"\\',
    "null",
    "true",
    " ",
    "\n",
    "\t",
    "\0",
    "é",
    "\x80",
    '{"k":1}',
    '{"id":"x","k":[[1,2]]}',
    '{"id":7,"t":"é","w":[0,1]}\n',
]


def json_text(draw: Draw) -> bytes:
    if draw.random() < 0.5:
        rows = [
            {
                "id": draw.choice([1, "x", "é\n"]),
                "t": draw.text(),
                "k": [[draw.gauss(0, 9)] * 3] * draw.randrange(3),
                "w": [[0, 1]],
                "o": None,
            }
            for _ in range(draw.randrange(4))
        ]
        for row in rows:
            for key in draw.sample(list(row), draw.randrange(3)):
                del row[key]
        text = bytearray(
            (
                "\n".join(json.dumps(r, ensure_ascii=draw.often()) for r in rows)
                if draw.often()
                else json.dumps(rows)[1:]
            ).encode("utf-8", "surrogatepass")
        )
        for _ in range(draw.randrange(3)):
            if text:
                text[draw.randrange(len(text))] = draw.randrange(256)
        return bytes(text[: draw.randrange(len(text) + 1)] if draw.random() < 0.2 else text)
    return (
        "".join(draw.choices(PIECES, k=draw.randrange(30)))
        .encode("utf-8", "surrogatepass")
        .replace(b"\xc2\x80", b"\x80")
    )


def lift(draw: Draw) -> None:
    native.lift(
        json_text(draw) if draw.often() else draw.rubbish(),
        draw.choice(["k", "", "a", '"', "é", "\0", "\\"]),
        draw.choice([0, 0, 0, draw.number()]),
    )


def records(draw: Draw) -> None:
    text = json_text(draw)
    kinds = [
        "id",
        "name",
        "word",
        "text",
        "number",
        "window",
        "windows",
        "either",
        "table",
        "skip",
        "numbers",
        "wholes",
    ]
    fields = tuple(
        (key, draw.choice(kinds if draw.often() else [*kinds, "nonsense"]))
        for key in draw.sample(["id", "t", "k", "w", "o", "é"], draw.randrange(6))
    )
    fields += fields[:1] if draw.random() < 0.05 else ()
    at, end = draw.choice(
        [(0, len(text)), (0, len(text)), (draw.randrange(len(text) + 1), len(text)), (draw.number(), draw.number())]
    )
    loads = draw.choice([json.loads, json.loads, json.loads, lambda _: 7, lambda _: 1 / 0, None])
    whole = (
        draw.choice([text + b"\0", bytearray(text + b"\0"), text, memoryview(text + b"\0")])
        if draw.often()
        else draw.rubbish()
    )
    with contextlib.suppress(ZeroDivisionError):  # which `loads` may raise
        native.records(whole, at, end, draw.often(), fields, draw.often(), loads)


def extent(draw: Draw) -> None:
    text = json_text(draw)
    native.extent(
        text + b"\0" if draw.often() else draw.rubbish(),
        draw.choice([0, 0, draw.randrange(len(text) + 1), draw.number()]),
        draw.choice([len(text), len(text), draw.number()]),
    )


TOLD = {
    "truth": '{"a": {"duration": 3, "timestamps": [[0, 1.5], [-1e2, 3]], "sentences": ["\\u00e9\\ud83d\\ude00", "b"]}}',
    "results": '{"v": [], "results": {"a": [{"sentence": "s", "timestamp": [0, 1]}, {"timestamp": [2, 3], "z": 1}]}}',
    "pdvc": '{"results": {"a": [{"timestamp": [0, 1], "proposal_score": 0.5, "vid_duration": 9, "k": {"k": null}}]}}',
    "lines": '{"id": "a", "events": [{"start": 0, "end": 1, "caption": "c", "score": -0}], "duration": 1}\n' * 2,
}


def stories(draw: Draw) -> None:
    kind = draw.choice(list(TOLD))
    data = bytearray(TOLD[kind].encode())
    for _ in range(draw.randrange(4)):
        at = draw.randrange(len(data) + 1)
        some = draw.choice(PIECES).encode("utf-8", "surrogatepass") * draw.choice([1, 1, 1, 1, 70, 300])
        data[at : at + draw.randrange(3)] = some
    for _ in range(draw.choice([0, 0, 1, 2])):
        data[draw.randrange(len(data))] = draw.randrange(256)
    text = bytes(data[: draw.randrange(len(data) + 1)] if draw.random() < 0.1 else data)
    native.stories(
        draw.choice([text, text, text, json_text(draw)]) if draw.often() else draw.rubbish(),
        draw.choice([0, 0, 0, draw.randrange(len(text) + 1), draw.number()]),
        kind if draw.often() else draw.choice([*TOLD, "nonsense", 3]),
    )


# --- tokens ----------------------------------------------------------------------------------------------------------

RULES = [
    Rule("[a-z]+"),
    Rule("[a-z]+[.]", again=1),
    Rule("cannot", cut=3),
    Rule("a", " +b", whole="x"),
    Rule("--+", edits=(("-", "_"),), empty="e"),
    Rule("<[^>]*>"),
    Rule("\n", kind="line"),
    Rule("[.]"),
    Rule("{any}", kind="skip"),
]
SOUND: Automaton = compile_rules(RULES, {"any": ANY}, " \n")
DONE = [
    (length, r.cut, r.again, r.kind, r.whole, r.empty, list(r.edits))
    for r, length in zip(RULES, SOUND.ahead, strict=True)
]


def scanner(draw: Draw) -> None:
    rules = [list(rule) for rule in DONE]
    if draw.random() < 0.3:
        draw.choice(rules)[draw.randrange(7)] = draw.choice(
            [draw.number(), "", None, "skip", "y" * 2000, [("", "x")], [("-", "-" * 60)] * 3, "\ud800"]
        )
    packed: Any = [tuple(rule) for rule in rules]
    packed = packed[: draw.randrange(len(packed))] if draw.random() < 0.05 else packed
    blanks = draw.choice([" \n", " \n", "", "\ud800"])
    if draw.often():
        following, accepts = (table.copy() for table in MADE)
        for table in (following, accepts):
            for _ in range(draw.choice([0, 0, 1, 3])):
                table[draw.randrange(table.size)] = draw.choice(
                    [-1, -2, 0, 1, 5, accepts.size - 1, accepts.size, 2**31 - 1, -(2**31)]
                )
        made = draw.call(
            native.Scanner,
            SOUND.classes if draw.often() else bytes([draw.randrange(256)]) * 65536,
            following,
            accepts,
            packed,
            blanks,
        )
    else:
        members, follow = list(SOUND.members), [list(row) for row in SOUND.follow]
        accept, first = list(SOUND.accept), list(SOUND.first)
        for row in (accept, first, draw.choice(follow)):
            if row and draw.random() < 0.3:
                row[draw.randrange(len(row))] = draw.choice([-1, -2, 0, 5, len(members), 2**31 - 1, -(2**31), 2**40])
        if draw.random() < 0.2:
            members[draw.randrange(len(members))] = draw.choice([b"", b"\1", bytes(300)])
        made = native.Scanner(
            SOUND.classes, members[: draw.choice([None, None, -1])], follow, accept, first, packed, blanks
        )
    texts = [
        draw.choice(["ab. cannot -- <", "a   b", "<" + "a" * 200, draw.text(), "\n"]) for _ in range(draw.randrange(4))
    ]
    made.lines(texts if draw.often() else [*texts, None])
    made.kept(texts, draw.choice([[], ["."], ["", "é"]]), draw.choice(THREADS))
    made.tables()


# --- METEOR ----------------------------------------------------------------------------------------------------------


def build_sections() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        tables = meteor_index.Tables(Path(folder) / "t.jar", Path(folder) / "t.gz")
        with zipfile.ZipFile(tables.jar, "w") as jar:
            lines = (
                "car\n1 2\nauto\n1\ngoose\n3\nbird\n3 4\nrun\n5\n",
                "goose\ngeese\nrun\nran\n",
                "the\na\n.\n",
                "Mr\nNo #NUMERIC_ONLY#\n",
            )
            for member, text in zip(meteor_index.JAR_MEMBERS, lines, strict=True):
                jar.writestr(member, text)
        pairs = [
            ("a lot of", "many"),
            ("a lot of", "plenty of"),
            ("many", "a lot of"),
            ("quickly", "in a hurry"),
            ("a", "the"),
        ]
        with gzip.open(tables.paraphrases, "wb") as file:
            file.write("".join(f"0.5\n{source}\n{target}\n" for source, target in pairs).encode())
        return dict(meteor_index.build(tables, lambda what, share: None))


def bent_sections(draw: Draw) -> dict[str, Any]:
    sections = dict(SECTIONS)
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        name = draw.choice(sorted(sections))
        array = np.array(sections[name])
        match draw.randrange(6):
            case 0 if array.size:
                array[draw.randrange(array.size)] ^= array.dtype.type(1 << draw.randrange(8 * array.itemsize))
            case 1 if array.size:
                array[draw.randrange(array.size)] = draw.choice([0, 1, array.size % 256, np.iinfo(array.dtype).max])
            case 2:
                array = array[:-1]
            case 3:
                array = np.append(array, array[-1:])
            case 4:
                array = np.sort(array)[::-1].copy()
            case _:
                array = draw.bend(array, 1.0)
        sections[name] = array
        if draw.random() < 0.02:
            del sections[name]
            break
    return sections


def meteor(draw: Draw) -> None:
    engine = native.Meteor(bent_sections(draw), draw.choice([str, str, str.lower, lambda _: 7, None]))
    sides = [[draw.text() for _ in range(draw.randrange(4))] for _ in range(2)]
    blocks: Any = [tuple(sides), (sides[0], sides[1][:1])]
    wanted = draw.choice(
        [
            None,
            None,
            np.ones(len(sides[0]) * (len(sides[1]) + len(sides[1][:1])), bool),
            np.ones(draw.randrange(9), bool),
        ]
    )
    engine.pairs_many(blocks if draw.often() else draw.rubbish(), draw.choice(THREADS), draw.bend(wanted))
    engine.segments(sides[0], [sides[1]] * len(sides[0]) if draw.often() else draw.rubbish(), draw.choice(THREADS))
    places = [np.array([draw.randrange(max(1, len(sides[0]))) for _ in range(3)], np.int64) for _ in range(2)]
    draw.call(engine.pairs_at, sides[0] if draw.often() else draw.rubbish(), *places, threads=draw.choice(THREADS))
    engine.align(sides[0], sides[1][: len(sides[0])] if draw.often() else draw.rubbish(), draw.choice(THREADS))
    engine.normalise(draw.text())


def meteor_check(draw: Draw) -> None:
    sections = bent_sections(draw)
    found = []
    for check in (native.meteor_check, meteor_index.check_sections_python):
        try:
            check(sections)
            found.append(None)
        except (KeyError, ValueError, AttributeError, TypeError) as error:
            found.append(type(error) is KeyError)
    if all(
        isinstance(a, np.ndarray)
        and a.dtype == np.dtype(meteor_index.KINDS[n])
        and a.ndim == 1
        and a.flags.c_contiguous
        and a.flags.aligned
        for n, a in sections.items()
    ):
        assert (found[0] is None) == (found[1] is None), f"the kernel and its twin do not agree: {found}"


def meteor_scores(draw: Draw) -> None:
    draw.call(native.meteor_scores, draw.reals(draw.randrange(4), 23))


def meteor_stem(draw: Draw) -> None:
    native.meteor_stem(
        "".join(draw.choices("aeiouyYstlnrbdgcheli'zé😀", k=draw.randrange(12)))
        + draw.choice(["", "ing", "edly", "ational", "fulness", "ies", "'s'", "ll", "e"])
        if draw.often()
        else draw.rubbish()
    )


# --- trees -----------------------------------------------------------------------------------------------------------


def grammar(draw: Draw) -> Any:
    S, T = 7, 3
    kind = np.array([PHRASE] * 3 + [UNFINISHED] + [TAG] * 3, np.uint8)
    binary = [(0, 1, 6), (0, 2, 6)] + [
        tuple(draw.randrange(4 if k == 0 else 6) for k in range(3)) for _ in range(draw.randrange(20))
    ]
    unary = [(1, 4), (2, 5)] + [(draw.randrange(4), draw.randrange(6)) for _ in range(draw.randrange(8))]
    scores = lambda *shape: draw.reals(*shape, kind=np.float32)  # noqa: E731
    follows = scores(T + 1, T) if draw.random() < 0.5 else None
    limits = np.full(S, draw.choice([np.inf, 3.0, 0.5, np.nan, -np.inf, 1e30]), np.float32)
    goal = 0 if draw.often() else draw.number()
    return draw.call(
        native.Pcfg,
        np.array(binary, np.int32),
        scores(len(binary)),
        np.array(unary, np.int32),
        scores(len(unary)),
        kind,
        np.arange(S, dtype=np.int32),
        limits,
        goal,
        follows,
        draw.choice([0.0, 5.0, draw.real()]),
    )


def pcfg(draw: Draw) -> None:
    made = grammar(draw)
    lengths = [draw.choice([0, 1, 2, 3, 5, 70]) for _ in range(draw.randrange(4))]
    first = np.cumsum([0, *lengths]).astype(np.int64)
    words = np.array([draw.randrange(3) for _ in range(int(first[-1]))], np.int32)
    words[first[1:][np.array(lengths, int) > 0] - 1] = 3
    at, tags = np.array([0, 1, 2, 4, 5]), np.array([4, 5, 4, 5, 6], np.int32)
    allowed = None
    if len(lengths) == 1 and draw.random() < 0.3:
        allowed = draw.bend(np.full((lengths[0] * (lengths[0] + 1) // 2, 2), 2**63, np.uint64))
    draw.call(
        made.trees, first, words, at, tags, draw.reals(5, kind=np.float32), draw.choice(THREADS), draw.often(), allowed
    )


# --- threads ---------------------------------------------------------------------------------------------------------


def threads(draw: Draw) -> None:
    """The kernels that use threads, with work enough for them, from two threads of Python at once: the same answers."""
    engine = native.Meteor(SECTIONS, str)
    sides = [[draw.text() for _ in range(70)] for _ in range(2)]
    sides = [[text for text in side if text.isprintable()] or ["a"] for side in sides]
    scan = native.Scanner(SOUND.classes, *MADE, DONE, " \n")
    texts = ["ab. cannot -- < a   b " * 40] * 600
    cost = np.array([draw.gauss(0, 1) for _ in range(16 * 48 * 64)]).reshape(16, 48, 64)
    n, m = np.full(16, 48), np.full(16, 64)
    rules = (
        np.array([(0, 1, 6), (1, 1, 2), (1, 2, 1)], np.int32),
        np.zeros(3, np.float32),
        np.array([(1, 4), (2, 5)], np.int32),
        np.zeros(2, np.float32),
    )
    trees = native.Pcfg(
        *rules, np.array([0, 0, 0, 2, 1, 1, 1], np.uint8), np.zeros(7, np.int32), np.full(7, np.inf, np.float32), 0
    )
    rows = native.Sentences()
    rows.add([draw.text() for _ in range(60)])
    chosen = np.array([draw.randrange(60) for _ in range(9000)])
    one_each, tens = np.arange(9001), np.arange(0, 9001, 10)
    first, words = np.arange(0, 41 * 8, 8), np.array([0, 1, 2, 1, 2, 1, 2, 3] * 40, np.int32)

    def work(crew: int, out: list[Any]) -> None:
        pairs, counts = np.zeros((2, 16, 48), np.int64), np.zeros(16, np.int64)
        native.ordered_batch(cost, n, m, pairs[0], pairs[1], counts, crew)
        value, E = np.zeros(16), np.zeros_like(cost)
        native.soft_ordered(cost, n, m, 0.1, "logsumexp", value, E, crew)
        found = trees.trees(
            first, words, np.array([0, 1, 2, 4, 5]), np.array([4, 5, 4, 5, 6], np.int32), np.zeros(5, np.float32), crew
        )
        out += [
            pairs,
            counts,
            value,
            E,
            *found,
            engine.pairs_many([tuple(sides)] * 2, crew),
            *engine.segments(sides[0], [sides[1]] * len(sides[0]), crew),
        ]
        rows.add([f"sentence {crew} {len(rows)}"])
        out.append(rows.bleu(chosen, chosen[::-1].copy(), one_each, crew))
        out.append(rows.cider(chosen, chosen[::-1].copy(), one_each, tens, crew))
        out.append(rows.lcs(chosen, chosen[::-1].copy(), crew))
        out.append(np.array(scan.kept(texts, ["."], crew)))
        out.append(native.oddities(n, np.zeros((16 * 48, 2)), None)[0])

    def note(crew: int, out: list[Any]) -> None:
        try:
            work(crew, out)
        except BaseException as error:
            out.append(error)

    answers: list[list[Any]] = [[], []]
    other = threading.Thread(target=note, args=(4, answers[0]))
    other.start()
    note(3, answers[1])
    other.join()
    failures = [found for found in answers[0] + answers[1] if isinstance(found, BaseException)]
    assert not failures, f"{failures[0]!r}"
    assert all(np.array_equal(a, b) for a, b in zip(*answers, strict=True)), "threads do not agree"


SECTIONS: dict[str, Any] = {}
MADE: tuple[Any, Any] = (np.zeros(0), np.zeros(0))
ENTRIES = {
    f.__name__: f
    for f in (
        ordered,
        ordered_many,
        marked_many,
        assignment_many,
        count_draws,
        encode_rows,
        nearest_rows,
        code_products,
        code_paths,
        ordered_batch,
        soft_ordered,
        best_places,
        best_of_stretches,
        compare_clips,
        best_spans,
        suppress_spans,
        lcs,
        sentences,
        bleu,
        first_right,
        window_precision,
        clip_precision,
        oddities,
        translated,
        lift,
        records,
        extent,
        stories,
        scanner,
        meteor,
        meteor_check,
        meteor_scores,
        meteor_stem,
        pcfg,
    )
}
SLOW = {"threads": threads}  # only when asked for


def prepare() -> None:
    """What rounds share."""
    global MADE
    if not SECTIONS:
        SECTIONS.update(build_sections())
        MADE = native.Scanner(
            SOUND.classes, SOUND.members, SOUND.follow, SOUND.accept, SOUND.first, DONE, " \n"
        ).tables()


def play(name: str, seed: int) -> str | None:
    """One round: what went wrong, or None."""
    try:
        with np.errstate(all="ignore"):  # numpy converts what does not fit, and says so
            (ENTRIES | SLOW)[name](Draw(f"{name} {seed}"))
    except ALLOWED:
        return None
    except Exception as error:
        return f"{name}, seed {seed}: {type(error).__name__}: {error}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--seed", "--first", dest="first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--only", choices=sorted(ENTRIES | SLOW))
    options = parser.parse_args()
    if native is None:
        print("no compiled kernels here")
        return 2
    prepare()
    names = [options.only] if options.only else list(ENTRIES)
    begun, done, finds = time.monotonic(), 0, []
    while done < options.rounds and time.monotonic() - begun < options.seconds:
        if find := play(names[done % len(names)], options.first + done // len(names)):
            finds.append(find)
            print(find, flush=True)
        done += 1
    took = f"in {time.monotonic() - begun:.0f} s"
    print(f"{done} rounds over {len(names)} entry points from seed {options.first} {took}: {len(finds)} finds")
    return bool(finds)


if __name__ == "__main__":
    sys.exit(main())
