"""Features made from annotations, and whole worlds, to try training without a video: what `fabula simulate` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Unpack

from fabula import io
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import ignore
from fabula.core.options import Options, read_keywords, with_options
from fabula.data.stories import Corpus, Story
from fabula.documents.files import words_of_name
from fabula.io.format import Format
from fabula.learn.options import SimulateOptions
from fabula.verbs.keywords import SimulateKeywords, WorldKeywords
from fabula.verbs.training.train import find_task


@with_options(SimulateOptions)
def simulate(
    annotations: Sequence[Path],
    *,
    options: SimulateOptions | None = None,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[SimulateKeywords],
) -> int:
    """Write SIMULATED frame features of the videos of these annotations; returns how many videos there are."""
    options = read_keywords("simulate", keywords, options or SimulateOptions)
    annotations = [file for path in annotations for file in list_splits(Path(path))]
    if (fine := find_fine(annotations, options.format)) is not None:
        return simulate_moments(annotations, fine, options, warn)
    from fabula.learn.simulate import Recipe
    from fabula.learn.simulate import simulate as write_features

    corpus = read_annotations(annotations, options.format, warn)
    recipe = Recipe(rate=options.rate, seed=options.seed)
    return write_features(corpus, options.out, options.embedder, recipe, options.overwrite)


def simulate_world(
    name: str,
    out: str | Path,
    *,
    options: Options | None = None,
    overwrite: bool = False,
    **keywords: Unpack[WorldKeywords],
) -> str:
    """Write the SIMULATED world of a task, as a folder of a user's own data would be; returns what is in it.

    Options are given one by one, or as one object; they are those of `fabula simulate NAME --help`.
    """
    task = find_task(name)
    if task.Simulate is None:
        raise SpecError(f"the task {task.name!r} has no simulated world")
    options = read_keywords("simulate", keywords, options or task.Simulate)
    return task.simulate(options, Path(out), overwrite)


def list_splits(path: Path) -> list[Path]:
    """The files of a folder of splits, as `train --data` takes it; a file itself."""
    if not path.is_dir():
        return [path]
    files = [f for f in sorted(path.glob("*.json*")) if SPLITS & set(words_of_name(f.name))]
    if not files:
        hint = "name the files themselves, or keep files with train, val or test in their names"
        raise InputError("no file of a split", file=path, hint=hint)
    return files


SPLITS = {"train", "val", "test"}


def find_fine(annotations: Sequence[Path], format: str | None) -> Format | None:
    """The format of queries whose moments have a coarse and a fine caption, if the annotations are of one."""
    from fabula.documents.document import open_document
    from fabula.documents.files import check_path
    from fabula.io import moments

    path = check_path(annotations[0])
    if format is not None:
        found = moments.SHELF.find(format)
    else:
        found = moments.SHELF.sniff(open_document(path), "references") if path.is_file() else None
    return found if found is not None and found.coarse else None


def simulate_moments(
    annotations: Sequence[Path], format: Format, options: SimulateOptions, warn: Callable[[str], None]
) -> int:
    """Clips of queries' videos; the queries of all files."""
    from fabula.core.notes import Notes
    from fabula.io.moments import read_queries
    from fabula.learn.retrieval.simulate import Recipe
    from fabula.learn.retrieval.simulate import simulate_moments as write_clips

    if options.embedder != "hashing":
        raise SpecError(f"moments are simulated from hashed words; the embedder {options.embedder!r} is for stories")
    notes = Notes()
    fine, coarse = read_queries(annotations, notes, format.name), read_queries(annotations, Notes(), format.coarse)
    for line in notes.lines():
        warn(line)
    recipe = Recipe(clip=1 / options.rate, seed=options.seed)
    return write_clips(fine, coarse, options.out, recipe, options.overwrite)


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
