"""Caption matrices: shape, roles, tokens made once."""

import pytest

from fabula.core.errors import InputError, SpecError
from fabula.pair.captions import Captions
from tests.toys import share, story  # noqa: F401


def bound(ref, pred, scorer="exact", roles="prediction-as-hypothesis", ascii_only=False):
    captions = Captions(scorer, roles, "none", ascii_only)
    captions.tokenize([*ref.captions, *pred.captions])
    return captions.matrix(ref, pred)


def test_rows_are_references_columns_are_predictions():
    ref, pred = story((0, 1, "a"), (1, 2, "b"), (2, 3, "c")), story((0, 1, "b"), (1, 2, "c"))
    assert bound(ref, pred).tolist() == [[0, 0], [1, 0], [0, 1]]
    assert bound(ref, pred, roles="gold-as-hypothesis").tolist() == [[0, 0], [1, 0], [0, 1]]


@pytest.mark.usefixtures("share")
def test_roles():
    ref, pred = story((0, 1, "a b c d"), (1, 2, "e")), story((0, 1, "a b"))
    assert bound(ref, pred, "share").tolist() == [[2 / 2], [0]]  # all words of the prediction are right
    assert bound(ref, pred, "share", "gold-as-hypothesis").tolist() == [[2 / 4], [0]]


@pytest.mark.parametrize("roles", ["prediction-as-hypothesis", "gold-as-hypothesis"])
def test_empty_sides(roles):
    some, none = story((0, 1, "a")), story()
    assert bound(some, none, roles=roles).shape == (1, 0)
    assert bound(none, some, roles=roles).shape == (0, 1)
    assert bound(none, none, roles=roles).shape == (0, 0)


def test_nonascii_becomes_blanks():
    ref, pred = story((0, 1, "café")), story((0, 1, "caf "))
    assert bound(ref, pred).tolist() == [[0]]
    assert bound(ref, pred, ascii_only=True).tolist() == [[1]]


def test_each_sentence_is_tokenised_once(monkeypatch):
    asked = []
    monkeypatch.setattr("fabula.text.tokens_by_sentence", {})
    monkeypatch.setattr(
        "fabula.text.ptb.tokenize_all", lambda sentences, **_: asked.extend(sentences) or list(sentences)
    )
    for tok in ("ptb", "none"):
        captions = Captions("exact", "prediction-as-hypothesis", tok, False)
        captions.tokenize(["a", "b", "a"])
        captions.tokenize(["b", "c"])
        assert dict(captions.tokens) == {"a": "a", "b": "b", "c": "c"}
    assert sorted(asked) == ["a", "b", "c"]


def test_unknown_scorer():
    with pytest.raises(SpecError, match="no caption scorer is called 'exakt'; did you mean 'exact'"):
        Captions("exakt", "prediction-as-hypothesis", "none", False)


def test_events_without_words():
    with pytest.raises(InputError, match="video 'v': 1 of 2 events have no caption"):
        bound(story((0, 1, "a"), (1, 2)), story((0, 1, "a")))


def test_about_names_the_version():
    assert Captions("exact", "prediction-as-hypothesis", "none", False).about() == {"exact": "1"}


def test_columns_stay_where_they_are_unless_told():
    """Twelve predictions: sorted by their names, the third column is prediction 10."""
    told = story(*((k, k + 1, f"w{k}") for k in range(12)))
    for turned, expected in (({}, list(range(12))), ({"sorted_columns": True}, [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9])):
        captions = Captions("exact", "prediction-as-hypothesis", "none", False, **turned)
        assert captions.matrix(told, told).argmax(axis=0).tolist() == expected
