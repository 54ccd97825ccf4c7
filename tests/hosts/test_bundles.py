"""Bundles of challenge servers, used as the servers' documents say: unpacked, run, and what comes out looked at."""

from __future__ import annotations

import importlib
import io
import json
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import fabula
from fabula import demo
from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.hosts.bundles import find_submission, hide_folder, unpack
from fabula.verbs.building.host import host
from fabula.verbs.command_line import fabula as command

REFS = list(demo.REFERENCES.values())
GOOD = demo.SYSTEMS["good"]
METRICS = "SODA_c(text=exact),SODA_d,PRF@0.3,PRF@0.5"


@pytest.fixture(scope="module")
def expected() -> dict[str, float]:
    return {name: 100 * score.value for name, score in fabula.score(GOOD, REFS, metrics=METRICS).scores.items()}


def app(bundle: Path, folder: Path, submission: dict[str, bytes]) -> Path:
    """/app as Codabench's worker lays it out."""
    for name, place in (("scoring_program.zip", "program"), ("reference_data.zip", "input/ref")):
        with zipfile.ZipFile(bundle / name) as packed:
            packed.extractall(folder / place)
    (folder / "input/res").mkdir(parents=True)
    for name, data in submission.items():
        (folder / "input/res" / name).write_bytes(data)
    return folder


def run_codabench(folder: Path) -> subprocess.CompletedProcess[str]:
    line = (folder / "program/metadata.yaml").read_text().removeprefix("command:").split()
    places = {"$program": folder / "program", "$input": folder / "input", "$output": folder / "output"}
    words = [word for part in line for word in [part.replace("python3", sys.executable)]]
    for sign, place in places.items():
        words = [w.replace(sign, str(place)) for w in words]
    return subprocess.run(words, cwd=folder / "program", capture_output=True, text=True, timeout=120, check=False)


def test_codabench(tmp_path, expected):
    bundle = host("codabench", REFS, tmp_path / "b", metrics=METRICS, title="Stories: é", start="2027-01-01")
    competition = json.loads((bundle / "competition.yaml").read_text())  # JSON is YAML
    assert competition["version"] == 2 and competition["title"] == "Stories: é"
    for name in (competition["image"], competition["terms"], competition["pages"][0]["file"]):
        assert (bundle / name).stat().st_size > 0
    (task,) = competition["tasks"]
    assert (bundle / task["scoring_program"]).exists() and (bundle / task["reference_data"]).exists()
    assert competition["phases"][0]["start"] == "2027-01-01 00:00:00" and competition["enable_detailed_results"]
    (board,) = competition["leaderboards"]
    keys = [column["key"] for column in board["columns"]]
    assert keys == list(expected) and [c["index"] for c in board["columns"]] == [0, 1, 2, 3]
    folder = app(bundle, tmp_path / "app", {"mine.json": GOOD.read_bytes(), ".DS_Store": b"x", "metadata": b""})
    done = run_codabench(folder)
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "output/scores.json").read_text()) == pytest.approx(expected)
    page = (folder / "output/detailed_results.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "SODA_c" in page and len(page) > 50_000
    kept = json.loads((folder / "output/result.json").read_text())
    assert kept["scores"]["SODA_d"]["signature"].startswith("SODA_d(")


@pytest.mark.parametrize(
    ("submission", "problem"),
    [
        ({"mine.json": b"{broken"}, "mine.json"),
        ({}, "holds nothing"),
        ({"a.json": b"{}", "b.json": b"{}"}, "holds a.json, b.json"),
    ],
)
def test_codabench_says_what_is_wrong(tmp_path, submission, problem):
    folder = app(host("codabench", REFS[0], tmp_path / "b", metrics="SODA_d"), tmp_path / "app", submission)
    done = run_codabench(folder)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert not (folder / "output/scores.json").exists()  # failed, and shown as such
    told = (folder / "output/detailed_results.html").read_text()
    assert problem in told and str(folder) not in told


def test_codabench_unpacks_a_zip_of_one_file(tmp_path, expected):
    bundle = host("codabench", REFS, tmp_path / "b", metrics=METRICS)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        made.write(GOOD, "folder/good.json")
    folder = app(bundle, tmp_path / "app", {"mine.zip": packed.getvalue()})
    done = run_codabench(folder)
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "output/scores.json").read_text()) == pytest.approx(expected)


def test_only_the_servers_folder_leaves_a_message():
    words = "in/res/over_segmenting.json: line 9 column 54: main/x; write it again"
    assert hide_folder(words, Path("in")) == "res/over_segmenting.json: line 9 column 54: main/x; write it again"
    assert hide_folder("/app/input/res/a.json: x", Path("/app/input")) == "res/a.json: x"


