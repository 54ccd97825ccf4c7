"""Checkpoints: one safetensors file with tensors and a JSON header, written whole or not at all, never pickle.

model.*        the weights
optimizer.*    what the optimiser keeps per parameter: optimizer.<number>.<name>
rng.*          the random state of each process
header         {"format": 1, "fabula": version, "model": name, "config": {…}, …}: who wrote it and where training stood;
               "digests" of the tensors and "seal" of the header itself, so that one wrong bit is noticed
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, get_type_hints

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

import fabula
from fabula.core.errors import FabulaError, InputError, shown
from fabula.core.memory import available
from fabula.documents.fields import JsonDict, JsonObject
from fabula.documents.files import check_path, parse_json, write_bytes
from fabula.learn.config import LARGEST, LAYERS, fits
from fabula.learn.models import room
from fabula.media.stores.kinds import NONSENSE, summarize

FORMAT = 1
CHECKPOINTS = ("best.safetensors", "last.safetensors")  # of a run, in the order of preference
PICKLES = (".pth", ".pt", ".ckpt", ".bin")  # weights as other people's code saves them: learn/official.py reads some
AGAIN = "name another checkpoint of a run; this one is damaged, or no file of fabula train"


def write(path: Path, tensors: Mapping[str, Tensor], header: JsonObject) -> None:
    """The file appears under its name when it is whole."""
    cpu_tensors = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    sealed = json.loads(json.dumps({**header, "digests": {part: digest(cpu_tensors, part) for part in PARTS}}))
    sealed["seal"] = seal_of(sealed)
    write_bytes(path, [save(cpu_tensors, metadata={"fabula": json.dumps(sealed)})])


PARTS = ("model.", "")  # the weights, which predicting reads alone; everything else


def digest(tensors: Mapping[str, Tensor], part: str) -> str:
    """The digest of the tensors with this prefix; "" means those that are not weights."""
    hasher = hashlib.blake2b(digest_size=16)
    for name in sorted(n for n in tensors if n.startswith("model.") == bool(part)):
        t = tensors[name].contiguous()
        hasher.update(f"{name} {t.dtype} {tuple(t.shape)}\0".encode())
        hasher.update(t.reshape(-1).view(torch.uint8).numpy().data if t.numel() else b"")
    return hasher.hexdigest()


def metadata_of(header: JsonObject) -> JsonObject:
    """What the run's task wrote about its data; {} for weights that no run of ours wrote."""
    about = header.get("about")
    return about if isinstance(about, dict) else {}


