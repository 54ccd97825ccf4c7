"""What is kept between scorings: the same stories, their tokens, their cells; and that nobody meets another's."""

from __future__ import annotations

import numpy as np
import pytest

import fabula
from fabula import demo, io, text
from fabula.evaluate.request import Request, run_request
from fabula.metrics import metric
from fabula.metrics.base import CachedList
from fabula.metrics.stories import Stories, StoryMetric, base
from fabula.pair.captions import Captions
from fabula.pair.grid import Grid
from fabula.text import PlacedScorer
from fabula.text.placed import Pairs
from tests.metrics import oracles
from tests.metrics.test_meetings import draw_corpus
from tests.toys import corpus, story

REFS, PRED = corpus({"v": [(0, 10, "a dog runs")]}), corpus({"v": [(0, 9, "the dog ran")]})


def test_a_run_and_its_pairs_share_what_was_made() -> None:
    result = run_request(Request(predictions=PRED, refs=[REFS], metrics=[metric("SODA_c")]), "dense")
    (block,) = result.paired.blocks(False)
    paired = metric("SODA_c").pair_up(block)  # type: ignore[attr-defined]
    (scored,) = paired.made[Grid].caption_scores.values()
    assert scored.known.all() and result.pairs("SODA_c")["v"][0][0].text == scored.values[0]
    assert len(paired.made[Grid].caption_scores) == 1


def test_large_stories_are_not_kept_with_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "RULES", 0)
    result = run_request(Request(predictions=PRED, refs=[REFS], metrics=[metric("SODA_c")]), "dense")
    assert result.paired is None and result.pairs("SODA_c")["v"][0][0].text > 0.3


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    things, made = CachedList([1], room=2), list[str]()

    def make(name: str) -> str:
        made.append(name)
        return name

    for name in ("a", "b", "a", "c", "a", "b"):
        assert things.once(name, lambda name=name: make(name)) == name  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]


@pytest.mark.parametrize("roles", ["prediction-as-hypothesis", "gold-as-hypothesis"])
def test_cells_are_scored_once_whoever_asks(roles: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = Grid.of([(story((0, 9, "a dog runs"), (1, 2, "it sits")), story((0, 8, "the dog ran"), (3, 4, "a cat")))])
    scorer, asked = Captions("meteor", roles, "ptb", False), list[int]()  # type: ignore[arg-type]
    assert isinstance(scorer.scorer, PlacedScorer)
    real = scorer.scorer.score_places

    def score_places(pairs: Pairs) -> np.ndarray:
        asked.append(len(pairs.candidates))
        return real(pairs)

    monkeypatch.setattr(type(scorer.scorer), "score_places", staticmethod(score_places))
    one, all_ = np.array([True, False, False, False]), np.ones(4, bool)
    first = scorer.scores(grid, one)
    whole = scorer.scores(grid, all_)
    again = Captions("meteor", roles, "ptb", False).scores(grid, ~one)  # type: ignore[arg-type]
    assert asked == [1, 3]
    assert first.tolist() == [whole[0], 0, 0, 0] and again.tolist() == [0, *whole[1:].tolist()]
    assert whole[0] > 0.3


def test_one_table_of_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "tokens_by_sentence", {})
    table = text.token_table(["A dog.", "It's"], "ptb")
    assert text.token_table(["A dog."], "ptb") is table and table["It's"] == "it 's"
    long = "word " * 300
    apart = text.token_table([long, "A dog."], "ptb")
    assert apart is not table and apart["A dog."] == "a dog" and long not in table
    monkeypatch.setattr(text, "LIMIT", 3)
    fresh = text.token_table(["one", "two", "A dog."], "ptb")
    assert fresh is not table and fresh["A dog."] == "a dog" and table["A dog."] == "a dog"
    assert text.token_table(["É a"], "none", True) == {"É a": "  a"}
    assert text.tokenize_all([long, "A dog."], "ptb") == [long.strip(), "a dog"]


@pytest.mark.parametrize("spec", ["SODA_a(refs=best)", "PRF(refs=best,best_by=each)@0.3/0.5", "PRF(refs=best)@0.3/0.7"])
def test_the_best_set_column_by_column(spec: str) -> None:
    made = metric(spec)
    assert isinstance(made, StoryMetric)
    data = Stories([draw_corpus(1, 4), draw_corpus(2, 5)], draw_corpus(3, 6))
    (block,) = data.blocks(whole=True)
    paired = made.pair_up(block)
    rows = base.Rows(paired.videos, paired.refset, made.tabulate(paired, made.prepare(data)))
    sides: dict[str | int, list[dict[str, float]]] = {}
    for row in rows.dicts():
        sides.setdefault(row.pop("video"), []).append(row)
    fast = made.best_rows(rows)
    slow = [{"video": video, **oracles.best(made, some), "refset": 0} for video, some in sides.items()]
    assert list(fast.dicts()) == slow
    assert len(fast) < len(rows) and len(made.best_rows(base.Rows.of([]))) == 0


def test_references_are_read_once_for_all_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()
    real = io.read

    def note(path: str, *rest: object) -> object:
        read.append(str(path))
        return real(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(io, "read", note)
    refs = list(map(str, demo.REFERENCES.values()))
    systems = list(map(str, demo.SYSTEMS.values()))[:2]
    seen = fabula.compare(systems, refs, metrics="SODA_d", resamples=20)
    assert sorted(read) == sorted([*refs, *systems]) and len(seen.systems) == 2
