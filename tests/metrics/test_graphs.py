"""SPICE and iSPICE of dense captions, of paragraphs, and who parses: from pairs that a reader can redo."""

import numpy as np
import pytest

import fabula
from fabula.core.errors import SpecError
from fabula.data.stories import Item
from fabula.metrics import metric, set_parser
from fabula.metrics.captions._graphs import ALONE, MATCHED, UNCOUNTED
from fabula.text import ispice, spice
from fabula.text.spice import java as spice_java
from tests.toys import corpus, rows

REF = corpus({"v": [(0, 10, "a man is riding a brown horse"), (10, 20, "a dog is chasing a cat"), (20, 30, "a cat")]})
PRED = corpus({"v": [(0, 8, "a man is riding a horse"), (10, 14, "a dog is chasing a bird"), (50, 60, "a dog")]})


def test_spice_where_segments_overlap():
    """IoU .8 and .4: both pairs count at τ = .3, the first alone at .5 and .7, none at .9; the third is 0."""
    one = spice.score("a man is riding a horse", ["a man is riding a brown horse"]).f
    two = spice.score("a dog is chasing a bird", ["a dog is chasing a cat"]).f
    assert one == pytest.approx(2 * 1 * (3 / 4) / (1 + 3 / 4))  # man, horse, man ride horse of 4 tuples
    assert two == pytest.approx(1 / 3)  # dog of 3 and 3
    table = rows(metric("DVC_SPICE"), REF, PRED)
    found = [table[f"value@{tau}"][0] for tau in (0.3, 0.5, 0.7, 0.9)]
    assert found == pytest.approx([(one + two) / 3, one / 3, one / 3, 0])
    assert table["value"][0] == pytest.approx(np.mean(found))
    assert rows(metric("SPICE@0.5", "dense"), REF, PRED)["value"][0] == pytest.approx(one / 3)


def test_a_name_means_what_the_task_has():
    assert metric("SPICE").name == "SPICE" and metric("SPICE", "dense").name == "DVC_SPICE"
    result = fabula.score(PRED, REF, metrics="SPICE,iSPICE,Para_SPICE,Para_iSPICE")
    assert list(result.scores) == ["SPICE", "iSPICE", "Para_SPICE", "Para_iSPICE"] and result.task == "dense"
    assert "spice:1.0-native" in result["SPICE"].signature and "spice=native" in result["Para_iSPICE"].signature
    assert result["iSPICE"].value == result["Para_iSPICE"].value == 0  # nobody has an id


def test_people_are_renamed_over_the_whole_story():
    """P3, P9 and P1, P2 are the same two; by themselves the second captions would both be P1's."""
    told = corpus(
        {"v": [(0, 10, "P1 is riding a horse."), (10, 20, "P2 is holding a lamp."), (20, 30, "A dog barks.")]}
    )
    same = corpus(
        {"v": [(0, 10, "P3 is riding a horse."), (10, 20, "P9 is holding a lamp."), (20, 30, "A dog barks.")]}
    )
    other = corpus({"v": [(0, 10, "P3 is riding a horse."), (10, 20, "P3 is holding a lamp."), (20, 30, "A cat.")]})
    assert metric("DVC_iSPICE").fold(rows(metric("DVC_iSPICE"), told, same)) == {"value": 1}
    assert metric("DVC_iSPICE").fold(rows(metric("DVC_iSPICE"), told, other)) == {"value": 1 / 2}  # two pairs count
    m = metric("Para_iSPICE")
    table = rows(m, told, other)
    expected = ispice.score("P1 is riding a horse. P1 is holding a lamp. A cat.", " ".join(told["v"].captions))
    assert table["value"][0] == expected.value < 1
    assert m.fold(rows(m, told, same))["value"] == 1


def test_paragraphs_keep_their_sentences():
    table = rows(metric("Para_SPICE"), REF, PRED)
    joined = [". ".join(c["v"].captions) + "." for c in (PRED, REF)]
    assert table["value"][0] == spice.score(joined[0], [joined[1]]).f


def test_both_ways_of_tokenising_and_any_order():
    for text in ("DVC_iSPICE(tok=ptb)", "DVC_SPICE(tok=none)", "DVC_SPICE(refs=merged)", "DVC_iSPICE(top=1)"):
        value = metric(text).fold(rows(metric(text), [REF, REF], PRED))["value"]
        assert 0 <= value <= 1
    with pytest.raises(SpecError, match="any, or the greatest id"):
        metric("DVC_iSPICE(ids=0)")


def test_what_a_picture_shows():
    item = Item(0, "P4 is holding a red lamp.", ("P1 is holding a lamp. P2 is riding a horse.",))
    (plain,), (own,) = (metric(m).graphs([item]) for m in ("SPICE(tok=none)", "iSPICE"))
    assert own.value == ispice.score(item.candidate, item.references[0]).value
    marks = dict(own.candidate)
    assert marks["p1",] == MATCHED and marks["p1", "hold", "lamp"] == MATCHED and marks["lamp",] == UNCOUNTED
    assert dict(own.reference)["p2",] == ALONE and dict(own.reference)["p2", "ride", "horse"] == ALONE
    assert dict(plain.candidate)["lamp", "red"] == ALONE and dict(plain.candidate)["lamp",] == MATCHED
    assert {mark for _, mark in plain.candidate + plain.reference} == {ALONE, MATCHED}


@pytest.mark.parametrize("text", ["", "Run", "walk " * 2000, "A ball", "мама мыла раму", "他在跑步 P1", "P1 " * 300])
def test_odd_captions_have_a_number(text):
    odd = corpus({"v": [(0, 10, text), (10, 20, text)]})
    for name in ("DVC_SPICE", "DVC_iSPICE", "Para_SPICE", "Para_iSPICE"):
        for ref, pred in ((REF, odd), (odd, PRED), (odd, odd)):
            values = metric(name).fold(rows(metric(name), ref, pred))
            assert all(0 <= value <= 1 for value in values.values()), (name, values)


# Who parses -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def java(monkeypatch):
    """The original's answers stand in for it: its jar is half a gigabyte."""
    calls: list[int] = []

    def scores(candidates, references):
        calls.append(len(candidates))
        return spice.scores(candidates, references)

    monkeypatch.setattr(spice_java, "scores", scores)
    return calls


@pytest.mark.parametrize("name", ["SPICE", "iSPICE", "Para_SPICE", "Para_iSPICE"])
def test_an_option_and_a_parameter_are_one(java, name):
    by_option = fabula.score(PRED, REF, metrics=name, spice="java")
    assert java
    by_parameter = fabula.score(PRED, REF, metrics=f"{name}(spice=java)")
    assert by_option[name].signature == by_parameter[name].signature
    assert "spice=java" in by_option[name].signature and "|spice:1.0-java|" in by_option[name].signature
    assert by_option.task == "dense"


def test_an_option_that_nothing_uses_or_that_contradicts():
    with pytest.raises(SpecError, match="--spice java is for SPICE and iSPICE, and no metric of scene graphs"):
        fabula.score(PRED, REF, metrics="mIoU", spice="java")
    with pytest.raises(SpecError, match="contradict each other"):
        set_parser([metric("iSPICE(spice=java)")], "native")
    mixed = set_parser([metric("mIoU"), metric("iSPICE")], "java")
    assert [str(m) for m in mixed] == ["mIoU", "iSPICE(spice=java)"]
    with pytest.raises(SpecError, match="spice may be native, java"):
        fabula.score(PRED, REF, metrics="SPICE", spice="perl")
