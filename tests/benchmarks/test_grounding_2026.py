"""Readers and protocols of grounding against numbers of the published programs (../shared/spec/vectors-2026)."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import fabula
from fabula.core.errors import FabulaError, SpecError
from fabula.io.answers.readers import READERS
from fabula.io.answers.readers.fabula import read, read_all

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "spec" / "vectors-2026"
COLUMNS = {
    "lmms_charades_utils": "charades-lmms",
    "lmms_charades_eval_tvg": "charades-tvg",
    "lmms_timelens": "timelens",
    "timelens": "timelens",
    "lmms_extremewhen": "extremewhen",
    "time_r1": "time-r1",
    "omtg": "omtg",
}


def vectors(name: str) -> Any:
    file = FOLDER / name
    if not file.is_file():
        pytest.skip(f"{name} is not in ../shared/spec/vectors-2026: numbers of published programs are wanted")
    return json.loads(file.read_text(encoding="utf-8"))


def windows(found: Any) -> list[list[float]]:
    """A program's answer as a list of windows: some give one, some None twice."""
    if found is None or found == [None, None]:
        return []
    return [found] if isinstance(found[0] if found else [], float) else found


@pytest.mark.parametrize("column", COLUMNS)
def test_answers_are_read_as_the_published_programs_read_them(column: str) -> None:
    rows = vectors("grounding_parsers.json")["rows"]
    reader = READERS.get(COLUMNS[column])
    for row in rows:
        assert [list(w) for w in reader.read(row["text"])] == windows(row[column]), row["text"]


def test_etbench_reads_windows_as_its_program() -> None:
    for row in vectors("etbench.json")["tvg_format"]:
        assert [list(w) for w in READERS.get("etbench").read(row["text"])] == (row["out"] or []), row["text"]


def scored(tmp_path: Path, answers: Any, protocol: str, name: str = "answers.json") -> dict[str, float]:
    file = tmp_path / name
    listed = answers if isinstance(answers, list) else [answers]
    lines = "".join(json.dumps(one) + "\n" for one in listed)
    file.write_text(lines if name.endswith(".jsonl") else json.dumps(answers))
    return dict(fabula.score(file, [file], protocol=protocol, task="grounding").scores["Grounding"].values)


def matches(seen: dict[str, float], wanted: dict[str, float], scale: float) -> None:
    for ours, theirs in (("r1@0.3", 0), ("r1@0.5", 1), ("r1@0.7", 2), ("miou", 3)):
        assert seen[ours] == pytest.approx(list(wanted.values())[theirs] / scale, abs=1e-12), (seen, wanted)


def test_charades_of_lmms_eval(tmp_path: Path) -> None:
    vector = vectors("grounding_parsers.json")
    matches(scored(tmp_path, vector["charades_metrics"]["in"], "charades-lmms"), vector["charades_metrics"]["out"], 100)
    twice = vector["duplicate_keys"]
    matches(scored(tmp_path, twice["in"], "charades-lmms", "twice.jsonl"), twice["out"], 100)


def test_timelens_of_lmms_eval(tmp_path: Path) -> None:
    vector = vectors("grounding_parsers.json")["lmms_timelens_metrics"]
    matches(scored(tmp_path, vector["in"], "timelens"), vector["out"], 100)


# where the program ends, what is said instead: its rule goes on, and windows of no length are misses
INSTEAD = {"plain_string_is_refused": 1.0, "query_with_separator": 1.0, "zero_length": 0.0}


@pytest.mark.parametrize(
    ("group", "protocol"), [("timelens_compute_metrics", "timelens"), ("lmms_charades_eval_tvg_script", "charades-tvg")]
)
def test_scripts_that_print(tmp_path: Path, group: str, protocol: str) -> None:
    for case in vectors("grounding_parsers.json")[group]["cases"]:
        if isinstance(case["out"], dict):  # the program ends there
            assert set(scored(tmp_path, case["in"], protocol).values()) == {INSTEAD[case["name"]]}, case["name"]
            continue
        wanted = {line: float(line.split()[-1]) for line in case["out"]}
        matches(scored(tmp_path, case["in"], protocol, case.get("file", "answers.json")), wanted, 100)


