"""All that decides what a moment's caption becomes: models, prompts, settings. Its hash stands beside every outcome."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fabula.annotation.prompts import load_prompts
from fabula.core.errors import SpecError, shown
from fabula.core.options import Options, option
from fabula.documents.fields import JsonDict, JsonObject
from fabula.llm import EndpointOptions
from fabula.llm.prompts import Prompt

ROLES = {
    "static_frame": "image",
    "static_fuse": "text",
    "dynamic_questions": "text",
    "dynamic_answers": "video",
    "dynamic_fuse": "text",
    "rewrite": "text",
    "disturb_static": "text",
    "disturb_dynamic": "text",
    "judge": "judge",
}
REWRITES = ("rewrite", "disturb_static", "disturb_dynamic")
TRIES = 2  # times that a model is asked where its answer cannot be read


@dataclass(frozen=True, kw_only=True)
class RecipeOptions(Options):
    """How captions are made."""

    image_model: str | None = option(None, "Model for single frames. Default: --model.")
    video_model: str | None = option(None, "Model for the frames of a clip. Default: --model.")
    prompts: Path | None = option(None, "Folder of prompts that replace ours.")
    keyframes: int = option(
        8, "Maximum number of keyframes, shown one by one.", at_least=1, at_most=64, shows_default=True
    )
    video_frames: int = option(8, "Frames of a clip shown together.", at_least=1, at_most=256, shows_default=True)
    scorer: str = option(
        "judge",
        "What selects the caption: judge (the video model), noise:RUN (a run of fabula train noise), none (the first).",
        shows_default=True,
    )
    scorer_features: tuple[str, ...] = option(
        (), "Stores of video features, for --scorer noise:RUN.", parts=True, metavar="A,B"
    )
    scorer_text: str | None = option(None, "Encoder of texts, for a run of fabula train noise --text.", metavar="NAME")
    rewrites: bool = option(False, "Ask for rewritten and disturbed captions too, to train the noise evaluator.")
    blind: bool = option(False, "Show no frames: for dry runs and text-only models.")
    temperature: float = option(0.0, "Sampling temperature.", shows_default=True)
    max_tokens: int = option(800, "Maximum tokens of an answer.", at_least=1, shows_default=True)
    seed: int = option(0, "Seed of sampling; a second attempt uses the next seed.", shows_default=True)
    tries: int = option(TRIES, "Maximum attempts when an answer cannot be parsed.", at_least=1, at_most=20)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.temperature <= 10:
            raise SpecError(f"--temperature {self.temperature:g}; it lies between 0 and 10")
        if self.scorer not in ("judge", "none") and self.evaluator is None:
            raise SpecError(f"--scorer {shown(self.scorer)}; it is judge, noise:RUN or none")
        if (self.evaluator is None) == bool(self.scorer_features):
            raise SpecError("--scorer noise:RUN looks at features, and nobody else does: say --scorer-features with it")
        if self.evaluator is None and self.scorer_text is not None:
            raise SpecError("--scorer-text is for --scorer noise:RUN")

    @property
    def evaluator(self) -> Path | None:
        """The run of the noise evaluator that chooses."""
        kind, _, run = self.scorer.partition(":")
        return Path(run) if kind == "noise" and run else None


@dataclass(frozen=True)
class Recipe:
    """A recipe that is settled."""

    models: Mapping[str, str]  # by role: text, image, video, judge
    prompts: Mapping[str, Prompt]
    options: RecipeOptions = field(default_factory=RecipeOptions)
    evaluator: JsonObject | None = None  # what a noise evaluator says of itself: its weights, its features

    @classmethod
    def of(cls, endpoint: EndpointOptions, options: RecipeOptions, evaluator: JsonObject | None = None) -> Recipe:
        names = {
            "text": endpoint.model,
            "image": options.image_model or endpoint.model,
            "video": options.video_model or endpoint.model,
            "judge": options.video_model or endpoint.model,
        }
        return cls(names, load_prompts(options.prompts), options, evaluator)

    @property
    def steps(self) -> list[str]:
        """The steps of a moment, in their order."""
        judged = self.options.scorer == "judge"
        return [s for s in ROLES if (s != "judge" or judged) and (s not in REWRITES or self.options.rewrites)]

    def to_dict(self) -> JsonDict:
        o = self.options
        return {
            "models": dict(self.models),
            "prompts": {name: self.prompts[name].hash for name in self.steps},
            "keyframes": o.keyframes,
            "video_frames": o.video_frames,
            "scorer": o.scorer.partition(":")[0],
            **({"evaluator": dict(self.evaluator)} if self.evaluator else {}),
            "rewrites": o.rewrites,
            "blind": o.blind,
            "tries": o.tries,
            "parameters": self.parameters(0),
        }

    def parameters(self, tried: int) -> JsonDict:
        o = self.options
        return {"temperature": o.temperature, "max_tokens": o.max_tokens, "seed": o.seed + tried}

    @property
    def hash(self) -> str:
        """Of all but `tries`: how often a model is asked says how long we insist, not what is asked."""
        document = {**self.to_dict(), "tries": TRIES}
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:12]
