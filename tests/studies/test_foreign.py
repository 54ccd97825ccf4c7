"""Studies that somebody else made, damaged or raced for; clocks that are set; what others may read."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from fabula.core import atomic
from fabula.core.errors import InputError
from fabula.documents.tables import escape_formula, read_table, unescape_formula
from fabula.studies import steps as api
from fabula.studies import store as stores
from fabula.studies.items import Item
from fabula.studies.store import Store
from tests.studies.made import film, make_plan, make_study

GOOD = {"static": 1, "dynamic": 2, "accuracy_1": 5, "accuracy_2": 3}


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """A study with gold questions, checks and an answer; copied by whoever changes it."""
    folder = tmp_path_factory.mktemp("answered")
    gold = {"id": "g", "video": "one", "time": [0.2, 1.2], "descriptions": {"coarse": "c", "fine": "f"}}
    (folder / "gold.jsonl").write_text(json.dumps({**gold, "expect": {"static": "fine"}}) + "\n")
    study, _ = make_study(folder, count=4, questions=4, checks=1, gold="gold.jsonl", golds=1)
    with Store(study, work=True) as store:
        place = next(s.place for s in store.slots(0) if s.role == "question")
        store.note(0, place, "played")
        store.add(0, place, "a" * 32, GOOD)
    return study


@pytest.fixture
def study(answered, tmp_path):
    return Path(shutil.copytree(answered, tmp_path / "study"))


def change(study: Path, statement: str, *values: object) -> None:
    """What no program of ours does."""
    with contextlib.closing(sqlite3.connect(study / "study.sqlite", isolation_level=None)) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute(statement, values)


def set_clip(study: Path, clip: str, clips: object = None) -> None:
    with Store(study) as store:
        items = [{**item.to_dict(), "clip": clip} for item in store.items]
    change(study, "UPDATE study SET value = ? WHERE key = 'items'", json.dumps(items))
    if clips is not None:
        change(study, "UPDATE study SET value = ? WHERE key = 'clips'", str(clips))


# ── files ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("clip", "clips", "said"),
    [
        ("/etc/passwd", None, "leads out of the folder of the videos"),
        ("../secret.mp4", None, "leads out of the folder of the videos"),
        ("link.mp4", None, "leads out of the folder of the videos"),
        ("passwd", "/etc", "is not of a kind that browsers play"),
        ("words.mp4", None, "is no video by its first bytes"),
        ("folder.mp4", None, "is gone"),
        ("one.mp4", "/", "would be served from /, which holds"),
        ("one.mp4", "/home/..", "would be served from /, which holds"),
    ],
)
def test_a_study_of_somebody_else_serves_no_other_file(study, tmp_path, clip, clips, said):
    pytest.importorskip("fastapi", reason="the server needs fabula[web]")
    own = tmp_path / "clips"
    own.mkdir()
    (own / "one.mp4").write_bytes(film(2.0))
    (tmp_path / "secret.mp4").write_bytes(film(2.0))
    (own / "link.mp4").symlink_to(tmp_path / "secret.mp4")
    (own / "words.mp4").write_bytes(b"root:x:0:0:root:/root:/bin/bash\n")
    (own / "folder.mp4").mkdir()
    set_clip(study, clip, clips or own)
    with pytest.raises(InputError, match=said):
        api.serve(study, ready=lambda *_: pytest.fail("served"))


def test_a_clip_that_becomes_a_link_is_gone(tmp_path):
    pytest.importorskip("fastapi", reason="the server needs fabula[web]")
    pytest.importorskip("httpx", reason="scripted raters need fabula[llm]")
    from tests.studies.made import Rater, serving

    study, tokens = make_study(tmp_path, count=4, questions=4)
    with serving(study) as (address, store):
        rater = Rater(address, tokens[0]).agree()
        told = rater.get("/api/question/0").json()
        clip = store.clips / store.items[store.booklet[0, 0].item].clip
        assert rater.get(told["clip"]["src"]).status_code == 200
        (tmp_path / "secret.mp4").write_bytes(film(2.0))
        clip.unlink()
        clip.symlink_to(tmp_path / "secret.mp4")
        assert rater.get(told["clip"]["src"]).status_code == 404


def test_new_takes_no_link_out_of_the_folder(tmp_path):
    plan = make_plan(tmp_path)
    (tmp_path / "clips" / "one.mp4").rename(tmp_path / "one.mp4")
    (tmp_path / "clips" / "one.mp4").symlink_to(tmp_path / "one.mp4")
    with pytest.raises(InputError, match="leads out of the folder of the videos; put the video itself there"):
        api.new(plan, out=tmp_path / "study")
    assert not (tmp_path / "study").exists()


@pytest.mark.skipif(os.name == "nt", reason="rights of POSIX")
def test_nobody_else_reads_a_study(study, tmp_path):
    def rights(path: Path) -> int:
        return path.stat().st_mode & 0o777

    (tmp_path / "new").mkdir()
    made, _ = make_study(tmp_path / "new", count=4, questions=4)
    assert rights(made / "study.sqlite") == rights(made / "links.csv") == 0o600
    (study / "study.sqlite").chmod(0o644)  # as they were made
    with Store(study, work=True) as store:
        store.note(1, 0, "shown")
        files = [p for p in study.iterdir() if p.name.startswith("study.sqlite")]
        assert len(files) == 3 and all(rights(p) == 0o600 for p in files)  # -wal and -shm too
        copy = tmp_path / "copy.sqlite"
        copy.touch(mode=0o644)
        store.backup(copy)
        assert rights(copy) == 0o600


# ── races ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_of_several_who_make_one_study_one_succeeds(tmp_path, monkeypatch):
    """The second looks before the first has taken the name, and comes after it."""
    plan, out = make_plan(tmp_path), tmp_path / "study"
    real = atomic.take_new_folder_place

    def late(made, target):
        monkeypatch.setattr(atomic, "take_new_folder_place", real)
        first.append(api.new(plan, out=target)[0])
        real(made, target)

    first = []
    monkeypatch.setattr(atomic, "take_new_folder_place", late)
    with pytest.raises(InputError, match="exists already; a study is made once"):
        api.new(plan, out=out)
    with Store(out) as store:  # the links of the one that succeeded open it
        assert set(store.tokens()) == {stores.hash_token(t) for t in first[0].tokens}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["PLAN.toml", "clips", "items.jsonl", "study"]


def test_a_folder_is_taken_once(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    made = tmp_path / "made"
    made.mkdir()
    with pytest.raises(FileExistsError):
        atomic.take_new_folder_place(made, tmp_path / "there")
    atomic.take_new_folder_place(made, tmp_path / "new")
    assert (tmp_path / "new").is_dir() and not made.exists()


def test_simulate_does_not_begin_where_a_study_is(tmp_path, monkeypatch):
    plan = make_plan(tmp_path)
    (tmp_path / "study").mkdir()
    monkeypatch.setattr("fabula.studies.raters.simulate", lambda *_: pytest.fail("simulated"))
    with pytest.raises(InputError, match="exists already"):
        api.simulate(plan, options=api.SimulateOptions(out=tmp_path / "study", studies=1))


# ── damage ─────────────────────────────────────────────────────────────────────────────────────────────────────────

ITEM = Item("i", "one", 0.0, 1.0, {"coarse": "c", "fine": "f"}).to_dict()
DAMAGE = [
    *(("UPDATE study SET value = ? WHERE key = ?", (value, key))
      for key in ("plan", "systems", "items", "questions", "simulated", "made")
      for value in ("", "5", "[5]", '{"a": 1}', "null", "[" * 5000, b"\x00", "9" * 5000, '["x"]', '"NaN"')
      if not (key == "made" and value == "5")),
    *(("UPDATE study SET value = ? WHERE key = 'items'", (json.dumps([{**ITEM, **change}] * 9),))
      for change in ({"id": 5}, {"start": "x"}, {"start": -1.0}, {"end": 1e999}, {"end": 0.0}, {"clip": None},
                     {"descriptions": {"coarse": 5}}, {"descriptions": ["coarse"]}, {"kind": {}}, {"more": 1})),
    ("DELETE FROM study WHERE key = 'plan'", ()),
    ("UPDATE study SET value = X'00' WHERE key = 'id'", ()),
    ("UPDATE raters SET token = X'00' WHERE rater = 0", ()),
    ("DELETE FROM raters WHERE rater = 0", ()),
    *((f"UPDATE slots SET {column} = ?", (value,))
      for column, values in {
          "item": (99, -1, "x", None, 1.5), "shown": ("", "[]", '["nobody"]', "5", "{}", b"\x00"),
          "question": ("nothing", b"\x00", 5), "role": ("x", 5, b"\x00"), "expect": ("[]", "5", "x", '{"static": 9}'),
          "place": (), }.items()
      for value in values if value is not None),
    ("UPDATE events SET at = 'x'", ()),
    ("UPDATE events SET kind = X'00'", ()),
    *((f"UPDATE answers SET {column} = ?", (value,))
      for column, values in {"answer": ("", "[]", "5", '{"static": 1}', '{"static": "x"}', b"\x00", "[" * 5000),
                             "seconds": ("x", 9e999), "at": ("x", 9e999), "place": (99, "x"), "rater": (99,)}.items()
      for value in values),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "values"), DAMAGE)
def test_damage_costs_one_line(study, statement, values):
    change(study, statement, *values)
    with pytest.raises(InputError) as error:
        api.results(study)
    assert str(study / "study.sqlite") in str(error.value) and "take a backup" in str(error.value), str(error.value)


# ── clocks ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_clock_that_is_set_changes_nothing(study, monkeypatch):
    now = [time.time()]
    monkeypatch.setattr(stores.time, "time", lambda: now[0])
    with Store(study, work=True) as store:
        shown = store.note(1, 0, "shown")
        now[0] -= 3600  # set back while it is served
        assert 0 <= store.clock() - shown < 60
        now[0] += 7200  # and forward
        assert 0 <= store.clock() - shown < 60
        store.note(1, 0, "played")
    now[0] -= 100_000  # and back before it is served again
    with Store(study, work=True) as store:
        assert 0 <= store.clock() - shown < 60
        store.add(1, 0, "b" * 32, store.form.check(GOOD, 2))
        assert all(row.seconds >= 0 for row in store.answers())


# ── tables ─────────────────────────────────────────────────────────────────────────────────────────────────────────

FORMULAS = ("-2+3+cmd|'/C calc'!A0", "=1+1", "+1+1", "@SUM(A1)", "\t=1", "\r=1", "-(1)", "+A1*2", "'=1", "''-1+1",
            "\n=1", "＝1", "-1;2", "- 1")  # fmt: skip
PLAIN = ("-0.5", "-Ju39A4G0Dk", "-12", "+7", "a=b", "", "'", "'tis", "-", "-_x", "-1e-5", "video-1", "0", " =x")


def test_formulas_are_words_and_come_back():
    for text in FORMULAS:
        assert escape_formula(text) == "'" + text and unescape_formula("'" + text) == text
    for text in PLAIN:
        assert escape_formula(text) == text and unescape_formula(text) == text
    assert escape_formula(-0.5) == -0.5


def test_no_formula_in_any_table(tmp_path):
    from fabula.documents import rows as row_files
    from fabula.studies.results import RatingRow

    bad = FORMULAS[0]
    table = [RatingRow("id", 1, bad, bad, bad, "static", bad, 1, -0.5, 1.0, 2.0, False, False)]
    api.write_ratings(table, tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        cells = next(csv.DictReader(file))
    assert [cells[name] for name in ("item", "kind", "question", "system")] == ["'" + bad] * 4
    assert cells["value"] == "-0.5"
    assert read_table(tmp_path / "t.csv")[0]["item"] == bad  # as fabula meta reads it
    lines = list(row_files.csv_lines([{"video": "=1+1", "F1": -0.5}, {"video": "-Ju39", "F1": 0.25}], ["video", "F1"]))
    assert lines == ["video,F1\n", "'=1+1,-0.5\n", "-Ju39,0.25\n"]
    (tmp_path / "rows.csv").write_text("".join(lines))
    assert row_files.read_columns(tmp_path / "rows.csv")[0]["F1"] == {"=1+1": -0.5, "-Ju39": 0.25}


def test_a_sample_of_more_than_there_are_takes_all_and_says_so(tmp_path, caplog):
    _, design = api.new(make_plan(tmp_path, count=4, sample=100), out=tmp_path / "study")
    assert len(design.items) == 4 and "sample = 100, and there are 4 items: all of them are taken" in caplog.text
