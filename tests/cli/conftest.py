"""What the tests of the command line share: it runs as a user runs it, in a folder of its own."""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from fabula.verbs.command_line import main

REFS = {
    "v_a": {"duration": 60, "timestamps": [[0, 10], [12, 30], [35, 58]], "sentences": ["one", "two", "three"]},
    "v_b": {"duration": 40, "timestamps": [[5, 20], [22, 40]], "sentences": ["four", "five"]},
}
PREDS = {
    "results": {
        "v_a": [{"sentence": "one", "timestamp": [0, 10]}, {"sentence": "three", "timestamp": [35, 58]}],
        "v_b": [{"sentence": "four", "timestamp": [5, 20]}],
    }
}


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def fabula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    """Runs `fabula …` in a folder that holds refs.json and preds.json."""
    (tmp_path / "refs.json").write_text(json.dumps(REFS))
    (tmp_path / "preds.json").write_text(json.dumps(PREDS))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["fabula", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Ran(code, *capfd.readouterr())

    return run
