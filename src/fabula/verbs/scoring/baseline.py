"""fabula.baseline: predictions of systems that see no video."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack, overload

from fabula import io
from fabula.core.errors import SpecError
from fabula.core.notes import Notes, ignore
from fabula.core.options import Options, option, read_keywords, with_options
from fabula.core.registry import close_to
from fabula.data.stories import Corpus
from fabula.documents.fields import Source
from fabula.documents.files import check_path, write_text
from fabula.evaluate.baselines.identity import KINDS, Labels
from fabula.evaluate.baselines.uniform import uniform
from fabula.io.identity import fillin
from fabula.verbs.keywords import UniformKeywords


@dataclass(frozen=True, kw_only=True)
class UniformOptions(Options):
    """How videos are cut: exactly one of the first three."""

    count: int | None = option(None, "Number of segments in every video.")
    duration: float | None = option(None, "Approximate length of a segment in seconds: ⌈D / duration⌉ equal parts.")
    reference_count: bool = option(False, "Use the number of segments of the reference.")
    raw_duration: bool = option(False, "Do not round durations up, as the paper's table does.")
    refs_format: str | None = option(None, "Format of the references. Default: detected from the content.")


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
    warn: Callable[[str], None] = ignore,
) -> Labels: ...


@with_options(UniformOptions)
def baseline(
    kind: str,
    refs: str | Path,
    out: str | Path | None = None,
    *,
    options: UniformOptions | None = None,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[UniformKeywords],
) -> Corpus | Labels:
    """The predictions of a system that sees no video, for these references; with `out`, also as a file.

    uniform: every video cut into equal segments (Batra et al., BMVC 2022), a Corpus; it alone takes options.
    same-id, all-different: the blanks of a fill-in file, by clip.

    Examples:

        >>> corpus = fabula.baseline("uniform", demo.REFERENCES["annotator_1"], count=3)
        >>> len(corpus), len(corpus["demo_bread"].events)
        (15, 3)
    """
    options = read_keywords("baseline", keywords, options or UniformOptions())
    if kind == "uniform":
        return cut_videos(refs, out, options, warn)
    if kind not in KINDS:
        raise SpecError(f"no baseline is called {kind!r}; {close_to(kind, ['uniform', *KINDS])}")
    for o in options.changed():
        raise SpecError(f"{o.flag} has no effect for the baseline {kind}; it applies to uniform")
    notes = Notes()
    filled = KINDS[kind](fillin.read_references(Path(refs), notes))
    for line in notes.lines():
        warn(line)
    if out is not None:
        write_text(check_path(out), fillin.write_labels(filled, Source(Path(out))))
    return filled


def cut_videos(
    refs: str | Path, out: str | Path | None, options: UniformOptions, warn: Callable[[str], None]
) -> Corpus:
    o = options
    if (o.count is not None) + (o.duration is not None) + o.reference_count != 1:
        raise SpecError("say exactly one of --count, --duration, --reference-count")
    corpus, notes = io.read(refs, o.refs_format)
    for line in notes.lines():
        warn(line)
    made = uniform(corpus, o.count, o.duration, o.reference_count, whole=not o.raw_duration)
    if out is not None:
        io.write(made, out, "submission")
    return made
