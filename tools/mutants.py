"""Mutation run: small faults are put into the source one at a time, and the tests must notice each of them.

    python tools/mutants.py                            170 mutants over eight rooms
    python tools/mutants.py --seed 7 --number 300      others, more
    python tools/mutants.py --rooms stats,match        of these rooms alone
    python tools/mutants.py --only metrics/stories     of files whose path holds this
    python tools/mutants.py --list                     which mutants there would be
    python tools/mutants.py --measure [TESTS]          run the tests once, note what each of them calls
    python tools/mutants.py --resume                   go on with a run that was stopped
    python tools/mutants.py --again                    after new tests: what survived is run again

A mutant is killed when a test fails or takes too long. Only tests that call the mutated function are run, the fastest
first; for code that runs at import, those that call anything of its file and those of ROOMS. What calls what is
measured (--measure, and by itself when nothing is known yet) and kept under .cache/mutants.

Mutants that no test can tell from the source (a cache's size, a check that another check repeats) are named with a
sentence each in tools/mutants.json: they are counted as judged, not as alive. Nothing is written to src: every process
has its own copy of it.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import json
import os
import py_compile
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from cProfile import Profile as Profiler
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "fabula"
JUDGED = ROOT / "tools" / "mutants.json"
CACHE = ROOT / ".cache" / "mutants"
MEASURED = CACHE / "calls.json"

# room → how many mutants of 170, and the tests for code of which nothing is measured
ROOMS: dict[str, tuple[int, list[str]]] = {
    "metrics": (36, ["tests/metrics", "tests/evaluate"]),
    "match": (14, ["tests/match", "tests/metrics"]),
    "pair": (14, ["tests/pair", "tests/metrics"]),
    "text": (26, ["tests/text"]),
    "stats": (16, ["tests/stats"]),
    "benchmarks": (20, ["tests/benchmarks", "tests/diagnosis/test_protocols.py", "tests/evaluate"]),
    "evaluate": (18, ["tests/evaluate"]),
    "io": (26, ["tests/io", "tests/checks"]),
}
# Of these after --rooms alone: their tests take longer.
MORE: dict[str, tuple[int, list[str]]] = {
    "learn": (24, ["tests/learn"]),
    "library": (16, ["tests/library"]),
    "annotation": (16, ["tests/annotation"]),
    "studies": (14, ["tests/studies"]),
    "llm": (12, ["tests/llm", "tests/annotation/test_batch.py"]),
    "report": (16, ["tests/report"]),
}
TESTS = [
    "baselines",
    "benchmarks",
    "checks",
    "core",
    "diagnosis",
    "evaluate",
    "golden",
    "io",
    "match",
    "metrics",
    "pair",
]
TESTS += ["pair", "stats", "text", "test_kernels.py"]
SLOW = 60.0  # s, as measured: tests that take longer are left to the full suite
BUDGET = 40.0  # s of tests per mutant, as they took when measured, which is about three times what they take
TIMEOUT = 240.0  # s; generous, for a busy machine must not pass for a killed mutant

# ── mutants ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Mutant:
    """One change of one place."""

    file: str  # under src/fabula
    line: int
    kind: str
    start: int  # bytes of the file that are replaced
    end: int
    new: str
    before: str  # the line, for a reader
    after: str

    @property
    def id(self) -> str:
        return f"{self.file}: {self.before} → {self.after}"

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


COMPARE: dict[type[ast.cmpop], list[str]] = {
    ast.Lt: ["<=", ">", ">="],
    ast.LtE: ["<", ">"],
    ast.Gt: [">=", "<", "<="],
    ast.GtE: [">", "<"],
    ast.Eq: ["!="],
    ast.NotEq: ["=="],
    ast.In: ["not in"],
    ast.NotIn: ["in"],
    ast.Is: ["is not"],
    ast.IsNot: ["is"],
}
SIGN: dict[type[ast.operator], tuple[str, list[str]]] = {
    ast.Add: (r"\+", ["-"]),
    ast.Sub: ("-", ["+"]),
    ast.Mult: (r"\*", ["/", "+"]),
    ast.Div: ("/", ["*"]),
    ast.FloorDiv: ("//", ["*"]),
    ast.Mod: ("%", ["*"]),
    ast.Pow: (r"\*\*", ["*"]),
    ast.BitAnd: ("&", ["|"]),
    ast.BitOr: (r"\|", ["&"]),
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sum": "mean", "mean": "sum"}
CALLS |= {"argmin": "argmax", "argmax": "argmin", "zeros": "ones", "ones": "zeros", "minimum": "maximum"}
CALLS |= {"maximum": "minimum", "floor": "ceil", "ceil": "floor", "intersection": "union", "logical_or": "logical_and"}
CALLS |= {"startswith": "endswith", "endswith": "startswith", "lower": "upper", "sorted": "list"}
BUILT_IN = ("min", "max", "any", "all", "sorted")  # without a dot before them; sum → mean is no built-in
EMPTY = {"str": '""', "int": "0", "float": "0.0", "list": "[]", "dict": "{}", "tuple": "()", "set": "set()"}
TALK = {"paper", "rules", "label", "name", "tasks", "title", "quirks", "repository", "commit", "task", "draws", "hint"}
TALK |= {"note", "warnings", "extra", "told", "__all__", "shown", "version", "help", "scale"}
QUIET = {
    "strict",
    "maxsize",
    "stacklevel",
    "encoding",
    "dtype",
    "choices",
    "compresslevel",
    "slots",
    "frozen",
    "kw_only",
}
PRINTING = {"__repr__", "__str__", "explain", "about", "signature", "describe", "hint", "warn", "how"}


class Finder:
    """All mutants of one file."""

    def __init__(self, file: str, literals: dict[str, list[tuple[str, ...]]]) -> None:
        self.file, self.literals = file, literals
        self.source = (SOURCE / file).read_bytes()
        self.lines = self.source.decode().splitlines()
        self.starts = [0]
        for line in self.source.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.in_protocol = file.startswith("protocols/")

    def at(self, node: Any) -> tuple[int, int]:
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.AST) -> str:
        start, end = self.at(node)
        return self.source[start:end].decode()

    def replace(self, node: Any, new: str, kind: str) -> Iterator[Mutant]:
        yield from self.change(*self.at(node), new, kind)

    def change(self, start: int, end: int, new: str, kind: str) -> Iterator[Mutant]:
        changed = self.source[:start] + new.encode() + self.source[end:]
        if changed == self.source:
            return
        line = self.source.count(b"\n", 0, start) + 1
        yield Mutant(
            self.file, line, kind, start, end, new, self.lines[line - 1].strip(), line_of(changed, line - 1).strip()
        )

    def gap(self, left: ast.AST, right: ast.AST, pattern: str, new: str, kind: str) -> Iterator[Mutant]:
        """The operator that stands between two operands."""
        start, end = self.at(left)[1], self.at(right)[0]
        found = re.search(pattern.encode(), self.source[start:end])
        if found:
            yield from self.change(start + found.start(), start + found.end(), new, kind)

    def find(self) -> Iterator[Mutant]:
        yield from self.visit(ast.parse(self.source), None)

    def visit(self, node: ast.AST, returns: ast.expr | None) -> Iterator[Mutant]:
        if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert):
            if isinstance(node, ast.Raise) and "NotImplemented" not in self.text(node):
                yield from self.replace(node, "pass", "raise")
            return
        if isinstance(node, ast.FunctionDef):
            if node.name in PRINTING:
                return
            returns = node.returns
            yield from self.defaults(node)
        if isinstance(node, ast.ClassDef) and any(self.text(b) == "Protocol" for b in node.bases):
            return
        yield from self.of(node, returns)
        for child in self.children(node):
            yield from self.visit(child, returns)

    def children(self, node: ast.AST) -> Iterator[ast.AST]:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params", "bases", "slice_hint"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST) or self.silent(child):
                    continue
                yield child

    def silent(self, node: ast.AST) -> bool:
        """Text for people, hints for checkers: no behaviour."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return True
        if isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            named = self.text(target)
            return named in TALK or (named[:1].isupper() and "[" in self.text(node.value) if node.value else True)
        if isinstance(node, ast.keyword):
            return node.arg in TALK or node.arg in QUIET
        return isinstance(node, ast.If) and "TYPE_CHECKING" in self.text(node.test)

    def defaults(self, node: ast.FunctionDef) -> Iterator[Mutant]:
        """Default values are visited below as constants; here only flags."""
        for value in [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]:
            if isinstance(value, ast.Constant) and isinstance(value.value, bool):
                yield from self.replace(value, str(not value.value), "default")

    def of(self, node: ast.AST, returns: ast.expr | None) -> Iterator[Mutant]:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                old = {ast.In: r"\bin\b", ast.NotIn: r"not\s+in", ast.Is: r"\bis\b", ast.IsNot: r"is\s+not"}
                symbols = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
                for new in COMPARE[type(op)]:
                    yield from self.gap(left, right, old.get(type(op)) or symbols[type(op)], new, "compare")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGN:
                if isinstance(left, ast.Constant | ast.JoinedStr) and isinstance(getattr(left, "value", ""), str):
                    return
                if isinstance(right, ast.JoinedStr) or isinstance(getattr(right, "value", 0), str):
                    return
                pattern, others = SIGN[type(op)]
                for new in others:
                    yield from self.gap(left, right, pattern, new, "arithmetic")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield from self.replace(node, f"({self.text(operand)})", "not")
            case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
                yield from self.replace(node, f"({self.text(operand)})", "minus")
            case ast.BoolOp(op=op, values=values):
                old_word, new = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                for left, right in pairwise(values):
                    yield from self.gap(left, right, rf"\b{old_word}\b", new, "and-or")
            case ast.If(test=test) | ast.IfExp(test=test):
                yield from self.replace(test, "True", "condition")
                yield from self.replace(test, "False", "condition")
            case ast.comprehension(ifs=[test]):
                yield from self.replace(test, "True", "condition")
            case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
                yield from self.replace(value, empty(self.text(returns) if returns else "", self.text(value)), "return")
            case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
                for bound in (lower, upper):
                    if bound is not None and not isinstance(bound, ast.Constant):
                        yield from self.replace(bound, f"({self.text(bound)}) + 1", "slice")
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Break():
                yield from self.replace(node, "pass", "deleted")
            case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
                yield from self.replace(node, "pass", "deleted")
            case ast.Call():
                yield from self.call(node)
            case ast.Constant():
                yield from self.constant(node)
            case ast.AnnAssign(annotation=annotation, value=ast.Constant() as value):
                options = literal_options(annotation)
                if value.value in options and len(options) > 1:
                    for other in options:
                        if other != value.value:
                            yield from self.replace(value, json.dumps(other), "field")
            case _:
                pass

    def call(self, node: ast.Call) -> Iterator[Mutant]:
        attribute = isinstance(node.func, ast.Attribute)
        called = node.func.attr if attribute else getattr(node.func, "id", "")
        nothing = called in ("zeros", "ones") and any(ast.unparse(a).lstrip("(").startswith("0") for a in node.args[:1])
        if called in CALLS and (attribute or called in BUILT_IN) and not nothing:
            start, end = self.at(node.func)
            yield from self.change(end - len(called), end, CALLS[called], "call")
        for keyword in node.keywords:
            if keyword.arg in ("key", "reverse", "axis", "initial", "keepdims", "where", "raw", "swap", "default") or (
                self.in_protocol and keyword.arg and keyword.arg not in TALK and keyword.arg != "metrics"
            ):
                start, end = self.at(keyword)
                while self.source[end : end + 1] in (b",", b" "):
                    end += 1
                yield from self.change(start, end, "", "keyword")

    def constant(self, node: ast.Constant) -> Iterator[Mutant]:
        value = node.value
        if isinstance(value, bool):
            if self.in_protocol:
                yield from self.replace(node, str(not value), "constant")
        elif isinstance(value, int):
            for new in {1 - value} if value in (0, 1) else {value + 1, value - 1}:
                yield from self.replace(node, str(new), "constant")
        elif isinstance(value, float):
            new = {0.0: 1.0, 1.0: 0.0, 0.5: 0.6}.get(value, value * 1.5)
            yield from self.replace(node, repr(new), "constant")
        elif isinstance(value, str):
            for options in self.literals.get(value, [])[:2]:
                for other in options:
                    if other != value:
                        yield from self.replace(node, json.dumps(other), "rule")


