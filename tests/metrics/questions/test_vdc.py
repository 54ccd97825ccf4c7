"""VDC's own rules, beside those that the vectors of the published programs hold."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.core.errors import InputError
from fabula.data.questions import ExamQuestion, Response
from fabula.llm import EndpointOptions
from fabula.llm.session import Usage
from fabula.metrics import metric
from fabula.metrics.questions import Responses
from fabula.metrics.questions._matches import LACKING, Agreement, read_fabula, read_json, read_literal
from tests.judges import answering


def score(captions: dict[str, list[str]], **params: Any) -> tuple[list[Any], dict[str, float], Usage]:
    """Captions with the judgement of each of their questions; a caption that begins with ! is not there."""
    responses, table = [], {}
    for k, (caption, some) in enumerate(captions.items()):
        asked = tuple(ExamQuestion(f"q{k}.{i}?", "right") for i in range(len(some)))
        table |= {pair.question: said for pair, said in zip(asked, some, strict=True)}
        responses.append(Response(k, None if caption.startswith("!") else caption.strip("-"), asked=asked))

    def reply(body: dict[str, Any]) -> str:
        text = body["messages"][-1]["content"]
        return next(said for q, said in table.items() if q in text) if "GIVEN ANSWER" in text else "an answer"

    made = metric("VDC", **params)
    with answering(EndpointOptions(url="fake:", model="m", retries=0), reply=reply) as s, s.count() as spent:
        rows = made.with_judge(s).table(Responses(responses))
    return [rows[c].tolist() for c in ("accuracy", "score", "counts")], made.fold(rows), spent


def said(pred: object, score: object) -> str:
    return str({"pred": pred, "score": score}).replace("'", '"')


def test_the_default_counts_every_question() -> None:
    rows, found, spent = score({"a": [said("Yes", 5), said("no", "1")], "b": [said("no", 0)]})
    assert rows == [[0.5, 0], [3, 0], [1, 1]] and found == {"accuracy": 0.25, "score": 1.5} and spent.calls == 6


def test_unread_judgements() -> None:
    one = {"a": [said("yes", 5), "I think so"]}
    assert score(one)[1] == {"accuracy": 0.5, "score": 2.5} and score(one)[2].unparsed == 1
    assert score(one, failed="drop")[0][2] == [0]
    with pytest.raises(InputError, match="1 of 2 judgements cannot be read"):
        score(one, failed="raise")
    half = {"a": [said("yes", 5), '{"pred": "yes"}']}
    assert score(half)[1]["accuracy"] == 0.5 and score(half, read="literal", lacking="skip")[1]["accuracy"] == 1


def test_missing_and_empty_captions() -> None:
    some = {"!": [said("yes", 5)], "-": [said("yes", 5)], "c": [said("yes", 5)]}
    rows, found, spent = score(some)
    assert rows[0] == [0, 0, 1] and (spent.calls, spent.spared) == (2, 4)
    assert score(some, missing="judged")[0][0] == [1, 1, 1]
    rows, found, _ = score(some, missing="drop")
    assert rows[2] == [0, 1, 1] and found["accuracy"] == 1


def test_captions_that_score_0_may_be_left_out() -> None:
    some = {"a": [said("yes", 5)], "b": [said("no", 0)], "c": [said("no", 4)]}
    assert score(some)[1]["accuracy"] == pytest.approx(1 / 3)
    assert score(some, zeros="drop")[1] == {"accuracy": 1, "score": 5}


def test_one_question_survives() -> None:
    some = {"a": [said("no", 0), said("yes", 4)]}
    _, found, spent = score(some, questions="last")
    assert found == {"accuracy": 1, "score": 4} and (spent.calls, spent.spared) == (2, 2)


def test_nothing_and_less_than_nothing() -> None:
    unread = score({"a": ["?"]}, failed="drop", undefined="nan")[1]
    assert unread["accuracy"] == 0 and unread["score"] != unread["score"]
    below = {"a": [said("yes", -2)], "b": [said("yes", 3)]}
    assert score(below, read="json")[1]["score"] == 0.5
    assert score(below, read="json", negative="drop")[1] == {"accuracy": 1, "score": 3}
    assert score(below)[1]["score"] == 1.5  # ours stays on the scale


def test_what_each_reads_in_a_judgement() -> None:
    assert read_fabula('Sure: ```{"pred": "yes", "score": "9"}```') == Agreement("yes", 5.0)
    assert read_fabula('{"pred": true, "score": 3}') is None and read_fabula('{"pred": "yes"}') is None
    assert read_literal("{'pred': 'yes', 'score': 4.8}", "number") == Agreement("yes", 4.8)
    assert read_literal('{"pred": "yes", "score": 5, "ok": true}', "number") is None
    assert read_json('{"pred": "yes", "score": 5, "ok": true}', "number") == Agreement("yes", 5)
    assert read_literal("{'pred': 'yes', 'score': '4'}", "number") is None
    assert read_literal("{'pred': 'yes', 'score': '4'}", "text") == Agreement("yes", 4)
    assert read_literal("['a']", "number") == LACKING and read_literal("5", "number") is None
    assert read_literal("'pred and score'", "number") is None
    assert read_json("__import__('os').getcwd()", "number") is None  # nothing is run
    assert read_literal("{'pred': 'yes', 'score': 1e999}", "number") is None