def lines_of(tmp_path: Path, samples: list[tuple[list[float], str | None]]) -> tuple[Path, Path]:
    refs, preds = tmp_path / "refs.jsonl", tmp_path / "preds.jsonl"
    queries = [{"id": i, "video": "v", "windows": [w]} for i, (w, _) in enumerate(samples)]
    refs.write_text("".join(json.dumps(q) + "\n" for q in queries))
    preds.write_text("".join(json.dumps({"id": i, "answer": a}) + "\n" for i, (_, a) in enumerate(samples)))
    return preds, refs


def test_extremewhen(tmp_path: Path) -> None:
    vector = vectors("grounding_parsers.json")["extremewhen_metrics"]
    preds, refs = lines_of(tmp_path, [(vector["gt"], answer) for answer in vector["answers"]])
    result = fabula.score(preds, [refs], protocol="extremewhen")
    seen = result.scores["Grounding"].values
    wanted = {k: vector[k] for k in ("R@0.3", "R@0.5", "R@0.7", "mIoU")}
    matches(dict(seen), wanted, 1)
    assert result.counts["unparsed"] == round(vector["parse_fail"] * len(vector["answers"]))
    assert result.rows["Grounding"]["miou"].tolist() == pytest.approx(vector["iou"], abs=1e-12)


def test_time_r1(tmp_path: Path) -> None:
    for case in vectors("grounding_parsers.json")["time_r1_loop"]["cases"]:
        if "raises" in case["out"]:
            continue
        preds, refs = lines_of(tmp_path, [(sample["gt"], sample["answer"]) for sample in case["in"]])
        seen = dict(fabula.score(preds, [refs], protocol="time-r1").scores["Grounding"].values)
        recalls = case["out"]["R@.3,.5,.7"]
        matches(seen, {str(i): value for i, value in enumerate([*recalls, case["out"]["mIoU"]])}, 1)


OURS = {
    "10 - 12, 20 - 22 seconds": [(10, 12), (20, 22)],
    "<think>1.00 to 2.00</think><answer>10.50 - 12.00</answer>": [(10.5, 12)],
    "<answer>10.50 to 12.00</answer><think>or 1.00 to 2.00</think>": [(10.5, 12)],
    "<think>1.00 to 2.00</think><answer>none</answer>": [],
    "<think>still thinking of 1 - 2": [],
    "2-3 people; happens in 10.5 - 12.0 seconds": [(10.5, 12)],
    "person 1 starts at 10.5 and ends at 12.0": [(10.5, 12)],
    "The start time is 10.5 seconds and the end time is 12.0 seconds.": [(10.5, 12)],
    "from 1 minute 5 seconds to 1 minute 20 seconds": [(65, 80)],
    "1 hour 2 minutes 3 seconds - 1h 2m 10s": [(3723, 3730)],
    "from 1 to 2 minutes": [(60, 120)],
    "between seconds 3 and 7": [(3, 7)],
    '```json\n{"start_time": "00:10", "end_time": "00:20"}\n```': [(10, 20)],
    "[[1, 2], [3.5, 4]]": [(1, 2), (3.5, 4)],
    "10,5 - 12,0": [(10.5, 12)],
    "1,200.5 - 1,300": [(1200.5, 1300)],
    "12.0 – 10.5 s": [(10.5, 12)],
    "10% - 20%": [],
    "frames 10 to 20": [],
    "The event happens at 12.": [],
}


@pytest.mark.parametrize("text", OURS)
def test_our_own_reader(text: str) -> None:
    assert read(text) == OURS[text]


def test_plain_answers_are_read_alike_in_both_ways() -> None:
    rows = vectors("grounding_parsers.json")["rows"]
    for text in [row["text"] for row in rows] + list(OURS):
        assert read(text) == read_all(text), text


