"""The same predictions under every protocol, and the reasons: each must name a rule that acts on these files."""

import json
from dataclasses import replace
from math import nan

import numpy as np
import pytest

import fabula
from fabula import benchmarks, io, metrics
from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.demo import REFERENCES, SYSTEMS
from fabula.diagnosis._idle import Facts
from fabula.diagnosis._rules import apart, find_preparing, take_fields
from fabula.diagnosis.protocols import overview
from fabula.evaluate.options import ScoreOptions
from fabula.metrics.regions import base as regions
from fabula.report.protocols import against, digits
from tests.cli.conftest import fabula as command  # noqa: F401
from tests.moment_toys import lines, tvr_predictions, tvr_queries


def story(*events: tuple[float, float, str]) -> Story:
    return Story("v", tuple(Event(Segment(s, e), c) for s, e, c in events))


def corpus(**stories: Story) -> Corpus:
    return Corpus({v: Story(v, s.events) for v, s in stories.items()}, "toy")


REF = corpus(a=story((0, 10, "one"), (10, 20, "two")), b=story((0, 5, "three")))
PRED = corpus(a=story((0, 10, "one"), (10, 20, "two")))


def only(seen, protocol: str, metric: str):
    (reason,) = [r for r in seen.reasons(protocol) if r.metric == metric]
    return reason


def acts(reason) -> dict[str, list[str]]:
    """Each rule's field with the units in which it shows."""
    return {rule.field: [unit for unit, _, _ in rule.units] for rule in reason.rules}


@pytest.mark.parametrize("seed", range(4))
def test_units_that_differ_are_those_whose_rows_do(seed):
    """Two tables of the same or of other units, with as many or fewer rows each: looked at one unit at a time."""
    chance, made = np.random.default_rng(seed), metrics.metric("mIoU")
    units = [f"v{k}" for k in range(30)]

    def draw(some, sets):
        keys = tuple(v for v in some for _ in range(int(chance.integers(1, sets + 1))))
        return Rows(keys, np.zeros(len(keys), np.int64), {"value": chance.integers(0, 3, len(keys)) / 2})

    here = draw(units, 2)
    there = draw(list(map(str, chance.permutation(units[3:]))), 2)
    if not seed % 2:
        there = replace(here, columns={"value": chance.integers(0, 3, len(here)) / 2})
    expected = []
    for unit in dict.fromkeys([*here.keys, *there.keys]):
        a, b = ([x for key, x in zip(t.keys, t["value"].tolist(), strict=True) if key == unit] for t in (here, there))
        x, y = (sum(side) / len(side) if side else nan for side in (a, b))
        if a != b and not (a and b and len(a) != len(b) and x == y):
            expected.append((unit, x, y))
    found = apart((made, here), (made, there), "value")
    assert sorted(map(repr, found)) == sorted(map(repr, expected)) and 0 < len(found) < 30
    distances = [2.0 if x != x or y != y else abs(x - y) for _, x, y in found]
    assert distances == sorted(distances, reverse=True)  # what does not count comes first


def test_a_missing_video_is_the_reason_and_is_named():
    seen = overview(PRED, [REF], ["soda-2021"], task="dense")
    reason = only(seen, "soda-2021", "SODA_d")
    assert [rule.does for rule in reason.rules] == ["reference videos without predictions are left out"]
    assert acts(reason) == {"missing": ["b"]} and [video for video, _, _ in reason.most] == ["b"]
    assert reason.here == pytest.approx(1, abs=1e-6) and reason.there == 1 / 2
    assert reason.rules[0].alone == 1


def test_a_rule_that_finds_nothing_to_act_on_is_not_a_reason():
    """Everything about the two files is in order: ten settings differ, and none of them does anything."""
    seen = overview(REF, [REF], ["soda-2021"], task="dense")
    assert [r.metric for r in seen.reasons("soda-2021")] == []


def test_rules_that_work_only_together_are_found():
    """Against one set P = 1, R = 1/2, against the other P = 1/2, R = 1: F1 is 2/3 with either and with their mean.

    The best P and the best R on their own make 1, but only where the best set counts at all.
    """
    many = story((0, 10, "x"), (60, 70, "x"), (80, 90, "x"), (100, 110, "x"))
    pred = corpus(a=story((0, 10, "x"), (60, 70, "x")))
    seen = overview(pred, [corpus(a=many), corpus(a=story((0, 10, "x")))], ["densevid-2018"], task="dense")
    reason = only(seen, "densevid-2018", "PRF")
    assert (reason.there, reason.here) == (pytest.approx(2 / 3), pytest.approx(1))
    assert acts(reason) == {"refs": ["a"], "best_by": ["a"]}
    assert [rule.alone for rule in reason.rules] == [pytest.approx(2 / 3)] * 2


