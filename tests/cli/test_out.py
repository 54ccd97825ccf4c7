"""Where verbs write: never over what they read, never two things into one file, refused before the work."""

import json

import pytest

LINES = '{"id": "v_a", "answer": "0:00 - 0:10 A kite rises."}\n'


@pytest.fixture
def files(tmp_path):
    """More to read than the fixture `fabula` brings."""
    (tmp_path / "other.json").write_text(json.dumps({"results": {"v_a": [{"sentence": "x", "timestamp": [0, 9]}]}}))
    (tmp_path / "answers.jsonl").write_text(LINES)
    (tmp_path / "clips.csv").write_text("a\t[P1]\n")
    (tmp_path / "there").mkdir()
    return tmp_path


SCORE = ("score", "preds.json", "--refs", "refs.json", "-m", "mIoU")


@pytest.mark.parametrize(
    "typed",
    [
        (*SCORE, "--json", "preds.json"),
        (*SCORE, "--html", "refs.json"),
        (*SCORE, "--html", "page.html", "--against", "other.json", "--json", "there/../other.json"),
        ("compare", "preds.json", "other.json", "-r", "refs.json", "-m", "mIoU", "--json", "other.json"),
        ("protocols", "preds.json", "-r", "refs.json", "--only", "pss-2022", "--json", "refs.json"),
        ("diagnose", "preds.json", "-r", "refs.json", "-m", "SODA_d", "--json", "refs.json"),
        ("stress", "mIoU", "--ways", "shift", "--corpus", "refs.json", "--json", "refs.json"),
        ("lint", "preds.json", "--json", "preds.json"),
        ("lint", "preds.json", "-r", "refs.json", "--fix", "refs.json"),
        ("convert", "refs.json", "refs.json", "--to", "activitynet"),
        ("parse", "answers.jsonl", "-o", "answers.jsonl"),
        ("baseline", "uniform", "-r", "refs.json", "--count", "2", "-o", "refs.json"),
        ("baseline", "same-id", "-r", "clips.csv", "-o", "clips.csv"),
    ],
)
def test_a_file_that_is_read_is_not_written_over(fabula, files, typed):
    before = {path: path.read_bytes() for path in files.iterdir() if path.is_file()}
    ran = fabula(*typed)
    assert ran.code == 2 and "would replace" in ran.err and ran.err.count("\n") == 1
    assert {path: path.read_bytes() for path in files.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    "typed",
    [
        (*SCORE, "--json", "out", "--html", "out"),
        ("lint", "preds.json", "--json", "out", "--fix", "./out"),
        ("parse", "answers.jsonl", "-o", "out", "--audit", "out"),
    ],
)
def test_two_outputs_do_not_share_a_file(fabula, files, typed):
    ran = fabula(*typed)
    assert ran.code == 2 and "name the same file" in ran.err and not (files / "out").exists()


@pytest.mark.parametrize(
    "typed",
    [
        (*SCORE, "--html", "-"),
        ("lint", "preds.json", "--fix", "-"),
        ("convert", "refs.json", "-", "--to", "activitynet"),
        ("parse", "answers.jsonl", "-o", "-"),
    ],
)
def test_a_dash_is_no_file(fabula, files, typed):
    ran = fabula(*typed)
    assert ran.code == 2 and "/dev/stdout" in ran.err and not (files / "-").exists()


def test_a_folder_that_is_not_there_is_said_before_scoring(fabula, files):
    """The references do not exist either: what is written is looked at first."""
    ran = fabula("score", "preds.json", "--refs", "none.json", "--json", "nowhere/out.json")
    assert ran.code == 2
    assert (
        ran.err == "fabula: error: nowhere/out.json: cannot be written (No such file or directory); check the folder\n"
    )
    ran = fabula("score", "preds.json", "--refs", "none.json", "--json", "there")
    assert ran.code == 2 and "there: cannot be written (Is a directory)" in ran.err


@pytest.mark.parametrize("words", [("--only", "soda-2021", "--only", "pss-2022"), ("--only", "soda-2021,pss-2022")])
def test_only_may_be_said_again(fabula, files, words):
    ran = fabula("protocols", *words, "preds.json", "-r", "refs.json", "--json", "-")
    assert ran.code == 0 and set(json.loads(ran.out)["protocols"]) == {"default", "soda-2021", "pss-2022"}


def test_a_protocol_named_twice_stands_once(fabula, files):
    ran = fabula("protocols", "preds.json", "-r", "refs.json", "--only", "pss-2022,pss-2022")
    assert ran.code == 0 and ran.out.splitlines()[0] == "metric\tdefault\tpss-2022"


def test_numbers_at_each_threshold_are_shown_where_asked_for(fabula, files):
    ask = ("score", "preds.json", "-r", "refs.json", "--metrics", "PRF@0.3/0.9,mIoU")
    fields = [line.split("\t")[:2] for line in fabula(*ask, "--thresholds").out.splitlines()]
    assert [f for n, f in fields if n == "PRF"][3:] == [
        f"{f}@{t}" for t in ("0.3", "0.9") for f in ("precision", "recall", "f1")
    ]
    assert [f for n, f in fields if n == "mIoU"] == ["value"]
    assert "@0.3\t" not in fabula(*ask).out.replace("PRF@0.3/0.9", "")


def test_protocols_write_json_to_standard_output(fabula, files):
    ran = fabula("protocols", "preds.json", "-r", "refs.json", "--only", "pss-2022", "--json", "-")
    assert ran.code == 0 and set(json.loads(ran.out)["protocols"]) == {"default", "pss-2022"}
    assert not (files / "-").exists()
