from collections.abc import Callable, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

def lcs(A: list[list[int]], B: list[list[int]]) -> NDArray[np.int64]: ...
def bleu(stats: NDArray[np.int64]) -> NDArray[np.float64]: ...

class Sentences:
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def add(self, texts: list[str]) -> None: ...
    def bleu(
        self, candidates: NDArray[np.int64], references: NDArray[np.int64], starts: NDArray[np.int64], threads: int
    ) -> NDArray[np.int64]: ...
    def cider(
        self,
        candidates: NDArray[np.int64],
        references: NDArray[np.int64],
        starts: NDArray[np.int64],
        groups: NDArray[np.int64],
        threads: int,
    ) -> NDArray[np.float64]: ...
    def cider_given(
        self,
        candidates: NDArray[np.int64],
        references: NDArray[np.int64],
        starts: NDArray[np.int64],
        weights: NDArray[np.float64],
        threads: int,
    ) -> NDArray[np.float64]: ...
    @staticmethod
    def weights(df: NDArray[np.int64], documents: int) -> NDArray[np.float64]: ...
    def frequencies(self, references: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def grams_known(self) -> int: ...
    def grams(self, start: int = 0) -> list[str]: ...
    def lcs(self, candidates: NDArray[np.int64], references: NDArray[np.int64], threads: int) -> NDArray[np.int64]: ...

def ordered(C: NDArray[np.float64]) -> tuple[float, list[tuple[int, int]]]: ...
def ordered_many(
    C: NDArray[np.float64], shapes: NDArray[np.int64], values: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> None: ...
def assignment_many(
    C: NDArray[np.float64], shapes: NDArray[np.int64], values: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> None: ...
def count_draws(drawn: NDArray[np.int64], weights: NDArray[np.float64]) -> None: ...
def marked_many(C: NDArray[np.float64], shapes: NDArray[np.int64], chosen: NDArray[np.bool_]) -> None: ...
def lift(text: bytes, key: str, first: int) -> tuple[bytes, NDArray[np.float64], NDArray[np.int64]]: ...
def records(
    text: bytes | bytearray,
    at: int,
    end: int,
    lines: bool,
    fields: Sequence[tuple[str, str]],
    others: bool,
    loads: Callable[[bytes], str],
) -> tuple[int, bool, int, int, list[object]]: ...
def extent(text: bytes | bytearray, at: int, end: int) -> int: ...
def window_precision(
    iou: NDArray[np.float64], given: NDArray[np.bool_], there: NDArray[np.bool_], taus: Sequence[float]
) -> NDArray[np.float64]: ...
def clip_precision(
    marks: NDArray[np.float64],
    scores: NDArray[np.float64],
    counts: NDArray[np.int64],
    levels: Sequence[float],
    of_scores: bool,
) -> NDArray[np.float64]: ...
def stories(text: bytes, at: int, kind: str) -> tuple[object, ...] | None: ...
def first_right(
    counts: NDArray[np.int64],
    spans: NDArray[np.float64],
    videos: NDArray[np.int64],
    own: NDArray[np.int64],
    windows: NDArray[np.float64],
    held: NDArray[np.int64],
    taus: Sequence[float],
    above: bool,
    single: bool,
    agree: int,
    agree_from: int,
    top: int | None,
    own_only: bool,
) -> NDArray[np.float64]: ...
def oddities(
    counts: NDArray[np.int64], spans: NDArray[np.float64], scores: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
def translated(
    numbers: NDArray[np.float64], theirs: NDArray[np.int64], ours: NDArray[np.int64]
) -> NDArray[np.int64] | None: ...
def ordered_batch(
    cost: NDArray[np.floating],
    n: NDArray[np.int64],
    m: NDArray[np.int64],
    queries: NDArray[np.int64],
    targets: NDArray[np.int64],
    counts: NDArray[np.int64],
    threads: int,
) -> None: ...
def soft_ordered(
    cost: NDArray[np.floating],
    n: NDArray[np.int64],
    m: NDArray[np.int64],
    gamma: float,
    form: str,
    value: NDArray[np.float64],
    E: NDArray[np.floating],
    threads: int,
) -> None: ...

_Rules = list[tuple[int, int, int, str, str | None, str, list[tuple[str, str]]]]

class Scanner:
    @overload
    def __init__(
        self,
        classes: bytes,
        members: list[bytes],
        follow: list[list[int]],
        accept: list[int],
        first: list[int],
        rules: _Rules,
        blanks: str,
    ) -> None: ...
    @overload
    def __init__(
        self, classes: bytes, next: NDArray[np.int32], accepts: NDArray[np.int32], rules: _Rules, blanks: str
    ) -> None: ...
    def tables(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
    def kept(self, texts: list[str], dropped: list[str], threads: int) -> list[str | None]: ...
    def lines(self, texts: list[str]) -> list[str]: ...

class Meteor:
    def __init__(self, sections: dict[str, NDArray[np.generic]], normalise: Callable[[str], str]) -> None: ...
    def pairs_many(
        self,
        blocks: Sequence[tuple[Sequence[str], Sequence[str]]],
        threads: int,
        wanted: NDArray[np.bool_] | None = None,
        lenient: bool = False,
    ) -> NDArray[np.float64]: ...
    def segments(
        self, candidates: Sequence[str], references: Sequence[Sequence[str]], threads: int, lenient: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
    def pairs_at(
        self, texts: Sequence[str], candidates: NDArray[np.int64], references: NDArray[np.int64], threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
    def align(
        self, candidates: Sequence[str], references: Sequence[str], threads: int
    ) -> list[tuple[list[str], list[str], list[tuple[int, int, int, int, int]]]]: ...
    def normalise(self, text: str) -> str: ...
    def aligned(self) -> int: ...
    def forget(self) -> None: ...

def meteor_scores(stats: NDArray[np.float64]) -> NDArray[np.float64]: ...
def meteor_check(sections: dict[str, NDArray[np.generic]]) -> None: ...
def meteor_stem(word: str) -> str: ...

class Pcfg:
    def __init__(
        self,
        binary: NDArray[np.int32],
        binary_scores: NDArray[np.float32],
        unary: NDArray[np.int32],
        unary_scores: NDArray[np.float32],
        kind: NDArray[np.uint8],
        category: NDArray[np.int32],
        limits: NDArray[np.float32],
        goal: int,
        follows: NDArray[np.float32] | None = None,
        tag_limit: float = 0.0,
    ) -> None: ...
    def trees(
        self,
        first: NDArray[np.int64],
        words: NDArray[np.int32],
        at: NDArray[np.int64],
        tags: NDArray[np.int32],
        scores: NDArray[np.float32],
        threads: int,
        whole: bool = False,
        allowed: NDArray[np.uint64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]: ...

def best_places(
    values: NDArray[np.float32], best: NDArray[np.float32], places: NDArray[np.int64], threads: int
) -> None: ...
def best_of_stretches(
    values: NDArray[np.float32], counts: NDArray[np.int64], best: NDArray[np.float32], nothing: float, threads: int
) -> None: ...
def compare_clips(
    queries: NDArray[np.float32],
    clips: NDArray[np.float32],
    rows: NDArray[np.int64],
    extents: NDArray[np.int64],
    out: NDArray[np.float32],
    threads: int,
) -> None: ...
def best_spans(
    starts: NDArray[np.float32],
    ends: NDArray[np.float32],
    weights: NDArray[np.float32],
    shortest: int,
    longest: int,
    rows: NDArray[np.int64],
    firsts: NDArray[np.int64],
    lasts: NDArray[np.int64],
    scores: NDArray[np.float32],
    threads: int,
) -> None: ...
def suppress_spans(
    spans: NDArray[np.float64], videos: NDArray[np.int64], threshold: float, stays: NDArray[np.bool_], threads: int
) -> None: ...
def encode_rows(
    rows: NDArray[np.float32],
    mean: NDArray[np.float32],
    codes: NDArray[np.int8],
    scales: NDArray[np.float32],
    errors: NDArray[np.float32],
    threads: int,
) -> int: ...
def nearest_rows(
    codes: NDArray[np.int8],
    scales: NDArray[np.float32],
    errors: NDArray[np.float32],
    rows: NDArray[np.float32],
    query: NDArray[np.float32],
    k: int,
    allowed: NDArray[np.bool_] | None,
    threads: int,
    path: str = "",
) -> tuple[NDArray[np.int64], NDArray[np.float64], int]: ...
def code_products(codes: NDArray[np.int8], query: NDArray[np.int16], path: str) -> NDArray[np.int32]: ...
def code_paths() -> list[str]: ...
