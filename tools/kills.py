"""Commands killed with SIGKILL at random moments: nothing half-written, the next run tells the same, nothing is left.

    make kills                                    200 kills over all commands, at most 25 minutes
    make kills ARGS="--kills 40 --seed 7 --only simulate-folder --budget 300"

Every command is run unbroken first. Then it is begun again and again in a fresh folder and killed: at a moment drawn
over its whole length, or a moment after something new appears on the disk, for there is most to be broken then; with
its workers, or alone. After each kill,

    whatever has a final name must be what the unbroken run wrote;
    the same command (with --resume or --overwrite where there is something) must end as the unbroken run did;
    no temporary may be left, neither beside the outputs nor in the cache nor where temporary folders live.

The seed decides on moments and kinds; how far a command has come by then is the machine's affair.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FABULA = [sys.executable, "-m", "fabula"]
METRICS = "SODA_d,SODA_c(text=exact,tok=none),DVC_CIDEr(tok=none),PRF@0.5"
WORDS = ["a", "dog", "runs", "over", "the", "green", "grass", "and", "one", "cat", "looks", "at", "it", "from", "far"]
LIMIT = 300  # seconds that a command may take
STALE = (".lock",)  # files that stay by design: the lock that METEOR's builders wait for


@dataclass(frozen=True)
class Command:
    """A command, how it is taken up again, and what it should leave."""

    name: str
    arguments: Callable[[Path, Path], list[str]]  # of the inputs' folder and the outputs'
    again: Callable[[Path], list[str]] = lambda out: []  # what the next run says besides
    whole: Callable[[str, bytes, bytes], bool] = lambda name, found, wanted: found == wanted
    same: Callable[[str, bytes, bytes], bool] = lambda name, found, wanted: found == wanted
    own_cache: bool = False


def make_inputs(folder: Path, videos: int = 160) -> None:
    """Annotations and predictions, the same in every run."""
    rng = random.Random(0)

    def story(i: int, events: int) -> dict[str, object]:
        starts = sorted(rng.sample(range(80), events))
        told = [{"start": s, "end": s + 9, "caption": " ".join(rng.choices(WORDS, k=6))} for s in starts]
        return {"id": f"v_{i}", "duration": 100, "events": told}

    for name, events in (("refs", 4), ("preds", 5)):
        lines = [json.dumps(story(i, events)) for i in range(videos)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "steps.jsonl").write_text("\n".join(json.dumps(story(i, 3)) for i in range(6)) + "\n")


def scored(inputs: Path, *more: str) -> list[str]:
    return ["score", str(inputs / "preds.jsonl"), "--refs", str(inputs / "refs.jsonl"), *more]


def simulated(ending: str) -> Command:
    return Command(
        f"simulate-{ending.strip('.') or 'folder'}",
        lambda inputs, out: ["simulate", str(inputs / "refs.jsonl"), "-o", str(out / f"store{ending}")],
        lambda out: ["--overwrite"],
    )


def whole_training(name: str, found: bytes, wanted: bytes) -> bool:
    """Of a run in the making: checkpoints that can be read, and tables whose lines are whole but for the last."""
    if name.endswith(".safetensors"):
        size = int.from_bytes(found[:8], "little")
        header = json.loads(found[8 : 8 + size])
        ends = [part["data_offsets"][1] for key, part in header.items() if key != "__metadata__"]
        return len(found) == 8 + size + max(ends)
    if name.endswith(".csv"):
        lines = table(found)[:-1]
        return lines == table(wanted)[: len(lines)]
    return found == wanted


def table(data: bytes) -> list[dict[str, str]]:
    """The lines of a .csv; of how long they took, nothing."""
    rows = csv.DictReader(io.StringIO(data.decode()))
    return [{n: v for n, v in row.items() if n != "seconds"} for row in rows]


def same_training(name: str, found: bytes, wanted: bytes) -> bool:
    """Weights, optimiser, random states and losses to the last bit."""
    if name.endswith(".safetensors"):
        return timeless(found) == timeless(wanted)
    return table(found) == table(wanted) if name.endswith(".csv") else found == wanted


def timeless(data: bytes) -> tuple[dict[str, object], bytes]:
    """Header and tensors of a checkpoint, without how long an epoch took."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    told = json.loads(header["__metadata__"]["fabula"])
    told.get("place", {}).get("line", {}).pop("seconds", None)
    told.pop("seal", None)  # of the header, with that number in it
    return header | {"__metadata__": told}, data[8 + size :]


