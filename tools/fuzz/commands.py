"""The command line in this process: bent files, odd file names, odd values of options, to a pipe and to a terminal."""

from __future__ import annotations

import contextlib
import io as streams
import os
import re
import sys
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import click
from tools.fuzz.odd import FILES, VALUES
from tools.fuzz.verbs import TASKS, choose_options, make_files
from tools.fuzz.watch import CONTROLS, LONGEST, Case, Said, Target, Wrong

from fabula.benchmarks import room as protocol_room
from fabula.verbs import command_line as cli

VERBS = (
    "score",
    "score",
    "score",
    "lint",
    "convert",
    "parse",
    "protocols",
    "compare",
    "diagnose",
    "stress",
    "baseline",
)
OUTPUTS = (
    [],
    [],
    ["--json", "-"],
    ["--json", "out.json"],
    ["--rows", "rows.jsonl"],
    ["--ci", "--resamples", "20"],
    ["--html", "page.html"],
)
PAINT = re.compile(r"^\x1b\[3[13]m|\x1b\[0m$", re.MULTILINE)  # errors are red and warnings yellow, on a terminal


def make_command(rng: Random) -> Case:
    task = rng.choice(TASKS)
    files, options = make_files(rng, task, 0.7)
    if rng.random() < 0.1:
        odd = rng.choice(FILES) + "".join(Path(options["pred"]).suffixes)
        files[odd] = files.pop(options["pred"])
        options["pred"] = odd
    args = ask(rng, rng.choice(VERBS), task, files, options)
    if rng.random() < 0.03:
        args.insert(rng.randint(0, len(args)), rng.choice(VALUES))
    return Case("command", files, {"args": args, "terminal": rng.random() < 0.3})


def ask(rng: Random, verb: str, task: str, files: dict[str, bytes], options: dict[str, Any]) -> list[str]:
    """The words of a command that makes sense for these files."""
    o = choose_options(rng, task)
    args: list[str] = [verb, options["pred"]]
    refs = ["--refs", *options["refs"]] if options["refs"] else []
    if verb == "compare":
        twin = "twin" + "".join(Path(options["pred"]).suffixes)
        files[twin] = files[options["pred"]]
        args += [twin, "--resamples", "20"]
    if verb in ("score", "protocols", "compare"):
        args += [*refs, "--task", task, *(["--sets", options["sets"]] if "sets" in options else [])]
    if verb in ("score", "compare"):
        for name in ("protocol", "metrics", "tok", "format", "people"):
            args += [f"--{name}", str(o[name])] if name in o else []
        args += ["--strict"] if "strict" in o else []
        args += ["--repair", ",".join(o["repair"])] if "repair" in o else []
    if verb == "score":
        args += rng.choice(OUTPUTS)
    elif verb == "protocols":
        few = [p.name for p in protocol_room.all() if p.task == task and p.name != "micap"]
        args += ["--only", ",".join(rng.sample(few, min(2, len(few))))] if few else []
    elif verb == "lint":
        args += [*refs, *rng.choice(([], ["--fix", "fixed.json"], ["--json", "-"], ["--json", "l.json"]))]
    elif verb == "convert":
        to = rng.choice(("fabula", "submission", "pdvc", "activitynet", "timechat"))
        args += ["out.jsonl" if to == "fabula" else "out.json", "--to", to]
    elif verb == "parse":
        args += ["-o", "out.jsonl", "--audit", "audit.json"]
    elif verb == "diagnose":
        args += [*refs, "--resamples", "20", "-m", rng.choice(("SODA_c", "SODA_d", "mIoU"))]
    elif verb == "stress":
        args = ["stress", "SODA_d", "--resamples", "5", "--copies", "1", "--corpus", options["pred"]]
    elif verb == "baseline":
        args = ["baseline", "uniform", "--refs", options["pred"], "--count", "3", "--out", "u.json"]
    return args


@cache
def flags_of(verb: str) -> list[tuple[str, bool]]:
    """The flags of a verb, and whether a value follows."""
    command = cli.fabula.get_command(click.Context(cli.fabula), verb)  # type: ignore[attr-defined]
    some = [command, *getattr(command, "commands", {}).values()]
    return [(p.opts[-1], not p.is_flag) for c in some for p in c.params if isinstance(p, click.Option)]


