"""A scoring that asks a judge: what it signs, what it spares, how unread judgements count, records and replays."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")

import fabula
from fabula import demo
from fabula.core.errors import InputError, SpecError
from fabula.evaluate.base import Memory, Request
from fabula.evaluate.options import ScoreOptions
from fabula.llm import EndpointOptions
from fabula.llm.session import asking
from fabula.text.judges.fake import reply

GOOD, REFS = demo.SYSTEMS["good"], list(demo.REFERENCES.values())
METRIC = "SODA_c(text=judge:fabula)"


def facts(result, name=None):
    signature = next(iter(result.scores.values())).signature if name is None else result.scores[name].signature
    return dict(part.split(":", 1) for part in signature.split("|")[1:])


def whole(result):
    return json.dumps(result.to_dict(), sort_keys=True)


def test_signature_says_who_judged_and_what_it_took():
    result = fabula.score(GOOD, REFS, metrics=METRIC, judge_url="fake:")
    told = facts(result)
    assert told["judge"].startswith("fabula:prompt=") and "temperature=0" in told["judge"]
    assert told["model"] == "fake" and told["failed"] == "zero" and told["unparsed"] == "0"
    assert int(told["asked"]) < int(told["calls"]) and int(told["spared"]) > 3 * int(told["calls"])
    assert result.counts["judge_asked"] == int(told["asked"])
    assert any("cannot move the number" in line for line in result.warnings)


def test_sparing_does_not_change_the_number(monkeypatch):
    from fabula.text.judges.scorer import JudgeScorer

    spared = fabula.score(GOOD, REFS, metrics=METRIC, judge_url="fake:")
    plain = JudgeScorer.pairs_many
    monkeypatch.setattr(JudgeScorer, "pairs_many", lambda self, blocks, wanted=None: plain(self, blocks))
    every = fabula.score(GOOD, REFS, metrics=METRIC, judge_url="fake:")
    assert every.scores["SODA_c"].values == spared.scores["SODA_c"].values
    assert int(facts(every)["calls"]) >= 2 * int(facts(spared)["calls"]) and facts(every)["spared"] == "0"


def test_recorded_and_replayed_results_are_the_same_bytes(tmp_path):
    path = tmp_path / "judge.jsonl"
    live = fabula.score(GOOD, REFS, metrics=METRIC, judge_url="fake:", judge_record=path, judge_model="m")
    replayed = fabula.score(GOOD, REFS, metrics=METRIC, judge_replay=path)  # the model is the one on record
    assert whole(live) == whole(replayed) and facts(replayed)["model"] == "m"
    assert len(path.read_bytes().splitlines()) == int(facts(live)["asked"])
    again = fabula.score(GOOD, REFS, metrics=METRIC, judge_url="fake:", judge_record=path, judge_model="m")
    assert whole(again) == whole(live) and len(path.read_bytes().splitlines()) == int(facts(live)["asked"])


def test_two_models_on_record_must_be_told_apart(tmp_path):
    path = tmp_path / "judge.jsonl"
    for model in ("a", "b"):
        fabula.score(GOOD, REFS, metrics=METRIC, judge_url="fake:", judge_record=path, judge_model=model)
    with pytest.raises(SpecError, match="answers of a, b"):
        fabula.score(GOOD, REFS, metrics=METRIC, judge_replay=path)
    result = fabula.score(
        GOOD, REFS, metrics=f"{METRIC},SODA_c(text=judge:fabula@b)", judge_replay=path, judge_model="a"
    )
    assert sorted(facts(result, name)["model"] for name in result.scores) == ["a", "b"]


def test_unread_judgements_by_each_rule():
    def sometimes(body):
        return "I cannot say" if "paws" in str(body) or "dog" in str(body) else reply(body)

    def run(rule):
        with asking(EndpointOptions(), reply=sometimes):
            return fabula.score(GOOD, REFS, metrics=METRIC, judge_failed=rule)

    zero, drop = run("zero"), run("drop")
    assert int(facts(zero)["unparsed"]) == int(facts(drop)["unparsed"]) == zero.counts["judge_unparsed"] > 0
    assert len(drop.rows["SODA_c"]) < len(zero.rows["SODA_c"])
    assert any("count 0 (failed=zero)" in line for line in zero.warnings)
    kept = set(zip(drop.rows["SODA_c"].keys, drop.rows["SODA_c"].refset.tolist(), strict=True))
    same = [
        (key, k) in kept for key, k in zip(zero.rows["SODA_c"].keys, zero.rows["SODA_c"].refset.tolist(), strict=True)
    ]
    assert zero.rows["SODA_c"]["f1"][same].tolist() == drop.rows["SODA_c"]["f1"].tolist()
    with pytest.raises(InputError, match="cannot be read"):
        run("raise")


def test_nothing_is_asked_unasked_and_nothing_said_unheeded():
    with pytest.raises(SpecError, match="SODA_c asks a judge"):
        fabula.score(GOOD, REFS, metrics=METRIC)
    with pytest.raises(SpecError, match="--judge-url has no effect: no metric here asks a judge"):
        fabula.score(GOOD, REFS, metrics="SODA_d", judge_url="fake:")
    with pytest.raises(SpecError, match="--judge-model"):
        fabula.score(GOOD, REFS, metrics=METRIC, judge_url="http://127.0.0.1:9/v1")
    with pytest.raises(SpecError, match="say http://host:port/v1"):
        fabula.score(GOOD, REFS, metrics=METRIC, judge_url="nowhere", judge_model="m")
    with pytest.raises(SpecError, match="--judge-rpm -1"):
        fabula.score(GOOD, REFS, metrics=METRIC, judge_url="fake:", judge_rpm=-1.0)
    with pytest.raises(InputError, match="no such file"):
        fabula.score(GOOD, REFS, metrics=METRIC, judge_replay="nowhere.jsonl")


def test_facts_stay_with_rows_that_are_kept():
    from fabula.evaluate.tasks import find_task
    from fabula.metrics import metric

    memory, made = Memory(), metric(METRIC)
    with asking(EndpointOptions(), reply=reply):
        request = Request(predictions=GOOD, refs=REFS, options=ScoreOptions(), metrics=[made], memory=memory)
        first, second = find_task("dense").run(request), find_task("dense").run(request)
    assert whole(first) == whole(second) and int(facts(second)["calls"]) > 0


def test_shards_are_judged_from_one_process(tmp_path):
    plain = fabula.score(GOOD, REFS, metrics=f"{METRIC},SODA_d", judge_url="fake:")
    path = tmp_path / "judge.jsonl"
    cut = fabula.score(
        GOOD, REFS, metrics=f"{METRIC},SODA_d", judge_url="fake:", judge_record=path, work=tmp_path / "work"
    )
    assert whole(plain) == whole(cut)


def test_pairs_can_be_drawn_when_the_run_is_over():
    result = fabula.score(GOOD, REFS, metrics=METRIC, judge_url="fake:")
    found = result.pairs("SODA_c")
    assert any(match.text for sets in found.values() for one in sets for match in one)


def test_pages_and_comparisons_of_a_judge(tmp_path):
    from click.testing import CliRunner

    from fabula.verbs.command_line import fabula as command

    record, page = tmp_path / "judge.jsonl", tmp_path / "page.html"
    asks = ["-m", METRIC, "--judge-url", "fake:", "--judge-record", str(record)]
    refs = ["--refs", *map(str, REFS)]
    told = CliRunner().invoke(command, ["score", str(GOOD), *refs, *asks, "--html", str(page)], catch_exceptions=False)
    assert told.exit_code == 0 and "judge:fabula" in page.read_text()
    other = str(demo.SYSTEMS["over_segmenting"])
    told = CliRunner().invoke(
        command, ["compare", str(GOOD), other, *refs, *asks, "--resamples", "200"], catch_exceptions=False
    )
    assert told.exit_code == 0 and "SODA_c" in told.stdout
    assert len({line[:50] for line in record.read_bytes().splitlines()}) == len(record.read_bytes().splitlines())


def test_record_that_would_replace_what_is_read(tmp_path):
    from click.testing import CliRunner

    from fabula.verbs.command_line import fabula as command

    copy = tmp_path / "preds.json"
    copy.write_bytes(GOOD.read_bytes())
    args = ["score", str(copy), "--refs", *map(str, REFS), "-m", METRIC, "--judge-url", "fake:"]
    told = CliRunner().invoke(command, [*args, "--judge-record", str(copy)])
    assert isinstance(told.exception, SpecError) and "would replace" in str(told.exception)
    assert copy.read_bytes() == GOOD.read_bytes()


@pytest.mark.parametrize("rule", ["zero", "drop", "raise"])
def test_a_judge_that_only_talks_gives_no_score(rule):
    with (
        asking(EndpointOptions(), reply=lambda body: "Well,\nthat depends\x1b[2J on much"),
        pytest.raises(InputError, match="none of 224 judgements can be read; the model said 'Well,") as error,
    ):
        fabula.score(GOOD, REFS, metrics=METRIC, judge_failed=rule)
    assert "\n" not in str(error.value) and "\x1b" not in str(error.value)


def test_some_unread_judgements_are_shown_by_a_sample():
    with asking(EndpointOptions(), reply=lambda body: "I cannot say" if "dog" in str(body) else reply(body)):
        result = fabula.score(GOOD, REFS, metrics=METRIC)
    assert any("judgements are unread; the model said 'I cannot say'" in line for line in result.warnings)


def test_the_fake_judge_has_two_spellings_and_no_need_of_httpx(monkeypatch):
    import sys

    plain = fabula.score(GOOD, REFS, metrics=METRIC, judge_url="fake:")
    monkeypatch.setitem(sys.modules, "httpx", None)
    assert whole(fabula.score(GOOD, REFS, metrics=METRIC, judge_url="fake")) == whole(plain)


def test_a_record_whose_words_were_changed_is_refused(tmp_path):
    path = tmp_path / "judge.jsonl"
    fabula.score(GOOD, REFS, metrics=METRIC, judge_url="fake:", judge_record=path)
    lines = path.read_text().splitlines(keepends=True)
    changed = lines[3].replace("CANDIDATE", "ANOTHER")
    assert changed != lines[3]
    path.write_text("".join([*lines[:3], changed, *lines[4:]]))
    with pytest.raises(InputError, match="its words were changed"):
        fabula.score(GOOD, REFS, metrics=METRIC, judge_replay=path)


def test_a_record_that_is_not_there_names_the_flag_that_makes_it():
    with pytest.raises(InputError, match="--judge-record"):
        fabula.score(GOOD, REFS, metrics=METRIC, judge_replay="nowhere.jsonl")
