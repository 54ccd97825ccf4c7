"""What extraction can be told; nothing here needs a decoder or torch, so that help texts do not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fabula.core.errors import SpecError
from fabula.core.options import MUST, Options, option


@dataclass(frozen=True, kw_only=True)
class ExtractOptions(Options):
    """Which features are made of videos, and where they go."""

    with_: str = option(
        MUST,
        "Extractor, as efficientnet_lite0 or onnx(size=112):model.onnx (fabula list extractors).",
        metavar="NAME",
    )
    out: Path = option(MUST, "Store to write: a folder of .npy, an .h5 or a .safetensors file.", "-o")
    fps: float | None = option(None, "Frames looked at per second. Default: the extractor's.")
    weights: Path | None = option(None, "File of the weights, where the extractor does not bring its own.")
    licence: str | None = option(None, "Licence of the weights, for the manifest. Default: as the extractor knows it.")
    device: str = option("auto", "auto, cpu, cuda, cuda:1 …", shows_default=True)
    processes: int | None = option(None, "Videos at a time. Default: one for each processor.", at_least=1)
    engine: Literal["local", "ray"] = option("local", "Where videos are worked on.", shows_default=True)
    address: str | None = option(None, "Address of a Ray cluster. Default: one of this machine.")
    work: Path | None = option(None, "Folder of work done so far, kept. Default: OUT.work, taken away at the end.")
    resume: bool = option(False, "Go on with the work folder that is there.")
    skip_bad: bool = option(False, "Leave out videos that cannot be read, and say so in the manifest.")
    overwrite: bool = option(False, "Replace the store that is there.")

    def __post_init__(self) -> None:
        self.set_paths("out", "weights", "work")
        if self.engine == "ray" and self.processes is not None:
            raise SpecError("--processes says nothing to Ray, which knows its processors; leave it out")
        if self.engine != "ray" and self.address is not None:
            raise SpecError("--address names a Ray cluster; say --engine ray")


@dataclass(frozen=True, kw_only=True)
class CutOptions(Options):
    """How a store of films is cut into clips."""

    clips: Path = option(MUST, 'Lines of {"id", "video", "start", "end"}.')
    out: Path = option(MUST, "Store to write.", "-o")
    overwrite: bool = option(False, "Replace the store that is there.")
