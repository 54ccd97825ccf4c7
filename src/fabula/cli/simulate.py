"""fabula simulate: features made from annotations, to try training without a video."""

from __future__ import annotations

from pathlib import Path

import click

from fabula.api.simulate import simulate
from fabula.cli._console import print_note, warn
from fabula.cli._options import flags, path_argument
from fabula.learn.options import SimulateOptions


@click.command("simulate")
@path_argument("annotations", nargs=-1, required=True)
@flags(SimulateOptions, into="options")
def command(annotations: tuple[Path, ...], options: SimulateOptions) -> None:
    """Make SIMULATED frame features from annotations: no video is seen, and the store says so.

    \b
    fabula simulate yc2/ --embedder minilm -o simulated.safetensors
    fabula simulate yc2/yc2_my_train.json yc2/yc2_my_val.json -o simulated.safetensors
    """
    count = simulate(annotations, options=options, warn=warn)
    print_note(f"{count:,} videos, simulated from annotations with {options.embedder} → {options.out}")
