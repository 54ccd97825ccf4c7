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
    "lint",
    "text",
    "pair",
    "match",
    "metrics",
    "protocols",
    "baselines",
    "engine",
    "tasks",
    "stats",
    "diagnose",
    "report",
    "verbs",
    "cli",
]
LEAVES = {"learn", "features", "annotate", "search", "web", "demo"}  # behind everything; only cli opens their doors
HEAVY = {"torch", "lightning", "transformers"}  # learn and features alone

FILES = sorted(HOUSE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[tuple[str, int]]:
    """(dotted module, line), also of imports inside functions; those for type checkers alone do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
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
            assert room in LEAVES | {"cli"}, f"{where}, a leaf that only the command line may open"
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
    path = HOUSE / "metrics" / "soda_c.py"
    assert {room for room, _ in rooms_imported(path)} == {"match", "metrics", "pair"}
    inside_a_function = {module for module, _ in imported(HOUSE / "match" / "hungarian.py")}
    assert "scipy.optimize.linear_sum_assignment" in inside_a_function
    from_the_house = {room for room, _ in rooms_imported(HOUSE / "verbs.py")}
    assert {"metrics", "protocols"} <= from_the_house  # also `from fabula import metrics`


@pytest.mark.parametrize("path", FILES, ids=[str(f.relative_to(HOUSE)) for f in FILES])
def test_every_file_opens_with_what_it_is(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert (ast.get_docstring(tree) or "").strip(), f"{path.relative_to(HOUSE)} has no docstring"


@pytest.mark.parametrize("path", FILES, ids=[str(f.relative_to(HOUSE)) for f in FILES])
def test_only_the_command_line_and_reports_print(path):
    if room_of(path) in {"cli", "report", *LEAVES}:
        return
    calls = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
    assert not [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
