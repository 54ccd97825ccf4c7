"""The shape of the house: data flows one way, imports point only backwards."""

import ast
from pathlib import Path

import pytest

import fabula

HOUSE = Path(fabula.__file__).parent
ORDER = [
    "core",
    "_kernels",
    "io",
    "llm",
    "lint",
    "text",
    "pair",
    "match",
    "metrics",
    "protocols",
    "baselines",
    "jobs",
    "score",
    "stats",
    "diagnose",
    "report",
    "api",
    "cli",
]
LEAVES = {
    "learn",
    "features",
    "annotate",
    "search",
    "study",
    "web",
    "demo",
    "hosts",
}  # behind everything; only api and cli open their doors
HEAVY = {"torch", "lightning", "transformers"}  # learn and features alone

FILES = sorted(HOUSE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported(path: Path) -> set[tuple[str, int]]:
    """(dotted module, line), also of imports inside functions; those for type checkers alone do not count."""
    tree = parse(path)
    package = ["fabula", *path.relative_to(HOUSE).parts[:-1]]
    unseen = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    found: set[tuple[str, int]] = set()
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            found |= {(alias.name, node.lineno) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {(f"{module}.{alias.name}", node.lineno) for alias in node.names}
    return found


def rooms_imported(path: Path) -> set[tuple[str, int]]:
    """Our rooms among them. `import fabula` and `from fabula import __version__` enter no room."""
    rooms = {room_of(f) for f in FILES} - {"__init__"}
    names = [(module.split("."), line) for module, line in imported(path)]
    return {(parts[1], line) for parts, line in names if parts[0] == "fabula" and len(parts) > 1 and parts[1] in rooms}


def test_every_room_has_its_place():
    rooms = {room_of(f) for f in FILES} - {"__init__", "__main__"}
    assert rooms <= {*ORDER, *LEAVES}, f"give {rooms - {*ORDER, *LEAVES}} a place in the order above"


@pytest.mark.parametrize("path", FILES, ids=[str(f.relative_to(HOUSE)) for f in FILES])
def test_imports_point_backwards(path):
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return  # the front door; it opens rooms when they are asked for
    for other, line in rooms_imported(path):
        where = f"{path.relative_to(HOUSE)}:{line} imports fabula.{other}"
        if other in LEAVES:
            assert room in LEAVES | {"api", "cli"}, f"{where}, a leaf that only verbs may open"
        elif room in LEAVES:
            assert other != "cli", where
        else:
            assert ORDER.index(other) <= ORDER.index(room), f"{where}, which comes after {room}"


@pytest.mark.parametrize("path", [f for f in FILES if room_of(f) not in ("learn", "features")], ids=str)
def test_no_evaluation_imports_torch(path):
    assert not {module for module, _ in imported(path) if module.split(".")[0] in HEAVY}


def test_core_stands_on_nothing_of_ours():
    for path in FILES:
        if room_of(path) == "core":
            assert {room for room, _ in rooms_imported(path)} <= {"core"}, path.name


def test_the_check_sees_what_it_should():
    path = HOUSE / "metrics" / "stories" / "soda_c.py"
    assert {room for room, _ in rooms_imported(path)} == {"match", "metrics", "pair"}
    inside_a_function = {module for module, _ in imported(HOUSE / "match" / "hungarian.py")}
    assert "scipy.optimize.linear_sum_assignment" in inside_a_function
    from_the_house = {room for room, _ in rooms_imported(HOUSE / "api" / "score.py")}
    assert {"metrics", "protocols"} <= from_the_house  # also `from fabula import metrics`


@pytest.mark.parametrize("path", FILES, ids=[str(f.relative_to(HOUSE)) for f in FILES])
def test_what_a_room_keeps_to_itself_stays_there(path):
    """A module whose name begins with _ is its room's own; the kernels alone have it in their name."""
    for module, line in imported(path):
        parts = module.split(".")
        if parts[0] != "fabula" or len(parts) < 3 or parts[1] == room_of(path):
            continue
        private = [p for p in parts[2:] if p.startswith("_") and not p.startswith("__")]
        assert not private or parts[1] == "_kernels", f"{path.relative_to(HOUSE)}:{line} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=[str(f.relative_to(HOUSE)) for f in FILES])
def test_nobody_asks_which_metric_it_is(path):
    """What a metric can do is in its contract (metrics/base.py), not in its class."""
    if room_of(path) == "metrics":
        return
    for call in (n for n in ast.walk(parse(path)) if isinstance(n, ast.Call)):
        if isinstance(call.func, ast.Name) and call.func.id == "isinstance":
            assert "Metric" not in ast.unparse(call.args[1]), f"{path.relative_to(HOUSE)}:{call.lineno}"


@pytest.mark.parametrize("path", FILES, ids=[str(f.relative_to(HOUSE)) for f in FILES])
def test_no_function_takes_more_than_8(path):
    """Beyond that, an options object (core/options.py) says what belongs together."""
    for function in (n for n in ast.walk(parse(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)):
        a = function.args
        names = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs) if p.arg not in ("self", "cls")]
        assert len(names) <= 8, f"{path.relative_to(HOUSE)}:{function.lineno} {function.name} takes {len(names)}"


@pytest.mark.parametrize("path", FILES, ids=[str(f.relative_to(HOUSE)) for f in FILES])
def test_every_file_opens_with_what_it_is(path):
    tree = parse(path)
    assert (ast.get_docstring(tree) or "").strip(), f"{path.relative_to(HOUSE)} has no docstring"


@pytest.mark.parametrize("path", FILES, ids=[str(f.relative_to(HOUSE)) for f in FILES])
def test_only_the_command_line_and_reports_print(path):
    if room_of(path) in {"cli", "report", *LEAVES}:
        return
    calls = [n for n in ast.walk(parse(path)) if isinstance(n, ast.Call)]
    assert not [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
