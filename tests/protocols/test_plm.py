"""PLM-VideoBench's five tasks against what the published functions gave (../shared/spec/vectors-2026)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fabula
from fabula.io.answers.readers import READERS, plm_rdcap, plm_rtloc

FILE = Path(__file__).resolve().parents[3] / "shared" / "spec" / "vectors-2026" / "plm_rdcap.json"
NEAR = 1e-12


@pytest.fixture(scope="module")
def vectors() -> Any:
    if not FILE.is_file():
        pytest.skip(f"{FILE.name} is not in ../shared/spec/vectors-2026: numbers of published programs are wanted")
    return json.loads(FILE.read_text(encoding="utf-8"))


def put(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_answer_is_read_as_published(vectors: Any) -> None:
    for case in vectors["parser"]:
        told = plm_rdcap.tell(case["text"])
        assert [list(map(int, window)) for window, _ in told] == case["segments"], case["text"]
        assert [words for _, words in told] == case["captions"], case["text"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[0, 5]: a\nFrame [6, 9]: b", [((0, 5), "a"), ((6, 9), "b")]),  # "\nFrame " goes, with the newline
        ("[0, 5]: a,,", [((0, 5), "a,")]),  # one comma
        ("[0,\n5] a\nb , ", [((0, 5), "a b")]),  # blanks of any kind after the comma
        ("[7, 2]: backwards", [((7, 2), "backwards")]),
        ("(0, 5): a", []),
        ("[0, 5] [6, 9]", [((0, 5), ""), ((6, 9), "")]),
        (f"[0, {'9' * 301}] a [0, 1] b", [((0, 1), "b")]),  # beyond all floats: the published program ends
    ],
)
def test_rules_of_reading_dense_captions(text: str, told: list[Any]) -> None:
    assert plm_rdcap.tell(text) == told
    assert READERS.get("plm-rdcap").read(text) == [window for window, _ in told]


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("[3.5, 9]", [(3.5, 9)]),
        ("[3, 9] or [4, 5]", [(3, 9)]),
        ("[ 3, 9]", []),
        ("[3 , 9]", []),
        ("[07, 9] [3, 9]", []),  # the first is no number of Python's, and the second is not looked at
        ("[07.5, 9]", [(7.5, 9)]),
        ("[00, 9]", [(0, 9)]),
        ("[3,\u00a09]", []),
        (f"[0, {'9' * 400}]", []),
        ("[3., 9]", []),
    ],
)
def test_rules_of_reading_a_window(text: str, windows: list[Any]) -> None:
    assert plm_rtloc.read(text) == windows


# ── rtloc ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def score_rtloc(tmp_path: Path, cases: list[dict[str, Any]], **more: Any) -> fabula.Result:
    rows = [{**case["doc"], "uid": i, "video": "v.mp4", "caption": "it"} for i, case in enumerate(cases)]
    said = [{"uid": i, "answer": case["answer"]} for i, case in enumerate(cases)]
    refs, preds = put(tmp_path / "rows.jsonl", rows), put(tmp_path / "said.jsonl", said)
    return fabula.score(preds, refs, **({"protocol": "plm-rtloc"} | more))


def test_rtloc_is_the_published_number(vectors: Any, tmp_path: Path) -> None:
    result = score_rtloc(tmp_path, vectors["rtloc"])
    rows = result.rows["RTLoc"]
    for i, case in enumerate(vectors["rtloc"]):
        assert rows["recall"][i] == pytest.approx(case["out"]["mean_recall"], abs=NEAR), case
        assert rows["recall"][i] == pytest.approx(case["out"]["mean_precision"], abs=NEAR), case
        assert rows["miou"][i] == pytest.approx(case["out"]["mIOU"], abs=NEAR), case
    assert result.counts["unparsed"] == sum(case["out"]["parse_error"] for case in vectors["rtloc"])


def test_rtloc_reads_the_log_of_lmms_eval(tmp_path: Path) -> None:
    doc = {"uid": "u7", "video": "v.mp4", "caption": "it", "total_frames": 64, "start_frame": 6, "end_frame": 19}
    log = {"doc_id": 0, "target": "[[3 9]]", "filtered_resps": "[3, 9]", "plm_rtloc_scores": {"uid": "u7", "mIOU": 1.0}}
    refs, preds = put(tmp_path / "rows.jsonl", [doc]), put(tmp_path / "log.jsonl", [log])
    result = fabula.score(preds, refs, protocol="plm-rtloc")
    assert result.scores["RTLoc"].values["miou"] == pytest.approx(6 / (6 + 1e-8), abs=NEAR)
    bare = put(tmp_path / "bare.jsonl", [{"doc_id": 0, "filtered_resps": "[3, 9]", "plm_rtloc_scores": {}}])
    with pytest.raises(fabula.FabulaError, match="no uid"):
        fabula.score(bare, refs, protocol="plm-rtloc")


def test_the_corrected_rules_of_rtloc(tmp_path: Path) -> None:
    """By pencil: rows 7 … 20 of 64 frames are 3.5 … 10 of 32; [3.5, 10] is right, and exactly τ is reached."""
    case = {"doc": {"total_frames": 64, "start_frame": 7, "end_frame": 20}, "answer": "from 3.5 to 10 seconds"}
    told = {"protocol": None, "task": "grounding", "metrics": "RTLoc"}
    exact = score_rtloc(tmp_path, [case], **told)
    assert exact.scores["RTLoc"].values == pytest.approx(
        {"recall": 1, "miou": 1, **{f"r1@{t}": 1 for t in (0.3, 0.5, 0.7, 0.9)}}
    )
    cut = score_rtloc(tmp_path, [{**case, "answer": "[3.5, 10]"}])
    assert cut.scores["RTLoc"].values["miou"] == pytest.approx(6.5 / 7, abs=1e-8)  # 3 … 10
