"""The task questions: one file or two, what is missing, what is told by kind."""

import json
from pathlib import Path

import pytest

import fabula
from fabula.core.errors import InputError, SpecError

TRUTH = [
    {"id": 1, "options": ["a kite", "a dog"], "gold": "A", "kind": "x"},
    {"id": 2, "options": ["a kite", "a dog"], "gold": 1, "kind": "y"},
    {"id": 3, "options": ["a kite", "a dog"], "gold": "a dog", "kind": "y"},
]


def lines(path: Path, entries: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


@pytest.fixture
def refs(tmp_path: Path) -> Path:
    return lines(tmp_path / "refs.jsonl", TRUTH)


def test_files_meet_by_id(tmp_path: Path, refs: Path) -> None:
    preds = lines(tmp_path / "p.jsonl", [{"id": "1", "answer": "A"}, {"id": 3, "answer": "A"}, {"id": 7, "answer": ""}])
    result = fabula.score(preds, refs)
    assert result.task == "questions" and result["Choice"].value == pytest.approx(1 / 3)
    assert result.counts == {"items": 3, "missing": 1, "unparsed": 0, "empty": 0}
    assert any("1 answers are to no question" in line for line in result.warnings)
    assert result["Choice"].by_type["y"] == {"items": 2, "accuracy": 0, "unread": 0.5}
    assert result["Choice"].signature.startswith("Choice(read=option,by=item,missing=wrong)|items:3|missing:1")


def test_one_file_says_the_same(tmp_path: Path, refs: Path) -> None:
    said = {1: "A", 2: "B", 3: "(A)"}
    apart = fabula.score(lines(tmp_path / "p.jsonl", [{"id": k, "answer": a} for k, a in said.items()]), refs)
    both = [{**entry, "answer": said[entry["id"]]} for entry in TRUTH]
    inline = fabula.score(lines(tmp_path / "both.jsonl", both))
    (tmp_path / "both.json").write_text(json.dumps(both))
    listed = fabula.score(tmp_path / "both.json")
    given = fabula.score(both, task="questions")
    assert apart["Choice"].values == inline["Choice"].values == listed["Choice"].values == given["Choice"].values
    assert inline.items[0].references == ("a kite",)


def test_what_cannot_be_scored_is_said_in_one_line(tmp_path: Path, refs: Path) -> None:
    alone = lines(tmp_path / "p.jsonl", [{"id": 1, "answer": "A"}])
    with pytest.raises(InputError, match="needs a right option, and no question has it"):
        fabula.score(alone, task="questions", metrics="Choice")
    with pytest.raises(InputError, match="no answer is to a question of the references"):
        fabula.score(lines(tmp_path / "q.jsonl", [{"id": 9, "answer": "A"}]), refs, task="questions")
    with pytest.raises(InputError, match="this id stands twice"):
        fabula.score(lines(tmp_path / "q.jsonl", [{"id": 1, "answer": "A"}] * 2), refs, task="questions")
    with pytest.raises(InputError, match="expected text"):
        fabula.score(lines(tmp_path / "q.jsonl", [{"id": 1, "answer": 3}]), refs, task="questions")
    with pytest.raises(SpecError, match="no format of questions is called"):
        fabula.score(alone, refs, task="questions", format="songs")
    with pytest.raises(InputError, match="no known format"):
        fabula.score(lines(tmp_path / "q.jsonl", [{"song": 1}]), refs, task="questions")


def test_lines_that_were_written_are_read_again(tmp_path: Path) -> None:
    from fabula.core.notes import Notes
    from fabula.data.questions import ExamQuestion, Response
    from fabula.documents.fields import Source
    from fabula.io import questions
    from fabula.io.questions import lines as own

    told = [
        Response(1, "x", "v", "k", "which?", ("a", "b"), (ExamQuestion("q", "a"),), (), ("A", "B"), "B", ((0.0, 2.5),)),
        Response("2", "", events=("e",), traits={"n": 3.0}),
        Response(3),
    ]
    file = tmp_path / "own.jsonl"
    file.write_text("".join(own.write_responses(told, Source(file))))
    assert list(questions.read_responses(file, Notes(), "question-lines").values()) == told


def test_lint_names_what_is_odd(tmp_path: Path) -> None:
    odd = [
        {"id": 1, "answer": " ", "options": ["a", "A"], "gold": "Z"},
        {"id": 2, "answer": "x", "references": ["r"], "events": []},
        {"id": 3, "answer": "x", "asked": [{"question": "q", "answer": "a"}] * 2},
    ]
    found = fabula.lint(lines(tmp_path / "odd.jsonl", odd)).report
    assert {f.check for f in found.findings} == {
        "no-such-option",
        "same-options",
        "wordless-answer",
        "question-twice",
        "eventless-reference",
    }
    same = fabula.lint(lines(tmp_path / "s.jsonl", [{"id": k, "answer": "A", "gold": "A"} for k in range(3)])).report
    assert [f.check for f in same.findings] == ["one-answer"]
    with pytest.raises(SpecError, match="words are never touched"):
        fabula.lint(tmp_path / "odd.jsonl", fix=tmp_path / "out.jsonl")
