"""Captions compared where segments overlap: each published rule by a case that can be redone on paper.

Words are taken as they are (tok=none). ROUGE-L of "a b" with "a b" is 1, with "a c" it is 1/2 (one of two words on both
sides, so P = R = F = 1/2), with nothing in common 0.
"""

import pytest

from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.metrics import metric
from fabula.metrics.stories import Stories
from fabula.metrics.stories._families.overlap_pairs import GARBAGE, letters


def told(**videos: list[tuple[float, float, str]]) -> Corpus:
    return Corpus({v: Story(v, tuple(Event(Segment(s, e), c) for s, e, c in events)) for v, events in videos.items()})


def value(text: str, refs: Corpus | list[Corpus], pred: Corpus, field: str = "value") -> float:
    m = metric(text)
    return m.fold(m.table(Stories(refs if isinstance(refs, list) else [refs], pred)))[field]


REF = told(v=[(0, 10, "a b"), (20, 30, "c d")])
HIT = (0, 10, "a b")  # overlaps the first reference wholly
HALF = (20, 30, "c x")  # the second, half its words
LOST = (50, 60, "a b")  # overlaps nothing


@pytest.mark.parametrize(
    ("garbage", "events", "expected"),
    [
        ("zero", [HIT, HALF, LOST], (1 + 1 / 2 + 0) / 3),
        ("abc", [HIT, HALF, LOST], (1 + 1 / 2 + 0) / 3),
        ("random", [HIT, HALF, LOST], (1 + 1 / 2 + 0) / 3),
        ("last", [HIT, HALF, LOST], (1 + 1 / 2 + 0) / 3),  # the last prediction is lost: it counts
        ("last", [HIT, LOST, HALF], (1 + 1 / 2) / 2),  # a match follows it: it does not
        ("last", [LOST, LOST, HIT], 1.0),
        ("last", [HIT, LOST, LOST], (1 + 0) / 2),  # of two only one counts
        ("zero", [LOST], 0.0),
        ("zero", [], 0.0),
    ],
)
def test_what_becomes_of_a_prediction_that_overlaps_nothing(garbage, events, expected):
    pred = told(v=events)
    assert value(f"DVC_ROUGE_L(garbage={garbage},tok=none,order=file)@0.5", REF, pred) == pytest.approx(expected)


def test_a_hypothesis_that_says_the_garbage_is_paid_for_it():
    pred = told(v=[(50, 60, GARBAGE)])
    assert value("DVC_ROUGE_L(garbage=abc,tok=none)@0.5", REF, pred) == 1.0
    assert value("DVC_ROUGE_L(garbage=random,tok=none)@0.5", REF, pred) == 0.0
    assert value("DVC_ROUGE_L(tok=none)@0.5", REF, pred) == 0.0


def test_random_letters_differ_and_do_not_move_meteor():
    assert len({letters(n) for n in range(1000)}) == 1000 and all(len(letters(n)) == 10 for n in range(1000))
    ref = told(v=[(0, 10, "a man plays the guitar")])
    pred = told(v=[(0, 10, "a man plays a guitar"), (50, 60, "a dog runs"), (70, 80, "he sings")])
    scores = {}
    for garbage in ("abc", "random"):
        scores[garbage] = value(f"DVC_METEOR(garbage={garbage},agg=corpus)@0.5", ref, pred)
    assert scores["random"] > scores["abc"] > 0, "one unmatched word costs less than the four of abc123!@#"


def test_one_prediction_meets_every_reference_it_overlaps_in_all_sets_together():
    ref = told(v=[(0, 10, "a b"), (1, 11, "a c")])
    other = told(v=[(0, 10, "x y")])
    pred = told(v=[(0, 10, "a b")])
    assert value("DVC_ROUGE_L(refs=merged,tok=none)@0.5", [ref, other], pred) == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert value("DVC_ROUGE_L(refs=mean,tok=none)@0.5", [ref, other], pred) == pytest.approx((3 / 4 + 0) / 2)


def test_the_mean_over_levels_and_the_border():
    ref, pred = told(v=[(0, 10, "a b")]), told(v=[(0, 5, "a b")])  # IoU 1/2
    assert value("DVC_ROUGE_L(tok=none)@0.3/0.5/0.7/0.9", ref, pred) == 2 / 4, "an overlap of τ itself is enough"


