"""The index of benchmarks is what their folders hold, and nobody goes round it."""

import re
import subprocess
import sys
from pathlib import Path

from tools.benchmarks import FILE, make_index

from fabula import benchmarks
from fabula.core.registry import load_benchmark
from tests.test_layers import FILES, HOUSE, imported, room_of


def test_the_index_is_current():
    assert FILE.read_text(encoding="utf-8") == make_index(), "run python -m tools.benchmarks"


def test_a_name_opens_its_own_module_alone():
    code = (
        "import sys; from fabula.benchmarks import protocol; protocol('pss-2022'); "
        "print(*(m for m in sys.modules if m.startswith('fabula.benchmarks.')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = {"base", "index", "pss", "pss.protocol"}
    assert set(run.stdout.split()) == {f"fabula.benchmarks.{name}" for name in names}


def test_no_other_package_imports_a_benchmark():
    for path in FILES:
        for module, line in imported(path) if room_of(path) not in ("benchmarks", "__init__") else ():
            if module.startswith("fabula.benchmarks."):
                assert module.split(".")[2] in {"Protocol", "base", "protocol", "room"}, f"{path}:{line} {module}"
    assert room_of(Path(benchmarks.__file__)) == "benchmarks"
    assert load_benchmark("index").__file__ == str(HOUSE / "benchmarks" / "index.py")


def test_only_the_registry_opens_folders_by_name():
    for path in FILES:
        if room_of(path) != "benchmarks" and path != HOUSE / "core" / "registry.py":
            assert not re.search(r'"fabula\.benchmarks\.', path.read_text(encoding="utf-8")), path


KITES = {
    "__init__.py": '"""Kites."""',
    "stories.py": """
from fabula.data.stories import Event, Segment, Story
from fabula.io.format import STORIES, Format, HeadRule


def read_stories(document, source):
    for kite, flights in document["kites"].items():
        yield Story(kite, tuple(Event(Segment(a, b), text) for a, b, text in flights))


FORMAT = Format(
    name="kites", about="kites", holds="either", tasks=STORIES, known_by=(HeadRule(at="/", objects=("kites",)),),
    read_stories=read_stories,
)
""",
    "answers.py": """
from fabula.io.answers.readers.base import Reader

READER = Reader(name="kites", about="kites", read=lambda text: [(float(len(text)), 9.0)])
""",
    "protocol.py": """
from fabula.benchmarks.base import Protocol
from fabula.metrics import metric

PROTOCOL = Protocol(
    name="kites-2026", task="dense", paper="Kite et al., 2026", repository="", commit="", metrics=(metric("mIoU"),)
)
""",
}
TRY = """
import json, sys
from pathlib import Path
import fabula.benchmarks
from fabula.core.registry import benchmark_index

folder = Path(sys.argv[1])
fabula.benchmarks.__path__.append(str(folder))
from tools.benchmarks import make_index

exec(make_index(), vars(benchmark_index()))
import fabula
from fabula.io.answers.readers import READERS

file = folder / "x.json"
file.write_text(json.dumps({"kites": {"red": [[0, 4, "It rises."]]}}))
result = fabula.score(file, file, protocol="kites-2026")
print(fabula.read(file)[0].format, READERS.get("kites").read("abc"), result.protocol)
"""


def test_a_new_benchmark_is_one_folder(tmp_path):
    """Its format, its reader of answers and its protocol are found, with nothing written outside the folder."""
    (tmp_path / "kites").mkdir()
    for name, text in KITES.items():
        (tmp_path / "kites" / name).write_text(text)
    run = subprocess.run(
        [sys.executable, "-c", TRY, str(tmp_path)], capture_output=True, text=True, cwd=HOUSE.parents[1]
    )
    assert run.stdout.split() == ["kites", "[(3.0,", "9.0)]", "kites-2026"], run.stderr
