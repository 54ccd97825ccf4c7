"""tools/affected.py: which tests a change takes, in a small repository of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
SOURCE = """LIMIT = 3


def first(x):
    return x


class Pair:
    @property
    def second(self):
        return 2
"""


@pytest.fixture
def affected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, with a root that holds src/fabula/core/pair.py, its user, two tests and what they call."""
    monkeypatch.syspath_prepend(TOOLS)
    import affected as tool

    core = tmp_path / "src" / "fabula" / "core"
    core.mkdir(parents=True)
    (tmp_path / "tests" / "core").mkdir(parents=True)
    (core / "pair.py").write_text(SOURCE)
    (core / "user.py").write_text("from fabula.core.pair import LIMIT\n\n\ndef use():\n    return LIMIT\n")
    (tmp_path / "tests" / "core" / "test_pair.py").write_text("def test_first(): ...\n")
    (tmp_path / "notes.md").write_text("one\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "start")):
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True)
    functions = ["core/pair.py:4:first", "core/pair.py:9:second", "core/user.py:4:use"]
    tests = {"tests/a.py::first": [0.5, [0]], "tests/a.py::second": [2, [1]], "tests/a.py::use": [1, [2]]}
    (tmp_path / "calls.json").write_text(json.dumps({"functions": functions, "tests": tests}))
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "SOURCE", tmp_path / "src" / "fabula")
    monkeypatch.setattr(tool, "CALLS", tmp_path / "calls.json")
    return tool


def of(tool: ModuleType) -> tuple[set[str], set[str]]:
    return tool.affected(tool.changes("HEAD"), tool.Noted())


def replace(tool: ModuleType, old: str, new: str, name: str = "src/fabula/core/pair.py") -> None:
    path = tool.ROOT / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_nothing_changed(affected: ModuleType) -> None:
    assert of(affected) == (set(), set())


@pytest.mark.parametrize(
    ("old", "new", "tests"),
    [
        ("return x", "return x + 1", {"first"}),
        ("return 2", "return 3", {"second"}),
        ("@property", "@staticmethod", {"second"}),
        ("LIMIT = 3", "LIMIT = 4", {"first", "second", "use"}),  # of its file, and of the file that imports it
        ("LIMIT = 3", "# a remark\n\n\nLIMIT = 3", set()),
        ("    return x\n", "    y = x\n    return y\n", {"first"}),
    ],
)
def test_what_a_line_takes(affected: ModuleType, old: str, new: str, tests: set[str]) -> None:
    replace(affected, old, new)
    assert of(affected) == ({f"tests/a.py::{t}" for t in tests}, set())


def test_a_new_file_takes_the_folder(affected: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    (affected.SOURCE / "core" / "new.py").write_text("def f(): ...\n")
    assert of(affected) == (set(), {"tests/core"})
    assert capsys.readouterr().out == (
        "src/fabula/core/new.py: no test is noted that calls what changed; tests/core instead\n"
    )


def test_a_file_that_went_takes_the_tests_that_called_it(affected: ModuleType) -> None:
    (affected.SOURCE / "core" / "user.py").unlink()
    assert of(affected) == ({"tests/a.py::use"}, set())


def test_changed_tests_and_pages(affected: ModuleType) -> None:
    replace(affected, "...", "pass", "tests/core/test_pair.py")
    (affected.ROOT / "tests" / "core" / "words.json").write_text("{}")
    replace(affected, "one", "two", "notes.md")
    assert of(affected) == (set(), {"tests/core/test_pair.py", "tests/core", *affected.DOCS})


def test_the_fastest_first_within_the_budget(affected: ModuleType) -> None:
    took = {"a": 3.0, "b": 1.0, "c": 2.0}
    assert affected.within(3.5, took, took) == ["b", "c"]
    assert affected.within(0.1, took, took) == ["b"]


@pytest.mark.slow
def test_what_tests_call_is_noted_by_a_worker(tmp_path: Path) -> None:
    """The real thing, for a few small tests of the house."""
    pytest.importorskip("xdist", reason="a worker needs pytest-xdist")
    test = "tests/core/test_patterns.py"
    command = [sys.executable, str(TOOLS / "affected.py"), "--workers", "1", "--calls", "calls.json", "--measure", test]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    known = json.loads((tmp_path / "calls.json").read_text())
    assert known["tests"] and all(t.startswith(test + "::") for t in known["tests"])
    assert any(f.startswith("core/patterns.py:") for f in known["functions"])