def test_facts_call_no_rule_idle_that_acts():
    """What facts say without scoring, scoring says too: the rows are the same, whichever way the rule is set."""
    other = {"refs": "merged", "missing": "drop", "segments": "raw", "order": "file", "nonascii": "blank"}
    facts = Facts.of(REF, [REF])
    for field, value in {**other, "columns": "sorted"}.items():
        assert facts.idle(field, value, None), field
        plain, changed = (fabula.score(REF, [REF], metrics=f"SODA_c{how}") for how in ("", f"({field}={value})"))
        assert plain["SODA_c"].values == changed["SODA_c"].values
    assert facts.idle("top", 2, None) and not facts.idle("top", 1, None)
    assert not facts.idle("roles", "x", "y") and not facts.idle("eps", 0, 1)
    spoiled = Facts.of(corpus(a=story((10, 20, "é"), (0, 10, "two"))), [REF, REF])
    for field in ("refs", "best_by", "missing", "pairing", "order", "nonascii"):
        assert not spoiled.idle(field, 0, 1), field


def test_every_fitting_protocol_has_a_column_the_default_first():
    seen = overview(PRED, [REF], task="dense")
    fitting = [p.name for p in benchmarks.room.all() if p.task in ("dense", "procedure")]
    assert [c.name for c in seen.columns] == ["default", *fitting]
    asking = {p.name for p in benchmarks.room.all() if any(m.uses_llm for m in p.metrics)}
    encoded = {"soda-bertscore", "vantage-dvc"}  # by RoBERTa-large, which is not here
    assert {c.name for c in seen.columns if c.result is None} == (asking | encoded) & set(fitting)
    why = {c.name: "no such folder" if c.name in encoded else "your own" for c in seen.columns}  # copy of a prompt
    assert all(why[c.name] in c.refused for c in seen.columns if c.result is None)
    procedure = overview(PRED, [REF], task="procedure")
    assert [c.name for c in procedure.columns] == ["default", "procnets", "pss-2022"]


def test_columns_equal_what_score_gives():
    pred, _ = io.read(SYSTEMS["good"])
    refs = [io.read(path)[0] for path in REFERENCES.values()]
    seen = overview(pred, refs, ["soda-2021", "pss-2022"])
    alone = fabula.score(pred, refs, protocol="soda-2021")
    assert {k: s.values for k, s in seen.column("soda-2021").result.scores.items()} == {
        k: s.values for k, s in alone.scores.items()
    }
    assert seen.column("pss-2022").result is None and "one reference set" in seen.column("pss-2022").refused
    with pytest.raises(SpecError, match="one reference set"):
        seen.reasons("pss-2022")
    with pytest.raises(SpecError, match="not among the protocols"):
        seen.reasons("coco")


def test_what_a_reason_claims_can_be_scored():
    """A rule alone leads to the number it is said to lead to, and all of them together to the protocol's."""
    refs = list(REFERENCES.values())
    seen = overview(SYSTEMS["out_of_order"], refs, ["soda-2021", "vid2seq"])
    for name in ("soda-2021", "vid2seq"):
        for reason in seen.reasons(name):
            here, there = seen.column(name).metrics[reason.metric], seen.column("default").metrics[reason.metric]
            for rule in reason.rules:
                changed = take_fields(there, here, [rule.field])
                result = fabula.score(SYSTEMS["out_of_order"], refs, metrics=[changed], task="dense", repair="keep")
                assert next(iter(result.scores.values())).value == rule.alone
            together = take_fields(there, here, [rule.field for rule in reason.rules])
            assert seen.bench.score(together, here.primary) == pytest.approx(reason.here, abs=5e-7)


@pytest.mark.parametrize("protocol", list(benchmarks.room.all()), ids=lambda p: p.name)
def test_every_rule_of_a_protocol_has_its_sentence(protocol):
    """A metric's `rules` say what its settings do; a field that parts a protocol from the default must be there."""
    plain = {m.label or m.name: m for m in metrics.default(protocol.task)}
    for metric in protocol.metrics:
        base = plain.get(metric.label or metric.name, type(metric)())
        for field in metric.defaults():
            if getattr(metric, field) != getattr(base, field):
                for side in (metric, base):
                    assert side.explain(field) != f"{field} is {getattr(side, field)}", f"{side}: {field}"


