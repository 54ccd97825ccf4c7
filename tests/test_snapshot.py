"""tools/snapshot: what a run gives is split into parts, two takes agree, and what differs is seen and sorted."""

import json
from pathlib import Path

import pytest

pytest.importorskip("tools.snapshot", reason="not a checkout")

from tools.snapshot import compare, planted, runs, take
from tools.snapshot.take import Run

ROOT = Path(__file__).parents[1]


def test_a_run_has_its_parts_and_gives_them_again() -> None:
    words = (
        "score",
        "good.json",
        "--refs",
        "annotator_1.json",
        "-m",
        "SODA_d,mIoU",
        "--json",
        "o.json",
        "--rows",
        "r.csv",
    )
    run = Run("x", words, inputs=runs.demo_inputs())
    parts = take.take(run)
    assert parts["exit"] == "0" and {"out", "words", "message numbers", "file o.json", "file r.csv"} <= set(parts)
    assert json.loads(parts["file o.json"])["fabula"] == "VERSION" and "fabula:VERSION" in parts["out"]
    assert take.take(run) == parts
    narrow = take.take(Run("x", words, inputs=runs.demo_inputs(), columns=80))
    assert narrow["out"] != parts["out"] and max(map(len, narrow["out"].splitlines())) <= 80


def test_what_is_refused_has_its_exit_code_and_numbers_of_its_message() -> None:
    parts = take.take(Run("x", ("power", "good.json", "--refs", "annotator_1.json"), inputs=runs.demo_inputs()))
    assert parts["exit"] == "2" and parts["message numbers"] == ".8"


def test_differences_are_sorted_and_words_fail_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {"verb: a": {"exit": "0", "words": "x"}, "verb: b": {"exit": "0"}, "golden: c": {"json": "1"}}
    now = {"verb: a": {"exit": "0", "words": "y"}, "verb: b": {"exit": "2"}, "verb: d": {"exit": "0"}}
    found = list(compare.differences(before, now))
    assert found == [
        ("golden: c", "run", "is gone"),
        ("verb: a", "words", "x → y"),
        ("verb: b", "exit", "0 → 2"),
        ("verb: d", "run", "is new"),
    ]
    rules = tmp_path / "allowed.txt"
    rules.write_text("# meant\nverb: b | exit  # it should refuse\ngolden: c | *  # moved\nverb: d | run  # new\n")
    assert compare.report(found, compare.read_allowed(rules)) == 0
    assert compare.report(found, []) == 1 and "verb: b | exit: 0 → 2" in capsys.readouterr().out
    rules.write_text("verb: b | exit\n")
    with pytest.raises(SystemExit, match="line 1 has no reason"):
        compare.read_allowed(rules)


def test_planted_changes_fit_the_source() -> None:
    from tools.mutants import SOURCE

    assert len(planted.CHANGES) >= 40
    assert not [c.file for c in planted.CHANGES if c.old not in (SOURCE / c.file).read_text(encoding="utf-8")]
