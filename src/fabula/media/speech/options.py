"""What hearing films can be told; nothing here needs a decoder or a recogniser, so that help texts do not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from fabula.core.errors import SpecError, shown
from fabula.core.options import option, same_as
from fabula.llm.options import EndpointOptions
from fabula.media.options import TextOptions

UNNAMED = "whisper-1"


@dataclass(frozen=True, kw_only=True)
class TranscribeOptions(TextOptions):
    """How what is said in films is heard, and where it goes."""

    kind: Literal["srt", "vtt", "txt", "json"] | None = option(
        None, "Format of the files in a folder. Default: srt; a single file's is that of its name."
    )
    track: int | None = option(None, "Sound track, from 1. Default: the film's default one.", at_least=1)
    language: str | None = option(
        None, "Language of the subtitles to prefer, and of the speech for an endpoint, as en or de."
    )
    ignore_subtitles: bool = option(False, "Hear the films even if subtitles lie beside or in them.")
    url: str | None = option(
        None,
        "Address of an OpenAI-compatible endpoint that hears, as http://127.0.0.1:8000/v1. Default: Moonshine here.",
    )
    model: str = option(UNNAMED, "Model of the endpoint.", "-m", shows_default=True)
    key_env: str = same_as(EndpointOptions, "key_env")
    rpm: float | None = same_as(EndpointOptions, "rpm", needs="url")
    timeout: float = same_as(EndpointOptions, "timeout")
    retries: int = same_as(EndpointOptions, "retries")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.language is not None and not re.fullmatch(r"[a-z]{2}", self.language):
            raise SpecError(f"--language {shown(self.language)}; it has two letters, as en or de")
        if self.url is None and self.model != UNNAMED:
            raise SpecError("--model only applies with --url")
        self.endpoint()  # refuses what cannot be an address

    def endpoint(self) -> EndpointOptions | None:
        """The endpoint, where one is named."""
        if self.url is None:
            return None
        found = EndpointOptions(
            url=self.url,
            model=self.model,
            key_env=self.key_env,
            rpm=self.rpm,
            timeout=self.timeout,
            retries=self.retries,
        )
        if found.is_fake:
            raise SpecError("--url fake: the endpoint that ships cannot hear; name a server")
        return found
