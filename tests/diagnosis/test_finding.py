"""Errors of many videos at once, against the words at the head of diagnosis/errors.py, followed one video at a time."""

from __future__ import annotations

import random

import numpy as np
import pytest

from fabula.data.stories import Corpus, Story
from fabula.diagnosis.errors import join_sets, repair_stories, score_again
from fabula.diagnosis.finding import Found, Limits, find_many
from fabula.match import greedy, hungarian, ordered
from fabula.metrics import metric
from fabula.metrics.stories import Stories
from fabula.pair.grid import Grid
from fabula.pair.tiou import Matrix, intersection, tiou
from tests.toys import find, story

TIMES = [0, 1, 2, 2.5, 4, 5, 7, 10, 20]


def draw_story(chance: random.Random, most: int) -> Story:
    events = []
    for _ in range(chance.randint(0, most)):
        start = chance.choice(TIMES)
        events.append((start, start + chance.choice([0, -1, 1, 2, 3, 5, 10]), chance.choice("abcd")))
    return story(*events)


def read_literally(ref: Story, pred: Story, captions: Matrix, limits: Limits) -> Found:
    """Pieces, parts, pairs and the rest, one after the other, each taken from what is free."""
    G, P = ref.spans, pred.spans
    iou = tiou(G, P)
    inter = np.where(iou > 0, intersection(G, P), 0.0)
    free_g, free_p = set(range(len(G))), set(range(len(P)))
    split, merged = [], []

    def hull(some: Matrix, one: Matrix) -> float:
        return float(tiou(np.array([[some[:, 0].min(), some[:, 1].max()]]), one[None])[0, 0])

    for g in range(len(G)):
        of_p = inter[g] / np.maximum(P[:, 1] - P[:, 0], 1e-12)
        pieces = [p for p in sorted(free_p) if of_p[p] >= limits.inside and inter[:, p].argmax() == g]
        if len(pieces) > 1 and (iou[g] <= limits.right).all() and hull(P[pieces], G[g]) >= limits.right:
            split.append((g, pieces))
            free_g -= {g}
            free_p -= set(pieces)
    for p in sorted(free_p):
        of_g = inter[:, p] / np.maximum(G[:, 1] - G[:, 0], 1e-12)
        parts = [g for g in sorted(free_g) if of_g[g] >= limits.inside and inter[g].argmax() == p]
        if len(parts) > 1 and (iou[:, p] <= limits.right).all() and hull(G[parts], P[p]) >= limits.right:
            merged.append((p, parts))
            free_g -= set(parts)
            free_p -= {p}
    rest = np.zeros_like(iou)
    for g in free_g:
        for p in free_p:
            rest[g, p] = iou[g, p] if iou[g, p] >= limits.near else 0.0
    pairs = (greedy if limits.matching == "greedy" else ordered)(rest)[1]
    free_g -= {g for g, _ in pairs}
    free_p -= {p for _, p in pairs}
    told = sorted(set(range(len(G))) - free_g)
    of_p = inter / np.maximum(P[:, 1] - P[:, 0], 1e-12)[None, :]
    again = [p for p in sorted(free_p) if ((iou[told, p] >= limits.near) | (of_p[told, p] >= limits.inside)).any()]
    found = Found(
        pairs=pairs,
        split=split,
        merged=merged,
        mislocated=[(g, p) for g, p in pairs if iou[g, p] < limits.right],
        duplicate=again,
        hallucinated=sorted(free_p - set(again)),
        missed=sorted(free_g),
    )
    T = np.array([[captions[g, q] for _, q in pairs] for g, _ in pairs]).reshape(len(pairs), len(pairs))
    to = dict(hungarian(T)[1])
    moved: set[int] = set()
    for start in to:
        cycle, i = [start], to[start]
        while i != start:
            cycle.append(i)
            i = to[i]
        if start == min(cycle) and len(cycle) > 1:
            after, own = [T[i, to[i]] for i in cycle], [T[i, i] for i in cycle]
            if np.mean(after) >= limits.words and sum(after) > sum(own) + 1e-9:
                found.out_of_order.extend((pairs[i][1], pairs[to[i]][1]) for i in cycle)
                moved |= set(cycle)
    found.miscaptioned.extend(pair for i, pair in enumerate(pairs) if T[i, i] < limits.words and i not in moved)
    return found


@pytest.mark.parametrize("matching", ["greedy", "ordered"])
@pytest.mark.parametrize("seed", range(3))
def test_many_videos_are_each_read_literally(seed: int, matching: str, kernels: str) -> None:
    chance, numbers = random.Random(seed), np.random.default_rng(seed)
    limits = Limits(matching=matching)
    pairs = [(ref, draw_story(chance, 6)) for _ in range(120) if len(ref := draw_story(chance, 5))]
    # No two matchings of captions are worth the same, so that there is one best exchange.
    captions = [numbers.random((len(ref), len(pred))) * chance.choice([0.3, 1.0]) for ref, pred in pairs]
    found = find_many(Grid.of(pairs), np.concatenate([scores.ravel() for scores in captions]), limits)
    for (ref, pred), scores, one in zip(pairs, captions, found, strict=True):
        assert one == read_literally(ref, pred, scores, limits) == find(ref, pred, scores, limits)
    if not seed:
        kinds = ("split", "merged", "mislocated", "duplicate", "hallucinated", "missed", "miscaptioned", "out_of_order")
        assert all(any(one.count(kind) for one in found) for kind in kinds)


@pytest.mark.parametrize(
    "spec",
    ["SODA_c", "SODA_d", "PRF@0.3/0.5", "DVC_METEOR", "DVC_CIDEr", "Para_ROUGE_L", "Para_CIDEr", "mIoU(missing=drop)"],
)
@pytest.mark.parametrize("kind", ["missed", "mislocated", "hallucinated"])
def test_what_did_not_change_keeps_its_rows(spec: str, kind: str) -> None:
    chance, made = random.Random(7), metric(spec)
    stories = {f"v{k}": (draw_story(chance, 4), draw_story(chance, 4)) for k in range(40)}
    ref = Corpus({v: r for v, (r, _) in stories.items() if len(r)})
    pred = Corpus({v: p for v, (_, p) in stories.items() if chance.random() < 0.8})
    looked = {v: find(ref[v], pred[v], None, Limits()) for v in ref if v in pred}
    changed = repair_stories(kind, ref, pred, {v: f for v, f in looked.items() if f.count(kind)}, made)
    assert changed and len(changed) < len(looked)
    again = score_again(made, ref, changed, pred, made.table(Stories([ref], pred)))
    whole = made.table(Stories([ref], Corpus(dict(pred.stories) | changed)))
    assert again.keys == whole.keys and list(again.columns) == list(whole.columns)
    assert all(np.array_equal(again[name], whole[name]) for name in whole.columns)
    assert len(join_sets([again, again]).sets()) == 2
