"""Real files of every data set that stands beside the project: all are read, and counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula import io
from fabula.core.errors import InputError
from fabula.core.notes import Notes
from fabula.data import ids, segments

# file, format, videos, events
FILES = [
    ("anet_captions/train.json", None, 10_009, 37_421),
    ("anet_captions/val_1.json", None, 4_917, 17_505),
    ("anet_captions/val_2.json", None, 4_885, 17_031),
    ("anet_captions/val_1_no_missings.json", None, 4_483, 15_921),
    ("anet_captions/val_2_no_missings.json", None, 4_453, 15_505),
    ("anet_captions/densevid_sample_submission.json", None, 1, 2),
    ("anet_captions/densevid_tiny_sample.json", None, 10, 30),
    ("anet_entities_para/anet_entities_val_1.json", None, 2_460, 8_774),
    ("anet_entities_para/anet_entities_val_2.json", None, 2_441, 8_595),
    ("anet_entities_para/anet_entities_test_1.json", None, 2_457, 8_731),
    ("anet_entities_para/anet_entities_test_2.json", None, 2_444, 8_436),
    ("anet_preds_bmt/captioning_results_val_1_e26.json", None, 4_483, 15_921),
    ("anet_preds_bmt/captioning_results_val_2_e26.json", None, 4_453, 15_505),
    ("timechat_yc2_dvc/gt_anet_format.json", None, 415, 3_187),
    ("timechat_yc2_dvc/pred_anet_format.json", None, 415, 3_210),
    ("timechat_yc2_dvc/gt.json", None, 415, 3_187),
    ("timechat_yc2_dvc/pred.json", None, 415, 3_210),
    ("youcook2/yc2_train.json", None, 1_333, 10_337),
    ("youcook2/yc2_val_pdvc.json", None, 457, 3_492),
    ("youcook2/youcookii_annotations_trainval.json", None, 1_790, 13_829),
    ("youcook2/youcookii_annotations_trainval.json", "youcook2:training", 1_333, 10_337),
    ("youcook2/youcookii_annotations_trainval.json", "youcook2:validation", 457, 3_492),
    ("youcook2_pss/yc2_my_train.json", "pss", 840, 6_497),
    ("youcook2_pss/yc2_my_val.json", "pss", 183, 1_386),
    ("youcook2_pss/yc2_my_test.json", "pss", 180, 1_444),
    ("tasty/tasty_val_anet_format_v2.json", "tasty", 400, 3_545),
    ("tasty/tasty_test_anet_format_v2.json", "tasty", 400, 3_383),
]
NOTED = {
    "gt.json": {"fields of videos that were not used: 'seg_prompt' (415), 'asr_text' (415), 'seg_text' (415)"},
    "youcookii_annotations_trainval.json": {
        "fields of videos that were not used: 'recipe_type' (1790), 'video_url' (1790)",
        "videos of 2 subsets were read (1333 'training', 457 'validation'); 'youcook2:SUBSET' reads one of them",
    },
    "youcookii_annotations_trainval.json youcook2:training": {
        "fields of videos that were not used: 'recipe_type' (1333), 'video_url' (1333)"
    },
    "youcookii_annotations_trainval.json youcook2:validation": {
        "fields of videos that were not used: 'recipe_type' (457), 'video_url' (457)"
    },
    "tasty_val_anet_format_v2.json tasty": {"12 videos tell their steps out of time; file order is kept"},
    "tasty_test_anet_format_v2.json tasty": {"7 videos tell their steps out of time; file order is kept"},
}


@pytest.mark.parametrize(("name", "format", "videos", "events"), FILES)
def test_every_file_is_read(name: str, format: str | None, videos: int, events: int, shared_data: Path) -> None:
    corpus, notes = io.read(shared_data / name, format)
    assert (len(corpus), corpus.events) == (videos, events)
    known = f"{Path(name).name} {format}" if format else Path(name).name
    assert {line.split(": 'v_")[0] for line in notes.lines()} == NOTED.get(known, set())
    assert corpus.captioned


@pytest.mark.parametrize(
    "name",
    [
        "anet_entities_para/anet_entities_val_1.json",
        "timechat_yc2_dvc/pred_anet_format.json",
        "tasty/tasty_test_anet_format_v2.json",
        "youcook2/youcookii_annotations_trainval.json",
    ],
)
def test_a_file_comes_back_equal_from_fabulas_own_lines(name: str, shared_data: Path, tmp_path: Path) -> None:
    corpus, _ = io.read(shared_data / name)
    io.write(corpus, tmp_path / "out.jsonl.gz", "fabula")
    assert io.read(tmp_path / "out.jsonl.gz")[0].stories == corpus.stories


def test_four_training_segments_are_malformed(shared_data: Path) -> None:
    corpus, _ = io.read(shared_data / "anet_captions" / "train.json")
    assert sum(segments.find_fault(e.segment) is not None for s in corpus.values() for e in s.events) == 4
    with pytest.raises(InputError, match=r"train\.json: video 'v_.*': event \d+: a .* segment .*--repair swap"):
        segments.check_references(corpus, Notes())
    notes = Notes()
    assert segments.check_references(corpus, notes, ["drop"]).events == 37_417
    assert notes.lines()[0].startswith("4 reference events were repaired (drop")


def test_fifteen_predicted_events_match_nothing(shared_data: Path) -> None:
    corpus, notes = io.read(shared_data / "timechat_yc2_dvc" / "pred_anet_format.json")
    segments.check_predictions(corpus, notes)
    assert notes.lines()[0].startswith("15 predicted events are reversed, zero-length or negative")


@pytest.mark.parametrize("side", ["pred", "gt"])
def test_timechats_own_files_are_the_same_stories(side: str, shared_data: Path) -> None:
    own, _ = io.read(shared_data / "timechat_yc2_dvc" / f"{side}.json")
    other, _ = io.read(shared_data / "timechat_yc2_dvc" / f"{side}_anet_format.json")
    assert own.format == "timechat"
    assert {v.removesuffix(".mp4"): s.events for v, s in own.items()} == {v: s.events for v, s in other.items()}


def test_ids_with_and_without_the_prefix_meet(shared_data: Path) -> None:
    predictions, _ = io.read(shared_data / "timechat_yc2_dvc" / "pred_anet_format.json")
    references, _ = io.read(shared_data / "youcook2" / "yc2_val_pdvc.json")
    notes = Notes()
    met = ids.reconcile(predictions, references, notes)
    assert set(met) <= set(references)
    assert notes.lines()[0].startswith("415 ")


def test_the_two_forms_of_youcook2_agree(shared_data: Path) -> None:
    own, _ = io.read(shared_data / "youcook2" / "youcookii_annotations_trainval.json", "youcook2:validation")
    pdvc, _ = io.read(shared_data / "youcook2" / "yc2_val_pdvc.json")
    met = ids.reconcile(own, pdvc, Notes())
    assert {v: s.spans.tolist() for v, s in met.items()} == {v: s.spans.tolist() for v, s in pdvc.items()}
