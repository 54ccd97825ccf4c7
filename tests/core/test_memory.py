"""How much memory is left: the machine's, the cgroups', the process's own limit; the least of them counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fabula.core import memory

MB = 1 << 20


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of files with 8,000 MB left, and no limit."""
    monkeypatch.setattr(memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "limit_bytes", lambda: iter(()))
    write(tmp_path / "proc" / "meminfo", f"MemTotal: 9 kB\nMemAvailable: {8000 << 10} kB\n")
    write(tmp_path / "proc" / "self" / "cgroup", "4:memory:/a/b\n1:cpu:/\n0::/a\n")
    return tmp_path / "cgroup"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def group(folder: Path, names: tuple[str, str, str], limit: str, used: int, cached: int) -> None:
    write(folder / names[0], f"{limit}\n")
    write(folder / names[1], f"{used}\n")
    write(folder / "memory.stat", f"anon 1\n{names[2]} {cached}\n")


FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
SECOND = ("memory.max", "memory.current", "inactive_file")


def test_without_limits_it_is_what_the_machine_has_left(machine: Path) -> None:
    assert memory.available() == 8000 * MB


def test_a_cgroup_of_the_first_kind_counts_with_its_cached_files(machine: Path) -> None:
    group(machine / "memory" / "a" / "b", FIRST, str(500 * MB), 300 * MB, 50 * MB)
    assert memory.available() == 250 * MB


def test_a_cgroup_of_the_second_kind_counts_and_so_do_those_above(machine: Path) -> None:
    group(machine / "a", SECOND, "max", 300 * MB, 0)
    assert memory.available() == 8000 * MB
    group(machine, SECOND, str(700 * MB), 300 * MB, 0)
    assert memory.available() == 400 * MB


def test_a_group_that_is_over_its_limit_leaves_nothing(machine: Path) -> None:
    group(machine, SECOND, str(MB), 3 * MB, 0)
    assert memory.available() == 0


def test_a_system_that_says_nothing_still_gets_a_number(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "PROC", machine / "nowhere")
    assert memory.available() > 0


def test_the_limit_of_the_address_space_counts() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "from fabula.core.memory import available; print(available())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 2 << 30
