"""What indexing can be told; nothing here needs lancedb, a decoder or torch, so that help texts do not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fabula.core.errors import SpecError
from fabula.core.options import MUST, Options, option

DEFAULT = "offline"


@dataclass(frozen=True, kw_only=True)
class IndexOptions(Options):
    """How a folder of videos becomes a store of clips."""

    store: str = option(MUST, "Store of clips: a folder, or an address as s3://bucket/store.", metavar="DIR")
    with_: str | None = option(
        None,
        "Embedder, as openclip:clip.safetensors. Default: that of the store; offline for a new one.",
        metavar="NAME",
    )
    fps: float | None = option(None, "Frames looked at per second. Default: the store's; 1 for a new one.")
    clip: float | None = option(None, "Seconds of a clip. Default: the store's; 2 for a new one.")
    stride: float | None = option(None, "Seconds from one clip to the next. Default: the store's; those of a clip.")
    weights: Path | None = option(None, "The embedder's weights, where it does not bring its own.")
    device: str = option("cpu", "cpu, cuda, cuda:1 …", shows_default=True)
    processes: int | None = option(None, "Videos at a time. Default: one for each processor.", at_least=1)
    engine: Literal["local", "ray"] = option("local", "Where videos are worked on.", shows_default=True)
    address: str | None = option(None, "Address of a Ray cluster. Default: one of this machine.")
    reembed: bool = option(False, "Make all vectors anew, with another embedder or recipe; said again, go on with it.")
    moved: bool = option(False, "The videos of the store lie in this folder now.")
    skip_bad: bool = option(False, "Videos that cannot be read are no reason to end with an error.")
    retry: bool = option(False, "Try videos again that could not be read and have not changed.")
    no_thumbs: bool = option(False, "Keep no small pictures of clips.")

    def __post_init__(self) -> None:
        self.set_paths("weights")
        object.__setattr__(self, "store", str(self.store))
        if self.engine == "ray" and self.processes is not None:
            raise SpecError("--processes says nothing to Ray, which knows its processors; leave it out")
        if self.engine != "ray" and self.address is not None:
            raise SpecError("--address names a Ray cluster; say --engine ray")
