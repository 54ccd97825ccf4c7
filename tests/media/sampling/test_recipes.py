"""Frame recipes by hand: the rules on films short enough to do on paper, and what they print."""

from __future__ import annotations

import doctest
import math
from fractions import Fraction
from pathlib import Path

import pytest

from fabula.core.errors import SpecError
from fabula.llm.layouts import LAYOUTS
from fabula.media.sampling import all_recipes, all_resizers, recipe, resizer
from fabula.media.sampling._roundings import spread_even, spread_float32, spread_floor, step_float32
from fabula.media.sampling.base import RecipeError, VideoFacts
from fabula.media.sampling.vllm import JpegVideo
from fabula.verbs.scoring.listing import TABLES

TEN_SECONDS = VideoFacts(300, 30.0)  # 300 frames, 30 a second


def choose(text: str, video: VideoFacts = TEN_SECONDS) -> list[int]:
    return list(recipe(text).select(video).indices)


@pytest.mark.parametrize(
    ("text", "indices"),
    [  # eight frames of ten seconds, eight ways; a step of 299/7 = 42.71…, of 300/8 = 37.5, of 300/9 = 33.3…
        ("lmms-eval/decord-uniform(max_frames_num=8)", [0, 42, 85, 128, 170, 213, 256, 299]),
        ("qwen-vl-utils/decord(nframes=8)", [0, 43, 85, 128, 171, 214, 256, 299]),
        ("sglang/qwen_vl(nframes=8)", [0, 42, 85, 128, 170, 213, 256, 299]),
        ("vllm/opencv(num_frames=8)", [0, 42, 85, 128, 170, 213, 256, 299]),
        ("timechat/uniform(n_frms=8)", [0, 37, 75, 112, 150, 187, 225, 262]),
        ("transformers/default(num_frames=8)", [0, 37, 75, 112, 150, 187, 225, 262]),
        ("transformers/internvl(num_frames=8)", [18, 56, 93, 131, 168, 206, 243, 281]),
        ("vlmevalkit/base(nframe=8)", [33, 66, 100, 133, 166, 200, 233, 266]),
        ("fabula/even(n=8)", [18, 56, 93, 131, 168, 206, 243, 281]),
        ("fabula/rate(fps=0.5)", [0, 60, 120, 180, 240]),
        ("lmms-eval/vila(max_frames_num=3)", [0, 149, 298]),
    ],
)
def test_the_same_eight_frames_are_many(text, indices):
    assert choose(text) == indices


def test_what_is_said_of_time():
    pairs = recipe("transformers/qwen3_vl(num_frames=4)").select(VideoFacts(31, 10.0))
    assert pairs.indices == (0, 10, 20, 30)
    assert pairs.labels == ("0.5", "2.5")  # of every two frames the mean: (0 + 1)/2, (2 + 3)/2 s
    assert [pairs.label_of(k) for k in range(4)] == ["0.5", "0.5", "2.5", "2.5"]
    strided = recipe("lmms-eval/llava_vid(fps=2)").select(VideoFacts(90, 30.0))
    assert strided.indices == (0, 15, 30, 45, 60, 75)  # at 0, .5, 1 … s …
    assert strided.labels == ("0.00s", "1.00s", "2.00s", "3.00s", "4.00s", "5.00s")  # … and called 0, 1, 2 … s
    forced = recipe("lmms-eval/llava_vid(fps=2,max_frames_num=3,force_sample=true)").select(VideoFacts(91, 30.0))
    assert forced.labels == ("0.00s", "1.50s", "3.00s")
    assert recipe("internvl/segment-mid(num_segments=2)").select(TEN_SECONDS).labels == ("Frame1", "Frame2")


def test_where_the_original_stops():
    for text, error in (
        ("qwen-vl-utils/decord(fps=1,nframes=4)", "AssertionError"),
        ("qwen-vl-utils/decord(nframes=302)", "ValueError"),
        ("transformers/qwen2_vl", "TypeError"),
        ("transformers/qwen2_vl(num_frames=0)", "ZeroDivisionError"),
        ("vllm/molmo2(frame_sample_mode=other)", "NotImplementedError"),
    ):
        with pytest.raises(RecipeError, match=rf"\(the original stops with {error}\)") as caught:
            choose(text)
        assert caught.value.original == error


def test_frames_that_are_not_there():
    found = recipe("internvl/segment-mid(num_segments=2,bound=11/12)").select(TEN_SECONDS)
    assert found.indices == (322, 306)  # from 330 back to 299: 330 − 7.75 + 0, and + round(−15.5) = −16
    assert found.outside(300) == [322, 306]
    assert not recipe("vllm/opencv").select(TEN_SECONDS).outside(300)


def test_four_roundings_by_hand():
    assert spread_floor(0, 299, 8) == [math.floor(i * 299 / 7) for i in range(7)] + [299]
    assert spread_even(0, 5, 3) == [0, 2, 5]  # 2.5 goes to the even 2
    assert spread_float32(0, 5, 3) == [0, 2, 5]
    assert spread_floor(0, 9, 1) == spread_even(0, 9, 1) == spread_float32(0, 9, 1) == [0]
    assert step_float32(0, 10, 2.5) == [0, 2, 5, 7]
    assert step_float32(1.25, 10, 2.5) == [1, 3, 6, 8]


