"""Scores by type of query: each is what its queries alone would give."""

import json

import numpy as np
import pytest

import fabula
from fabula.report.table import plain_lines, rich_table
from tests.moment_toys import VIDEOS, lines

TYPES = ["v", "t", "vt", "v", "x", None]


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(3)
    queries, entries = [], []
    for i in range(60):
        start = float(rng.integers(0, 5))
        query = {"desc_id": i, "vid_name": str(rng.choice(list(VIDEOS))), "ts": [start, start + 4], "duration": 90.0}
        queries.append(query | ({} if TYPES[i % 6] is None else {"type": TYPES[i % 6]}))
        rows = [[int(rng.integers(2)), float(s), float(s) + 4, 0.5] for s in rng.integers(0, 5, 12)]
        entries.append({"desc_id": i, "predictions": rows})
    predictions = tmp_path / "p.json"
    predictions.write_text(json.dumps({"video2idx": VIDEOS, "VCMR": entries, "SVMR": entries, "VR": entries}))
    return predictions, queries, tmp_path


def test_each_type_is_scored_on_its_own(files):
    predictions, queries, folder = files
    result = fabula.score(predictions, lines(folder / "gt.jsonl", queries), protocol="tvr")
    assert list(result.scores) == ["VCMR", "SVMR", "VR"]
    for name, score in result.scores.items():
        assert list(score.by_type) == ["v", "t", "vt", "x"]
        for type, found in score.by_type.items():
            alone = lines(folder / "some.jsonl", [q for q in queries if q.get("type") == type])
            expected = fabula.score(predictions, alone, protocol="tvr", metrics=name)[name]
            assert found == {"queries": 20 if type == "v" else 10, **expected.values}
    assert result.to_dict()["scores"]["VR"]["by_type"]["v"]["queries"] == 20
    json.dumps(result.to_dict())


def test_types_are_shown(files):
    predictions, queries, folder = files
    result = fabula.score(predictions, lines(folder / "gt.jsonl", queries), protocol="tvr", metrics="VCMR(k=1/5)")
    shown = [line.split("\t")[:3] for line in plain_lines(result)]
    assert ["VCMR", "vt-r5@0.7", f"{result['VCMR'].by_type['vt']['r5@0.7'] * 100:.4f}"] in shown
    from rich.console import Console

    console = Console(width=300)
    with console.capture() as text:
        console.print(rich_table(result, "title"))
    assert "by type of query" in text.get()
    assert "v (20)" in text.get()


def test_without_types_nothing_is_said_of_them(files):
    predictions, queries, folder = files
    path = lines(folder / "gt.jsonl", [{k: v for k, v in q.items() if k != "type"} for q in queries])
    result = fabula.score(predictions, path, protocol="tvr", metrics="VR")
    assert "by_type" not in result.to_dict()["scores"]["VR"]
    assert len(list(plain_lines(result))) == 4


def test_real_types(shared_data):
    from fabula.core.notes import Notes
    from fabula.io import moments

    found = moments.read_queries([shared_data / "tvr" / "tvr_val_release.jsonl"], Notes())
    types = [q.type for q in found.values()]
    share = {t: round(100 * types.count(t) / len(types), 2) for t in ("v", "t", "vt")}
    assert share == {"v": 74.32, "t": 8.85, "vt": 16.83}  # as TVR's own sample of results says


def test_answers_that_name_no_video_are_said_where_the_video_is_to_be_found(tmp_path):
    refs = lines(tmp_path / "queries.jsonl", [{"id": 1, "video": "a", "windows": [[1, 2]]}])
    answers = lines(tmp_path / "answers.jsonl", [{"id": 1, "windows": [[1, 2]]}])
    for name in ("VCMR", "VR"):
        (warning,) = fabula.score(answers, refs, task="moments", metrics=name).warnings
        assert "1 rankings name no video and count as found in the right one" in warning
    assert not fabula.score(answers, refs, task="moments", metrics="SVMR").warnings
