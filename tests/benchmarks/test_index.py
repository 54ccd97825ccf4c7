"""The index of benchmarks is what their folders hold, and nobody goes round it."""

import re
from pathlib import Path

from tools.benchmarks import FILE, make_index

from fabula import benchmarks
from fabula.core.registry import load_benchmark
from tests.test_layers import FILES, HOUSE, imported, room_of


def test_the_index_is_current():
    assert FILE.read_text(encoding="utf-8") == make_index(), "run python -m tools.benchmarks"


def test_a_name_opens_its_own_module_alone():
    import subprocess
    import sys

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
