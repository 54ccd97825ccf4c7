"""What makes typing easy: several names behind an option, endings that say a format, lists, completion, a start."""

import csv
import json
import os
import subprocess
import sys

import pytest

MAIN = "from fabula.verbs.command_line import main; main()"


@pytest.mark.parametrize(
    "words",
    [
        ("--metrics", "SODA_d", "mIoU", "preds.json", "--refs", "refs.json"),
        ("preds.json", "-r", "refs.json", "-m", "SODA_d,mIoU"),
        ("preds.json", "--metrics", "SODA_d(refs=mean)", "mIoU", "--refs", "refs.json"),
        ("preds.json", "--metrics", "SODA_d", "--metrics", "mIoU", "--refs", "refs.json"),
    ],
)
def test_several_metrics(fabula, words):
    ran = fabula("score", *words)
    assert ran.code == 0 and [line.split("\t")[0] for line in ran.out.splitlines()] == ["SODA_d"] * 3 + ["mIoU"]


def test_several_protocols(fabula):
    ran = fabula("protocols", "preds.json", "--refs", "refs.json", "--only", "soda-2021", "pss-2022")
    assert ran.code == 0 and "soda-2021" in ran.out and "pss-2022" in ran.out
    assert fabula("protocols", "--only", "soda-2021", "preds.json", "--refs", "refs.json").code == 0


def test_convert_knows_the_ending(fabula, tmp_path):
    assert fabula("convert", "preds.json", "out.jsonl").code == 0
    assert json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])["id"] == "v_a"
    ran = fabula("convert", "preds.json", "out.json")
    assert ran.code == 2 and "--to submission" in ran.err and not (tmp_path / "out.json").exists()


def test_rows_as_csv(fabula, tmp_path):
    rows = ["--refs", "refs.json", "-m", "mIoU", "--rows"]
    assert fabula("score", "preds.json", *rows, "rows.csv").code == 0
    assert fabula("score", "preds.json", *rows, "rows.jsonl").code == 0
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    with (tmp_path / "rows.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [{**row, "refset": int(row["refset"]), "mIoU": float(row["mIoU"])} for row in table] == lines


def test_a_list_of_statistics_is_json_in_a_cell(fabula, tmp_path):
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"id": 1, "cand": "a, kite", "refs": ["a kite"]}))
    assert fabula("score", "pairs.jsonl", "-m", "METEOR", "--rows", "rows.csv").code == 0
    with (tmp_path / "rows.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert len(json.loads(row["METEOR.stats"])) == 23


def test_videos_called_as_their_files(fabula, tmp_path):
    document = json.loads((tmp_path / "preds.json").read_text())
    document["results"] = {f"{id}.mp4": events for id, events in document["results"].items()}
    (tmp_path / "files.json").write_text(json.dumps(document))
    a, b = (fabula("score", name, "-r", "refs.json", "-m", "mIoU") for name in ("preds.json", "files.json"))
    assert a.out == b.out and "2 video ids of files.json were matched" in b.err
    c = fabula("score", "files.json", "-r", "refs.json", "-m", "mIoU", "--work", "work")
    assert c.out == a.out and c.err == b.err


def test_a_bare_list_names_everything(fabula):
    ran = fabula("list")
    assert ran.code == 0
    for word in ("metrics", "SODA_c", "protocols", "soda-2021", "formats", "qvhighlights", "tasks", "identity"):
        assert word in ran.out


def test_doctor_shows_every_extra(fabula):
    from importlib.metadata import metadata

    from fabula.verbs.scoring.commands.doctor import OWNERS

    ran, every = fabula("doctor"), fabula("doctor", "--extras")
    assert sum(line.startswith("· ") and "absent" in line for line in ran.out.splitlines()) <= 1
    for extra in metadata("fabula").get_all("Provides-Extra"):
        assert (f"[{extra}]" in ran.out) == (f"[{extra}]" in every.out) == (extra not in OWNERS)
    for line in ran.out.splitlines():
        assert (
            not line.startswith("·") or "--extras says how to install" in line or "METEOR" in line or "kernels" in line
        )


def test_signatures_full_and_short(fabula, tmp_path):
    import io

    from rich.console import Console

    from fabula.report.table import rich_table
    from fabula.verbs.scoring.score import score

    result = score(tmp_path / "preds.json", tmp_path / "refs.json", protocol="soda-2021")
    shown = {}
    for full in (False, True):
        console = Console(width=400, file=io.StringIO())
        console.print(rich_table(result, "t", full=full))
        shown[full] = console.file.getvalue()
    assert shown[False].count("refs=merged") == 1 and "all: refs=merged|" in shown[False]
    assert shown[True].count("refs=merged") == 4 and result["SODA_c"].signature in shown[True]
    assert "tok=ptb" in shown[True] and "tok=ptb" not in shown[False], "a default is not shown"


def test_words_are_completed():
    """As a shell asks (docs/cli.md)."""
    env = os.environ | {"_FABULA_COMPLETE": "bash_complete", "COMP_WORDS": "fabula sc", "COMP_CWORD": "1"}
    command = [sys.executable, "-c", f"import sys; sys.argv = ['fabula']; {MAIN}"]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "plain,score"


@pytest.mark.parametrize("words", [("--version",), ("score", "--help")])
def test_to_begin_loads_little(words):
    """No clock: what would cost time is not loaded. bench/start.py measures it."""
    code = f"import sys\nsys.argv = ['fabula', *{words!r}]\ntry:\n    {MAIN.replace('; ', chr(10) + '    ')}\n"
    code += "except SystemExit: pass\nprint('LOADED', *sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = ran.stdout.rpartition("LOADED")[2].split()
    assert not {"numpy", "rich", "json", "fabula.io", "fabula.metrics", "fabula.verbs.scoring.score"} & set(loaded)