def test_a_reader_that_there_is_not() -> None:
    with pytest.raises(SpecError, match="no reader of answers is called 'timelense'; did you mean 'timelens'"):
        fabula.score("a.jsonl", ["b.jsonl"], metrics=["Grounding(reader=timelense)"], task="grounding")


def test_the_signature_names_the_reader(tmp_path: Path) -> None:
    preds, refs = lines_of(tmp_path, [([10, 20], "10 to 20"), ([10, 20], "nothing")])
    result = fabula.score(preds, [refs], task="grounding")
    assert "reader=fabula" in result.scores["Grounding"].signature
    assert result.counts["unparsed"] == 1


REFUSED = {
    "same_query_twice": "query 'a/0': this query is answered twice; keep one of the two",
    "query_idx_out_of_range": "no answered query is among the references; compare the ids of the two files",
}


def test_ego4d_nlq(tmp_path: Path) -> None:
    refs, preds = tmp_path / "refs.json", tmp_path / "preds.json"
    for case in vectors("ego4d_nlq.json")["cases"]:
        queries = [{"clip_start_sec": s, "clip_end_sec": e, "query": "q"} for s, e in case["ground_truth"]]
        clip = {"clip_uid": "c", "annotations": [{"annotation_uid": "a", "language_queries": queries}]}
        refs.write_text(json.dumps({"videos": [{"clips": [clip]}]}))
        results = [{"clip_uid": "c", "annotation_uid": "a", **result} for result in case["results"]]
        preds.write_text(json.dumps({"version": "1.0", "challenge": "ego4d_nlq_challenge", "results": results}))
        if case["name"] in REFUSED:
            with pytest.raises(FabulaError, match=REFUSED[case["name"]]):
                fabula.score(preds, [refs], protocol="ego4d-nlq")
            continue
        if "raises" in case["out"]:  # a query without any answer ends the program; here it is a miss
            assert case["name"] == "empty_list"
            scores = fabula.score(preds, [refs], protocol="ego4d-nlq").scores
            assert {value for score in scores.values() for value in score.values.values()} == {0.0}
            continue
        scores = fabula.score(preds, [refs], protocol="ego4d-nlq").scores
        for t, row in zip(case["thresholds"], case["out"]["recall[threshold][k]"], strict=True):
            for k, value in zip(case["topK"], row, strict=True):
                assert scores["SVMR"].values[f"r{k}@{t}"] == pytest.approx(value, abs=1e-12), case["name"]
        wanted = 0.0 if case["out"]["mIoU"] == "nan" else case["out"]["mIoU"]
        assert scores["Grounding"].values["miou"] == pytest.approx(wanted, abs=1e-12), case["name"]


def test_rvmr(tmp_path: Path) -> None:
    refs, preds = tmp_path / "refs.json", tmp_path / "preds.json"
    for case in vectors("rvmr_ndcg.json")["cases"]:
        refs.write_text(json.dumps(case["ground_truth"]))
        preds.write_text(json.dumps(case["predictions"]))
        wanted = case["out[K][T]"]
        if "raises" in wanted:
            with pytest.raises(FabulaError):
                fabula.score(preds, [refs], protocol="rvmr", refs_format="rvmr", format="rvmr-predictions")
            continue
        asked = f"NDCG(k={'/'.join(map(str, case['K']))},iou={'/'.join(map(str, case['T']))})"
        formats = {"refs_format": "rvmr", "format": "rvmr-predictions"}
        scores = fabula.score(preds, [refs], metrics=[asked], protocol="rvmr", **formats).scores
        for k, row in wanted.items():
            for t, value in row.items():
                assert scores["NDCG"].values[f"ndcg{k}@{t}"] == pytest.approx(value, abs=1e-12), case["name"]


def say(windows: list[list[float]]) -> str:
    return " and ".join(f"[{a!r}, {b!r}]" for a, b in windows) or "none"


