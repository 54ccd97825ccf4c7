"""fabula predict: a trained model's answers as a submission that `fabula score` reads."""

from __future__ import annotations

from pathlib import Path

import click

from fabula import io
from fabula.cli._console import say
from fabula.cli._out import check_outputs
from fabula.cli.train import changes, need_learn, watching
from fabula.core.errors import InputError


@click.group("predict")
def command() -> None:
    """Predict with a trained model: pss."""


@command.command()
@click.argument("checkpoint", type=click.Path(path_type=Path))
@click.option("--features", required=True, type=click.Path(path_type=Path), help=".npy folder, .h5 or .safetensors.")
@click.option(
    "--data", type=click.Path(path_type=Path), help="Videos and durations: annotations, or a folder of splits."
)
@click.option("--split", default="val", show_default=True, help="Which split of --data: train, val, test.")
@click.option("--rate", type=float, help="Features per second, where neither --data nor the store knows durations.")
@click.option("--batch-size", type=int, default=8, show_default=True)
@click.option(
    "--set", "set_", multiple=True, metavar="NAME=VALUE", help="Change an inference setting, as ec_alpha=0.3."
)
@click.option("--format", help="Format of --data (fabula list formats). Default: known by its shape.")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Submission file to write.")
@click.option("--overwrite", is_flag=True, help="Replace the file that is there.")
def pss(
    checkpoint: Path,
    features: Path,
    data: Path | None,
    split: str,
    rate: float | None,
    batch_size: int,
    set_: tuple[str, ...],
    format: str | None,
    out: Path,
    overwrite: bool,
) -> None:
    """Segment (and caption) the videos of a feature store with the model of a CHECKPOINT or run.

    \b
    fabula predict pss runs/soft --features s3d/ --data yc2/ --split test -o submission.json
    fabula score submission.json --refs yc2/yc2_my_test.json --protocol pss-2022
    """
    if out.is_file() and not overwrite:
        raise InputError("exists already", file=out, hint="choose another name, or say --overwrite")
    check_outputs([checkpoint, features, data], out=out)
    need_learn()
    from fabula.learn.pss import predict_pss

    def warn(line: str) -> None:
        say(f"warning: {line}", style="yellow")

    with watching() as watch:
        made = predict_pss(
            checkpoint,
            features,
            data,
            split=split,
            format=format,
            rate=rate,
            batch_size=batch_size,
            config=changes(set_),
            watch=watch,
            warn=warn,
        )
    io.write(made, out, "submission")
    say(f"{len(made):,} videos, {made.events:,} segments → {out}")
