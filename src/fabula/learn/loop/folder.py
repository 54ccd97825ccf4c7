"""The folder of a run: begun, continued or replaced, never by accident; and where training stood in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from torch import nn

import fabula
from fabula.core.errors import InputError, shown
from fabula.documents.fields import JsonObject
from fabula.documents.files import dump_json, load_json, name_write_failures
from fabula.learn import checkpoint
from fabula.learn.options import FREE, Run, Settings
from fabula.media.stores.features import must_match


@dataclass
class Place:
    """Where training stands: what a checkpoint stores besides tensors."""

    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    step: int = 0
    best: dict[str, float] = field(default_factory=dict)  # the best of each score that chooses
    stale: int = 0  # validations since the first of them was better
    count: int = 0  # steps of this epoch in `sums`
    sums: dict[str, float] = field(default_factory=dict)
    line: dict[str, float] = field(default_factory=dict)

    def add(self, values: Mapping[str, float]) -> None:
        self.count += 1
        for n, v in values.items():
            self.sums[n] = self.sums.get(n, 0.0) + v

    def means(self) -> dict[str, float]:
        return {n: v / max(self.count, 1) for n, v in self.sums.items()}


def place_of(saved: object, path: Path) -> Place:
    """The training state of a checkpoint's header."""
    if isinstance(saved, dict) and is_place(saved):
        return Place(**saved)
    raise InputError("its header has no training state", file=path, hint=checkpoint.AGAIN)


def is_place(saved: JsonObject) -> bool:
    counts, tables = ("epoch", "batch", "step", "count", "stale"), ("sums", "line", "best")
    return (
        saved.keys() == {f.name for f in fields(Place)}
        and all(type(saved[n]) is int and 0 <= saved[n] < 1 << 53 for n in counts)
        and all(isinstance(saved[n], dict) and all(map(is_number, saved[n].values())) for n in tables)
    )


def is_number(value: object) -> bool:
    return isinstance(value, float) or (type(value) is int and abs(value) < 1 << 63)


def describe_run(model: nn.Module, settings: Settings, about: JsonObject) -> dict[str, object]:
    """config.json."""
    description = {
        "fabula": fabula.__version__,
        "model": model.name,
        "config": asdict(model.config),  # type: ignore[call-overload]
        "settings": asdict(settings),
        **about,
    }
    as_read: dict[str, object] = json.loads(json.dumps(description))  # tuples as the file has them
    return as_read


def prepare_folder(run: Run, model: nn.Module, settings: Settings, about: JsonObject, first: bool) -> None:
    """Prepare the run's folder. An existing run is only continued with --resume and only replaced with --overwrite."""
    wanted = describe_run(model, settings, about)
    out = run.out
    there = out / "config.json"
    if run.resume:
        if not there.exists():
            raise InputError("no run to resume here", file=out, hint="leave --resume out to start one")
        usual = {**asdict(type(model.config)()), **asdict(Settings())}  # type: ignore[call-overload]
        must_agree(load_json(there), wanted, there, json.loads(json.dumps(usual)))
        return
    if not first:
        return
    with name_write_failures(out):
        clear_folder(run)
        out.mkdir(parents=True, exist_ok=True)
    dump_json(there, wanted, indent=1)


def clear_folder(run: Run) -> None:
    """Remove an existing run, if --overwrite is set."""
    names = ("config.json", "steps.csv", "epochs.csv", "validations.csv", "last.safetensors", "tracking.json")
    ours = [run.out / name for name in names] + sorted(run.out.glob("best*.safetensors"))
    if any(file.exists() for file in ours):
        if not run.overwrite:
            raise InputError(
                "holds a run already", file=run.out, hint="add --resume to continue it, or --overwrite to replace it"
            )
        for file in ours:
            file.unlink(missing_ok=True)


def must_agree(saved: JsonObject, wanted: JsonObject, file: Path, usual: JsonObject | None = None) -> None:
    """A run is resumed with what it was begun with. `epochs` may grow; what does not change the curve is free.

    A setting that is newer than the run had its `usual` value.
    """
    if not isinstance(saved, dict) or not all(isinstance(saved.get(part), dict) for part in ("config", "settings")):
        raise InputError(
            "is damaged: the settings of the run are missing",
            file=file,
            hint="use --overwrite to start again, or choose another --out",
        )
    if saved.get("model") != wanted["model"]:
        was = shown(saved.get("model"))
        raise InputError(
            f"a run of the model {was}, not {wanted['model']!r}",
            file=file,
            hint=f"resume with --model {was}, or choose another --out",
        )
    if "recipe" in saved:
        must_match(saved["recipe"], wanted.get("recipe"), allowed=False)
    for part in ("config", "settings"):
        for name, value in wanted[part].items():
            then = saved[part].get(name, (usual or {}).get(name))
            if then != value and not (part == "settings" and name in FREE):
                raise InputError(
                    f"{name} {describe_difference(then, value)}",
                    file=file,
                    hint="resume with the settings and data of the run, or start another",
                )


def describe_difference(then: object, now: object) -> str:
    """How a value differs from what it was; of long lists where."""
    if isinstance(then, list) and isinstance(now, list) and max(len(then), len(now)) > 8:
        first = next((i for i, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), None)
        where = "" if first is None else f"; entry {first} was {shown(then[first])} and is {shown(now[first])} now"
        return f"had {len(then):,} entries and has {len(now):,} now{where}"
    return f"was {shown(then)} and is {shown(now)} now"
