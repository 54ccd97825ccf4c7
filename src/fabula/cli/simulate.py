"""fabula simulate: features made from annotations, to try training without a video."""

from __future__ import annotations

from pathlib import Path

import click

from fabula import io
from fabula.cli._console import say
from fabula.core.errors import InputError
from fabula.core.nouns import Corpus, Story


@click.command("simulate")
@click.argument("annotations", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--embedder", default="hashing", show_default=True, help="hashing, minilm or wordllama.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--rate", type=float, default=1.0, show_default=True, help="Features per second.")
@click.option("--format", help="Format of the annotations. Default: known by its shape.")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help=".safetensors, .h5, or a folder.")
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
def command(
    annotations: tuple[Path, ...], embedder: str, seed: int, rate: float, format: str | None, out: Path, overwrite: bool
) -> None:
    """Make SIMULATED frame features from annotations: no video is seen, and the store says so.

    \b
    fabula simulate yc2/yc2_my_train.json yc2/yc2_my_val.json --embedder minilm -o simulated.safetensors
    """
    from fabula.learn.simulate import Recipe
    from fabula.learn.simulate import simulate as make

    stories: dict[str, Story] = {}
    for path in annotations:
        corpus, notes = io.read(path, format)
        for line in notes.lines():
            say(f"warning: {line}", style="yellow")
        for video in corpus:
            if video in stories:
                hint = "features are of a video, not of its annotators; leave one of the files out"
                raise InputError("this video is in two of the files", file=path, video=video, hint=hint)
        stories |= corpus.stories
    name = " ".join(path.name for path in annotations)
    count = make(Corpus(stories, name), out, embedder, Recipe(rate=rate, seed=seed), overwrite)
    say(f"{count:,} videos, simulated from annotations with {embedder} → {out}")
