"""Errors found and repaired in stories whose score a reader can redo: captions count 1 or 0, F1 = 2S/(G + P)."""

import time

import numpy as np
import pytest

import fabula
from fabula import demo
from fabula.core.errors import SpecError
from fabula.data.stories import Corpus
from fabula.diagnosis import Limits, errors
from fabula.diagnosis.errors import REPAIRS
from fabula.metrics import metric
from fabula.report.diagnose import as_json, how
from fabula.stats import Resampling
from tests.toys import corpus, find, story

SODA = "SODA_c(text=exact,tok=none)"
FEW = Resampling(resamples=50)
REF = [(0, 10, "a"), (20, 30, "b")]

CASES = {
    # kind: reference, prediction, score before, score after
    "missed": (REF, [(0, 10, "a")], 2 * 1 / 3, 1),
    "hallucinated": (REF, [*REF, (50, 60, "x")], 2 * 2 / 5, 1),
    "mislocated": (REF, [(0, 4, "a"), (20, 30, "b")], 2 * 1.4 / 4, 1),
    "miscaptioned": (REF, [(0, 10, "z"), (20, 30, "b")], 2 * 1 / 4, 1),
    "out_of_order": (REF, [(0, 10, "b"), (20, 30, "a")], 0, 1),
    "duplicate": (REF, [(0, 10, "a"), (0, 9, "a"), (20, 30, "b")], 2 * 2 / 5, 1),
    "split": ([(0, 10, "a")], [(0, 3, "a"), (3, 6.5, "a"), (6.5, 10, "a")], 2 * 0.35 / 4, 1),
    "merged": ([(0, 10, "a"), (10, 20, "b")], [(0, 20, "a")], 2 * 0.5 / 3, 2 * 1 / 4),
    "identity": ([(0, 10, "P1 sees P2")], [(0, 10, "P2 sees P1")], 0, 1),
}


def diagnosed(ref, pred, asked=SODA, limits=None):
    return errors(corpus({"v": pred}), corpus({"v": ref}), metric=asked, ci=FEW, limits=limits)


@pytest.mark.parametrize("kind", CASES)
def test_one_error_one_repair(kind):
    ref, pred, before, after = CASES[kind]
    limits = Limits(words=0) if kind == "identity" else None  # else it is an error of words too
    seen = diagnosed(ref, pred, limits=limits)
    assert seen.value == pytest.approx(before)
    assert seen[kind].errors >= 1 and seen[kind].value == pytest.approx(after)
    assert seen[kind].gain == pytest.approx(after - before)
    assert {r.kind for r in seen.repairs if r.errors} == {kind}
    assert seen.repairs[0].kind == kind  # the dearest first


def test_every_kind_has_a_case():
    assert set(CASES) == set(REPAIRS)


def test_nothing_to_repair():
    seen = diagnosed(REF, REF)
    assert seen.value == 1 and all(r.errors == r.gain == 0 for r in seen.repairs)
    assert seen.factors.product == 1


def test_two_halves_are_a_split_and_a_piece_beside_the_whole_a_duplicate():
    ref = story((0, 10))
    assert find(ref, story((0, 5), (5, 10)), None, Limits()).split == [(0, [0, 1])]
    found = find(ref, story((0, 10), (2, 3)), None, Limits())
    assert found.pairs == [(0, 0)] and found.duplicate == [1] and not found.split


def test_malformed_segments_are_hallucinated():
    found = find(story((0, 10)), story((0, 10), (9, 4), (5, 5)), None, Limits())
    assert found.pairs == [(0, 0)] and found.hallucinated == [1, 2]


def test_limits_decide():
    ref, pred = story((0, 10)), story((0, 4))
    assert find(ref, pred, None, Limits()).mislocated == [(0, 0)]
    assert find(ref, pred, None, Limits(right=0.4)).mislocated == []
    assert find(ref, pred, None, Limits(near=0.45)).missed == [0]
    assert find(ref, story((0, 9)), None, Limits(right=1)).mislocated == [(0, 0)]
    with pytest.raises(SpecError, match=r"near=0\.6 is above"):
        Limits(near=0.6)
    with pytest.raises(SpecError, match="inside=0"):
        Limits(inside=0)


def test_crossing_pairs_need_the_greedy_matching():
    ref, pred = story((0, 100), (10, 30)), story((9, 31), (10, 110))
    assert find(ref, pred, None, Limits()).pairs == [(0, 1), (1, 0)]
    assert len(find(ref, pred, None, Limits(matching="ordered")).pairs) == 1


def test_three_captions_in_a_ring():
    ref = [(0, 10, "a"), (20, 30, "b"), (40, 50, "c"), (60, 70, "d")]
    pred = [(0, 10, "b"), (20, 30, "c"), (40, 50, "a"), (60, 70, "d")]
    seen = diagnosed(ref, pred)
    assert seen["out_of_order"].errors == 3 and seen["out_of_order"].value == 1 and seen.value == 1 / 4


def test_predictions_out_of_file_order_are_found_where_they_lie():
    """The repair speaks of the events that were looked at, whatever the order of the file."""
    seen = diagnosed(REF, [(20, 30, "b"), (0, 10, "z")])
    assert seen["miscaptioned"].errors == 1 and seen["miscaptioned"].value == 1


