"""Two recipes of a store: equal ones pass, of others the first four differences are named."""

from __future__ import annotations

import pytest

from fabula.core.errors import InputError
from fabula.library.manifest import check_recipe

RECIPE = {"embedder": "colours", "size": 32, "clips": {"fps": 1.0, "clip": 2.0, "stride": 2.0}, "weights": {}}


def refusal(wanted: dict[str, object]) -> str:
    with pytest.raises(InputError) as error:
        check_recipe(RECIPE, wanted, "store")
    return str(error.value)


def test_the_same_recipe_passes():
    assert check_recipe(RECIPE, {**RECIPE, "clips": dict(RECIPE["clips"])}, "store") is None  # type: ignore[call-overload]


def test_another_embedder_is_all_that_is_said():
    said = refusal({**RECIPE, "embedder": "offline", "size": 16})
    assert "a store of the embedder colours, not of offline" in said and "size" not in said


def test_one_difference_is_named_with_both_values():
    assert "with another recipe: size (32 there, 16 asked)" in refusal({**RECIPE, "size": 16})


@pytest.mark.parametrize(("count", "more"), [(4, ""), (5, " and 1 more"), (7, " and 3 more")])
def test_four_differences_are_named(count, more):
    said = refusal({**RECIPE, **{f"x{i}": i for i in range(count)}})
    assert said.count(" asked)") == 4 and f"x3 (none there, 3 asked){more}" in said.replace("None", "none")
