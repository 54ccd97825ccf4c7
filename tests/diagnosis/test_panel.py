"""Every judge on record side by side: what differs and where, from records alone."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")

from click.testing import CliRunner

import fabula
from fabula import demo
from fabula.core.errors import InputError, SpecError
from fabula.llm import EndpointOptions
from fabula.llm.session import asking
from fabula.text.judges.fake import reply
from fabula.verbs.command_line import fabula as command

GOOD, REFS = demo.SYSTEMS["good"], list(demo.REFERENCES.values())
METRICS = "SODA_c(text=judge:fabula),SODA_c(text=judge:fabula-brief)"


def severe(body):
    """Half marks for whoever says bowl."""
    score = json.loads(reply(body))["score"]
    return json.dumps({"score": score // 2 if "bowl" in body["messages"][-1]["content"] else score})


@pytest.fixture
def records(tmp_path):
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    fabula.score(GOOD, REFS, metrics=METRICS, judge_url="fake:", judge_model="a", judge_record=one)
    with asking(EndpointOptions(model="b", record=other), reply=severe):
        fabula.score(GOOD, REFS, metrics="SODA_c(text=judge:fabula)")
    return one, other


def test_every_judge_on_record_and_what_parts_them(records):
    seen = fabula.protocols(GOOD, REFS, judges=records)
    assert [seat.name for seat in seen.seats] == [
        "judge:fabula@a (one.jsonl)",
        "judge:fabula-brief@a (one.jsonl)",
        "judge:fabula@b (other.jsonl)",
    ]
    brief, model = seen.differences()
    assert set(brief.facts) == {"judge", "prompt"} and brief.value == brief.base and not brief.most
    assert set(model.facts) == {"model", "record"} and model.interval.low < model.value - model.base < 0
    assert 0 < model.differing < model.judgements == 209
    assert all("bowl" in one.pair.prediction + one.pair.reference for one in model.disputed)
    own = fabula.score(GOOD, REFS, metrics="SODA_c(text=judge:fabula)", judge_replay=records[1])
    assert seen.seats[2].result.scores["SODA_c"].value == own.scores["SODA_c"].value
    assert {unit for unit, _, _ in model.most} == {
        v
        for v, x, y in zip(
            own.rows["SODA_c"].keys,
            own.rows["SODA_c"]["f1"],
            seen.seats[0].result.rows["SODA_c"]["f1"],
            strict=True,
        )
        if x != y
    }


def test_partial_record_is_refused_by_name(records, tmp_path):
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(records[1].read_bytes().splitlines(keepends=True)[:50]))
    seen = fabula.protocols(GOOD, REFS, judges=(records[0], cut))
    assert seen.seats[2].result is None and "lacks" in seen.seats[2].refused
    with pytest.raises(InputError, match="no record holds"):
        fabula.protocols(GOOD, REFS, judges=(cut,))


def test_command_line(records):
    args = ["protocols", GOOD, "--refs", *REFS, "--judges", *records]
    told = CliRunner().invoke(command, list(map(str, args)), catch_exceptions=False)
    assert told.exit_code == 0 and "differs: model b for a, record other.jsonl for one.jsonl" in told.stdout
    told = CliRunner().invoke(command, [*map(str, args), "--json", "-"], catch_exceptions=False)
    assert len(json.loads(told.stdout)["seats"]) == 3
    with pytest.raises(SpecError, match="say one of the two"):
        fabula.protocols(GOOD, REFS, judges=records, only=("soda-2021",))


def test_protocols_with_a_judge_that_none_asks():
    with pytest.raises(SpecError, match="has no effect"):
        fabula.protocols(GOOD, REFS, only=("soda-2021",), judge_url="fake:")


def test_captions_too(tmp_path):
    path, record = tmp_path / "pairs.jsonl", tmp_path / "judge.jsonl"
    lines = [{"id": k, "cand": f"a man {k}", "refs": ["a man 1", "a dog"]} for k in range(4)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ask = {"task": "captions", "judge_url": "fake:", "judge_record": record}
    fabula.score(path, metrics="TextScore(text=judge:fabula)", **ask)
    fabula.score(path, metrics="TextScore(text=judge:fabula-brief)", **ask)
    seen = fabula.protocols(path, judges=(record,))
    assert seen.task == "captions" and len(seen.seats) == 2 and len(list(seen.differences())) == 1