def test_rounding_like_torch():
    torch = pytest.importorskip("torch")
    for T, n in ((300, 8), (1801, 120), (31850, 686), (99999, 768)):
        assert spread_float32(0, T - 1, n) == torch.linspace(0, T - 1, n).round().long().tolist()
        assert step_float32(0, T, T / n) == torch.arange(0, T, T / n).int().tolist()


def test_sizes_by_hand():
    # 1080 × 1920 at 28: 38.57 → 39, 68.57 → 69 squares
    size = resizer("qwen-vl-utils/smart_resize").size(1080, 1920)
    assert (size.height, size.width) == (39 * 28, 69 * 28)
    # a video of 64 frames at 28: 768 squares at the most, root of 2,073,600 / 602,112 = 1.856: 20.8, 36.9 squares
    size = resizer("qwen-vl-utils/fetch_video-size").size(1080, 1920, 64)
    assert (size.height, size.width) == (20 * 28, 36 * 28)
    # 16:9 is nearest to 2:1 of up to three tiles: 1.78 is 0.22 away, 3:2 there is none; and the thumbnail
    size = resizer("internvl/dynamic_preprocess(max_num=3,use_thumbnail=true)").size(1080, 1920)
    assert (size.height, size.width, size.tiles) == (448, 896, 3)


def test_pictures_sent_to_vllm_as_one_video():
    facts, times = JpegVideo().describe(40)
    assert facts["frames_kept"] == 32 and facts["frames_indices"][-1] == 31  # the first 32, one second each
    exact = JpegVideo(num_frames=-1, fps=1000, frames_indices=(0, 1500, 4000, 6000), total_num_frames=12000)
    facts, times = exact.describe(4)
    assert facts["duration"] == 12.0 and times == (0.75, 5.0)
    with pytest.raises(RecipeError):
        JpegVideo(frames_indices=(0, 1)).describe(3)


@pytest.mark.parametrize("cls", [*all_recipes(), *all_resizers()], ids=lambda cls: cls.name)
def test_every_recipe_prints_itself(cls):
    made = cls()
    parse = recipe if hasattr(cls, "select") else resizer
    assert str(made) == cls.name and parse(str(made)) == made
    assert parse(made.full()) == made
    assert cls.about and cls.origin and (cls.version or cls.origin == "ours")


def test_wrong_names_and_values():
    with pytest.raises(SpecError, match=r"no frame recipe is called 'vllm/opncv'; did you mean 'vllm/opencv'\?"):
        recipe("vllm/opncv")
    with pytest.raises(SpecError, match="has no parameter 'num_frame'; did you mean 'num_frames'"):
        recipe("vllm/opencv(num_frame=3)")
    with pytest.raises(SpecError, match="gives the size of pictures"):
        recipe("qwen-vl-utils/smart_resize")
    with pytest.raises(SpecError, match="chooses frames"):
        resizer("vllm/opencv")
    with pytest.raises(SpecError, match="bound"):
        recipe("internvl/segment-mid(bound=3)")
    for text in ("fabula/rate(fps=0)", "fabula/even(n=0)", "fabula/rate(start=3,end=2)", "fabula/even(distinct=300)"):
        with pytest.raises(SpecError):
            recipe(text)


def test_ours_read_the_films_own_times():
    times = [Fraction(0), Fraction(1, 10), Fraction(1), Fraction(3, 2)]  # a film that ends at 1.6 s
    every = recipe("fabula/rate(fps=2)").select_times(times, Fraction(16, 10))  # type: ignore[attr-defined]
    assert every.indices == (0, 1, 2, 3)  # at 0, .5, 1, 1.5 s
    fast = recipe("fabula/rate(fps=10)").select_times(times, Fraction(16, 10))  # type: ignore[attr-defined]
    assert fast.indices == (0, 1, 2, 3) and fast.facts["moments"] == 16  # each frame once
    capped = recipe("fabula/rate(fps=10,most=2)").select_times(times, Fraction(16, 10))  # type: ignore[attr-defined]
    assert capped.indices == (0, 1)  # at 0 and .8 s
    part = recipe("fabula/even(n=2,start=0.5,end=1.5)").select_times(times, Fraction(16, 10))  # type: ignore[attr-defined]
    assert part.indices == (1, 2)  # at .75 and 1.25 s


PAGE = Path(__file__).resolve().parents[3] / "docs" / "frames.md"


@pytest.mark.skipif(not PAGE.exists(), reason="docs/ is not beside the package: not a checkout")
def test_the_page_has_every_recipe_as_it_is():
    text = PAGE.read_text(encoding="utf-8")
    rows = [
        f"| `{c.name}` | {c.about} | {c.trap or '–'} | {f'{c.origin} {c.version}'.strip()} |"
        for c in (*all_recipes(), *all_resizers())
    ]
    assert [row for row in rows if row not in text] == []
    assert f"{len(list(all_recipes()))} samplers" in (PAGE.parent / "index.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not PAGE.exists(), reason="docs/ is not beside the package: not a checkout")
def test_the_pages_examples_answer_what_stands_there():
    examples = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, "frames", str(PAGE), 0)
    assert len(examples.examples) == 6
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_the_list():
    head, rows = TABLES["frames"](lambda line: None)
    assert len(rows) == len(list(all_recipes())) + len(list(all_resizers())) and len({row[0] for row in rows}) == len(
        rows
    )
    assert all(len(row) == len(head) for row in rows)
    assert [row[0] for row in TABLES["layouts"](lambda line: None)[1]] == [cls.name for cls in LAYOUTS]