# The other tasks, each in a case that can be redone on paper ----------------------------------------------------------

VG = [
    {"id": id, "regions": [{"x": 0, "y": 0, "width": 100, "height": 100, "phrase": "a dog"}]}
    for id in ("stray", "right", "silent")
]
BOXES = [
    {"image_id": "stray", "bbox": [500, 500, 10, 10], "caption": "a cat", "score": 0.9},
    {"image_id": "stray", "bbox": [0, 0, 100, 100], "caption": "a dog", "score": 0.8},
    {"image_id": "right", "bbox": [0, 0, 100, 100], "caption": "a dog", "score": 0.7},
]


@pytest.fixture
def boxes(tmp_path, monkeypatch):
    monkeypatch.setattr(regions, "meteors", lambda candidates, references: [1.0] * len(candidates))
    (tmp_path / "vg.json").write_text(json.dumps(VG))
    (tmp_path / "boxes.json").write_text(json.dumps(BOXES))
    return tmp_path / "boxes.json", [tmp_path / "vg.json"]


def test_regions(boxes):
    """Three references. Hits at places 2 and 3: precision 1/2, 2/3; the best is 2/3 up to recall 2/3, at 67 levels.

    densecap: the stray box claims the dog, one hit at place 3: 1/3 up to recall 1/3, at 34 levels.
    densecap-pytorch: the silent image does not count: 2/3 at all 100 levels.
    """
    seen = overview(*boxes, task="regions")
    assert [c.name for c in seen.columns] == ["default", "densecap", "densecap-pytorch"]
    stray = only(seen, "densecap", "DenseCap_mAP")
    assert (stray.there, stray.here) == (pytest.approx(0.67 * 2 / 3), pytest.approx(0.34 / 3))
    assert acts(stray) == {"stray": ["stray"]} and stray.unit == "images"
    assert stray.rules[0].units == (("stray", 0.0, pytest.approx(1 / 2)),)  # alone, the dog at place 2 or not at all
    silent = only(seen, "densecap-pytorch", "DenseCap_mAP")
    assert silent.here == pytest.approx(2 / 3) and acts(silent) == {"missing": ["silent"]}
    assert [r.metric for r in seen.reasons("densecap", "densecap-pytorch")] == ["DenseCap_mAP"]
    both = seen.reasons("densecap", "densecap-pytorch")[0]
    assert acts(both) == {"stray": ["stray"], "missing": ["silent"]}


def test_a_level_of_recall_that_is_missed_by_rounding_belongs_to_no_image(boxes):
    """One hit of two references: recall is exactly .5, which levels added up in doubles do not reach: 50, not 51."""
    pred, (refs,) = boxes
    refs.write_text(json.dumps(VG[:2]))
    pred.write_text(json.dumps(BOXES[2:]))
    reason = only(overview(pred, [refs], ["densecap"]), "densecap", "DenseCap_mAP")
    assert (reason.there, reason.here) == (pytest.approx(0.51), pytest.approx(0.5))
    assert acts(reason) == {"grid": []}