def can_be_compiled(mutant: Mutant) -> bool:
    try:
        compile(mutant.apply((SOURCE / mutant.file).read_bytes()), mutant.file, "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def line_of(source: bytes, index: int) -> str:
    lines = source.decode().split("\n")
    return lines[index] if index < len(lines) else ""


def empty(annotation: str, value: str) -> str:
    if annotation == "bool":
        return f"not ({value})"
    return EMPTY.get(re.split(r"[\[ ]", annotation)[0], "None")


def literal_options(annotation: ast.AST | None) -> tuple[str, ...]:
    for node in ast.walk(annotation) if annotation is not None else ():
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
            return tuple(c.value for c in ast.walk(node.slice) if isinstance(c, ast.Constant) and c.value is not None)
    return ()


def literal_groups() -> dict[str, list[tuple[str, ...]]]:
    """Every string of a Literal → the choices it stands among."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
                options = literal_options(node)
                for option in options:
                    if isinstance(option, str) and options not in groups.setdefault(option, []):
                        groups[option].append(options)
    return groups


def chosen(rooms: list[str], number: int, seed: int, only: str) -> list[Mutant]:
    """So many mutants of each room: first a file (long ones more often), then a kind, then a place."""
    literals = literal_groups()
    total = sum((ROOMS | MORE)[room][0] for room in rooms)
    found: list[Mutant] = []
    for room in rooms:
        draw = random.Random(f"{seed} {room}")
        by_file: dict[str, dict[str, list[Mutant]]] = {}
        for path in sorted((SOURCE / room).rglob("*.py")):
            file = str(path.relative_to(SOURCE))
            if only not in file:
                continue
            for mutant in Finder(file, literals).find():
                by_file.setdefault(file, {}).setdefault(mutant.kind, []).append(mutant)
        wanted = max(12, round(number * (ROOMS | MORE)[room][0] / total)) if not only else number
        taken: dict[tuple[str, int, int], Mutant] = {}
        for _ in range(50 * wanted):
            if len(taken) >= wanted or not by_file:
                break
            weights = [sum(map(len, kinds.values())) ** 0.5 for kinds in by_file.values()]
            kinds = by_file[draw.choices(list(by_file), weights)[0]]
            mutant = draw.choice(kinds[draw.choice(sorted(kinds))])
            if can_be_compiled(mutant):
                taken.setdefault((mutant.file, mutant.start, mutant.end), mutant)
        found += taken.values()
    return found


# ── tests ───────────────────────────────────────────────────────────────────────────────────────────────────────────

SITE = """import sys
sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
"""


class Scratch:
    """A copy of the source that a process may spoil; Python is told to import it in place of the installed one."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fabula-mutants-"))
        self.source = self.folder / "src" / "fabula"
        shutil.copytree(SOURCE, self.source, ignore=shutil.ignore_patterns("*.cpp", "*.hpp"))
        for site in map(Path, {p for p in sys.path if p.endswith("site-packages")}):
            for kernel in (site / "fabula" / "_kernels").glob("_native*"):
                shutil.copy(kernel, self.source / "_kernels")
        (self.folder / "site").mkdir()
        (self.folder / "site" / "sitecustomize.py").write_text(SITE)
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(self.source)], check=True)
        where = self.run(["-c", "import fabula; print(fabula.__file__)"], 60).stdout
        if Path(where.strip()) != self.source / "__init__.py":
            raise SystemExit(f"the copy is not what Python imports, but {where.strip()}")
        pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = [sys.executable, __file__, "--serve"]
        self.server = subprocess.Popen(command, cwd=ROOT, env=self.environment(), stderr=subprocess.DEVNULL, **pipe)

    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.folder / "site"), str(self.folder / "src"), str(ROOT)])
        return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}

    def run(self, arguments: list[str], timeout: float) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=self.environment(), capture_output=True, text=True, timeout=timeout, check=False
        )

    def put(self, file: str, source: bytes) -> None:
        path = self.source / file
        path.write_bytes(source)
        for old in (path.parent / "__pycache__").glob(path.stem + ".*.pyc"):
            old.unlink()

    def restore(self, file: str) -> None:
        self.put(file, (SOURCE / file).read_bytes())
        py_compile.compile(str(self.source / file))

    def test(self, mutant: Mutant, tests: list[str]) -> str:
        """killed, survived or timeout."""
        self.put(mutant.file, mutant.apply((SOURCE / mutant.file).read_bytes()))
        try:
            code = self.ask(tests)
        finally:
            self.restore(mutant.file)
        return {"0": "survived", "5": "survived", "timeout": "timeout"}.get(code, "killed")

    def ask(self, tests: list[str]) -> str:
        """The exit code of these tests."""
        print(json.dumps(tests), file=self.server.stdin, flush=True)
        assert self.server.stdout
        return self.server.stdout.readline().strip()

    def check(self, tests: list[str]) -> None:
        """Without a mutant the tests pass; else all mutants would count as killed."""
        if tests and (code := self.ask(tests)) != "0":
            raise SystemExit(f"{tests[0]} fails without a mutant (exit code {code or 'none'}): mend that first")

    def close(self) -> None:
        assert self.server.stdin
        self.server.stdin.close()
        self.server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Chosen:
    """Runs these tests alone, in this order."""

    def __init__(self, tests: list[str]) -> None:
        self.place = {test: n for n, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.place), key=lambda i: self.place[i.nodeid])


