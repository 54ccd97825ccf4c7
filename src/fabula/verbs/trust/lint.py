"""fabula.lint: what is odd in a file of annotations or predictions, and a repaired copy of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from fabula import io
from fabula.checks import CheckRequest, Kind, Mended, Report, kind_of
from fabula.core.errors import SpecError
from fabula.core.options import Options, option, read_keywords, with_options
from fabula.documents.files import check_path, dump_json
from fabula.documents.objects import is_one
from fabula.io.idlist import read_ids
from fabula.verbs.keywords import Data, LintKeywords

if TYPE_CHECKING:
    from fabula.data.statistics import Statistics
    from fabula.documents.safe_open import File


@dataclass(frozen=True, kw_only=True)
class LintOptions(Options):
    """Keywords of `fabula.lint` and flags of `fabula lint`."""

    format: str | None = option(
        None, "Format of the file (fabula list formats), or 'captions'. Default: detected from the content."
    )
    refs_format: str | None = option(None, "Format of the references. Default: detected from the content.")
    ids: Any = option(
        None,
        "Compare only with these ids of the references: a file of ids, or FILE:NAME for a list of a JSON object.",
        metavar="FILE[:NAME]",
    )
    fix: Path | None = option(None, "Write a repaired copy, and the list of repairs to FIX.fixes.json.", writes=True)
    task: str | None = option(None, "Task of the file (fabula list tasks). Default: detected from the content.")
    stats: bool = option(False, "Also print the number of videos and segments and their mean durations.")

    def check_fix(self, file: File) -> None:
        if self.fix and self.fix.exists() and isinstance(file, Path) and file.exists() and self.fix.samefile(file):
            raise SpecError("--fix writes a copy, never the file itself; give it another name")


@dataclass(frozen=True, slots=True)
class Linted:
    """What was found, and what was done about it."""

    file: File
    format: str  # in which it was read
    report: Report
    fixed: Path | None = None  # the repaired copy
    mended: Mended | None = None
    stats: Statistics | None = None  # where they were asked for

    @property
    def sound(self) -> bool:
        return self.report.sound

    def to_dict(self) -> dict[str, object]:
        """As `fabula lint --json` writes it."""
        stats = {} if self.stats is None else {"stats": self.stats.to_dict()}
        return {"file": str(self.file), "format": self.format, **stats, **self.fixes(), **self.report.to_dict()}

    def fixes(self) -> dict[str, object]:
        """What was done; empty where nothing was to be."""
        m = self.mended
        if m is None:
            return {}
        return {"fixed": str(self.fixed), "format_written": m.format, "lost": m.lost, "fixes": list(m.deeds)}


@with_options(LintOptions)
def lint(
    file: Data,
    refs: Data = (),
    *,
    options: LintOptions | None = None,
    **keywords: Unpack[LintKeywords],
) -> Linted:
    """Look for what is odd in a file, or in an object of its shape.

    With `fix`, a repaired copy is written, and FIX.fixes.json with a list of the repairs.
    Options are given one by one, or as one object.

    Examples:

        >>> found = fabula.lint({"results": {"v_1": [{"sentence": "a man cuts an onion", "timestamp": [9, 3]}]}})
        >>> [finding.check for finding in found.report.findings]
        ['reversed']
    """
    options = read_keywords("lint", keywords, options or LintOptions())
    path, fix = as_file(file, "data", "either", options.task, options.format), options.fix
    options.check_fix(path)
    if options.ids is not None and refs in ((), []):
        raise SpecError("--ids chooses among the references; name them with --refs")
    several = list(refs) if isinstance(refs, list | tuple) and not is_one(refs) else [refs]
    truth = tuple(as_file(ref, "references", "references", options.task, options.refs_format) for ref in several)
    request = CheckRequest(path, truth, options.format, options.refs_format, read_ids(options.ids))
    kind: Kind = kind_of(request, options.task)
    if options.stats and kind.statistics is None:
        raise SpecError(f"--stats describes the segments of videos; {path} holds {kind.name}")
    report, format_read = kind.look(request)
    stats = kind.statistics(request) if options.stats and kind.statistics is not None else None
    if not fix:
        return Linted(path, format_read, report, stats=stats)
    found = Linted(path, format_read, report, fix, kind.mend(request, fix), stats)
    dump_json(fix.with_name(fix.name + ".fixes.json"), found.fixes(), indent=2)
    return found


def as_file(value: object, name: str, role: str, task: str | None, format: str | None) -> File:
    """A path as it is; an object as a document."""
    return check_path(value) if isinstance(value, str | Path) else io.wrap(value, name, role, task, format)
