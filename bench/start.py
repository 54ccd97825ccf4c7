"""How long the command line takes to begin, beside `python -c "import click"`: medians of processes run in turn.

    python bench/start.py [rounds]

Bytecode is kept in a folder of its own, as an installed package has it.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

MAIN = "from fabula.verbs.command_line import main; main()"
RUNS = {
    "import click": [sys.executable, "-c", "import click"],
    "fabula --version": [sys.executable, "-c", MAIN, "--version"],
    "fabula score --help": [sys.executable, "-c", MAIN, "score", "--help"],
}


def measure(rounds: int) -> dict[str, tuple[float, float]]:
    """Median seconds of each, on the clock and of the processor; the first round, which fills caches, is left out."""
    kept = tempfile.mkdtemp()
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPYCACHEPREFIX": kept}
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in RUNS}
    for n in range(rounds + 1):
        for name, command in RUNS.items():
            before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=env)
            clock, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
            if n:
                took[name].append((clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return {name: tuple(map(statistics.median, zip(*some, strict=True))) for name, some in took.items()}


if __name__ == "__main__":
    seconds = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    base = seconds["import click"]
    for name, (clock, cpu) in seconds.items():
        ratios = f"{clock / base[0]:.2f}×   processor {cpu * 1000:6.1f} ms   {cpu / base[1]:.2f}×"
        print(f"{name:<22} clock {clock * 1000:6.1f} ms   {ratios}")
