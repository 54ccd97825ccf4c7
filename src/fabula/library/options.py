"""What indexing and searching can be told; nothing here needs lancedb, a decoder or torch: help texts do not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fabula.core.options import MUST, Options, option
from fabula.media.options import check_engine

DEFAULT = "offline"


@dataclass(frozen=True, kw_only=True)
class IndexOptions(Options):
    """How a folder of videos becomes a store of clips."""

    store: str = option(MUST, "Store of clips: a folder, or an address as s3://bucket/store.", metavar="DIR")
    with_: str | None = option(
        None,
        "Embedder, as openclip:clip.safetensors. Default: the store's; offline for a new one.",
        metavar="NAME",
    )
    fps: float | None = option(None, "Frames read per second. Default: the store's; 1 for a new one.")
    clip: float | None = option(None, "Seconds of a clip. Default: the store's; 2 for a new one.")
    stride: float | None = option(
        None, "Seconds from one clip to the next. Default: the store's; the length of a clip for a new one."
    )
    weights: Path | None = option(None, "File of the embedder's weights, if it ships none.")
    device: str = option("auto", "auto, cpu, cuda, cuda:1 …", shows_default=True)
    processes: int | None = option(None, "Videos processed in parallel. Default: one per processor.", at_least=1)
    engine: Literal["local", "ray"] = option("local", "Engine that processes the videos.", shows_default=True)
    address: str | None = option(None, "Address of a Ray cluster. Default: one of this machine.")
    reembed: bool = option(False, "Recompute all vectors with another embedder or recipe; run again to resume.")
    moved: bool = option(False, "The videos of the store have moved to this folder.")
    skip_bad: bool = option(False, "Skip unreadable videos instead of ending with an error.")
    retry: bool = option(False, "Retry unreadable videos even if they have not changed.")
    no_thumbs: bool = option(False, "Store no thumbnails of clips.")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "store", str(self.store))
        check_engine(self)


@dataclass(frozen=True, kw_only=True)
class SearchOptions(Options):
    """Where and how moments are looked for."""

    store: str = option(MUST, "Store of clips that fabula index made.", metavar="DIR")
    limit: int = option(20, "Moments to list.", at_least=1, at_most=1000, shows_default=True)
    video: tuple[str, ...] = option((), "Search only this video; repeat the flag to name more.", several=True)
    person: tuple[str, ...] = option(
        (), "Only moments that show this person; repeat the flag for moments that show all of them.", several=True
    )
    people: Path | None = option(None, "Store of people made by fabula people find; --person names one of them.")
    min_length: float | None = option(None, "Shortest moment, in seconds.")
    max_length: float | None = option(None, "Longest moment, in seconds.")
    min_probability: float | None = option(None, "Drop moments below this probability; needs a calibrated store.")
    model: Path | None = option(
        None, "Run of fabula train vcmr that predicts where moments start and end.", metavar="RUN"
    )
    extract: str | None = option(
        None, "Extractor of the model's features. Default: use the store's vectors.", needs="model"
    )
    other_features: bool = option(False, "Use the model even if its features were extracted in another way.")
    weights: Path | None = option(None, "File of the embedder's weights, if it has moved since indexing.")
    device: str = option("auto", "auto, cpu, cuda, cuda:1 …", shows_default=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "store", str(self.store))
        for name in ("video", "person"):
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, (value,))

    @property
    def length(self) -> tuple[float | None, float | None] | None:
        return None if self.min_length is None and self.max_length is None else (self.min_length, self.max_length)
