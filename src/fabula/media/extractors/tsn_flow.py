"""TSN's half for motion (Wang et al., ECCV 2016; BN-Inception): six frames in a row, every half second, at 30 a second.

    --with tsn_flow:flow_and_bn_inception.pt        1024 numbers

The file takes six pictures, [N, 3, 6, 224, 224], pixels from 0 to 1, red first, and computes their five optical flows
itself: Fabula computes none. The published program (github.com/LuoweiZhou/anet2016-cuhk-feature) takes TV-L1, bounded
at ±20 pixels and brought to 0 … 255, less 128, ten channels.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabula.media import networks


@dataclass(frozen=True, kw_only=True)
class Extractor(networks.NetworkFile):
    """A feature every half second."""

    name = "tsn_flow"

    fps: float = 30.0
    clip: int = 6
    stride: int = 15
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)
    batch: int = 4
