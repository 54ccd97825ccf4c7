"""Real annotations and predictions of moments: published numbers, and the counts that data sheets give."""

import json

import numpy as np
import pytest

import fabula
from fabula.core.notes import Notes
from fabula.data.moments import Ranking, VideoNumbers
from fabula.io import moments
from tests.moment_toys import iou


def percent(values) -> dict[str, float]:
    return {k: float(f"{100 * v:.2f}") for k, v in values.items()}


def test_qvhighlights_to_the_published_digit(shared_data):
    folder = shared_data / "qvhighlights"
    raw = json.loads((folder / "sample_val_preds_metrics_raw.json").read_text())
    result = fabula.score(
        folder / "sample_val_preds.jsonl", folder / "highlight_val_release.jsonl", protocol="qvhighlights"
    )
    r1, ap, hl, hit = (percent(result[m].values) for m in ("MR_R1", "MR_mAP", "HL_mAP", "HL_Hit1"))
    brief = {
        "MR-full-R1@0.5": r1["r1@0.5"],
        "MR-full-R1@0.7": r1["r1@0.7"],
        "MR-full-mAP": ap["map"],
        "MR-full-mAP@0.5": ap["map@0.5"],
        "MR-full-mAP@0.75": ap["map@0.75"],
        "MR-long-mAP": ap["long"],
        "MR-middle-mAP": ap["middle"],
        "MR-short-mAP": ap["short"],
    }
    for theirs, ours in (("Fair", "fair"), ("Good", "good"), ("VeryGood", "verygood")):
        brief |= {f"HL-min-{theirs}-mAP": hl[ours], f"HL-min-{theirs}-Hit1": hit[ours]}
    assert brief == raw["brief"]
    for length in ("full", "short", "middle", "long"):
        rows, prefix, mean = (
            result.rows,
            "" if length == "full" else f"{length}-",
            "map" if length == "full" else length,
        )
        for tau, value in raw[length]["MR-R1"].items():
            column, n = rows["MR_R1"][f"{prefix}r1@{tau}"], rows["MR_R1"][f"n {length}"]
            assert float(f"{100 * column.sum() / n.sum():.2f}") == value, (length, tau)
        for tau, value in raw[length]["MR-mAP"].items():
            column = rows["MR_mAP"][mean if tau == "average" else f"{mean}@{tau}"]
            assert float(f"{100 * column.sum() / rows['MR_mAP'][f'n {length}'].sum():.2f}") == value, (length, tau)


def test_emptied_lists_raise_the_published_map(shared_data, tmp_path):
    """What the spec measured with the published program: 32.20 becomes 32.82."""
    folder = shared_data / "qvhighlights"
    refs, path = folder / "highlight_val_release.jsonl", tmp_path / "p.jsonl"
    entries = [json.loads(line) for line in (folder / "sample_val_preds.jsonl").read_text().splitlines()]
    emptied = [{"qid": e["qid"], "pred_relevant_windows": e["pred_relevant_windows"]} for e in entries]
    for entry in emptied[1::2]:
        entry["pred_relevant_windows"] = []
    path.write_text("".join(json.dumps(e) + "\n" for e in emptied))
    result = fabula.score(path, refs, protocol="qvhighlights", metrics="MR_mAP,MR_mAP(empty=zero)")
    theirs, ours = (s.value for s in result.scores.values())
    assert round(100 * theirs, 2) == 32.82
    assert ours == pytest.approx(theirs / 2)


@pytest.mark.parametrize(
    ("file", "queries", "videos"),
    [
        ("tvr/tvr_val_release.jsonl", 10895, 2179),
        ("verified_fig/charades_fig_test.jsonl", 3720, 1334),
        ("verified_fig/didemo_fig_val.jsonl", 4175, 1064),
        ("qvhighlights/highlight_val_release.jsonl", 1550, 1519),
        ("didemo/val_data.json", 4180, 1065),
        ("timechat_charades_tvg/gt.json", 3720, 1334),
    ],
)
def test_annotations(shared_data, file, queries, videos):
    found = moments.read_queries([shared_data / file], Notes())
    assert len(found) == queries
    assert len({q.video for q in found.values()}) == pytest.approx(videos, abs=40)


def test_charades_has_reversed_windows(shared_data):
    folder = shared_data / "charades_sta"
    notes = Notes()
    found = [
        moments.read_queries([folder / f"charades_sta_{s}.txt"], notes, repair=["swap"]) for s in ("train", "test")
    ]
    assert [len(f) for f in found] == [12408, 3720]
    assert notes.counts["{n} reference windows were repaired (swap: exchange the ends of a reversed segment)"] == 4


def test_timechats_answers(shared_data):
    folder = shared_data / "timechat_charades_tvg"
    result = fabula.score(folder / "pred.json", folder / "gt.json", protocol="timechat-tvg")
    gt = {a["id"]: a["timestamp"] for a in json.loads((folder / "gt.json").read_text())["annotations"]}
    pred = {int(i): a["timestamp"] for i, a in json.loads((folder / "pred.json").read_text()).items()}
    ious = [iou(p[0], gt[i]) if p else -1.0 for i, p in pred.items()]
    for tau in (0.3, 0.5, 0.7):
        assert result["Grounding"].values[f"r1@{tau}"] == sum(x >= tau for x in ious) / len(pred)
    assert result["Grounding"].values["miou"] == pytest.approx(sum(max(x, 0) for x in ious) / len(pred))
    assert (result.counts["missing"], result.counts["unparsed"]) == (3220, 280)


def test_the_answers_as_predictions_are_all_found(shared_data, tmp_path):
    gt = shared_data / "tvr" / "tvr_val_release.jsonl"
    queries, numbers = moments.read_queries([gt], Notes()), VideoNumbers()
    rankings = (
        Ranking(q.id, numbers_of(q.windows), None, numbers_of(numbers[q.video]).astype(int)) for q in queries.values()
    )
    moments.write_rankings(rankings, numbers, tmp_path / "p.jsonl")
    result = fabula.score(tmp_path / "p.jsonl", gt, task="moments")
    assert {v for s in result.scores.values() for v in s.values.values()} == {1.0}


def numbers_of(values):
    return np.atleast_1d(np.array(values, dtype=np.float64))
