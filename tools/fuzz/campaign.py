"""A run over many inputs: processes, budgets, counts, and finds kept as files. An input is (seed, group, number)."""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any

from tools.fuzz.shrink import shrink
from tools.fuzz.watch import Case, Fault, Target, judge

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / ".cache" / "fuzz"
SHARE = {
    "readers": 0.3,
    "scorings": 0.4,
    "stores": 0.05,
    "builders": 0.25,
}  # of the time, where a budget and no number is given
MEMORY = 6 << 30  # bytes of address space for a process
TELL = 60.0  # seconds between two lines of how far it is
PATIENCE = 120.0, 1200.0  # seconds of processor and of the clock after which the process of an input is ended
SLOW = re.compile(r"SPICE|identity|protocols")  # the parser's Python twin takes seconds for a sentence


def targets_of(group: str) -> tuple[Target, ...]:
    """The targets of a group; those of another are not imported."""
    if group == "readers":
        from tools.fuzz import readers

        return readers.TARGETS
    if group == "scorings":
        from tools.fuzz import commands, verbs

        return (*verbs.TARGETS, *commands.TARGETS)
    if group == "builders":
        from tools.fuzz import builders

        return builders.TARGETS
    from tools.fuzz import stores

    return stores.TARGETS


def find_target(name: str) -> Target:
    return next(t for group in SHARE for t in targets_of(group) if t.name == name)


def make_case(some: tuple[Target, ...], seed: str, group: str, number: int) -> tuple[Target, Case, bool]:
    """The input of this number, and whether both kernels are asked."""
    rng = Random(f"{seed}/{group}/{number}")
    (target,) = rng.choices(some, [t.weight for t in some])
    both = rng.random() < target.both
    case = target.make(rng)
    return target, case, both and not SLOW.search(str(case.options))


# ── one process ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Work:
    """What a process has to do: every `jobs`-th number from `first` on, until the last or until the time is over."""

    group: str
    seed: str
    first: int
    jobs: int
    last: int
    seconds: float
    only: list[str]
    state: str  # a file with the number at hand
    out: str


def work(task: Work) -> None:
    """Prints a line of JSON for every find and, at the end and every few seconds, for the counts."""
    os.environ.setdefault("FABULA_THREADS", "1")
    if task.group != "stores":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    some = tuple(t for t in targets_of(task.group) if not task.only or t.name in task.only)
    if not some:
        return
    known, counts, slow = set[str](), Counter[str](), list[Any]()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as temporary:
        folder = Path(temporary)
        with Path(task.state).open("r+b") as file, mmap.mmap(file.fileno(), 24) as state:
            until, shown = time.monotonic() + task.seconds, time.monotonic()
            for number in range(task.first, task.last, task.jobs):
                state[:24] = b"%024d" % number
                target, case, both = make_case(some, task.seed, task.group, number)
                began = time.process_time()
                how, faults = judge(target, case, folder, both)
                took = time.process_time() - began
                counts[f"{target.name} {how}"] += 1
                counts[f"{target.name} calls"] += 1 + both
                if took > 0.5 and not faults:
                    slow = sorted([*slow, [round(took, 2), number, target.name]], reverse=True)[:5]
                for fault in faults:
                    counts["faults"] += 1
                    if fault.name not in known:
                        known.add(fault.name)
                        report(keep_find(task, target, case, fault, number, folder))
                now = time.monotonic()
                if now - shown > 5 or now > until:
                    report({"counts": counts, "slow": slow})
                    counts, shown = Counter[str](), now
                if now > until:
                    break
    report({"counts": counts, "slow": slow, "ended": True})


