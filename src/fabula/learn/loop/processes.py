"""Processes, devices and precision; communication between processes; random states."""

from __future__ import annotations

import atexit
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from fabula.core.errors import SpecError
from fabula.documents.fields import JsonDict
from fabula.learn.options import Settings

if TYPE_CHECKING:  # it costs more than torch itself, and who predicts does without
    from lightning_fabric import Fabric

T = TypeVar("T")

Precision = Literal["32", "bf16"]  # of predictions
PRECISIONS: JsonDict = {"32": "32-true", "bf16": "bf16-mixed", "16-mixed": "16-mixed"}


def find_device(name: str) -> torch.device:
    """`auto` is a GPU where there is one; a device that is not there is an error that names those that are."""
    here = ["cpu"]
    if torch.cuda.is_available():
        here += [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        here.append("mps")
    if name == "auto":
        return torch.device("cuda" if "cuda:0" in here else here[-1])
    try:
        device = torch.device(name)
    except RuntimeError:
        raise SpecError(f"no device is called {name!r}; there are: {', '.join(here)}") from None
    if str(device) not in here and not (device.type == "cuda" and device.index is None and "cuda:0" in here):
        raise SpecError(f"no device {name!r} on this machine; there are: {', '.join(here)}")
    return device


def reduce_precision(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """What is computed here has this precision; an error where the device has no instructions for it."""
    if precision == "32":
        return nullcontext()
    if not has_bf16(device):
        raise SpecError(f"precision bf16: this {device.type} has no instructions for it, and would be slower; use 32")
    return torch.autocast(device.type, torch.bfloat16)


def has_bf16(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 itself."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    capabilities: Mapping[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(bool(capabilities.get(name)) for name in ("avx512_bf16", "amx_bf16", "arm_bf16", "bf16"))


def make_fabric(settings: Settings, unused: bool = False) -> Fabric:
    """One process, or as many as torchrun started; on a CPU they speak gloo. `unused`: parameters without gradient."""
    from lightning_fabric import Fabric
    from lightning_fabric.strategies.ddp import DDPStrategy

    device = find_device(settings.device)
    if settings.precision == "16-mixed" and device.type != "cuda":
        raise SpecError(f"precision 16-mixed needs a GPU of CUDA, not {device.type}; use bf16, or 32")
    local, world = int(os.environ.get("LOCAL_WORLD_SIZE", "1")), int(os.environ.get("WORLD_SIZE", "1"))
    several: JsonDict = {"accelerator": device.type, "precision": PRECISIONS[settings.precision]}
    if world > 1:
        atexit.register(leave_group)
        strategy = DDPStrategy(find_unused_parameters=unused)
        return Fabric(devices=local, num_nodes=world // local, strategy=strategy, **several)
    return Fabric(devices=[device.index or 0] if device.type == "cuda" else 1, **several)


def seed_of_process(seed: int, rank: int) -> int:
    """What a process draws its dropout by: the run's seed for the first, for the others 63 bits that no other (seed,
    rank) has, so that a run with the next seed does not draw what this one's second process draws."""
    if rank == 0:
        return seed
    digest = hashlib.blake2b(f"{seed} process {rank}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def leave_group() -> None:
    """When Python ends: gloo's threads are joined, or the process may abort after all its work is done."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def gather(mine: T) -> list[T]:
    """What every process has, in their order, in every process."""
    if not (dist.is_available() and dist.is_initialized()):
        return [mine]
    every: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(every, mine)
    return every


def deal_back(shares: list[list[T]]) -> list[T]:
    """Units rank, rank + world, … of each process, put back into their order."""
    answers: list[Any] = [None] * sum(map(len, shares))
    for rank, share in enumerate(shares):
        answers[rank :: len(shares)] = share
    return answers


# ---------------------------------------------------------------------------------------------------------------------
# Random states


def random_states(device: torch.device) -> dict[str, Tensor]:
    """Of the CPU, and of the device where that has its own: dropout draws from it."""
    states = {"cpu": torch.get_rng_state()}
    if device.type != "cpu":
        states[device.type] = module_of(device).get_rng_state(*which(device)).cpu()
    return states


def restore_random(states: Mapping[str, Tensor], device: torch.device) -> None:
    torch.set_rng_state(states["cpu"].to(torch.uint8))
    if device.type != "cpu":
        module_of(device).set_rng_state(states[device.type].to(torch.uint8), *which(device))


def module_of(device: torch.device) -> ModuleType:
    """torch.cuda, torch.mps, …: the module with the device's random generator."""
    module: ModuleType = getattr(torch, device.type)
    return module


def which(device: torch.device) -> tuple[torch.device, ...]:
    """MPS has one device and no way to name it."""
    return () if device.type == "mps" else (device,)


@contextmanager
def keep_random(device: torch.device) -> Iterator[None]:
    """Restore the random generators afterwards."""
    states = random_states(device)
    try:
        yield
    finally:
        restore_random(states, device)
