"""fabula.reward: a metric as a batched reward for reinforcement learning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError, shown
from fabula.data.stories import Corpus, Event, Item, Segment, Story
from fabula.metrics import Metric
from fabula.metrics import metric as make_metric
from fabula.metrics.captions import Items
from fabula.metrics.captions.base import place_items
from fabula.metrics.stories import Stories

if TYPE_CHECKING:
    from fabula.text.cider import Idf

PlainStory = Sequence[tuple[float, float, str]]  # a story as training code has it: (start, end, caption)
Reward = Callable[[Sequence[Any], Sequence[Any]], NDArray[np.float64]]


FEW = 100  # items of which document frequencies are counted: fewer tell rare words from common ones badly


def reward(metric: str | Metric, *, corpus: Sequence[Any] | None = None) -> Reward:
    """A metric as a batched reward for reinforcement learning: `reward(candidates, references) → [B]`.

    METEOR, CIDEr, BLEU_4 …: a candidate is a sentence, its references a sentence or a list of them. CIDEr counts its
    document frequencies in `corpus`, the references of all training items; else in the batch, of which it warns where
    the batch is small, for of one item every score is 0; or takes them from a file (idf=file:PATH). SODA_c and its
    like: a candidate is a list of (start, end, caption), its reference another, or several of them in a list.

    Examples:

        >>> fabula.reward("METEOR")(["a dog runs", "a dog runs"], ["a dog runs", "it rains"]).round(2)
        array([1., 0.])
    """
    parsed = make_metric(metric) if isinstance(metric, str) else metric
    counts = parsed.reads == "captions" and "idf" in parsed.defaults()
    if corpus is not None and not counts:
        raise SpecError(f"{parsed.name} counts no document frequencies; leave corpus out")
    if counts:
        return Counting(parsed, None if corpus is None else count_corpus(parsed, corpus))
    if parsed.reads == "captions":
        return lambda candidates, references: reward_captions(parsed, candidates, references)
    if parsed.reads == "stories" and "refs" in parsed.defaults():  # not of paragraphs, which are folded over the corpus
        return lambda candidates, references: reward_stories(parsed, candidates, references)
    raise SpecError(f"{parsed.name} gives no reward per item")


class Counting:
    """The reward of a metric that counts in how many items a word occurs; it says once where they are too few."""

    def __init__(self, metric: Metric, counts: Idf | None) -> None:
        self.metric, self.counts, self.warned = metric, counts, False

    def __call__(self, candidates: Sequence[str], references: Sequence[Any]) -> NDArray[np.float64]:
        if self.counts is not None:
            from fabula.text.cider import score_pairs

            items = cut_words(self.metric, make_items(candidates, references))
            return score_pairs(place_items(items), self.counts) if items else np.zeros(0)
        scope = str(self.metric.param("idf")).partition(":")[0]
        if scope != "file" and len(references) < FEW and not self.warned:
            self.warned = True
            warnings.warn(
                f"{self.metric.name} counts document frequencies in a batch of {len(references)}; below {FEW} its "
                "numbers say little, and of one item they are 0. Count them in all training references: "
                f'fabula.reward("{self.metric.name}", corpus=references), or idf=file:PATH',
                stacklevel=2,
            )
        return reward_captions(self.metric, candidates, references)


def count_corpus(metric: Metric, corpus: Sequence[Any]) -> Idf:
    """The document frequencies of these references, cut into words as the metric does it."""
    from fabula.text.cider import Idf

    items = make_items([""] * len(corpus), corpus)
    if not items:
        raise InputError("the corpus has no references", hint="give those of the training items")
    return Idf.from_references([item.references for item in cut_words(metric, items)])


def cut_words(metric: Metric, items: Sequence[Item]) -> Sequence[Item]:
    """The items as the metric cuts them into words."""
    return Items(items).tokenize(str(metric.param("tok")), metric.param("nonascii") == "blank")


def make_items(candidates: Sequence[str], references: Sequence[Any]) -> list[Item]:
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
    return items


def reward_captions(metric: Metric, candidates: Sequence[str], references: Sequence[Any]) -> NDArray[np.float64]:
    items = make_items(candidates, references)
    return metric.table(Items(items))[metric.primary] if items else np.zeros(0)


def reward_stories(metric: Metric, candidates: Sequence[PlainStory], references: Sequence[Any]) -> NDArray[np.float64]:
    check_lengths(candidates, references)
    preds = {str(i): make_story(str(i), story) for i, story in enumerate(candidates)}
    rows = metric.table(Stories(make_sets(references), Corpus(preds)))
    value, n = np.zeros(len(candidates)), np.zeros(len(candidates))
    for key, number in zip(rows.keys, rows[metric.primary], strict=True):
        value[int(key)] += number
        n[int(key)] += 1
    return value / np.maximum(n, 1)


def make_sets(references: Sequence[Any]) -> list[Corpus]:
    """A reference story for each, or a list of them: as reference sets, ids by place."""
    sets: list[dict[str, Story]] = []
    for i, reference in enumerate(references):
        for k, one in enumerate(reference if is_nested(reference) else [reference]):
            sets += [{}] if k == len(sets) else []
            sets[k][str(i)] = make_story(str(i), one)
    return [Corpus(s) for s in sets]


def is_nested(told: Any) -> bool:
    """True for a list of stories, False for one story."""
    return len(told) > 0 and len(told[0]) > 0 and not isinstance(told[0][0], int | float | np.number)


def make_story(id: str, events: PlainStory) -> Story:
    try:
        return Story(id, tuple(Event(Segment(float(s), float(e)), str(c)) for s, e, c in events))
    except (TypeError, ValueError):
        hint = "a story is a list of (start, end, caption)"
        raise InputError(f"expected a story, saw {shown(events)}", field=f"item {id}", hint=hint) from None


def check_lengths(candidates: Sequence[Any], references: Sequence[Any]) -> None:
    if len(candidates) != len(references):
        raise InputError(f"{len(candidates)} candidates for {len(references)} references", hint="give one for each")
