"""The run of tables: their steps as jobs in a work folder, which can be killed and resumed at any moment.

    manifest.json           whether it is a simulated copy; which version
    steps/KEY/out…          what a step wrote: a run, predictions, scores; log.txt: what it printed
    steps/KEY/done.json     its command line, sealed: the step is not repeated

A training that was killed goes on from its last checkpoint; any other step is repeated. What a step writes depends on
nothing but its command line and its inputs, so a resumed run ends with the same numbers as one that never stopped.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import fabula
from fabula.core.errors import MissingExtra, SpecError
from fabula.core.notes import Progress, silent
from fabula.core.options import Options, option
from fabula.documents.files import load_json, temporary_folder
from fabula.jobs.folder import Folder, begin
from fabula.jobs.runner import Runner, run_jobs, runner_named
from fabula.papers.outcome import Line, Outcome, make_line
from fabula.papers.own import run_own
from fabula.papers.plan import FIRST_SEED, OWN, SEEDED, Plan, Step, needed_sources, place_words
from fabula.papers.sources import Inputs
from fabula.papers.table import Row, Table

Execute = Callable[[Sequence[str], Path], None]  # a command line of fabula, and the file for what it prints
STEPS = "steps"
DEVICED = ("train", "predict")  # verbs that take --device


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """How tables are run."""

    data: tuple[str, ...] = option((), "Annotations: NAME=PATH, or a folder of them.", parts=True, metavar="NAME=PATH")
    features: tuple[str, ...] = option((), "Features: NAME=PATH, or a folder.", parts=True, metavar="NAME=PATH")
    rows: tuple[str, ...] = option((), "Only these rows: numbers from 1, or parts of names.", parts=True)
    seeds: int = option(4, "Number of trainings of each system.", at_least=1, shows_default=True)
    devices: tuple[str, ...] = option((), "Devices that trainings are spread over: 0,1 or cpu.", parts=True)
    workers: int | None = option(None, "Processes. Default: one for each device.", at_least=1)
    work: Path | None = option(None, "Folder of the work. Default: a temporary one.")
    resume: bool = option(False, "Go on with the work of --work; also with another table.", needs="work")
    simulate: bool = option(False, "Use a small simulated copy of what is absent: a test of the command.")


@dataclass(frozen=True)
class DoSteps:
    """A chain of steps, one after the other, on one device; those that are done are passed over."""

    folder: Folder
    execute: Execute

    def __call__(self, job: tuple[list[Step], str]) -> dict[str, str]:
        """The steps that need a package that is not installed, and the sentence that says so."""
        steps, device = job
        absent: dict[str, str] = {}
        for step in steps:
            lost = next((absent[key] for key in step.after if key in absent), None)
            if lost is not None:
                absent[step.key] = lost
            elif not is_done(self.folder, step):
                try:
                    self.perform(step, device)
                except MissingExtra as error:
                    absent[step.key] = str(error)
        return absent

    def perform(self, step: Step, device: str) -> None:
        home, root = self.folder.at(STEPS, step.key), self.folder.at(STEPS)
        words = list(place_words(step, root))
        if step.verb == "train" and (home / step.output / "config.json").exists():
            words.append("--resume")
        else:
            shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True, exist_ok=True)
        if step.verb in OWN:
            run_own(words)
        else:
            self.execute([*words, *(("--device", device) if device and step.verb in DEVICED else ())], home / "log.txt")
        seal = self.folder.seal_of(STEPS, step.key, step.output)
        self.folder.put({"words": list(step.words), "seal": seal}, STEPS, step.key, "done.json")


def is_done(folder: Folder, step: Step) -> bool:
    found = folder.find(STEPS, step.key, "done.json")
    return found is not None and found.get("seal") == folder.seal_of(STEPS, step.key, step.output)


def run_tables(
    tables: Sequence[Table], options: RunOptions, execute: Execute, progress: Progress = silent
) -> list[Outcome]:
    """Run what can be run; the numbers of every row beside the paper's, and what a row that is not run needs."""
    plan = Plan(Inputs(options.data, options.features), options.simulate)
    drafts = [
        (table, [draft_line(plan, table, table.rows[i], options) for i in table.select(options.rows)])
        for table in tables
    ]
    if not plan.steps:
        needs = dict.fromkeys(line.problem for _, lines in drafts for line, _ in lines)
        raise SpecError("nothing can be run: " + "; ".join(needs))
    if options.work is None and not options.simulate and any(s.verb in SEEDED for s in plan.steps.values()):
        raise SpecError("training takes hours: name a folder for the work with --work, so that it can be resumed")
    with open_work(options) as path:
        inputs = {"what": "fabula reproduce", "fabula": fabula.__version__, "simulated": options.simulate}
        folder, _ = begin(path, inputs, {}, options.resume)
        absent = do_all(plan, folder, options, execute, progress)
        return [
            Outcome(
                table=table,
                lines=tuple(read_line(folder, plan, table, line, keys, absent) for line, keys in lines),
                seeds=tuple(seeds_of(options)),
                is_simulated=options.simulate and bool(needed_sources(table)),
            )
            for table, lines in drafts
        ]


