"""Queries: what people type becomes a value that prints itself; what nobody can mean costs one line."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabula.core.errors import SpecError
from fabula.library.query import Part, Query, parse


def weights(text):
    (step,) = parse(text).steps
    return [(part.what, part.weight) for part in step]


def test_weights_plus_and_minus():
    (step,) = parse("2:golden retriever + pool.jpg − fruit").steps
    assert step == (Part("golden retriever", 2.0), Part("pool.jpg", 1.0, picture=True), Part("fruit", -1.0))


@pytest.mark.parametrize("sign", ["-", "−", "–"])
def test_all_signs_of_minus(sign):
    assert weights(f"street {sign} cars") == [("street", 1.0), ("cars", -1.0)]
    assert weights(f"street {sign}.5:cars") == [("street", 1.0), ("cars", -0.5)]


def test_a_dash_inside_a_word_is_none():
    assert weights("an x-ray of a T-shirt") == [("an x-ray of a T-shirt", 1.0)]
    assert weights("a clock at 10:30") == [("a clock at 10:30", 1.0)]


def test_quotes_take_all_meaning_away():
    assert weights('"rock - paper then 2:scissors"') == [("rock - paper then 2:scissors", 1.0)]


def test_steps_in_order_and_filters():
    q = parse('a man opens a door and then a dog runs person:Anna video:"my film.mp4"')
    assert [step[0].what for step in q.steps] == ["a man opens a door", "a dog runs"]
    assert (q.videos, q.people) == (("my film.mp4",), ("Anna",))


def test_minus_and_negation_are_honest():
    (said,) = parse("street − cars").remarks
    assert "ranked lower" in said and "may still be found" in said
    (said,) = parse("a man without a hat").remarks
    assert "'without'" in said
    assert parse("a man with a hat").remarks == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "− fruit",
        "a then",
        "then a",
        "a + ",
        "a + + b",
        "2:",
        '""',
        "0:a",
        "video:a.mp4",
        "a " * 10000,
        "x" * 5000,
        " then ".join("abcdefghij"),
        " + ".join("abcdefghijklmnopqrst"),
        "a\x00b",
    ],
)
def test_what_cannot_be_meant_costs_one_line(text):
    with pytest.raises(SpecError) as error:
        parse(text)
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


def test_no_file_is_named_by_text_from_elsewhere():
    with pytest.raises(SpecError, match="names a file"):
        parse("dog + /etc/secret.png", pictures=False)


words = st.text('abc -−+:2."then\t', min_size=1, max_size=30)
pieces = ('"', '""', "video:", "person:", " then ", " and", " − ", "2:", "0.1234:", "10:30", "b.jpg", '"a" ', "a", " ")


@given(st.one_of(words, st.lists(st.sampled_from(pieces), min_size=1, max_size=9).map("".join)))
@example('video:a."\t"p4 person:"Anna B" x')
@example('"video:a" video:a')
@example('2: 10:30 6" nails')
@example('"a" b.jpg')
@example('"x and" then 1234.5678:y')
def test_what_is_printed_is_read_back(text):
    try:
        query = parse(text)
    except SpecError:
        return
    assert parse(str(query)) == query


def test_a_quote_in_quotes():
    assert parse('"6"" nails" video:"a""b c"') == Query(((Part('6" nails'),),), ('a"b c',))


def test_a_query_is_a_value():
    assert parse("a + b") == Query(((Part("a"), Part("b")),)) and hash(parse("a")) == hash(parse("a"))
