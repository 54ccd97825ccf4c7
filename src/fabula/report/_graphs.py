"""Scene graphs for the page: the merged tuples of both sides as SPICE and iSPICE compared them, worst rows first.

A graph is [score, candidate's tuples, reference's tuples], a tuple [mark, word, …] with marks of metrics/_graphs.py.
Parsing costs a millisecond or so a caption, so only the first GRAPHED pictures of a page are made; the page says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fabula import metrics
from fabula.core.nouns import Event, Item, Segment, Story
from fabula.core.result import Result
from fabula.engine.captions import Tokenised
from fabula.metrics._graphs import Graphs
from fabula.metrics._localised_graphs import LocalisedGraphs
from fabula.metrics.ispice import Metric as Ispice
from fabula.metrics.spice import Metric as Spice
from fabula.tasks.identity import renamed

GRAPHED = 1000
RENAMED = re.compile(r"\|renamed:(word|blank)\b")  # in signatures of the task identity

Graph = list[Any]
CaptionGraphs = Spice | Ispice


def listed(graphs: Graphs) -> Graph:
    tuples = ([[mark, *parts] for parts, mark in side] for side in (graphs.candidate, graphs.reference))
    return [float(f"{graphs.value:.5g}"), *tuples]


def of_items(results: Sequence[Result], rows: Sequence[list[Any]]) -> list[str]:
    """Appends to each row a graph per system and metric, null where there is none; tells whose graphs they are."""
    found = {name: m for name, m in named(results[0]).items() if isinstance(m, CaptionGraphs)}
    some = rows[: GRAPHED // max(1, len(found) * len(results))]
    for row in rows if found else ():
        row.append([None] * len(results))
    for s, result in enumerate(results if found else ()):
        told = [row for row in some if row[2][s] is not None]
        items = {i.id: i for i in result.items}
        drawn = [seen_by(m, [items[row[0]] for row in told], result[name].signature) for name, m in found.items()]
        for row, graphs in zip(told, zip(*drawn, strict=True), strict=True):
            row[-1][s] = list(graphs)
    return list(found)


def named(result: Result) -> dict[str, metrics.Metric]:
    return {name: metrics.metric(score.signature) for name, score in result.scores.items()}


def seen_by(metric: CaptionGraphs, items: Sequence[Item], signature: str) -> list[Graph]:
    """The graphs of the texts that the metric read."""
    rule = RENAMED.search(signature)
    if rule and not isinstance(metric, Ispice):  # which renames by itself
        items = [renamed(i, "blank" if rule[1] == "blank" else "word") for i in items]
    return [listed(g) for g in metric.graphs(Tokenised(items).under(metric.tok, metric.nonascii == "blank"))]


def of_stories(results: Sequence[Result], rows: Sequence[list[Any]]) -> list[str]:
    """Appends to each row, per system and reference set, what each pair's graphs are; null where there are none."""
    found = {name: m for name, m in named(results[0]).items() if isinstance(m, LocalisedGraphs)}
    if not found:
        return []
    slots: list[tuple[list[Any], int, dict[str, tuple[str, str]]]] = []
    for row in rows:
        row.append([[[None] * len(pairs) for pairs in system[1]] if system else None for system in row[4]])
        for system, graphs in zip(row[4], row[5], strict=True):
            if len(slots) * len(found) < GRAPHED and system:
                slots += pairs_of(row[3], system, graphs, found)
    for name, metric in found.items():
        words = metric.words()
        words.learn([text for _, _, told in slots for text in told[name]])
        drawn = metric.graphs([(words[c], words[r]) for c, r in (told[name] for _, _, told in slots)])
        for (place, k, _), graphs in zip(slots, drawn, strict=True):
            place[k] = [*(place[k] or []), listed(graphs)]
    return list(found)


def pairs_of(
    sets: Sequence[Any], system: Sequence[Any], graphs: Sequence[list[Any]], found: Mapping[str, LocalisedGraphs]
) -> list[tuple[list[Any], int, dict[str, tuple[str, str]]]]:
    """Where the graphs of a system's pairs belong, and their captions as the metrics read them."""
    events, paired = system
    slots = []
    for told, pairs, place in zip(sets, paired, graphs, strict=True):
        sides = {name: (captions(metric, events), captions(metric, told or [])) for name, metric in found.items()}
        for k, pair in enumerate(pairs):
            slots.append((place, k, {name: (c[pair[1]], r[pair[0]]) for name, (c, r) in sides.items()}))
    return slots


def captions(metric: LocalisedGraphs, events: Sequence[Sequence[Any]]) -> list[str]:
    """The captions of a drawn story, people renamed where the metric does it."""
    sound = [Event(Segment(0.0, 1.0), e[2] or "") for e in events if not isinstance(e[0], str)]
    return metric.renamed(Story("", tuple(sound))).captions