def seal_of(header: JsonObject) -> str:
    text = json.dumps({n: v for n, v in header.items() if n != "seal"}, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def read(path: str | Path, weights_only: bool = False) -> tuple[dict[str, Tensor], JsonDict]:
    """Read tensors and header. The folder of a run means its best checkpoint, or else its last.

    Both are checked: sizes before memory is allocated, the seal and the digests if the file has them, and that
    every number is finite.
    """
    path = find_checkpoint(check_path(path))
    if not path.is_file():
        raise InputError(
            "no such run or checkpoint: nothing is there",
            file=path,
            hint="name a run's folder, or a .safetensors of one; fabula train makes them",
        )
    try:
        file: Any
        with safe_open(path, "pt") as file:
            header = read_header((file.metadata() or {}).get("fabula"), path)
            names = [n for n in file.keys() if not weights_only or n.startswith("model.")]  # noqa: SIM118
            need, free = path.stat().st_size, available()
            if need > free:
                raise InputError(
                    f"{need / 1e9:,.1f} GB of tensors, {free / 1e9:,.1f} GB of memory are free",
                    file=path,
                    hint="make room, or name another checkpoint",
                )
            tensors: dict[str, Tensor] = {n: file.get_tensor(n) for n in names}
    except (SafetensorError, *NONSENSE) as error:
        if path.suffix in PICKLES:
            problem, hint = (
                "not a readable checkpoint: weights of another program",
                f"begin a run with them: --from {path}",
            )
            raise InputError(problem, file=path, hint=hint) from None
        if path.suffix != ".safetensors":
            raise InputError(
                "not a run; the command does not name one",
                file=path,
                hint="name the run first: fabula predict TASK RUN …",
            ) from None
        raise InputError(f"not a readable checkpoint ({summarize(error)})", file=path, hint=AGAIN) from None
    for name, t in tensors.items():
        if t.is_floating_point() and not bool(torch.isfinite(t).all()):
            raise InputError(
                f"{shown(name)} holds numbers that are not finite",
                file=path,
                hint="training diverged: start again with a lower --lr, or name another checkpoint",
            )
    digests = header.get("digests")  # checkpoints of earlier versions have none
    if digests is not None:
        wanted = {part: digest(tensors, part) for part in PARTS if part or not weights_only}
        if not isinstance(digests, dict) or any(digests.get(part) != expected for part, expected in wanted.items()):
            raise InputError("its tensors are not those that were written", file=path, hint=AGAIN)
    return tensors, header


def read_header(text: str | None, path: Path) -> JsonDict:
    """Who wrote it and where training stood."""
    if text is None:
        raise InputError("safetensors, but no checkpoint of fabula train", file=path, hint="name a checkpoint of a run")
    try:
        header = parse_json(text, path)
    except InputError as error:
        raise InputError(f"its header is not JSON ({error.problem})", file=path, hint=AGAIN) from None
    if not isinstance(header, dict) or "model" not in header:
        raise InputError("safetensors, but no checkpoint of fabula train", file=path, hint="name a checkpoint of a run")
    if header.get("format") != FORMAT or isinstance(header["format"], bool):
        raise InputError(
            f"a checkpoint of format {shown(header.get('format'))}; this version reads {FORMAT}",
            file=path,
            hint="read it with the version that wrote it",
        )
    if not isinstance(header["model"], str) or not isinstance(header.get("config"), dict):
        raise InputError(
            "its header names no model" if not isinstance(header["model"], str) else "its header has no config",
            file=path,
            hint=AGAIN,
        )
    if "seal" in header and header["seal"] != seal_of(header):
        raise InputError("its header is not the one that was written", file=path, hint=AGAIN)
    return header


def is_run(folder: Path) -> bool:
    """Whether there is a checkpoint in a folder."""
    return any((folder / name).exists() for name in CHECKPOINTS)


def find_checkpoint(path: Path) -> Path:
    if path.is_dir():
        for name in CHECKPOINTS:
            if (path / name).exists():
                return path / name
        raise InputError("no checkpoint in this folder", file=path, hint="it should hold last.safetensors")
    return path


def header_of(model: nn.Module, **more: Any) -> JsonDict:
    return {
        "format": FORMAT,
        "fabula": fabula.__version__,
        "model": model.name,
        "config": asdict(model.config),  # type: ignore[call-overload]
        **more,
    }


def restore(model: nn.Module, tensors: Mapping[str, Tensor], header: JsonObject, file: object) -> None:
    """The weights into the model; a checkpoint of another model, or of another size, is an error."""
    if header["model"] != model.name:
        raise InputError(
            f"a checkpoint of the model {shown(header['model'])}, not {model.name!r}",
            file=file,
            hint=f"name a checkpoint of {model.name}, or the model {shown(header['model'])}",
        )
    weights = {n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")}
    check_weights(model, weights, file)
    model.load_state_dict(weights)


def check_weights(model: nn.Module, weights: Mapping[str, Tensor], file: object) -> None:
    """Names, shapes and types of the weights are the model's own."""
    check_names(model.state_dict(), weights, file)


def check_names(own: Mapping[str, Tensor], weights: Mapping[str, Tensor], file: object) -> None:
    for name in sorted(own.keys() | weights.keys()):
        ours, theirs = (describe(state.get(name)) for state in (own, weights))
        if ours != theirs:
            raise InputError(
                f"the weights do not fit: {shown(name)} is {theirs} in the file, {ours} in the model",
                file=file,
                hint="use the settings the checkpoint was trained with",
            )


def describe(t: Tensor | None) -> str:
    if t is None:
        return "nothing"
    kind = "" if t.dtype == torch.float32 else f" of {str(t.dtype).removeprefix('torch.')}"
    return f"{shown(tuple(t.shape))}{kind}"


class WithoutDraws(TorchFunctionMode):
    """No weights are drawn: of weights without memory torch would load its compiler to do so, for seconds."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__module__", "") == "torch.nn.init" or func.__name__ in ("normal_", "uniform_"):
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **kwargs or {})


def load_model(path: str | Path) -> tuple[nn.Module, JsonDict]:
    """The model of a checkpoint, ready to predict, and the header."""
    tensors, header = read(path, weights_only=True)
    try:
        cls = room.get(header["model"])
    except FabulaError as error:
        raise InputError(f"a checkpoint of another model ({error})", file=path, hint="check the path") from None
    config = config_of(cls.config_class, header["config"], path)
    weights = {n.removeprefix("model."): t for n, t in tensors.items()}
    try:
        with torch.device("meta"), WithoutDraws(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_weights(cls(config), weights, path)  # a model without memory: a wrong config costs nothing
        model: nn.Module = cls(config)
    except NONSENSE as error:
        raise InputError(f"its config makes no model ({summarize(error)})", file=path, hint=AGAIN) from None
    restore(model, tensors, header, path)
    return model.eval(), header


def config_of(cls: type[Any], values: JsonObject, file: object) -> Any:
    """A config from the header: JSON's lists are tuples again; an unknown field, or a value of no use, is an error."""
    unknown = values.keys() - {f.name for f in fields(cls)}
    if unknown:
        names = ", ".join(n if n.isidentifier() and len(n) < 40 else shown(n) for n in sorted(unknown)[:4])
        raise InputError(
            f"settings that this version does not know: {names}",
            file=file,
            hint="read it with the version that wrote it",
        )
    kinds = get_type_hints(cls)
    for name, value in values.items():
        if not fits(value, kinds[name], LAYERS if name.endswith(("layers", "levels")) else LARGEST):
            raise InputError(f"its config says that {name} is {shown(value)}, which cannot be", file=file, hint=AGAIN)
    return cls(**{n: tuple(v) if isinstance(v, list) else v for n, v in values.items()})


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], JsonDict]:
    """What the optimiser knows, as tensors and as JSON."""
    state = optimizer.state_dict()
    tensors: dict[str, Tensor] = {}
    numbers: JsonDict = {}
    for i, moments in state["state"].items():
        for name, value in moments.items():
            (tensors if isinstance(value, Tensor) else numbers)[f"optimizer.{i}.{name}"] = value
    return tensors, {"groups": state["param_groups"], "numbers": numbers}


