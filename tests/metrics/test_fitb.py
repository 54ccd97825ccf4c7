"""FITB on sets that can be counted by hand."""

import pytest

from fabula import metrics
from fabula.core.errors import InputError
from fabula.data.identity import Clip, ClipSet
from fabula.metrics.identity import ClipSets

DEFAULT, PUBLISHED = metrics.metric("FITB"), metrics.metric("FITB(labels=exact,short=shift)")
both = pytest.mark.parametrize("metric", [DEFAULT, PUBLISHED], ids=["default", "published"])


def of(*clips):
    """("A,B", "1,1"), …: true and given ids of each clip; _ for no blank, None for no line."""
    return ClipSet(
        tuple(
            Clip(f"c{i}", () if g == "_" else tuple(g.split(",")), None if p is None else tuple(p.split(",")))
            for i, (g, p) in enumerate(clips)
        )
    )


def fold(metric, *sets):
    return metric.fold(metric.table(ClipSets(sets)))


@both
def test_the_vector_of_the_specification(metric):
    """A B A B against 1 1 2 2: both same pairs are wrong, two of four different pairs are right."""
    found = fold(metric, of(("A,B", "1,1"), ("_", "7"), ("A,B", "2,2")))
    assert found == {"instance": 2 / 6, "same": 0, "different": 2 / 4, "class": 0}


@both
def test_means_are_over_sets_that_have_such_pairs(metric):
    one = of(("A,A,B", "1,1,1"))  # same 1/1, different 0/2
    two = of(("A,A", "1,2"))  # same 0/1, nothing different
    three = of(("A,B", "1,2"))  # different 1/1, nothing the same
    alone = of(("A", "1"), ("_", "_"))  # one blank: no pair
    assert len(metric.table(ClipSets([one, two, three, alone]))) == 3
    found = fold(metric, one, two, three, alone)
    assert found == pytest.approx({"instance": (1 / 3 + 0 + 1) / 3, "same": 1 / 2, "different": 1 / 2, "class": 1 / 2})


@both
def test_labels_need_not_be_the_true_ones(metric):
    assert fold(metric, of(("A,B,A", "x,y,x"))) == {"instance": 1, "same": 1, "different": 1, "class": 1}


@both
def test_everything_wrong_is_0(metric):
    assert fold(metric, of(("A,A,B", "1,2,1")))["same"] == 0
    assert fold(metric, of(("A,A", "1,2")), of(("A,B", "1,1"))) == dict.fromkeys(DEFAULT.fields, 0)


def test_one_bracket_around_several_ids():
    """[1, 1] between commas is '[1' and ' 1]': one person to us, two to the published program."""
    clips = of(("[A],[A]", "[1, 1]"))
    assert fold(DEFAULT, clips)["same"] == 1 and fold(PUBLISHED, clips)["same"] == 0


def test_an_id_too_few_is_wrong_alone_or_moves_all_others():
    """A | A | B against 1, nothing on the second, 1: ours has one pair left, (A, B), and gets it wrong."""
    clips = of(("A,A", "1"), ("B,B", "2,2,3"))
    # ours: 1 – 2 2, the id too many is not read: pairs AA wrong, four AB of which two are right, BB right
    assert DEFAULT.unit(clips) == {
        "instance": 3 / 6, "blanks": 4, "same_pairs": 2, "same_right": 1, "different_pairs": 4, "different_right": 2,
    }  # fmt: skip
    # published: 1 2 2 3
    assert PUBLISHED.unit(clips)["same_right"] == 0 and PUBLISHED.unit(clips)["different_right"] == 3


@pytest.mark.parametrize("nobody", ["_", "", "[]", " "])
def test_a_blank_left_open_is_wrong_in_all_its_pairs(nobody):
    assert fold(DEFAULT, of(("A,A,B", f"1,1,{nobody}"))) == pytest.approx(
        {"instance": 1 / 3, "same": 1, "different": 0, "class": 0}
    )
    assert fold(DEFAULT, of(("A,A", "1,1"), ("B", None)))["instance"] == pytest.approx(1 / 3)


def test_an_underscore_is_an_id_to_the_published_program():
    assert fold(PUBLISHED, of(("A,B", "1,_"))) == {"instance": 1, "same": 0, "different": 1, "class": 0}


def test_where_the_published_program_ends_the_clip_is_named():
    with pytest.raises(InputError, match=r"clip 'c1': 3 ids for the 4 blanks.*too few"):
        PUBLISHED.table(ClipSets([of(("A,A", "1,2"), ("B,B", "3"))]))
    with pytest.raises(InputError, match="clip 'c1': no prediction"):
        PUBLISHED.table(ClipSets([of(("A,A", "1,2"), ("B,B", None))]))


def test_numbers_are_added_from_left_to_right():
    """1/3 + 1/3 + … in another order ends in another digit."""
    third, whole = of(("A,A,B", "1,1,1")), of(("A,B", "1,2"))
    found = fold(DEFAULT, *[third] * 10, whole)["instance"]
    total = 0.0
    for share in [1 / 3] * 10 + [1.0]:
        total += share
    assert found == total / 11
