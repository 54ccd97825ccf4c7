"""Results as a page: which systems it shows, its title, and the films or images that it plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fabula.core.errors import SpecError
from fabula.data.result import Result
from fabula.report.links import link_file


@dataclass(frozen=True, slots=True)
class Beside:
    """Files that a page links to, by the ids of its rows; what is missing is said once."""

    files: Mapping[str, Path] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def make_page(
    results: Sequence[Result],
    paths: Sequence[Path],
    title: str | None = None,
    *,
    beside: Beside | None = None,
    folder: Path | None = None,
) -> str:
    """A page of one system or two; `paths` are their predictions, `folder` is where the page will lie."""
    from fabula.report.html import page

    first, *rest = results
    title = title or " and ".join(path.name for path in paths)
    names = [path.stem for path in paths]
    links = {}
    if beside is not None:
        linked = {id: link_file(path, folder or Path()) for id, path in beside.files.items()}
        links = {id: link for id, link in linked.items() if link is not None}
    notes = () if beside is None else beside.notes
    return page(first, title, other=rest[0] if rest else None, names=names, media=links, notes=notes)


def check_page(result: Result) -> None:
    """Refuse a result that a page cannot show."""
    if result.predictions is not None or result.items or result.kept is not None:
        return
    if result.task in ("dense", "procedure"):
        raise SpecError("the page needs all stories in memory, and these were streamed; write --rows instead")
    raise SpecError(f"this result of the task {result.task} has no rows to draw; write --rows")
