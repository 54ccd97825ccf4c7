"""METEOR 1.5, English, normalised (Denkowski & Lavie 2014), without Java; digit for digit what the jar of pycocoevalcap prints.

With h, r the candidate and a reference, m_i the words matched by module i, split into content (c) and function words (f):

    P = Σ_i w_i (δ·m_i(h_c) + (1−δ)·m_i(h_f)) / (δ·|h_c| + (1−δ)·|h_f|)         R likewise over the reference
    F = P·R / (α·P + (1−α)·R)          Pen = γ·(chunks / matches)^β          score = (1 − Pen)·F

α, β, γ, δ = 0.85, 0.2, 0.6, 0.75; w = 1, 0.6, 0.8, 0.6 for exact, stem, synonym and paraphrase matches. Of several references the one with
the best score counts. A corpus is scored on the sums of the statistics of its segments, which is not the mean of their scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, shown
from fabula.text.meteor_align import Sentence, align
from fabula.text.meteor_index import Index, open_index
from fabula.text.meteor_norm import normalise

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
WEIGHTS = (1.0, 0.6, 0.8, 0.6)  # exact, stem, synonym, paraphrase
CACHED_SENTENCES = 16384

Statistics = tuple[float, ...]  # 23, in the jar's order: see `statistics`


class Segment(NamedTuple):
    """One candidate's statistics against its best reference, and its score."""

    stats: Statistics
    score: float


def score(candidate: str, references: Sequence[str]) -> Segment:
    """METEOR of one candidate; of several references the first with the greatest score counts."""
    return segments([candidate], [references])[0]


def segments(
    candidates: Sequence[str], references: Sequence[Sequence[str]], *, threads: int | None = None
) -> list[Segment]:
    """One segment per candidate, each with its own list of references."""
    if len(candidates) != len(references):
        raise InputError(f"{len(candidates)} candidates, but {len(references)} lists of references")
    for k, texts in enumerate(references):
        if not texts or isinstance(texts, str):
            raise InputError(f"references of item {k}: expected a list of at least one text, saw {shown(texts)}")
    index = open_index()
    out = []
    for k, (candidate, texts) in enumerate(zip(candidates, references, strict=True)):
        hyp = _sentence(_text(candidate, f"candidate of item {k}"), index)
        best: Segment | None = None
        for n, text in enumerate(texts):
            stats = _pair(hyp, _sentence(_text(text, f"reference {n} of item {k}"), index), f"item {k}")
            segment = Segment(stats, score_of(stats))
            if best is None or segment.score > best.score:
                best = segment
        assert best is not None
        out.append(best)
    return out


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
    blocks: Sequence[tuple[Sequence[str], Sequence[str]]], *, threads: int | None = None
) -> list[NDArray[np.float64]]:
    """`pairs` of many videos in one call."""
    index = open_index()
    out = []
    for b, (candidates, references) in enumerate(blocks):
        hyps = [_sentence(_text(text, f"block {b}: candidate {k}"), index) for k, text in enumerate(candidates)]
        refs = [_sentence(_text(text, f"block {b}: reference {k}"), index) for k, text in enumerate(references)]
        scores = np.zeros((len(hyps), len(refs)))
        for k, hyp in enumerate(hyps):
            for n, ref in enumerate(refs):
                scores[k, n] = score_of(_pair(hyp, ref, f"block {b}: candidate {k}, reference {n}"))
        out.append(scores)
    return out


def statistics(hyp: Sentence, ref: Sentence) -> Statistics:
    """The jar's 23 numbers: words, function words, per module matched content and function words, chunks, matched words."""
    matched = [0] * 16  # 4 modules × (hyp content, ref content, hyp function, ref function)
    chunks, hyp_end, ref_end = 0, -1, -1
    hyp_words = ref_words = 0
    for match in align(hyp, ref):
        base = 4 * match.module
        for j in range(match.hyp, match.hyp + match.hyp_words):
            matched[base + 2 * hyp.is_function[j]] += 1
        for i in range(match.ref, match.ref + match.ref_words):
            matched[base + 1 + 2 * ref.is_function[i]] += 1
        hyp_words += match.hyp_words
        ref_words += match.ref_words
        chunks += match.ref != ref_end or match.hyp != hyp_end
        hyp_end, ref_end = match.hyp + match.hyp_words, match.ref + match.ref_words
    lengths = (len(hyp), len(ref), sum(hyp.is_function), sum(ref.is_function))
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


def is_perfect(stats: Statistics) -> bool:
    """All words of both sides matched, in one chunk."""
    return stats[21] == stats[0] and stats[22] == stats[1] and stats[20] == 1.0


def as_pycocoevalcap(candidate: str, references: Sequence[str]) -> tuple[str, list[str]]:
    """What pycocoevalcap's line protocol makes of a pair: `|||` and double blanks leave the candidate, `|||` splits a reference.

    Not done by default: `score` takes texts as they are, and a `|||` in a reference does not make it two.
    """
    cleaned = candidate.replace("|||", "").replace("  ", " ")
    return cleaned, [part for reference in references for part in reference.split("|||")]


def _divide(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _pair(hyp: Sentence, ref: Sentence, place: str) -> Statistics:
    try:
        return statistics(hyp, ref)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{place}: expected a text, saw {shown(value)}")
    return value


@lru_cache(CACHED_SENTENCES)
def _sentence(text: str, index: Index) -> Sentence:
    return Sentence(normalise(text, *index.prefix_words), index)


class Meteor:
    """METEOR as SODA's caption scorer: the score of each segment on its own."""

    name = "meteor"
    version = "1.5-en-norm"

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        return pairs(candidates, references)


SCORER = Meteor()
