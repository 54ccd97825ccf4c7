"""fabula predict: a trained model's answers as a submission that `fabula score` reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula.api.predict import predict
from fabula.cli._console import print_note, show_training, warn
from fabula.cli._options import flags, path_argument
from fabula.cli._out import check_new, check_outputs
from fabula.core.options import MUST, Options, option
from fabula.learn.options import Callbacks, PredictOptions


@dataclass(frozen=True, kw_only=True)
class Outputs(Options):
    """Where predictions go."""

    out: Path = option(MUST, "Submission file to write.", "-o", writes=True)
    overwrite: bool = option(False, "Replace the file that is there.")


@click.group("predict")
def command() -> None:
    """Predict with a trained model: pss."""


@command.command()
@path_argument("checkpoint")
@flags(PredictOptions, into="options")
@flags(Outputs, into="outputs")
def pss(checkpoint: Path, options: PredictOptions, outputs: Outputs) -> None:
    """Segment (and caption) the videos of a feature store with the model of a CHECKPOINT or run.

    \b
    fabula predict pss runs/soft --features s3d/ --data yc2/ --split test -o submission.json
    fabula score submission.json --refs yc2/yc2_my_test.json --protocol pss-2022
    """
    if not outputs.overwrite:
        check_new(outputs.out)
    check_outputs([checkpoint, options.features, options.data], outputs)
    with show_training() as watch:
        made = predict("pss", checkpoint, outputs.out, options=options, callbacks=Callbacks(watch=watch, warn=warn))
    print_note(f"{len(made):,} videos, {made.events:,} segments → {outputs.out}")
