"""The options of every verb that asks a model: where it is, how fast it may be asked, what it costs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from fabula.core.errors import SpecError, shown
from fabula.core.options import Options, option

FAKE = "fake:"  # the address of the endpoint that ships; "fake" will do
NOBODY = "none"  # the address of verbs that have a use without a server, where none is named
UNNAMED = "fake"  # the model, where none is named
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, kw_only=True)
class EndpointOptions(Options):
    """An OpenAI-compatible endpoint and how it is asked. Its key comes from the environment and goes nowhere else."""

    url: str = option(
        FAKE, "Address of the endpoint, such as http://127.0.0.1:8000/v1; fake answers nonsense and sends nothing."
    )
    model: str = option(UNNAMED, "Model to ask.", "-m")
    key_env: str = option("OPENAI_API_KEY", "Environment variable that holds the key.", shows_default=True)
    concurrency: int = option(8, "Concurrent requests.", at_least=1, at_most=10_000, shows_default=True)
    rpm: float | None = option(None, "Maximum requests per minute.")
    tpm: float | None = option(None, "Maximum tokens per minute, input and output.")
    timeout: float = option(120.0, "Timeout of a request in seconds.", shows_default=True)
    retries: int = option(5, "Retries after a failure.", at_least=0, at_most=100, shows_default=True)
    context: int | None = option(
        None, "Context length of the model in tokens, answer included. Default: from the endpoint.", at_least=1
    )
    price: tuple[str, ...] = option((), "Price of a million tokens as IN/OUT, or MODEL=IN/OUT.", parts=True)
    schema: Literal["auto", "always", "never"] = option(
        "auto", "Request JSON by schema; auto: unless the endpoint refuses it.", shows_default=True
    )
    record: Path | None = option(None, "Append every answer to this JSONL file.", writes=True)
    replay: Path | None = option(None, "Read answers from this file and send nothing.")
    prefix: str = ""  # of its flags, where another verb has them: "judge-" where they are --judge-url, …

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.url == FAKE.rstrip(":"):
            object.__setattr__(self, "url", FAKE)
        for name in ("rpm", "tpm", "timeout"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e12:
                raise SpecError(f"--{self.prefix}{name} {value:g}; it must be a positive number")
        if self.record and self.replay:
            flags = f"--{self.prefix}record writes answers and --{self.prefix}replay reads them"
            raise SpecError(f"{flags}; use one of the two")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.key_env):
            problem = "names an environment variable; never put the key itself on a command line"
            raise SpecError(f"--{self.prefix}key-env {problem}")
        if not self.is_fake:
            self.check_url()

    def check_url(self) -> None:
        url = f"--{self.prefix}url"
        try:
            parts = urlsplit(self.url)
            fine = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
        except ValueError:
            raise SpecError(f"{url} is no address; say http://host:port/v1") from None
        if not fine:
            raise SpecError(f"{url} {shown(self.url)}; say http://host:port/v1, https://…, or fake:")
        if parts.username or parts.password or parts.query or parts.fragment:
            problem = "carries a name, a password or a query; keys come from the environment"
            raise SpecError(f"{url} {problem} (--{self.prefix}key-env)")

    @property
    def is_fake(self) -> bool:
        return self.url == FAKE

    @property
    def is_local(self) -> bool:
        return not self.is_fake and urlsplit(self.url).hostname in LOOPBACK

    def read_key(self) -> str:
        """The key, or nothing. It is read when a client begins, and stays with that client alone."""
        return os.environ.get(self.key_env, "").strip()


@dataclass(frozen=True, kw_only=True)
class ServerOptions(EndpointOptions):
    """The same for a verb that asks about films: a plan, a replay or what is found offline needs no server."""

    url: str = option(NOBODY, "Address of the server, such as http://127.0.0.1:8000/v1; fake answers nonsense.")

    @property
    def has_server(self) -> bool:
        return self.url != NOBODY

    def check_url(self) -> None:
        if self.has_server:
            super().check_url()


def check_sampling(temperature: float, budget: float | None) -> None:
    """Refuse a temperature or a budget that no run can have."""
    if not 0 <= temperature <= 10:
        raise SpecError(f"--temperature {temperature:g}; it lies between 0 and 10")
    if budget is not None and not 0 <= budget < 1e12:
        raise SpecError(f"--budget {budget:g}; it is 0 or more")
