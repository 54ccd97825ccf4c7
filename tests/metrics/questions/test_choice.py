"""Choice: which option an answer names, under each rule; by item and by group."""

import json
from pathlib import Path

import pytest

import fabula
from fabula.data.questions import Response
from fabula.metrics import metric
from fabula.metrics.questions import Responses
from fabula.metrics.questions.letters import CHOICE_READERS, find_option

VECTORS = Path(__file__).parents[4] / "shared" / "spec" / "vectors-2026"
ANIMALS = ("a cat", "a dog", "a red kite", "a kite")


def judge(rule: str, answer: str, gold: str = "B", options: tuple[str, ...] = ANIMALS) -> tuple[bool, bool]:
    verdict = CHOICE_READERS.find(rule).read(Response(1, answer, options=options, gold=gold))
    return verdict.right, verdict.read


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ("B", 1),
        ("b", 1),
        ("(B)", 1),
        ("(b) a dog", 1),
        ("B. a dog", 1),
        ("B) A dog", 1),
        ("**B**", 1),
        ("The answer is (C).", 2),
        ("The answer is C", 2),
        ("Answer: D", 3),
        ("Best option: (B)", 1),
        ("<think>A or B?</think><answer>B</answer>", 1),
        ("A dog", 1),
        ("A dog runs", 1),
        ("a red kite", 2),
        ("It is a dog.", 1),
        ("either (A) or (B)", None),
        ("I cannot see it", None),
        ("", None),
    ],
)
def test_the_option_that_an_answer_names(answer: str, place: int | None) -> None:
    assert find_option(answer, ANIMALS) == place


def test_a_letter_beyond_the_options_is_none() -> None:
    assert judge("option", "E") == (False, False)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        *((said, True) for said in ("(", ")", ".", "a", "(A)yes", "Answer: (A)")),
        *((said, False) for said in ("b", "", " A", "The answer is A")),
    ],
)
def test_the_rule_of_plm(answer: str, right: bool) -> None:
    assert judge("plm", answer, "A")[0] is right


@pytest.mark.parametrize("case", ["fgqa_check_ans"])
def test_plm_against_the_programs_own_answers(case: str) -> None:
    file = VECTORS / "plm_rdcap.json"
    if not file.is_file():
        pytest.skip(f"{file} is not here")
    for one in json.loads(file.read_text())[case]:
        assert judge("plm", one["pred"], one["gt"].split(" ")[0])[0] is one["out"], one


def test_the_rules_of_etbench() -> None:
    assert judge("etbench", "A dog runs") == (False, True)  # read as A
    assert judge("etbench", "I say (B), a dog") == (True, True)
    assert judge("gvq", "I say (B), a dog") == (False, False)  # I, with a blank behind it, is beyond the options
    assert judge("gvq", "best option: B") == (True, True)
    assert judge("etbench", "The answer is B") == (False, False)


def rows(**params: str) -> dict[str, float]:
    said = [Response(k, a, group=g, gold="A") for k, (g, a) in enumerate((("u", "A"), ("u", "B"), ("v", "A")))]
    made = metric("Choice", **params)
    return made.fold(made.table(Responses([*said, Response(9, None, group="w", gold="A")])))


def test_by_item_and_by_group() -> None:
    assert rows() == {"accuracy": 0.5, "unread": 0.25}
    assert rows(missing="drop") == {"accuracy": pytest.approx(2 / 3), "unread": 0}
    assert rows(by="group")["accuracy"] == pytest.approx(1 / 3)
    assert rows(by="group", missing="drop")["accuracy"] == 0.5


@pytest.mark.parametrize(
    ("gold", "right"), [("A", 0), ("(b)", 1), ("2", 2), ("a kite", 3), ("(C) a red kite", 2), ("F", None), ("9", None)]
)
def test_the_right_option(gold: str, right: int | None) -> None:
    assert Response(1, options=ANIMALS, gold=gold).right == right


def test_groups_are_drawn_together(tmp_path: Path) -> None:
    lines = [{"id": k, "answer": "AB"[k % 3 == 0], "gold": "A", "group": f"g{k // 2}"} for k in range(20)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = fabula.score(tmp_path / "a.jsonl", metrics="Choice(by=group)", ci=True)
    low, high = result["Choice"].ci["accuracy"]
    assert low < result["Choice"].value < high and result.rows["Choice"].drawn[:3] == ("g0", "g0", "g1")
