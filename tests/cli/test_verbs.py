"""fabula list, baseline, convert, doctor, demo and help, as a user types them."""

import json
import os
import subprocess
import sys

import pytest

import fabula as package
from fabula import benchmarks, metrics
from fabula.io import all_formats


def test_version_and_help(fabula):
    assert fabula("--version").out.strip() == f"fabula {package.__version__}"
    ran = fabula("--help")
    assert ran.code == 0 and all(verb in ran.out for verb in ("score", "list", "baseline", "convert", "doctor", "demo"))


def test_a_wrong_verb_names_its_neighbour(fabula):
    ran = fabula("scroe", "preds.json")
    assert ran.code == 2 and "no verb is called 'scroe'; did you mean 'score'?" in ran.err


def test_the_installed_command_is_this_one():
    """In a process of its own, as a shell starts it."""
    command = [
        sys.executable,
        "-c",
        "from fabula.verbs.command_line import main; main()",
        "score",
        "nothing.json",
        "--refs",
        "none",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2 and ran.stdout == ""
    assert ran.stderr == "fabula: error: nothing.json: no such file; check the path\n"


@pytest.mark.parametrize("typed", [("list", "protocols"), ("--help",), ("score", "--help")], ids=" ".join)
@pytest.mark.parametrize("broken", ["stdout", "both"])
def test_output_that_nobody_reads_ends_quietly(tmp_path, typed, broken):
    """As in `fabula … | head -1`, with a reader who left before the first line."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from fabula.verbs.command_line import main; main()", *typed]
    with (tmp_path / "err").open("wb") as err:
        ran = subprocess.run(command, stdout=writer, stderr=writer if broken == "both" else err, timeout=60)
    os.close(writer)
    assert (ran.returncode, (tmp_path / "err").read_text()) == (141, "")


def test_an_error_that_nobody_reads_ends_quietly():
    reader, writer = os.pipe()
    os.close(reader)
    command = [
        sys.executable,
        "-c",
        "from fabula.verbs.command_line import main; main()",
        "score",
        "nothing.json",
        "--refs",
        "none",
    ]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=writer, timeout=60)
    os.close(writer)
    assert (ran.returncode, ran.stdout) == (141, b"")


def test_list_shows_every_metric_and_protocol(fabula):
    listed = fabula("list", "metrics").out
    assert all(name in listed for name in metrics.room.names())
    listed = fabula("list", "protocols").out
    assert all(p.name in listed and p.commit in listed for p in benchmarks.room.all())
    formats = fabula("list", "formats").out.splitlines()
    assert formats[0].split("\t") == ["format", "tasks", "holds", "file", "written", "what it is", "example"]
    assert {len(line.split("\t")) for line in formats} == {7} and len(formats) == 1 + len(all_formats())
    assert "dense" in fabula("list", "tasks").out
    assert "meteor" in fabula("list", "scorers").out


def test_uniform_baseline_cuts_whole_seconds(fabula, tmp_path):
    (tmp_path / "short.json").write_text(json.dumps({"v": {"duration": 9.5, "timestamps": [[0, 4], [4, 9]]}}))
    assert fabula("baseline", "uniform", "--refs", "short.json", "--count", 4, "-o", "u.json").code == 0
    events = json.loads((tmp_path / "u.json").read_text())["results"]["v"]
    assert [e["timestamp"] for e in events] == [[0, 2.5], [2.5, 5], [5, 7.5], [7.5, 10]]
    assert (
        fabula(
            "baseline", "uniform", "--refs", "short.json", "--reference-count", "--raw-duration", "-o", "u.json"
        ).code
        == 0
    )
    events = json.loads((tmp_path / "u.json").read_text())["results"]["v"]
    assert [e["timestamp"] for e in events] == [[0, 4.75], [4.75, 9.5]]
    ran = fabula("score", "u.json", "--refs", "short.json", "--json", "-")
    assert json.loads(ran.out)["task"] == "procedure"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--duration", "1e-9"), "segments of 1e-09 seconds cut a video of 60 seconds into more than 1,000,000"),
        (("--duration", "5e-324"), "say a longer duration"),
        (("--count", 10**12), "a count of 1000000000000; a video is cut into 1,000,000 segments at most"),
        (("--count", 0), "it must be at least 1"),
    ],
)
def test_a_uniform_cut_without_end_is_refused(fabula, tmp_path, typed, said):
    ran = fabula("baseline", "uniform", "--refs", "refs.json", *typed, "-o", "u.json")
    assert ran.code == 2 and said in ran.err and ran.err.count("\n") == 1 and not (tmp_path / "u.json").exists()


def test_convert_there_and_back(fabula, tmp_path):
    assert fabula("convert", "refs.json", "lines.jsonl.gz", "--to", "fabula").code == 0
    assert fabula("convert", "lines.jsonl.gz", "back.json", "--to", "activitynet").code == 0
    back = json.loads((tmp_path / "back.json").read_text())
    assert back == json.loads((tmp_path / "refs.json").read_text())


def test_convert_says_what_is_lost(fabula):
    ran = fabula("convert", "refs.json", "sub.json", "--to", "submission")
    assert ran.code == 0 and "lost" in ran.err and "duration" in ran.err


def test_what_is_written_can_be_read_again(fabula, tmp_path):
    ran = fabula("convert", "refs.json", "lines.json", "--to", "fabula")
    assert ran.code == 2 and "lines.json: fabula is JSON Lines, which end in .jsonl or .jsonl.gz" in ran.err
    ran = fabula("convert", "refs.json", "whole.jsonl", "--to", "activitynet")
    assert ran.code == 2 and "whole.jsonl: activitynet is one JSON document, not lines" in ran.err
    assert not list(tmp_path.glob("lines*")) and not list(tmp_path.glob("whole*"))
    assert fabula("convert", "refs.json", "/dev/null", "--to", "fabula").code == 0


def test_doctor(fabula):
    ran = fabula("doctor")
    assert ran.code == 0 and "kernels" in ran.out and package.__version__ in ran.out


def test_demo_writes_reports(fabula, tmp_path):
    ran = fabula("demo", "--out", "reports", "--metrics", "SODA_d,mIoU")
    assert ran.code == 0, ran.err
    assert {p.name for p in (tmp_path / "reports").iterdir()} == {
        f"{system}.{kind}"
        for system in ("good", "over_segmenting", "out_of_order")
        for kind in ("json", "html", "rows.jsonl")
    }
    table = {line.split("\t")[0]: [float(x) for x in line.split("\t")[1:]] for line in ran.out.splitlines()[1:]}
    good, over, _ = table["mIoU"]
    assert over > good, "mIoU prefers the system that cuts everything to pieces"
    good, over, _ = table["SODA_d F1"]
    assert good > over, "SODA_d does not"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("where", "lmms-eval"), ("host", "--where", "lmms-eval")),
        (("cite", "SODA_c", "soda-2021"), ("list", "--cite", "SODA_c", "soda-2021")),
    ],
)
def test_an_earlier_name_prints_the_same_and_is_not_listed(fabula, old, new):
    ran = fabula(*old)
    assert ran.code == 0 and ran.out and (ran.out, ran.err) == (fabula(*new).out, fabula(*new).err)
    assert f"\n  {old[0]} " not in fabula("--help").out


def test_convert_reads_free_form_answers_as_parse_does(fabula, tmp_path):
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "v_1", "answer": "0 - 5 s: He cuts. 5 - 9 s: He fries."}\n')
    for name, words in (("new", ("convert", "--answers", answers)), ("old", ("parse", answers, "-o"))):
        ran = fabula(*map(str, (*words, tmp_path / f"{name}.jsonl", "--audit", tmp_path / f"{name}.json")))
        assert ran.code == 0 and "2 parsed" in ran.err
    for ending in ("jsonl", "json"):
        assert (tmp_path / f"new.{ending}").read_text() == (tmp_path / f"old.{ending}").read_text()
    ran = fabula("convert", str(answers), str(tmp_path / "x.jsonl"), "--unit", "percent")
    assert ran.code == 2 and "--unit only applies with --answers" in ran.err
