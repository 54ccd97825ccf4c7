"""ONNX: any network in a file of its own, run by ONNX Runtime, without torch.

    --with "onnx(size=112,resize=128,mean=0.5,std=0.5):net.onnx"

What pictures the network wants is declared: size, resize, mean, std, clip, stride, fps. The order of its axes is read
off its input (where the 3 stands) or declared (layout=NCTHW). Of [N, C, …] the mean over the rest is taken.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError, import_extra
from fabula.media import base
from fabula.media.base import Array, Clips, Layout, Vectors, arrange, pool

ORDERS = {(4, 1): "NCHW", (4, 3): "NHWC", (5, 1): "NCTHW", (5, 2): "NTCHW", (5, 4): "NTHWC"}  # axes, where the 3 is


@dataclass(frozen=True, kw_only=True)
class Extractor(base.NetworkExtractor):
    """The file of the network is its weights."""

    name = "onnx"
    library = "onnx"
    packages = ("onnxruntime",)

    output: str = ""  # name of the output; empty: the first

    def embed(self, clips: Clips) -> Vectors:
        path = self.network_file()
        session = open_session(path, self.threads, self.device)
        return pool(run_clips(session, self.normalise(clips), self.layout, self.output, path), self.name)


def run_clips(session: Any, clips: NDArray[np.float32], layout: Layout, output: str, path: Path) -> Array:
    """What the network gives for clips [N, T, H, W, 3] under the name `output`; empty: its first output."""
    (declared, *more) = session.get_inputs()
    if more:
        raise SpecError(f"{path.name} has {len(more) + 1} inputs; an extractor has one")
    names = [one.name for one in session.get_outputs()]
    if output and output not in names:
        raise SpecError(f"{path.name} has no output {output!r}; there are: {', '.join(names[:8])}")
    x: Array = arrange(clips, find_layout(layout, declared.shape, path))
    if declared.type == "tensor(float16)":
        x = x.astype(np.float16)
    many = declared.shape[0] if isinstance(declared.shape[0], int) and declared.shape[0] > 0 else len(x)
    parts = []
    for i in range(0, len(x), many):
        batch = x[i : i + many]
        short = many - len(batch)
        if short:  # a network of a fixed batch gets the last one again
            batch = np.concatenate([batch, np.repeat(batch[-1:], short, axis=0)])
        parts.append(run_session(session, output or names[0], declared.name, batch, path)[: many - short])
    return np.concatenate(parts)


def find_layout(declared: str, shape: Sequence[int | str | None], path: Path) -> str:
    if declared != "auto":
        if len(declared) != len(shape):
            raise SpecError(f"{path.name} takes {len(shape)} axes, layout={declared} has {len(declared)}")
        return declared
    threes = [axis for axis, n in enumerate(shape) if axis and n == 3]
    if len(threes) != 1 or (len(shape), threes[0]) not in ORDERS:
        raise SpecError(f"the order of the axes of {path.name} cannot be told from {shape}; say layout=NCHW")
    return ORDERS[len(shape), threes[0]]


@functools.lru_cache(maxsize=4)
def open_session(path: Path, threads: int, device: str) -> Any:
    onnxruntime = import_extra("onnxruntime", "the extractor onnx", "features")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.log_severity_level = 4
    wanted = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}.get(device.partition(":")[0], device)
    if wanted not in onnxruntime.get_available_providers():
        there = ", ".join(onnxruntime.get_available_providers())
        raise SpecError(f"device={device} is not known to this ONNX Runtime, which has {there}")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=[wanted])
    except Exception as error:  # its own classes, one for each code
        raise InputError(f"not a network that can be run ({say(error)})", file=path, hint="export it again") from None


def run_session(session: Any, output: str, name: str, x: Array, path: Path) -> Array:
    try:
        result: Array = session.run([output], {name: x})[0]
        return result
    except Exception as error:
        raise InputError(
            f"the network refuses pictures of shape {x.shape} ({say(error)})",
            file=path,
            hint="declare what it wants: size, clip, layout",
        ) from None


def say(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
