"""What finding people can be told; nothing here needs a decoder or OpenCV, so that help texts do not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fabula.core.options import MUST, Options, option, same_as
from fabula.media.options import ExtractOptions, check_engine


@dataclass(frozen=True, kw_only=True)
class FindOptions(Options):
    """Which people are found in videos, and where they go."""

    out: Path = option(MUST, "Store to write: a file that ends in .npz.", "-o")
    detector: str = option(
        "scrfd", "Face detector: scrfd, scrfd:FILE.onnx, retinaface:FILE.onnx, yunet:FILE.onnx.", shows_default=True
    )
    embedder: str = option(
        "arcface",
        "Face embedder: arcface, arcface:FILE.onnx, facenet:FILE.onnx, sface:FILE.onnx.",
        shows_default=True,
    )
    cluster: str = option(
        "linked",
        "Clustering of faces: linked, linked(eps=0.6,noise=drop), dbscan (as MICap's paper), dbscan(eps=0.5).",
        shows_default=True,
    )
    fps: float = option(5.0, "Frames read per second.", shows_default=True)
    shots: Literal["content", "transnetv2"] = option("content", "Shot detector.", shows_default=True)
    side: int = option(
        20, "Smallest face in pixels, by its shorter side; smaller faces are skipped.", shows_default=True, at_least=1
    )
    device: str = same_as(ExtractOptions, "device")
    licence: str | None = option(None, "Licence of the weights, for the manifest. Default: as the adapters know it.")
    processes: int | None = same_as(ExtractOptions, "processes")
    engine: Literal["local", "ray"] = same_as(ExtractOptions, "engine")
    address: str | None = same_as(ExtractOptions, "address")
    work: Path | None = same_as(ExtractOptions, "work")
    resume: bool = option(False, "Resume from the existing work folder; new videos are added.")
    skip_bad: bool = same_as(ExtractOptions, "skip_bad")
    overwrite: bool = option(False, "Replace an existing store. Its corrections are applied again.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_engine(self)


@dataclass(frozen=True, kw_only=True)
class CutOptions(Options):
    """How a cast is cut into clips."""

    out: Path = option(MUST, "Folder of streams: face and box are written there.", "-o")
    clips: Path | None = option(None, 'Lines of {"id", "video", "start", "end"}. Default: every shot is a clip.')
    longest: float | None = option(None, "Seconds; a longer shot is cut into equal clips.")
    kind: Literal["safetensors", "h5", "folder"] = option(
        "safetensors", "File format of the stores.", shows_default=True
    )
    overwrite: bool = option(False, "Replace existing stores.")
