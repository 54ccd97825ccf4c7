"""AutoDQ and VDC against what the published programs gave on the same texts, the judge's answers coming from tables.

The prompts are made up: what is sent stands between separators, so that a table can be asked for it.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from fabula.benchmarks import protocol
from fabula.core.rows import Rows
from fabula.data.questions import ExamQuestion, Response
from fabula.metrics.questions import Responses
from tests.golden.examiner import examined_by

VECTORS = Path(__file__).parents[4] / "shared" / "spec" / "vectors-2026"


def each(name: str, part: str) -> list[Any]:
    """The cases of a file, or one that says why there are none."""
    file = VECTORS / name
    if not file.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"{file} is not here"))]
    cases = json.loads(file.read_text(encoding="utf-8"))[part]
    return [pytest.param(case, id=case.get("name", str(k))) for k, case in enumerate(cases)]


def fold(name: str, responses: list[Response], table: dict[str, Any]) -> tuple[Rows, dict[str, float], Any]:
    """The rows of the protocol's metric, its numbers, and what was asked."""
    (metric,) = protocol(name).metrics
    with examined_by(table) as session, session.count() as spent:
        rows = metric.with_judge(session).table(Responses(responses))
    return rows, metric.fold(rows), spent


# --- AutoDQ ----------------------------------------------------------------------------------------------------------


def ask_autodq(case: dict[str, Any], name: str) -> tuple[Rows, dict[str, float], Any]:
    table = case["judge_tarsier"]
    if name == "vlmevalkit" and case["judge_vlmevalkit"] != "same":
        table = case["judge_vlmevalkit"]
    if name == "vlmevalkit":  # the program asks once
        first = {k: v[0] if isinstance(v, list) else v for k, v in table["relations"].items()}
        table = {**table, "relations": first}
    events = case["reference_events"]
    told = Response(
        0, case["prediction"], references=(case["reference"],), events=None if events is None else tuple(events)
    )
    return fold(f"autodq-{name}", [told], table)


@pytest.mark.parametrize("case", each("autodq.json", "cases"))
def test_a_sample_of_tarsier(case: dict[str, Any]) -> None:
    rows, values, spent = ask_autodq(case, "tarsier")
    theirs = case["tarsier"]
    assert bool(rows["counts"][0]) is theirs["success"]
    assert spent.calls <= case["tarsier_calls"]
    if theirs["success"]:
        assert (rows["recall"][0], rows["precision"][0]) == (theirs["score_r"], theirs["score_p"])
    else:
        assert rows["failed"][0] == 1 and math.isnan(values["f1"])


@pytest.mark.parametrize("case", each("autodq.json", "cases"))
def test_a_sample_of_vlmevalkit(case: dict[str, Any]) -> None:
    rows, values, spent = ask_autodq(case, "vlmevalkit")
    theirs, overall = case["vlmevalkit"], case["vlmevalkit"]["rating"]["Overall"]
    assert spent.calls <= case["vlmevalkit_calls"]
    assert int(rows["counts"].sum()) == theirs["rating"]["num_valid"]
    if theirs["score_r"] >= 0:
        assert (rows["recall"][0], rows["precision"][0]) == (theirs["score_r"], theirs["score_p"])
        assert rows["f1"][0] == pytest.approx(theirs["f1"], abs=1e-9)
    for number in ("Recall", "Precision", "F1"):
        assert f"{values[number.lower()]:.4f}" == f"{float(overall[number]):.4f}"


def table_of(shares: list[tuple[int, Any]]) -> Rows:
    """(kind, (recall, precision) or nothing where the sample failed)."""
    return Rows.of(
        (
            {
                "id": k,
                "recall": 0.0 if both is None else both[0],
                "precision": 0.0 if both is None else both[1],
                "counts": float(both is not None),
                "kind": float(kind),
            }
            for k, (kind, both) in enumerate(shares)
        ),
        unit="id",
    )


