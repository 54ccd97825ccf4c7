"""S3D trained on HowTo100M by MIL-NCE (Miech et al., CVPR 2020), the features of PSS: 16 frames a second, clips of 16.

    --with s3d:s3d.pt                     512 numbers: video_embedding, the space it shares with text
    --with "s3d(output=mixed_5c):s3d.pt"  1024 numbers: the last layer before it

The file is the network of github.com/antoine77340/S3D_HowTo100M, saved by torch.jit (its dict of outputs as it is) or
exported to ONNX. Pixels from 0 to 1, red first, [N, 3, T, H, W]; the network was trained with 32 frames.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabula.media import networks


@dataclass(frozen=True, kw_only=True)
class Extractor(networks.NetworkFile):
    """One feature a second."""

    name = "s3d"

    fps: float = 16.0
    clip: int = 16
    stride: int = 16
    resize: int = 224
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)
    output: str = "video_embedding"
    batch: int = 4