def open_work(options: RunOptions) -> AbstractContextManager[Path]:
    return temporary_folder("reproduce") if options.work is None else nullcontext(options.work)


def seeds_of(options: RunOptions) -> range:
    return range(FIRST_SEED, FIRST_SEED + options.seeds)


Keys = dict[str, list[dict[str, str]]]  # part → the steps of each seed by name


def draft_line(plan: Plan, table: Table, row: Row, options: RunOptions) -> tuple[Line, Keys]:
    """A row as the paper prints it, why it is not run, and the keys of its steps."""
    keys, problems = Keys(), list[str]()
    if row.needs:
        return make_line(table, row, {}, f"needs {row.needs}"), keys
    seeded = any(line.split(maxsplit=1)[0] in SEEDED or "{seed}" in line for line in row.steps)
    for part in table.parts_of(row):
        for seed in seeds_of(options) if seeded else [FIRST_SEED]:
            found = plan.add_row(table, row, part, seed)
            if isinstance(found, str):
                problems.append(found)
                break
            keys.setdefault(part, []).append(found)
    return make_line(table, row, {}, "; ".join(dict.fromkeys(problems))), keys


def do_all(plan: Plan, folder: Folder, options: RunOptions, execute: Execute, progress: Progress) -> dict[str, str]:
    """Do what is not done; the steps that need a package that is not installed, and the sentence that says so."""
    devices = [f"cuda:{d}" if d.isdecimal() else d for d in options.devices] or [""]
    runner: Runner = runner_named("local", processes=options.workers or len(devices))
    work, absent = DoSteps(folder, execute), dict[str, str]()
    with runner.ready():
        for name, of_sources in (("simulated copies", True), ("rows", False)):
            chains = [c for c in plan.chains(of_sources) if not all(is_done(folder, step) for step in c)]
            jobs = [(chain, devices[i % len(devices)]) for i, chain in enumerate(chains)]
            progress(name, 0, len(jobs))
            for done, lost in enumerate(run_jobs(work, jobs, runner), 1):
                absent |= lost
                progress(name, done, len(jobs))
    return absent


def read_line(folder: Folder, plan: Plan, table: Table, line: Line, keys: Keys, absent: Mapping[str, str]) -> Line:
    """The row with the numbers that its steps wrote."""
    lost = (absent.get(key, "") for seeds in keys.values() for one in seeds for key in one.values())
    problem = "; ".join(dict.fromkeys(filter(None, (line.problem, *lost))))
    documents = {
        part: [{name: read_output(folder, plan.steps[key]) for name, key in one.items()} for one in seeds]
        for part, seeds in keys.items()
    }
    return make_line(table, line.row, documents, problem)


def read_output(folder: Folder, step: Step) -> object:
    """The JSON that a step wrote; None where it wrote something else."""
    path = folder.at(STEPS, step.key, step.output)
    is_result = path.suffix == ".json" and step.verb not in ("predict", "baseline", "convert")
    return load_json(path) if is_result and path.is_file() else None