def test_evalai(tmp_path, expected, monkeypatch):
    bundle = host("evalai", REFS, tmp_path / "b", metrics=METRICS)
    challenge = json.loads((bundle / "challenge_config.yaml").read_text())
    for key in ("description", "evaluation_details", "terms_and_conditions", "submission_guidelines", "image"):
        assert (bundle / challenge[key]).exists()
    labels = challenge["leaderboard"][0]["schema"]["labels"]
    (phase,), (split,) = challenge["challenge_phases"], challenge["dataset_splits"]
    with zipfile.ZipFile(bundle / challenge["evaluation_script"]) as packed:
        packed.extractall(tmp_path / "evaluation_script")
    monkeypatch.syspath_prepend(str(tmp_path))
    script = importlib.import_module("evaluation_script")
    packed = tmp_path / "submission.zip"
    with zipfile.ZipFile(packed, "w") as made:
        made.write(GOOD, "folder/good.json")
        made.writestr("__MACOSX/good.json", "x")
    for submission in (GOOD, packed):
        told = script.evaluate(str(bundle / phase["test_annotation_file"]), str(submission), phase["codename"],
                               submission_metadata={"id": 1})  # fmt: skip
        assert told["result"] == [{split["codename"]: pytest.approx(expected)}]
        assert list(told["result"][0][split["codename"]]) == labels
        assert told["submission_result"]["report.html"].startswith("<!DOCTYPE html>")
        json.dumps(told)
    with pytest.raises(FabulaError, match="cannot be unpacked"):
        script.evaluate(str(GOOD), str(GOOD), "results")
    for name in [m for m in sys.modules if m.startswith("evaluation_script")]:
        del sys.modules[name]


def pack_lzma(names: list[str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as made:
        for name in names:
            made.writestr(zipfile.ZipInfo(name or "?", (1980, 1, 1, 0, 0, 0)), GOOD.read_bytes(), zipfile.ZIP_LZMA)
    return out.getvalue()


def test_archives_that_are_damaged(tmp_path):
    """Whatever the unpackers of zipfile raise is one line."""
    whole = pack_lzma(["good.json"])
    nameless = whole.replace(struct.pack("<HH", 9, 0) + b"good.json", struct.pack("<HH", 0, 9) + b"good.json")
    assert nameless != whole
    told = set()
    for data in (nameless, whole[:43] + b"\xff" * 5 + whole[48:], whole[:60] + b"\xff" * 40 + whole[100:]):
        (tmp_path / "s.zip").write_bytes(data)
        with pytest.raises(FabulaError) as error:
            unpack(tmp_path / "s.zip", tmp_path / f"out{len(told)}")
            find_submission(tmp_path / f"out{len(told)}")
        assert "\n" not in str(error.value)
        told.add(str(error.value))
    assert any("cannot be unpacked" in line for line in told)


def test_two_entries_of_one_name_are_refused(tmp_path):
    (tmp_path / "s.zip").write_bytes(pack_lzma(["a/x.json", "b/x.json"]))
    with pytest.raises(FabulaError, match="twice"):
        unpack(tmp_path / "s.zip", tmp_path / "out")


def test_references_that_stay_hidden(tmp_path):
    bundle = host("codabench", REFS, tmp_path / "b", metrics="SODA_d", private=True)
    folder = app(bundle, tmp_path / "app", {"x.json": GOOD.read_bytes()})
    assert run_codabench(folder).returncode == 0
    page = (folder / "output/detailed_results.html").read_text()
    assert "<td>SODA_d</td><td>77.72</td>" in page and len(page) < 1000


def test_a_protocol_and_another_task(tmp_path):
    bundle = host("codabench", REFS, tmp_path / "b", protocol="soda-2021")
    folder = app(bundle, tmp_path / "app", {"x.json": GOOD.read_bytes()})
    assert run_codabench(folder).returncode == 0
    found = json.loads((folder / "output/scores.json").read_text())
    assert found["SODA_d"] == pytest.approx(100 * fabula.score(GOOD, REFS, protocol="soda-2021")["SODA_d"].value)
    refs = tmp_path / "q.jsonl"
    refs.write_text('{"id": 1, "video": "v", "windows": [[0, 10]]}\n')
    bundle = host("codabench", refs, tmp_path / "g", task="grounding")
    folder = app(bundle, tmp_path / "app2", {"p.jsonl": b'{"id": 1, "windows": [[0, 5]]}\n'})
    assert run_codabench(folder).returncode == 0
    assert json.loads((folder / "output/scores.json").read_text()) == {"Grounding": 100.0}  # R@1 at 0.5


def test_the_command_and_what_it_refuses(tmp_path):
    words = ["host", "codabench", "--refs", *map(str, REFS), "-m", "SODA_d", "-o", str(tmp_path / "b")]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0 and "competition.yaml" in done.stderr
    again = CliRunner().invoke(command, words)
    assert isinstance(again.exception, InputError) and "exists already" in str(again.exception)
    same = host("codabench", REFS, tmp_path / "c", metrics="SODA_d", start="2027-01-01")
    other = host("codabench", REFS, tmp_path / "d", metrics="SODA_d", start="2027-01-01")
    for path in same.iterdir():
        assert path.read_bytes() == (other / path.name).read_bytes()
    for given, problem in [
        ({"kind": "kaggle"}, "no server is called 'kaggle'"),
        ({"metrics": "SODA_x"}, "did you mean"),
        ({"protocol": "coco"}, "for the task captions, not dense"),
        ({"start": "soon"}, "days as 2027-01-31"),
        ({"end": "2020-01-01"}, "not after"),
        ({"refs": []}, "has references"),
    ]:
        with pytest.raises(SpecError, match=problem):
            host(**{"kind": "evalai", "refs": REFS, "out": tmp_path / "x", **given})
    with pytest.raises(InputError, match="cannot be read"):
        host("evalai", tmp_path / "nowhere.json", tmp_path / "x")
    assert not (tmp_path / "x").exists()
    shutil.rmtree(tmp_path / "b")
