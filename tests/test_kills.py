"""A few commands killed at random moments; `make kills` does it at length."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fcntl", reason="no locks that die with their process")
TOOL = Path(__file__).parents[1] / "tools" / "kills.py"


@pytest.mark.slow
def test_nothing_is_half_written_or_left_by_a_kill():
    command = [sys.executable, str(TOOL), "--kills", "6", "--seed", "5", "--budget", "20"]
    for name in ("score-work", "score-rows"):
        command += ["--only", name]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0 and "0 faults" in run.stdout, run.stdout + run.stderr
