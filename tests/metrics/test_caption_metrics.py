"""Metrics of single captions over several items: what is summed, what is averaged, and over whom.

Words are what blanks separate (tok=none) unless a test is about the tokeniser.
"""

import json
import math

import numpy as np
import pytest

import fabula
from fabula.core.errors import SpecError
from fabula.data.stories import Item
from fabula.metrics import metric
from fabula.metrics.captions import Items
from fabula.text import cider, meteor


def fold(text: str, items: list[Item]) -> dict[str, float]:
    made = metric(text)
    return made.fold(made.table(Items(items)))


def values(text: str, items: list[Item]) -> list[float]:
    return metric(text).table(Items(items))["value"].tolist()


FULL = Item(1, "a b c d", ("a b c d",))
PART = Item(2, "a x", ("a y z w",))


def test_bleu_sums_its_counts_over_items():
    # 1-grams 4 + 1 of 4 + 2, 2-grams 3 of 3 + 1, 3-grams 2 of 2, 4-grams 1 of 1; 6 words against 8
    p, BP = [5 / 6, 3 / 4, 2 / 2, 1 / 1], math.exp(1 - 8 / 6)
    for n in (1, 2, 3, 4):
        expected = BP * math.prod(p[:n]) ** (1 / n)
        assert fold(f"BLEU_{n}(tok=none)", [FULL, PART])["value"] == pytest.approx(expected, abs=1e-7)
        one, two = values(f"BLEU_{n}(tok=none)", [FULL, PART])
        assert one == pytest.approx(1, abs=1e-7)
        assert two == pytest.approx({1: math.exp(1 - 4 / 2) / 2}.get(n, 0), abs=1e-3)


def test_bleu_takes_the_closest_length_the_shorter_on_ties():
    # 3 words; references of 2 and 4 are equally close: r = 2, no penalty. Of 4 alone: exp(1 − 4/3)
    two = Item(1, "a b c", ("a b", "a b c d"))
    assert fold("BLEU_1(tok=none)", [two])["value"] == pytest.approx(1, abs=1e-7)
    assert fold("BLEU_1(tok=none)", [Item(1, "a b c", ("a b c d",))])["value"] == pytest.approx(math.exp(1 - 4 / 3))


def test_rouge_is_the_mean_over_items():
    # "a x" of "a y z w": one word of 2 and of 4; F = (1 + 1.44)·P·R/(R + 1.44·P)
    P, R = 1 / 2, 1 / 4
    part = 2.44 * P * R / (R + 1.44 * P)
    assert values("ROUGE_L(tok=none)", [FULL, PART]) == pytest.approx([1, part])
    assert fold("ROUGE_L(tok=none)", [FULL, PART])["value"] == pytest.approx((1 + part) / 2)


MEN = [
    Item(1, "a man plays the guitar", ("a man is playing a guitar on stage",)),
    Item(2, "two dogs run", ("a dog sleeps near the door of the house",)),
    Item(3, "a cat", ("a cat",)),
]


def test_meteor_of_the_summed_statistics_is_not_the_mean():
    segments = [meteor.segments([i.candidate], [i.references])[0] for i in MEN]
    mean = sum(s.score for s in segments) / 3
    assert fold("METEOR(tok=none,agg=mean)", MEN)["value"] == pytest.approx(mean)
    assert fold("METEOR(tok=none)", MEN)["value"] == pytest.approx(meteor.aggregate(segments))
    assert abs(mean - meteor.aggregate(segments)) > 0.05
    assert values("METEOR(tok=none)", MEN) == pytest.approx([s.score for s in segments])


FOUR = [
    Item(1, "a red ball on grass", ("a red ball on grass",)),
    Item(2, "a blue car in snow", ("a blue car on snow",)),
    Item(3, "the red dog runs home", ("the red dog goes home",)),
    Item(4, "an old man reads a book", ("an old man reads the book",)),
]


def test_cider_counts_documents_where_idf_says(tmp_path):
    one_by_one = [values("CIDEr(tok=none)", [i])[0] for i in FOUR]
    assert one_by_one == [0, 0, 0, 0]  # of one document, every word is in all of them
    assert values("CIDEr(tok=none,idf=batch:1)", FOUR) == one_by_one
    twos = values("CIDEr(tok=none)", FOUR[:2]) + values("CIDEr(tok=none)", FOUR[2:])
    assert values("CIDEr(tok=none,idf=batch:2)", FOUR) == pytest.approx(twos)
    three = values("CIDEr(tok=none)", FOUR[:3]) + values("CIDEr(tok=none)", FOUR[3:])
    assert values("CIDEr(tok=none,idf=batch:3)", FOUR) == pytest.approx(three)
    whole = values("CIDEr(tok=none)", FOUR)
    assert values("CIDEr(tok=none,idf=batch:4)", FOUR) == pytest.approx(whole)
    assert whole[0] == pytest.approx(10) and 0 < whole[1] < 10 and whole != pytest.approx(twos)
    cider.Idf.from_references([i.references for i in FOUR]).save(tmp_path / "idf.json")
    assert values(f"CIDEr(tok=none,idf=file:{tmp_path / 'idf.json'})", FOUR[:1]) == pytest.approx(whole[:1])
    assert fold("CIDEr(tok=none)", FOUR)["value"] == pytest.approx(sum(whole) / 4)


@pytest.mark.parametrize("idf", ["batch", "batch:", "batch:0", "batch:two", "file", "file:", "score:x", "corpora"])
def test_what_idf_may_be(idf):
    with pytest.raises(SpecError, match="it may be corpus, batch:N or file:PATH"):
        metric("CIDEr", idf=idf)


