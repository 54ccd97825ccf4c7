"""docs/architecture.md against the tree: rooms, files, the walk, and what a newcomer is told to write."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import fabula
from tests.test_layers import ORDER

HOUSE = Path(fabula.__file__).parent
ROOT = HOUSE.parents[1]
PAGE = ROOT / "docs" / "architecture.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="docs/ is not beside the package: not a checkout")


def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def rooms() -> set[str]:
    return {p.name for p in HOUSE.iterdir() if p.is_dir() and (p / "__init__.py").exists()}


def walk() -> list[str]:
    return re.findall(r"^\d+\. `([\w/]+\.py)`", text(), flags=re.M)


def test_every_room_is_told_and_every_told_room_is_there():
    told = set(re.findall(r"^\| `(\w+)/` \|", text(), flags=re.M))
    assert told == rooms()


def test_the_order_told_is_the_order_kept():
    line = next(line for line in text().splitlines() if line.startswith("core →"))
    assert line.split(" → ") == ORDER


def test_every_file_named_is_there():
    for name in re.findall(r"`([\w/.-]+\.(?:py|md))`", text()):
        places = (HOUSE / name, ROOT / name, ROOT / "docs" / name)
        assert any(p.exists() for p in places) or name == "__init__.py", name


def test_the_walk_is_short_and_leads_one_way():
    files = walk()
    assert len(files) == len(set(files)) <= 10
    for name in files:
        assert (HOUSE / name).exists(), name


def test_the_walk_is_walked():
    """The files told are really called when SODA_c is scored."""
    code = """
import sys, threading
called = set()
def look(frame, event, arg):
    called.add(frame.f_code.co_filename)
sys.setprofile(look)
from fabula.verbs.command_line import main
sys.argv = ["fabula", "score", PREDS, "--refs", REFS, "-m", "SODA_c(text=exact,tok=none)"]
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
print("\\n".join(sorted(called)))
"""
    demo = HOUSE / "demo"
    code = code.replace("PREDS", repr(str(demo / "good.json"))).replace("REFS", repr(str(demo / "annotator_1.json")))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    called = {line for line in run.stdout.splitlines() if line.startswith(str(HOUSE))}
    missing = [name for name in walk() if str(HOUSE / name) not in called]
    assert not missing, run.stderr[-500:]


def test_no_folder_is_flat_and_large():
    for folder in [HOUSE, *(p for p in HOUSE.rglob("*") if p.is_dir() and p.name != "__pycache__")]:
        files = [f for f in folder.iterdir() if f.is_file() and f.suffix in (".py", ".cpp", ".hpp", ".pyi")]
        assert len(files) <= 25, f"{folder.relative_to(HOUSE)} has {len(files)} files: sort them into folders"
