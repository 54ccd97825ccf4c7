"""What can be chosen of the story of a film: which frames, which words go along, how far a run may go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fabula.core.errors import SpecError
from fabula.core.options import option
from fabula.llm.options import ServerOptions, check_sampling

Style = Literal["dense", "steps", "chapters", "descriptions"]
Shots = Literal["content", "transnetv2", "none"]
NO_SERVER = (
    "no server is named: say --url http://127.0.0.1:8000/v1 and --model NAME for a story, "
    "or --offline for what is found without one: shots, lines, signs, people, objects"
)


@dataclass(frozen=True, kw_only=True)
class TellOptions(ServerOptions):
    """Keywords of `fabula.tell` and flags of `fabula tell`."""

    out: tuple[Path, ...] = option(
        (), "Files to write, by their endings, or one folder.", "-o", several=True, metavar="PATH", writes=False
    )
    to: tuple[str, ...] = option(
        (),
        "What goes into a folder: submission, record, srt, vtt, chapters, otio, page. Default: record, page.",
        parts=True,
        metavar="A,B",
    )
    style: Style = option("dense", "What the story is made of.", shows_default=True)
    language: str | None = option(None, "Language of the captions. Default: as the model likes.")
    frames: str = option("fabula/rate(fps=1)", "Frame recipe of a window (fabula list frames).", shows_default=True)
    side: int = option(448, "Longer side of a frame in pixels; 0: as the film has it.", at_least=0, shows_default=True)
    quality: int = option(85, "JPEG quality of the frames.", at_least=1, at_most=100, shows_default=True)
    picture_tokens: int | None = option(
        None, "Tokens of a frame, for estimates. Default: by the model's name.", at_least=1, at_most=100_000
    )
    layout: str = option("pairs", "How frames and times are laid out (fabula list layouts).", shows_default=True)
    window: float = option(120.0, "Seconds of film in one call.", shows_default=True)
    overlap: float = option(20.0, "Seconds that two windows share.", shows_default=True)
    carry: int = option(
        2,
        "Last events of a window that the next call is told of; 0: the windows of a film are asked side by side.",
        at_least=0,
        at_most=50,
        shows_default=True,
    )
    shots: Shots = option("content", "Shot detector; windows begin and end at cuts.", shows_default=True)
    lines: Path | None = option(None, "Lines that are spoken: a store, a subtitle file, or a folder of them.")
    signs: Path | None = option(None, "Texts in the picture: a store, or a folder of them.")
    people: Path | None = option(None, "People of the films: a store of fabula people find.")
    untitled: bool = option(False, "Leave out the last call of a film, which gives it a title and joins chapters.")
    pace: float = option(2.5, "Words a second of spoken descriptions.", shows_default=True)
    prompts: Path | None = option(None, "Folder of prompts that replace ours.")
    temperature: float = option(0.0, "Sampling temperature.", shows_default=True)
    max_tokens: int = option(2048, "Maximum tokens of an answer.", at_least=1, shows_default=True)
    seed: int = option(0, "Seed of sampling; a second attempt uses the next seed.", shows_default=True)
    tries: int = option(2, "Maximum attempts when an answer cannot be read.", at_least=1, at_most=20)
    budget: float | None = option(None, "Maximum cost, in the unit of --price; no call starts beyond it.")
    work: Path | None = option(None, "Folder of answers and finished films. Default: OUT.work.")
    skip_bad: bool = option(False, "Skip unreadable films and name them.")
    overwrite: bool = option(False, "Replace what exists at OUT.")

    def __post_init__(self) -> None:
        out = (self.out,) if isinstance(self.out, str | Path) else self.out
        object.__setattr__(self, "out", tuple(map(Path, out)))
        super().__post_init__()
        if not 1 <= self.window <= 86_400:
            raise SpecError(f"--window {self.window:g}; it lies between 1 and 86,400 seconds")
        if not 0 <= self.overlap <= self.window / 2:
            raise SpecError(f"--overlap {self.overlap:g}; it lies between 0 and half of --window ({self.window / 2:g})")
        check_sampling(self.temperature, self.budget)
        if not 0.1 <= self.pace <= 20:
            raise SpecError(f"--pace {self.pace:g}; it lies between 0.1 and 20 words a second")

    def check_server(self) -> None:
        """Refuse a run that has nobody to ask."""
        if not (self.has_server or self.replay):
            raise SpecError(NO_SERVER)

    @property
    def parameters(self) -> dict[str, object]:
        """Of the first attempt's calls."""
        return {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed}
