"""fabula.parse: free-form answers of a language model into events, with an audit of how each was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from fabula import io
from fabula.core.errors import SpecError
from fabula.core.notes import Notes
from fabula.core.options import Options, option, read_keywords, with_options
from fabula.data.ids import respell_id
from fabula.data.stories import Corpus
from fabula.documents.files import dump_json
from fabula.io import answers
from fabula.verbs.keywords import ParseKeywords


@dataclass(frozen=True, kw_only=True)
class ParseOptions(Options):
    """Keywords of `fabula.parse` and flags of `fabula parse`."""

    to: str = option("fabula", "Format to write (fabula list formats).", shows_default=True)
    audit: Path | None = option(None, "Write the audit of every answer as JSON.", writes=True)
    unit: str | None = option(
        None, "Unit of numbers without one: seconds, percent, 'frames,fps=2', 'tokens,bins=100', …."
    )
    refs_format: str | None = option(None, "Format of these files. Default: detected from the content.")


@dataclass(frozen=True, slots=True)
class Parsed:
    """The events that were told, how each answer was read, and what was remarkable."""

    corpus: Corpus
    audits: Mapping[str, answers.Audit]
    warnings: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Over all answers."""
        audits = self.audits.values()
        return {
            "answers": len(audits),
            "parsed": sum(a.parsed for a in audits),
            "deduced": sum(n for a in audits for n in a.deduced.values()),
            "repaired": sum(n for a in audits for n in a.repaired.values()),
            "refused": sum(len(a.refused) for a in audits),
            "unparsed": sum(a.unparsed for a in audits),
        }

    def to_dict(self) -> dict[str, object]:
        """Counts over all answers, the names of those that gave nothing, and each audit."""
        unparsed = [video for video, a in self.audits.items() if a.unparsed]
        each = {video: a.to_dict() for video, a in self.audits.items()}
        return {"counts": self.counts, "unparsed": unparsed, "answers": each}


@with_options(ParseOptions)
def parse(
    source: str | Path,
    out: str | Path | None = None,
    refs: str | Path | Sequence[str | Path] = (),
    *,
    options: ParseOptions | None = None,
    **keywords: Unpack[ParseKeywords],
) -> Parsed:
    """Read free-form answers; with `out`, write the events they tell. Durations are taken from `refs`.

    Options are given one by one, or as one object.

    Examples:

        >>> _ = Path("answers.jsonl").write_text('{"id": "v_1", "answer": "0 - 5 s: He cuts. 5 - 9 s: He fries."}')
        >>> fabula.parse("answers.jsonl").counts["parsed"]
        2
    """
    options = read_keywords("parse", keywords, options or ParseOptions())
    if out is not None:
        if io.find(options.to)[0].write is None:
            raise SpecError(f"the format {options.to!r} can be read but not written")
        io.check_name(Path(out), options.to)
    durations = read_durations([refs] if isinstance(refs, str | Path) else refs, options.refs_format)
    corpus, audits, notes = answers.audit(Path(source), options.unit, durations)
    lost = io.write(corpus, out, options.to) if out is not None else Notes()
    parsed = Parsed(corpus, audits, (*notes.lines(), *lost.lines()))
    if options.audit:
        dump_json(options.audit, parsed.to_dict(), indent=2)
    return parsed


def read_durations(refs: Sequence[str | Path], format: str | None) -> dict[str, float]:
    """How long videos are, under all their names."""
    durations: dict[str, float] = {}
    for path in refs:
        for video, story in io.read(path, format)[0].items():
            if story.duration is not None:
                durations |= {id: story.duration for id in respell_id(video) if id not in durations}
                durations[video] = story.duration
    return durations
