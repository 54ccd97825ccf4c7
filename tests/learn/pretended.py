"""A pretended GPU: tensors that say they are on cuda:0, lie in main memory, and refuse to mix with those of the CPU.

    with PretendedDevice():
        model.to("cuda") …

What CUDA allows is allowed: a CPU tensor of one number among arguments, CPU indices of a GPU tensor, lengths of packed
sequences, copies from one to the other, `.tolist()`, `.item()`; what it refuses is refused: every other mixture, CPU
tensors indexed by the GPU's, `.numpy()`. A tensor belongs to the device if its storage does, so that views, parameters
and gradients do too.

`run_on_device` lets Fabric and the loop run there: training, validation and checkpoints are the program's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from lightning_fabric.accelerators import CPUAccelerator
from lightning_fabric.strategies import SingleDeviceStrategy
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode, resolve_name

DEVICE = torch.device("cuda", 0)
CPU = torch.device("cpu")
COPIES = ("copy_", "__set__", "_has_compatible_shallow_copy_type")  # which go from one device to the other


class MixedDevicesError(RuntimeError):
    """What CUDA would refuse."""


class PretendedDevice(TorchFunctionMode):
    """While it is on, every call of torch is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.own: dict[int, StorageWeakRef] = {}  # storages of the device; a weak reference keeps their place taken

    # -- whose is a tensor --------------------------------------------------------------------------------------------

    def is_own(self, t: Tensor) -> bool:
        return t.untyped_storage()._cdata in self.own

    def take(self, value: Any) -> Any:
        """These tensors are the device's from now on."""
        for t in tensors_of(value):
            storage = t.untyped_storage()
            self.own.setdefault(storage._cdata, StorageWeakRef(storage))
        return value

    def device_of(self, t: Tensor) -> torch.device:
        return DEVICE if self.is_own(t) else CPU

    # -- calls --------------------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", str(func))
        if name == "__get__":
            return self.read(func, args)
        if name in ("to", "cpu", "cuda"):
            return self.move(name, args, kwargs)
        if name == "numpy" or name == "__array__":
            self.must(not self.is_own(args[0]), "cannot convert cuda:0 device type tensor to numpy")
        if name == "pin_memory":
            self.must(not self.is_own(args[0]), "only dense CPU tensors can be pinned")
            return args[0].clone()
        if name in ("get_device", "is_pinned"):
            return {"get_device": 0 if self.is_own(args[0]) else -1, "is_pinned": False}[name]
        told = kwargs.get("device")
        device = None if told is None else torch.device(told)
        if device is not None:
            kwargs["device"] = CPU
        given = list(tensors_of((args, kwargs)))
        mine = any(map(self.is_own, given))
        if name not in COPIES and mine:
            self.check(func, name, args, kwargs, given)
        made = func(*args, **kwargs)
        if device is not None:
            if device.type == "cpu":
                return made
            fresh = not any(a.untyped_storage()._cdata == made.untyped_storage()._cdata for a in given)
            return self.take(made if fresh or self.is_own(made) else made.clone())
        if mine and name not in COPIES:
            self.take(made[0] if is_packed(name, args) and name != "lstm" else made)
        return made

    def read(self, func: Any, args: Any) -> Any:
        """An attribute of a tensor."""
        t = args[0]
        attribute = getattr(func.__self__, "__name__", "")
        if attribute == "device":
            return self.device_of(t)
        if attribute in ("is_cuda", "is_cpu"):
            return self.is_own(t) == (attribute == "is_cuda")
        made = func(*args)
        return self.take(made) if self.is_own(t) else made

    def move(self, name: str, args: Any, kwargs: dict[str, Any]) -> Tensor:
        """To a device, a type, or both; a copy where the device changes."""
        t, rest = args[0], args[1:]
        if name != "to":
            device: torch.device | None = CPU if name == "cpu" else DEVICE
            dtype = None
        elif rest and isinstance(rest[0], Tensor):
            device, dtype = self.device_of(rest[0]), rest[0].dtype
        else:
            known = {k: v for k, v in kwargs.items() if k in ("device", "dtype")}
            device, dtype, *_ = torch._C._nn._parse_to(*(a for a in rest if not isinstance(a, bool)), **known)
        here = self.device_of(t)
        made: Tensor = t if dtype is None or dtype == t.dtype else t.to(dtype)
        if device is None or device.type == here.type:
            return self.take(made) if here == DEVICE else made
        made = made.clone() if made is t else made
        return self.take(made) if device.type != "cpu" else made

    # -- what CUDA refuses --------------------------------------------------------------------------------------------

    def check(self, func: Any, name: str, args: Any, kwargs: Any, given: list[Tensor]) -> None:
        if name == "__getitem__":
            self.must(self.is_own(args[0]) or not any(map(self.is_own, tensors_of(args[1]))), "CPU tensor, GPU index")
            return
        if name in ("__setitem__", "index_put_", "index_put"):
            self.must(self.is_own(args[0]) or not any(map(self.is_own, tensors_of(args[1]))), "CPU tensor, GPU index")
            plain = name == "__setitem__" and not list(tensors_of(args[1]))  # a copy
            if not plain and isinstance(args[2], Tensor) and args[2].dim():
                self.must(self.is_own(args[0]) == self.is_own(args[2]), "values of another device")
            return
        if is_packed(name, args):
            self.must(not self.is_own(args[1]), "lengths of packed sequences on the GPU")
            given = [t for t in given if t is not args[1]]
        direct = {id(a) for a in (*args, *kwargs.values()) if isinstance(a, Tensor) and a.dim() == 0}
        other = [t for t in given if not self.is_own(t) and id(t) not in direct]
        if name.startswith("_foreach"):  # of lists that lie side by side; single numbers may lie anywhere
            other = [t for t in other if t.dim()]
        if other:
            said = ", ".join(f"{self.device_of(t)} {tuple(t.shape)}" for t in given)
            raise MixedDevicesError(f"{label(func)}: expected all tensors to be on the same device, found {said}")

    def must(self, holds: bool, said: str) -> None:
        if not holds:
            raise MixedDevicesError(said)


