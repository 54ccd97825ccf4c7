"""What reading films can be told; nothing here needs a decoder or a recogniser, so that help texts do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fabula.core.errors import SpecError
from fabula.core.options import option
from fabula.media.options import TextOptions


@dataclass(frozen=True, kw_only=True)
class ReadOptions(TextOptions):
    """How what is written in films is read, and where it goes."""

    kind: Literal["json", "srt", "vtt", "txt"] | None = option(
        None, "Format of the files in a folder. Default: json; a single file's is that of its name."
    )
    fps: float = option(4.0, "Pictures read per second where the film changes.", shows_default=True)
    still: float = option(4.0, "Seconds after which a picture that does not change is read again.", shows_default=True)
    least: float = option(
        0.5, "Least confidence of a sign, from 0 to 1. Higher leaves out more, lower never less.", shows_default=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.fps <= 60:
            raise SpecError(f"--fps {self.fps:g}; pictures per second lie above 0 and up to 60")
        if not 0 < self.still <= 3600:
            raise SpecError(f"--still {self.still:g}; seconds lie above 0 and up to 3600")
        if not 0 <= self.least <= 1:
            raise SpecError(f"--least {self.least:g}; a confidence lies between 0 and 1")
