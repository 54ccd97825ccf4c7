"""Kills at random moments, and a server with four slots, in short; `python reproduce/tell.py` does it at length."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fcntl", reason="no locks that die with their process")
SCRIPT = Path(__file__).parents[2] / "reproduce" / "tell.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "figure"),
    [
        (("--only", "kills", "--kills", "5", "--seed", "3"), "0 answered calls asked twice"),
        (("--only", "throughput", "--films", "8", "--seconds", "0.5"), "throughput"),
        (("--only", "memory"), "60 minutes, 240 events"),
    ],
)
def test_what_a_user_may_rely_on(words, figure):
    run = subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, timeout=900)
    assert run.returncode == 0 and figure in run.stdout and "0 faults" in run.stdout, run.stdout + run.stderr
