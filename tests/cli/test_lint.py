"""fabula lint, as a user types it: lines for a pipe, JSON, exit codes, and a copy that is mended."""

import json

import pytest

ODD = {
    "results": {
        "v_a": [
            {"sentence": "two", "timestamp": [30, 12]},
            {"sentence": "one", "timestamp": [0, 10]},
            {"sentence": "one", "timestamp": [0, 10]},
            {"sentence": "three", "timestamp": [50, 70]},
        ],
        "v_x": [{"sentence": "ë", "timestamp": [4, 4]}],
    },
    "version": "mine",
}


@pytest.fixture
def odd(fabula, tmp_path):
    (tmp_path / "odd.json").write_text(json.dumps(ODD))
    return tmp_path / "odd.json"


def test_lines_for_a_pipe(fabula, odd):
    ran = fabula("lint", "odd.json", "--refs", "refs.json")
    assert ran.code == 1
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert {r[1]: int(r[2]) for r in rows} == {
        **{"reversed": 1, "zero-length": 1, "past-duration": 1, "duplicate-event": 1, "unsorted": 1},
        **{"repeated-sentence": 1, "unknown-id": 1, "missing-id": 1, "non-ascii": 1, "overlap": 1},
    }
    assert rows[0][:4] == ["error", "reversed", "1", "'v_a' event 0 [30, 12]"]
    assert "odd.json (submission): 2 ids, 5 captions or events" in ran.err
    assert "1 of 2 reference ids: 2 error, " in ran.err


def test_a_sound_file(fabula):
    ran = fabula("lint", "refs.json")
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.parametrize(
    "arguments", [["none.json"], ["refs.json", "--format", "tvsum"], ["refs.json", "--refs", "no"]]
)
def test_bad_input_is_exit_code_2(fabula, arguments):
    assert fabula("lint", *arguments).code == 2


def test_json(fabula, odd, tmp_path):
    assert fabula("lint", "odd.json", "--json", "lint.json").code == 1
    document = json.loads((tmp_path / "lint.json").read_text())
    assert (document["file"], document["format"], document["levels"]["error"]) == ("odd.json", "submission", 2)
    assert json.loads(fabula("lint", "odd.json", "--json", "-").out) == document


def test_fix_writes_a_copy_and_what_it_did(fabula, odd, tmp_path):
    before = odd.read_text()
    ran = fabula("lint", "odd.json", "--refs", "refs.json", "--fix", "new.json", "--json", "lint.json")
    assert ran.code == 1 and odd.read_text() == before
    new = json.loads((tmp_path / "new.json").read_text())
    assert new["version"] == "mine"
    assert new["results"] == {
        "v_a": [
            {"sentence": "one", "timestamp": [0, 10]},
            {"sentence": "two", "timestamp": [12, 30]},
            {"sentence": "three", "timestamp": [50, 60]},
        ],
        "v_x": [],
    }
    done = json.loads((tmp_path / "new.json.fixes.json").read_text())
    assert [d["deed"] for d in done["fixes"]] == ["swap", "drop-duplicate", "clip", "sort", "drop-empty"]
    assert json.loads((tmp_path / "lint.json").read_text())["fixes"] == done["fixes"]
    assert fabula("lint", "new.json").code == 0


def test_fix_never_writes_over_the_file(fabula, odd):
    before = odd.read_text()
    ran = fabula("lint", "odd.json", "--fix", "odd.json")
    assert ran.code == 2 and "another name" in ran.err and odd.read_text() == before


def test_answers_are_mended_into_fabulas_lines(fabula, tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "v", "answer": "5s - 5s: x\n1s - 2s: y"}) + "\n")
    assert fabula("lint", "a.jsonl", "--fix", "new.jsonl").code == 1
    assert json.loads((tmp_path / "new.jsonl").read_text())["events"] == [{"start": 1, "end": 2, "caption": "y"}]


def test_single_captions(fabula, tmp_path):
    (tmp_path / "caps.json").write_text(json.dumps([{"image_id": 1, "caption": ""}, {"image_id": 2, "caption": "a"}]))
    (tmp_path / "truth.json").write_text(json.dumps({"annotations": [{"image_id": 1, "caption": "b"}]}))
    ran = fabula("lint", "caps.json", "--refs", "truth.json")
    assert ran.code == 0
    assert [line.split("\t")[1] for line in ran.out.splitlines()] == ["unknown-id", "empty-caption"]
    assert "(captions)" in ran.err
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"id": 1, "cand": "é", "refs": ["b"]}) + "\n")
    assert "non-ascii" in fabula("lint", "pairs.jsonl").out
    assert fabula("lint", "caps.json", "--fix", "x.json").code == 2


def test_a_copy_in_lines_is_named_so(fabula, tmp_path):
    (tmp_path / "answers.json").write_text('[{"id": "v_a", "answer": "0:00 - 0:10 A kite rises."}]')
    ran = fabula("lint", "answers.json", "--fix", "mended.json")
    assert ran.code == 2 and "mended.json: fabula is JSON Lines" in ran.err and not (tmp_path / "mended.json").exists()
    assert fabula("lint", "answers.json", "--fix", "mended.jsonl").code == 0


def test_means_of_a_file(fabula, tmp_path):
    videos = {"a": {"duration": 10, "timestamps": [[0, 4], [5, 7]]}, "b": {"duration": 30, "timestamps": [[0, 15]]}}
    (tmp_path / "means.json").write_text(json.dumps(videos))
    ran = fabula("lint", "means.json", "--stats")
    stats = {row[1]: row[2] for row in (line.split("\t") for line in ran.out.splitlines()) if row[0] == "stats"}
    assert ran.code == 0 and stats == {
        **{"videos": "2", "events": "3", "segments_per_video": "1.5000", "segment_seconds": "7.0000"},
        **{"video_seconds": "20.0000", "told": "0.5500"},
    }
    ran = fabula("lint", "means.json", "--stats", "--json", "-")
    assert json.loads(ran.out)["stats"]["segment_seconds"] == 7
    assert "stats" not in json.loads(fabula("lint", "means.json", "--json", "-").out)
    (tmp_path / "captions.json").write_text(json.dumps([{"image_id": 1, "caption": "a cat"}]))
    ran = fabula("lint", "captions.json", "--stats")
    assert ran.code == 2 and "--stats describes the segments of videos; captions.json holds captions" in ran.err


def test_uniform_baselines_say_where_their_mean_comes_from(fabula):
    ran = fabula("baseline", "uniform", "--refs", "refs.json", "--average", "duration", "-o", "u.json")
    assert ran.code == 0 and "seconds a segment, the mean of refs.json (2 videos, " in ran.err
