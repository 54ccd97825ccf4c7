"""TorchScript: any network saved by torch.jit.save, as S3D or TSN where the user has their weights.

    --with "torchscript(fps=16,clip=16,stride=16,layout=NCTHW,mean=0,std=1):s3d.pt"

What pictures the network wants is declared: size, resize, mean, std, clip, stride, fps and the order of its axes. Of
[N, C, …] the mean over the rest is taken. A TorchScript file is a program: load those of people you trust.
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula.core.errors import InputError, SpecError
from fabula.media import base
from fabula.media._torch import import_torch, move, run_torch
from fabula.media.base import Array, Clips, Vectors, arrange, pool

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Extractor(base.NetworkExtractor):
    """The file of the network is its weights."""

    name = "torchscript"
    packages = ("torch",)

    def embed(self, clips: Clips) -> Vectors:
        path = self.network_file()
        layout = self.layout if self.layout != "auto" else "NCHW" if self.clip == 1 else "NCTHW"
        return pool(run_file(path, arrange(self.normalise(clips), layout), self.device, self.threads), self.name)


def run_file(path: Path, x: Array, device: str, threads: int, output: str = "") -> Array:
    """What the network of a file gives; of several outputs by name (a dict) the one of this name."""

    def run(inputs: Tensor) -> Tensor:
        found = network(inputs)
        if isinstance(found, dict):
            if output not in found:
                there = ", ".join(map(str, list(found)[:8]))
                raise SpecError(f"{path.name} has no output {output!r}; there are: {there}")
            found = found[output]
        if not hasattr(found, "float"):
            raise SpecError(f"{path.name} gives a {type(found).__name__}; expected one tensor, or tensors by name")
        tensor: Tensor = found
        return tensor

    network = load_network(path, device)
    try:
        return run_torch(run, x, device, threads)
    except RuntimeError as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise InputError(
            f"the network refuses pictures of shape {x.shape} ({lines[-1][:120]})",
            file=path,
            hint="declare what it wants: size, clip, layout",
        ) from None


@functools.lru_cache(maxsize=2)
def load_network(path: Path, device: str) -> Any:
    torch = import_torch()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            network = torch.jit.load(path, map_location="cpu")
    except (RuntimeError, ValueError, OSError) as error:
        reason = " ".join(str(error).split())[:100]
        raise InputError(f"not a TorchScript file ({reason})", file=path, hint="save it with torch.jit.save") from None
    return move(network, device)
