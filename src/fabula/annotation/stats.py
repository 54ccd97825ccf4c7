"""Statistics of a fine-grained benchmark: VERIFIED's Table 1, Figure 4, Table 2 and Figure 5, and its words.

Table 1    mean span, how many captions come from each branch, mean confidence c of each and of all
Figure 4   histogram of c
Table 2    clusters of almost equal captions, coarse and fine (distinct.py)
Figure 5   captions that are clustered under the coarse text (n = 16), as t-SNE sees the coarse and the fine ones
words      captions' lengths, vocabularies, and what the fine caption says beyond the coarse one: nouns, adjectives and
           numbers are static, verbs and adverbs dynamic
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fabula.annotation.candidates import LEAK, WORD
from fabula.annotation.distinct import Embedder, Vectors, embed_unit, find_clusters, project
from fabula.core.errors import InputError
from fabula.data.moments import Id
from fabula.documents.document import open_document
from fabula.documents.fields import JsonDict, Source
from fabula.documents.files import read_objects

MARK = "fabula-benchmark.json"  # says that a folder was written by `fabula annotate export`
BIN = 0.25  # of the histogram
PLOTTED = 3000  # points of a picture
LEAST = 16  # captions of a cluster that is drawn
FEWEST = 5  # occurrences of a new word that is listed
STATIC, DYNAMIC = ("NN", "JJ", "CD"), ("VB", "RB")
HINT = 'a line is {"desc_id", "video", "duration", "time", "cog_desc", "fig_desc", "fig_desc_score"}'


class Row(NamedTuple):
    """A line of a released file."""

    id: Id
    video: str
    start: float
    end: float
    duration: float | None
    coarse: str
    fine: str
    score: float | None
    branch: str | None = None


def read_fig(path: str | Path) -> Iterator[Row]:
    """The lines of a released file, streamed."""
    source = Source(open_document(path), noun="moment")
    for number, entry in source.document.numbered():
        at = f"line {number}"
        entry = source.mapping(entry, at, hint=HINT)
        id = source.identity(source.entry(entry, "desc_id", None, at), f"{at} desc_id")
        span = source.segment(source.entry(entry, "time", id, at), "time", id)
        score = entry.get("fig_desc_score")
        length = entry.get("duration")
        branch = entry.get("branch")
        yield Row(
            id,
            source.text(source.entry(entry, "video", id, at), "video", id),
            span.start,
            span.end,
            None if length is None else source.duration(length, id),
            source.caption(source.entry(entry, "cog_desc", id, at), "cog_desc", id),
            source.caption(source.entry(entry, "fig_desc", id, at), "fig_desc", id),
            None if score is None else source.number(score, "fig_desc_score", id),
            None if branch is None else source.text(branch, "branch", id),
        )


def mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def describe(rows: Sequence[Row]) -> JsonDict:
    """A line of Table 1, and what else is counted."""
    branches = sorted({row.branch for row in rows if row.branch})
    words = {side: [len(getattr(row, side).split()) for row in rows] for side in ("coarse", "fine")}
    return {
        "captions": len(rows),
        "videos": len({row.video for row in rows}),
        "span": mean([row.end - row.start for row in rows]),
        "confidence": mean([row.score for row in rows if row.score is not None]),
        "branches": {
            b: {
                "captions": sum(row.branch == b for row in rows),
                "confidence": mean([row.score for row in rows if row.branch == b and row.score is not None]),
            }
            for b in branches
        },
        "words": {side: mean(counts) for side, counts in words.items()},
        "vocabulary": {side: len(count_words(getattr(row, side) for row in rows)) for side in ("coarse", "fine")},
        "beyond the video": sum(row.duration is not None and row.end > row.duration for row in rows),
        "tells a time": sum(bool(LEAK.search(row.fine)) for row in rows),
        "exact": {side: exact([getattr(row, side) for row in rows]) for side in ("coarse", "fine")},
        "exact, case and full stop aside": {
            side: exact([getattr(row, side).lower().strip().rstrip(".") for row in rows]) for side in ("coarse", "fine")
        },
    }


def count_words(texts: Iterator[str]) -> Counter[str]:
    return Counter(word for text in texts for word in WORD.findall(text.lower()))


def exact(texts: Sequence[str]) -> dict[str, int]:
    """Strings that stand more than once: classes and instances."""
    counts = [n for n in Counter(texts).values() if n > 1]
    return {"classes": len(counts), "instances": sum(counts), "unique": len(set(texts))}


def histogram(scores: Sequence[float], width: float = BIN) -> list[tuple[float, int]]:
    """(left edge, count) of each bin between the lowest and the highest."""
    counts = Counter(math.floor(score / width) for score in scores)
    return [(k * width, counts[k]) for k in range(min(counts), max(counts) + 1)] if counts else []


def distinctiveness(rows: Sequence[Row], embed: Embedder, eps: float, least: int) -> JsonDict:
    """Table 2."""
    out: JsonDict = {"eps": eps, "least": least}
    for side in ("coarse", "fine"):
        found = find_clusters([getattr(row, side) for row in rows], embed, eps, least)
        out[side] = {"classes": found.classes, "instances": found.instances, "unique": found.unique}
    return out


def picture(rows: Sequence[Row], embed: Embedder, eps: float, least: int = LEAST) -> JsonDict:
    """Figure 5: where t-SNE puts the captions that are clustered under the coarse text, and their clusters."""
    found = find_clusters([row.coarse for row in rows], embed, eps, least)
    chosen = np.flatnonzero(found.labels >= 0)
    if len(chosen) > PLOTTED:
        chosen = chosen[np.linspace(0, len(chosen) - 1, PLOTTED).round().astype(int)]
    sides = {}
    for side in ("coarse", "fine"):
        e = embed_unit([getattr(rows[i], side) for i in chosen.tolist()], embed)
        sides[side] = project(spread(e)).round(2).tolist()
    return {"clusters": found.classes, "points": len(chosen), "labels": found.labels[chosen].tolist(), **sides}


def spread(e: Vectors) -> Vectors:
    """Equal points a hair apart: t-SNE's neighbourhoods need some width."""
    return e + np.random.default_rng(0).normal(0, 1e-4, e.shape).astype(np.float32)


