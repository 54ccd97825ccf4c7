"""TimeChat's two files, and what is wrong with them when it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabula import io
from fabula.core.errors import InputError

TRUTH = {
    "annotations": [
        {
            "image_id": "kite.mp4",
            "duration": 30.5,
            "segments": [[0, 10], [12, 30]],
            "pure_cap": "let the kite rise. let it fall",
            "caption": "<time_token_0> <time_token_33> let it rise <time_token_39><time_token_99> let it fall",
            "asr_text": "wind",
        }
    ]
}


def test_ground_truth(put: Callable[..., Path]) -> None:
    corpus, notes = io.read(put(TRUTH))
    assert corpus.format == "timechat"
    assert corpus["kite.mp4"].captions == ["let the kite rise", "let it fall"]
    assert corpus["kite.mp4"].spans.tolist() == [[0, 10], [12, 30]]
    assert corpus["kite.mp4"].duration == 30.5
    assert notes.lines() == ["fields of videos that were not used: 'asr_text' (1)"]


def test_without_pure_cap_the_tokens_part_the_captions(put: Callable[..., Path]) -> None:
    entry = {k: v for k, v in TRUTH["annotations"][0].items() if k != "pure_cap"}
    corpus, _ = io.read(put({"annotations": [entry]}))
    assert corpus["kite.mp4"].captions == ["let it rise", "let it fall"]


def test_predictions(put: Callable[..., Path]) -> None:
    corpus, _ = io.read(put({"a.mp4": [{"timestamp": [9.0, 8.0], "caption": "odd"}], "b.mp4": []}))
    assert corpus.format == "timechat"
    assert [len(s) for s in corpus.values()] == [1, 0]
    assert corpus["a.mp4"].spans.tolist() == [[9, 8]]  # read as it stands


@pytest.mark.parametrize(
    ("document", "seen"),
    [
        ({"annotations": [TRUTH["annotations"][0] | {"pure_cap": "one"}]}, "2 segments but 1 captions"),
        ({"annotations": [{"segments": []}]}, "the key 'image_id' is missing"),
        ({"a.mp4": [{"timestamp": [1]}]}, "expected [start, end], saw 1 entries"),
        ({"a.mp4": [{"timestamp": [1, 2], "caption": 5}]}, "expected text, saw the number 5"),
    ],
)
def test_refused(document: object, seen: str, put: Callable[..., Path]) -> None:
    with pytest.raises(InputError) as caught:
        io.read(put(document), "timechat")
    assert seen in str(caught.value)


def test_results_taken_out_of_a_submission_are_read_and_said(tmp_path):
    path = tmp_path / "preds.json"
    path.write_text(
        '{"v": [{"timestamp": [0, 9], "sentence": "a man runs"}, {"timestamp": [9, 12], "sentence": "it ends"}]}'
    )
    corpus, notes = io.read(path)
    assert [e.caption for e in corpus["v"].events] == ["a man runs", "it ends"]
    assert any("2 events call their caption sentence" in line for line in notes.lines())
