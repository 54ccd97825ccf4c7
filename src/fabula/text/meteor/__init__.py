"""METEOR 1.5, English, normalised (Denkowski & Lavie 2014): digit for digit what pycocoevalcap's jar prints.

With h, r the candidate and a reference, m_i the words matched by module i, split into content (c) and function
words (f):

    P = Σ_i w_i (δ·m_i(h_c) + (1−δ)·m_i(h_f)) / (δ·|h_c| + (1−δ)·|h_f|)         R likewise over the reference
    F = P·R / (α·P + (1−α)·R)          Pen = γ·(chunks / matches)^β          score = (1 − Pen)·F

α, β, γ, δ = 0.85, 0.2, 0.6, 0.75; w = 1, 0.6, 0.8, 0.6 for exact, stem, synonym and paraphrase matches. Of
several references the one with the best score counts. A corpus is scored on the sums of the statistics of its
segments, which is not the mean of their scores.
"""

from __future__ import annotations

import atexit
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula import _kernels
from fabula._kernels import native
from fabula.core.errors import InputError, shown
from fabula.text import memories
from fabula.text.meteor.index import Index, open_index
from fabula.text.placed import Pairs

if TYPE_CHECKING:
    from fabula._kernels import _native
    from fabula.text._scorer import Block, Wanted
    from fabula.text.meteor.align import Match, Sentence

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
WEIGHTS = (1.0, 0.6, 0.8, 0.6)  # exact, stem, synonym, paraphrase
CACHED_SENTENCES = 16384

# Texts so long, or with words that repeat so often, that the search would not end.
# refuse: an error that says which pair it is · zero: a pair without a match
Crowded = Literal["refuse", "zero"]
Statistics = tuple[float, ...]  # 23, in the jar's order: see `statistics`


class Segment(NamedTuple):
    """One candidate's statistics against its best reference, and its score."""

    stats: Statistics
    score: float
    crowded: int = 0  # references that could not be aligned with it (see Crowded), and count as unmatched


class Table(NamedTuple):
    """Segments of many candidates, column by column."""

    stats: NDArray[np.float64]  # [K, 23]
    scores: NDArray[np.float64]  # [K]
    crowded: NDArray[np.float64] | NDArray[np.int64]  # [K]; of the kernel, of its twin


class Alignment(NamedTuple):
    """The words of both sides as METEOR reads them, and which stand for which."""

    candidate: list[str]
    reference: list[str]
    matches: list[Match]


def align_words(candidate: str, reference: str) -> Alignment:
    """What the score of a pair is made of, for a picture."""
    return align_all([candidate], [reference])[0]


def align_all(candidates: Sequence[str], references: Sequence[str]) -> list[Alignment]:
    """`align_words` of many pairs; a crowded one has no matches."""
    from fabula.text.meteor.align import Match, align_pair

    index, found = _find_index(), list[Alignment]()
    if engine := _engine(index):
        aligned = engine.align(candidates, references, _kernels.threads())
        return [Alignment(c, r, [Match(*match) for match in matches]) for c, r, matches in aligned]
    for candidate, reference in zip(candidates, references, strict=True):
        hyp, ref = _read_sentence(candidate, index), _read_sentence(reference, index)
        try:
            matches = align_pair(hyp, ref)
        except InputError:  # crowded: counted as unmatched
            matches = []
        found.append(Alignment(hyp.words, ref.words, matches))
    return found


def score(candidate: str, references: Sequence[str]) -> Segment:
    """METEOR of one candidate; of several references the first with the greatest score counts."""
    return segments([candidate], [references])[0]


def segments(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    threads: int | None = None,
    crowded: Crowded = "refuse",
) -> list[Segment]:
    """One segment per candidate, each with its own list of references."""
    found = (array.tolist() for array in table(candidates, references, threads=threads, crowded=crowded))
    return [Segment(tuple(row), value, int(n)) for row, value, n in zip(*found, strict=True)]


