"""Python's notation as data, without Python's warnings."""

import warnings

import pytest

from fabula.core.patterns import read_python_literal


def test_a_stray_backslash_is_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_python_literal(r"[{'question': '\d'}]") == [{"question": r"\d"}]


@pytest.mark.parametrize("text", ["{[]: 1}", "[", "f()", "-" * 3000 + "1", "[" * 5000, "", "\0"])
def test_what_is_none_is_a_value_error(text):
    with pytest.raises(ValueError):
        read_python_literal(text)