COMMANDS = [
    Command("score-json", lambda i, o: [*scored(i, "-m", METRICS), "--json", str(o / "out.json")]),
    Command("score-rows", lambda i, o: [*scored(i, "-m", METRICS), "--rows", str(o / "rows.jsonl.gz")]),
    Command("score-html", lambda i, o: [*scored(i, "-m", METRICS), "--html", str(o / "page.html")]),
    Command("score-engine", lambda i, o: [*scored(i, "-m", METRICS), "--engine", "local", "--json", str(o / "o.json")]),
    Command(
        "score-work",
        lambda i, o: [*scored(i, "-m", METRICS), "--work", str(o / "work"), "--json", str(o / "out.json")],
        lambda out: ["--resume"] if (out / "work" / "manifest.json").exists() else [],
    ),
    Command(
        "cache",
        lambda i, o: ["score", str(i / "steps.jsonl"), "--refs", str(i / "steps.jsonl"), "-m", "SODA_c"],
        own_cache=True,
    ),
    simulated(""),
    simulated(".h5"),
    simulated(".safetensors"),
    Command(
        "train",
        lambda i, o: [
            *("train", "pss", "--data", str(i / "steps.jsonl"), "--features", str(i / "features.safetensors")),
            *("--tiny", "--epochs", "3", "--save-every", "2", "--threads", "1", "--out", str(o / "run")),
        ],
        lambda out: ["--resume"] if (out / "run" / "config.json").exists() else [],
        whole_training,
        same_training,
    ),
]


@dataclass
class Bench:
    """Where a command runs: its outputs, its cache, its temporary folders."""

    root: Path
    inputs: Path
    cache: Path

    def begin(self, command: Command, more: list[str]) -> subprocess.Popen[bytes]:
        cache = self.root / "cache" if command.own_cache else self.cache
        for folder in (self.out, self.root / "tmp", cache):
            folder.mkdir(parents=True, exist_ok=True)
        changed = {"FABULA_CACHE": str(cache), "TMPDIR": str(self.root / "tmp")}
        with (self.root / "said").open("wb") as said:
            return subprocess.Popen(
                [*FABULA, *command.arguments(self.inputs, self.out), *more],
                env=os.environ | changed, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
            )  # fmt: skip

    @property
    def out(self) -> Path:
        return self.root / "out"

    def finish(self, command: Command, more: list[str]) -> None:
        process = self.begin(command, more)
        if process.wait(LIMIT):
            raise SystemExit(f"{command.name} {' '.join(more)} ended with {process.returncode}:\n{self.said()}")

    def said(self) -> str:
        return (self.root / "said").read_text(errors="replace")[-2000:]

    def files(self, command: Command) -> dict[str, bytes]:
        """Everything under a final name."""
        places = [self.out, *([self.root / "cache"] if command.own_cache else [])]
        found = (f for place in places for f in place.rglob("*") if f.is_file() and not f.name.endswith(STALE))
        return {str(f.relative_to(self.root)): f.read_bytes() for f in found if not left(f.relative_to(self.root))}

    def leftovers(self) -> list[str]:
        return [str(f.relative_to(self.root)) for f in self.root.rglob("*") if left(f.relative_to(self.root))] + [
            f"tmp/{f.name}" for f in (self.root / "tmp").iterdir() if f.name.startswith(("fabula", ".fabula"))
        ]


def left(path: Path) -> bool:
    return any(part.endswith(".tmp") for part in path.parts)


