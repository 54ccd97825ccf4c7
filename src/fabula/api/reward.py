"""fabula.reward: a metric as a batched reward for reinforcement learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.nouns import Corpus, Event, Item, Segment, Story
from fabula.metrics import Metric
from fabula.metrics import metric as make_metric
from fabula.metrics.captions import Items
from fabula.metrics.stories import Stories

Told = Sequence[tuple[float, float, str]]  # a story as training code has it: (start, end, caption)
Reward = Callable[[Sequence[Any], Sequence[Any]], NDArray[np.float64]]


def reward(metric: str | Metric) -> Reward:
    """A metric as a batched reward for reinforcement learning: `reward(candidates, references) → [B]`.

    METEOR, CIDEr, BLEU_4 …: a candidate is a sentence, its references a sentence or a list of them (CIDEr takes its
    document frequencies from the batch unless idf=file:… is given). SODA_c and its like: a candidate is a list of
    (start, end, caption), its reference another, or several of them in a list.
    """
    made = make_metric(metric) if isinstance(metric, str) else metric
    if made.reads == "captions":
        return lambda candidates, references: reward_captions(made, candidates, references)
    if made.reads == "stories" and "refs" in made.defaults():  # not of paragraphs, which are folded over the corpus
        return lambda candidates, references: reward_stories(made, candidates, references)
    raise SpecError(f"{made.name} gives no reward per item")


def reward_captions(metric: Metric, candidates: Sequence[str], references: Sequence[Any]) -> NDArray[np.float64]:
    check_lengths(candidates, references)
    items = [
        Item(i, c, (r,) if isinstance(r, str) else tuple(r))
        for i, (c, r) in enumerate(zip(candidates, references, strict=True))
    ]
    for item in items:
        for text in (item.candidate, *item.references):
            if not isinstance(text, str):
                raise InputError(
                    f"expected text, saw {shown(text)}", field=f"item {item.id}", hint="rewards score text"
                )
    return metric.table(Items(items))[metric.primary] if items else np.zeros(0)


def reward_stories(metric: Metric, candidates: Sequence[Told], references: Sequence[Any]) -> NDArray[np.float64]:
    check_lengths(candidates, references)
    preds = {str(i): make_story(str(i), told) for i, told in enumerate(candidates)}
    rows = metric.table(Stories(make_sets(references), Corpus(preds)))
    value, n = np.zeros(len(candidates)), np.zeros(len(candidates))
    for key, number in zip(rows.keys, rows[metric.primary], strict=True):
        value[int(key)] += number
        n[int(key)] += 1
    return value / np.maximum(n, 1)


def make_sets(references: Sequence[Any]) -> list[Corpus]:
    """A reference story for each, or a list of them: as reference sets, ids by place."""
    sets: list[dict[str, Story]] = []
    for i, told in enumerate(references):
        for k, one in enumerate(told if is_nested(told) else [told]):
            sets += [{}] if k == len(sets) else []
            sets[k][str(i)] = make_story(str(i), one)
    return [Corpus(s) for s in sets]


def is_nested(told: Any) -> bool:
    """True for a list of stories, False for one story."""
    return len(told) > 0 and len(told[0]) > 0 and not isinstance(told[0][0], int | float | np.number)


def make_story(id: str, told: Told) -> Story:
    try:
        return Story(id, tuple(Event(Segment(float(s), float(e)), str(c)) for s, e, c in told))
    except (TypeError, ValueError):
        hint = "a story is a list of (start, end, caption)"
        raise InputError(f"expected a story, saw {shown(told)}", field=f"item {id}", hint=hint) from None


def check_lengths(candidates: Sequence[Any], references: Sequence[Any]) -> None:
    if len(candidates) != len(references):
        raise InputError(f"{len(candidates)} candidates for {len(references)} references", hint="give one for each")