def make_options(rng: Random) -> Case:
    """Sound files, and one or two options with values that nobody should give."""
    task, verb = rng.choice(TASKS), rng.choice(VERBS)
    files, options = make_files(rng, task, 0.0)
    args = ask(rng, verb, task, files, options)
    for _ in range(rng.choice((1, 1, 2))):
        flag, takes = rng.choice([f for f in flags_of(verb) if f[0] not in ("--engine", "--address", "--spice")])
        args += [flag, rng.choice(VALUES)] if takes else [flag]
        args += ["--resamples", "20"] if flag == "--ci" else []  # ten thousand folds of an AP take their time
    environment = {} if rng.random() < 0.9 else {rng.choice(("FABULA_THREADS", "FABULA_KERNELS")): rng.choice(VALUES)}
    environment = {name: value for name, value in environment.items() if "\0" not in value and value.isascii()}
    return Case("options", files, {"args": args, "environment": environment})


class Stream(streams.TextIOWrapper):
    """Standard output or error that is kept; a terminal, if it is told so."""

    def __init__(self, terminal: bool = False) -> None:
        super().__init__(streams.BytesIO(), encoding="utf-8", write_through=True)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def told(self) -> str:
        return self.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]


def run_command(case: Case, folder: Path, said: Said) -> Any:
    """As a user runs it, in its folder: exit code 0, 1 (lint found something) or 2 and then one line, no file begun."""
    args, before = list(case.options["args"]), {p.name for p in folder.iterdir()}
    out, err = (Stream(case.options.get("terminal", False)) for _ in range(2))
    kept, code, environment = (sys.argv, sys.stdout, sys.stderr), 0, dict(os.environ)
    os.environ |= {"TERM": "dumb", "COLUMNS": "200", **case.options.get("environment", {})}  # dumb: no paint of rich's
    sys.argv, sys.stdout, sys.stderr = ["fabula", *args], out, err
    try:
        with contextlib.chdir(folder):
            try:
                cli.open_streams()
                cli.run()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    finally:
        sys.argv, sys.stdout, sys.stderr = kept
        os.environ.clear()
        os.environ |= environment
    check_run(args, code, out.told(), PAINT.sub("", err.told()))
    left = {p.name for p in folder.iterdir()} - before
    if code == 2 and any(not (folder / name / "manifest.json").is_file() for name in left):  # a work folder may stay
        raise Wrong("output", f"{args[0]}: files after a refusal", f"{left}\n{err.told()}")
    if any(".tmp" in name or name.startswith(".") for name in left):
        raise Wrong("output", f"{args[0]}: a file that was not finished", f"{left}")
    return [code, sorted(left)]


def check_run(args: list[str], code: int, told: str, noted: str) -> None:
    """What a command may end with, and what it may print."""
    verb = args[0] if args else ""
    if code not in ((0, 1, 2) if verb == "lint" else (0, 2)):
        raise Wrong("exit", f"{verb}: exit code {code}", f"{args}\n{noted[-800:]}")
    lines = noted.splitlines()
    if code == 2 and sum(line.startswith(("fabula: error:", "Error:")) for line in lines) != 1:  # Error: is click's
        raise Wrong("exit", f"{verb}: not one line of error", f"{args}\n{noted[-800:]}")
    for line in lines:
        if len(line) > LONGEST:
            raise Wrong("long", f"{verb}: a line of standard error", f"{len(line)} characters: {line[:300]}")
    for text, where in ((noted, "stderr"), (told, "stdout")):
        if found := CONTROLS.search(text.replace("\t", " ").replace("\n", " ")):
            at = max(0, found.start() - 60)
            raise Wrong("printed", f"{verb}: {where} has {found.group()!r}", repr(text[at : found.end() + 60]))
    if "Traceback" in noted or ".py:" in noted:
        raise Wrong("printed", f"{verb}: source lines", noted[-800:])


TARGETS = (
    Target("command", make_command, run_command, 2, both=0.1, seconds=30),
    Target("options", make_options, run_command, 1, both=0.0, seconds=30),
)