def table(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    threads: int | None = None,
    crowded: Crowded = "refuse",
) -> Table:
    """`segments` as arrays."""
    if len(candidates) != len(references):
        raise InputError(f"{len(candidates)} candidates, but {len(references)} lists of references")
    for k, texts in enumerate(references) if not all(references) or str in map(type, references) else ():
        if not texts or isinstance(texts, str):
            raise InputError(f"references of item {k}: expected a list of at least one text, saw {shown(texts)}")
    index = _find_index()
    if engine := _engine(index):
        with _as_input_error(lambda: _check_segments(candidates, references)):
            return Table(*engine.segments(candidates, references, threads or _kernels.threads(), crowded == "zero"))
    _check_segments(candidates, references)
    items = list(zip(candidates, references, strict=True))
    known = _all_statistics(((c, r) for c, several in items for r in several), index)
    segments = [_best_segment(f"item {k}", *item, known, crowded) for k, item in enumerate(items)]
    stats = np.array([s.stats for s in segments], np.float64).reshape(-1, 23)
    return Table(stats, np.array([s.score for s in segments]), np.array([s.crowded for s in segments], np.int64))


def score_pairs(pairs: Pairs, *, threads: int | None = None) -> Table:
    """The table of items with one reference each, by the places of their sentences; crowded ones count as unmatched."""
    if engine := _engine(_find_index()):
        return Table(*engine.pairs_at(pairs.texts, pairs.candidates, pairs.references, threads or _kernels.threads()))
    return table(*pairs.items(), crowded="zero")


def aggregate(rows: Iterable[Segment]) -> float:
    """The corpus score: the score of the summed statistics; a perfect segment adds no chunk."""
    total = [0.0] * 23
    for segment in rows:
        perfect = is_perfect(segment.stats)
        for k, value in enumerate(segment.stats):
            total[k] += 0.0 if k == 20 and perfect else value
    return score_of(tuple(total))


def pairs(candidates: Sequence[str], references: Sequence[str], *, threads: int | None = None) -> NDArray[np.float64]:
    """[C, R] scores of every candidate against every single reference."""
    return pairs_many([(candidates, references)], threads=threads)[0]


def pairs_many(
    blocks: Sequence[Block],
    wanted: Wanted | None = None,
    *,
    threads: int | None = None,
    lenient: bool = False,
) -> list[NDArray[np.float64]]:
    """`pairs` of many videos in one call; where flags are given, row by row and end to end, 0 for a pair without.

    A crowded pair is an error, or NaN if `lenient`.
    """
    index = _find_index()
    if engine := _engine(index):
        with _as_input_error(lambda: _check_blocks(blocks)):
            flat = engine.pairs_many(blocks, threads or _kernels.threads(), wanted, lenient)
    else:
        _check_blocks(blocks)
        flat = _score_pairs(blocks, wanted, index, lenient)
    shapes = [(len(candidates), len(references)) for candidates, references in blocks]
    ends = accumulate(C * R for C, R in shapes)
    return [flat[end - C * R : end].reshape(C, R) for end, (C, R) in zip(ends, shapes, strict=True)]


# --- the readable twin of the compiled kernel ------------------------------------------------------------------------


def _best_segment(place: str, candidate: str, references: Sequence[str], known: Known, crowded: Crowded) -> Segment:
    best, beyond = Segment((), -1.0), 0
    for r, reference in enumerate(references):
        stats, error = known[candidate, reference]
        if error is not None:
            if crowded == "refuse":
                raise InputError(f"{place}: candidate 0, reference {r}: {error}")
            beyond += 1
        if (value := score_of(stats)) > best.score:
            best = Segment(stats, value)
    return best._replace(crowded=beyond)


def _score_pairs(blocks: Sequence[Block], wanted: Wanted | None, index: Index, lenient: bool) -> NDArray[np.float64]:
    places = [
        (f"block {b}: candidate {h}, reference {r}", candidate, reference)
        for b, (candidates, references) in enumerate(blocks)
        for h, candidate in enumerate(candidates)
        for r, reference in enumerate(references)
    ]
    if wanted is not None and wanted.size != len(places):
        more, fewer = ("pairs", "flags") if wanted.size < len(places) else ("flags", "pairs")
        raise InputError(f"there are more {more} than {fewer}")
    scores = np.zeros(len(places))
    chosen = range(len(places)) if wanted is None else np.flatnonzero(wanted).tolist()
    known = _all_statistics((places[k][1:] for k in chosen), index)
    for k in chosen:
        place, candidate, reference = places[k]
        stats, error = known[candidate, reference]
        if error is not None and not lenient:
            raise InputError(f"{place}: {error}")
        scores[k] = np.nan if error is not None else score_of(stats)
    return scores