def kill(process: subprocess.Popen[bytes], alone: bool) -> bool:
    """Whether it was still there to be killed. Its session is its own: nobody else is hit."""
    if process.poll() is not None:
        return False
    with contextlib.suppress(ProcessLookupError):
        (os.kill if alone else os.killpg)(process.pid, signal.SIGKILL)
    process.wait(LIMIT)
    if alone:
        time.sleep(0.3)  # its workers notice that they are alone
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode == -signal.SIGKILL


def wait_for_news(root: Path, process: subprocess.Popen[bytes], news: int) -> None:
    """Until so many new names have been seen."""
    seen: set[str] = set()
    while process.poll() is None and len(seen) < news:
        for place in ("out", "cache", "tmp"):
            for inside, folders, files in os.walk(root / place):
                seen.update(f"{inside}/{name}" for name in (*folders, *files))
        time.sleep(0.004)


def try_once(command: Command, bench: Bench, wanted: dict[str, bytes], seconds: float, rng: random.Random) -> bool:
    """One kill and what comes after; False where the command was quicker."""
    shutil.rmtree(bench.root, ignore_errors=True)
    aimed, alone = rng.random() < 0.5, rng.random() < 0.3
    news, pause, moment = rng.randrange(1, 2 + 2 * len(wanted)), rng.random() * 0.03, rng.random() * seconds
    process = bench.begin(command, [])
    if aimed:
        wait_for_news(bench.root, process, news)
        time.sleep(pause)
    else:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(moment)
    if not kill(process, alone):
        return False
    for name, data in bench.files(command).items():
        if name not in wanted or not command.whole(name, data, wanted[name]):
            raise SystemExit(f"{command.name}: {name} is half-written ({len(data)} bytes) after a kill")
    bench.finish(command, command.again(bench.out))
    found = bench.files(command)
    if found.keys() != wanted.keys():
        raise SystemExit(f"{command.name}: after the next run {sorted(found.keys() ^ wanted.keys())} differ")
    for name, data in found.items():
        if not command.same(name, data, wanted[name]):
            raise SystemExit(f"{command.name}: {name} is not what an unbroken run writes")
    if leftovers := bench.leftovers():
        raise SystemExit(f"{command.name}: left behind after the next run: {leftovers}")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=1500, help="seconds")
    parser.add_argument("--only", action="append", choices=[c.name for c in COMMANDS])
    given = parser.parse_args()
    began = time.monotonic()
    chosen = [c for c in COMMANDS if not given.only or c.name in given.only]
    with tempfile.TemporaryDirectory(prefix="kills-") as place:
        inputs, cache = Path(place) / "inputs", Path(place) / "warm"
        inputs.mkdir()
        make_inputs(inputs)
        bench = Bench(Path(place) / "bench", inputs, cache)
        store = ["simulate", str(inputs / "steps.jsonl"), "-o", str(inputs / "features.safetensors")]
        subprocess.run([*FABULA, *store], check=True, capture_output=True)
        known: dict[str, tuple[dict[str, bytes], float]] = {}
        for command in chosen:
            shutil.rmtree(bench.root, ignore_errors=True)
            start = time.monotonic()
            bench.finish(command, [])
            known[command.name] = bench.files(command), time.monotonic() - start
        done, quick = Counter[str](), Counter[str]()
        rng = random.Random(given.seed)
        while done.total() < given.kills and time.monotonic() - began < given.budget:
            command = min(chosen, key=lambda c: (done[c.name] + quick[c.name] / 4, chosen.index(c)))
            alive = try_once(command, bench, *known[command.name], rng)
            (done if alive else quick)[command.name] += 1
        per = ", ".join(f"{name} {count}" for name, count in done.items())
        print(f"{done.total()} kills (seed {given.seed}, {time.monotonic() - began:.0f} s): {per}; 0 faults")
        if done.total() < given.kills:
            print(f"the budget of {given.budget:g} s ended {given.kills - done.total()} kills early")


if __name__ == "__main__":
    main()
