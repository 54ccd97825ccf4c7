"""A picture as bits: blocks of black and white between four coloured corners, large enough to outlive JPEG.

12 × 10 blocks; corners red, green, blue, yellow (they show that the picture is whole and upright)
24 bits  its time in ms           8  event, 0: none      20 + 20  ms since the event began, until it ends
 8       people in it, one each   8  film                16       CRC of all of these
"""

from __future__ import annotations

import binascii
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError
from fabula.media.base import Pictures

ROWS, COLUMNS = 10, 12
WIDTHS = (24, 8, 20, 20, 8, 8)  # bits of the fields, in their order
CHECK = 16  # bits
CORNERS = {
    (0, 0): (255, 0, 0),
    (0, COLUMNS - 1): (0, 255, 0),
    (ROWS - 1, 0): (0, 0, 255),
    (ROWS - 1, COLUMNS - 1): (255, 255, 0),
}
CELLS = [(r, c) for r in range(ROWS) for c in range(COLUMNS) if (r, c) not in CORNERS]
GREY = 56  # of 255: nearer to the middle than this is neither black nor white
POINTS = 6  # pixels that are looked at along each side of a block
COLOUR = 90  # of 255: how far a corner may be from its colour


class UnreadablePictureError(FabulaError):
    """A picture that holds no code, or a damaged one."""


@dataclass(frozen=True, slots=True)
class PictureCode:
    """What a picture says of itself."""

    time: int  # ms
    event: int = 0
    since: int = 0  # ms
    until: int = 0  # ms
    people: int = 0  # bit k: person k + 1
    film: int = 0

    def bits(self) -> list[int]:
        fields = zip(astuple(self), WIDTHS, strict=True)
        text = "".join(f"{value:0{width}b}" for value, width in fields)
        assert len(text) == sum(WIDTHS), f"a field is too large for its bits: {self}"
        text += f"{count_check(text):0{CHECK}b}"
        return [int(bit) for bit in text]

    def names(self) -> list[str]:
        """`P1`, `P3`"""
        return [f"P{k + 1}" for k in range(8) if self.people >> k & 1]


def count_check(text: str) -> int:
    return binascii.crc_hqx(text.encode(), 0xFFFF)


def draw_code(code: PictureCode, height: int, width: int) -> Pictures:
    """The picture of these bits."""
    grid = np.zeros((ROWS, COLUMNS, 3), np.uint8)
    for cell, bit in zip(CELLS, code.bits(), strict=False):
        grid[cell] = 255 * bit
    for cell, colour in CORNERS.items():
        grid[cell] = colour
    rows, columns = np.arange(height) * ROWS // height, np.arange(width) * COLUMNS // width
    return np.ascontiguousarray(grid[rows][:, columns])


def read_code(picture: Pictures) -> PictureCode:
    """What stands in a picture of any size. UnreadablePictureError: nothing does."""
    grid = measure_cells(picture)
    for cell, colour in CORNERS.items():
        if np.abs(grid[cell] - colour).max() > COLOUR:
            seen = tuple(int(v) for v in grid[cell])
            raise UnreadablePictureError(f"the corner {cell} is {seen}, not {colour}: cut, turned, or another picture")
    levels = np.array([grid[cell].mean() for cell in CELLS[: sum(WIDTHS) + CHECK]])
    if np.abs(levels - 127.5).min() < 127.5 - GREY:
        raise UnreadablePictureError("a block is neither black nor white")
    text = "".join("1" if level > 127.5 else "0" for level in levels)
    body, check = text[: sum(WIDTHS)], int(text[sum(WIDTHS) :], 2)
    if count_check(body) != check:
        raise UnreadablePictureError("its bits do not agree with their check")
    values, at = list[int](), 0
    for width in WIDTHS:
        values.append(int(body[at : at + width], 2))
        at += width
    return PictureCode(*values)


def measure_cells(picture: Pictures) -> NDArray[np.float64]:
    """The mean colour of the middle half of every block. [ROWS, COLUMNS, 3]"""
    height, width = picture.shape[:2]
    if height < 3 * ROWS or width < 3 * COLUMNS:
        raise UnreadablePictureError(f"{width} × {height} pixels are too few")
    y, x = spread_points(height, ROWS), spread_points(width, COLUMNS)
    points = picture[y[:, None], x].reshape(ROWS, POINTS, COLUMNS, POINTS, 3)
    means: NDArray[np.float64] = points.mean((1, 3))
    return means


def spread_points(side: int, cells: int) -> NDArray[np.int64]:
    """Pixels in the middle half of every cell, the same number in each."""
    inside = 0.25 + (np.arange(POINTS) + 0.5) / POINTS / 2
    return np.floor((np.arange(cells)[:, None] + inside) * side / cells).astype(np.int64).ravel()
