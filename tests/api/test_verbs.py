"""Every verb as a library call: what it returns, what it writes, and that it prints nothing."""

import json

import pytest

import fabula
from fabula import demo
from fabula.core.errors import SpecError
from fabula.diagnosis.errors import Diagnosis
from fabula.diagnosis.finding import Limits
from fabula.diagnosis.protocols import Overview
from fabula.stats import Resampling
from fabula.verbs.trust.diagnose import Explained
from tests.moment_toys import VIDEOS, tvr_predictions, tvr_queries
from tests.toys import corpus

REFS = corpus({"v1": [(0, 10, "a"), (20, 30, "b")], "v2": [(0, 10, "c")]}, name="refs.json", duration=40)
PRED = corpus({"v1": [(0, 10, "a")], "v2": [(0, 10, "x")]}, name="pred.json")
FEW = {"resamples": 20}


@pytest.fixture(autouse=True)
def quiet(capfd):
    """A library call does not print."""
    yield
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def files(tmp_path):
    fabula.write(REFS, tmp_path / "refs.json", "activitynet")
    fabula.write(PRED, tmp_path / "pred.json", "submission")
    return tmp_path


def test_protocols():
    seen = fabula.protocols(PRED, REFS, task="procedure", only=("pss-2022",))
    assert isinstance(seen, Overview) and [c.name for c in seen.columns] == ["default", "pss-2022"]
    seen = fabula.protocols(PRED, [REFS], task="procedure", explain=("procnets", "default"))
    assert [c.name for c in seen.columns] == ["default", "procnets"]


def test_diagnose():
    seen = fabula.diagnose(PRED, REFS, metric="SODA_d", near=0.2, **FEW)
    assert isinstance(seen, Diagnosis) and seen["missed"].errors == 1
    assert (seen.limits.near, seen.how.resamples) == (0.2, 20)
    how = Resampling(**FEW)
    same = fabula.diagnose(PRED, REFS, explained=Explained(metric="SODA_d"), limits=Limits(near=0.2), how=how)
    assert same.repairs == seen.repairs
    assert fabula.diagnose(PRED, REFS, metric="SODA_d").how.resamples == 2000


def test_diagnose_moments(tmp_path):
    pred = tvr_predictions(tmp_path / "p.json", VCMR={1: [[VIDEOS["kitchen"], 10, 20, 0.9]]})
    refs = tvr_queries(tmp_path / "q.jsonl", {1: ("kitchen", [10, 20])})
    assert fabula.diagnose(pred, refs, task="moments", **FEW)["right"].queries == 1
    with pytest.raises(SpecError, match="say --k and --iou"):
        fabula.diagnose(pred, refs, task="moments", metric="VCMR")
    with pytest.raises(SpecError, match="read from files"):
        fabula.diagnose(PRED, REFS, task="moments")


def test_stress(files):
    seen = fabula.stress("SODA_d,mIoU", REFS, ways=("shift",), **FEW)
    assert list(seen.cells) == ["SODA_d", "mIoU"] and seen.ways == ["shift"]
    assert fabula.stress(["SODA_d", "mIoU"], files / "refs.json", ways=("shift",), **FEW).cells == seen.cells


def test_lint(files):
    (files / "odd.json").write_text(json.dumps({"results": {"v": [{"sentence": "a", "timestamp": [9, 3]}]}}))
    found = fabula.lint(files / "odd.json")
    assert not found.sound and found.format == "submission" and found.mended is None
    assert {f.check for f in found.report.findings} == {"reversed"}
    found = fabula.lint(files / "odd.json", fix=files / "whole.json")
    assert [deed["deed"] for deed in found.mended.deeds] == ["swap"] and fabula.lint(files / "whole.json").sound
    assert json.loads((files / "whole.json.fixes.json").read_text()) == found.fixes()
    with pytest.raises(SpecError, match="never the file itself"):
        fabula.lint(files / "odd.json", fix=str(files / "odd.json"))


def test_convert(files):
    done = fabula.convert(files / "refs.json", files / "lines.jsonl", to="fabula")
    assert done.warnings == [] and fabula.read(files / "lines.jsonl")[0].stories == done.corpus.stories
    assert "duration" in fabula.convert(files / "refs.json", files / "p.json", to="submission").warnings[0]
    with pytest.raises(SpecError, match=r"may be of several formats; say which: --to activitynet"):
        fabula.convert(files / "refs.json", files / "p.json")


def test_parse(tmp_path):
    (tmp_path / "answers.jsonl").write_text('{"id": "v", "answer": "0:00 - 0:10 A kite rises."}\n')
    read = fabula.parse(tmp_path / "answers.jsonl")
    assert read.counts["parsed"] == 1 and list(read.corpus["v"].captions) == ["A kite rises."]
    assert {path.name for path in tmp_path.iterdir()} == {"answers.jsonl"}
    fabula.parse(tmp_path / "answers.jsonl", tmp_path / "events.jsonl", audit=tmp_path / "audit.json")
    assert fabula.read(tmp_path / "events.jsonl")[0].events == 1
    assert json.loads((tmp_path / "audit.json").read_text()) == read.to_dict()


def test_baseline(files):
    made = fabula.baseline("uniform", files / "refs.json", count=4)
    assert made["v1"].spans.tolist() == [[0, 10], [10, 20], [20, 30], [30, 40]]
    fabula.baseline("uniform", files / "refs.json", files / "u.json", count=4)
    assert fabula.read(files / "u.json")[0].events == 8
    (files / "clips.csv").write_text("a\t[P1],[P2]\n")
    assert fabula.baseline("same-id", files / "clips.csv") == {"a": ("0", "0")}
    for wrong, said in (
        ({"kind": "uniform"}, "say exactly one of"),
        ({"kind": "unifrom"}, "no baseline is called 'unifrom'; did you mean 'uniform'?"),
        ({"kind": "same-id", "count": 3}, "--count has no effect for the baseline same-id"),
    ):
        with pytest.raises(SpecError, match=said):
            fabula.baseline(refs=files / "clips.csv", **wrong)


def test_train_and_predict(tmp_path):
    pytest.importorskip("torch", reason="training needs fabula[learn]")
    pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")
    from fabula.verbs.training.simulate import simulate

    refs, store = demo.REFERENCES["annotator_1"], tmp_path / "sim.safetensors"
    assert simulate([refs], out=store) == 15
    small = {"hidden": 16, "heads": 2, "norm_groups": 4, "frames": 24, "levels": 2, "captioner": "none"}
    line = fabula.train("pss", data=refs, features=store, out=tmp_path / "run", tiny=True, set_=small,
                        epochs=1, batch_size=8, threads=1, matcher="ordered")  # fmt: skip
    assert line["step"] == 2
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["config"]["matcher"] == "ordered" and config["settings"]["epochs"] == 1
    warned = []
    from fabula.learn.options import Callbacks

    made = fabula.predict("pss", tmp_path / "run", tmp_path / "p.json", features=store,
                          callbacks=Callbacks(warn=warned.append))  # fmt: skip
    assert len(made) == 15 == len(fabula.read(tmp_path / "p.json")[0]) and "simulated" in warned[0]
    with pytest.raises(SpecError, match="no task is called 'psss'; did you mean 'pss'"):
        fabula.train("psss")
    with pytest.raises(TypeError, match="did you mean 'epochs'"):
        fabula.train("pss", epochss=3)