def new_words(rows: Sequence[Row], sample: int) -> JsonDict:
    """What fine captions say beyond their coarse ones, by part of speech; of so many, evenly chosen."""
    from fabula.text.spice.parse import parse_all

    sampled = [rows[i] for i in np.linspace(0, len(rows) - 1, min(sample, len(rows))).round().astype(int).tolist()]
    texts = [text for row in sampled for text in (row.coarse, row.fine)]
    parsed = [[token for sentence in sentences for token in sentence.tokens] for sentences in parse_all(texts)]
    kinds: dict[str, Counter[str]] = {"static": Counter(), "dynamic": Counter()}
    for coarse, fine in zip(parsed[::2], parsed[1::2], strict=True):
        before = {token.lemma.lower() for token in coarse}
        for token in fine:
            word = token.lemma.lower()
            if word in before or not WORD.fullmatch(word) or word in ("be", "have", "do"):
                continue
            if token.tag.startswith(STATIC):
                kinds["static"][word] += 1
            elif token.tag.startswith(DYNAMIC):
                kinds["dynamic"][word] += 1
    return {
        "captions": len(sampled),
        **{
            kind: {
                "per caption": sum(found.values()) / max(1, len(sampled)),
                "most": [[word, n] for word, n in found.most_common(30) if n >= FEWEST],
            }
            for kind, found in kinds.items()
        },
    }


def read_rows(paths: Sequence[Path]) -> dict[str, list[Row]]:
    """The rows of each file."""
    out = {}
    for path in paths:
        chosen = branches_beside(path)
        rows = [row._replace(branch=row.branch or chosen.get(row.id)) for row in read_fig(path)]
        if not rows:
            raise InputError("the file is empty", file=path, hint=HINT)
        out[path.name] = rows
    return out


def branches_beside(path: Path) -> dict[Id, str]:
    """Where a file lies in a benchmark of ours: the branch of each caption, by id."""
    whence = path.parent / "provenance.jsonl"
    return dict(read_branches(whence)) if (path.parent / MARK).is_file() and whence.is_file() else {}


def read_branches(path: Path) -> Iterator[tuple[Id, str]]:
    """Of every moment of an export's provenance, the branch that its caption is from."""
    source = Source(open_document(path), noun="moment")
    for number, entry in read_objects(path):
        at = f"line {number}"
        entry = source.mapping(entry, at)
        id = source.identity(source.entry(entry, "desc_id", None, at), f"{at} desc_id")
        chosen = source.mapping(source.entry(entry, "chosen", id, at), f"{at} chosen", id)
        yield id, source.text(source.entry(chosen, "branch", id, at), f"{at} branch", id)


def load_embedder(name: str) -> Callable[[], Embedder]:
    """A sentence embedder of media/sentences.py: hashing, wordllama, minilm."""
    from fabula.core.errors import SpecError
    from fabula.media.sentences import EMBEDDERS

    if name not in EMBEDDERS:
        raise SpecError(f"no embedder is called {name!r}; there are: {', '.join(EMBEDDERS)}")
    return EMBEDDERS[name]


def remember(embed: Embedder) -> Embedder:
    """The same embedder, asked once for each text."""
    known: dict[str, Vectors] = {}

    def embed_new(texts: Sequence[str]) -> Vectors:
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        if fresh:
            known.update(zip(fresh, embed(fresh), strict=True))
        return np.stack([known[text] for text in texts])

    return embed_new
