"""What people type by mistake costs one line that says what they meant."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fabula import demo
from fabula import score as score_files
from fabula.core.errors import SpecError

GOOD, TRUTH = demo.SYSTEMS["good"], next(iter(demo.REFERENCES.values()))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["preds.json", "refs.json"], "name reference files behind --refs"),
        (["--predictions", "preds.json"], "predictions are named without a flag"),
        (["preds.json", "--references", "refs.json"], "name reference files behind --refs"),
        (["preds.json", "--refs", "refs.json", "--out", "x"], "--json, --rows or --html"),
        (["preds.json", "--refs", "refs.json", "--latex"], "fabula compare prints LaTeX"),
    ],
)
def test_a_flag_that_there_is_not(fabula, words, said):
    ran = fabula("score", *words)
    assert ran.code == 2 and said in ran.err


def test_a_reference_file_given_as_predictions_is_named_so(fabula, tmp_path):
    line = {"vid_name": "v", "duration": 9.0, "ts": [1.0, 3.0], "desc": "a dog", "desc_id": 1, "type": "v"}
    (tmp_path / "tvr.jsonl").write_text(json.dumps(line) + "\n")
    ran = fabula("score", "tvr.jsonl", "--refs", "tvr.jsonl")
    assert ran.code == 2 and "'tvr', which holds references of moments, not predictions" in ran.err


def test_an_archive_is_named_so(fabula, tmp_path):
    with zipfile.ZipFile(tmp_path / "s.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.write("preds.json")
    ran = fabula("score", "s.zip", "--refs", "refs.json")
    assert ran.code == 2 and "this is a .zip archive; unpack it" in ran.err


def test_a_dash_is_standard_input():
    words = [sys.executable, "-m", "fabula", "score", "-", "--refs", str(TRUTH), "-m", "SODA_d", "--json", "-"]
    ran = subprocess.run(words, input=GOOD.read_bytes(), capture_output=True, timeout=120, check=True)
    expected = score_files(GOOD, TRUTH, metrics="SODA_d")["SODA_d"].value
    assert json.loads(ran.stdout)["scores"]["SODA_d"]["value"] == expected
    stories = json.loads(GOOD.read_text(encoding="utf-8"))["results"].items()
    lines = [
        {"id": v, "events": [{"start": e["timestamp"][0], "end": e["timestamp"][1]} for e in events]}
        for v, events in stories
    ]
    ran = subprocess.run(
        words, input="\n".join(map(json.dumps, lines)), text=True, capture_output=True, timeout=120, check=True
    )
    assert json.loads(ran.stdout)["scores"]["SODA_d"]["value"] == expected


def test_no_format_is_written_as_csv(fabula):
    ran = fabula("convert", "preds.json", "out.csv")
    assert (
        ran.code == 2
        and "no format is written as .csv; let the name end in .json, .jsonl, .parquet, .srt or .vtt" in ran.err
    )


def test_intervals_that_nobody_computed_are_not_drawn(fabula):
    assert fabula("score", "preds.json", "--refs", "refs.json", "-m", "mIoU", "--json", "r.json").code == 0
    ran = fabula("plot", "intervals", "r.json", "-o", "p.svg")
    assert ran.code == 2 and "score with --ci" in ran.err


def test_in_python_a_score_is_a_number_and_an_absent_one_is_named():
    result = score_files(GOOD, TRUTH, metrics="SODA_d")
    assert float(result["SODA_d"]) == result["SODA_d"].value
    with pytest.raises(KeyError) as caught:
        result["CIDEr"]
    assert str(caught.value) == "no score is called 'CIDEr'; there are: SODA_d"
    with pytest.raises(SpecError, match="in Python refs="):
        score_files(GOOD)


def test_a_bundle_without_a_wheel_says_what_the_server_needs(fabula):
    ran = fabula("host", "codabench", "--refs", "refs.json", "-m", "SODA_d", "-o", "b")
    assert ran.code == 0 and "add --wheel FILE" in ran.err


def test_an_absent_package_of_the_core_costs_one_line(tmp_path: Path):
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError(\"No module named 'click'\", name='click')\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from fabula.__main__ import main; main()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 2 and ran.stderr == "fabula: error: the package click is absent; pip install click\n"
