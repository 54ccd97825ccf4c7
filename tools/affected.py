"""The tests whose code changed: quick enough to run at every step.

    python tools/affected.py                       what changed since the last commit, uncommitted changes included
    python tools/affected.py --since main          since the branch left main
    python tools/affected.py --list                which tests these are; nothing is run
    python tools/affected.py --budget 300          300 seconds of tests instead of 60, the fastest first
    python tools/affected.py --measure [TESTS]     run the tests once and note which functions each of them calls

What calls what is noted in .cache/mutants/calls.json, the file of tools/mutants.py (--measure: a run of all tests,
about three times as long as `make test`). A changed function takes the tests that call it; a changed line outside of
functions those that call anything of its file or of a file that imports it; a changed test file all its tests. Where
nothing is noted, the tests of the folder of the same name are taken, and this is printed.

Two calls are not noted: those of another process that a test starts, and those of a fixture that tests share (they
count for the first of them). `make test` stays the word on whether a change is right.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import mutants

ROOT, SOURCE, CALLS = mutants.ROOT, mutants.SOURCE, mutants.MEASURED
DOCS = ["tests/test_docs.py", "tests/test_tutorial.py"]
KERNELS = ["tests/test_kernels.py", "tests/match", "tests/text"]
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def changes(since: str) -> dict[str, list[range]]:
    """Lines that changed, of each file, as they are numbered now; new files whole; [] where a file went."""
    found: dict[str, list[range]] = {}
    name = ""
    base = git("merge-base", since, "HEAD").strip()
    for line in git("diff", "--unified=0", "--no-renames", "--no-ext-diff", base, "--").splitlines():
        if line.startswith(("+++ ", "--- ")) and line[4:] != "/dev/null":
            name = line[6:].strip().strip('"')
            found.setdefault(name, [])
        elif hunk := HUNK.match(line):
            first, count = int(hunk[3]), int(hunk[4] or 1)
            found[name].append(range(first, first + max(count, 1)))  # after a deletion: the line before it
    for name in git("ls-files", "--others", "--exclude-standard").splitlines():
        found[name] = [range(1, 1 << 30)]
    return found


def functions_at(source: str, changed: list[range]) -> tuple[set[str], bool]:
    """Names of the functions around these lines, and whether a line stands outside of them all."""
    tree = ast.parse(source)
    lines = source.splitlines()
    spans = [
        (min([n.lineno, *(d.lineno for d in n.decorator_list)]), n.end_lineno or n.lineno, n.name)
        for n in ast.walk(tree)
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    names, outside = set(), False
    for number in sorted({n for r in changed for n in range(r.start, min(r.stop, len(lines) + 1))}):
        around = {name for first, last, name in spans if first <= number <= last}
        names |= around
        text = lines[number - 1].strip()
        outside |= not around and bool(text) and not text.startswith("#")
    return names, outside


def importers(file: str) -> Iterator[str]:
    """Files under src/fabula that import this one."""
    module = ["fabula", *Path(file).with_suffix("").parts]
    module = module[:-1] if module[-1] == "__init__" else module
    word = re.compile(
        rf"\b{re.escape('.'.join(module))}\b|\bfrom {re.escape('.'.join(module[:-1]))} import .*\b{module[-1]}\b"
    )
    for path in SOURCE.rglob("*.py"):
        if word.search(path.read_text(encoding="utf-8")):
            yield path.relative_to(SOURCE).as_posix()


class Noted:
    """Which tests call what, by file and name: line numbers move with every change."""

    def __init__(self) -> None:
        known = json.loads(CALLS.read_text()) if CALLS.exists() else {"functions": [], "tests": {}}
        self.took: dict[str, float] = {test: seconds for test, (seconds, _) in known["tests"].items()}
        self.by_name: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.by_file: dict[str, set[str]] = defaultdict(set)
        split = [tuple(f.split(":", 2)) for f in known["functions"]]
        for test, (_, calls) in known["tests"].items():
            for number in calls:
                file, _, name = split[number]
                self.by_name[file, name].add(test)
                self.by_file[file].add(test)

    def of(self, file: str, changed: list[range]) -> set[str] | None:
        """Tests of the changed lines of a file under src/fabula; None where remarks and empty lines alone changed."""
        path = SOURCE / file
        if not path.exists():
            return set(self.by_file[file])
        names, outside = functions_at(path.read_text(encoding="utf-8"), changed)
        if not names and not outside:
            return None
        found = {test for name in names for test in self.by_name[file, name]}
        if outside:
            found |= self.by_file[file].union(*(self.by_file[other] for other in importers(file)))
        return found


def folder_of(file: str) -> list[str]:
    """The tests that stand where this file of src/fabula stands."""
    parts = Path(file).parent.parts
    for depth in range(len(parts), 0, -1):
        if (ROOT / "tests" / Path(*parts[:depth])).is_dir():
            return ["tests/" + "/".join(parts[:depth])]
    return [p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "tests").glob("test_*.py"))]


def affected(changed: dict[str, list[range]], noted: Noted) -> tuple[set[str], set[str]]:
    """Tests by id, and files and folders of tests that are run whole."""
    tests: set[str] = set()
    whole: set[str] = set()
    for name, lines in changed.items():
        inner = name.removeprefix("src/fabula/")
        if inner == name:
            whole.update(beside(name))
        elif name.endswith((".cpp", ".hpp")):
            whole.update(KERNELS)
        elif not name.endswith(".py"):
            whole.update(folder_of(inner))
        elif found := noted.of(inner, lines):
            tests |= found
        elif found is not None:
            place = folder_of(inner)
            print(f"{name}: no test is noted that calls what changed; {', '.join(place)} instead")
            whole.update(place)
    return tests, whole


def beside(name: str) -> list[str]:
    """Tests of a file that is not under src/fabula."""
    path = Path(name)
    if path.parts[0] == "tests":
        if path.name.startswith("test_") and path.suffix == ".py":
            return [name] if (ROOT / name).exists() else []
        return [path.parent.as_posix()] if path.parent != Path("tests") else []
    if path.suffix == ".md" or path.parts[0] == "docs":
        return DOCS
    return []


def within(budget: float, tests: Iterable[str], took: dict[str, float]) -> list[str]:
    taken, spent = [], 0.0
    for test in sorted(tests, key=lambda t: (took.get(t, 0.0), t)):
        spent += took.get(test, 0.0)
        if taken and spent > budget:
            break
        taken.append(test)
    return taken


def run(tests: list[str], whole: list[str], workers: int) -> int:
    import pytest

    files = sorted({t.partition("::")[0] for t in tests} - set(whole))
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "tests.json"
        listed.write_text(json.dumps({"tests": tests, "whole": whole}))
        spread = ["--numprocesses", str(workers), "--dist", "worksteal"] if len(files) + len(whole) > 3 else []
        chosen = [*whole, *(f for f in files if (ROOT / f).exists())]
        ended = int(pytest.main(["-q", *spread, "-p", "affected", "--affected", str(listed), *chosen]))
    return 0 if ended == 5 else ended  # 5: the tests that were noted are gone


def measure(tests: list[str], workers: int) -> None:
    import pytest

    CALLS.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CALLS.parent) as folder:
        spread = ["--numprocesses", str(workers), "--dist", "worksteal"]
        pytest.main([*mutants.OPTIONS, *spread, "-p", "affected", "--note-calls", folder, *(tests or ["tests"])])
        noted = mutants.Calls()
        for part in sorted(Path(folder).glob("*.json")):
            calls, took, bad = json.loads(part.read_text())
            noted.calls |= calls
            noted.took |= took
            noted.bad |= set(bad)
    if CALLS.exists() and tests:
        noted.add_known(tests)
    noted.save()
    print(f"{len(noted.calls)} tests noted, {len(noted.bad)} of them failed or were skipped")


# ── as a plugin of pytest, in every worker ──────────────────────────────────────────────────────────────────────────


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--affected", metavar="LIST", help="run the tests of this file alone")
    parser.addoption("--note-calls", metavar="FOLDER", help="write into it which functions each test calls")


def pytest_configure(config: Any) -> None:
    if listed := config.getoption("--affected"):
        config.pluginmanager.register(Chosen(**json.loads(Path(listed).read_text())))
    folder = config.getoption("--note-calls")
    if folder and hasattr(config, "workerinput"):  # in the workers, not in the process that starts them
        config.pluginmanager.register(Parts(Path(folder)))


class Chosen:
    """These tests, and those of files and folders that are run whole."""

    def __init__(self, tests: list[str], whole: list[str]) -> None:
        self.tests = set(tests)
        self.whole = tuple(f"{place}{'::' if place.endswith('.py') else '/'}" for place in whole)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [i for i in items if i.nodeid in self.tests or i.nodeid.startswith(self.whole)]


class Parts(mutants.Calls):
    """What one worker notes."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def pytest_sessionfinish(self) -> None:
        part = self.folder / f"{os.environ['PYTEST_XDIST_WORKER']}.json"
        part.write_text(json.dumps([self.calls, self.took, sorted(self.bad)]))


