"""Where an adapter runs: `auto` is a GPU that its own library can use, where there is one, else the CPU."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

Library = Literal["torch", "onnx", "none"]  # what runs a network; none: nothing that knows a GPU
DRIVERS = ("nvidiactl", "nvidia0", "nvhost-ctrl", "nvmap", "dxg", "kfd")  # NVIDIA's, Tegra's, WSL's, AMD's
T = TypeVar("T")


def find_device(device: str, library: Library) -> str:
    """The device by name; a library that is not installed has none but the CPU, and is asked for by name later."""
    if device != "auto":
        return device
    try:
        if library == "torch":
            if "torch" not in sys.modules and lacks_gpu():
                return "cpu"
            import torch

            return "cuda" if torch.cuda.is_available() else "cpu"
        if library == "onnx":
            import onnxruntime

            return "cuda" if "CUDAExecutionProvider" in onnxruntime.get_available_providers() else "cpu"
    except ImportError:
        pass
    return "cpu"


def lacks_gpu() -> bool:
    """Whether the system has no driver that torch could use: to ask torch itself costs seconds."""
    return sys.platform == "linux" and not any(Path("/dev", name).exists() for name in DRIVERS)


def place_adapter(adapter: T, library: Library | None = None) -> T:
    """The adapter (a Spec that has a `device` and a `library`) on a device that there is."""
    dynamic: Any = adapter
    device = find_device(dynamic.device, dynamic.library if library is None else library)
    return adapter if device == dynamic.device else replace(dynamic, device=device)
