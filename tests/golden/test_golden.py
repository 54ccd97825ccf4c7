"""Every protocol against the numbers its published program gave on small files (README.md has where they come from)."""

from __future__ import annotations

import json
import math
import re
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import fabula
from fabula import _kernels
from fabula.benchmarks import room
from fabula.data.result import Result
from tests.golden.examiner import EXAMINED, examined_by
from tests.golden.judge import counted_by, encoded_by_minilm, judged_by

HERE = Path(__file__).parent
DEMO = Path(fabula.__file__).parent / "demo"
RECORDS = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(HERE.glob("*.json"))}
CASES = [
    pytest.param(record["protocol"], case, id=f"{record['protocol']}-{case['name']}")
    for record in RECORDS.values()
    for case in record["cases"]
]
FIELDS = {
    "name",
    "preds",
    "refs",
    "task",
    "options",
    "scores",
    "crash",
    "note",
    "tolerance",
    "digits",
    "source",
    "judge",
    "checklist",
}
MORE = {"by_type", "by_length", "breakdown"}  # numbers behind the scores: README.md
ENCODED = ("soda-bertscore", "vantage-dvc")  # by RoBERTa-large; the records were made with MiniLM
TOLERANCE = 1e-9  # absolute, where a case has none of its own


def found(name: str) -> Path:
    """A file of a record: beside this one, or of the demo corpus."""
    return DEMO / name.removeprefix("demo:") if name.startswith("demo:") else HERE / name


def score(protocol: str, case: dict[str, Any], **more: Any) -> Result:
    """Paths among the options are found as the others are."""
    options = {k: found(v) if k == "sets" else v for k, v in case.get("options", {}).items()}
    if case.get("task"):
        options["task"] = case["task"]
    options |= more
    with around(protocol, case):
        return fabula.score(found(case["preds"]), [found(r) for r in case["refs"]], protocol=protocol, **options)


@cache
def score_once(protocol: str, name: str, kernels: str) -> Result:
    """Of a case that several tests look at."""
    (case,) = (case for case in RECORDS[protocol]["cases"] if case["name"] == name)
    with _kernels.using(kernels):
        return score(protocol, case)


def around(protocol: str, case: dict[str, Any]) -> AbstractContextManager[Any]:
    """Who answers where a judge is asked, and which encoder there is."""
    if "checklist" in case:
        return counted_by(case["checklist"])
    if protocol in ENCODED:
        return encoded_by_minilm()
    return open_judge(case["judge"]) if "judge" in case else nullcontext()


def open_judge(table: dict[str, Any]) -> AbstractContextManager[Any]:
    """Who answers from the table of a case: about pairs of captions, or about descriptions."""
    return examined_by(table) if set(table) in EXAMINED else judged_by(table)


def numbers(result: Result) -> dict[str, float]:
    """Label/part → number, as the record has it."""
    return {f"{label}/{part}": value for label, score in result.scores.items() for part, value in score.values.items()}


def behind(result: Result, protocol: str, case: dict[str, Any]) -> dict[str, float]:
    """The numbers behind the scores, under the names that the record has for them."""
    out = {
        f"{label} {type}/{part}": value
        for label, score in result.scores.items()
        for type, values in score.by_type.items()
        for part, value in values.items()
    }
    for name in case.get("by_length", {}):
        label, _, column = name.partition("/")
        rows, bucket = result.rows[label], column.partition("@")[0].partition("-")[0]
        out[name] = float(rows[column].sum() / rows[f"n {bucket}"].sum())
    if "breakdown" in case:
        (metric,) = result.metrics.values()
        rules = {field: getattr(metric, field) for field in metric.defaults()}
        every = fabula.metric("DenseCap_AP", **rules)
        out |= every.fold(result.rows["DenseCap_mAP"])
    return out


def recorded(case: dict[str, Any]) -> dict[str, float]:
    by_type = {
        f"{label} {type}/{part}": value
        for label, types in case.get("by_type", {}).items()
        for type, values in types.items()
        for part, value in values.items()
    }
    return by_type | case.get("by_length", {}) | case.get("breakdown", {})


def differing(ours: dict[str, float], theirs: dict[str, float], allowed: float) -> dict[str, Any]:
    return {
        name: (ours.get(name), number)
        for name, number in theirs.items()
        if name not in ours or not is_same(ours[name], number, allowed)
    }


def is_same(ours: float, theirs: float | None, allowed: float) -> bool:
    """None is the program's NaN: the mean of nothing."""
    return math.isnan(ours) if theirs is None else math.isclose(ours, theirs, rel_tol=0, abs_tol=allowed)


