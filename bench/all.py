"""Every work in one table: ours, the version before and the official tools, in one run; written to docs/speed.md.

    python bench/all.py                            # best of three runs of each; official tools where they are here
    python bench/all.py --before ../old            # and another checkout with its .venv, in turn with ours
    python bench/all.py --growth                   # and 1,000, 10,000 and 100,000 synthetic videos
    python bench/all.py --growth --no-table        # these alone
    python bench/all.py --quick --only SODA_c      # the first 200 videos, once: does it run?

Ours is `fabula` in a process of its own: wall time, processor time and peak memory of the process and its children,
from a warm cache, its modules compiled before as pip compiles them. The official side is bench/_published.py, once: it
takes minutes. --moment-detr DIR names a checkout of jayleicn/moment_detr, whose evaluator is QVHighlights' own. A side
that has run for a minute on a work is not run again, and what is not done after --longest seconds is stopped.
The document is written only by a whole run: --quick, --only and --videos print.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from _run import CLI, Cost, NotMeasured, Side, best, measure
from _works import PLAIN, WORKS, Work, fill, grown

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parent / "docs" / "speed.md"
Figure = Cost | NotMeasured | None
GROWTH = (("SODA_c", ("--protocol", "soda-2021", "--metrics", "SODA_c")), ("densevid-2018", ("-p", "densevid-2018")))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "shared" / "data")
    parser.add_argument("--before", type=Path, help="another checkout, with its own .venv")
    parser.add_argument("--only", nargs="+", choices=[work.name for work in WORKS], metavar="NAME", help="some works")
    parser.add_argument("--runs", type=int, default=3, help="of each work; the quickest counts")
    parser.add_argument("--videos", type=int, help="only the first N videos, queries and captions")
    parser.add_argument("--quick", action="store_true", help="200 videos, one run")
    parser.add_argument("--no-official", action="store_true", help="ours alone")
    parser.add_argument("--moment-detr", type=Path, help="a checkout of jayleicn/moment_detr")
    parser.add_argument("--longest", type=float, default=300.0, help="seconds for one run of a side")
    parser.add_argument("--growth", action="store_true", help="also 1,000, 10,000 and 100,000 synthetic videos")
    parser.add_argument("--no-table", action="store_true", help="the growth alone")
    found = parser.parse_args()
    if found.quick:
        found.videos, found.runs = found.videos or 200, 1
    return found


def main() -> None:
    given = arguments()
    if not (given.data / "anet_captions").is_dir():
        print(f"no ActivityNet Captions in {given.data}: nothing was measured; name the folder with --data")
        return
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as name:
        folder = Path(name)
        sides = [Side.of("now", HERE.parent, folder, sys.executable)]
        if given.before:
            sides.append(Side.of("before", given.before, folder))
        about = [*machine(sides), f"Load at the start {os.getloadavg()[0]:.1f}; best of {given.runs} runs."]
        print("\n".join(about), flush=True)
        fill(folder, given.data, given.videos)
        lines, notes = ([], []) if given.no_table else table(sides, folder, given)
        growth = growing(sides[0], folder, given) if given.growth else []
        about[-1] += f" Load at the end {os.getloadavg()[0]:.1f}."
    if given.videos or given.only:
        print(f"a part was measured: {DOCUMENT.name} stays as it is")
        return
    if lines:
        put("table", [*about, "", *lines, "", *notes])
    if growth:
        put("growth", [*about, "", *growth])


# --- the table -------------------------------------------------------------------------------------------------------


def table(sides: Sequence[Side], folder: Path, given: argparse.Namespace) -> tuple[list[str], list[str]]:
    """A row a work, printed as it comes; and what was not measured, or gave other numbers."""
    head = [
        "work",
        "now",
        "processor",
        "memory",
        "before",
        "processor",
        "× wall",
        "× processor",
        "official",
        "processor",
        "× wall",
        "× processor",
    ]
    lines, notes = [markdown(head), markdown(["---"] * len(head))], list[str]()
    print(plain(head))
    for work in WORKS:
        if given.only and work.name not in given.only:
            continue
        found = best(sides, command(work, folder), given.runs, given.longest)
        official = None if given.no_official else published(work, folder, given.moment_detr)
        row = show(work, found["now"], found.get("before"), official)
        lines.append(markdown([f"**{work.name}**: {work.what}", *row]))
        print(plain([work.name, *row]), flush=True)
        for line in remarks(work, {**found, "official": official}):
            notes.append(f"* {line}")
            print(f"    {line}")
    return lines, notes


def command(work: Work, folder: Path) -> list[str]:
    if work.script:
        return ["-c", work.script, str(folder)]
    return ["-c", CLI, *(argument.format(folder=folder) for argument in work.arguments)]


def published(work: Work, folder: Path, moment_detr: Path | None) -> Figure:
    """The official tool's figure, of one run."""
    try:
        if work.official == "json":
            return measure([sys.executable, "-c", PLAIN[work.name], str(folder)])
        if work.official == "qvhighlights":
            return highlights(folder, moment_detr)
        if work.official:
            return measure(
                [sys.executable, str(HERE / "_published.py"), work.official, str(folder)], {"FABULA_THREADS": "1"}
            )
    except NotMeasured as why:
        return why
    return None


