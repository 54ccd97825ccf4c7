"""The evaluators of dense captions on small corpora: each of their quirks by a number that can be redone on paper."""

import pytest

import fabula
from fabula.text import cider, meteor
from fabula.text.meteor import aggregate
from tests.toys import corpus

EVALUATORS = ["densevid-2017", "densevid-2018", "densevid-2019", "pdvc-2018", "pdvc-2021", "timechat", "trace"]
EVALUATORS += ["vid2seq", "vidchapters", "vtimellm"]


def scores(name: str, pred, refs, metrics=None) -> dict[str, float]:
    result = fabula.score(pred, refs, protocol=name, metrics=metrics)
    return {n: s.value for n, s in result.scores.items()}


# w is not predicted; the second prediction is reversed
REFS = corpus({"v": [(0, 10, "a b"), (20, 30, "c d")], "w": [(0, 10, "e f")]})
PRED = corpus({"v": [(0, 10, "a b"), (30, 20, "c d")]})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("densevid-2017", 1 / 4),  # v: P = R = 1/2; w counts as 0; F of the means
        ("densevid-2018", 1 / 4),
        ("densevid-2019", 1 / 4),
        ("pdvc-2018", 1 / 4),
        ("pdvc-2021", 1 / 4),
        ("timechat", 1 / 2),  # ends exchanged: v is perfect; w counts as 0
        ("vid2seq", 1 / 2),
        ("trace", 1),  # w is left out
        ("vidchapters", 1 / 2),  # w is left out, and v is half right
    ],
)
def test_reversed_ends_and_missing_videos(name, expected):
    assert scores(name, PRED, REFS, "PRF")["PRF"] == pytest.approx(expected)


def test_three_definitions_of_f1():
    """v: P 1, R 1/2; w: P 1/2, R 1, and w's overlap .6 is none at .7 and .9."""
    refs = corpus({"v": [(0, 10, "a"), (20, 30, "b")], "w": [(0, 10, "c")]})
    pred = corpus({"v": [(0, 10, "a")], "w": [(0, 6, "c"), (50, 60, "d")]})
    low, high = (3 / 4, 3 / 4), (1 / 2, 1 / 4)  # mean P and R at .3 and .5, then at .7 and .9
    P, R = (low[0] + high[0]) / 2, (low[1] + high[1]) / 2
    assert scores("densevid-2018", pred, refs, "PRF")["PRF"] == pytest.approx(2 * P * R / (P + R))
    F = 2 * high[0] * high[1] / sum(high)
    assert scores("vidchapters", pred, refs, "PRF")["PRF"] == pytest.approx((3 / 4 + F) / 2)
    videos = (2 / 3 + 2 * (1 / 4) * (1 / 2) / (3 / 4)) / 2  # w: P 1/4 and R 1/2 over the four τ
    assert scores("vid2seq", pred, refs, "PRF")["PRF"] == pytest.approx(videos)


def test_precision_and_recall_of_the_best_annotator_each():
    pred = corpus({"v": [(0, 10, "a"), (20, 30, "b")]})
    sets = [corpus({"v": [(0, 10, "a"), (20, 30, "b"), (40, 50, "c"), (60, 70, "d")]}), corpus({"v": [(0, 10, "a")]})]
    for name in ("densevid-2017", "pdvc-2021", "trace", "vidchapters"):
        assert scores(name, pred, sets, "PRF")["PRF"] == pytest.approx(1)


GUITAR = "a man plays the guitar on a stage"
PLAYS = "a man plays a guitar"
LOST = "two dogs run"


def test_what_a_prediction_meets_that_overlaps_nothing():
    refs = corpus({"v": [(0, 10, GUITAR)]})
    pred = corpus({"v": [(50, 60, LOST), (0, 10, PLAYS)]})
    hit, abc, letters = meteor.segments([PLAYS, LOST, LOST], [[GUITAR], ["abc123!@#"], ["qzxjaaaaaa"]])
    expected = {
        "densevid-2017": aggregate([hit]),  # a match follows the lost one: it is free
        "densevid-2018": aggregate([abc, hit]),
        "pdvc-2018": aggregate([abc, hit]),
        **dict.fromkeys(("densevid-2019", "pdvc-2021", "timechat", "trace", "vid2seq", "vidchapters", "vtimellm")),
    }
    for name, value in expected.items():
        wanted = aggregate([letters, hit]) if value is None else value
        assert scores(name, pred, refs, "METEOR")["METEOR"] == pytest.approx(wanted), name
    assert aggregate([hit]) > aggregate([letters, hit]) > aggregate([abc, hit])