def test_items_without_a_candidate():
    some = [FULL, Item(2, None, ("a b",)), Item(3, "", ("a b",))]
    assert values("ROUGE_L(tok=none)", some) == [1, 0, 0]
    assert values("ROUGE_L(tok=none,missing=drop)", some) == [1, 0]  # an empty caption is there
    assert metric("ROUGE_L(missing=drop)").table(Items(some)).keys == (1, 3)
    assert fold("ROUGE_L(tok=none,missing=drop)", some)["value"] == 1 / 2


def test_how_words_are_cut():
    stop = [Item(1, "A dog.", ("a dog",))]
    assert values("ROUGE_L", stop) == [1]  # lower case, the full stop gone
    assert values("ROUGE_L(tok=none)", stop) == [0]
    accent = [Item(1, "a café dog", ("a caf dog",))]
    assert values("ROUGE_L(nonascii=blank)", accent) == [1]
    assert values("ROUGE_L", accent) == pytest.approx([2 / 3])
    both = Items(accent)
    assert [metric(m).table(both)["value"][0] == 1 for m in ("ROUGE_L", "ROUGE_L(nonascii=blank)", "ROUGE_L")] == [
        False,
        True,
        False,
    ]


P1 = "P1 is riding a horse."
NOBODY = "A dog barks."


def test_ispice_leaves_out_captionsets_without_an_action_where_told():
    some = [Item(1, P1, (P1,)), Item(2, NOBODY, (P1,))]
    assert fold("iSPICE", some) == {"value": 1 / 2, "action": 1 / 2, "identity": 1 / 2}
    assert fold("iSPICE(skip_empty=yes)", some) == {"value": 1, "action": 1, "identity": 1}
    nothing = fold("iSPICE(skip_empty=yes)", some[1:])  # the mean of nothing is no number, as published
    assert set(nothing) == {"value", "action", "identity"} and all(map(math.isnan, nothing.values()))
    assert fold("iSPICE", some[1:]) == {"value": 0, "action": 0, "identity": 0}


def test_ispice_counts_ids_up_to_a_bound():
    crowd = " ".join(f"P{n} is riding a horse." for n in range(1, 13))
    eleven = " ".join(f"P{n} is riding a horse." for n in range(1, 12)) + " P12 is holding a lamp."
    some = [Item(1, eleven, (crowd,))]
    assert fold("iSPICE", some)["value"] == 1  # P12 is nobody
    assert fold("iSPICE(ids=any)", some)["value"] == pytest.approx(11 / 12)
    assert fold("iSPICE(ids=12)", some) == fold("iSPICE(ids=any)", some)
    for ids in ("0", "x", "-1", "1.5"):
        with pytest.raises(SpecError, match="any, or the greatest id"):
            metric("iSPICE", ids=ids)


def test_ispice_finds_ids_by_their_boundary():
    # the published rule does not rename "P3," and keeps P3; ours makes it P1, as in the reference
    some = [Item(1, "P3, smiling, is riding a horse.", ("P1, smiling, is riding a horse.",))]
    assert fold("iSPICE", some)["identity"] == 1
    assert fold("iSPICE(boundary=blank)", some)["identity"] == 0


def test_spice_keeps_precision_and_recall():
    # man, horse, man ride horse; the reference has brown horse besides
    row = fold("SPICE", [Item(1, "a man is riding a horse", ("a man is riding a brown horse",))])
    assert row == pytest.approx({"value": 2 * 0.75 / 1.75, "precision": 1, "recall": 3 / 4})


def test_a_mean_of_nothing_is_nothing():
    totals = metric("ROUGE_L").of_sums(np.array([[3.0, 4.0], [0.0, 0.0]]))
    assert totals.tolist() == [3 / 4, 0]


def test_of_references_with_one_meteor_the_order_of_words_decides_and_no_file():
    """No word is shared, so that both references score 0, and their lengths enter the sum."""
    texts = ("the the zebra runs", "an ox")
    rest = Item(2, "a man runs fast", ("a man runs slowly",))
    here, there = ([Item(1, "birds", pair), rest] for pair in (texts, texts[::-1]))
    assert fold("METEOR(tok=none)", here) == fold("METEOR(tok=none)", there)
    filed = [fold("METEOR(tok=none,ties=file)", items)["value"] for items in (here, there)]
    assert filed[0] != filed[1]


def test_ispice_takes_the_reference_that_serves_best():
    assert values("iSPICE", [Item(1, P1, (P1, NOBODY)), Item(2, P1, (NOBODY, P1))]) == [1, 1]


def test_a_line_break_in_a_caption_is_named_where_the_published_tokeniser_cuts(tmp_path):
    """pycocoevalcap 1.2 on Java 17 reads 'a dog\\rruns' as two captions, and shifts all that follow."""
    file = tmp_path / "pairs.jsonl"
    lines = [
        {"id": 1, "cand": "a dog\rruns", "refs": ["a dog runs"]},
        {"id": 2, "cand": "a cat", "refs": ["a\u2028cat"]},
    ]
    lines.append({"id": 3, "cand": "two\nbirds", "refs": ["two birds"]})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = fabula.score(file, task="captions", protocol="coco", metrics="BLEU_1")
    assert result["BLEU_1"].value == pytest.approx(1, abs=1e-7)
    (said,) = result.warnings
    assert said.startswith("2 items have a caption with a line break") and said.endswith("not repeated here: 1, 2")
    assert fabula.score(file, task="captions", metrics="BLEU_1").warnings == ()
