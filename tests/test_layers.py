"""The shape of the house: data flows one way, imports point only backwards."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import fabula

HOUSE = Path(fabula.__file__).parent
ORDER = [  # total: a package imports from those before it alone, inside functions too
    "core",
    "_kernels",
    "stats",
    "data",
    "documents",
    "io",
    "llm",
    "checks",
    "text",
    "pair",
    "match",
    "metrics",
    "benchmarks",
    "jobs",
    "evaluate",
    "diagnosis",
    "report",
    "web",
    "media",
    "annotation",
    "learn",
    "library",
    "narration",
    "asking",
    "studies",
    "hosts",
    "demo",
    "papers",
    "verbs",
]
PRINTS = {"__main__", "verbs", "report", "media", "annotation", "learn", "library", "studies", "hosts", "web", "demo"}
HEAVY = {"torch", "lightning", "transformers"}  # learn and media alone

FILES = sorted(HOUSE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


ROOMS = {room_of(f) for f in FILES} - {"__init__"}
by_room = pytest.mark.parametrize("room", sorted({room_of(f) for f in FILES}))


def files_of(room: str) -> list[Path]:
    return [f for f in FILES if room_of(f) == room]


class Facts(NamedTuple):
    """What these tests look at: every file is parsed once."""

    docstring: str
    imported: set[tuple[str, int]]  # dotted module, line
    metrics_by_class: list[int]  # lines with isinstance(…, …Metric)
    takes: list[tuple[str, int, int]]  # function, line, parameters
    prints: list[int]  # lines


@cache
def facts(path: Path) -> Facts:
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    nodes = list(ast.walk(tree))
    calls = [n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return Facts(
        docstring=(ast.get_docstring(tree) or "").strip(),
        imported=imported_in(nodes, path),
        metrics_by_class=[c.lineno for c in calls if c.func.id == "isinstance" and "Metric" in ast.unparse(c.args[1])],
        takes=[(f.name, f.lineno, parameters(f)) for f in functions],
        prints=[c.lineno for c in calls if c.func.id == "print"],
    )


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    a = function.args
    return sum(p.arg not in ("self", "cls") for p in (*a.posonlyargs, *a.args, *a.kwonlyargs))


def imported_in(nodes: list[ast.AST], path: Path) -> set[tuple[str, int]]:
    """(dotted module, line), also of imports inside functions; those for type checkers alone do not count."""
    package = ["fabula", *path.relative_to(HOUSE).parts[:-1]]
    unseen = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    found: set[tuple[str, int]] = set()
    for node in nodes:
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            found |= {(alias.name, node.lineno) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {(f"{module}.{alias.name}", node.lineno) for alias in node.names}
    return found


def imported(path: Path) -> set[tuple[str, int]]:
    return facts(path).imported


def rooms_imported(path: Path) -> set[tuple[str, int]]:
    """Our rooms among them. `import fabula` and `from fabula import __version__` enter no room."""
    names = [(module.split("."), line) for module, line in imported(path)]
    return {(parts[1], line) for parts, line in names if parts[0] == "fabula" and len(parts) > 1 and parts[1] in ROOMS}


def test_every_room_has_its_place():
    rooms = {room_of(f) for f in FILES} - {"__init__", "__main__"}
    assert rooms == set(ORDER), f"give {rooms ^ set(ORDER)} a place in the order above"


@by_room
def test_imports_point_backwards(room):
    if room in ("__init__", "__main__"):
        return  # the front door; it opens rooms when they are asked for
    for path in files_of(room):
        for other, line in rooms_imported(path):
            where = f"{path.relative_to(HOUSE)}:{line} imports fabula.{other}"
            assert ORDER.index(other) <= ORDER.index(room), f"{where}, which comes after {room}"


def test_no_package_bears_a_verbs_name():
    """`fabula.score` is a function; a package of that name would hide it."""
    verbs = {path.stem for path in (HOUSE / "verbs").rglob("*.py")}
    assert not set(ORDER) & (verbs - {"demo", "__init__"})


@pytest.mark.parametrize("room", sorted({room_of(f) for f in FILES} - {"learn", "media"}))
def test_no_evaluation_imports_torch(room):
    for path in files_of(room):
        assert not {module for module, _ in imported(path) if module.split(".")[0] in HEAVY}, path


def test_core_stands_on_nothing_of_ours():
    for path in FILES:
        if room_of(path) == "core":
            assert {room for room, _ in rooms_imported(path)} <= {"core"}, path.name


def test_the_check_sees_what_it_should():
    path = HOUSE / "metrics" / "stories" / "soda_c.py"
    assert {room for room, _ in rooms_imported(path)} == {"metrics", "pair"}
    inside_a_function = {module for module, _ in imported(HOUSE / "match" / "hungarian.py")}
    assert "scipy.optimize.linear_sum_assignment" in inside_a_function
    from_the_house = {room for room, _ in rooms_imported(HOUSE / "evaluate" / "request.py")}
    assert {"metrics", "benchmarks"} <= from_the_house  # also `from fabula import metrics`


@by_room
def test_what_a_room_keeps_to_itself_stays_there(room):
    """A module whose name begins with _ is its room's own; the kernels alone have it in their name."""
    for path in files_of(room):
        for module, line in imported(path):
            parts = module.split(".")
            if parts[0] != "fabula" or len(parts) < 3 or parts[1] == room:
                continue
            private = [p for p in parts[2:] if p.startswith("_") and not p.startswith("__")]
            assert not private or parts[1] == "_kernels", f"{path.relative_to(HOUSE)}:{line} imports {module}"


@by_room
def test_nobody_asks_which_metric_it_is(room):
    """What a metric can do is in its contract (metrics/base.py), not in its class."""
    if room == "metrics":
        return
    for path in files_of(room):
        assert not facts(path).metrics_by_class, path.relative_to(HOUSE)


@by_room
def test_no_function_takes_more_than_8(room):
    """Beyond that, an options object (core/options.py) says what belongs together."""
    for path in files_of(room):
        for name, line, count in facts(path).takes:
            assert count <= 8, f"{path.relative_to(HOUSE)}:{line} {name} takes {count}"


@by_room
def test_every_file_opens_with_what_it_is(room):
    for path in files_of(room):
        assert facts(path).docstring, f"{path.relative_to(HOUSE)} has no docstring"


@by_room
def test_only_the_command_line_and_reports_print(room):
    if room in PRINTS:
        return
    for path in files_of(room):
        assert not facts(path).prints, path.relative_to(HOUSE)
