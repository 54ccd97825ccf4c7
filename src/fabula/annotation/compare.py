"""Two recipes on the same moments: an A/B of prompts or models, with an interval.

Both annotate the same sample. What each chose is marked by the recipe's own judge, so a difference of scores is a
difference of captions only where both have the same judge (model and prompt); where not, the answer says so.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from fabula.annotation.moments import Moment
from fabula.annotation.recipe import Recipe
from fabula.annotation.store import Store
from fabula.documents.fields import JsonDict

RESAMPLES = 10_000


def draw_sample(store: Store, size: int, seed: int) -> list[Moment]:
    """So many moments by chance, the same for the same seed (reservoir sampling: none but these is held)."""
    rng = random.Random(seed)
    sample: list[Moment] = []
    for n, moment in enumerate(store.moments()):
        if n < size:
            sample.append(moment)
        elif (at := rng.randrange(n + 1)) < size:
            sample[at] = moment
    return sample


def compare(store: Store, recipes: Sequence[Recipe], moments: Sequence[Moment], seed: int = 0) -> JsonDict:
    """What A and B made of the moments that both have done."""
    a, b = (outcomes(store, recipe.hash, moments) for recipe in recipes)
    both = sorted(a.keys() & b.keys())
    sides = {name: describe(found, both) for name, found in (("a", a), ("b", b))}
    scores = [(a[k]["chosen"]["score"], b[k]["chosen"]["score"]) for k in both]
    known = np.array([(x, y) for x, y in scores if x is not None and y is not None], dtype=float).reshape(-1, 2)
    difference = known[:, 1] - known[:, 0]
    judges = [(r.models["judge"], r.prompts["judge"].hash, r.options.scorer, r.evaluator) for r in recipes]
    return {
        "moments": len(moments),
        "both": len(both),
        "same judge": judges[0] == judges[1],
        "recipes": {"a": recipes[0].to_dict(), "b": recipes[1].to_dict()},
        **sides,
        "b − a": {
            "score": float(difference.mean()) if len(difference) else None,
            "interval": interval(difference, seed),
            "b higher": int((difference > 0).sum()),
            "equal": int((difference == 0).sum()),
            "a higher": int((difference < 0).sum()),
        },
        "captions": [
            {"moment": k, "a": a[k]["chosen"]["text"], "b": b[k]["chosen"]["text"], "scores": list(s)}
            for k, s in zip(both, scores, strict=True)
        ],
    }


def outcomes(store: Store, recipe: str, moments: Sequence[Moment]) -> dict[str, JsonDict]:
    found = {}
    for m in moments:
        rows = store.rows(
            "SELECT state, document FROM outcomes WHERE moment = ? AND recipe = ? AND state = 'done'", (m.key, recipe)
        )
        if rows:
            found[m.key] = store.read_outcome(m, *rows[0])[1]
    return found


def describe(found: dict[str, JsonDict], both: Sequence[str]) -> JsonDict:
    chosen = [found[k]["chosen"] for k in both]
    scores = [c["score"] for c in chosen if c["score"] is not None]
    n = max(1, len(both))
    return {
        "done": len(found),
        "score": sum(scores) / len(scores) if scores else None,
        "words": sum(len(c["text"].split()) for c in chosen) / n,
        "static": sum(c["branch"] == "static" for c in chosen),
        "candidates": sum(len(found[k]["candidates"]) for k in both) / n,
        "dropped": sum(len(found[k]["dropped"]) for k in both) / n,
    }


def interval(difference: Any, seed: int) -> list[float] | None:
    """95 % of the bootstrap's means, over moments."""
    if len(difference) < 2:
        return None
    rng = np.random.default_rng(seed)
    means = [difference[rng.integers(0, len(difference), len(difference))].mean() for _ in range(RESAMPLES)]
    return [float(x) for x in np.percentile(means, [2.5, 97.5])]
