"""What the rows of PLM-VideoBench (Cho et al., 2025) share: ids, and times as places among the 32 frames a model sees.

    place = frame / (total_frames / 32)        rows tell frames of the whole video; models answer in frames 0 … 31

The place is exact here. The published evaluators cut it to a whole frame, each end alone: metrics do that where a
protocol says so (frames=truncated).
"""

from __future__ import annotations

from fabula.benchmarks.lmms.log import task_values
from fabula.data.stories import Segment
from fabula.documents.fields import Source

SHOWN = 32  # frames that a model is shown: num_video_frames of the published configuration


def row_id(row: dict[str, object], at: str, source: Source) -> str | int:
    """The row's `uid`, text or a number. A video may have several rows."""
    return source.identity(source.entry(row, "uid", at=at), f"{at} uid")


def read_scale(row: dict[str, object], id: object, at: str, source: Source) -> float:
    """How many frames of the video stand for one that is shown."""
    total = source.number(source.entry(row, "total_frames", id, at), f"{at} total_frames", id)
    if total < 1:
        raise source.wrong(f"a video of {total:g} frames", id, f"{at} total_frames", "it has at least one")
    return total / SHOWN


def read_frames(row: dict[str, object], scale: float, id: object, at: str, source: Source) -> Segment:
    """start_frame and end_frame as places among the frames that are shown."""
    start, end = (
        source.number(source.entry(row, key, id, at), f"{at} {key}", id) / scale for key in ("start_frame", "end_frame")
    )
    return Segment(start, end)


def sample_row(entry: dict[str, object], at: str, source: Source) -> dict[str, object]:
    """What lmms-eval's log of a sample knows of its row: that it has a uid, at the least."""
    for known in task_values(entry):
        if "uid" in known:
            return known
    raise source.wrong("no uid in the log's line", entry.get("doc_id"), at, "its task returns {…: {uid, …}}")
