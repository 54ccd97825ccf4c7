"""What the page's script draws: videos or items with their numbers, events and pairs, as plain lists for JSON.

Pairs are ordered and one to one (match/ordered.py). Where the result's metrics read captions by METEOR,
C = IoU × METEOR, so that the lines are the pairs that SODA_c sums; else C = IoU. A pair that overlaps but shares no
word adds nothing to SODA_c; it is kept when it costs no other pair, so that an event told in wrong words is not taken
for a missed one.

The alignment of words is METEOR's own for the first ALIGNED pairs, worst videos first: it is found by the readable twin
of the kernel, a millisecond or two a pair. Of further pairs the script marks equal words, and the page says which.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

from fabula.core.notes import Notes
from fabula.core.nouns import Corpus, Event, Story
from fabula.core.result import Result
from fabula.io.ids import reconcile
from fabula.match.ordered import ordered
from fabula.pair.captions import Captions
from fabula.pair.tiou import tiou
from fabula.report import _graphs

ALIGNED = 1000  # pairs whose words METEOR aligns
BLOCK = 512  # videos scored in one call
LOW = 0.5  # a pair below this IoU is called mislocated
LEADING = ("SODA_c", "SODA_d", "iSPICE", "METEOR")  # what rows are first sorted by: the first of these that is there
FAINT = 1e-6  # what a pair without a common word weighs beside METEOR

Values = Mapping[str | int, float]


def packed(data: object) -> str:
    """JSON, gzip, base64: no character of a user is left that HTML could read as its own. Same data, same text."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode("ascii")


def per_unit(result: Result) -> dict[str, Values]:
    """Every metric that has a number for each video or item."""
    return {
        name: result.rows[name].by_key(score.primary)
        for name, score in result.scores.items()
        if name in result.rows and score.primary in result.rows[name].columns
    }


def metrics(result: Result, values: Mapping[str, Values]) -> list[list[Any]]:
    """Name, the field it shows, and what its numbers are printed times."""
    return [[name, s.primary, s.scale] for name, s in result.scores.items() if name in values]


def numbers(key: str | int, names: Sequence[str], values: Mapping[str, Values]) -> list[float | None]:
    """One row's numbers in the order of the metrics."""
    return [rounded(values[n].get(key)) if n in values else None for n in names]


def rounded(value: float | None) -> float | None:
    return float(f"{value:.5g}") if value is not None and isfinite(value) else None


def file_name(corpus: Corpus | None, otherwise: str) -> str:
    return (Path(corpus.name).stem if corpus is not None else "") or otherwise


def distinct(names: Sequence[str]) -> list[str]:
    """Names that tell their bearers apart: the second `preds` is `preds (2)`."""
    return [n if names.index(n) == k else f"{n} ({names[: k + 1].count(n)})" for k, n in enumerate(names)]


# --- items -----------------------------------------------------------------------------------------------------------


def items(results: Sequence[Result], systems: Sequence[str]) -> dict[str, Any]:
    """[id, numbers per system, candidate per system, references, maybe graphs per system] a row, worst first."""
    first, values = results[0], [per_unit(r) for r in results]
    names = list(values[0])
    said = [{i.id: i.candidate for i in r.items} for r in results]
    rows = [
        [i.id, [numbers(i.id, names, v) for v in values], [c.get(i.id) for c in said], i.references]
        for i in first.items
    ]
    lead = worst_first(rows, names)
    return {
        "kind": "items",
        "systems": systems,
        "metrics": metrics(first, values[0]),
        "lead": lead,
        "graphs": _graphs.of_items(results, rows),
        "rows": rows,
    }


def worst_first(rows: list[list[Any]], names: Sequence[str]) -> int:
    """Sorts by the first system's leading metric, and tells which; what was not scored comes last."""
    lead = next((names.index(name) for name in LEADING if name in names), 0)
    if names:
        rows.sort(key=lambda row: (row[1][0][lead] is None, row[1][0][lead] or 0.0))
    return lead


# --- stories ---------------------------------------------------------------------------------------------------------


