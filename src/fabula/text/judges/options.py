"""The options of every verb that may call a judge: which model, where it is, how fast, and where answers are stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fabula.core.errors import SpecError
from fabula.core.options import Options, option

if TYPE_CHECKING:
    from fabula.llm.options import EndpointOptions

Failed = Literal["zero", "drop", "raise"]
SHARED = ("url", "model", "key_env", "concurrency", "rpm", "timeout", "retries", "record", "replay")  # with an endpoint


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(Options):
    """The endpoint of the judge of SODA_c(text=judge:NAME) and of protocols with a judge."""

    judge_url: str | None = option(
        None,
        "Address of a judge's endpoint, such as http://127.0.0.1:8000/v1; fake is a test judge that counts shared "
        "words and sends nothing.",
    )
    judge_model: str | None = option(None, "Model that judges. Default: the one on record.")
    judge_key_env: str = option("OPENAI_API_KEY", "Environment variable that holds the judge's key.")
    judge_concurrency: int = option(8, "Concurrent judgements.", at_least=1, at_most=10_000)
    judge_rpm: float | None = option(None, "Maximum judgements per minute.")
    judge_timeout: float = option(120.0, "Timeout of a judgement in seconds.")
    judge_retries: int = option(5, "Retries after a failure of the endpoint.", at_least=0, at_most=100)
    judge_record: Path | None = option(
        None, "Append every judgement to this JSONL file; judgements in it are not asked again.", writes=True
    )
    judge_replay: Path | None = option(None, "Read judgements from this file and send nothing.")
    judge_prompts: Path | None = option(
        None,
        "Clone of the repository that holds the published prompts, or a folder of clones, if no package has them.",
    )
    judge_failed: Failed = option(
        "zero",
        "A judgement that cannot be read counts 0 (zero), its video or item is left out (drop), or ends the run "
        "(raise). Default: zero.",
    )

    @property
    def names_judge(self) -> bool:
        return self.judge_url is not None or self.judge_replay is not None

    @property
    def judge_flags(self) -> list[str]:
        """The flags of a judge that were given."""
        return [o.flag for o in self.changed() if o.name.startswith("judge_")]

    def endpoint(self) -> EndpointOptions:
        """The options of whoever asks."""
        from fabula.llm.options import EndpointOptions

        if self.judge_replay is not None and self.judge_url is not None:
            raise SpecError("--judge-url is asked and --judge-replay is read; say one of the two")
        if self.judge_replay is None and self.judge_url is None:
            raise SpecError("a judge is needed; say --judge-url and --judge-model, or --judge-replay")
        if self.judge_replay is not None and self.judge_record is not None:
            raise SpecError("--judge-record writes judgements and --judge-replay reads them; say one of the two")
        try:
            values = {name: getattr(self, f"judge_{name}") for name in SHARED}
            endpoint = EndpointOptions(**{name: value for name, value in values.items() if value is not None})
        except SpecError as error:  # says --url
            raise SpecError(str(error).replace("--", "--judge-")) from None
        if self.judge_model is not None or (self.judge_replay is None and endpoint.is_fake):
            return endpoint
        if self.judge_replay is None:
            raise SpecError(f"which model judges at {self.judge_url} is not said; say --judge-model")
        return replace(endpoint, model=find_model(self.judge_replay))


def list_models(record: Path) -> list[str]:
    """The models whose answers are on record, in the order of first appearance."""
    import json

    from fabula.llm.record import Record

    found: dict[str, None] = {}
    with Record(record) as answers:
        for place in answers.places.values():
            answers.file.seek(place)
            try:
                found[str(json.loads(answers.file.readline())["call"]["model"])] = None
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # it says so when it is asked for
    return list(found)


def find_model(record: Path) -> str:
    """The one model of a record."""
    models = list_models(record)
    if len(models) > 1:
        raise SpecError(f"{record} holds answers of {', '.join(models)}; say which one judges with --judge-model")
    return models[0] if models else "fake"
