"""Checkpoints: one safetensors file with tensors and a JSON header, written whole or not at all, never pickle.

model.*        the weights
optimizer.*    what the optimiser keeps per parameter: optimizer.<number>.<name>
rng.*          the random state of each process
header         {"format": 1, "fabula": version, "model": name, "config": {…}, …}: who wrote it and where training stood
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

import fabula
from fabula.core.errors import InputError
from fabula.io.files import write_bytes
from fabula.learn.models import room

FORMAT = 1


def write(path: Path, tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> None:
    """The file appears under its name when it is whole."""
    whole = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    write_bytes(path, [save(whole, metadata={"fabula": json.dumps(dict(header))})])


def read(path: str | Path, weights_only: bool = False) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and header. A folder of a run stands for its best checkpoint, or else its last."""
    path = find_checkpoint(Path(path))
    try:
        with safe_open(path, "pt") as file:
            header = json.loads((file.metadata() or {}).get("fabula", "null"))
            names = [n for n in file.keys() if not weights_only or n.startswith("model.")]  # noqa: SIM118
            tensors = {n: file.get_tensor(n) for n in names} if header else {}
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(
            f"not a readable checkpoint ({error})", file=path, hint="name a .safetensors of a run"
        ) from None
    if not isinstance(header, dict) or "model" not in header:
        raise InputError("safetensors, but no checkpoint of fabula train", file=path, hint="name a checkpoint of a run")
    if header.get("format") != FORMAT:
        seen = f"a checkpoint of format {header.get('format')!r}; this version reads {FORMAT}"
        raise InputError(seen, file=path, hint="read it with the version that wrote it")
    return tensors, header


def find_checkpoint(path: Path) -> Path:
    if path.is_dir():
        for name in ("best.safetensors", "last.safetensors"):
            if (path / name).exists():
                return path / name
        raise InputError("no checkpoint in this folder", file=path, hint="it should hold last.safetensors")
    return path


def header_of(model: nn.Module, **more: Any) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "fabula": fabula.__version__,
        "model": model.name,
        "config": asdict(model.config),  # type: ignore[call-overload]
        **more,
    }


def restore(model: nn.Module, tensors: Mapping[str, Tensor], header: Mapping[str, Any], file: object) -> None:
    """The weights into the model; a checkpoint of another model, or of another size, is an error."""
    if header["model"] != model.name:
        hint = f"name a checkpoint of {model.name}, or the model {header['model']}"
        raise InputError(f"a checkpoint of the model {header['model']!r}, not {model.name!r}", file=file, hint=hint)
    weights = {n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")}
    own = model.state_dict()
    for name in sorted(own.keys() | weights.keys()):
        ours = tuple(own[name].shape) if name in own else "nothing"
        theirs = tuple(weights[name].shape) if name in weights else "nothing"
        if ours != theirs:
            seen = f"the weights do not fit: {name} is {theirs} in the file, {ours} in the model"
            raise InputError(seen, file=file, hint="use the settings the checkpoint was trained with")
    model.load_state_dict(weights)


def load_model(path: str | Path) -> tuple[nn.Module, dict[str, Any]]:
    """The model of a checkpoint, ready to predict, and the header."""
    tensors, header = read(path, weights_only=True)
    cls = room.get(header["model"])
    model: nn.Module = cls(config_of(cls.config_class, header["config"], path))
    restore(model, tensors, header, path)
    return model.eval(), header


def config_of(cls: type[Any], values: Mapping[str, Any], file: object) -> Any:
    """A config from the header: JSON's lists are tuples again; a field that is not known is an error."""
    unknown = values.keys() - {f.name for f in fields(cls)}
    if unknown:
        seen = f"settings that this version does not know: {', '.join(sorted(unknown))}"
        raise InputError(seen, file=file, hint="read it with the version that wrote it")
    return cls(**{n: tuple(v) if isinstance(v, list) else v for n, v in values.items()})


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What the optimiser knows, as tensors and as JSON."""
    state = optimizer.state_dict()
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, Any] = {}
    for i, kept in state["state"].items():
        for name, value in kept.items():
            (tensors if isinstance(value, Tensor) else numbers)[f"optimizer.{i}.{name}"] = value
    return tensors, {"groups": state["param_groups"], "numbers": numbers}


def restore_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], header: Mapping[str, Any]
) -> None:
    state: dict[int, dict[str, Any]] = {}
    kept = {n: t for n, t in tensors.items() if n.startswith("optimizer.")}
    for key, value in {**kept, **header["numbers"]}.items():
        _, i, name = key.split(".", 2)
        state.setdefault(int(i), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": header["groups"]})
