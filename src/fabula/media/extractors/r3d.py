"""ResNeXt-101 in 3-D trained on Kinetics (Hara et al., CVPR 2018), the R3D of PSS: 16 frames a second, clips of 16.

    --with r3d:resnext101.pt      2048 numbers: the mean over space and time before the classes

The file is the network of github.com/kenshohara/video-classification-3d-cnn-pytorch without its last layer, TorchScript
or ONNX. A square of 112 from a shorter side of 112; of pixels from 0 to 255 Kinetics' mean is taken away, red first.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabula.media import networks

KINETICS_MEAN = (114.7748 / 255, 107.7354 / 255, 99.4750 / 255)


@dataclass(frozen=True, kw_only=True)
class Extractor(networks.NetworkFile):
    """One feature a second."""

    name = "r3d"

    fps: float = 16.0
    clip: int = 16
    stride: int = 16
    resize: int = 112
    size: int = 112
    mean: tuple[float, ...] = KINETICS_MEAN
    std: tuple[float, ...] = (1 / 255, 1 / 255, 1 / 255)
    batch: int = 4
