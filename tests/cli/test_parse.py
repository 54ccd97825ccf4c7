"""fabula parse, as a user types it."""

import json

ANSWERS = [
    {"id": "v_a", "answer": "Sure:\n1. 0% - 25%: one\n2. Later: two"},
    {"id": "v_b", "answer": "I see nothing."},
]


def put(path, entries):
    path.write_text("".join(json.dumps(e) + "\n" for e in entries))


def test_events_and_audit(fabula, tmp_path):
    put(tmp_path / "answers.jsonl", ANSWERS)
    ran = fabula("parse", "answers.jsonl", "-o", "events.jsonl", "--audit", "audit.json", "--refs", "refs.json")
    assert ran.code == 0 and ran.out == ""
    assert "2 answers → events.jsonl: 1 parsed, 0 deduced, 0 repaired, 2 refused, 1 unparsed" in ran.err
    assert "1 answers gave no event (unparsed)" in ran.err and "'v_b'" in ran.err
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert events[0]["events"] == [{"start": 0, "end": 15, "caption": "one"}]
    audit = json.loads((tmp_path / "audit.json").read_text())
    assert audit["unparsed"] == ["v_b"]
    assert audit["counts"] == {
        "answers": 2, "parsed": 1, "deduced": 0, "repaired": 0, "refused": 2, "unparsed": 1
    }  # fmt: skip
    assert audit["answers"]["v_a"]["refused"] == [{"line": "2. Later: two", "why": "no time"}]
    assert audit["answers"]["v_a"]["prose"] == ["Sure:"]


def test_durations_are_found_whatever_the_prefix(fabula, tmp_path):
    put(tmp_path / "answers.jsonl", [{"id": "a", "answer": "10 - 50: x"}])
    args = [
        "parse",
        "answers.jsonl",
        "-o",
        "out.json",
        "--to",
        "submission",
        "--unit",
        "percent",
        "--refs",
        "refs.json",
    ]
    assert fabula(*args).code == 0
    assert json.loads((tmp_path / "out.json").read_text())["results"]["a"][0]["timestamp"] == [6, 30]


def test_score_counts_the_unparsed(fabula, tmp_path):
    put(tmp_path / "answers.jsonl", [ANSWERS[1], {"id": "v_a", "answer": "0s - 10s"}])
    ran = fabula("score", "answers.jsonl", "--refs", "refs.json", "--metrics", "mIoU", "--json", "-")
    assert ran.code == 0
    assert json.loads(ran.out)["counts"]["unparsed"] == 1


def test_bad_input(fabula, tmp_path):
    put(tmp_path / "answers.jsonl", ANSWERS)
    assert fabula("parse", "answers.jsonl", "-o", "x", "--to", "answers").code == 2
    assert fabula("parse", "answers.jsonl", "-o", "x", "--unit", "parsec").code == 2
    assert fabula("parse", "none.jsonl", "-o", "x").code == 2
    assert not (tmp_path / "x").exists()
