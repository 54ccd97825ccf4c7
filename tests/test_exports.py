"""What a package says it offers, it offers."""

import importlib
import pkgutil

import pytest

import fabula

ROOMS = [m.name for m in pkgutil.iter_modules(fabula.__path__, "fabula.") if m.ispkg]


def test_the_front_door():
    assert list(fabula.__all__) == sorted(fabula.__all__, key=lambda n: (not n[0].isupper(), n))
    assert dir(fabula) == sorted(fabula.__all__)
    for name in fabula.__all__:
        assert getattr(fabula, name) is not None
    assert set(fabula._HOMES) | {"match", "__version__"} == set(fabula.__all__)


def test_names_are_the_ones_of_their_homes():
    for name, home in fabula._HOMES.items():
        assert getattr(fabula, name) is getattr(importlib.import_module(home), name)


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
        assert getattr(module, name) is not None


def test_matchers():
    assert fabula.match.ordered([[1.0]]) == (1.0, [(0, 0)])
    assert callable(fabula.match.ordered)


def test_version_is_the_installed_one():
    from importlib.metadata import version

    assert fabula.__version__ == version("fabula")


def test_it_is_typed():
    from importlib.resources import files

    assert files("fabula").joinpath("py.typed").is_file()
