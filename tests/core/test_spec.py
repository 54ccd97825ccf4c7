"""Specs: one string makes it, prints it and is filed with the score."""

import dataclasses
from typing import ClassVar, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.core import spec
from fabula.core.errors import SpecError
from fabula.core.spec import Spec


@dataclasses.dataclass(frozen=True, kw_only=True)
class Toy(Spec):
    name: ClassVar[str] = "Toy"
    at: ClassVar[str | None] = "tau"

    tau: float = 0.5
    kind: Literal["a", "b-c", ">="] = "a"
    top: int | None = None
    taus: tuple[float, ...] = (0.3, 0.5)
    on: bool = False
    text: str = "meteor"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plain(Spec):
    name: ClassVar[str] = "Plain"
    n: int = 1


def toy(text: str) -> Toy:
    name, params = spec.parse(text)
    assert name == "Toy"
    return Toy().with_params(params)


PARSED = {
    "Toy": ("Toy", {}),
    "Toy()": ("Toy", {}),
    "Toy@0.5": ("Toy", {"@": "0.5"}),
    " Toy ( a = 1 , b = x/y ) @ 0.3 ": ("Toy", {"a": "1", "b": "x/y", "@": "0.3"}),
    "Toy(cmp=>=)": ("Toy", {"cmp": ">="}),
    "soda-c(refs=best)|meteor:1.5|fabula:0.1": ("soda-c", {"refs": "best"}),
    "Toy@0.3/0.5|sets:1": ("Toy", {"@": "0.3/0.5"}),
}


@pytest.mark.parametrize(("text", "parsed"), PARSED.items())
def test_parse(text, parsed):
    assert spec.parse(text) == parsed


@pytest.mark.parametrize(
    "text", ["", " ", "1Toy", "Toy(", "Toy)", "Toy(a=1", "Toy((a=1))", "Toy(a=1)(b=2)", "Toy@", "@1"]
)
def test_unreadable(text):
    with pytest.raises(SpecError, match="cannot read"):
        spec.parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Toy(a)", "'a' is not of the form param=value"),
        ("Toy(a=)", "'a=' is not of the form param=value"),
        ("Toy(a=1,a=2)", "'a' is given twice"),
        ("Toy(tau=0.3)@0.5", "'tau' is given twice"),
        ("Toy(kid=a)", "Toy has no parameter 'kid'; did you mean 'kind'"),
        ("Toy(kind=x)", "Toy: kind='x'; kind may be a, b-c, >="),
        ("Toy(top=x)", "top='x' is not a whole number"),
        ("Toy(top=1.5)", "top='1.5' is not a whole number"),
        ("Toy@x", "tau='x' is not a number"),
        ("Toy@nan", "tau='nan' is not a number"),
        ("Toy@inf", "tau='inf' is not a number"),
        ("Toy(taus=0.3/x)", "taus='0.3/x' is not a number, or several with / between them"),
        ("Toy(taus=0.3/inf)", "taus='0.3/inf' is not a number, or several"),
        ("Toy(on=yes)", "on='yes' is not true or false"),
    ],
)
def test_refused(text, said):
    with pytest.raises(SpecError, match=said):
        toy(text)


def test_no_at():
    with pytest.raises(SpecError, match="Plain takes no '@'"):
        Plain().with_params({"@": "3"})


def test_split_leaves_brackets_whole():
    assert spec.split("A(x=1,y=2), B@0.5,C") == ["A(x=1,y=2)", "B@0.5", "C"]
    assert spec.split(" , ") == []


def test_only_what_differs_is_printed_and_at_always():
    assert str(Toy()) == "Toy@0.5"
    assert str(Toy(tau=0.3, top=15)) == "Toy(top=15)@0.3"
    assert str(Plain()) == "Plain"
    assert str(Plain(n=2)) == "Plain(n=2)"


def test_full_prints_everything():
    assert Toy().full() == "Toy(kind=a,top=none,taus=0.3/0.5,on=false,text=meteor)@0.5"


TOYS = st.builds(
    Toy,
    tau=st.floats(allow_nan=False, allow_infinity=False),
    kind=st.sampled_from(["a", "b-c", ">="]),
    top=st.none() | st.integers(),
    taus=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4).map(tuple),
    on=st.booleans(),
    text=st.sampled_from(["meteor", "exact"]),
)


@settings(deadline=None)
@given(TOYS)
def test_what_is_printed_is_read_back(made):
    assert toy(str(made)) == made
    assert toy(made.full()) == made
    assert toy(made.full() + "|sets:1|fabula:0") == made
    assert hash(toy(str(made))) == hash(made)


def test_values_are_checked_however_they_come():
    with pytest.raises(SpecError, match="kind='x'"):
        Toy(kind="x")
    with pytest.raises(SpecError, match="kind='x'"):
        dataclasses.replace(Toy(), kind="x")


def test_with_params_changes_a_copy():
    made = Toy(top=3)
    assert made.with_params({"@": "0.9"}) == Toy(top=3, tau=0.9)
    assert made == Toy(top=3)
    assert made.with_params({"top": "none"}) == Toy()


def test_one_number_serves_where_several_may_stand():
    assert Toy(taus=0.3) == Toy(taus=[0.3]) == Toy(taus=(0.3,)) == toy("Toy(taus=0.3)")
    assert hash(Toy(taus=[0.3, 0.5])) == hash(Toy())