def test_omtg(tmp_path: Path) -> None:
    file = tmp_path / "omtg.json"
    names = {"C-Acc": "count", "tIoU": "tiou", "EtF1": "etf1"}
    for case in vectors("omtg.json")["cases"]:
        row = {"index": 0, "video": "v", "answer": say(case["gt"]), "prediction": say(case["pred"])}
        file.write_text(json.dumps([row]))
        values = fabula.score(file, [file], protocol="omtg").scores["OneToMany"].values
        for theirs, value in case["out"].items():
            ours = names.get(theirs, theirs.removeprefix("t").lower())
            assert values[ours] == pytest.approx(value, abs=1e-12), (case["name"], theirs)


def test_omtg_lengthens_the_first_stretch_alone(tmp_path: Path) -> None:
    """Windows of later stretches are matched as they are: VLMEvalKit appends new lists for them (by hand)."""
    file = tmp_path / "omtg.json"
    later = {"answer": "[0, 1] and [10, 15] and [15, 20]", "prediction": "[0, 1] and [10, 15] and [15.5, 20]"}
    first = {"answer": "[10, 15] and [15, 20] and [30, 31]", "prediction": "[10, 15] and [15.5, 20] and [30, 31]"}
    found = []
    for row in (later, first):
        file.write_text(json.dumps([{"index": 0, "video": "v", **row}]))
        found.append(fabula.score(file, [file], protocol="omtg").scores["OneToMany"].values["f1@0.7"])
    # of the first stretch [10, 15] became [10, 20] in the references, and the answer's [10, 15] has IoU 1/2 with it
    assert found == pytest.approx([1.0, 2 / 3])


def test_rvmr_takes_the_best_graded_of_equally_near_references(tmp_path: Path) -> None:
    """TVR-Ranking sorts by grade before it matches; of one grade the first of the file (by hand)."""
    refs, preds = tmp_path / "refs.json", tmp_path / "preds.json"
    window = {"video_name": "v", "timestamp": [0, 10]}
    preds.write_text(json.dumps({"q": [window]}))
    formats = {"refs_format": "rvmr", "format": "rvmr-predictions"}
    for graded in ([1, 3], [3, 1]):
        refs.write_text(json.dumps({"q": [{**window, "relevance": g} for g in graded]}))
        for asked in ({"protocol": "rvmr"}, {"task": "moments", "metrics": "NDCG"}):
            found = fabula.score(preds, [refs], **asked, **formats).scores["NDCG"].values["ndcg10@0.5"]
            assert found == pytest.approx(7 / (7 + 1 / 1.584962500721156)), (graded, asked)


def test_windows_that_touch_are_matched_as_given_by_default(tmp_path: Path) -> None:
    file = tmp_path / "omtg.json"
    row = {"index": 0, "video": "v", "answer": "[0, 5] and [5, 10]", "prediction": "[0, 5] and [5.5, 10]"}
    file.write_text(json.dumps([row]))
    ours = fabula.score(file, [file], metrics=["OneToMany"], task="grounding").scores["OneToMany"].values
    theirs = fabula.score(file, [file], protocol="omtg").scores["OneToMany"].values
    assert (ours["f1@0.7"], theirs["f1@0.7"]) == (1.0, 0.5)


def test_both_ways_agree_on_answers_put_together_at_random() -> None:
    rng = random.Random(7)
    times = ["10", "5.5", "12.", "1:05", "00:10", "1:02:03", "0", "100.25", "12,5", "-3", "7"]
    words = [
        " - ",
        "-",
        " to ",
        "to",
        " and ",
        ", ",
        "\n",
        " seconds",
        "s",
        "starts at ",
        " and ends at ",
        "start ",
        "end ",
    ]
    words += ["<think>", "</think>", "<answer>", "</answer>", "[", "]", "frame ", "%", "between ", "from ", ".", " "]
    for _ in range(4000):
        text = "".join(rng.choice(times if rng.random() < 0.42 else words) for _ in range(rng.randint(1, 9)))
        assert read(text) == read_all(text), text
