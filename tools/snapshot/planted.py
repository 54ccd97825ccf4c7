"""Forty changes put into a copy of the source, one at a time: does the snapshot see each of them?

A change is a file, what stands there, what is put there, and the runs that are looked at (a part of their names): a run
that sees it is one that sees it in the whole snapshot too. The copy is tools/mutants.py's: nothing is written to src.
"""

from __future__ import annotations

import json
import sys
import time
from typing import NamedTuple

from tools.mutants import SOURCE, Scratch


class Change(NamedTuple):
    kind: str
    file: str
    old: str
    new: str
    runs: str


SCORE = "verb: score good.json --refs annotator_1.json annotator_2.json --json"
CHANGES = (
    # defaults
    Change("default", "stats/resampling.py", "option(10_000,", "option(10_001,", "surface: command compare"),
    Change("default", "stats/resampling.py", "option(0.95,", "option(0.94,", "surface: command score"),
    Change(
        "default",
        "stats/resampling.py",
        "alpha: float = option(0.05,",
        "alpha: float = option(0.06,",
        "surface: command compare",
    ),
    Change("default", "llm/options.py", "option(120.0,", "option(121.0,", "surface: command annotate run"),
    Change(
        "default",
        "llm/options.py",
        "retries: int = option(5,",
        "retries: int = option(6,",
        "surface: command annotate run",
    ),
    Change("default", "web/binding.py", "option(8765,", "option(8766,", "surface: command study serve"),
    Change(
        "default", "library/options.py", "limit: int = option(20,", "limit: int = option(21,", "surface: command search"
    ),
    Change("default", "annotation/recipe.py", "option(800,", "option(801,", "surface: command annotate plan"),
    Change("default", "metrics/stories/orderedprf.py", "tau: float = 0.5", "tau: float = 0.6", "metric: OrderedPRF"),
    Change("default", "metrics/stories/soda_a.py", "(0.3, 0.5, 0.7, 0.9)", "(0.3, 0.5, 0.7, 0.8)", "metric: SODA_a"),
    Change("default", "metrics/stories/prf.py", "(0.5,)", "(0.51,)", "metric: PRF"),
    # digits
    Change(
        "digit",
        "text/meteor/__init__.py",
        "ALPHA, BETA, GAMMA, DELTA = 0.85,",
        "ALPHA, BETA, GAMMA, DELTA = 0.8500001,",
        "metric: METEOR",
    ),
    Change("digit", "text/rouge.py", "BETA = 1.2\n", "BETA = 1.2000001\n", "metric: DVC_ROUGE_L"),
    Change("digit", "benchmarks/soda/protocol.py", '"eps": 1e-8', '"eps": 1e-6', "golden: soda-2021"),
    Change("digit", "benchmarks/soda/protocol.py", '"missing": "drop"', '"missing": "zero"', "golden: soda-2021"),
    Change("digit", "report/table.py", "score.scale:.2f", "score.scale:.1f", SCORE),
    Change(
        "digit",
        "report/compare.py",
        '["metric", "difference", "delta"',
        '["metric", "difference", "change"',
        "verb: compare",
    ),
    Change(
        "digit",
        "stats/choose.py",
        "LEAST = 5 ",
        "LEAST = 16 ",
        "verb: score good.json --refs annotator_1.json annotator_2.json --ci",
    ),
    # options
    Change("option", "verbs/scoring/commands/score.py", "thresholds: bool", "levels: bool", "surface: command score"),
    Change(
        "option",
        "verbs/scoring/commands/score.py",
        "against: Path | None",
        "second: Path | None",
        "surface: command score",
    ),
    Change(
        "option", "library/options.py", "at_least=1, at_most=1000", "at_least=1, at_most=999", "surface: command search"
    ),
    Change(
        "option",
        "hosts/bundles.py",
        "private: bool = option(False,",
        "private: bool = option(True,",
        "surface: command host",
    ),
    Change("option", "verbs/terminal/flags.py", '"-r", "--refs"', '"--refs"', "surface: command compare"),
    Change("option", "verbs/building/commands/host.py", '"--out", "-o"', '"--out"', "surface: command host"),
    # columns and keys
    Change("column", "verbs/trust/commands/power.py", '"sigma"', '"spread"', "verb: power"),
    Change("column", "report/judges.py", '"unparsed"', '"unread"', "verb: protocols preds_two"),
    Change("column", "data/result.py", '"protocol": self.protocol', '"rules": self.protocol', SCORE),
    Change("column", "data/result.py", '"counts": dict', '"count": dict', SCORE),
    Change("column", "metrics/stories/miou.py", '"value"', '"mean"', "metric: mIoU"),
    Change(
        "column",
        "metrics/stories/_soda.py",
        '("precision", "recall", "f1")',
        '("recall", "precision", "f1")',
        "metric: SODA_d",
    ),
    Change("column", "stats/compare.py", "|alpha:{t.alpha:g}", "|level:{t.alpha:g}", "verb: compare"),
    # numbers of messages
    Change(
        "message",
        "verbs/terminal/gates.py",
        "{value:.4f}",
        "{value:.3f}",
        "verb: score good.json --refs annotator_1.json -m SODA_c --fail-under",
    ),
    Change("message", "verbs/trust/power.py", "{len(several)} systems", "{len(several) + 1} systems", "refused: power"),
    Change("message", "verbs/scoring/compare.py", "two or more", "2 or more", "refused: compare"),
    # exit codes
    Change(
        "exit",
        "verbs/command_line.py",
        "end_with(str(error), 3)",
        "end_with(str(error), 4)",
        "verb: compare good.json over_segmenting.json",
    ),
    Change("exit", "verbs/command_line.py", "code: int = 2)", "code: int = 1)", "refused: score"),
    Change("exit", "verbs/trust/commands/lint.py", "found.sound else 1", "found.sound else 0", "verb: lint"),
    Change(
        "exit",
        "verbs/command_line.py",
        "err=True)\n        sys.exit(2)",
        "err=True)\n        sys.exit(3)",
        "refused: scroe",
    ),
    # names
    Change("name", "__init__.py", '    "cite",\n', "", "surface: names of fabula"),
    Change("name", "text/judges/__init__.py", 'group="fabula.judges"', 'group="fabula.judge"', "surface: entry"),
)