def highlights(folder: Path, repository: Path | None) -> Cost:
    """moment_detr's own evaluator."""
    if repository is None:
        raise NotMeasured("moment_detr is not here; name a checkout with --moment-detr")
    paths = ("--submission_path", "qv_pred.jsonl", "--gt_path", "qv_refs.jsonl", "--save_path", "qv_out.json")
    given = [str(folder / path) if "." in path else path for path in paths]
    env = {"PYTHONPATH": str(repository.resolve())}
    return measure([sys.executable, str(repository / "standalone_eval" / "eval.py"), *given, "--not_verbose"], env)


def show(work: Work, now: Figure, before: Figure, official: Figure) -> list[str]:
    """The cells of a row after its name."""
    cells = [*figures(work, now), f"{now.peak / 2**20:,.0f} MB" if isinstance(now, Cost) else "–"]
    for other in (before, official):
        cells += [*figures(work, other), ratio(now, other, "wall"), ratio(now, other, "cpu")]
    return cells


def figures(work: Work, cost: Figure) -> list[str]:
    """Wall and processor time; with a rate, where the work has one."""
    if not isinstance(cost, Cost):
        return ["–", "–"]
    wall, cpu = f"{cost.wall:.2f} s", f"{cost.cpu:.2f} s"
    if work.rate == "captions":
        cpu += f", {cost.amount / cost.cpu:,.0f}/s"
    elif work.rate:
        wall += f", {cost.amount / cost.wall:,.0f} {work.rate}/s"
    return [wall, cpu]


def ratio(now: Figure, other: Figure, what: str) -> str:
    """How many times less time ours takes, for the same amount of work."""
    if not isinstance(now, Cost) or not isinstance(other, Cost):
        return "–"
    mine, theirs = getattr(now, what) / (now.amount or 1), getattr(other, what) / (other.amount or 1)
    return f"{theirs / mine:.1f}×"


def remarks(work: Work, found: dict[str, Figure]) -> Iterable[str]:
    """What was not measured, and where the numbers of two sides are not the same."""
    now = found["now"]
    for side, cost in found.items():
        if isinstance(cost, NotMeasured):
            yield f"{work.name}, {side}: not measured: {cost}"
        elif isinstance(cost, Cost) and isinstance(now, Cost) and side != "now":
            allowed = 1e-12 if side == "before" else 1e-6
            shared = [name for name in now.scores if name in cost.scores]
            other = [n for n in shared if abs(now.scores[n] - cost.scores[n]) > allowed]
            if other:
                yield f"{work.name}, {side}: {', '.join(other)} differ by more than {allowed:g}"
            elif shared and side == "official":
                yield f"{work.name}, official: {', '.join(shared)} are the same to {allowed:g}"


# --- growth ----------------------------------------------------------------------------------------------------------


def growing(side: Side, folder: Path, given: argparse.Namespace) -> list[str]:
    """Time and memory as the corpus grows, one run each; the largest in a work folder, shard by shard."""
    sizes = (
        ((200, False), (400, True))
        if given.quick
        else ((1000, False), (10_000, False), (10_000, True), (100_000, True))
    )
    head = ["videos", "work", "how", "wall", "processor", "memory of all processes", "videos/s"]
    lines = [markdown(head), markdown(["---"] * len(head))]
    print(plain(head))
    for videos, sharded in sizes:
        refs, pred = grown(folder, given.data, videos)
        for name, options in GROWTH:
            work = folder / f"work_{videos}_{name}"
            more = ["--work", str(work)] if sharded else []
            try:
                cost = side.run(["-c", CLI, "score", str(pred), "--refs", str(refs), *options, *more], watched=True)
                told = [
                    f"{cost.wall:.1f} s",
                    f"{cost.cpu:.1f} s",
                    f"{cost.peak / 2**20:,.0f} MB",
                    f"{videos / cost.wall:,.0f}",
                ]
            except NotMeasured as why:
                told = [f"not measured: {why}", "–", "–", "–"]
            shutil.rmtree(work, ignore_errors=True)
            row = [f"{videos:,}", name, "--work" if sharded else "whole", *told]
            lines.append(markdown(row))
            print(plain(row), flush=True)
    return lines


# --- what is written -------------------------------------------------------------------------------------------------


def machine(sides: Sequence[Side]) -> list[str]:
    """On what, when and of which commits."""
    model = platform.processor()
    if Path("/proc/cpuinfo").exists():
        names = [
            line.partition(": ")[2] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
        ]
        model = names[0] if names else model
    java = "no Java"
    if found := shutil.which("java"):
        said = subprocess.run([found, "-version"], capture_output=True, text=True).stderr
        java = said.splitlines()[0].replace('"', "") if said else java
    commits = "; ".join(f"{side.name}: {side.commit()}" for side in sides)
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        f"{model}, {cores} cores, {platform.system()}, Python {platform.python_version()}, {java}; {when} UTC.",
        f"Commits: {commits}.",
    ]


def markdown(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |" if cells[0] != "---" else "|" + "|".join(cells) + "|"


def plain(cells: Sequence[str]) -> str:
    return f"{cells[0]:<14}" + "".join(f" {cell:>16}" for cell in cells[1:])


def put(name: str, lines: Sequence[str]) -> None:
    """What stands between a document's two markers of this name, anew."""
    text = DOCUMENT.read_text()
    begin, end = f"<!-- {name}: written by bench/all.py -->", f"<!-- end of {name} -->"
    head, found, rest = text.partition(begin)
    _, found_end, tail = rest.partition(end)
    if not found or not found_end:
        raise SystemExit(f"{DOCUMENT} has no markers for {name}: {begin} … {end}")
    DOCUMENT.write_text("\n".join([head + begin, *lines, end]) + tail)
    print(f"{DOCUMENT}: {name} written")


if __name__ == "__main__":
    main()