def stories(
    results: Sequence[Result], systems: Sequence[str], refs: Sequence[Corpus], preds: Sequence[Corpus]
) -> dict[str, Any]:
    """[id, numbers per system, seconds, events per set, per system (events, pairs per set), maybe graphs] a row; null:
    not there."""
    sets = [refs[0], *(reconcile(ref, refs[0], Notes()) for ref in refs[1:])]
    videos = list(dict.fromkeys(v for ref in sets for v in ref))
    preds = [reconcile(pred, videos, Notes()) for pred in preds]
    values = [per_unit(r) for r in results]
    names = list(values[0])
    captions = Captions("meteor", "prediction-as-hypothesis", "ptb", False) if reads_meteor(results) else None
    rows: list[list[Any]] = []
    for start in range(0, len(videos), BLOCK):
        some = videos[start : start + BLOCK]
        told = {v: [sound(ref[v]) if v in ref else None for ref in sets] for v in some}
        guesses = [{v: sound(pred.get(v, Story(v))) for v in some} for pred in preds]
        paired: list[dict[str, Any]] = []
        for guess in guesses:
            if captions:
                captions.score_all([([r for r in told[v] if r], guess[v]) for v in some])
            paired.append({v: [pairs(ref, guess[v], captions) if ref else [] for ref in told[v]] for v in some})
        for v in some:
            length = max((ref[v].duration or 0.0 for ref in sets if v in ref), default=0.0)
            events = [drawn(ref[v]) if v in ref else None for ref in sets]
            theirs = [[drawn(p[v]), found[v]] if v in p else None for p, found in zip(preds, paired, strict=True)]
            rows.append([v, [numbers(v, names, each) for each in values], length, events, theirs])
    lead = worst_first(rows, names)
    if captions:
        align_words(rows, captions)
    return {
        "kind": "stories",
        "systems": systems,
        "sets": distinct([file_name(ref, f"references {k}") for k, ref in enumerate(sets, 1)]),
        "metrics": metrics(results[0], values[0]),
        "lead": lead,
        "text": "METEOR" if captions else None,
        "low": LOW,
        "graphs": _graphs.of_stories(results, rows),
        "rows": rows,
    }


def reads_meteor(results: Sequence[Result]) -> bool:
    """Its index is then at hand; a page never builds one."""
    return any("meteor" in score.signature.lower() for result in results for score in result.scores.values())


def sound(story: Story) -> Story:
    """The events that are a stretch of time, in order; no words are empty words."""
    events = tuple(e if e.caption else replace(e, caption="") for e in story.events if e.segment.sound)
    return Story(story.id, events, story.duration).in_order()


def drawn(story: Story) -> list[list[Any]]:
    """[start, end, caption] an event, in order; then the malformed ones, whose times are text."""
    good = [[seconds(e.segment.start), seconds(e.segment.end), e.caption] for e in sound(story).events]
    return good + [malformed(e) for e in story.events if not e.segment.sound]


def malformed(event: Event) -> list[Any]:
    return [f"{event.segment.start:g}", f"{event.segment.end:g}", event.caption or ""]


def seconds(value: float) -> float | int:
    short = round(value, 3)
    return int(short) if short == int(short) else short


def pairs(ref: Story, pred: Story, captions: Captions | None) -> list[list[Any]]:
    """[reference, prediction, IoU, caption score or null] a pair."""
    iou = tiou(ref.spans, pred.spans)  # [G, P]
    words = captions.matrix(ref, pred) if captions else None
    C = iou if words is None else iou * (words + FAINT)
    return [
        [i, j, round(float(iou[i, j]), 4), None if words is None else round(float(words[i, j]), 4)]
        for i, j in ordered(C)[1]
    ]


def align_words(rows: Sequence[Sequence[Any]], captions: Captions) -> None:
    """Append to the first pairs: reference words, predicted words, and METEOR's matches between them."""
    from fabula.text.meteor.align import Sentence, align_pair
    from fabula.text.meteor.index import open_index
    from fabula.text.meteor.norm import normalise

    index = open_index()

    def sentence(caption: str) -> Sentence:
        return Sentence(normalise(captions.tokens[caption], *index.prefix_words), index)

    for pair, gold, guess in islice(told_pairs(rows), ALIGNED):
        ref, hyp = sentence(gold), sentence(guess)
        pair += [ref.words, hyp.words, [list(match) for match in align_pair(hyp, ref)]]


def told_pairs(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[list[Any], str, str]]:
    for _, _, _, sets, systems in rows:
        for events, found in filter(None, systems):
            for told, pairs in zip(sets, found, strict=True):
                for pair in pairs:
                    yield pair, told[pair[0]][2], events[pair[1]][2]
