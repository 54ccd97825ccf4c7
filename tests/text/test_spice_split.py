"""Which captions judge SPICE's parser, who may look at them (tools/spice/split.py), and the agreement on the others.

Captions of `hold` are not read here: a figure that stands in every run of the tests is a figure that one tunes on.
"""

import importlib.util
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from golden_spice import FOLDER, shared

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = Path(__file__).with_name("spice_split.npz")


@pytest.fixture(scope="module")
def split():
    """The tool, which is no part of the package."""
    place = importlib.util.spec_from_file_location("spice_split", ROOT / "tools/spice/split.py")
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a man rides a horse", "tune"),
        ("", "tune"),
        ("café", "tune"),
        ("the red lamp", "hold"),
        ("the small café", "hold"),
    ],
)
def test_a_caption_is_of_the_part_it_was_always_of(split, text, part):
    assert split.part(text) == part


def test_case_and_blanks_do_not_change_the_part(split):
    texts = [f"caption number {k} of many" for k in range(200)]
    assert [split.part(f"  {text.upper()}\n".replace(" ", "  ")) for text in texts] == [*map(split.part, texts)]
    assert {"tune", "hold"} == {*map(split.part, texts)}


def test_a_tenth_is_held_back(split):
    count = Counter(split.part(f"a {a} and {b}") for a in range(100) for b in range(100))
    assert 900 < count["hold"] < 1100


def test_a_text_with_half_a_sign_has_a_part(split):
    assert split.part("\ud800") in split.PARTS


def test_hold_is_not_shown():
    command = [sys.executable, str(ROOT / "tools/spice/split.py"), "pairs", str(FOLDER), "--part", "hold"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode and not run.stdout and "hold is not shown" in run.stderr


def test_what_captions_are_learned_from_leaves_hold_out(split):
    texts = [f"a {a} and {b}" for a in range(40) for b in range(40)]
    code = f"from captions import is_free; print([t for t in {texts} if is_free(t, {set(texts[:1])})])"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "tools/spice", capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == str([t for t in texts[1:] if split.part(t) == "tune"])


def test_the_answers_name_no_text(split):
    said = split.answers(ANSWERS)
    assert len(said) == 2 * sum(split.KINDS.values())
    for official in said.values():
        assert official.tp + official.fp == len(official.candidate)
        assert official.tp + official.fn == len(official.references)


@pytest.fixture(scope="module")
def agreement():
    """Kind → (pairs, F1 of tuples, Pearson, our mean, the original's) on `tune`."""
    shared("golden/pairs_tok.jsonl.gz"), shared("corenlp_captions/captions.jsonl.gz")
    command = [sys.executable, "tools/spice/agree.py", str(FOLDER), "--part", "tune", "--answers", str(ANSWERS)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    number = r"(\d+\.\d+)"
    line = re.compile(rf"  (\S.*?) +n +(\d+)  F1 {number}  Pearson {number}  corpus {number} vs {number} ")
    return {kind: tuple(map(float, found)) for kind, *found in line.findall(run.stdout)}


def test_every_pair_is_drawn_again_and_known_to_the_original(agreement, split):
    assert agreement["all"][0] == sum(split.KINDS.values())
    assert {kind: agreement[kind][0] for kind in split.KINDS} == split.KINDS


@pytest.mark.parametrize(
    ("kind", "F1", "pearson", "gap"),
    [
        ("all", 0.970, 0.978, 0.15),
        ("tiny graphs", 0.978, 0.970, 0.9),
        ("synonyms", 0.959, 0.922, 0.6),
        ("long", 0.983, 0.986, 0.7),
        ("same", 0.978, 0.995, 0.1),
    ],
)
def test_the_agreement_does_not_fall(agreement, kind, F1, pearson, gap):
    _, tuples, r, ours, theirs = agreement[kind]
    assert tuples >= F1
    assert r >= pearson
    assert abs(ours - theirs) <= gap
