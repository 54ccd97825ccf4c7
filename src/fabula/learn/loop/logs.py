"""Logs of a run: CSV tables that are cut back to a checkpoint when it resumes, and experiment trackers.

TensorBoard, Weights & Biases and MLflow are called through their own packages; a resumed run continues the same run
there (`tracking.json` stores its ids).
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from fabula.core.errors import InputError, MissingExtra
from fabula.documents.fields import JsonObject
from fabula.documents.files import dump_json, load_json, name_write_failures, write_text
from fabula.learn.options import Run
from fabula.media.stores.kinds import summarize

TRACKING = "tracking.json"


class Tracker(Protocol):
    """Where numbers go besides the CSV."""

    def log(self, values: Mapping[str, float], step: int) -> None: ...
    def close(self) -> None: ...


def check_trackers(run: Run) -> None:
    """Check, before the run has a folder, that the packages of the trackers are installed."""
    for name in ("tensorboard", "wandb", "mlflow"):
        if getattr(run, name) and not is_installed(name):
            raise MissingExtra(f"--{name}", "track")


def is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # there, but without a spec; or None in its place
        return sys.modules.get(module) is not None


def open_trackers(run: Run, config: JsonObject, step: int) -> list[Tracker]:
    """Open the trackers of the run. Values after `step` are logged again."""
    trackers: list[Tracker] = []
    if run.tensorboard:
        trackers.append(TensorBoard(run.out / "tensorboard", step))
    if run.wandb is not None:
        trackers.append(Wandb(run, run.wandb, config))
    if run.mlflow is not None:
        trackers.append(Mlflow(run, run.mlflow, config))
    return trackers


class TensorBoard:
    def __init__(self, folder: Path, step: int) -> None:
        from torch.utils.tensorboard.writer import SummaryWriter

        self.writer = SummaryWriter(str(folder), purge_step=step + 1)

    def log(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def close(self) -> None:
        self.writer.close()


class Wandb:
    def __init__(self, run: Run, project: str, config: JsonObject) -> None:
        import wandb

        id = recall_id(run, "wandb")
        self.run = wandb.init(
            project=project, name=run.out.name, dir=str(run.out), id=id, resume="allow", config=dict(config)
        )
        keep_id(run, "wandb", self.run.id)

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.run.log(dict(values), step=step)

    def close(self) -> None:
        self.run.finish()


class Mlflow:
    def __init__(self, run: Run, experiment: str, config: JsonObject) -> None:
        import mlflow

        self.mlflow = mlflow
        mlflow.set_experiment(experiment)
        id = recall_id(run, "mlflow")
        begun = mlflow.start_run(run_id=id) if id else mlflow.start_run(run_name=run.out.name)
        if id is None:
            mlflow.log_params({f"{part}.{n}": str(v)[:200] for part in ("config", "settings")
                               for n, v in config.get(part, {}).items()})  # fmt: skip
        keep_id(run, "mlflow", begun.info.run_id)

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.mlflow.log_metrics(
            {name.replace("@", "_at_").replace("+", "_and_"): v for name, v in values.items()}, step=step
        )

    def close(self) -> None:
        self.mlflow.end_run()


def recall_id(run: Run, tracker: str) -> str | None:
    """The name that a tracker gave to the run that is resumed."""
    path = run.out / TRACKING
    ids = load_json(path) if run.resume and path.exists() else {}
    id = ids.get(tracker) if isinstance(ids, dict) else None
    return id if isinstance(id, str) else None


def keep_id(run: Run, tracker: str, id: str) -> None:
    path = run.out / TRACKING
    ids = load_json(path) if path.exists() else {}
    dump_json(path, {**(ids if isinstance(ids, dict) else {}), tracker: id})


# ---------------------------------------------------------------------------------------------------------------------
# CSV


def write_line(path: Path, line: Mapping[str, float]) -> None:
    """A line at the end; the head when the file is new. A line with new columns (a first validation) rewrites it."""
    text = {n: format(v, ".10g") for n, v in line.items()}
    head = read_head(path)
    if not head or set(text) - set(head):
        rows = read_lines(path) if head else []
        write_rows(path, [*head, *(n for n in text if n not in head)], [*rows, text])
        return
    with name_write_failures(path), path.open("a", newline="") as stream:
        csv.DictWriter(stream, head, restval="", lineterminator="\n").writerow(text)


def read_head(path: Path) -> list[str]:
    """The columns of the table; none where there is no table."""
    if not path.exists():
        return []
    with name_damage(path), path.open(newline="") as stream:
        return next(csv.reader(stream), [])


def read_lines(path: Path) -> list[dict[str, str]]:
    with name_damage(path), path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@contextlib.contextmanager
def name_damage(path: Path) -> Iterator[None]:
    """The error for a table that cannot be read."""
    try:
        yield
    except (OSError, csv.Error, ValueError) as error:
        raise damaged_table(path, summarize(error)) from None


def damaged_table(path: Path, why: str) -> InputError:
    hint = "delete it to continue without its lines, or start again with --overwrite"
    return InputError(f"is damaged ({why})", file=path, hint=hint)


def write_rows(path: Path, head: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, head, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, [buffer.getvalue()])


def cut(path: Path, column: str, last: int) -> None:
    """Drop the lines after `last`: they will be written again."""
    head = read_head(path)
    if not head:
        path.unlink(missing_ok=True)  # killed before a word of it was written
        return
    if column not in head:
        raise damaged_table(path, f"it has no column {column!r}")
    rows: list[dict[str, str]] = []
    for row in read_lines(path):
        at = row[column] or ""
        in_order = at.isascii() and at.isdigit() and len(at) < 16
        if in_order and int(at) <= last and (not rows or int(at) > int(rows[-1][column])):  # not half a line
            rows.append({name: row[name] or "" for name in head})
    write_rows(path, head, rows)