def main(processes: int = 1) -> int:
    """Every change in turn; 1 where one is not seen."""
    from tools.snapshot.compare import differences

    missing = [c for c in CHANGES if c.old not in (SOURCE / c.file).read_text(encoding="utf-8")]
    for change in missing:
        print(f"nothing to change: {change.file} has no {change.old!r}")
    if missing:
        return 2
    scratch, started = Scratch(), time.monotonic()
    try:
        before = {runs: look(scratch, runs) for runs in dict.fromkeys(c.runs for c in CHANGES)}
        unseen = 0
        for change in CHANGES:
            text = (SOURCE / change.file).read_text(encoding="utf-8").replace(change.old, change.new)
            scratch.put(change.file, text.encode())
            try:
                now = look(scratch, change.runs)
            finally:
                scratch.restore(change.file)
            found = [d for d in differences(before[change.runs], now) if d[1] != "words"]
            unseen += not found
            print(
                f"{'seen' if found else 'NOT SEEN':9} {change.kind:8} {change.file}: "
                f"{change.old!r} → {change.new!r}: {len(found)} parts"
            )
    finally:
        scratch.close()
    print(f"{len(CHANGES)} changes, {unseen} not seen, {time.monotonic() - started:.0f} s")
    return int(unseen > 0)


def look(scratch: Scratch, runs: str) -> dict[str, dict[str, str]]:
    """The digests of the runs whose names hold this."""
    done = scratch.run(["-m", "tools.snapshot.planted", runs], 600)
    try:
        found: dict[str, dict[str, str]] = json.loads(done.stdout)
    except ValueError:
        return {"run": {"ended": (done.stderr or done.stdout)[-300:]}}
    return found


if __name__ == "__main__":
    from tools.snapshot.compare import take_some
    from tools.snapshot.runs import every

    chosen = [run.name for run in every() if sys.argv[1] in run.name]
    print(json.dumps(take_some(chosen)))
