"""Expressions compiled late."""

import re

import pytest

from fabula.core.patterns import lazy


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