Known = dict[tuple[str, str], tuple[Statistics, InputError | None]]  # candidate, reference → those of the pair


def _all_statistics(pairs: Iterable[tuple[str, str]], index: Index) -> Known:
    """The statistics of each distinct pair; of one that is too long or too repetitive those of no match, and why."""
    from fabula.text.meteor.search import PAIRS, align_many

    distinct, known = list(dict.fromkeys(pairs)), Known()
    for start in range(0, len(distinct), PAIRS):
        part = distinct[start : start + PAIRS]
        read = [(_read_sentence(c, index), _read_sentence(r, index)) for c, r in part]
        for pair, sides, found in zip(part, read, align_many(read), strict=True):
            error = found if isinstance(found, InputError) else None
            known[pair] = tell_statistics(*sides, [] if isinstance(found, InputError) else found), error
    return known


def statistics(hyp: Sentence, ref: Sentence) -> Statistics:
    """The jar's 23 numbers: words, function words, matched content and function words per module, chunks, matches."""
    from fabula.text.meteor.align import align_pair

    return tell_statistics(hyp, ref, align_pair(hyp, ref))


def tell_statistics(hyp: Sentence, ref: Sentence, matches: Sequence[Match]) -> Statistics:
    """The same of matches that were found before."""
    matched = [0] * 16  # 4 modules × (hyp content, ref content, hyp function, ref function)
    chunks, hyp_end, ref_end = 0, -1, -1
    hyp_words = ref_words = 0
    for match in matches:
        base = 4 * match.module
        for j in range(match.hyp, match.hyp + match.hyp_words):
            matched[base + 2 * hyp.is_function[j]] += 1
        for i in range(match.ref, match.ref + match.ref_words):
            matched[base + 1 + 2 * ref.is_function[i]] += 1
        hyp_words += match.hyp_words
        ref_words += match.ref_words
        chunks += match.ref != ref_end or match.hyp != hyp_end
        hyp_end, ref_end = match.hyp + match.hyp_words, match.ref + match.ref_words
    lengths = (len(hyp), len(ref), hyp.functions, ref.functions)
    return tuple(map(float, (*lengths, *matched, chunks, hyp_words, ref_words)))


def score_of(stats: Statistics) -> float:
    """The score of one segment's statistics, or of a corpus's sums; divisions by zero follow IEEE 754 as in Java."""
    hyp_len, ref_len, hyp_function, ref_function = stats[:4]
    chunks, hyp_words, ref_words = stats[20:]
    m_h = m_r = 0.0
    for i, w in enumerate(WEIGHTS):
        m_h += stats[4 + 4 * i] * w * DELTA
        m_r += stats[5 + 4 * i] * w * DELTA
    for i, w in enumerate(WEIGHTS):
        m_h += stats[6 + 4 * i] * w * (1.0 - DELTA)
        m_r += stats[7 + 4 * i] * w * (1.0 - DELTA)
    P = _divide(m_h, DELTA * (hyp_len - hyp_function) + (1.0 - DELTA) * hyp_function)
    R = _divide(m_r, DELTA * (ref_len - ref_function) + (1.0 - DELTA) * ref_function)
    F = _divide(1.0, _divide(1.0 - ALPHA, P) + _divide(ALPHA, R))
    fragmentation = 0.0 if is_perfect(stats) else _divide(chunks, (hyp_words + ref_words) / 2.0)
    value = F * (1.0 - GAMMA * fragmentation**BETA)
    return 0.0 if math.isnan(value) else max(0.0, value)


def scores_of(stats: NDArray[np.float64]) -> NDArray[np.float64]:
    """`score_of` of each row. [K, 23] → [K]"""
    if module := native():
        found: NDArray[np.float64] = module.meteor_scores(np.ascontiguousarray(stats, np.float64))
        return found
    return np.array([score_of(tuple(row)) for row in stats.tolist()], np.float64)


def without_perfect_chunks(stats: NDArray[np.float64]) -> NDArray[np.float64]:
    """Statistics as `aggregate` sums them: a perfect segment adds no chunk. [K, 23]"""
    perfect = (stats[:, 21] == stats[:, 0]) & (stats[:, 22] == stats[:, 1]) & (stats[:, 20] == 1.0)
    summed = stats.copy()
    summed[perfect, 20] = 0.0
    return summed