def report(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def keep_find(task: Work, target: Target, case: Case, fault: Fault, number: int, folder: Path) -> dict[str, Any]:
    """The find, made smaller, as a file of the run's folder."""

    def still(one: Case) -> bool:
        try:
            return any(f.name == fault.name for f in judge(target, one, folder)[1])
        except Exception:  # a file or an option that a target cannot do without is gone
            return False

    if fault.kind not in ("hang", "memory"):
        case = shrink(case, still)
        fault = next((f for f in judge(target, case, folder)[1] if f.name == fault.name), fault)
    kept = {"what": fault.name, "text": fault.text, "number": f"{task.seed}/{task.group}/{number}", **case.to_dict()}
    path = Path(task.out) / f"{slug(fault)}.json"
    path.write_text(json.dumps(kept, indent=1))
    return {"find": fault.name, "file": str(path)}


def slug(fault: Fault) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", fault.name.lower()).strip("-")[:60]
    return f"{words}-{blake2b(fault.name.encode(), digest_size=3).hexdigest()}"


# ── all processes ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Tally:
    counts: Counter[str] = field(default_factory=Counter)
    finds: dict[str, str] = field(default_factory=dict)
    slow: list[Any] = field(default_factory=list)
    seconds: float = 0.0
    stopped: bool = False


def run_group(group: str, o: argparse.Namespace, number: int, seconds: float, out: Path) -> Tally:
    """All processes of a group; one that dies or hangs is a find, and begins again behind the input it died of."""
    tally, began = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        running: list[tuple[subprocess.Popen[bytes], Work, Any]] = []

        def start(first: int) -> None:
            state = Path(temporary) / f"{group}-{first}-{len(running)}-{time.monotonic_ns()}"
            state.write_bytes(b"%024d" % first)
            left = seconds - (time.monotonic() - began)
            task = Work(group, o.seed, first, o.jobs, number, max(left, 0.1), o.only, str(state), str(out))
            given = json.dumps({name: getattr(task, name) for name in Work.__slots__})
            log = Path(f"{state}.out").open("w+b")  # noqa: SIM115  (closed when its lines are taken)
            process = subprocess.Popen([sys.executable, "-m", "tools.fuzz", "--worker", given], stdout=log, cwd=ROOT)
            running.append((process, task, log))

        def watch() -> None:
            last_seen: dict[int, tuple[bytes, float, float]] = {}
            told = began
            while running:
                time.sleep(0.3)
                if time.monotonic() - told > TELL:
                    told = time.monotonic()
                    place = ", ".join(f"{int(Path(task.state).read_bytes()):,}" for _, task, _ in running)
                    print(f"{group}: {told - began:.0f} s, at number {place}", file=sys.stderr)
                for entry in list(running):
                    process, task, log = entry
                    at, used, now = Path(task.state).read_bytes(), processor_time(process.pid), time.monotonic()
                    if last_seen.get(process.pid, (b"", 0.0, 0.0))[0] != at:
                        last_seen[process.pid] = (at, used, now)
                    _, used_then, then = last_seen[process.pid]
                    hung = used - used_then > PATIENCE[0] or now - then > PATIENCE[1]
                    if hung:
                        process.kill()
                    if process.poll() is None and not hung:
                        continue
                    process.wait()
                    running.remove(entry)
                    ended = take_lines(log, tally)
                    if not ended and process.returncode != 0:
                        where = int(at)
                        kept = keep_death(task, where, "hang" if hung else f"exit code {process.returncode}", out)
                        tally.finds[kept[0]] = kept[1]
                        if time.monotonic() - began < seconds and where + o.jobs < number:
                            start(where + o.jobs)

        for j in range(o.jobs):
            start(o.first + j)
        try:
            watch()
        except KeyboardInterrupt:  # what was done till now is told
            tally.stopped = True
            for process, _, log in running:
                process.kill()
                process.wait()
                take_lines(log, tally)
    tally.seconds = time.monotonic() - began
    return tally


def processor_time(pid: int) -> float:
    """Seconds that a process has had; 0 where the machine does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def take_lines(log: Any, tally: Tally) -> bool:
    """What a process said; True where it came to its end."""
    log.seek(0)
    ended = False
    for line in log.read().decode("utf-8", "replace").splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if "find" in said:
            tally.finds.setdefault(said["find"], said["file"])
        tally.counts.update(said.get("counts", {}))
        tally.slow = sorted({*tally.slow, *map(tuple, said.get("slow", []))}, reverse=True)[:5]
        ended |= said.get("ended", False)
    log.close()
    return ended


def keep_death(task: Work, number: int, how: str, out: Path) -> tuple[str, str]:
    some = tuple(t for t in targets_of(task.group) if not task.only or t.name in task.only)
    try:
        target, case, _ = make_case(some, task.seed, task.group, number)
    except Exception as error:
        return f"the fuzzer itself: {error!r} at {task.seed}/{task.group}/{number}", ""
    fault = Fault("died", f"{target.name} {how}", f"{how} at {task.seed}/{task.group}/{number}")
    path = out / f"{slug(fault)}.json"
    kept = {"what": fault.name, "text": fault.text, "number": f"{task.seed}/{task.group}/{number}", **case.to_dict()}
    path.write_text(json.dumps(kept, indent=1))
    return fault.name, str(path)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description="Mangled inputs for readers and verbs.")
    parser.add_argument("--budget", type=float, help="seconds in all; without numbers of inputs, 60")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    for group in SHARE:
        parser.add_argument(f"--{group}", type=int, help=f"how many inputs of the {group}")
    parser.add_argument("--first", type=int, default=0, help="number of the first input, to go on with an earlier run")
    parser.add_argument("--only", type=lambda s: s.split(","), default=[], help="targets by name, comma separated")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--replay", type=Path, help="one find again")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    o = parser.parse_args(argv)
    if o.worker:
        work(Work(**json.loads(o.worker)))
        return 0
    if o.replay:
        return replay(o.replay)
    counted = {group: getattr(o, group) for group in SHARE if getattr(o, group) is not None}
    budget = o.budget or (float("inf") if counted else 60.0)
    groups = list(counted or SHARE)
    if o.only:
        groups = [g for g in groups if any(t.name in o.only for t in targets_of(g))]
    share = sum(SHARE[g] for g in groups)
    out = o.out / f"seed-{o.seed}"
    out.mkdir(parents=True, exist_ok=True)
    finds: dict[str, str] = {}
    for group in groups:
        number = o.first + counted.get(group, 1 << 60)
        seconds = min(budget * SHARE[group] / share, 1e9)
        tally = run_group(group, o, number, seconds, out)
        print_tally(group, o, tally)
        finds |= tally.finds
        if tally.stopped:
            break
    return 1 if finds else 0


def print_tally(group: str, o: argparse.Namespace, tally: Tally) -> None:
    ends = {k: n for k, n in tally.counts.items() if k.endswith((" read", " refused", " broken"))}
    calls = sum(n for k, n in tally.counts.items() if k.endswith(" calls"))
    total = sum(ends.values())
    rate = total / max(tally.seconds, 1e-9) / o.jobs
    took = f"{tally.seconds:.0f} s on {o.jobs} processes ({rate:.0f} inputs/s each)"
    how = "stopped: " if tally.stopped else ""
    print(f"{how}{group}: {total:,} inputs, {calls:,} calls, seed {o.seed}, {took}, {len(tally.finds)} finds")
    for name in sorted({k.rpartition(" ")[0] for k in ends}):
        each = ", ".join(f"{ends.get(f'{name} {how}', 0):,} {how}" for how in ("read", "refused", "broken"))
        print(f"  {name:10} {each}")
    for took, number, name in tally.slow:
        print(f"  slow: {took} s, {name}, number {number}")
    for what, file in sorted(tally.finds.items()):
        print(f"  find: {what}\n        {file}")


def replay(path: Path) -> int:
    case = Case.of(json.loads(path.read_text()))
    with tempfile.TemporaryDirectory() as temporary:
        how, faults = judge(find_target(case.target), case, Path(temporary))
    print(how)
    for fault in faults:
        print(f"{fault.name}\n{fault.text}")
    return 1 if faults else 0
