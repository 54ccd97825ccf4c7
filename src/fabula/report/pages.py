"""Results as a page: which systems it shows, and what it is called after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabula.core.errors import SpecError
from fabula.core.result import Result


def make_page(results: Sequence[Result], paths: Sequence[Path], title: str | None = None) -> str:
    """A page of one system, or of two beside each other; `paths` are their predictions."""
    from fabula.report.html import page

    first, *rest = results
    title = title or " and ".join(path.name for path in paths)
    names = [path.stem for path in paths]
    return page(first, title, other=rest[0] if rest else None, names=names)


def check_page(result: Result) -> None:
    """Refuse a result that a page cannot show."""
    if result.predictions is not None:
        return
    if result.task in ("dense", "procedure"):
        raise SpecError("the page needs all stories in memory, and these were streamed; write --rows instead")
    if not result.items:
        raise SpecError(f"the page draws stories and captions; for the task {result.task} write --rows")
