"""What can be chosen of a run over a benchmark: films, frames, prompt, layout, how far it may go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fabula.core.errors import SpecError
from fabula.core.options import option
from fabula.llm.options import ServerOptions, check_sampling

NO_SERVER = "no server is named: say --url http://127.0.0.1:8000/v1 and --model NAME, or --replay RECORD"
Subject = Literal["grounding", "highlights", "questions", "dense"]


@dataclass(frozen=True, kw_only=True)
class AskOptions(ServerOptions):
    """Keywords of `fabula.ask` and flags of `fabula ask`."""

    videos: tuple[Path, ...] = option((), "Films, or folders of them.", several=True, metavar="PATH")
    out: Path | None = option(
        None, "File of answers, which fabula score reads; with --vary a folder.", "-o", metavar="PATH", writes=False
    )
    task: Subject | None = option(None, "What is asked. Default: what the file is for.")
    format: str | None = option(None, "Format of the benchmark (fabula list formats). Default: how it begins.")
    prompt: str | None = option(None, "Name of a prompt of this kind of question, or a text file.", metavar="NAME|FILE")
    frames: str = option(
        "fabula/rate(fps=1,most=256)", "Frame recipe of a film (fabula list frames).", shows_default=True
    )
    side: int = option(448, "Longer side of a frame in pixels; 0: as the film has it.", at_least=0, shows_default=True)
    quality: int = option(85, "JPEG quality of the frames.", at_least=1, at_most=100, shows_default=True)
    layout: str = option("pairs", "How frames and times are laid out (fabula list layouts).", shows_default=True)
    times: Literal["film", "recipe"] = option(
        "film", "Whose times stand with the frames: the film's, or the recipe's harness'.", shows_default=True
    )
    server: str | None = option(None, "Name of the server in record and signature. Default: its address.")
    temperature: float = option(0.0, "Sampling temperature.", shows_default=True)
    max_tokens: int = option(1024, "Maximum tokens of an answer.", at_least=1, shows_default=True)
    seed: int = option(0, "Seed of sampling.", shows_default=True)
    limit: int | None = option(None, "Ask only the first so many questions.", at_least=1)
    budget: float | None = option(None, "Maximum cost, in the unit of --price; no call starts beyond it.")
    skip_bad: bool = option(False, "Skip questions about films that are missing or unreadable, and name them.")
    overwrite: bool = option(False, "Replace what exists at OUT.")

    def __post_init__(self) -> None:
        videos = (self.videos,) if isinstance(self.videos, str | Path) else self.videos
        object.__setattr__(self, "videos", tuple(map(Path, videos)))
        super().__post_init__()
        check_sampling(self.temperature, self.budget)

    @property
    def server_name(self) -> str:
        """As record and signature have it."""
        return self.server or self.url

    def check_server(self) -> None:
        """Refuse a run that has nobody to ask, or no film to show."""
        if self.replay is None and not self.has_server:
            raise SpecError(NO_SERVER)
        self.check_videos()

    def check_videos(self) -> None:
        if self.replay is None and not self.videos:
            raise SpecError("no films are named; say --videos FOLDER")

    @property
    def parameters(self) -> dict[str, object]:
        return {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed}
