"""Scene graphs for the page: the merged tuples of both sides as SPICE and iSPICE compared them, worst rows first.

A graph is [score, candidate's tuples, reference's tuples], a tuple [mark, word, …]: the mark says what became of it.
Parsing costs a millisecond or so a caption, so only the first GRAPHED pictures of a page are made; the page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from fabula.data.result import Result
from fabula.data.stories import Story
from fabula.report._events import Cells, order_events

GRAPHED = 1000


class Slot(NamedTuple):
    """A pair on the page, and where its graphs belong."""

    system: int
    video: str
    set: int
    pair: Cells
    graphs: Cells  # those of all pairs of the system and the set
    at: int


def list_tuples(graphs: Any) -> Cells:
    tuples = ([[mark, *parts] for parts, mark in side] for side in (graphs.candidate, graphs.reference))
    return [float(f"{graphs.value:.5g}"), *tuples]


def name_graphs(result: Result) -> list[str]:
    """The metrics that compare scene graphs."""
    return [name for name, metric in result.metrics.items() if metric.draws == "graphs"]


def add_item_graphs(results: Sequence[Result], rows: Sequence[Cells]) -> list[str]:
    """Appends to each row a graph per system and metric, null where there is none; tells whose graphs they are."""
    names = name_graphs(results[0])
    if not names:
        return []
    first_rows = rows[: GRAPHED // (len(names) * len(results))]
    for row in rows:
        row.append([None] * len(results))
    for s, result in enumerate(results):
        scored_rows = [row for row in first_rows if row[2][s] is not None and row[3]]
        graphs = [draw_items(result, name, [row[0] for row in scored_rows]) for name in names]
        for row, of_row in zip(scored_rows, zip(*graphs, strict=True), strict=True):
            row[-1][s] = list(of_row)
    return names


def draw_items(result: Result, name: str, ids: Sequence[str | int]) -> list[Cells]:
    """The graphs of the texts that the metric read."""
    items = {i.id: i for i in result.read.get(name, result.items)}
    return [list_tuples(graphs) for graphs in result.metrics[name].graphs([items[id] for id in ids])]


def add_story_graphs(results: Sequence[Result], rows: Sequence[Cells]) -> list[str]:
    """Appends to each row, per system and reference set, what each pair's graphs are; null where there are none."""
    names = name_graphs(results[0])
    if not names:
        return []
    slots: list[Slot] = []
    for row in rows:
        row.append(
            [
                [[None] * len(pairs) for pairs in events_and_pairs[1]] if events_and_pairs else None
                for events_and_pairs in row[4]
            ]
        )
        for s, events_and_pairs in enumerate(row[4]):
            if events_and_pairs and len(slots) * len(names) < GRAPHED:
                slots += list_slots(s, row)
    for name in names:
        for s, result in enumerate(results):
            draw_slots(result, name, [slot for slot in slots if slot.system == s])
    return names


def list_slots(system: int, row: Cells) -> list[Slot]:
    sets = enumerate(zip(row[4][system][1], row[5][system], strict=True))
    return [Slot(system, row[0], k, pair, graphs, at) for k, (pairs, graphs) in sets for at, pair in enumerate(pairs)]


def draw_slots(result: Result, name: str, slots: Sequence[Slot]) -> None:
    """Puts one metric's graphs of a system's pairs in their places."""
    metric = result.metrics[name]

    @cache
    def caption_texts(corpus: int | None, video: str) -> list[str]:
        stories = result.predictions if corpus is None else result.refs[corpus]
        return parsed_captions(metric, stories[video], corpus is None) if stories else []

    pairs = [(caption_texts(None, s.video)[s.pair[1]], caption_texts(s.set, s.video)[s.pair[0]]) for s in slots]
    for slot, graphs in zip(slots, metric.graphs(pairs), strict=True):
        slot.graphs[slot.at] = [*(slot.graphs[slot.at] or []), list_tuples(graphs)]


def parsed_captions(metric: Any, story: Story, predicted: bool) -> list[str]:
    """The captions of a story as the metric reads them, in the order of the page."""
    captions = metric.parsed_captions(story, predicted)
    return [captions[i] for i in order_events(story)[0]]
