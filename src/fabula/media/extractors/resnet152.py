"""ResNet-152 of ImageNet, the clips of VERIFIED: four frames a second, and of each second the greatest numbers.

    --with resnet152:resnet152.onnx       2048 numbers: the mean over space before the classes

The file is torchvision's network without its last layer, by torch.jit or ONNX: [N, 3, 224, 224] → [N, 2048] or
[N, 2048, 7, 7]. ImageNet's mean and std, red first; a square of 224 from a shorter side of 224.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fabula.media import networks


@dataclass(frozen=True, kw_only=True)
class Extractor(networks.NetworkFile):
    """One feature a second."""

    name = "resnet152"

    fps: float = 4.0
    clip: int = 4
    stride: int = 4
    resize: int = 224
    frames: Literal["clip", "middle", "mean", "max"] = "max"
