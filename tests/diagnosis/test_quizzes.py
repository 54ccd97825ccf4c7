"""Rules about answers under stress: which can be gamed, with the judge that counts words."""

import json
from pathlib import Path

import pytest

import fabula
from fabula.core.errors import InputError, SpecError


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    lines = []
    for k in range(16):
        events = [f"A person number {k} runs.", f"The dog number {k} jumps high."]
        asked = [{"question": f"Which thing is number {i}?", "answer": f"word{i}{k}"} for i in range(2)]
        options = [f"option {j} of {k}" for j in range(4)]
        told = {"references": [" ".join(events)], "events": events, "asked": asked, "options": options}
        lines.append({"id": k, **told, "gold": "ABCD"[k % 4]})
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def left(questions: Path, metric: str) -> dict[str, float]:
    seen = fabula.stress(metric, questions, resamples=20, copies=2)
    (ways,) = seen.cells.values()
    return {way: round(cell.ratio, 3) for way, cell in ways.items() if cell is not None}


def test_empty_predictions_that_are_left_out_cost_nothing(questions: Path) -> None:
    assert left(questions, "AutoDQ")["silent"] == 0.5
    assert left(questions, "AutoDQ(missing=drop)")["silent"] == 1


def test_more_judgements_than_events(questions: Path) -> None:
    assert left(questions, "AutoDQ(count=any)")["over-judged"] == 2
    assert left(questions, "AutoDQ")["over-judged"] == 0  # none of them can be read


def test_captions_that_score_nothing_and_are_left_out(questions: Path) -> None:
    assert left(questions, "VDC") == {"silent": 0.5, "hopeless": 0.5}
    assert left(questions, "VDC(zeros=drop)") == {"silent": 1, "hopeless": 1}


def test_the_order_of_options_and_an_answer_that_is_a_bracket(questions: Path) -> None:
    ours, theirs = left(questions, "Choice"), left(questions, "Choice(read=plm)")
    assert ours["dealt anew"] < 0.6 and ours["bracket"] == 0
    assert theirs["bracket"] == 1


def test_what_cannot_be_tried_is_said(questions: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no questions are bundled"):
        fabula.stress("Choice")
    with pytest.raises(SpecError, match="no perturbation of answers"):
        fabula.stress("Choice", questions, ways=("shift",))
    (tmp_path / "none.jsonl").write_text('{"id": 1, "references": ["a"]}\n')
    with pytest.raises(InputError, match="finds nothing in this file"):
        fabula.stress("Choice", tmp_path / "none.jsonl")
