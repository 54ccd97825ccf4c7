"""Take a snapshot, or compare one with what the program does now: what differs, by group and part."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tools.snapshot.take import Parts, digest, take

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests" / "snapshot.json"
ALLOWED = ROOT / "tests" / "snapshot-allowed.txt"
WORDS = "words"  # the part whose differences fail nothing
Snapshot = dict[str, dict[str, str]]  # run → part → digest


def take_all(only: Iterable[str] = (), processes: int = 2) -> Snapshot:
    """Every run of these groups; run by run in processes of their own."""
    from tools.snapshot.runs import every

    names = [run.name for run in every() if not only or run.group in only]
    slices = [names[i::processes] for i in range(processes)]
    found: Snapshot = {}
    with ProcessPoolExecutor(processes) as pool:
        for some in pool.map(take_some, slices):
            found |= some
    return {name: found[name] for name in sorted(found)}


def take_some(names: list[str]) -> Snapshot:
    from tools.snapshot.runs import every

    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    runs = {run.name: run for run in every()}
    return {name: {part: digest(text) for part, text in take(runs[name]).items()} for name in names}


def differences(
    before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str, str]]:
    """(run, part, what): runs that came or went, parts that came, went or changed."""
    for name in sorted({*before, *now}):
        if name not in now or name not in before:
            yield name, "run", "is gone" if name not in now else "is new"
            continue
        for part in sorted({*before[name], *now[name]}):
            old, new = before[name].get(part), now[name].get(part)
            if old != new:
                yield name, part, f"{old} → {new}" if old and new else "is gone" if old else "is new"


def read_allowed(path: Path) -> list[tuple[str, str]]:
    """`PATTERN  # reason`: a pattern of "run | part"; a line without a reason is refused."""
    rules = []
    for n, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.is_file() else (), 1):
        if line.strip() and not line.startswith("#"):
            pattern, _, reason = line.partition("  # ")
            if not reason.strip():
                raise SystemExit(f"{path.name}: line {n} has no reason; write: PATTERN  # reason")
            rules.append((pattern.strip(), reason.strip()))
    return rules


def report(found: Iterable[tuple[str, str, str]], rules: list[tuple[str, str]], most: int = 12) -> int:
    """Differences by group and part; 1 where one is neither allowed nor of words alone."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    allowed, words = defaultdict(int), 0
    for name, part, what in found:
        rule = next((r for r in rules if fnmatch.fnmatchcase(f"{name} | {part}", r[0])), None)
        if rule:
            allowed[rule] += 1
        elif part == WORDS:
            words += 1
        else:
            kind = "file" if part.startswith("file ") else part
            groups[name.partition(":")[0], kind].append(f"{name} | {part}: {what}")
    for (group, kind), lines in sorted(groups.items()):
        print(f"\n{group}, {kind}: {len(lines)}")
        print(
            "\n".join(f"  {line}" for line in lines[:most]),
            *([f"  … {len(lines) - most} more"] if len(lines) > most else []),
            sep="\n",
        )
    for (pattern, reason), count in allowed.items():
        print(f"allowed {count} × {pattern}: {reason}")
    for pattern, reason in rules:
        if (pattern, reason) not in allowed:
            print(f"allowed, and not seen: {pattern}: {reason}")
    total = sum(map(len, groups.values()))
    print(f"\n{total} differences, {sum(allowed.values())} allowed, {words} in the words of messages")
    return int(bool(total))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.snapshot", description=__doc__)
    parser.add_argument("what", choices=("take", "compare", "show", "planted"))
    parser.add_argument("names", nargs="*", help="of show: names of runs, or parts of names")
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--allow", type=Path, default=ALLOWED)
    parser.add_argument("--only", default="", help="groups, comma separated")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    only = tuple(filter(None, args.only.split(",")))
    if args.what == "planted":
        from tools.snapshot.planted import main as plant

        return plant(args.processes)
    if args.what == "show":
        return show(args.names)
    started = time.monotonic()
    now = take_all(only, args.processes)
    print(f"{len(now)} runs, {sum(map(len, now.values()))} parts, {time.monotonic() - started:.0f} s", file=sys.stderr)
    if args.what == "take":
        args.file.write_text(json.dumps(now, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
        return 0
    before: Snapshot = json.loads(args.file.read_text(encoding="utf-8"))
    chosen = {n: p for n, p in before.items() if not only or n.partition(":")[0] in only}
    chosen = {n: p for n, p in chosen.items() if n in now or not n.startswith("real: ")}  # no real data here
    return report(differences(chosen, now), read_allowed(args.allow))


def show(names: list[str]) -> int:
    from tools.snapshot.runs import every

    some = [run for run in every() if any(name in run.name for name in names)]
    for run in some:
        parts: Parts = take(run)
        print(f"═══ {run.name}")
        for part, text in parts.items():
            print(f"─── {part} ({digest(text)})\n{text}")
    return 0 if some else 1
