"""Large sets of queries part by part: the bytes of a run at once, over processes, on Ray, and after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.learn import checkpoint  # noqa: E402
from fabula.learn.models import qd_detr, xml  # noqa: E402
from fabula.learn.options import Callbacks  # noqa: E402
from fabula.media.stores.features import write_features  # noqa: E402

QUERIES, VIDEOS, DIM = 60, 24, 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of XML and QD-DETR with the weights they begin with, a store, and queries about it; some videos are long."""
    folder = tmp_path_factory.mktemp("spread")
    rng = np.random.default_rng(0)
    lengths = rng.integers(8, 40, VIDEOS)
    items = [(f"v{i}", rng.standard_normal((int(n), DIM)).astype(np.float32)) for i, n in enumerate(lengths)]
    write_features(folder / "clips.safetensors", items, {})
    rows = [
        {"desc_id": i, "video": f"v{i % VIDEOS}", "duration": float(lengths[i % VIDEOS]), "time": [1.0, 4.0],
         "cog_desc": "a man", "fig_desc": f"a man does deed number {i}" + " and more" * 9 * (i == 7)}
        for i in range(QUERIES)
    ]  # fmt: skip
    (folder / "queries.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    torch.manual_seed(0)
    made = {"feature_dim": DIM, "hidden": 16, "max_words": 12, "words": "hashing", "query_dim": 16}
    models: list[Any] = [
        xml.Model(xml.Config.tiny(**made, max_clips=24)),
        qd_detr.Model(qd_detr.Config.tiny(**made, clip=1.0, max_clips=24, overlap=6)),
    ]
    for model in models:
        weights = {f"model.{n}": t for n, t in model.state_dict().items()}
        about = {"format": 1, "model": model.name, "config": asdict(model.config), "about": {"task": "vcmr"}}
        checkpoint.write(folder / f"{model.name}.safetensors", weights, about)
    return folder


def ask(folder: Path, out: Path, model: str = "xml", **given: Any) -> bytes:
    asked: dict[str, Any] = {
        "data": folder / "queries.jsonl", "features": (str(folder / "clips.safetensors"),), "device": "cpu",
        "batch_size": 32,
    }  # fmt: skip
    fabula.predict("vcmr", folder / f"{model}.safetensors", out, **asked | given)
    return out.read_bytes()


def numbers(data: bytes) -> Any:
    """A document with every score to 4 digits: batches of other sizes are rounded otherwise."""
    return json.loads(data, parse_float=lambda text: float(f"{float(text):.4g}"))


def same_list(ours: list[list[float]], theirs: list[list[float]], rtol: float = 2e-3) -> None:
    """Equal scores from first to last, of the same moments; near ties may stand in another order, or be cut off."""
    np.testing.assert_allclose([row[-1] for row in ours], [row[-1] for row in theirs], rtol=rtol)
    a, b = ({tuple(row[:-1]): row[-1] for row in rows} for rows in (ours, theirs))
    for moment in a.keys() | b.keys():
        assert a.get(moment, ours[-1][-1]) == pytest.approx(b.get(moment, theirs[-1][-1]), rel=rtol)


def test_parts_give_what_all_at_once_gives(folder: Path, tmp_path: Path) -> None:
    whole = numbers(ask(folder, tmp_path / "whole.json"))
    parts = numbers(ask(folder, tmp_path / "parts.json", work=tmp_path / "work", part=17))
    assert parts["video2idx"] == whole["video2idx"]
    for name in ("VCMR", "SVMR", "VR"):
        assert [e["desc_id"] for e in parts[name]] == [e["desc_id"] for e in whole[name]] == list(range(QUERIES))
        for ours, theirs in zip(parts[name], whole[name], strict=True):
            same_list(ours["predictions"], theirs["predictions"])
    scored = fabula.score(tmp_path / "parts.json", folder / "queries.jsonl", protocol="tvr")
    assert {"VCMR", "SVMR", "VR"} <= set(scored.metrics)


@pytest.mark.slow
def test_processes_write_the_same_bytes(folder: Path, tmp_path: Path, form: str = "lines") -> None:
    here = ask(folder, tmp_path / "here", work=tmp_path / "one", part=17, form=form)
    warned: list[str] = []
    two = ask(folder, tmp_path / "two", work=tmp_path / "two.work", part=17, form=form, processes=2,
              callbacks=Callbacks(warn=warned.append))  # fmt: skip
    assert here == two
    assert any("more than 12 words" in line for line in warned)  # what workers noted


def test_windows_of_each_querys_own_video(folder: Path, tmp_path: Path) -> None:
    parts = ask(folder, tmp_path / "parts", "qd_detr", work=tmp_path / "work", part=16, form="qvhighlights")
    whole = ask(folder, tmp_path / "whole", "qd_detr", form="qvhighlights")
    for ours, theirs in zip(parts.splitlines(), whole.splitlines(), strict=True):
        a, b = json.loads(ours), json.loads(theirs)
        assert a["qid"] == b["qid"] and a["vid"] == b["vid"]
        np.testing.assert_allclose(a["pred_relevant_windows"], b["pred_relevant_windows"], atol=1e-3)


@pytest.mark.slow  # two processes that load torch; parts and processes are compared above
def test_a_killed_run_goes_on_and_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    whole = ask(folder, tmp_path / "whole.json", work=tmp_path / "whole", part=2)
    words = [sys.executable, "-m", "fabula", "predict", "vcmr", str(folder / "xml.safetensors"), "--part", "2"]
    for flag, value in {
        "--data": folder / "queries.jsonl", "--features": folder / "clips.safetensors", "--device": "cpu",
        "--batch-size": 32, "--work": tmp_path / "work", "-o": tmp_path / "out.json",
    }.items():  # fmt: skip
        words += [flag, str(value)]
    run = subprocess.Popen(words, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL)
    parts = tmp_path / "work" / "queries"
    began = time.monotonic()
    while len(list(parts.glob("*.json")) if parts.is_dir() else ()) < 3 and run.poll() is None:
        assert time.monotonic() - began < 60
        time.sleep(0.005)
    run.send_signal(signal.SIGKILL)
    killed = run.wait() == -signal.SIGKILL
    assert not killed or not (tmp_path / "out.json").exists()
    done = {p.name: p.stat().st_mtime_ns for p in parts.glob("*.json")}
    (parts / "00000.VCMR").write_bytes(b"damaged")  # is made again
    (tmp_path / "out.json").unlink(missing_ok=True)
    assert subprocess.run([*words, "--resume"], stderr=subprocess.DEVNULL).returncode == 0
    assert (tmp_path / "out.json").read_bytes() == whole
    later = {p.name: p.stat().st_mtime_ns for p in parts.glob("*.json")}
    assert [n for n in done if later[n] != done[n]] == ["00000.json"]


def test_what_is_refused(folder: Path, tmp_path: Path) -> None:
    ask(folder, tmp_path / "a.json", work=tmp_path / "work")
    with pytest.raises(InputError, match="holds an earlier run"):
        ask(folder, tmp_path / "b.json", work=tmp_path / "work")
    with pytest.raises(InputError, match="differs in: top"):
        ask(folder, tmp_path / "b.json", work=tmp_path / "work", resume=True, top=7)
    for given in ({"processes": 2}, {"engine": "ray"}, {"resume": True}):
        with pytest.raises(SpecError, match="--work"):
            ask(folder, tmp_path / "b.json", **given)
    with pytest.raises(SpecError, match="--engine ray"):
        ask(folder, tmp_path / "b.json", work=tmp_path / "w", address="10.0.0.1:6379")


@pytest.mark.experiment
def test_ray_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="--engine ray needs fabula[ray]")
    here = ask(folder, tmp_path / "here", work=tmp_path / "one", part=17)
    assert ask(folder, tmp_path / "ray", work=tmp_path / "two", part=17, engine="ray") == here
