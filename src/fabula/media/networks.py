"""Recipes around a network of the user's: how papers and their programs looked at videos, by one name each.

    --with s3d:s3d.pt          --with "resnet152(fps=8,clip=8,stride=8):resnet152.onnx"

The file is ONNX where its name ends in .onnx, else TorchScript. A recipe is an adapter in extractors/ with the settings
of one paper: frames per second, clip, stride, size, mean and std, the order of colours and axes, which output, and how
the frames of a clip become one vector. docs/features.md names where each setting comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.media import base
from fabula.media.base import Array, Clips, Vectors, arrange, pool
from fabula.media.devices import Library
from fabula.media.extractors import onnx, torchscript

ENDING = ".onnx"


@dataclass(frozen=True, kw_only=True)
class NetworkFile(base.NetworkExtractor):
    """Base of recipes: the file of the network is its weights."""

    packages: ClassVar[tuple[str, ...]] = ("torch", "onnxruntime")

    frames: Literal["clip", "middle", "mean", "max"] = "clip"  # the network sees the clip · one frame · each, pooled
    colours: Literal["RGB", "BGR"] = "RGB"  # their order; mean and std are of red, green, blue in either
    output: str = ""  # of several outputs the one of this name; empty: the first

    @property
    def library(self) -> Library:  # type: ignore[override]  # by the file
        return "onnx" if self.is_onnx else "torch"

    @property
    def is_onnx(self) -> bool:
        return str(self.weights or "").lower().endswith(ENDING)

    def embed(self, clips: Clips) -> Vectors:
        n, T = clips.shape[:2]
        if self.frames == "middle":
            clips = clips[:, T // 2 : T // 2 + 1]
        elif self.frames != "clip":
            clips = clips.reshape(n * T, 1, *clips.shape[2:])
        vectors = pool(self.run(clips), self.name)
        if self.frames in ("clip", "middle"):
            return vectors
        each = vectors.reshape(n, T, -1)
        pooled: Vectors = each.max(1) if self.frames == "max" else each.mean(1, dtype=np.float32)
        return pooled

    def run(self, clips: Clips) -> Array:
        """What the network gives for clips of its own length."""
        path = self.network_file()
        x = self.normalise(clips)
        if self.colours == "BGR":
            x = x[..., ::-1]
        if self.is_onnx:
            return onnx.run_clips(onnx.open_session(path, self.threads, self.device), x, self.layout, self.output, path)
        layout = self.layout if self.layout != "auto" else "NCTHW" if self.frames == "clip" else "NCHW"
        return torchscript.run_file(path, arrange(x, layout), self.device, self.threads, self.output)
