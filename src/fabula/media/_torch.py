"""What adapters that run on torch share: weights read as numbers alone, and a network run without gradients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError, import_extra
from fabula.media.base import Array

if TYPE_CHECKING:
    from torch import Tensor, nn


def import_torch() -> ModuleType:
    return import_extra("torch", "an extractor that runs on torch", "learn")


def move(network: nn.Module, device: str) -> nn.Module:
    """The network on a device, ready to be used."""
    try:
        return network.eval().to(import_torch().device(device))
    except (RuntimeError, AssertionError) as error:
        reason = " ".join(str(error).split())[:100]
        raise SpecError(f"device={device} cannot be used ({reason}); say device=cpu") from None


def load_state(path: Path) -> dict[str, Tensor]:
    """Tensors by name, from .safetensors or from a torch file of tensors alone: nothing in a file is executed."""
    torch = import_torch()
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            found = load_file(path)
        else:
            found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise InputError(
            f"not a file of weights ({reason})", file=path, hint="tensors by name: .pth or .safetensors"
        ) from None
    while isinstance(found, dict) and isinstance(inner := found.get("state_dict", found.get("model")), dict):
        found = inner
    if not isinstance(found, dict) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        raise InputError("holds no tensors by name", file=path, hint="save the model's state_dict")
    return found


def run_torch(network: Callable[[Tensor], Tensor], values: Array, device: str, threads: int) -> NDArray[np.float32]:
    """One pass without gradients, float32 in and out, on so many threads: the same bits whoever calls."""
    torch = import_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            inputs = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)).to(device)
            outputs = network(inputs)
    finally:
        torch.set_num_threads(before)
    array: NDArray[np.float32] = outputs.float().cpu().numpy()
    return array