def printed(ours: dict[str, float], case: dict[str, Any]) -> dict[str, float]:
    """With so many digits as the program prints, where it gives no more."""
    return {name: float(f"{value:.{case['digits']}f}") for name, value in ours.items()} if "digits" in case else ours


@pytest.mark.parametrize(("protocol", "case"), CASES)
def test_the_published_programs_numbers(protocol: str, case: dict[str, Any], kernels: str) -> None:
    try:
        result = score_once(protocol, case["name"], kernels)
    except fabula.core.errors.MissingExtra as error:
        pytest.skip(str(error))
    except fabula.FabulaError:
        if "crash" in case:  # the published program ends there, too: one clean line is enough
            return
        raise
    ours = numbers(result)
    if "crash" in case:
        assert all(map(math.isfinite, ours.values())), ours
        return
    allowed = case.get("tolerance", TOLERANCE)
    wrong = differing(printed(ours, case), case["scores"], allowed)
    wrong |= differing(printed(behind(result, protocol, case), case), recorded(case), allowed)
    assert not wrong, f"ours, theirs: {wrong}"


JAVA, APART = (
    [
        pytest.param(record["protocol"], case, id=f"{record['protocol']}-{case['name']}")
        for record in RECORDS.values()
        for case in record.get(part, ())
    ]
    for part in ("java", "differences")
)


@pytest.mark.parametrize(("protocol", "case"), JAVA)
def test_with_the_original_parser(protocol: str, case: dict[str, Any]) -> None:
    try:
        ours = numbers(score(protocol, case))
    except fabula.core.errors.MissingExtra as error:
        pytest.skip(str(error))
    assert not differing(ours, case["scores"], case.get("tolerance", TOLERANCE))


@pytest.mark.parametrize(("protocol", "case"), APART)
def test_a_difference_that_stays_is_still_one(protocol: str, case: dict[str, Any]) -> None:
    """Where this fails, a difference is gone: move the case up to the others."""
    try:
        ours = numbers(score(protocol, case))
    except fabula.FabulaError:
        return
    assert differing(ours, case["scores"], case.get("tolerance", TOLERANCE))


THRESHOLD = re.compile(r"(.+)-(?:tiou-([\d.]+)|within-(\d+)s)")
LEVELS: dict[tuple[str, str], list[tuple[str, dict[str, float]]]] = {}
for record in RECORDS.values():
    for case in record["cases"]:
        if part := THRESHOLD.fullmatch(case["name"]):
            LEVELS.setdefault((record["protocol"], part[1]), []).append((part[2] or part[3], case["scores"]))


@pytest.mark.parametrize(("protocol", "name"), LEVELS, ids=lambda word: word)
def test_numbers_at_each_threshold_are_the_programs(protocol: str, name: str, kernels: str) -> None:
    """What a program says of one τ is what a run over all of them has under by_threshold."""
    (case,) = (case for case in RECORDS[protocol]["cases"] if case["name"] == name)
    result = score_once(protocol, name, kernels)
    ours = {
        f"{label}/{part}@{level}": value
        for label, scored in result.scores.items()
        for level, values in scored.by_threshold.items()
        for part, value in values.items()
    }
    theirs = {f"{n}@{level}": value for level, scores in LEVELS[protocol, name] for n, value in scores.items()}
    assert len(theirs) >= 4 and not differing(ours, theirs, case.get("tolerance", TOLERANCE))


def test_every_protocol_has_its_record() -> None:
    assert set(RECORDS) == set(room.names())


@pytest.mark.parametrize("stem", RECORDS)
def test_a_record_says_where_its_numbers_come_from(stem: str) -> None:
    record = RECORDS[stem]
    assert (
        {"protocol", "evaluator", "cases"} <= set(record) <= {"protocol", "evaluator", "cases", "java", "differences"}
    )
    assert record["protocol"] == stem
    assert {"repository", "commit", "files", "run"} <= set(record["evaluator"])
    names = [case["name"] for case in record["cases"]]
    assert len(names) == len(set(names))
    for case in record["cases"]:
        assert set(case) <= FIELDS | MORE, case["name"]
        assert ("scores" in case) != ("crash" in case), case["name"]
        assert all(found(name).is_file() for name in (case["preds"], *case["refs"])), case["name"]


def test_no_input_stands_there_unused() -> None:
    parts = ("cases", "java", "differences")
    cases = [case for record in RECORDS.values() for part in parts for case in record.get(part, ())]
    options = [v for case in cases for k, v in case.get("options", {}).items() if k == "sets"]
    used = {found(name) for case in cases for name in (case["preds"], *case["refs"])} | set(map(found, options))
    assert {file for file in (HERE / "inputs").rglob("*") if file.is_file()} <= used
