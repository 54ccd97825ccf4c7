"""Token estimates by hand, for the families of asking models."""

from __future__ import annotations

import pytest

from fabula.core.errors import SpecError
from fabula.media.token_costs import BORDERS, COSTS, find_cost, token_cost


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("Qwen/Qwen3-VL-8B-Instruct", "qwen3"),
        ("qwen2.5-vl-72b", "qwen2.5"),
        ("Qwen/Qwen2-VL-7B", "qwen2"),
        ("OpenGVLab/InternVL3-8B", "internvl"),
        ("lmms-lab/llava-onevision-qwen2-7b-ov", "llava-onevision"),
        ("llava-hf/LLaVA-NeXT-Video-7B-hf", "llava-next-video"),
        ("llava-1.5-7b", "llava-1.5"),
        ("TimeChat-7b", "timechat"),
        ("gpt-5", "other"),
    ],
)
def test_families_by_the_models_name(model, family):
    assert find_cost(model).name == family
    assert token_cost(family) is find_cost(model)


def test_costs_by_hand():
    # 640 × 360: sides to 23 and 13 squares of 28, to 20 and 11 of 32
    assert token_cost("qwen2.5").of_pictures(360, 640) == 23 * 13 + BORDERS
    assert token_cost("qwen3").of_pictures(360, 640, 5) == 5 * (20 * 11 + BORDERS)
    # 60 frames are 30 pairs; Qwen3's have a mark of ten tokens each
    assert token_cost("qwen2.5").of_video(360, 640, 60) == 30 * 23 * 13 + BORDERS
    assert token_cost("qwen3").of_video(360, 640, 60) == 30 * (20 * 11 + 10) + BORDERS
    assert token_cost("llava-1.5").of_pictures(360, 640) == 576 + BORDERS
    assert token_cost("llava-next-video").of_video(360, 640, 32) == 32 * 144 + BORDERS
    assert token_cost("llava-onevision").of_video(360, 640, 32) == 32 * 196 + 1 + BORDERS
    # 640 × 360 is nearest to a grid of 2 × 1 tiles, and there is a thumbnail
    assert token_cost("internvl").of_pictures(360, 640) == 3 * 256 + BORDERS
    assert token_cost("internvl").of_video(360, 640, 8) == 8 * 256 + BORDERS
    assert token_cost("timechat").of_video(224, 224, 96) == 96 + BORDERS
    assert token_cost("other").of_pictures(1, 1) == 1200
    assert all(cost.of_video(360, 640, 0) == 0 for cost in COSTS)


def test_slivers_and_wrong_names():
    assert token_cost("qwen2").of_pictures(3, 3000) > 0
    with pytest.raises(SpecError, match=r"no family of models is called 'qwen4'; did you mean 'qwen"):
        token_cost("qwen4")
