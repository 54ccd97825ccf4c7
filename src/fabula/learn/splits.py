"""Which videos a run is about: splits of annotations, videos that have features, durations of a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from fabula import io
from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, name_id
from fabula.core.registry import close_to
from fabula.data.segments import check_references
from fabula.data.stories import Corpus, Story
from fabula.documents.files import load_json, words_of_name
from fabula.media.stores.features import Features

SUBSETS = {"train": "training", "val": "validation", "test": "testing"}  # YouCook2's own names
K = TypeVar("K", bound=str | int)
V = TypeVar("V")
LONGEST = 1e9  # seconds that a video may have


def pick_split(folder: Path, split: str, files: Iterable[Path] | None = None) -> Path:
    """The one file of a folder that has the split (train, val, test) in its name: of its JSON, or of these files."""
    every = sorted(folder.glob("*.json*") if files is None else files)
    of_split = [f for f in every if split in words_of_name(f.name)]
    if len(of_split) != 1:
        names = ", ".join(f.name for f in of_split) or "none"
        raise InputError(
            f"expected one file of the split {split!r}, saw {names}",
            file=folder,
            hint=f"name the file itself, or keep one file with {split!r} in its name",
        )
    return of_split[0]


def read_split(path: str | Path, split: str, format: str | None = None) -> tuple[Corpus, Notes]:
    """The `split` (train, val, test) of a folder with a file per split, of YouCook2's one file, or a file as it is."""
    path = Path(path)
    if path.is_dir():
        path = pick_split(path, split)
    elif format is None and path.suffix == ".json":
        document = load_json(path)
        if isinstance(document, dict) and isinstance(document.get("database"), dict):
            if split not in SUBSETS:
                raise SpecError(f"YouCook2 has no split called {split!r}; {close_to(split, list(SUBSETS))}")
            format = f"youcook2:{SUBSETS[split]}"
    corpus, notes = io.read(path, format)
    corpus = check_references(corpus, notes)
    for video, story in corpus.items():
        for event in story.events:
            if story.duration is not None and event.segment.end > story.duration:
                notes.add("{n} steps end after their video and are cut there for training", name_id(video))
    return corpus, notes


def only_with(corpus: Corpus, features: Features, notes: Notes) -> Corpus:
    """The corpus without videos that have no features; a note counts and names them."""
    covered = {v: s for v, s in corpus.items() if v in features}
    for video in corpus:
        if video not in covered:
            notes.add("{n} videos have no features and are left out, as --skip-missing says", name_id(video))
    if not covered:
        raise SpecError(f"none of the {len(corpus)} videos of {corpus.name} has features in {features.path}")
    return Corpus(covered, corpus.name, corpus.format)


def find_fault(story: Story, targets: bool) -> str | None:
    """Why a video cannot be trained on; `targets`: whether its steps are read."""
    if story.duration is None:
        return "no duration; steps are fractions of the video"
    if targets and not story.events:
        return "a video without annotation"
    late = [e.segment for e in story.events if e.segment.start >= story.duration] if targets else []
    return f"a step starts at {late[0].start:g} s, the video ends at {story.duration:g} s" if late else None


def only_sound(corpus: Corpus, targets: bool, skip_bad: bool, notes: Notes) -> Corpus:
    """The corpus without faulty videos; without `skip_bad` an error names them."""
    bad = {video: fault for video, story in corpus.items() if (fault := find_fault(story, targets)) is not None}
    sound = leave_out(corpus, bad, "video", "videos", corpus.name or None, skip_bad, notes)
    return Corpus(sound, corpus.name, corpus.format) if bad else corpus


def compare_durations(corpus: Corpus, features: Features, notes: Notes) -> None:
    """Note videos that last longer or shorter in the store than in the annotation: steps are read as fractions."""
    durations = features.metadata.get("durations", {})
    for video, story in corpus.items():
        seconds = durations.get(video)
        if story.duration is None or isinstance(seconds, bool) or not isinstance(seconds, int | float):
            continue
        gap = abs(seconds - story.duration)
        if gap > 2 and gap > 0.05 * story.duration:
            example = f"{name_id(video)} ({seconds:g} s in the store, {story.duration:g} s in the annotation)"
            notes.add("{n} videos last longer or shorter in the store than the annotation says", example)


def leave_out(
    every: Mapping[K, V], bad: Mapping[K, str], noun: str, nouns: str, file: object, skip_bad: bool | None, notes: Notes
) -> dict[K, V]:
    """Leave out bad entries, of which each has a reason; without `skip_bad` an error names them.

    `skip_bad` None: they cannot be left out.
    """
    if not bad:
        return dict(every)
    (first, why), *rest = bad.items()
    if not skip_bad:
        more = f"; so are {len(rest):,} more of {len(every):,} {nouns}: {', '.join(map(str, list(bad)[1:6]))}"
        more += ", …" if len(rest) > 5 else ""
        raise InputError(
            why + (more if rest else ""),
            file=file,
            video=first,
            noun=noun,
            hint="correct the annotation" + ("" if skip_bad is None else ", or leave them out with --skip-bad"),
        )
    for id, why in bad.items():
        notes.add(f"{{n}} {nouns} are left out, as --skip-bad says", f"{id} ({why})")
    if len(bad) == len(every):
        raise SpecError(f"none of the {len(every):,} {nouns} of {file} is left without the bad ones")
    return {id: value for id, value in every.items() if id not in bad}


def durations_as_corpus(durations: Mapping[str, object], features: Features) -> Corpus:
    """The videos of a store as a corpus, from their durations."""
    stories = {}
    for video in features:
        if video not in durations:
            raise InputError(
                "its duration is not known",
                file=features.path,
                video=video,
                hint="give --data with the durations, or --rate with the features per second",
            )
        seconds = durations[video]
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST:
            raise InputError(
                f"the store says its duration is {shown(seconds)}; expected seconds",
                file=features.path,
                video=video,
                hint="give --data with the durations, or --rate",
            )
        stories[video] = Story(video, (), float(seconds))
    return Corpus(stories, name=str(features.path))
