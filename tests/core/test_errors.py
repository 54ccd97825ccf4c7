"""Errors say the file, the place, what was seen and what to do, on one line."""

import inspect

import pytest

from fabula.core import errors
from fabula.core.errors import FabulaError, InputError, MissingExtra, shown


def test_the_tree_in_the_docstring_is_the_tree():
    classes = {n for n, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, FabulaError)}
    drawn = {line.split()[1] for line in errors.__doc__.splitlines() if line.startswith(("├", "└"))}
    assert classes == drawn | {"FabulaError"}


def test_input_error_reads_from_the_outside_in():
    error = InputError("saw 3", file="a.json", video="v_1", field="event 2", hint="give 2")
    assert str(error) == "a.json: video 'v_1': event 2: saw 3; give 2"
    assert str(InputError("saw 3")) == "saw 3"
    assert (error.file, error.video, error.field, error.hint) == ("a.json", "v_1", "event 2", "give 2")


def test_missing_extra_gives_the_pip_line():
    assert "[parquet]; install it with: pip install 'pyarrow>=14'" in str(MissingExtra("reading Parquet", "parquet"))


@pytest.mark.parametrize("value", ["x" * 10_000, "a\nb\t\x00", list(range(500)), "ü" * 100])
def test_shown_fits_on_a_line(value):
    assert len(shown(value)) <= 60
    assert "\n" not in shown(value)
    assert shown("short") == "'short'"