def restore_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], header: JsonObject, file: object
) -> None:
    """What the optimiser knew; where that is not of this optimiser and these weights, an error."""
    saved = header.get("optimizer")
    if not isinstance(saved, dict) or not isinstance(saved.get("numbers"), dict):
        raise InputError("its header has no optimiser state", file=file, hint=AGAIN)
    mine = json.loads(json.dumps(optimizer.state_dict()["param_groups"]))
    theirs = saved.get("groups")
    if not isinstance(theirs, list) or list(map(without_rate, theirs)) != list(map(without_rate, mine)):
        raise InputError(
            "the optimiser's settings are not those of this run",
            file=file,
            hint="resume with the settings of the run, or start another",
        )
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, JsonDict] = {}
    saved_tensors = {n: t for n, t in tensors.items() if n.startswith("optimizer.")}
    for key, value in {**saved_tensors, **saved["numbers"]}.items():
        _, i, name = [*key.split(".", 2), "", ""][:3]
        whole = i.isascii() and i.isdigit() and len(i) < 9 and int(i) < len(parameters) and name
        shape = value.shape if isinstance(value, Tensor) else None
        if not whole or shape not in (None, torch.Size([]), parameters[int(i)].shape):
            raise InputError(f"the optimiser's {shown(key)} fits no weight", file=file, hint=AGAIN)
        state.setdefault(int(i), {})[name] = value
    for i, moments in state.items():  # Adam: a step, and two of the weight's own shape
        shapes = {n: v.shape if isinstance(v, Tensor) else None for n, v in moments.items()}
        own = parameters[i].shape
        if shapes.get("exp_avg") != own or shapes.get("exp_avg_sq") != own or shapes.get("step") != torch.Size([]):
            raise InputError(f"the optimiser's state of weight {i} is incomplete", file=file, hint=AGAIN)
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def without_rate(group: object) -> object:
    """The learning rate changes with the epochs."""
    return {**group, "lr": None} if isinstance(group, dict) else group
