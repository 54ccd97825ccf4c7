"""Results as a page: which systems it shows, what it is called after, and which films or images lie beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fabula.core.errors import SpecError
from fabula.core.result import Result
from fabula.io import media
from fabula.score.kept import Answers, Described

NAMED = 3  # ids in a note


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
        linked = {id: media.link_file(path, folder or Path()) for id, path in beside.files.items()}
        links = {id: link for id, link in linked.items() if link is not None}
    notes = () if beside is None else beside.notes
    return page(first, title, other=rest[0] if rest else None, names=names, media=links, notes=notes)


def find_beside(result: Result, videos: Path | None = None, images: Path | None = None) -> Beside:
    """The films or images of a result's rows in a folder."""
    if videos is not None and images is not None:
        raise SpecError("a page has films or images beside its rows, not both; leave --videos or --images out")
    folder = videos or images
    if folder is None:
        return Beside()
    if images is not None and not isinstance(result.kept, Described):
        raise SpecError(f"--images belongs to regions, and this is the task {result.task}; leave it out")
    if videos is not None and not (result.refs or isinstance(result.kept, Answers)):
        raise SpecError(f"--videos belongs to stories and moments, and this is the task {result.task}; leave it out")
    ids = list_ids(result)
    found = media.find_media(folder, ids, media.VIDEOS if videos else media.IMAGES)
    absent = [id for id in ids if id not in found]
    if not absent:
        return Beside(found)
    noun = "videos" if videos else "images"
    some = ", ".join(map(repr, absent[:NAMED])) + (", …" if len(absent) > NAMED else "")
    return Beside(found, (f"{len(absent):,} of {len(ids):,} {noun} are not in {folder.name or folder}: {some}",))


def list_ids(result: Result) -> list[str]:
    """What the films or images of the rows are called, each once."""
    if isinstance(result.kept, Answers):
        return list(dict.fromkeys(query.video for query in result.kept.queries.values()))
    if isinstance(result.kept, Described):
        return list(result.kept.refs)
    return list(dict.fromkeys(v for ref in result.refs for v in ref))


def check_page(result: Result) -> None:
    """Refuse a result that a page cannot show."""
    if result.predictions is not None or result.items or result.kept is not None:
        return
    if result.task in ("dense", "procedure"):
        raise SpecError("the page needs all stories in memory, and these were streamed; write --rows instead")
    raise SpecError(f"this result of the task {result.task} has no rows to draw; write --rows")
