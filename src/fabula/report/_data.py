"""What the page's script draws: videos or items with their numbers, events and pairs, as plain lists for JSON.

Pairs, their overlaps and their caption scores are those of one of the result's metrics (evaluate/pairs.py); the page
says whose. A pair with a malformed event, which only a metric that judges no segment makes, is not drawn.

The alignment of words is METEOR's own for the first ALIGNED pairs, worst videos first, because it takes room on the
page. Of further pairs the script marks equal words, and the page says which.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from math import isfinite
from pathlib import Path

from fabula.data.identity import ClipCaptions
from fabula.data.result import Result
from fabula.data.stories import Corpus, Story
from fabula.evaluate.kept import Filled, Values, values_of
from fabula.evaluate.pairs import Pairs, find_pairs
from fabula.report import _graphs
from fabula.report._events import Cells, list_events, order_events

LEVEL = 6  # of gzip: 9 takes twice as long and makes the page a hundredth smaller
ALIGNED = 1000  # pairs whose words METEOR aligns
LOW = 0.5  # a pair below this IoU is called mislocated
LEADING = (
    "SODA_c",
    "SODA_d",
    "iSPICE",
    "METEOR",
    "MR_mAP",
    "VCMR",
    "SVMR",
)  # what rows are first sorted by: the first of these that is there
LABELS = {"meteor": "METEOR", "cider": "CIDEr", "rouge": "ROUGE_L"}  # of caption scorers

Field = tuple[str, Values]  # which number of a metric, and what it is for each video or item


def pack_data(data: object) -> str:
    """JSON, gzip, base64: no character of a user is left that HTML could read as its own. Same data, same text."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), LEVEL, mtime=0)).decode("ascii")


def read_values(result: Result) -> dict[str, Field]:
    """Every metric that has a number for each video or item."""
    found = {name: values_of(result, name) for name in result.scores}
    return {name: field for name, field in found.items() if field is not None}


def list_metrics(result: Result, values: Mapping[str, Field]) -> list[Cells]:
    """Name, the field it shows, and what its numbers are printed times."""
    return [[name, values[name][0], s.scale] for name, s in result.scores.items() if name in values]


def list_numbers(key: str | int, names: Sequence[str], values: Mapping[str, Field]) -> list[float | None]:
    """One row's numbers in the order of the metrics."""
    return [round_number(values[n][1].get(key)) if n in values else None for n in names]


def round_number(value: float | None) -> float | None:
    return float(f"{value:.5g}") if value is not None and isfinite(value) else None


def name_corpus(corpus: Corpus | None, otherwise: str) -> str:
    """Its file's name."""
    return (Path(corpus.name).stem if corpus is not None else "") or otherwise


def tell_apart(names: Sequence[str]) -> list[str]:
    """Names that tell their bearers apart: the second `preds` is `preds (2)`."""
    return [n if names.index(n) == k else f"{n} ({names[: k + 1].count(n)})" for k, n in enumerate(names)]


# --- items -----------------------------------------------------------------------------------------------------------


def list_items(results: Sequence[Result], systems: Sequence[str]) -> dict[str, object]:
    """[id, numbers per system, candidate per system, references, maybe graphs per system, maybe blanks per system,
    maybe clips]."""
    first, values = results[0], [read_values(r) for r in results]
    names = list(values[0])
    candidates = [{i.id: i.candidate for i in r.items} for r in results]
    references = {i.id: i.references for i in first.items}
    judge = next((name for name, metric in first.metrics.items() if metric.reads == "identity"), None)
    filled = {} if judge is None else dict.fromkeys(first.kept.sets)
    rows = [
        [id, [list_numbers(id, names, v) for v in values], [c.get(id) for c in candidates], references.get(id, ())]
        for id in dict.fromkeys([*references, *filled])
    ]
    lead = sort_worst_first(rows, names)
    graphs = _graphs.add_item_graphs(results, rows)
    if judge is not None:
        for row in rows:
            row += ([] if graphs else [None]) + [[list_blanks(r, judge, row[0]) for r in results]]
    strips = [r.kept.captions for r in results if isinstance(r.kept, Filled)]
    for row in rows if any(strips) else ():
        row += [None] * (6 - len(row)) + [list_clips([one.get(row[0], ()) for one in strips])]
    return {
        "kind": "items",
        "systems": systems,
        "metrics": list_metrics(first, values[0]),
        "lead": lead,
        "graphs": graphs,
        "captioned": bool(first.items),
        "blanks": judge is not None,
        "rows": rows,
    }


