"""Files of DREAM-1K and VDC as the programs write them: what meets, what is passed over, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabula.core.errors import InputError
from fabula.core.notes import Notes
from fabula.data.questions import ExamQuestion
from fabula.io import questions


def write(path: Path, *entries: object) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def dream(idx: int, text: str, dataset: str = "DREAM/movie", **more: object) -> dict[str, object]:
    said = {"role": "assistant", "content": [{"type": "text", "text": text, "reference": "R."}]}
    asked = {"role": "user", "content": [{"type": "video"}, {"type": "text", "text": "Describe."}]}
    return {"dataset": dataset, "idx": idx, "messages": [asked, said], **more}


def test_tarsier_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", dream(1, "one"), dream(9, "x", "DREAM-X/movie"))
    write(tmp_path / "b.jsonl", dream(1, "again"), dream(2, "two", extra_info={"events": ["e"], "n_events": 1}, vid=7))
    notes = Notes()
    found = questions.read_responses(tmp_path, notes)
    assert [r.answer for r in found.values()] == ["one", "two"] and list(found) == ["DREAM/movie_1", "DREAM/movie_2"]
    first, second = found.values()
    assert first.events is None and second.events == ("e",) and second.traits == {"n_events": 1} and second.group == "7"
    assert len(notes.lines()) == 2
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"the folder has no \.jsonl"):
        questions.read_responses(tmp_path / "empty", notes)
    with pytest.raises(InputError, match="expected text"):
        questions.read_responses(write(tmp_path / "bad.jsonl", dream(1, None)), notes)  # type: ignore[arg-type]


def test_parts_without_a_reference_are_no_prediction(tmp_path: Path) -> None:
    entry = dream(1, "kept")
    entry["messages"][1]["content"].insert(0, {"type": "text", "text": "thought", "reference": ""})  # type: ignore[index]
    (found,) = questions.read_responses(write(tmp_path / "a.jsonl", entry), Notes()).values()
    assert found.answer == "kept"


@pytest.mark.parametrize("ending", ["tsv", "csv", "xlsx", "json"])
def test_tables_of_vlmevalkit(tmp_path: Path, ending: str) -> None:
    head = ["index", "caption_type", "question", "prediction"]
    asked = "[{'question': 'Which?', 'answer': 'red'}, {'question': 'How many?', 'answer': 2}]"
    rows = [[0, "Short", asked, "A car, red."], [1, "camera", "no list", None], [2, "poem", asked, "x"]]
    file = tmp_path / f"t.{ending}"
    if ending == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in (head, *rows):
            book.active.append(row)
        book.save(file)
    elif ending == "json":
        file.write_text(json.dumps([dict(zip(head, row, strict=True)) for row in rows]))
    else:
        import csv

        with file.open("w", newline="") as out:
            csv.writer(out, delimiter="\t" if ending == "tsv" else ",").writerows([head, *rows])
    notes = Notes()
    assert questions.choose_format(file, None, "predictions").name == "vlmevalkit-vdc"
    first, second = questions.read_responses(file, notes).values()
    assert (first.id, first.kind, first.answer) == (0, "short", "A car, red.")
    assert first.asked == (ExamQuestion("Which?", "red"), ExamQuestion("How many?", "2"))
    assert second.answer is None and second.asked == () and len(notes.lines()) == 2


def test_dream_as_a_table(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text('index\tanswer\tevents\n3\tR.\t"[""e""]"\n4\tS.\tnot json\n5\tT.\t\n6\tU.\tnull\n')
    notes = Notes()
    found = questions.read_responses(tmp_path / "d.tsv", notes, role="references")
    assert [r.events for r in found.values()] == [("e",), None, None, ()] and len(notes.lines()) == 1


def test_a_log_of_lmms_eval(tmp_path: Path) -> None:
    asked = [{"question": "Which?", "answer": "red"}]
    named = {"doc_id": 0, "filtered_resps": "A car.", "llmms_eval_acc": {"video_name": "v_1", "acc": 1}}
    whole = {"doc_id": 1, "resps": [["A dog."]], "doc": {"video_name": "v_2", "caption": "A dog.", "qa_list": asked}}
    first, second = questions.read_responses(write(tmp_path / "log.jsonl", named, whole), Notes()).values()
    assert (first.id, first.answer, first.asked) == ("v_1", "A car.", ())
    assert (second.id, second.answer, second.asked) == ("v_2", "A dog.", (ExamQuestion("Which?", "red"),))
    rows = write(tmp_path / "rows.jsonl", {"video_name": "v_1", "caption": "c", "qa_list": json.dumps(asked)})
    (row,) = questions.read_responses(rows, Notes(), role="references").values()
    assert row.asked == (ExamQuestion("Which?", "red"),)
    with pytest.raises(InputError, match="qa_list is text that is no JSON"):
        questions.read_responses(write(rows, {"video_name": "v", "qa_list": "["}), Notes(), role="references")


def test_files_of_aurora(tmp_path: Path) -> None:
    (tmp_path / "raw.json").write_text('[{"doc": {"video_id": "v"}, "resps": [[]]}]')
    with pytest.raises(InputError, match="no caption"):
        questions.read_responses(tmp_path / "raw.json", Notes())
    pair = {"question": "q", "answer": "a", "category": "object"}
    found = questions.read_responses(
        write(tmp_path / "camera.jsonl", {"v": [pair], "w": [pair]}), Notes(), role="references"
    )
    assert [r.kind for r in found.values()] == ["camera"] * 2 and list(found) == ["v", "w"]
