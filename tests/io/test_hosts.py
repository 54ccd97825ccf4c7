"""Logs of lmms-eval and tables of VLMEvalKit: somebody's run, scored again; what is odd in them is said."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import fabula
from fabula import io
from fabula.core.errors import FabulaError, InputError, MissingExtra
from fabula.core.notes import Notes

KEY = "AO8RW.mp4>>>person opens a door>>>[24.3, 30.4]"
SAID = "The event happens in 20 - 31 seconds."
LINE = {"doc_id": 7, "target": "[24.3, 30.4]", "filtered_resps": SAID, "token_counts": [{"input_tokens": 900}],
        "doc_hash": "ab", "charades_sta_mIOU": {KEY: SAID}, "input": "…"}  # fmt: skip
REFS = {"v_kite": {"duration": 30.5, "timestamps": [[0, 10.5]], "sentences": ["A kite rises."]}}


def lines(path: Path, *entries: object) -> Path:
    path.write_text("".join(json.dumps(e) + "\n" for e in entries))
    return path


def table(path: Path, *rows: list[object]) -> Path:
    if path.suffix == ".xlsx":
        openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install 'fabula[tables]'")
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, "excel-tab" if path.suffix == ".tsv" else "excel").writerows(rows)
    return path


def test_a_log_of_charades_scores_against_itself(tmp_path):
    timelens = {"doc_id": 8, "filtered_resps": ["<think>1 to 2</think>10.5s - 12.0s"],
                "timelens_mIOU": {"a/b.mp4>>>he >>> runs>>>[[10.0, 12.0]]": "x"}}  # fmt: skip
    when = {"doc_id": 9, "filtered_resps": "I do not know", "resps": [["?"]],
            "ewb_mIoU": {"qid": 3, "video_id": "z", "pred_interval": None, "gt": [1.0, 2.0]}}  # fmt: skip
    log = lines(tmp_path / "x_samples_t.jsonl", LINE, timelens, when)
    result = fabula.score(log, log, task="grounding")
    assert result["Grounding"].values["miou"] == pytest.approx((6.1 / 11 + 1.5 / 2 + 0) / 3)
    assert result.counts["unparsed"] == 1 and result.counts["queries"] == 3
    assert {q.video for q in io.moments.read_queries([log], Notes()).values()} == {"AO8RW.mp4", "a/b.mp4", "z"}


def test_a_log_of_answers(tmp_path):
    said = "From 0 to 10.5 seconds, a kite rises."
    refs = tmp_path / "refs.json"
    refs.write_text(json.dumps(REFS))
    for known in ({"doc": {"video": "v_kite"}}, {"task_SODA": {"id": "v_kite", "duration": 30.5}}, {}):
        log = lines(tmp_path / "log.jsonl", {"doc_id": 0, "target": "", "filtered_resps": [said], **known})
        corpus, _ = io.read(log)
        assert corpus.format == "lmms-samples" and list(corpus) == (["v_kite"] if known else ["0"])
    log = lines(tmp_path / "log.jsonl", {"doc_id": 0, "filtered_resps": said, "m": {"id": "v_kite"}})
    assert fabula.score(log, refs, metrics="SODA_d")["SODA_d"].value == 1
    several = lines(tmp_path / "s.jsonl", {"doc_id": 0, "filtered_resps": [said, "other"], "m": {"id": "v_kite"}})
    corpus, notes = io.read(several)
    assert len(corpus["v_kite"]) == 1 and any("several answers; the first counts" in line for line in notes.lines())


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"doc_id": 0, "filtered_resps": 7}, "expected text"),
        ({"doc_id": 0, "filtered_resps": []}, "expected text"),
        ([1], "expected an object"),
        ({"filtered_resps": "x"}, "'doc_id' is missing"),
    ],
)
def test_lines_that_are_none(tmp_path, entry, problem):
    good = {"doc_id": 1, "filtered_resps": "0 - 1 s: x", "m": {"id": "a"}}
    with pytest.raises(InputError, match=problem):
        io.read(lines(tmp_path / "log.jsonl", good, entry))


def test_a_log_without_truth_is_no_reference(tmp_path):
    log = lines(tmp_path / "log.jsonl", LINE, {"doc_id": 8, "filtered_resps": "x"})
    with pytest.raises(InputError, match="does not hold the truth"):
        fabula.score(log, log, task="grounding")


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx"])
def test_tables(tmp_path, ending):
    refs = tmp_path / "refs.json"
    refs.write_text(json.dumps({**REFS, "v_b": REFS["v_kite"]}))
    said = 'From 0 to 10.5 seconds, a kite, "red", rises.\n12s - 30s:\tIt falls.'
    made = table(tmp_path / f"m_D.{ending}", ["index", "video", "duration", "prediction", "extra"],
                 [0, "v_kite", 30.5, said, None],
                 [1, "v_b", 30.5, "Failed to obtain answer via API.", "x"], [])  # fmt: skip
    corpus, notes = io.read(made)
    assert corpus.format == "vlmevalkit" and len(corpus["v_kite"]) == 2 and not len(corpus["v_b"])
    assert corpus["v_kite"].duration == 30.5 and 'a kite, "red", rises' in corpus["v_kite"].captions[0]
    assert any("never came" in line for line in notes.lines()) and notes.tally["unparsed"] == 1
    assert fabula.score(made, refs, metrics="SODA_d").counts["predictions"] == 2
    by_index, _ = io.read(made, "vlmevalkit:index")
    assert list(by_index) == ["0", "1"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx"])
def test_tables_of_grounding(tmp_path, ending):
    made = table(tmp_path / f"m.{ending}", ["index", "video", "question", "answer", "prediction"],
                 [0, "a", "when?", "[0, 10]", "0 - 5 seconds"], [1, "b", "when?", "[[0, 1], [4, 8]]", "4s to 8s"],
                 [2, "c", "when?", "From 1 to 2 seconds.", "never"])  # fmt: skip
    result = fabula.score(made, made, task="grounding")
    assert result["Grounding"].values["miou"] == pytest.approx(1.5 / 3) and result.counts["unparsed"] == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the table is empty"),
        (",,\n1,2,3\n", "names no column"),
        ("video,video\na,b\n", "'video' stands twice"),
        ("video,prediction\na,b,c\n", "a row of 3 cells under 2 columns"),
        ("video,text\na,b\n", "'prediction' is missing"),
        ("video,prediction\n,b\n", "no video"),
        ("video,prediction\na,0 - 1 s: x\na,0 - 1 s: x\n", "stands twice"),
    ],
)
def test_tables_that_are_none(tmp_path, text, problem):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        io.read(path)


def test_workbooks_that_are_none(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install 'fabula[tables]'")
    good = table(tmp_path / "good.xlsx", ["video", "prediction"], ["a", "0 - 1 s: x"]).read_bytes()
    for i in range(0, len(good), max(1, len(good) // 40)):
        (tmp_path / "cut.xlsx").write_bytes(good[:i])
        with pytest.raises(FabulaError, match=r"cut\.xlsx"):
            io.read(tmp_path / "cut.xlsx")
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"\[tables\]"):
        io.read(tmp_path / "good.xlsx")
