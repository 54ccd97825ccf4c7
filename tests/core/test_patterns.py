"""Expressions compiled late, values made once."""

import re

import pytest

from fabula.core.patterns import lazy
from fabula.data.stories import once


def test_a_lazy_pattern_is_the_pattern():
    late, now = lazy(r"(\d+) ?s", re.IGNORECASE), re.compile(r"(\d+) ?s", re.IGNORECASE)
    assert late.pattern == now.pattern and late.flags == now.flags
    assert late.sub("x", "3 S, 4s") == now.sub("x", "3 S, 4s") == "x, x"
    assert [m[1] for m in late.finditer("3 S, 4s")] == ["3", "4"]
    with pytest.raises(AttributeError):
        _ = late.nothing


def test_a_lazy_pattern_is_compiled_when_it_is_used(monkeypatch):
    compiled = []
    monkeypatch.setattr(re, "compile", lambda *source: compiled.append(source) or re.RegexFlag)
    late = lazy("a")
    assert not compiled
    with pytest.raises(AttributeError):
        late.match("a")
    assert compiled == [("a", 0)]


def test_once():
    class Thing:
        """A thing."""

        made = 0

        @once
        def value(self) -> int:
            """How often it was made."""
            self.made += 1
            return self.made

    thing = Thing()
    assert (thing.value, thing.value, thing.made, Thing().value) == (1, 1, 1, 1)
    assert Thing.value.__doc__ == "How often it was made."