class Calls:
    """Notes which functions of src each test calls, and how long it takes."""

    def __init__(self) -> None:
        self.calls: dict[str, list[str]] = {}
        self.took: dict[str, float] = {}
        self.seen: set[Any] = set()  # of threads that a test starts
        self.profiler = Profiler()
        self.bad: set[str] = set()

    def note(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            self.seen.add(frame.f_code)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.took[report.nodeid] = self.took.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self.bad.add(report.nodeid)

    def pytest_runtest_protocol(self, item: Any) -> None:
        self.seen, self.profiler = set(), Profiler()
        self.profiler.enable(subcalls=False, builtins=False)
        threading.setprofile(self.note)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.profiler.disable()
        threading.setprofile(None)  # type: ignore[arg-type]
        here = str(SOURCE) + os.sep
        called = self.seen | {entry.code for entry in self.profiler.getstats() if not isinstance(entry.code, str)}
        codes = {c for c in called if c.co_filename.startswith(here)}
        self.calls[nodeid] = sorted({f"{c.co_filename[len(here) :]}:{c.co_firstlineno}:{c.co_name}" for c in codes})

    def add_known(self, again: list[str]) -> None:
        """What was noted before of tests that were not run now."""
        known = json.loads(MEASURED.read_text())
        for test, (took, calls) in known["tests"].items():
            if test not in self.calls and not test.startswith(tuple(again)):
                self.calls[test], self.took[test] = [known["functions"][n] for n in calls], took

    def save(self) -> None:
        functions = {f: n for n, f in enumerate(sorted({f for fs in self.calls.values() for f in fs}))}
        tests = {
            t: [round(self.took.get(t, 0.0), 4), [functions[f] for f in fs]]
            for t, fs in self.calls.items()
            if t not in self.bad
        }
        MEASURED.parent.mkdir(parents=True, exist_ok=True)
        MEASURED.write_text(json.dumps({"functions": list(functions), "tests": tests}))


OPTIONS = [
    "-q",
    "--continue-on-collection-errors",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:randomly",
    "--no-header",
    "--tb=no",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",  # of modules that the server has loaded before the tests
]


def measure(tests: list[str]) -> None:
    """Note what the tests call; of some of them alone, where the others are known."""
    import pytest

    noted = Calls()
    some = tests or [f"tests/{t}" for t in TESTS if (ROOT / "tests" / t).exists()]
    pytest.main([*OPTIONS, *some, *os.environ.get("MEAS", "").split()], plugins=[noted])
    if tests and MEASURED.exists():
        noted.add_known(tests)
    noted.save()
    print(f"{len(noted.calls)} tests noted, {len(noted.bad)} of them failed or were skipped")


class Map:
    """Which tests call what."""

    def __init__(self) -> None:
        known = json.loads(MEASURED.read_text())
        self.functions: list[str] = known["functions"]
        self.tests: dict[str, tuple[float, set[int]]] = {t: (s, set(fs)) for t, (s, fs) in known["tests"].items()}

    def of(self, mutant: Mutant) -> list[str]:
        """Tests of the function around the line, else of the file, else of the room."""
        name = enclosing(mutant)
        number = {n for n, f in enumerate(self.functions) if name and name(f)}
        inside = {n for n, f in enumerate(self.functions) if f.startswith(mutant.file + ":")}
        room = (ROOMS | MORE)[mutant.file.split("/")[0]][1]
        found = [t for t, (_, calls) in self.tests.items() if calls & number]
        if not name or not found:
            beside = [t for t in self.tests if t.startswith(tuple(room))]
            found = [t for t, (_, calls) in self.tests.items() if calls & inside] or beside
        beside = []
        if not name or mutant.file.startswith("protocols/"):  # made at import, in whichever test comes first
            beside = [t for t in self.tests if t.startswith(tuple(room)) and t not in set(found)]
        return self.within_budget(found, beside)

    def within_budget(self, *groups: list[str]) -> list[str]:
        """The fastest tests of the first group, then those of the next."""
        taken, spent = [], 0.0
        for test in (test for group in groups for test in sorted(group, key=lambda t: self.tests[t][0])):
            spent += self.tests[test][0] + 0.0005
            if taken and (spent > BUDGET or self.tests[test][0] > SLOW):
                break
            taken.append(test)
        return taken


def enclosing(mutant: Mutant) -> Any:
    """A test of "file:line:name" for the function around a mutant; None at the top of a file or class."""
    source = (SOURCE / mutant.file).read_bytes()
    around = [
        n
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
        and n.body[0].lineno <= mutant.line <= (n.end_lineno or 0)
    ]
    if not around:
        return None
    inner = max(around, key=lambda n: n.lineno)
    lines = {inner.lineno, *(d.lineno for d in inner.decorator_list)}
    names = {f"{mutant.file}:{line}:{inner.name}" for line in lines}
    return names.__contains__


def serve() -> int:
    """Run the tests of each line of standard input in a forked process: what is not ours is loaded once."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for name in ("pytest", "numpy", "torch", "lightning_fabric", "click", "rich"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        process = os.fork()
        if not process:
            os.setsid()
            os._exit(run_listed(json.loads(line)))
        print(wait_for(process, time.monotonic() + TIMEOUT), file=answers, flush=True)
    return 0


def wait_for(process: int, until: float) -> str:
    """The exit code of a process and its group; "timeout" where it was ended."""
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return str(os.waitstatus_to_exitcode(status))
        time.sleep(0.02)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return "timeout"


def run_listed(tests: list[str]) -> int:
    import pytest

    files = list(dict.fromkeys(t.partition("::")[0] for t in tests))
    return int(pytest.main([*OPTIONS, "-x", *files], plugins=[Chosen(tests)]))


# ── the run ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge(mutants: list[Mutant], processes: int, seed: int, keep: set[str]) -> dict[str, str]:
    """What became of each mutant, written down as it is found; outcomes of these kinds are kept from an earlier run."""
    kept = CACHE / f"run-{seed}.json"
    known: dict[str, str] = json.loads(kept.read_text()) if keep and kept.exists() else {}
    outcomes = {id: outcome for id, outcome in known.items() if outcome in keep}
    tests, lock, local = Map(), threading.Lock(), threading.local()
    scratches: list[Scratch] = []
    began, left = time.monotonic(), [m for m in mutants if m.id not in outcomes]

    def one(mutant: Mutant) -> None:
        if not hasattr(local, "scratch"):
            with lock:
                local.scratch = Scratch()
                scratches.append(local.scratch)
            local.scratch.check(tests.of(mutant)[:1])
        start = time.monotonic()
        outcome = local.scratch.test(mutant, tests.of(mutant))
        with lock:
            outcomes[mutant.id] = outcome
            kept.write_text(json.dumps(outcomes))
            took = time.monotonic() - start
            line = f"{outcome:9}{took:5.1f} s  {mutant.file}:{mutant.line} {mutant.kind}"
            said = f"{line}\n  - {mutant.before}\n  + {mutant.after}" if outcome == "survived" else line
            print(said, file=sys.stderr, flush=True)

    try:
        with ThreadPoolExecutor(processes) as pool:
            list(pool.map(one, left))
    finally:
        for scratch in scratches:
            scratch.close()
    if left:
        each = (time.monotonic() - began) * processes / len(left)
        print(f"{len(left)} mutants, {each:.1f} s each on one of {processes} processors")
    return outcomes


def summary(mutants: list[Mutant], outcomes: dict[str, str]) -> int:
    """The table by room, then the survivors; the number of those that nobody has judged."""
    judged: dict[str, str] = json.loads(JUDGED.read_text()) if JUDGED.exists() else {}
    alive = [m for m in mutants if outcomes[m.id] == "survived" and m.id not in judged]
    excused = [m for m in mutants if outcomes[m.id] == "survived" and m.id in judged]
    print(f"\n{'room':12}{'mutants':>8}{'killed':>8}{'judged':>8}{'alive':>8}")
    for room in [*ROOMS, *MORE, ""]:
        some = [m for m in mutants if m.file.startswith(room)]
        if some:
            j, a = sum(m in excused for m in some), sum(m in alive for m in some)
            print(f"{room or 'all':12}{len(some):8}{len(some) - j - a:8}{j:8}{a:8}")
    for mutant in alive:
        print(f"\n{mutant.file}:{mutant.line}  {mutant.kind}\n  - {mutant.before}\n  + {mutant.after}")
    for mutant in excused:
        print(f"\njudged: {mutant.file}:{mutant.line}\n  + {mutant.after}\n  {judged[mutant.id]}")
    killed = len(mutants) - len(alive) - len(excused)
    print(f"\nkilled {killed} of {len(mutants)}, {len(excused)} judged equivalent, {len(alive)} alive")
    return len(alive)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rooms", default=",".join(ROOMS), help="which rooms, with commas between them")
    options.add_argument("--number", type=int, default=170, help="how many mutants in all, 12 a room at least")
    options.add_argument("--seed", type=int, default=0, help="which mutants")
    options.add_argument("--only", default="", metavar="FILE", help="only files whose path holds this")
    options.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    options.add_argument("--resume", action="store_true", help="keep what an earlier run with this seed found")
    options.add_argument("--again", action="store_true", help="the same, and what survived is run again")
    options.add_argument("--measure", nargs="*", metavar="TESTS", help="note anew what tests call: all, or these")
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options.add_argument("--json", type=Path, help="write mutants and outcomes here")
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.serve:
        return serve()
    if asked.measure is not None:
        measure(asked.measure)
        return 0
    if not MEASURED.exists() and not asked.list:
        measure([])
    mutants = chosen([r for r in asked.rooms.split(",") if r], asked.number, asked.seed, asked.only)
    if asked.list:
        for m in mutants:
            print(f"{m.file}:{m.line}  {m.kind}\n  - {m.before}\n  + {m.after}")
        return 0
    keep = {"killed", "timeout"} if asked.again else {"killed", "timeout", "survived"} if asked.resume else set()
    outcomes = judge(mutants, asked.processes, asked.seed, keep)
    if asked.json:
        asked.json.write_text(json.dumps([asdict(m) | {"outcome": outcomes[m.id]} for m in mutants], indent=1))
    return 1 if summary(mutants, outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
