"""Devices without end or without room, as any verb may be pointed at them, under a bound on memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

MOST = 3 << 30  # bytes of address space
REFS = {"v": {"duration": 9.0, "timestamps": [[0, 5]], "sentences": ["a dog"]}}
SAID = {"results": {"v": [{"timestamp": [0, 5], "sentence": "a dog"}]}}

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such devices here")


def bound() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    resource.setrlimit(resource.RLIMIT_CPU, (30, 30))


def run(folder: Path, *typed: str) -> str:
    """The one line that a command ends with."""
    (folder / "refs.json").write_text(json.dumps(REFS))
    (folder / "said.json").write_text(json.dumps(SAID))
    start = [sys.executable, "-m", "fabula", *typed]
    ran = subprocess.run(start, cwd=folder, capture_output=True, text=True, preexec_fn=bound, timeout=120)
    assert ran.returncode == 2, (ran.returncode, ran.stderr[-600:])
    (line,) = [line for line in ran.stderr.splitlines() if not line.startswith("fabula: warning")]
    assert line.startswith("fabula: error: ") and len(line) <= 500
    assert sorted(p.name for p in folder.iterdir()) == ["refs.json", "said.json"]
    return line


@pytest.mark.parametrize(
    "typed",
    [
        "score DEVICE --refs refs.json",
        "score said.json --refs DEVICE --task moments",
        "score DEVICE --refs DEVICE --task regions",
        "lint DEVICE",
        "parse DEVICE -o out.jsonl",
    ],
)
def test_a_verb_refuses_a_file_without_end(typed: str, tmp_path: Path) -> None:
    assert "/dev/zero" in run(tmp_path, *typed.replace("DEVICE", "/dev/zero").split())


@pytest.mark.parametrize(
    "typed",
    [
        "score said.json --refs refs.json -m SODA_d --json /dev/full",
        "score said.json --refs refs.json -m SODA_d --html /dev/full",
        "convert said.json /dev/full --to pdvc",
    ],
)
def test_a_verb_refuses_to_write_where_there_is_no_room(typed: str, tmp_path: Path) -> None:
    assert "/dev/full" in run(tmp_path, *typed.split())
