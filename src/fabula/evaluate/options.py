"""What to score, and where: the options of `score`, which compare, serve, protocols and diagnose share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabula.core.options import Options, option
from fabula.data.repairs import REPAIRS
from fabula.evaluate.tasks import QUERIES as MOMENTS
from fabula.evaluate.tasks import STORIES
from fabula.text.judges.options import JudgeOptions

WHERE = ("engine", "address", "work", "resume")  # options of a run, which a verb that makes several runs does not take


@dataclass(frozen=True, kw_only=True)
class Scoring(Options):
    """What is scored, how, and where."""

    task: str | None = option(
        None, "The task (fabula list tasks). Default: dense when the predictions have captions, else procedure."
    )
    protocol: str | None = option(None, "A published evaluator to reproduce (fabula list protocols).", "-p")
    metrics: Any = option(None, 'Metrics, comma separated: "SODA_c,PRF@0.5,SODA_c(refs=best)".', "-m", joined=True)
    repair: tuple[str, ...] = option(
        (),
        f"What to do with malformed reference segments: {', '.join(REPAIRS)}; several in order.",
        parts=True,
        tasks=(*STORIES, *MOMENTS, "regions"),
    )
    strict: bool = option(
        False,
        "Refuse malformed predicted segments (else they match nothing) and captions too long for METEOR (else they "
        "score 0).",
        tasks=(*STORIES, *MOMENTS, "identity", "captions", "regions"),
    )
    tok: str | None = option(None, "Tokeniser of captions. Default: ptb.", choices=("ptb", "none"))
    ids: Any = option(
        None,
        "Score only these ids of the references: a file of ids, or FILE:NAME for a list of a JSON object (splits).",
        metavar="FILE[:NAME]",
    )
    sets: Path | None = option(None, "File that groups clips into sets (task identity).", tasks=("identity",))
    people: str | None = option(
        None, "Pattern of people in captions, if they are not P1 or [PERSON1] (task identity).", tasks=("identity",)
    )
    spice: str | None = option(None, "Parser of SPICE and iSPICE. Default: native.", choices=("native", "java"))
    format: str | None = option(
        None,
        "Format of the predictions (fabula list formats). Default: detected from the content.",
        tasks=(*STORIES, *MOMENTS, "identity", "questions", "regions"),
    )
    refs_format: str | None = option(
        None,
        "Format of the references. Default: detected from the content.",
        tasks=(*STORIES, *MOMENTS, "identity", "questions", "regions"),
    )
    fps: float | None = option(
        None, "Answers count frames, this many per second: frame n is at n / fps.", tasks=("grounding",)
    )
    frames: int | None = option(
        None,
        "Answers count frames, this many sampled evenly over the video: frame n is at n × duration / frames.",
        tasks=("grounding",),
        at_least=1,
    )
    scale: float | None = option(
        None,
        "Predicted boxes lie in an image resized so that its longer side has this many pixels (DenseCap, GRiT: 720).",
        tasks=("regions",),
    )
    image_sizes: Path | None = option(
        None,
        "Sizes of the images, as Visual Genome's image_data.json. Default: what the references say.",
        tasks=("regions",),
        needs="scale",
    )
    engine: Any = option("local", "Engine that runs the scoring. Default: local.", choices=("local", "ray"))
    address: str | None = option(
        None, "Address of a running Ray cluster, for --engine ray. Default: start one on this machine."
    )
    work: Path | None = option(None, "Score in shards in this folder; a stopped run can be resumed.")
    resume: bool = option(False, "Resume the run of --work.")

    @property
    def sharded(self) -> bool:
        """True where the corpus is cut into shards; False where it is scored at once, in memory."""
        return self.engine != "local" or self.address is not None or self.work is not None or self.resume


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(JudgeOptions, Scoring):
    """Keywords of `fabula.score` and flags of `fabula score`; those of a judge come last."""
