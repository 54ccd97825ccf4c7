"""Two recipes side by side: means and counts by pencil, over the moments that both have done."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fabula.annotation.compare import compare

MOMENTS: Any = [SimpleNamespace(key=k) for k in "uvwxyz"]


def done(text: str, score: float | None, branch: str = "static", candidates: int = 2) -> dict[str, Any]:
    chosen = {"text": text, "score": score, "branch": branch}
    return {"chosen": chosen, "candidates": [{}] * candidates, "dropped": [{}] * (candidates - 1)}


OUTCOMES = {
    "A": {
        "u": done("a dog", 1.0),
        "v": done("a red dog", 4.0, "dynamic"),
        "w": done("a cat", None),
        "x": done("one", 2.0, candidates=4),
        "y": done("only of A", 9.0),
    },
    "B": {
        "u": done("a big dog runs", 3.0),
        "v": done("a dog", 3.0),
        "w": done("two cats", 5.0),
        "x": done("two", 2.0),
        "z": done("only of B", 9.0),
    },
}


class FakeStore:
    def rows(self, question: str, values: tuple[str, str]) -> list[tuple[str, Any]]:
        moment, recipe = values
        return [("done", OUTCOMES[recipe][moment])] if moment in OUTCOMES[recipe] else []

    def read_outcome(self, moment: Any, state: str, document: Any) -> tuple[str, Any]:
        return state, document


def recipe(name: str, judge: str = "m") -> Any:
    prompts, options = {"judge": SimpleNamespace(hash="p")}, SimpleNamespace(scorer="judge")
    return SimpleNamespace(
        hash=name,
        models={"judge": judge},
        prompts=prompts,
        options=options,
        evaluator=None,
        to_dict=lambda: {"is": name},
    )


def test_what_both_have_done_is_compared():
    told = compare(FakeStore(), [recipe("A"), recipe("B")], MOMENTS)  # type: ignore[arg-type]
    assert (told["moments"], told["both"], told["same judge"]) == (6, 4, True)
    assert told["recipes"] == {"a": {"is": "A"}, "b": {"is": "B"}}
    a = {"done": 5, "score": 7 / 3, "words": 8 / 4, "static": 3, "candidates": 10 / 4, "dropped": 6 / 4}
    b = {"done": 5, "score": 13 / 4, "words": 9 / 4, "static": 4, "candidates": 8 / 4, "dropped": 4 / 4}
    assert told["a"] == pytest.approx(a) and told["b"] == pytest.approx(b)
    difference = told["b − a"]  # of u, v and x: 2, −1, 0; w has no score in A
    assert difference["score"] == pytest.approx(1 / 3)
    assert (difference["b higher"], difference["equal"], difference["a higher"]) == (1, 1, 1)
    assert difference["interval"] == pytest.approx([-1, 2], abs=0.4)
    assert told["captions"][2] == {"moment": "w", "a": "a cat", "b": "two cats", "scores": [None, 5.0]}


def test_of_nothing_in_common_there_is_no_difference():
    told = compare(FakeStore(), [recipe("A"), recipe("B", "other")], MOMENTS[4:])  # type: ignore[arg-type]
    assert told["both"] == 0 and not told["same judge"] and told["captions"] == []
    assert told["b − a"]["score"] is None and told["b − a"]["interval"] is None and told["a"]["score"] is None
