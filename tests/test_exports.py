"""What a package says it offers, it offers."""

import importlib
import inspect
import pickle
import pkgutil

import pytest

import fabula
from fabula.core.errors import MissingExtra
from fabula.verbs.command_line import find_modules

ROOMS = [m.name for m in pkgutil.iter_modules(fabula.__path__, "fabula.") if m.ispkg]


def test_the_front_door():
    assert list(fabula.__all__) == sorted(fabula.__all__, key=lambda n: (not n[0].isupper(), n))
    assert dir(fabula) == sorted(fabula.__all__)
    for name in fabula.__all__:
        assert getattr(fabula, name) is not None
    assert {*fabula._HOMES, "match", "__version__"} == set(fabula.__all__)


def test_names_are_the_ones_of_their_homes():
    for name, home in fabula._HOMES.items():
        assert getattr(fabula, name) is getattr(importlib.import_module(home), name)


VERBS = [verb for verb, home in fabula._HOMES.items() if home.startswith("fabula.verbs.")]


def test_every_verb_of_the_command_line_is_a_library_call():
    assert find_modules().keys() - {*VERBS} == {
        "annotate",
        "demo",
        "doctor",
        "features",
        "host",
        "judge",
        "list",
        "people",
        "read",
        "reproduce",
        "serve",
        "simulate",
        "study",
        "where",
    }  # for a person, or of a leaf; `read` is fabula.read_signs: fabula.read reads a file
    for verb in VERBS:
        assert callable(getattr(fabula, verb))


@pytest.mark.parametrize("verb", ["diagnose", "lint", "protocols", "score", "search"])
def test_verbs_are_functions(verb):
    made = getattr(fabula, verb)
    assert inspect.isfunction(made) and pickle.loads(pickle.dumps(made)) is made


def test_unknown_names():
    with pytest.raises(AttributeError, match="module 'fabula' has no attribute 'nothing'"):
        fabula.nothing  # noqa: B018


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_keeps_its_word(room):
    module = importlib.import_module(room)
    assert module.__doc__, "a room says what it holds"
    names = getattr(module, "__all__", [])
    assert len(set(names)) == len(names)
    for name in names:
        try:
            assert getattr(module, name) is not None
        except MissingExtra as error:  # fabula.learn without torch
            pytest.skip(str(error))


def test_matchers():
    assert fabula.match.ordered([[1.0]]) == (1.0, [(0, 0)])
    assert callable(fabula.match.ordered)


def test_version_is_the_installed_one():
    from importlib.metadata import version

    assert fabula.__version__ == version("fabula")


def test_it_is_typed():
    from importlib.resources import files

    assert files("fabula").joinpath("py.typed").is_file()
