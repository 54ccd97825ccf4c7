"""TSN's half for pictures (Wang et al., ECCV 2016; ResNet-200 of the ActivityNet challenge 2016): two frames a second.

    --with tsn:resnet200.onnx                       2048 numbers
    --features 'tsn_rgb.h5,tsn_flow.h5'             with the other half (tsn_flow), as PDVC reads both

The file is ResNet-200 of github.com/yjxiong/anet2016-cuhk up to its global pooling. Of pixels from 0 to 255, blue
first, 104, 117 and 123 are taken away. The published program squeezes whole pictures to 340 × 256; here the middle
square of 256 is seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fabula.media import networks


@dataclass(frozen=True, kw_only=True)
class Extractor(networks.NetworkFile):
    """A feature every half second."""

    name = "tsn"

    fps: float = 2.0
    size: int = 256
    mean: tuple[float, ...] = (123 / 255, 117 / 255, 104 / 255)
    std: tuple[float, ...] = (1 / 255, 1 / 255, 1 / 255)
    colours: Literal["RGB", "BGR"] = "BGR"
    frames: Literal["clip", "middle", "mean", "max"] = "middle"
