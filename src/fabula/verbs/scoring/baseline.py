"""fabula.baseline: predictions of systems that see no video."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Unpack, overload

from fabula import io
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, ignore
from fabula.core.options import Options, option, read_keywords, with_options
from fabula.core.registry import close_to
from fabula.data.statistics import Statistics
from fabula.data.stories import Corpus
from fabula.documents.document import open_document
from fabula.documents.fields import Source
from fabula.documents.files import check_path, write_text
from fabula.evaluate.baselines.identity import KINDS, Labels
from fabula.evaluate.baselines.uniform import uniform
from fabula.evaluate.captionsets import People, check_ending, overwrite_set, read_captionsets, write_captionsets
from fabula.io import identity
from fabula.io.identity import fillin
from fabula.io.identity.captionsets import Sets
from fabula.verbs.keywords import UniformKeywords


@dataclass(frozen=True, kw_only=True)
class UniformOptions(Options):
    """How videos are cut: exactly one of the first four."""

    count: int | None = option(None, "Number of segments in every video.")
    duration: float | None = option(None, "Approximate length of a segment in seconds: ⌈D / duration⌉ equal parts.")
    reference_count: bool = option(False, "Use the number of segments of the reference.")
    average: Literal["count", "duration"] | None = option(
        None, "Use the mean of --train: its number of segments a video, to the nearest whole, or their duration."
    )
    train: Path | None = option(None, "Annotations that --average is taken of. Default: the references.")
    raw_duration: bool = option(False, "Do not round durations up, as the paper's table does.")
    refs_format: str | None = option(None, "Format of the references. Default: detected from the content.")

    def check_choice(self) -> None:
        if [self.count is None, self.duration is None, not self.reference_count, self.average is None].count(
            False
        ) != 1:
            raise SpecError("say exactly one of --count, --duration, --reference-count, --average")
        if self.train is not None and self.average is None:
            raise SpecError("--train has no effect without --average")


@overload
def baseline(
    kind: Literal["uniform"],
    refs: str | Path,
    out: str | Path | None = None,
    *,
    options: UniformOptions | None = None,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[UniformKeywords],
) -> Corpus: ...


@overload
def baseline(
    kind: Literal["same-id", "all-different"],
    refs: str | Path,
    out: str | Path | None = None,
    *,
    sets: str | Path | None = None,
    warn: Callable[[str], None] = ignore,
) -> Labels | Sets: ...


@with_options(UniformOptions)
def baseline(
    kind: str,
    refs: str | Path,
    out: str | Path | None = None,
    *,
    options: UniformOptions | None = None,
    sets: str | Path | None = None,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[UniformKeywords],
) -> Corpus | Labels | Sets:
    """The predictions of a system that sees no video, for these references; with `out`, also as a file.

    uniform: every video cut into equal segments (Batra et al., BMVC 2022), a Corpus; it alone takes options.
    same-id, all-different: the blanks of a fill-in file, by clip; or captionsets (captions of clips with `sets`) of
    anybody with all people the same, or each another (Raajesh et al., CVPR 2024, Table 5).

    Examples:

        >>> corpus = fabula.baseline("uniform", demo.REFERENCES["annotator_1"], count=3)
        >>> len(corpus), len(corpus["demo_bread"].events)
        (15, 3)
    """
    options = read_keywords("baseline", keywords, options or UniformOptions())
    if kind == "uniform":
        if sets is not None:
            raise SpecError("--sets has no effect for the baseline uniform")
        return cut_videos(refs, out, options, warn)
    if kind not in KINDS:
        raise SpecError(f"no baseline is called {kind!r}; {close_to(kind, ['uniform', *KINDS])}")
    for o in options.changed():
        raise SpecError(f"{o.flag} has no effect for the baseline {kind}; it applies to uniform")
    if not (identity.is_table(Path(refs)) and identity.holds_ids(Path(refs))):
        return overwrite_captions(kind, Path(refs), out, None if sets is None else Path(sets), warn)
    if sets is not None:
        warn("--sets is not read: ids of clips are filled in clip by clip")
    notes = Notes()
    filled = KINDS[kind](fillin.read_references(Path(refs), notes))
    for line in notes.lines():
        warn(line)
    if out is not None:
        write_text(check_path(out), fillin.write_labels(filled, Source(open_document(Path(out)))))
    return filled


def overwrite_captions(
    kind: str, refs: Path, out: str | Path | None, sets: Path | None, warn: Callable[[str], None]
) -> Sets:
    """Captionsets with P1 everywhere, or P1, P2, P3, … in the order of occurrence."""
    notes = Notes()
    if out is not None:
        check_ending(out)
    people: People = "same" if kind == "same-id" else "different"
    read = read_captionsets(refs, notes, sets=sets)
    overwritten = {id: overwrite_set(one, people) for id, one in read.items()}
    for line in notes.lines():
        warn(line)
    if out is not None:
        write_captionsets(overwritten, out)
    return overwritten


def cut_videos(
    refs: str | Path, out: str | Path | None, options: UniformOptions, warn: Callable[[str], None]
) -> Corpus:
    o, _ = find_average(refs, options)
    corpus, notes = io.read(refs, o.refs_format)
    for line in notes.lines():
        warn(line)
    built = uniform(corpus, o.count, o.duration, o.reference_count, whole=not o.raw_duration)
    if out is not None:
        io.write(built, out, "submission")
    return built


def find_average(refs: str | Path, options: UniformOptions) -> tuple[UniformOptions, str]:
    """The options with the count or duration that --average asks for, and a line that says where it comes from."""
    options.check_choice()
    if options.average is None:
        return options, ""
    path = options.train or refs
    stats = Statistics.of(io.read(path, None if options.train else options.refs_format)[0])
    source = f"of {path} ({stats.videos:,} videos, {stats.events:,} segments)"
    if stats.segment_seconds is None or stats.segments_per_video is None:
        raise InputError("no segments to take the average of", file=path, hint="name annotations with --train")
    rest = replace(options, average=None, train=None)
    if options.average == "duration":
        seconds = stats.segment_seconds
        return replace(rest, duration=seconds), f"{seconds:.4f} seconds a segment, the mean {source}"
    count = max(1, math.floor(stats.segments_per_video + 0.5))
    line = f"{count} segments a video, the nearest to the mean {stats.segments_per_video:.4f} {source}"
    return replace(rest, count=count), line
