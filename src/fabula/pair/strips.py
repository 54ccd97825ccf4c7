"""Videos with very many events, some at a time: memory is that of a strip of the [G, P] matrix, not of all of it.

A corpus of ordinary videos goes through as it is, many videos at once (pair/grid.py). What has more cells than CELLS is
cut: many videos into portions, one video into strips of rows or of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabula.data.stories import Story

CELLS = 1 << 20  # of a strip: about 100 bytes each while IoU and caption scores are made
MANY = 1 << 17  # of stories that are looked into with a dozen numbers a cell

Pair = tuple[Story, Story]


def is_large(ref: Story, pred: Story, cells: int | None = None) -> bool:
    """Whether the two have more cells than one strip."""
    return len(ref) * len(pred) > (cells or CELLS)


def portions(pairs: Sequence[Pair], cells: int | None = None) -> Iterator[list[Pair]]:
    """Runs of pairs of stories with at most CELLS cells together; a larger pair by itself."""
    portion: list[Pair] = []
    room = most = cells or CELLS
    for ref, pred in pairs:
        size = len(ref) * len(pred)
        if portion and size > room:
            yield portion
            portion, room = [], most
        portion.append((ref, pred))
        room -= size
    if portion:
        yield portion


def strips(many: Story, other: Story, cells: int | None = None) -> Iterator[Story]:
    """The events of `many` in runs that have at most CELLS cells with all of `other`; itself where that is one run."""
    if not is_large(many, other, cells):
        yield many
        return
    step = max(1, (cells or CELLS) // len(other))
    for start in range(0, len(many), step):
        yield many.part(start, start + step)