def test_documents_are_the_pairs_of_one_video():
    """A video with a single pair scores 0; with two, its own references are the documents, of all files together."""
    single = corpus({"v": [(0, 10, GUITAR)], "w": [(0, 10, LOST)]})
    pairs = [(PLAYS, [GUITAR]), (PLAYS, ["one man with his guitar"])]
    sets = [corpus({"v": [(0, 10, GUITAR)]}), corpus({"v": [(0, 10, "one man with his guitar")]})]
    pred = corpus({"v": [(0, 10, PLAYS)]})
    both = cider.scores(pairs, cider.Idf.from_references([r for _, r in pairs]))
    for name in EVALUATORS:
        assert scores(name, single, single, "CIDEr")["CIDEr"] == 0, name
        assert scores(name, pred, sets, "CIDEr")["CIDEr"] == pytest.approx(sum(both) / 2), name


@pytest.mark.parametrize("name", ["pdvc-2018", "pdvc-2021", "timechat", "trace", "vid2seq", "vidchapters", "vtimellm"])
def test_soda_of_each_annotator_with_its_sides_exchanged(name):
    """Two files, in one of which the event is half as long; w is in the second alone, and not predicted."""
    sets = [corpus({"v": [(0, 10, GUITAR)]}), corpus({"v": [(0, 5, GUITAR)], "w": [(0, 5, LOST)]})]
    turned = meteor.segments([GUITAR], [[PLAYS]])[0].score
    second = turned / 2 if name not in ("timechat", "vid2seq") else turned / 2 / 2  # these count w as 0
    pred = corpus({"v": [(0, 10, PLAYS)]})
    assert scores(name, pred, sets, "SODA_c")["SODA_c"] == pytest.approx((turned + second) / 2)
    assert turned != pytest.approx(meteor.segments([PLAYS], [[GUITAR]])[0].score)


@pytest.mark.parametrize("name", ["pdvc-2018", "timechat", "trace", "vid2seq", "vidchapters", "vtimellm"])
def test_soda_in_file_order_or_in_time(name):
    refs = corpus({"v": [(0, 10, GUITAR), (20, 30, LOST)]})
    pred = corpus({"v": [(20, 30, LOST), (0, 10, GUITAR)]})
    told = 1 / 2 if name in ("timechat", "trace", "vid2seq") else 1  # unsorted, only one of two is in order
    assert scores(name, pred, refs, "SODA_c")["SODA_c"] == pytest.approx(told, abs=1e-6)


def test_starts_within_seconds():
    """2 s apart: within 3, 5, 10, 30 and 60 seconds, not within 1; w is left out."""
    refs, pred = corpus({"v": [(0, 10, "a")], "w": [(0, 1, "b")]}), corpus({"v": [(2, 10, "a")]})
    assert scores("vidchapters", pred, refs, "StartPRF")["StartPRF"] == pytest.approx(5 / 6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("pdvc-2018", 2 / 3), ("pdvc-2021", 2 / 3), ("vid2seq", 2 / 3), ("timechat", 0), ("trace", 0)],
)
def test_paragraphs_and_a_missing_video(name, expected):
    """ROUGE-L or CIDEr would do as well: METEOR is 1 for the same words, 0 for none in common."""
    words = {"a": "alpha beta gamma", "b": "delta epsilon zeta", "c": "eta theta iota"}
    refs = corpus({v: [(0, 1, w)] for v, w in words.items()})
    pred = corpus({v: [(0, 1, words[v])] for v in "bc"})
    result = fabula.score(pred, refs, protocol=name, metrics="Para_METEOR")
    assert sum(result.rows["Para_METEOR"]["value"]) / len(result.rows["Para_METEOR"]) == pytest.approx(expected)


def test_predictions_beyond_a_thousand_are_not_read():
    refs = corpus({"v": [(0, 10, "a b")]})
    many = corpus({"v": [(50, 60, "x y")] * 1000 + [(0, 10, "a b")]})
    for name in ("densevid-2017", "densevid-2018", "vidchapters"):
        assert scores(name, many, refs, "PRF")["PRF"] == 0
    assert scores("vid2seq", many, refs, "PRF")["PRF"] > 0
