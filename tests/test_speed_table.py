"""No figure of the speed tables is written by hand: docs/speed.md and the README against docs/speed.json.

Also the rules of bench/all.py that need no clock: ratios with their spread, what is slower beyond noise, which clone is
missing. Nothing here runs an official program.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
BENCH = ROOT / "bench"
pytestmark = pytest.mark.skipif(not BENCH.exists(), reason="bench/ is not beside the package: not a checkout")
NAMES = ("_table", "_programs", "_official", "_run", "_works", "_data", "scale", "all")
FIGURE = re.compile(r"\d[\d.,]*\s?(?:ms\b|s\b|×|MB\b|[A-Za-z]+/s\b|/s\b)")


@pytest.fixture(scope="module")
def bench() -> Iterator[Callable[[str], ModuleType]]:
    """Modules of bench/, by name; taken out again, since `all` and `scale` are names that others may use."""
    before = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}
    sys.path.insert(0, str(BENCH))
    yield importlib.import_module
    sys.path.remove(str(BENCH))
    for name in NAMES:
        sys.modules.pop(name, None)
    sys.modules.update(before)


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((ROOT / "docs" / "speed.json").read_text(encoding="utf-8"))
    return figures


def test_the_tables_are_made_of_the_file(bench: Any, found: dict[str, Any]) -> None:
    table = bench("_table")
    for path, blocks in table.documents(found).items():
        text = path.read_text(encoding="utf-8")
        for name, lines in blocks.items():
            assert table.block(text, name)[1] == "\n".join(lines) + "\n", f"{path.name}, {name}: python bench/_table.py"


def test_no_figure_stands_outside_the_tables(bench: Any, found: dict[str, Any]) -> None:
    """Prose may name a size that a row names; every other number with a unit stands in a table made of the file."""
    table = bench("_table")
    text = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    for name in ("table", "growth"):
        head, _, tail = table.block(text, name)
        text = head + tail
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = table.block(readme, "speed")[0].rpartition("\n## ")[2]
    made = "\n".join(line for blocks in table.documents(found).values() for lines in blocks.values() for line in lines)
    assert [figure for figure in FIGURE.findall(text + section) if figure not in made] == []


def test_a_changed_figure_is_noticed(bench: Any, found: dict[str, Any]) -> None:
    table = bench("_table")
    changed = json.loads(json.dumps(found))
    run = next(row for row in changed["rows"] if row["name"] == table.QUOTED[0])["sides"]["now"]["runs"]
    for one in run:
        one["wall"] *= 2
    for path, blocks in table.documents(changed).items():
        name = "table" if path.suffix == ".md" and path.name == "speed.md" else "speed"
        assert table.block(path.read_text(encoding="utf-8"), name)[1] != "\n".join(blocks[name]) + "\n"


def test_every_work_has_a_row_and_every_row_its_runs(bench: Any, found: dict[str, Any]) -> None:
    works = {work.name: work for work in bench("_works").WORKS}
    assert [row["name"] for row in found["rows"]] == list(works)
    for row in found["rows"]:
        for side, entry in row["sides"].items():
            assert entry.get("runs") or entry.get("missing"), (row["name"], side)
            assert all(run["wall"] > 0 and run["cpu"] > 0 for run in entry.get("runs", []))
    assert {work.official for work in works.values() if work.official} == set(bench("_programs").PROGRAMS)


def row(bench: Any, **sides: list[tuple[float, float]]) -> dict[str, Any]:
    told = {
        name: {"runs": [{"wall": w, "cpu": c, "peak": 2**20, "amount": 0} for w, c in runs]}
        for name, runs in sides.items()
    }
    return {"name": "work", "what": "a work", "rate": "", "sides": told}


def test_a_ratio_is_the_median_of_all_pairs_with_its_spread(bench: Any) -> None:
    table = bench("_table")
    made = row(bench, now=[(1, 1), (2, 2), (4, 2)], official=[(8, 4)])
    assert table.ratios(made, "official", "wall") == [2, 4, 8]
    assert table.ratio(made, "official", "wall") == "4.0× (2.0–8.0)"
    assert table.ratio(made, "before", "wall") == "–"
    assert table.cells(made)[1:4] == ["2.00 s", "2.00 s", "1 MB"]


@pytest.mark.parametrize(
    ("now", "before", "late"),
    [
        ([1.2, 1.25, 1.3], [1.0, 1.05, 1.1], True),  # every run above every one before, by more than a tenth
        ([1.2, 1.25, 1.3], [1.0, 1.05, 1.21], False),  # runs cross: noise
        ([1.05, 1.06, 1.07], [1.0, 1.0, 1.0], False),  # apart, but by less than a tenth
        ([0.5, 0.5, 0.5], [1.0, 1.0, 1.0], False),
        ([0.03, 0.03, 0.03], [0.02, 0.02, 0.02], False),  # a hundredth of a second
    ],
)
def test_slower_beyond_noise(bench: Any, now: list[float], before: list[float], late: bool) -> None:
    made = row(bench, now=[(x, 1) for x in now], before=[(x, 1) for x in before])
    lines = list(bench("_table").slower(made))
    assert bool(lines) == late and all("wall time" in line for line in lines)


def test_a_missing_clone_is_named_and_nothing_is_run(bench: Any, tmp_path: Path) -> None:
    run = bench("_run")
    given = Namespace(official=tmp_path, official_python=sys.executable, longest=1)
    with pytest.raises(run.NotMeasured, match=r"^clone fujiso/SODA into DIR/SODA$"):
        bench("all").published("SODA", tmp_path, given)
    told = bench("all").clones(given)
    assert told["wjun0830/QD-DETR"] == "not measured: clone it into DIR/QD-DETR"


def test_answers_are_compared(bench: Any) -> None:
    compare, Cost = bench("all").compare, bench("_run").Cost
    ours, same, other = (
        [Cost(1, 1, 1, said=json.dumps({"scores": {"a": {"value": 1.0, "f1": x, "signature": "s"}, "b": 2}}))]
        for x in (0.5, 0.5, 0.6)
    )
    assert compare(ours, same, 1e-6) == "3 numbers are the same to 1e-06 (largest difference 0.0e+00)"
    assert compare(ours, other, 1e-6) == "1 of 3 numbers differ by more than 1e-06, most a.f1 by 1.0e-01"


def test_sides_take_turns_and_stop_when_they_have_run_enough(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run, order, clock = bench("_run"), [], [0.0]
    monkeypatch.setattr(run.time, "perf_counter", lambda: clock[0])

    def side(name: str, takes: float) -> Callable[[], Any]:
        def work() -> Any:
            order.append(name)
            clock[0] += takes
            return run.Cost(takes, takes, 1)

        return work

    done = run.turns({"now": side("now", 1), "official": side("official", 40)}, 3, {"official": 30.0}, warm=["now"])
    assert order == ["now", "now", "official", "now", "now"]  # the first one warms and does not count
    assert [len(done[name]) for name in ("now", "official")] == [3, 1]
    for takes, counted in ((50, 2), (70, 1), (130, 1)):  # a minute is enough; of a very long one the first counts
        assert len(run.turns({"now": side("now", takes)}, 3, {}, warm=["now"])["now"]) == counted


def test_rows_measured_apart_take_the_place_of_the_old_and_say_so(bench: Any, tmp_path: Path, monkeypatch: Any) -> None:
    table = bench("_table")
    old = {"rows": [{**row(bench, now=[(1, 1)]), "name": name} for name in ("a", "b")], "when": "before"}
    monkeypatch.setattr(table, "FIGURES", tmp_path / "speed.json")
    monkeypatch.setattr(table, "write", lambda new: None)
    table.FIGURES.write_text(json.dumps(old))
    found = {"when": "now", "load": {"start": 1.5, "end": 0.5}, "commits": {"now": "c0ffee"}}
    bench("all").keep({**found, "rows": [{**row(bench, now=[(9, 9)]), "name": "b"}]}, [], ["b"])
    new = json.loads(table.FIGURES.read_text())
    assert new["when"] == "before" and [r["sides"]["now"]["runs"][0]["wall"] for r in new["rows"]] == [1, 9]
    assert table.notes(new["rows"]) == ["* b: measured apart from the others, now UTC, load 1.5, c0ffee"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
def test_what_takes_too_long_is_ended_with_all_that_it_started(bench: Any, tmp_path: Path) -> None:
    run, started = bench("_run"), tmp_path / "pid"
    with pytest.raises(run.NotMeasured, match="not done after 1 s"):
        run.measure(["sh", "-c", f"sleep 60 & echo $! > '{started}'; wait"], longest=1.0)
    if not started.exists():  # on a very busy machine the shell had no second: nothing was started
        return
    stat = Path(f"/proc/{started.read_text().strip()}/stat")
    until = time.monotonic() + 10
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < until, "it still runs"
        time.sleep(0.01)
