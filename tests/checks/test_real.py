"""Real files: the malformed segments that are known to be there, found and mended."""

from __future__ import annotations

from pathlib import Path

from fabula import io
from fabula.checks import examine, repair


def test_four_of_activitynets_training_segments(shared_data: Path) -> None:
    corpus, notes = io.read(shared_data / "anet_captions" / "train.json")
    counts = {f.check: len(f.places) for f in examine(corpus, (), notes).findings}
    assert (counts["reversed"], counts["zero-length"]) == (2, 2)
    assert counts["unsorted"] == 245
    assert not counts.keys() & {"negative", "normalised", "frames", "milliseconds", "indices", "hundredths"}
    mended, deeds = repair(corpus, {})
    assert mended.events == corpus.events - 2 - sum(d.deed == "drop-duplicate" for d in deeds)


def test_fifteen_of_timechats_events(shared_data: Path) -> None:
    corpus, _ = io.read(shared_data / "timechat_yc2_dvc" / "pred.json")
    refs, _ = io.read(shared_data / "timechat_yc2_dvc" / "gt.json")
    report = examine(corpus, [refs])
    counts = {f.check: len(f.places) for f in report.findings}
    assert counts["reversed"] + counts.get("zero-length", 0) == 15
    assert report.numbers["found"] == report.numbers["references"] == 415
    assert not counts.keys() & {"unknown-id", "missing-id", "normalised", "frames", "milliseconds", "indices"}


def test_real_annotations_are_in_seconds(shared_data: Path) -> None:
    for name, format in (
        ("youcook2/yc2_val_pdvc.json", None),
        ("youcook2_pss/yc2_my_test.json", "pss"),
        ("tasty/tasty_test_anet_format_v2.json", "tasty"),
        ("anet_preds_bmt/captioning_results_val_1_e26.json", None),
    ):
        corpus, _ = io.read(shared_data / name, format)
        found = {f.check for f in examine(corpus).findings}
        assert not found & {"normalised", "frames", "milliseconds", "indices", "hundredths"}, (name, found)