def is_perfect(stats: Statistics) -> bool:
    """All words of both sides matched, in one chunk."""
    return stats[21] == stats[0] and stats[22] == stats[1] and stats[20] == 1.0


def as_pycocoevalcap(candidate: str, references: Sequence[str]) -> tuple[str, list[str]]:
    """What pycocoevalcap's line protocol makes of a pair: `|||` leaves the candidate, and splits a reference in two.

    Not done by default: `score` takes texts as they are, and a `|||` in a reference does not make it two.
    """
    cleaned = candidate.replace("|||", "").replace("  ", " ")
    return cleaned, [part for reference in references for part in reference.split("|||")]


def _divide(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _check_text(value: object, place: str) -> None:
    if not isinstance(value, str):
        raise InputError(f"{place}: expected a text, saw {shown(value)}")


def _check_texts(values: object, place: str, what: str) -> None:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{place}: expected a list of {what}s, saw {shown(values)}")
    for k, value in enumerate(values):
        _check_text(value, f"{place}: {what} {k}")


def _check_segments(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    for k, (candidate, texts) in enumerate(zip(candidates, references, strict=True)):
        _check_text(candidate, f"item {k}: candidate")
        _check_texts(texts, f"item {k}", "reference")


def _check_blocks(blocks: Sequence[tuple[Sequence[str], Sequence[str]]]) -> None:
    for b, block in enumerate(blocks):
        if isinstance(block, str) or not isinstance(block, Sequence) or len(block) != 2:
            raise InputError(f"block {b}: expected (candidates, references), saw {shown(block)}")
        _check_texts(block[0], f"block {b}", "candidate")
        _check_texts(block[1], f"block {b}", "reference")


@contextmanager
def _as_input_error(check: Callable[[], None]) -> Iterator[None]:
    """The kernel stops at a value that is no text without saying where, and says where a text is too long."""
    try:
        yield
    except TypeError:
        check()
        raise
    except ValueError as error:
        raise InputError(str(error)) from None


@lru_cache(CACHED_SENTENCES)
def _read_sentence(text: str, index: Index) -> Sentence:
    from fabula.text.meteor.align import Sentence
    from fabula.text.meteor.norm import normalise

    return Sentence(normalise(text, *index.prefix_words), index)


_engines: deque[_native.Meteor] = deque(maxlen=4)


@lru_cache(4)
def _compiled(index: Index) -> _native.Meteor:
    module = native()
    assert module is not None

    def normalise_slowly(text: str) -> str:
        from fabula.text.meteor.norm import normalise

        return normalise(text, *index.prefix_words)

    _engines.append(module.Meteor(index.sections, normalise_slowly))
    return _engines[-1]


@atexit.register
def _let_go() -> None:
    """Before the interpreter takes the kernel's module apart."""
    _engines.clear()
    _compiled.cache_clear()


def _forget() -> None:
    _read_sentence.cache_clear()
    if align := sys.modules.get("fabula.text.meteor.align"):  # the twin's words, where it served
        align.forget_words()
    for engine in tuple(_engines):
        engine.forget()


memories.append(_forget)


_indices: dict[str | None, Index] = {}  # by $FABULA_CACHE


def _find_index() -> Index:
    """The index of this install, opened once: it is asked for with every block of captions."""
    where = os.environ.get("FABULA_CACHE")
    if where not in _indices:
        _indices[where] = open_index()
    return _indices[where]


def _engine(index: Index) -> _native.Meteor | None:
    """The compiled kernel over this index, or None where the twin serves."""
    return _compiled(index) if native() else None


class Meteor:
    """METEOR as SODA's caption scorer: the score of each segment on its own."""

    name = "meteor"
    version = "1.5-en-norm"
    alone = True

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        return pairs(candidates, references)

    def pairs_many(self, blocks: Sequence[Block], wanted: Wanted | None = None) -> list[NDArray[np.float64]]:
        return pairs_many(blocks, wanted, lenient=True)

    def score_places(self, pairs: Pairs) -> NDArray[np.float64]:
        found = score_pairs(pairs)
        return np.where(found.crowded > 0, np.nan, found.scores)

    def within(self, references: Sequence[str]) -> Meteor:
        return self


SCORER = Meteor()
