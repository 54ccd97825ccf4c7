"""Every shared case of every frame recipe: indices, times, sizes and errors equal the originals'."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.media.sampling.vectors import RECIPES, differences

SHARED = Path(__file__).resolve().parents[4] / "shared" / "spec"


@pytest.fixture(scope="module")
def samplers() -> dict[str, Any]:
    files = sorted(SHARED.glob("vectors-frames-*.json"))
    if not files:
        pytest.skip("../shared/spec/vectors-frames-*.json is not here: cases of the originals need it")
    found: dict[str, Any] = {}
    for file in files:
        for name, sampler in json.loads(file.read_text(encoding="utf-8"))["samplers"].items():
            found.setdefault(name, []).extend(sampler["cases"])
    return found


def test_every_case_of_every_original(samplers):
    wrong = {
        f"{name} {case['id']}": fields
        for name, cases in samplers.items()
        for case in cases
        if (fields := differences(name, case))
    }
    assert not wrong, f"{len(wrong)} differ, as {list(wrong.items())[:5]}"
    assert sum(map(len, samplers.values())) >= 1763


def test_every_original_has_its_recipe(samplers):
    assert set(samplers) - set(RECIPES) == {"vllm/video-jpeg"}  # no recipe: pictures are cut before


def test_the_comparison_can_fail(samplers):
    name, case = "vllm/opencv", samplers["vllm/opencv"][0]
    assert not differences(name, case)
    other = {**case, "out": {**case["out"], "indices": [*case["out"]["indices"], 1]}}
    assert differences(name, other) == ["indices"]
    assert differences(name, {**case, "out": {"error": "ValueError"}}) == ["error"]