def test_identity(tmp_path):
    """Set a c: X | X Y. As text, `[1]` and the `[1` of `[1, 2]` are two people: the same pair is lost.

    same = (0 + 1) / 2, different = 1: class 2/3.
    """
    files = {"refs": "a\t[X]\nc\t[X],[Y]\nd\t[Z]\ne\t[Z]\n", "preds": "a\t[1]\nc\t[1, 2]\nd\t[1]\ne\t[1]\n"}
    for name, text in {**files, "sets": "a\tc\nd\te\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    options = ScoreOptions(sets=tmp_path / "sets.csv")
    seen = overview(tmp_path / "preds.csv", [tmp_path / "refs.csv"], task="identity", options=options)
    reason = only(seen, "lsmdc-fillin", "FITB")
    assert (reason.there, reason.here) == (1, pytest.approx(2 / 3))
    assert acts(reason) == {"labels": ["a"]} and reason.unit == "sets"
    (tmp_path / "preds.csv").write_text("a\t[1],[3]\nc\t[1],[2]\nd\t[1]\ne\t[1]\n")
    seen = overview(tmp_path / "preds.csv", [tmp_path / "refs.csv"], task="identity", options=options)
    assert acts(only(seen, "lsmdc-fillin", "FITB")) == {"short": ["a"]}


def test_moments(tmp_path):
    """The right video stands at place 6 or, its forerunners being one video, at 2: R@1 agrees, R@5 does not."""
    refs = tvr_queries(tmp_path / "q.jsonl", {1: ("kitchen", [0, 10]), 2: ("garden", [0, 10])})
    repeated = [[1, 0, 10, 0.9 - i / 10] for i in range(5)] + [[0, 0, 10, 0.1]]
    lists = {1: repeated, 2: [[1, 0, 10, 1.0]]}
    pred = tvr_predictions(tmp_path / "p.json", VCMR=lists, SVMR=lists, VR=lists)
    seen = overview(pred, [refs], task="moments")
    assert [c.name for c in seen.columns] == ["default", "reloclnet", "rvmr", "tvr"]
    reason = only(seen, "tvr", "VR r5")
    assert (reason.there, reason.here) == (1, 1 / 2) and acts(reason) == {"repeats": ["1"]} and reason.unit == "queries"
    assert seen.reasons("reloclnet") == []  # it reports no R@5
    assert ("VR", "r5") in seen.lines() and ("VCMR", "r5@0.5") not in seen.lines()


def test_a_time_that_float32_moves_over_the_border(tmp_path):
    """[0.1, 1.3] is exactly half of [0.1, 2.5] in doubles, and a little less in float32."""
    refs = tvr_queries(tmp_path / "q.jsonl", {7: ("kitchen", [0.1, 2.5]), 8: ("kitchen", [0, 10])})
    pred = tvr_predictions(tmp_path / "p.json", VCMR={7: [[0, 0.1, 1.3, 1.0]], 8: [[0, 0, 10, 1.0]]})
    reason = only(overview(pred, [refs], ["tvr"]), "tvr", "VCMR")
    assert (reason.there, reason.here) == (1, 1 / 2) and acts(reason) == {"cast": ["7"]}


def test_an_unanswered_query_is_why_a_protocol_has_no_number(tmp_path):
    refs = tvr_queries(tmp_path / "q.jsonl", {1: ("kitchen", [0, 10]), 2: ("garden", [0, 10])})
    pred = tvr_predictions(tmp_path / "p.json", VCMR={1: [[0, 0, 10, 1.0]]})
    column = overview(pred, [refs], task="moments").column("tvr")
    assert column.result is None and "query 2" in column.refused


def test_highlights(tmp_path):
    """R1 takes the first window of the file, which the score says is the worse; silence does not count for mAP."""
    refs = lines(tmp_path / "q.jsonl", [{"id": i, "video": "v", "windows": [[0, 10]]} for i in ("turned", "silent")])
    answers = [{"id": "turned", "windows": [[50, 60, 0.1], [0, 10, 0.9]]}, {"id": "silent", "windows": []}]
    seen = overview(lines(tmp_path / "p.jsonl", answers), [refs], task="highlights")
    assert acts(only(seen, "qvhighlights", "MR_R1")) == {"order": ["turned"]}
    silent = only(seen, "qvhighlights", "MR_mAP")
    assert (silent.there, silent.here) == (1 / 2, 1) and acts(silent) == {"empty": ["silent"]}


def test_captions(tmp_path):
    (tmp_path / "refs.json").write_text(
        json.dumps({"annotations": [{"image_id": i, "caption": "a dog runs"} for i in (1, 2)]})
    )
    (tmp_path / "preds.json").write_text(json.dumps([{"image_id": 1, "caption": "a dog runs"}]))
    reason = only(overview(tmp_path / "preds.json", [tmp_path / "refs.json"], ["coco"]), "coco", "ROUGE_L")
    assert (reason.there, reason.here) == (1 / 2, 1) and acts(reason) == {"missing": ["2"]} and reason.unit == "items"


def test_a_protocol_that_prepares_the_files_itself_is_named(tmp_path):
    """The rows that a protocol has are those of other captions than the files hold: of item 2, not of item 1."""
    annotated = {"annotations": [{"image_id": i, "caption": "a dog runs"} for i in (1, 2)]}
    (tmp_path / "refs.json").write_text(json.dumps(annotated))
    for name, second in (("plain", "a dog runs"), ("prepared", "dogs")):
        said = [{"image_id": 1, "caption": "a dog runs"}, {"image_id": 2, "caption": second}]
        (tmp_path / f"{name}.json").write_text(json.dumps(said))
    seen = overview(tmp_path / "plain.json", [tmp_path / "refs.json"], ["coco"])
    metric = seen.column("default").metrics["ROUGE_L"]
    own = fabula.score(tmp_path / "prepared.json", tmp_path / "refs.json", metrics=[metric], task="captions")
    (rule,) = find_preparing(seen.bench, "coco", metric, own.rows["ROUGE_L"], "value")
    assert rule.does == "coco prepares the files in its own way" and rule.units == (("2", 0.0, 1.0),)
    assert find_preparing(seen.bench, "coco", metric, seen.column("coco").result.rows["ROUGE_L"], "value") == []


def test_grounding(tmp_path):
    refs = lines(tmp_path / "q.jsonl", [{"id": i, "video": "v", "windows": [[0, 10]]} for i in ("x", "y")])
    pred = lines(tmp_path / "p.jsonl", [{"id": "x", "windows": [[0, 10]]}])
    reason = only(overview(pred, [refs], task="grounding"), "timechat-tvg", "Grounding")
    assert (reason.there, reason.here) == (1 / 2, 1) and acts(reason) == {"missing": ["y"]}


# The command ----------------------------------------------------------------------------------------------------------


def test_the_command_prints_a_table_then_reasons(command, tmp_path):  # noqa: F811
    what = ("protocols", SYSTEMS["out_of_order"], "--refs", *REFERENCES.values())
    ran = command(*what, "--only", "soda-2021", "--json", "out.json")
    lines = ran.out.splitlines()
    assert lines[0].split("\t") == ["metric", "default", "soda-2021"]
    assert any("SODA_c under soda-2021" in line and "sides are exchanged" in line for line in lines)
    written = json.loads((tmp_path / "out.json").read_text())
    assert list(written["protocols"]) == ["default", "soda-2021"]
    (why,) = [r for r in written["reasons"]["soda-2021"] if r["metric"] == "SODA_d"]
    assert {rule["rule"] for rule in why["rules"]} == {"refs", "missing"}
    (left_out,) = [rule for rule in why["rules"] if rule["rule"] == "missing"]
    assert left_out["videos"] == 1 and left_out["most"] == [{"video": "demo_market", "value": None, "default": 0.0}]
    lines = command(*what, "--explain", "soda-2021", "default").out.splitlines()
    assert any("demo_market: does not count against 0.00" in line for line in lines)


def test_the_command_explains_regions(command, boxes, tmp_path):  # noqa: F811
    what = ("protocols", "boxes.json", "--refs", "vg.json")
    ran = command(*what, "--task", "regions", "--json", "out.json")
    assert ran.code == 0, ran.err
    assert "DenseCap_mAP\t44.67\t11.33\t66.67" in ran.out.splitlines()
    assert "claims the last one of its image (index -1) (alone 11.33; 1 image: stray)" in ran.out
    assert "3 reference images" not in ran.err and "1 reference images have no detections" in ran.err
    assert json.loads((tmp_path / "out.json").read_text())["reasons"]["densecap"][0]["images"] == 1
    lines = command(*what, "--explain", "densecap", "default").out.splitlines()
    assert lines[0] == "DenseCap_mAP: densecap 11.33, default 44.67" and lines[-1] == "    stray: 0.00 against 50.00"


def test_the_command_explains_identity(command, tmp_path):  # noqa: F811
    (tmp_path / "r.csv").write_text("a\t[X]\nc\t[X],[Y]\n")
    (tmp_path / "s.csv").write_text("a\tc\n")
    (tmp_path / "p.csv").write_text("a\t[1]\nc\t[1, 2]\n")
    ran = command("protocols", "p.csv", "--refs", "r.csv", "--sets", "s.csv", "--only", "lsmdc-fillin")
    assert ran.code == 0 and "FITB under lsmdc-fillin: 0.00, default 100.00: an id is the text between" in ran.out
    ran = command("protocols", "p.csv", "--refs", "r.csv", "--task", "identity")
    assert ran.code == 2 and "--sets" in ran.err


def test_numbers_have_the_digits_it_takes_to_tell_them_apart():
    assert digits(0.5, 0.25, 100) == ("50.00", "25.00")
    assert digits(0.356512, 0.356514, 100) == ("35.6512", "35.6514")
    assert against(float("nan"), 0.0, 100) == "does not count against 0.00"
    assert against(0.0, 0.0, 100) == "0.00 by itself, another part in the whole"
