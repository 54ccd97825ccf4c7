"""iSPICE: the paper's three worked examples (Fig. 7), ids by first appearance, the two ways to average."""

import math
import re

import pytest
from golden_spice import FOLDER

from fabula.core.errors import InputError, SpecError
from fabula.data.stories import Item
from fabula.metrics import metric
from fabula.metrics.captions import Items
from fabula.text import ispice, spice

THINGS = ["take out pants", "take out opening chest", "have duffel", "have head", "hit head", "hit on bunk"]
THINGS += ["scramble off bed", "set bag", "set in area", "set on bunk"]


def acts(person, things):
    return [(person, thing) for thing in things]


def test_add_example():
    candidate = [("p1", "on", "phone"), *acts("p2", ["bow head", "have head", "look out of window"]), ("p1",), ("p2",)]
    reference = [("p1", "on", "phone"), *acts("p1", ["bow head", "have head", "look out of window"]), ("p1",)]
    assert ispice.score_tuples(candidate, reference).value == pytest.approx(1 / 4 * 2 / 3)  # .1667


def test_remove_example():
    candidate = [*acts("p1", [*THINGS, "spring"]), ("p1",)]
    reference = [*acts("p1", THINGS[:2]), *acts("p2", [*THINGS[2:], "spring"]), ("p1",), ("p2",)]
    assert ispice.score_tuples(candidate, reference).value == pytest.approx(2 / 11 * 2 / 3)  # .1212


def test_replace_example():
    common = [*acts("p1", ["race to car", "race in lot", "have car"]), ("p2", "wince"), ("p1",), ("p2",)]
    three = ["stow", "have bag", "start engine"]
    found = ispice.score_tuples(common + acts("p2", three), common + acts("p1", three))
    assert found.value == pytest.approx(4 / 7)  # .5714


def test_factors():
    tuples = [("p1", "wave"), ("p1",)]
    assert ispice.score_tuples(tuples, tuples).value == 1.0
    assert ispice.score_tuples([("dog", "bark"), ("dog",)], tuples).value == 0.0
    ids_alone = ispice.score_tuples([("p1",)], tuples)
    assert (ids_alone.value, ids_alone.identity, ids_alone.empty) == (0.0, 1.0, True)


def test_greatest_id():
    tuples = [("p12", "wave"), ("p12",)]
    assert ispice.score_tuples(tuples, tuples).value == 0.0
    assert ispice.score_tuples(tuples, tuples, ids=None).value == 1.0
    assert not any(ispice.is_id(e, None) for e in ("p", "pants", "p1a", "1", "", "p01", "p٣"))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("P4 carries P3.", "P1 carries P2."),
        ("P10 sees P1. p10 leaves P2's car, P1.", "P1 sees P2. P1 leaves P3's car, P2."),
        ("the dog barks. it runs.", "The dog barks. It runs."),
        ("top10 P3", "Top10 P1"),
        ("", ""),
    ],
)
def test_ids_by_first_appearance(text, wanted):
    assert ispice.normalise(text) == wanted


def test_published_rule_wants_blanks():
    assert ispice.normalise("P3, P5 and P3 run", "blank") == "P3, P1 and P2 run"


def test_from_text():
    same = ispice.score("P4 kicks the ball.", "P1 kicks the ball.")
    assert (same.value, same.empty) == (1.0, False)
    assert ispice.score("P1 kicks the ball. P1 smiles.", "P1 kicks the ball. P2 smiles.").value < 1.0
    assert ispice.score("A dog runs.", "P1 runs.").value == 0.0


def test_two_means():
    rows = [ispice.score_tuples([("p1", "wave"), ("p1",)], [("p1", "wave"), ("p1",)]), ispice.score_tuples([], [])]
    assert ispice.mean(rows) == 0.5
    assert ispice.mean(rows, skip_empty=True) == 1.0
    assert math.isnan(ispice.mean(rows[1:], skip_empty=True))


def test_metric_names_its_choices():
    honest, published = metric("iSPICE"), metric("iSPICE(skip_empty=yes,boundary=blank)")
    assert "skip_empty=no" in honest.full() and "ids=11" in honest.full()
    items = [Item(0, "P1 kicks the ball.", ("P2 kicks the ball.",)), Item(1, "A dog runs.", ("P1 runs.",))]
    rows = honest.table(Items(items))
    assert honest.fold(rows)["value"] == 0.5
    assert published.fold(rows)["value"] == 1.0
    with pytest.raises(SpecError, match="any, or the greatest id"):
        metric("iSPICE(ids=many)")


def test_bad_input():
    with pytest.raises(InputError, match="2 candidates for 1 references"):
        ispice.scores(["a", "b"], ["a"])
    with pytest.raises(InputError, match=r"candidates\[0\]: seen None"):
        ispice.scores([None], ["a"])


def papers_example(number, comma=""):
    """A candidate and a reference of MICap's Fig. 7."""
    papers = [*(FOLDER.parent / "seeds").glob("001*.txt")]
    if not papers:
        pytest.skip(f"the paper's text is absent from {FOLDER.parent / 'seeds'}")
    text = papers[0].read_text(encoding="utf-8")
    return [
        re.findall(rf"^{side} : (.*)$", text, re.MULTILINE)[number].replace("Meanwhile P1", f"Meanwhile{comma} P1")
        for side in ("Candidate", "Reference")
    ]


@pytest.mark.parametrize(
    ("number", "comma", "wanted"), [(0, "", 0.1667), (1, "", 0.1212), (2, "", 0.5714), (2, ",", 0.5714)]
)
def test_papers_examples_from_raw_text(number, comma, wanted):
    candidate, reference = papers_example(number, comma)
    assert ispice.score(candidate, reference).value == pytest.approx(wanted, abs=5e-5)


@pytest.mark.parametrize(("number", "comma", "wanted", "graphs"), [
    (0, "", 0.1667, 0.9176), (1, "", 0.1212, 0.7912), (2, "", 0.3810, 0.9041), (2, ",", 0.3810, 0.9041),
])  # fmt: skip
def test_papers_examples_as_its_program_reads_them(number, comma, wanted, graphs):
    """The program loses the last full stop; 'P2 winces' is then a noun phrase, to the original's jar as well.

    The jar gives .3810 and .9041 for the third example with its comma (test_spice_java.py). The figure prints what the
    text with its full stop gives, .5714 and .9167: it was not made with that program.
    """
    candidate, reference = papers_example(number, comma)
    assert ispice.score(candidate, reference, boundary="blank").value == pytest.approx(wanted, abs=5e-5)
    both = [ispice.normalise(text, "blank") for text in (candidate, reference)]
    assert spice.score(both[0], [both[1]]).f == pytest.approx(graphs, abs=5e-5)


@pytest.mark.parametrize(
    ("text", "tuples"),
    [
        ("P2 winces.", [("p2", "wince"), ("p2",)]),
        ("P2 winces", [("wince", "p2")]),
        ("P1 laughs", [("laugh", "p1")]),
        ("P2 smiles", [("smiles", "p2")]),
        ("P1 leaves", [("leaf", "p1")]),
        ("P1 sits", [("p1", "sit"), ("p1",)]),
        ("P1 walks off", [("p1", "walk"), ("p1",)]),
        ("P1 looks at P2", [("p1", "p2", "look at"), ("p1",), ("p2",)]),
    ],
)
def test_two_words_without_a_full_stop_are_a_noun_phrase(text, tuples):
    """All as the original's jar has them."""
    assert sorted(t for t in spice.tuples(text) if any(e in ("p1", "p2") for e in t)) == sorted(tuples)
