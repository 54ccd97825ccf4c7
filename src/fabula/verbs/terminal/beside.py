"""What lies beside a page: the films or images of a result's rows, found in a folder by their ids."""

from __future__ import annotations

from pathlib import Path

from fabula.core.errors import SpecError
from fabula.data.result import Result
from fabula.evaluate.kept import Answers, Described, Filled
from fabula.io import media
from fabula.report.pages import Beside

NAMED = 3  # ids in a note


def find_beside(result: Result, videos: Path | None = None, images: Path | None = None) -> Beside:
    """The films or images of a result's rows in a folder."""
    if videos is not None and images is not None:
        raise SpecError("a page shows films or images, not both; leave --videos or --images out")
    folder = videos or images
    if folder is None:
        return Beside()
    if images is not None and not isinstance(result.kept, Described | Filled):
        raise SpecError(f"--images belongs to regions and identity, and this is the task {result.task}; leave it out")
    if videos is not None and not (result.refs or isinstance(result.kept, Answers | Filled)):
        what = "stories, moments and identity"
        raise SpecError(f"--videos belongs to {what}, and this is the task {result.task}; leave it out")
    ids = list_ids(result)
    found = media.find_media(folder, ids, media.VIDEOS if videos else media.IMAGES)
    absent = [id for id in ids if id not in found]
    if not absent:
        return Beside(found)
    noun = "videos" if videos else "images"
    items = ", ".join(map(repr, absent[:NAMED])) + (", …" if len(absent) > NAMED else "")
    return Beside(found, (f"{len(absent):,} of {len(ids):,} {noun} are not in {folder.name or folder}: {items}",))


def list_ids(result: Result) -> list[str]:
    """What the films or images of the rows are called, each once."""
    if isinstance(result.kept, Answers):
        return list(dict.fromkeys(query.video for query in result.kept.queries.values()))
    if isinstance(result.kept, Described):
        return list(result.kept.refs)
    if isinstance(result.kept, Filled):
        return result.kept.clips()
    return list(dict.fromkeys(v for ref in result.refs for v in ref))
