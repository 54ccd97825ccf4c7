"""The registry by file name."""

import pytest

from fabula.core.errors import SpecError
from fabula.core.registry import Room, close_to, key
from fabula.metrics import room


def test_modules_are_the_public_files_of_the_room():
    assert "soda_c" in room.modules()
    assert not any(m.startswith("_") for m in room.modules())
    assert room.modules() == sorted(room.modules())
    assert set(room.names()) >= {"SODA_a", "SODA_b", "SODA_c", "SODA_d", "mIoU", "mJaccard", "PRF", "OrderedPRF"}


@pytest.mark.parametrize("name", ["SODA_c", "soda_c", "soda-c", " Soda_C "])
def test_case_and_dashes_do_not_matter(name):
    assert room.get(name).name == "SODA_c"
    assert key(name) == "soda_c"


def test_every_name_finds_its_file():
    for thing in room.all():
        assert room.get(thing.name) is thing


@pytest.mark.parametrize("name", ["_base", "_soda", "", "..", "os", "__init__", "soda_c.Metric"])
def test_what_is_no_name(name):
    with pytest.raises(SpecError, match="no metric is called"):
        room.get(name)


def test_helpers_offer_nothing():
    # io/moments/ has a public module without a format: it is passed over, and cannot be asked for
    files = Room("fabula.io.moments", "FORMAT", "format")
    assert "fields" in files.modules()
    assert "didemo" in files.names()
    assert "fields" not in files.names()
    with pytest.raises(SpecError):
        files.get("fields")


def test_neighbours():
    assert close_to("SODA_x", ["SODA_c", "mIoU"]) == "did you mean 'SODA_c'?"
    assert close_to("zzz", ["SODA_c", "mIoU"]) == "there are: SODA_c, mIoU"
    with pytest.raises(SpecError, match="did you mean 'mIoU'"):
        room.get("miuo")