def list_clips(systems: Sequence[Sequence[ClipCaptions]]) -> list[Cells]:
    """[clip, its true caption, the caption of each system] a clip."""
    return [[one.clip, one.truth, [of[k].given if k < len(of) else None for of in systems]]
            for k, one in enumerate(systems[0])]  # fmt: skip


def list_blanks(result: Result, judge: str, id: str) -> list[Cells] | None:
    """[clip, who it is, who was said, pairs that agree, pairs] a blank; null: the set has none to compare."""
    filled: Filled = result.kept
    return [list(blank) for blank in filled.judge(result, judge, id)] if id in filled.sets else None


def sort_worst_first(rows: list[Cells], names: Sequence[str], then: Callable[[Cells], float] = lambda row: 0.0) -> int:
    """Sorts by the first system's leading metric, and tells which; what was not scored comes last."""
    lead = next((names.index(name) for name in LEADING if name in names), 0)
    if names:
        rows.sort(key=lambda row: (row[1][0][lead] is None, row[1][0][lead] or 0.0, then(row)))
    return lead


# --- stories ---------------------------------------------------------------------------------------------------------


def list_stories(results: Sequence[Result], systems: Sequence[str]) -> dict[str, object]:
    """[id, numbers per system, seconds, events per set, per system (events, pairs per set), maybe graphs] a row; null:
    not there."""
    sets = results[0].refs
    pairs = [find_pairs(result) for result in results]
    values = [read_values(r) for r in results]
    names = list(values[0])
    rows: list[Cells] = []
    for video in dict.fromkeys(v for ref in sets for v in ref):
        stories = [ref.get(video) for ref in sets]
        length = max(ref.duration or 0.0 for ref in stories if ref is not None)
        numbers = [list_numbers(video, names, each) for each in values]
        events = [None if ref is None else list_events(ref) for ref in stories]
        system_rows = [list_system(result, found, video) for result, found in zip(results, pairs, strict=True)]
        rows.append([video, numbers, length, events, system_rows])
    lead = sort_worst_first(rows, names)
    align_words(rows, pairs)
    text = next((p.text for p in pairs if p.text), None)
    return {
        "kind": "stories",
        "systems": systems,
        "sets": tell_apart([name_corpus(ref, f"references {k}") for k, ref in enumerate(sets, 1)]),
        "metrics": list_metrics(results[0], values[0]),
        "lead": lead,
        "pairs": " and ".join(dict.fromkeys(p.name for p in pairs)),
        "text": LABELS.get(text, text) if text else None,
        "low": LOW,
        "graphs": _graphs.add_story_graphs(results, rows),
        "rows": rows,
    }


def list_system(result: Result, pairs: Pairs, video: str) -> Cells | None:
    """A system's events, and its pairs with every reference set."""
    pred = result.predictions.get(video) if result.predictions else None
    if pred is None:
        return None
    columns = place_events(pred)
    listed: list[list[Cells]] = []
    for ref, matches in zip(result.refs, pairs.matches[video], strict=True):
        rows = place_events(ref[video]) if matches else {}
        listed.append(
            [
                [rows[g], columns[p], round(iou, 4), None if text is None else round(text, 4)]
                for g, p, iou, text in matches
                if g in rows and p in columns
            ]
        )
    return [list_events(pred), listed]


def place_events(story: Story) -> dict[int, int]:
    """Place in the file → place on the page, of the events that can be drawn."""
    return {i: at for at, i in enumerate(order_events(story)[0])}


def align_words(rows: Sequence[Cells], pairs: Sequence[Pairs]) -> None:
    """Append to the first pairs: reference words, predicted words, and METEOR's matches between them."""
    aligned = list(islice(walk_pairs(rows), ALIGNED))
    for s, own in enumerate(pairs):
        mine = [(pair, captions) for system, pair, captions in aligned if system == s]
        for (pair, _), found in zip(mine, own.align_words([captions for _, captions in mine]), strict=False):
            pair += [found.reference, found.candidate, [list(match) for match in found.matches]]


def walk_pairs(rows: Sequence[Cells]) -> Iterator[tuple[int, Cells, tuple[str, str]]]:
    """System, pair, captions of reference and prediction."""
    for _, _, _, sets, systems in rows:
        for s, (events, listed) in ((s, row) for s, row in enumerate(systems) if row):
            for golds, pairs in zip(sets, listed, strict=True):
                for pair in pairs:
                    yield s, pair, (golds[pair[0]][2], events[pair[1]][2])