def main() -> int:
    global CALLS
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--since", default="HEAD", metavar="REF", help="a commit or branch (HEAD)")
    options.add_argument("--list", action="store_true", help="print the tests, run nothing")
    options.add_argument("--budget", type=float, default=60.0, help="seconds of tests, as measured (60)")
    options.add_argument("--workers", type=int, default=2, help="processes (2)")
    options.add_argument("--measure", nargs="*", metavar="TESTS", help="note anew what tests call: all, or these")
    options.add_argument("--calls", type=Path, default=CALLS, help="where this is noted (.cache/mutants/calls.json)")
    asked = options.parse_args()
    CALLS = mutants.MEASURED = asked.calls.resolve()
    os.chdir(ROOT)
    if asked.measure is not None:
        measure(asked.measure, asked.workers)
        return 0
    if not CALLS.exists():
        print("nothing is noted yet (ARGS=--measure): the tests of the same folder are taken")
    changed, noted = changes(asked.since), Noted()
    tests, whole = affected(changed, noted)
    some = within(asked.budget, tests, noted.took)
    print(f"{len(changed)} files changed since {asked.since}: {len(some)} tests and {sorted(whole) or 'no whole file'}")
    if len(some) < len(tests):
        left = sum(noted.took[t] for t in tests) - sum(noted.took[t] for t in some)
        print(f"{len(tests) - len(some)} more tests call what changed and take {left:.0f} s: left out by --budget")
    if asked.list:
        print("\n".join([*sorted(whole), *some]))
        return 0
    return run(some, sorted(whole), asked.workers) if some or whole else 0


if __name__ == "__main__":
    sys.exit(main())
