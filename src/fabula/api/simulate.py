"""Features made from annotations, to try training without a video: what `fabula simulate` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fabula import io
from fabula.core.errors import InputError
from fabula.core.notes import ignore
from fabula.core.nouns import Corpus, Story
from fabula.core.options import deal, takes
from fabula.learn.options import SimulateOptions


@takes(SimulateOptions)
def simulate(
    annotations: Sequence[Path],
    *,
    options: SimulateOptions | None = None,
    warn: Callable[[str], None] = ignore,
    **given: Any,
) -> int:
    """Write SIMULATED frame features of the videos of these annotations; returns how many videos there are."""
    (options,) = deal("simulate", given, options or SimulateOptions)
    from fabula.learn.simulate import Recipe
    from fabula.learn.simulate import simulate as write_features

    corpus = read_annotations(annotations, options.format, warn)
    recipe = Recipe(rate=options.rate, seed=options.seed)
    return write_features(corpus, options.out, options.embedder, recipe, options.overwrite)


def read_annotations(paths: Sequence[Path], format: str | None, warn: Callable[[str], None]) -> Corpus:
    """The stories of all files; a video may stand in one of them."""
    stories: dict[str, Story] = {}
    for path in paths:
        corpus, notes = io.read(path, format)
        for line in notes.lines():
            warn(line)
        for video in corpus:
            if video in stories:
                hint = "features are of a video, not of its annotators; leave one of the files out"
                raise InputError("this video is in two of the files", file=path, video=video, hint=hint)
        stories |= corpus.stories
    return Corpus(stories, " ".join(path.name for path in paths))