def is_packed(name: str, args: Any) -> bool:
    """Whether a call is of packed sequences: their lengths, the second argument, stay on the CPU."""
    packs = name in ("_pack_padded_sequence", "_pad_packed_sequence")
    return packs or (name == "lstm" and isinstance(args[2], tuple))


def label(func: Callable[..., Any]) -> str:
    return resolve_name(func) or getattr(func, "__name__", str(func))


def tensors_of(value: Any) -> Iterator[Tensor]:
    """Those in a value, also in lists and mappings."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from tensors_of(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors_of(part)


# ---------------------------------------------------------------------------------------------------------------------
# The loop on it


class PretendedAccelerator(CPUAccelerator):
    """What Fabric asks of a machine with one GPU."""

    def setup_device(self, device: torch.device) -> None:
        pass


def make_fabric(settings: Any, unused: bool = False) -> Fabric:
    here = PretendedAccelerator()
    return Fabric(accelerator=here, strategy=SingleDeviceStrategy(DEVICE), precision="32-true")


@contextmanager
def run_on_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[PretendedDevice]:
    """`--device auto` is the pretended one."""
    from fabula.learn import run, train
    from fabula.learn.loop import processes
    from fabula.learn.retrieval import parts

    with monkeypatch.context() as patch, PretendedDevice() as device:
        for module in (processes, run, parts):
            patch.setattr(module, "find_device", lambda name: DEVICE)
        patch.setattr(train, "make_fabric", make_fabric)
        patch.setattr(parts, "OPEN_TOOLS", parts.OpenTools())  # a model that was opened before lies on the CPU
        patch.setattr(torch.cuda, "get_rng_state", lambda device: device and torch.get_rng_state())
        patch.setattr(torch.cuda, "set_rng_state", lambda state, device: torch.set_rng_state(state))
        patch.setattr(torch.backends.cudnn, "is_acceptable", lambda tensor: False)
        yield device
