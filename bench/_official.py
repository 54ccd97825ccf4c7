"""The official Java tools (PTBTokenizer 3.4.1, METEOR 1.5, SODA_c on top), driven as pycocoevalcap does and measured.

Only benchmarks use this. The jars are found inside the installed pycocoevalcap, which is not imported; where it or Java
is absent `Unavailable` says so. Every call returns its answer and a Cost: wall time and the Java child's peak memory.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

METEOR_JAR, PTB_JAR = "meteor/meteor-1.5.jar", "tokenizer/stanford-corenlp-3.4.1.jar"
# What pycocoevalcap deletes after tokenising. The brackets are upper-case, the text is not: they stay in it.
DROPPED = {"''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";"}


class Unavailable(RuntimeError):  # noqa: N818  (reads better than UnavailableError)
    """Java or pycocoevalcap is not on this machine."""


class Cost(NamedTuple):
    """Wall seconds (start of the JVM included) and the child's peak resident memory in bytes (0 where unknown)."""

    seconds: float
    peak_rss: int


def java() -> str:
    """The path of java."""
    found = shutil.which("java")
    if found is None:
        raise Unavailable("java is not on the PATH; install a JRE to time the official tools")
    return found


def jar(name: str) -> Path:
    """A jar of the installed pycocoevalcap, for example `meteor/meteor-1.5.jar`."""
    spec = importlib.util.find_spec("pycocoevalcap")  # a top-level name: this looks for it and does not import it
    folders = list(spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        if (file := Path(folder).resolve() / name).is_file():
            return file
    seen = f"pycocoevalcap in {folders[0]} has no {name}" if folders else "pycocoevalcap is not installed"
    raise Unavailable(f"{seen}; install it with: pip install pycocoevalcap==1.2")


class Child:
    """One Java process: pipes for its input and output, a file for its complaints.

    Its VmHWM is read, not its ru_maxrss: the latter starts from the size of the Python that forked it. VmHWM never
    falls, so one look before the end is enough; `watched` is for a child that ends by itself.
    """

    def __init__(self, arguments: Sequence[str], folder: Path, *, watched: bool = False) -> None:
        program = java()
        self.complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed in `close`)
        self.peak_rss, self._done, self._began = 0, threading.Event(), time.perf_counter()
        # A decimal comma in the user's locale would break the numbers on the pipe.
        self.process = subprocess.Popen(
            [program, *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.complaints,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        if watched:
            self._watcher.start()

    def ask(self, line: str) -> str:
        """Write one line, read one line."""
        self.write(line)
        return self.read()

    def write(self, line: str) -> None:
        if "\n" in line or "\r" in line:
            raise ValueError(f"a line break inside a caption would desynchronise the pipe: {line[:80]!r}")
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def read(self) -> str:
        assert self.process.stdout is not None
        answer = self.process.stdout.readline()
        if not answer:
            raise self._died()
        return answer.decode().strip()

    def close(self) -> Cost:
        """End the child; idempotent."""
        self._look()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._done.set()
        if self._watcher.is_alive():
            self._watcher.join()
        for pipe in (self.process.stdin, self.process.stdout, self.complaints):
            if pipe is not None and not pipe.closed:
                pipe.close()
        return self.cost()

    def cost(self) -> Cost:
        """What it has cost so far."""
        self._look()
        return Cost(time.perf_counter() - self._began, self.peak_rss)

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            self._look()

    def _look(self) -> None:
        if sys.platform != "linux" or self.process.returncode is not None:  # a reaped pid may be another's by now
            return
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii", errors="replace")
        except OSError:
            return
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                self.peak_rss = max(self.peak_rss, int(line.split()[1]) * 1024)

    def _died(self) -> RuntimeError:
        self.process.wait()
        self.complaints.seek(0)
        said = self.complaints.read().decode(errors="replace").strip()[-400:]
        return RuntimeError(f"java ended with code {self.process.returncode}: {said or 'it said nothing'}")


def ptb(sentences: Sequence[str]) -> tuple[list[str], Cost]:
    """Each sentence tokenised and without the dropped tokens, through one JVM over one temporary file."""
    if not sentences:
        return [], Cost(0.0, 0)
    lines = [text.replace("\n", " ") for text in sentences]
    with tempfile.TemporaryDirectory(prefix="fabula-ptb-") as folder:
        file = Path(folder) / "sentences"
        file.write_bytes("\n".join(lines).encode())
        main = ["-cp", str(jar(PTB_JAR)), "edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase"]
        child = Child([*main, "sentences"], Path(folder), watched=True)
        try:
            assert child.process.stdin is not None
            assert child.process.stdout is not None
            child.process.stdin.close()
            said = child.process.stdout.read().decode()
            if child.process.wait() != 0:
                raise child._died()
        finally:
            cost = child.close()
    tokenised = said.split("\n")
    if len(tokenised) != len(lines):  # pycocoevalcap would hand out the wrong lines from there on
        hint = "does a caption hold another line break, such as \\r, \\f or U+2028?"
        raise RuntimeError(f"the tokenizer answered {len(tokenised)} lines for {len(lines)} sentences; {hint}")
    return [" ".join(w for w in line.rstrip().split(" ") if w not in DROPPED) for line in tokenised], cost


class Meteor:
    """METEOR 1.5 on a pipe: `with Meteor() as meteor: meteor.score(pairs)`."""

    def __init__(self) -> None:
        file = jar(METEOR_JAR)
        self.child = Child(["-jar", "-Xmx2G", file.name, "-", "-", "-stdio", "-l", "en", "-norm"], file.parent)

    def __enter__(self) -> Meteor:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.child.close()

    def score(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> tuple[float, list[float]]:
        """(hypothesis, references) pairs → METEOR's aggregate and the value of each: a SCORE line each, one EVAL."""
        if not pairs:
            return 0.0, []
        lines = [" ||| ".join(["SCORE", *refs, hyp.replace("|||", "").replace("  ", " ")]) for hyp, refs in pairs]
        self.child.write(" ||| ".join(["EVAL", *map(self.child.ask, lines)]))
        values = [float(self.child.read()) for _ in pairs]
        return float(self.child.read()), values

    def cost(self) -> Cost:
        """Since the start of the JVM."""
        return self.child.cost()


def meteor(pairs: Sequence[tuple[str, Sequence[str]]]) -> tuple[float, list[float], Cost]:
    """One METEOR process for one list of pairs."""
    with Meteor() as process:
        aggregate, values = process.score(pairs)
        return aggregate, values, process.cost()


@dataclass(frozen=True)
class Soda:
    """What the official SODA_c says and what it costs; `seconds` is all of it, both JVMs and the Python around them."""

    precision: float
    recall: float
    f1: float
    videos: dict[str, tuple[float, float, float]]
    pairs: int
    seconds: float
    ptb: Cost
    meteor: Cost


def soda_c_official(refs: Mapping[str, Any], preds: Mapping[str, Any]) -> Soda:
    """SODA_c (Fujita et al., ECCV 2020) driven as fujiso/SODA drives METEOR, for one reference set.

    `refs` is {video: {"timestamps": [[s, e]…], "sentences": […]}}, `preds` {video: [{"timestamp": [s, e], "sentence":
    …}…]}, bare or under "results". As there: videos absent from one side are dropped, predictions are sorted by start,
    non-ASCII characters become blanks, predictions and references are tokenised first, and METEOR is asked once per
    gold sentence for all predictions with the roles exchanged (hypothesis = gold, reference = prediction). The
    order of videos is fixed here and the DP is a loop, which changes no value; an empty list, a crash there, has 0.
    """
    began = time.perf_counter()
    results: Mapping[str, Any] = preds.get("results", preds)
    videos = [video for video in refs if video in results]
    P = {video: sorted(results[video], key=lambda event: event["timestamp"][0]) for video in videos}
    predicted, cost_p = ptb([_ascii(event["sentence"]) for video in videos for event in P[video]])
    gold, cost_g = ptb([_ascii(text) for video in videos for text in refs[video]["sentences"]])
    p_at = g_at = pairs = 0
    values: dict[str, tuple[float, float, float]] = {}
    with Meteor() as process:
        for video in videos:
            n_p, n_g = len(P[video]), len(refs[video]["sentences"])
            p_text, g_text = predicted[p_at : p_at + n_p], gold[g_at : g_at + n_g]
            p_at, g_at, pairs = p_at + n_p, g_at + n_g, pairs + n_p * n_g
            scores = [process.score([(g, [p]) for p in p_text])[1] for g in g_text]  # [G, P]
            S = [0.0] * (n_p + 1)
            for g_time, row in zip(refs[video]["timestamps"], scores, strict=True):
                above, S = S, [0.0]
                for j, (event, value) in enumerate(zip(P[video], row, strict=True)):
                    S.append(max(above[j + 1], S[j], above[j] + _iou(event["timestamp"], g_time) * value))
            p, r = (S[-1] / n_p, S[-1] / n_g) if n_p and n_g else (0.0, 0.0)
            values[video] = p, r, 2 * p * r / (p + r) if p + r > 0 else 0.0
        cost_m = process.cost()
    precision, recall, f1 = (sum(v[k] for v in values.values()) / max(1, len(values)) for k in range(3))
    both = Cost(cost_p.seconds + cost_g.seconds, max(cost_p.peak_rss, cost_g.peak_rss))
    return Soda(precision, recall, f1, values, pairs, time.perf_counter() - began, both, cost_m)


def _ascii(text: str) -> str:
    return "".join(letter if letter.isascii() else " " for letter in text)


def _iou(a: Sequence[float], b: Sequence[float]) -> float:
    overlap = max(0.0, min(a[1], b[1]) - max(a[0], b[0]))
    union = min(max(a[1], b[1]) - min(a[0], b[0]), a[1] - a[0] + b[1] - b[0])
    return overlap / (union + 1e-8)
