"""The same predictions under every protocol, and the reasons: each must name a rule that acts on these files."""

import json

import pytest

import fabula
from fabula import io, protocols
from fabula.core.errors import SpecError
from fabula.core.nouns import Corpus, Event, Segment, Story
from fabula.demo import REFERENCES, SYSTEMS
from fabula.diagnose._rules import Facts
from fabula.diagnose.protocols import overview


def story(*events: tuple[float, float, str]) -> Story:
    return Story("v", tuple(Event(Segment(s, e), c) for s, e, c in events))


def corpus(**stories: Story) -> Corpus:
    return Corpus({v: Story(v, s.events) for v, s in stories.items()}, "toy")


REF = corpus(a=story((0, 10, "one"), (10, 20, "two")), b=story((0, 5, "three")))
PRED = corpus(a=story((0, 10, "one"), (10, 20, "two")))


def test_a_missing_video_is_the_reason_and_is_named():
    seen = overview(PRED, [REF], ["soda-2021"], task="dense")
    (reason,) = [r for r in seen.reasons("soda-2021") if r.metric == "SODA_d"]
    assert reason.rules == ("reference videos without predictions are left out",)
    assert [video for video, _, _ in reason.most] == ["b"]
    assert reason.here == pytest.approx(1, abs=1e-6) and reason.there == 1 / 2


def test_rules_that_find_nothing_to_act_on_are_not_reasons():
    facts = Facts.of(PRED, [PRED])
    for field in ("eps", "refs", "missing", "segments", "order", "nonascii", "columns", "pairing"):
        assert facts.idle(field, "x", "y"), field
    assert facts.idle("top", 1000, None) and not facts.idle("top", 1, None)
    assert not facts.idle("roles", "x", "y")


def test_every_fitting_protocol_has_a_column_the_default_first():
    seen = overview(PRED, [REF], task="dense")
    fitting = [p.name for p in protocols.room.all() if p.task in ("dense", "procedure")]
    assert [c.name for c in seen.columns] == ["default", *fitting]
    assert all(c.result is not None for c in seen.columns)


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


def test_the_command_prints_a_table_then_reasons(tmp_path, monkeypatch, capsys):
    from fabula.cli import main

    refs = [str(p) for p in REFERENCES.values()]
    out = tmp_path / "out.json"
    command = [
        "fabula",
        "protocols",
        str(SYSTEMS["out_of_order"]),
        "--refs",
        *refs,
        "--only",
        "soda-2021",
        "--json",
        str(out),
    ]
    monkeypatch.setattr("sys.argv", command)
    main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("\t") == ["metric", "default", "soda-2021"]
    assert any("SODA_c under soda-2021" in line and "sides are exchanged" in line for line in lines)
    written = json.loads(out.read_text())
    assert list(written["protocols"]) == ["default", "soda-2021"] and written["reasons"]["soda-2021"]
    monkeypatch.setattr("sys.argv", [*command[:-4], "--explain", "soda-2021", "default"])
    main()
    lines = capsys.readouterr().out.splitlines()
    assert any("demo_market: does not count against 0.00" in line for line in lines)
