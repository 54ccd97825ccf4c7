"""Captions that meet, as arrays over many videos, against one video at a time; and `many` against its equation."""

from __future__ import annotations

import random

import pytest

from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.metrics import metric
from fabula.metrics.stories import Stories
from fabula.metrics.stories._families.localised import Localised
from fabula.metrics.stories.base import StoryMetric
from tests.metrics import oracles

WORDS = ["a", "man", "woman", "dog", "runs", "jumps", "over", "the", "fence", "red", "and", "sits", "down"]


def draw_corpus(seed: int, most: int) -> Corpus:
    chance = random.Random(seed)

    def event() -> Event:
        start = chance.choice([0.0, 1.0, 2.5, chance.uniform(0, 9)])
        end = start + chance.choice([0.0, -1.0, 2.0, 4.0, chance.uniform(0, 5)])
        return Event(Segment(start, end), " ".join(chance.choices(WORDS, k=chance.choice([0, 1, 4, 9]))))

    stories = {f"v{k}": Story(f"v{k}", tuple(event() for _ in range(chance.randint(0, most)))) for k in range(14)}
    return Corpus({v: s for v, s in stories.items() if chance.random() < 0.9})


DATA = [
    Stories([draw_corpus(1, 4), draw_corpus(2, 5)], draw_corpus(3, 6)),
    Stories([draw_corpus(4, 3)], draw_corpus(5, 2)),
]


@pytest.mark.parametrize("garbage", ["zero", "abc", "random", "last"])
@pytest.mark.parametrize("rules", ["", "order=file,top=2", "segments=raw", "segments=swap,eps=1e-08", "refs=merged"])
def test_meetings_are_the_pairs_of_each_video(garbage: str, rules: str) -> None:
    made = metric(f"DVC_ROUGE_L(garbage={garbage}{',' * bool(rules)}{rules})")
    assert isinstance(made, Localised)
    for data in DATA:
        ctx = made.prepare(data)
        for block in data.blocks(whole=True):
            paired = made.pair_up(block)
            (overlaps,) = made.overlapping(paired, ctx)
            for k, tau in enumerate(made.tiou):
                for n, (ref, pred) in enumerate(paired):
                    pairs, lost = oracles.caption_pairs(made, ref, pred, tau, ctx)
                    at = overlaps.at[k][overlaps.whose[k] == n].tolist()
                    candidates, references = overlaps.pairs.items()
                    assert [(candidates[d], *references[d]) for d in at] == pairs
                    assert overlaps.lost[k][n] == lost


SPECS = [
    *(
        f"DVC_{name}(garbage={garbage})"
        for name in ("METEOR", "BLEU_4", "BLEU_1", "ROUGE_L")
        for garbage in ("zero", "abc")
    ),
    "DVC_METEOR(agg=corpus)",
    "DVC_METEOR(agg=corpus,garbage=random,refs=best)",
    "DVC_CIDEr",
    "DVC_CIDEr(idf=video)",
    "DVC_CIDEr(idf=video,garbage=last)",
    "SODA_a",
    "SODA_a(refs=best)",
    "SODA_b(backtrack=marked)",
    "SODA_c",
    "SODA_c(roles=gold-as-hypothesis,columns=sorted)",
    "SODA_d(missing=drop)",
    "OrderedPRF",
    "PRF(tau=0.3/0.5,f1=levels)",
    "PRF(refs=best,best_by=each,cmp=>=)",
    "StartPRF(within=1/3)",
    "StartPRF(segments=raw)",
    "mIoU",
    "mJaccard(eps=1e-08)",
]


@pytest.mark.parametrize("spec", SPECS)
def test_many_videos_at_once_have_the_rows_of_each_alone(spec: str) -> None:
    made = metric(spec)
    assert isinstance(made, StoryMetric)
    for data in DATA:
        ctx = made.prepare(data)
        for block in data.blocks(whole=True):
            paired = made.pair_up(block)
            many = made.many(paired, ctx)
            for n, (ref, pred) in enumerate(paired):
                row = oracles.row(made, ref, pred, ctx)
                assert row.keys() == many.keys()
                close = 1e-12 if "CIDEr" in spec else 0.0
                assert {name: many[name][n] for name in row} == pytest.approx(row, abs=close, rel=close)


def test_metrics_with_the_same_rules_share_what_is_laid_out() -> None:
    data = Stories(DATA[0].refs, DATA[0].preds)
    one, same, other = metric("SODA_c"), metric("DVC_METEOR"), metric("SODA_c(order=file)")
    (block,) = data.blocks(whole=True)
    assert isinstance(one, StoryMetric) and isinstance(same, StoryMetric) and isinstance(other, StoryMetric)
    assert one.pair_up(block) is same.pair_up(block) is not other.pair_up(block)
    assert one.grid(one.pair_up(block)) is same.grid(same.pair_up(block))
    assert next(data.blocks(whole=True)) is block


def test_blocks_of_a_walk_that_was_broken_off_are_made_again() -> None:
    data = Stories([Corpus({f"v{k}": Story(f"v{k}", (Event(Segment(0, 1), "a"),)) for k in range(1100)})], Corpus({}))
    walk = data.blocks(whole=False)
    next(walk)
    walk.close()
    assert sum(map(len, data.blocks(whole=False))) == 1100
