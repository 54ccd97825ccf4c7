"""Some behaviours of a hostile endpoint against the verbs, each in a process; tools/hostile.py tries them all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")
pytest.importorskip("resource", reason="no limits of memory")
TOOL = Path(__file__).parents[2] / "tools" / "hostile.py"
TRIED = "bomb,bomb-twice,chat-finish-key,many-objects,echo-400,models-meta-list,id-line,content-small-lines,state-list"


@pytest.mark.slow
def test_the_verbs_stand_a_hostile_endpoint():
    """What hangs is in test_wire.py: the time limit is wide, for a machine may be busy."""
    command = [sys.executable, str(TOOL), "--only", TRIED, "--timeout", "40"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0 and "0 faults" in run.stdout, run.stdout + run.stderr
