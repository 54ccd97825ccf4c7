"""The registry by file name."""

import subprocess
import sys

import pytest

from fabula.core.errors import SpecError
from fabula.core.registry import Room, close_to, key
from fabula.metrics import room


def test_modules_are_the_public_files_of_the_room():
    files = [m.rpartition(".")[2] for m in room.modules()]
    assert "stories.soda_c" in room.modules()
    assert not any(f.startswith("_") for f in files)
    assert files == sorted(files)
    assert set(room.modules("regions")) == {"precision", "regions.densecap"}
    assert set(room.names()) >= {"SODA_a", "SODA_b", "SODA_c", "SODA_d", "mIoU", "mJaccard", "PRF", "OrderedPRF"}


@pytest.mark.parametrize("name", ["SODA_c", "soda_c", "soda-c", " Soda_C "])
def test_case_and_dashes_do_not_matter(name):
    assert room.get(name).name == "SODA_c"
    assert key(name) == "soda_c"


def test_every_name_finds_its_file():
    for thing in room.all():
        assert room.get(thing.name) is thing


def test_a_name_imports_its_own_file_alone():
    code = (
        "import sys; from fabula.metrics import metric; metric('SODA_d'); metric('bleu_2'); "
        "print(*(m for m in sys.modules if m.startswith('fabula.metrics')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    files = {m.rpartition(".")[2] for m in run.stdout.split()}
    assert {"soda_d", "bleu"} <= files
    assert not files & {"soda_c", "para", "dvc", "spice", "vcmr", "fitb", "cider"}


def test_a_family_shares_a_file():
    assert room.get("BLEU_2").__module__ == room.get("bleu_4").__module__ == "fabula.metrics.captions.bleu"
    assert room.get("Para_CIDEr").__module__ == "fabula.metrics.stories.para"
    for name in ("BLEU", "BLEU_5", "Para", "para_x", "DVC"):
        assert room.find(name) is None


@pytest.mark.parametrize("name", ["_base", "_soda", "", "..", "os", "__init__", "soda_c.Metric"])
def test_what_is_no_name(name):
    with pytest.raises(SpecError, match="no metric is called"):
        room.get(name)


def test_helpers_offer_nothing():
    # io/moments/ has a public module without a format: it is passed over, and cannot be asked for
    files = Room("fabula.io.moments", "FORMAT", "format")
    assert "fields" in files.modules()
    assert "moment-lines" in files.names()
    assert "fields" not in files.names()
    with pytest.raises(SpecError):
        files.get("fields")


def test_neighbours():
    assert close_to("SODA_x", ["SODA_c", "mIoU"]) == "did you mean 'SODA_c'?"
    assert close_to("zzz", ["SODA_c", "mIoU"]) == "there are: SODA_c, mIoU"
    with pytest.raises(SpecError, match="did you mean 'mIoU'"):
        room.get("miuo")


def test_the_name_of_a_family_names_its_members():
    names = ["vdc-lmms", "vdc-aurora", "soda-2021", "sodam"]
    assert close_to("VDC", names) == "there are: vdc-lmms, vdc-aurora"
    assert close_to("soda", names) == "did you mean 'sodam'?"  # a family has at least two