@pytest.mark.parametrize("case", each("autodq.json", "tarsier_aggregate"))
def test_the_table_of_tarsier(case: dict[str, Any]) -> None:
    (metric,) = protocol("autodq-tarsier").metrics
    rows = table_of([(k, both) for k, (_, some) in enumerate(case["in"]) for both in some])
    parts = [rows.take([i for i, k in enumerate(rows["kind"]) if k == kind]) for kind in range(len(case["in"]))]
    for part, line in zip([*parts, rows], case["table"][1:], strict=True):
        found = metric.fold(part)
        ours = [str(round(found[n], 3)) for n in ("f1", "recall", "precision")]
        assert ours == [str(x) for x in line[1:4]]
        assert int(part["counts"].sum()) == line[4] and int((part["counts"] == 0).sum()) == line[5]


@pytest.mark.parametrize("case", each("autodq.json", "vlmevalkit_aggregate"))
def test_the_rating_of_vlmevalkit(case: dict[str, Any]) -> None:
    (metric,) = protocol("autodq-vlmevalkit").metrics
    found = metric.fold(table_of([(0, None if both[0] < 0 else both) for both in case["in"]]))
    for number, theirs in case["out"]["Overall"].items():
        assert f"{found[number.lower()]:.4f}" == f"{float(theirs):.4f}"


# --- VDC -------------------------------------------------------------------------------------------------------------


def ask_vdc(case: dict[str, Any], name: str) -> tuple[Rows, dict[str, float], Any]:
    table: dict[str, Any] = {"answers": {}, "matches": {}}
    responses = []
    for video in case["videos"]:
        asked = tuple(ExamQuestion(qa["question"], qa["answer"]) for qa in video["qa"])
        responses.append(Response(video["video"], f"caption of {video['video']}", kind="short", asked=asked))
        table["answers"] |= {qa["question"]: qa["answer_from_caption"] for qa in video["qa"]}
        table["matches"] |= {qa["question"]: qa["judge"] for qa in video["qa"]}
    return fold(f"vdc-{name}", responses, table)


@pytest.mark.parametrize("case", each("vdcscore.json", "cases"))
def test_vdc_of_lmms(case: dict[str, Any]) -> None:
    rows, values, spent = ask_vdc(case, "lmms")
    theirs = case["lmms_eval"]
    for k, video in enumerate(theirs["videos"]):
        if "raises" in video:  # the whole run ends there: here a question that cannot be read counts as wrong
            assert rows["failed"][k] > 0 and spent.unparsed
        else:
            assert (rows["score"][k], rows["accuracy"][k]) == pytest.approx((video["score"], video["acc"]), abs=1e-12)
    if "score" in theirs:
        assert (values["score"], values["accuracy"]) == pytest.approx((theirs["score"], theirs["acc"]), abs=1e-12)


@pytest.mark.parametrize("case", each("vdcscore.json", "cases"))
def test_vdc_of_aurora(case: dict[str, Any]) -> None:
    rows, values, _ = ask_vdc(case, "aurora")
    theirs = case["aurora"]
    if "raises" in theirs:  # nothing is left to divide by
        assert not rows["counts"].any() and values == {"accuracy": 0, "score": 0}
        return
    assert int(rows["counts"].sum()) == theirs["videos_counted"]
    assert (values["score"], values["accuracy"]) == pytest.approx((theirs["tp_score"], theirs["tp_acc"]), abs=1e-12)


@pytest.mark.parametrize("case", each("vdcscore.json", "cases"))
def test_vdc_of_vlmevalkit(case: dict[str, Any]) -> None:
    _, values, spent = ask_vdc(case, "vlmevalkit")
    theirs = case["vlmevalkit"]
    assert (f"{values['score']:.2f}", f"{values['accuracy']:.2f}") == (theirs["score"], theirs["acc"])
    questions = sum(len(video["qa"]) for video in case["videos"])
    assert spent.calls == 2 * len(case["videos"]) and spent.calls + spent.spared == 2 * questions
