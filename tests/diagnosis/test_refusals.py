"""Does refusing pay? Under means over what can be read it does, by the share that was refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fabula
from fabula.core.errors import SpecError
from tests.toys import corpus

STORIES = corpus({f"v{i}": [(0, 10, "a man opens the gate"), (10, 20, "he throws the kite")] for i in range(8)})


def test_refusing_pays_where_means_are_over_the_readable() -> None:
    names = ["DVC_METEOR", "DVC_METEOR(missing=drop)", "PRF@0.5", "METEOR(agg=mean)", "METEOR(missing=drop,agg=mean)"]
    seen = fabula.stress(names, STORIES, ways=("refuse",), resamples=50)
    found = {name: cells["refuse"].ratio for name, cells in seen.cells.items() if cells["refuse"]}
    assert list(found.values()) == pytest.approx([1, 2, 1, 1, 2])  # half is refused, wrong answers have 0


def put(tmp_path: Path, records: list[dict[str, object]]) -> Path:
    file = tmp_path / "records.json"
    named = [{"source": "s", "idx": i, "video": f"v{i}", **record} for i, record in enumerate(records)]
    file.write_text(json.dumps(named))
    return file


def test_refusing_queries(tmp_path: Path) -> None:
    file = put(tmp_path, [{"task": "evs", "tgt": [[0, 10], [20, 30]]}] * 6)
    seen = fabula.stress(["Seconds", "Seconds(unread=drop)"], file, ways=("refuse",), resamples=50)
    assert [cells["refuse"].ratio for cells in seen.cells.values() if cells["refuse"]] == pytest.approx([1, 2])
    with pytest.raises(SpecError, match="one perturbation: --ways refuse"):
        fabula.stress(["Seconds"], file, ways=("shuffle",))
    with pytest.raises(SpecError, match="no queries are bundled"):
        fabula.stress(["Seconds"])


def test_the_order_of_options_moves_a_letter_that_is_a_word(tmp_path: Path) -> None:
    options = ["a cat sleeps", "the dog barks", "rain falls", "one car goes"]
    file = put(tmp_path, [{"task": "rvq", "o": options, "p": 0}] * 12)
    seen = fabula.stress(["NearestChoice", "Choice"], file, ways=("reordered",), resamples=50)
    nearest, ours = (cells["reordered"].ratio for cells in seen.cells.values() if cells["reordered"])
    assert nearest < 0.6 and ours == 1  # 'a cat sleeps' is option A there, wherever it stands