def test_file_order_counts_where_the_metric_reads_it():
    pred = [(20, 30, "b"), (0, 10, "a")]
    seen = diagnosed(REF, pred, "SODA_c(text=exact,tok=none,order=file)")
    assert seen.value == 0.5 and seen["out_of_order"].errors == 1 and seen["out_of_order"].value == 1
    assert diagnosed(REF, pred)["out_of_order"].errors == 0


def test_procedures_have_no_words():
    seen = diagnosed([(0, 10), (20, 30)], [(0, 10)], None)
    assert seen.task == "procedure" and seen.metric == "SODA_d" and seen["missed"].value == 1
    assert {r.kind for r in seen.repairs} == {"missed", "hallucinated", "mislocated", "duplicate", "split", "merged"}
    assert {s.attribute for s in seen.videos} == {"length", "events", "overlap"}


def test_a_missing_video_is_missed_events():
    refs, pred = corpus({"v": REF, "w": REF}), corpus({"v": REF})
    seen = errors(pred, refs, metric=SODA, ci=FEW)
    assert seen.value == 0.5 and seen["missed"].errors == 2 and seen["missed"].videos == 1 and seen["missed"].value == 1
    dropped = errors(pred, refs, metric="SODA_c(text=exact,tok=none,missing=drop)", ci=FEW)
    assert dropped.value == 1 and dropped["missed"].errors == 0


def test_sets_are_diagnosed_on_their_own():
    """The second annotator saw one event more: the mean over sets of what is gained in each."""
    sets = [corpus({"v": REF}), corpus({"v": [*REF, (40, 50, "c")]})]
    pred = corpus({"v": REF})
    seen = errors(pred, sets, metric=SODA, ci=FEW)
    assert seen.value == pytest.approx((1 + 4 / 5) / 2) == fabula.score(pred, sets, metrics=SODA)["SODA_c"].value
    assert seen["missed"].errors == 1 and seen["missed"].value == 1


def test_any_metric_of_stories():
    ref, pred, *_ = CASES["missed"]
    assert diagnosed(ref, pred, "PRF")["missed"].gain > 0
    assert diagnosed(ref, pred, "mIoU")["missed"].value == 1
    assert diagnosed(ref, pred, "PRF").factors is None
    with pytest.raises(SpecError, match="does not score stories"):
        diagnosed(ref, pred, metric("METEOR"))
    assert diagnosed(ref, pred, metric("SODA_d"))["missed"].value == 1


def test_slices_by_hand():
    refs = corpus(
        {"v": [(0, 10, "one"), (50, 60, "one two")], "w": [(0, 40, "one two three"), (30, 100, "four")]}, duration=100
    )
    pred = corpus({"v": [(0, 10, "one")], "w": [(0, 40, "one two three"), (30, 100, "four")]})
    seen = errors(pred, refs, metric=SODA, ci=FEW)
    videos = {(s.attribute, s.label): s for s in seen.videos}
    assert videos["overlap", "none"].value == pytest.approx(2 / 3) and videos["overlap", "some"].value == 1
    events = {(s.attribute, s.label): s for s in seen.events}
    assert events["overlap", "none"].found == 0.5 and events["overlap", "some"].iou == 1

    assert events["position", "beginning"].found == 1 and events["position", "middle"].found == 0.5
    assert sum(s.events for s in seen.events if s.attribute == "words") == 4


def test_two_hundred_videos_in_half_a_minute():
    """ActivityNet's size: 3.7 events of 13 words a video."""
    rng = np.random.default_rng(1)
    words = [
        "a",
        "man",
        "woman",
        "walks",
        "runs",
        "sits",
        "holds",
        "the",
        "ball",
        "red",
        "car",
        "door",
        "slowly",
        "again",
        "and",
        "then",
        "by",
        "with",
        "in",
        "on",
    ]

    def told(n: int) -> list[tuple[float, float, str]]:
        starts = np.sort(rng.uniform(0, 90, n))
        return [(s, s + rng.uniform(5, 60), " ".join(rng.choice(words, 13))) for s in starts.tolist()]

    refs, pred = (corpus({f"v{i}": told(int(rng.integers(2, 6))) for i in range(200)}) for _ in range(2))
    started = time.process_time()
    seen = errors(pred, refs)
    assert time.process_time() - started < 30
    assert seen.metric == "SODA_c" and seen.factors.product == pytest.approx(seen.value, abs=1e-12)


def test_the_demo_systems_fail_as_they_were_made():
    from fabula import demo

    def dearest(name: str) -> dict[str, int]:
        seen = errors(demo.SYSTEMS[name], list(demo.REFERENCES.values()), ci=FEW)
        return {r.kind: r.errors for r in seen.repairs}

    assert next(iter(dearest("out_of_order"))) == "out_of_order"
    over = dearest("over_segmenting")
    assert over["duplicate"] > 300 and over["missed"] == 0


def test_the_line_of_how_names_the_intervals_that_were_made():
    seen = errors(demo.SYSTEMS["good"], list(demo.REFERENCES.values()), metric="SODA_d", ci=Resampling(resamples=50))
    assert how(seen).endswith("|ci:bounded-0.95-50-seed0")  # 15 videos: not one of them is the BCa that was asked for
    assert {r["ci_method"] for r in as_json(seen)["repairs"]} == {"bounded"}


def test_predictions_are_left_as_they_were():
    pred = corpus({"v": CASES["out_of_order"][1]})
    before = pred["v"].events
    errors(pred, corpus({"v": REF}), metric=SODA, ci=FEW)
    assert pred["v"].events is before and isinstance(pred, Corpus)
