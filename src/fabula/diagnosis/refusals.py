"""Does refusing pay? The hard half is answered wrongly, or not at all; where silence scores more, a rule invites it.

    r = s(silent) / s(wrong)      s: of all stories (queries) together, half of them told (answered) rightly

r ≤ 1: who says nothing gains nothing. r > 1: leaving out what one does not know is worth more than trying, as where
means are taken over what can be read (missing=drop, unread=drop). Where wrong answers score 0, r = 1 is honest, 2 is a
mean over the readable half. Which half is hard is drawn, `copies` times; intervals are percentiles over draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fabula.core.errors import InputError
from fabula.core.rows import Rows
from fabula.data.moments import Id, Moment, Query, Ranking
from fabula.data.stories import Corpus, Event, Item, Story
from fabula.evaluate.rankings import moment_rows
from fabula.metrics import Metric
from fabula.metrics.captions import Items
from fabula.metrics.moments import MomentMetric
from fabula.metrics.stories import Stories
from fabula.stats.choose import Chosen, choose_percentile
from fabula.stats.resampling import Resampling

REFUSE = "refuse"
WRONG = "nobody knows what happens"  # words that share nothing with a caption
DRAWS = 500  # each folds whole tables
Tables = list[tuple[Rows, Rows]]  # of what is answered wrongly, of what is refused
Ratio = tuple[float, Chosen, int]  # r, its interval, of how many


def refuse_stories(metric: Metric, stories: Mapping[str, Story], copies: int, how: Resampling) -> Ratio | None:
    """Of a metric of stories or of captions."""
    tables: Tables = []
    for hard in draw_hard(list(stories), copies, how.seed):
        wrong = {v: tell_wrongly(story) if v in hard else story for v, story in stories.items()}
        silent = {v: story for v, story in stories.items() if v not in hard}
        tables.append((tabulate(metric, stories, wrong), tabulate(metric, stories, silent)))
    return measure(metric, tables, list(stories), how)


def refuse_queries(metric: MomentMetric, queries: Mapping[Id, Query], copies: int, how: Resampling) -> Ratio | None:
    """Of a metric of moments: its queries' own windows are the right answers."""
    known = {id: query for id, query in queries.items() if query.windows}
    if not known:
        raise InputError("no query has a window", hint="name a file of queries with --corpus")
    far = 1 + max(end for query in known.values() for _, end in query.windows)
    tables: Tables = []
    for hard in draw_hard(list(known), copies, how.seed):
        right = {id: Ranking.of(id, [Moment(*w) for w in q.windows]) for id, q in known.items()}
        wrong = {id: Ranking.of(id, [Moment(far, far + 1)]) if id in hard else r for id, r in right.items()}
        silent = {id: Ranking.of(id, []) if id in hard else r for id, r in right.items()}
        both = (moment_rows([metric], known, [("", r) for r in rankings.values()]).rows for rankings in (wrong, silent))
        a, b = (rows[metric] for rows in both)
        tables.append((a, b))
    return measure(metric, tables, list(known), how)


def draw_hard(ids: Sequence[str | int], copies: int, seed: int) -> list[set[str | int]]:
    return [
        {ids[k] for k in np.random.default_rng([seed, copy]).permutation(len(ids))[: len(ids) // 2].tolist()}
        for copy in range(copies)
    ]


def tell_wrongly(story: Story) -> Story:
    """One event far behind all others, in words that mean nothing."""
    end = 1.0 + max((e.segment.end for e in story.events), default=0.0)
    segment = replace(story.events[0].segment, start=end, end=end + 1.0)
    return replace(story, events=(Event(segment, WRONG),), duration=None)


def tabulate(metric: Metric, refs: Mapping[str, Story], predictions: Mapping[str, Story]) -> Rows:
    if metric.reads == "captions":
        items = [Item(v, join(predictions[v]) if v in predictions else None, (join(refs[v]),)) for v in refs]
        return metric.table(Items(items))
    return metric.table(Stories([Corpus(refs)], Corpus(predictions)))


def join(story: Story) -> str:
    return " ".join(e.caption or "" for e in story.in_order().events)


def measure(metric: Metric, tables: Tables, ids: Sequence[str | int], how: Resampling) -> Ratio | None:
    def ratio(chosen: Sequence[str | int]) -> float:
        scores = np.array([[fold(metric, rows, chosen) for rows in pair] for pair in tables])  # [copies, 2]
        wrong, silent = scores.mean(axis=0).tolist()
        return silent / wrong if wrong > 0 else float("nan")

    r = ratio(ids)
    if np.isnan(r):
        return None
    rng = np.random.default_rng(how.seed)
    draws = min(how.resamples, DRAWS)
    drawn = [ratio([ids[k] for k in rng.integers(0, len(ids), len(ids)).tolist()]) for _ in range(draws)]
    return r, choose_percentile(np.array(drawn), len(ids), how), len(ids)


def fold(metric: Metric, rows: Rows, ids: Sequence[str | int]) -> float:
    """The number of these units, each as often as it is named; 0 where none of them has a row."""
    at: dict[str | int, list[int]] = {}
    for i, key in enumerate(rows.keys):
        at.setdefault(key, []).append(i)
    places = [i for id in ids for i in at.get(id, ())]
    return float(metric.fold(rows.take(places))[metric.primary]) if places else 0.0