def test_cider_of_one_video_with_one_pair_is_nothing_and_of_the_corpus_something():
    ref = told(v=[(0, 10, "a b c d e")], w=[(0, 10, "f g h i j")])
    pred = told(v=[(0, 10, "a b c d e")])
    assert value("DVC_CIDEr(idf=video,tok=none)@0.5", ref, pred) == 0.0
    assert value("DVC_CIDEr(idf=corpus,tok=none)@0.5", ref, pred) == pytest.approx(10 / 2)  # w is missing: 0


def test_top_takes_the_first_of_the_file():
    pred = told(v=[LOST, HIT])
    assert value("DVC_ROUGE_L(top=1,tok=none)@0.5", REF, pred) == 0.0
    assert value("DVC_ROUGE_L(top=2,tok=none)@0.5", REF, pred) == 1 / 2


def test_three_definitions_of_f1():
    ref = told(v=[(0, 10, ""), (10, 20, ""), (20, 30, "")], w=[(0, 10, "")])
    pred = told(v=[(0, 10, "")], w=[(0, 10, ""), (50, 60, "")])
    # v: P 1, R 1/3, F 1/2.   w: P 1/2, R 1, F 2/3.   means: P 3/4, R 2/3
    assert value("PRF@0.5", ref, pred, "f1") == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert value("PRF(f1=means)@0.5", ref, pred, "f1") == pytest.approx(2 * (3 / 4) * (2 / 3) / (3 / 4 + 2 / 3))
    half = told(v=[(0, 10, "")], w=[(0, 10, "")])
    some = told(v=[(0, 6, "")], w=[(0, 10, "")])  # v overlaps by .6: a hit at .5, none at .7
    # at .5: P = R = 1.   at .7: P = R = 1/2.   F of each level: 1 and 1/2
    assert value("PRF(f1=levels)@0.5/0.7", half, some, "f1") == pytest.approx((1 + 1 / 2) / 2)


def test_starts_within_seconds():
    ref, pred = told(v=[(0, 10, ""), (20, 30, "")]), told(v=[(3, 4, ""), (25, 26, "")])
    assert value("StartPRF@5", ref, pred, "recall") == 1 / 2, "5 seconds are not less than 5"
    assert value("StartPRF@6", ref, pred, "recall") == 1.0


def test_caption_scores_in_the_wrong_columns_from_eleven_predictions_on():
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    events = [(10.0 * i, 10.0 * i + 9, f"{w} {w}") for i, w in enumerate(words)]
    ref, pred = told(v=events), told(v=events)
    assert value("SODA_c(text=exact,tok=none)", ref, pred, "f1") == 1.0
    # sorted as text: 0, 1, 10, 11, 2, … — only the first two stay where they belong
    assert value("SODA_c(text=exact,tok=none,columns=sorted)", ref, pred, "f1") == pytest.approx(2 / 12)
    ten = told(v=events[:10])
    assert value("SODA_c(text=exact,tok=none,columns=sorted)", ten, ten, "f1") == 1.0


def test_reversed_ends_exchanged():
    ref, pred = told(v=[(0, 10, "")]), told(v=[(10, 0, "")])
    assert value("SODA_d", ref, pred, "f1") == value("SODA_d(segments=raw)", ref, pred, "f1") == 0.0
    assert value("SODA_d(segments=swap)", ref, pred, "f1") == 1.0


def test_paragraphs_shift_after_a_missing_video():
    ref = told(a=[(0, 1, "x y")], b=[(0, 1, "p q")], c=[(0, 1, "r s")])
    pred = told(b=[(0, 1, "p q")], c=[(0, 1, "r s")])
    assert value("Para_ROUGE_L", ref, pred) == pytest.approx((0 + 1 + 1) / 3)
    assert value("Para_ROUGE_L(missing=drop)", ref, pred) == 1.0
    assert value("Para_ROUGE_L(pairing=shifted)", ref, pred) == 0.0, "b's words meet a's reference, c's those of b"


def test_paragraphs_keep_letters_only_and_file_order():
    ref = told(v=[(5, 6, "it's 2 Dogs!"), (0, 1, "A cat")])
    pred = told(v=[(5, 6, "it s dogs"), (0, 1, "a cat")])
    assert value("Para_BLEU_4(order=file)", ref, pred) == pytest.approx(1.0, abs=1e-6)
