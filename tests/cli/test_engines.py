"""The engines on the command line: the same JSON shard by shard, and a clear line where options do not fit."""

import json

import pytest


@pytest.fixture
def streamed(fabula):
    for name in ("refs", "preds"):
        assert fabula("convert", f"{name}.json", f"{name}.jsonl", "--to", "fabula").code == 0
    return ("preds.jsonl", "--refs", "refs.jsonl", "--metrics", "SODA_d,SODA_c(text=exact,tok=none)")


def test_work_and_resume(fabula, streamed, tmp_path):
    whole = fabula("score", *streamed, "--json", "-")
    assert fabula("score", *streamed, "--work", "run", "--json", "-") == whole
    again = fabula("score", *streamed, "--work", "run")
    assert again.code == 2 and "run: holds an earlier run; use --resume to continue it" in again.err
    assert fabula("score", *streamed, "--work", "run", "--resume", "--json", "-") == whole
    assert json.loads(whole.out)["counts"]["videos"] == 2
    (tmp_path / "preds.jsonl").write_text((tmp_path / "preds.jsonl").read_text().replace("one", "eins"))
    other = fabula("score", *streamed, "--work", "run", "--resume")
    assert other.code == 2 and "holds a run that differs in: predictions;" in other.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--resume"], "name it with --work"),
        (["--address", "auto"], "say --engine ray"),
        (["--work", "run", "--html", "page.html"], "these were streamed; write --rows instead"),
    ],
)
def test_options_that_do_not_fit(fabula, streamed, options, said):
    ran = fabula("score", *streamed, *options)
    assert ran.code == 2 and said in ran.err and "Traceback" not in ran.err


def test_files_read_whole_can_be_drawn(fabula, tmp_path):
    ran = fabula("score", "preds.json", "--refs", "refs.json", "-m", "SODA_d", "--work", "run", "--html", "page.html")
    assert ran.code == 0, ran.err
    assert "preds.json" in (tmp_path / "page.html").read_text()  # the videos are packed
