"""fabula simulate → train → predict → score, and what each refuses."""

from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

from fabula import demo
from fabula.core.errors import FabulaError, InputError, MissingExtra, SpecError
from fabula.verbs.command_line import fabula

REFS = str(demo.REFERENCES["annotator_1"])


def invoke(*args: str):
    done = CliRunner().invoke(fabula, list(map(str, args)))
    if isinstance(done.exception, FabulaError):
        raise done.exception
    return done


def test_without_torch_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"\[learn\]; install it with: pip install '"):
        invoke("train", "pss", "--data", REFS, "--features", "x", "--out", tmp_path / "run")
    with pytest.raises(MissingExtra, match=r"\[learn\]; install it with: pip install '"):
        invoke("predict", "pss", "x", "--features", "x", "-o", tmp_path / "x.json")


def test_help_needs_no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for verb in ("train", "predict"):
        assert invoke(verb, "pss", "--help").exit_code == 0


def test_a_video_of_two_files_is_simulated_from_neither(tmp_path):
    with pytest.raises(InputError, match="'demo_bread': this video is in two of the files"):
        invoke("simulate", REFS, REFS, "-o", tmp_path / "store.safetensors")
    assert not (tmp_path / "store.safetensors").exists()


def test_from_annotations_to_scores(tmp_path):
    pytest.importorskip("torch", reason="training needs fabula[learn]")
    pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")
    store, run, told = tmp_path / "sim.safetensors", tmp_path / "run", tmp_path / "told.json"
    assert "simulated from annotations with hashing" in invoke("simulate", REFS, "-o", store).stderr
    small = ["--set=hidden=16", "--set=heads=2", "--set=norm_groups=4", "--set=frames=24", "--set=levels=2"]
    train = ["train", "pss", "--data", REFS, "--val", REFS, "--features", store, "--out", run, "--tiny",
             "--threads", "1", "--matcher", "ordered", "--epochs", "1", "--batch-size", "8", *small]  # fmt: skip
    done = invoke(*train)
    assert done.exit_code == 0 and "simulated features: scores say nothing about real videos" in done.stderr
    assert "epoch 1/1" in done.stderr and "val_SODA_d" in done.stderr
    done = invoke("predict", "pss", run, "--features", store, "-o", told)
    assert done.exit_code == 0 and "15 videos" in done.stderr
    assert len(json.loads(told.read_text())["results"]) == 15
    done = invoke("score", told, "--refs", REFS, "--protocol", "pss-2022")
    assert done.exit_code == 0 and "SODA_d" in done.stdout
    with pytest.raises(InputError, match="holds a run already"):
        invoke(*train)
    with pytest.raises(InputError, match="exists already"):
        invoke("predict", "pss", run, "--features", store, "-o", told)
    with pytest.raises(InputError, match="exists already"):
        invoke("simulate", REFS, "-o", store)
    with pytest.raises(SpecError, match="write name=value"):
        invoke(*train, "--overwrite", "--set", "dropout")
    with pytest.raises(SpecError, match="no setting is called 'dropuot'; did you mean 'dropout'"):
        invoke(*train, "--overwrite", "--set", "dropuot=1")
    with pytest.raises(SpecError, match="no model is called 'pvdc'; did you mean 'pdvc'"):
        invoke(*train, "--overwrite", "--model", "pvdc")
    assert (run / "last.safetensors").exists()
