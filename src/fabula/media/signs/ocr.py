"""Text in one picture by PP-OCRv6 (PaddleOCR): a detector of lines (DB; Liao et al., AAAI 2020) and a recogniser (CTC).

    map    = detector(picture)                    how likely each pixel is text
    line   = rectangle of smallest area around pixels above .3; kept where their mean is .5; grown by area·1.6/perimeter
    letters = recogniser(line, 48 pixels high)    a distribution over 18,710 letters at every 8 pixels; equal ones fold

The weights lie in the wheel rapidocr, which is not imported: its own call starts threads, may download, and turns some
upright lines by an angle classifier. Here lines that do not run from left to right are counted and left out.
Networks run on one line at a time: its letters do not depend on which others stand in the picture.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError
from fabula.media.base import Pictures
from fabula.media.extractors.onnx import open_session, run_session
from fabula.media.people.base import import_cv2
from fabula.media.signs.base import Line, SignModel, find_weights

STEP = 32  # pixels that the detector's sides are a multiple of
PIXEL, MEAN_OF_LINE, GROWTH = 0.3, 0.5, 1.6  # as PaddleOCR's own program sets them
SMALLEST = 5  # pixels of a line's shorter side where the detector sees it
SLANT = 25.0  # degrees that a line may rise or fall
TALL = 1.5  # height to width, from which a box holds a turned line or a column
MOST_GROWN = 4.0  # times that a picture is enlarged
HEIGHT = 48  # pixels of a line where the recogniser sees it
WIDEST = 3200  # … and its width; longer lines are squeezed
MOST_LINES = 500  # of one picture; of more, the surest

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Found:
    """The lines of a picture, and how many were not read."""

    lines: list[Line]
    cuts: list[Pictures]  # the lines, level, HEIGHT pixels high
    turned: int = 0  # do not run from left to right
    surplus: int = 0  # beyond MOST_LINES


@dataclass(frozen=True)
class Quad:
    """A detected line: its corners in pixels, clockwise from the left top one."""

    corners: Floats  # [4, 2]
    score: float


def read_picture(picture: Pictures, model: SignModel) -> Found:
    """All lines of a picture, from top to bottom."""
    quads, turned = detect(picture, model)
    surplus = max(0, len(quads) - MOST_LINES)
    if surplus:
        quads = sorted(sorted(quads, key=lambda q: -q.score)[:MOST_LINES], key=lambda q: order(q))
    H, W = picture.shape[:2]
    lines: list[Line] = []
    cuts: list[Pictures] = []
    for quad in quads:
        cut = cut_line(picture, quad.corners)
        letters, sure, space = recognise(cut, model)
        if letters:
            left, top = quad.corners.min(0)
            right, bottom = quad.corners.max(0)
            box = (float(left / W), float(top / H), float(right / W), float(bottom / H))
            lines.append(Line(box, letters, sure, space, quad.score))
            cuts.append(cut)
    return Found(lines, cuts, turned, surplus)


def order(quad: Quad) -> tuple[float, float]:
    return float(quad.corners[:, 1].min()), float(quad.corners[:, 0].min())


# ── where text stands ───────────────────────────────────────────────────────────────────────────────────────────────


def detect(picture: Pictures, model: SignModel) -> tuple[list[Quad], int]:
    """The lines that run from left to right, and how many do not."""
    cv2 = import_cv2()
    H, W = picture.shape[:2]
    h, w = fit_sides(H, W, model)
    x = cv2.resize(picture, (w, h), interpolation=cv2.INTER_LINEAR)
    path, _ = find_weights()
    session = open_session(path, model.threads, "cpu")
    batch = np.ascontiguousarray((x[None, :, :, ::-1].astype(np.float32) / 127.5 - 1).transpose(0, 3, 1, 2))
    outputs, inputs = session.get_outputs(), session.get_inputs()
    likely = run_session(session, outputs[0].name, inputs[0].name, batch, path)[0, 0]
    mask = cv2.dilate((likely > PIXEL).astype(np.uint8), np.ones((2, 2), np.uint8))
    contours = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)[-2]
    quads, turned = [], 0
    for contour in contours:
        rectangle = cv2.minAreaRect(contour)
        if min(rectangle[1]) < 3:
            continue
        score = mean_inside(likely, cv2.boxPoints(rectangle))
        if score < MEAN_OF_LINE:
            continue
        grown = grow(rectangle)
        if min(grown[1]) < SMALLEST:
            continue
        corners = order_corners(cv2.boxPoints(grown))
        if runs_across(corners):
            scaled = corners * np.array([W / w, H / h], np.float32)
            quads.append(Quad(np.clip(scaled, 0, [W - 1, H - 1]).astype(np.float32), score))
        else:
            turned += 1
    return sorted(quads, key=order), turned


def fit_sides(H: int, W: int, model: SignModel) -> tuple[int, int]:
    """Height and width where the detector sees the picture: a small one larger, a large one smaller."""
    scale = min(max(1.0, model.small / min(H, W)), model.large / min(H, W))
    scale = min(scale, model.longest / max(H, W), MOST_GROWN)
    return max(STEP, round(H * scale / STEP) * STEP), max(STEP, round(W * scale / STEP) * STEP)


def grow(rectangle: Any) -> Any:
    """A rectangle with area·GROWTH/perimeter more on each side: DB learns lines that are shrunk by so much."""
    centre, (w, h), angle = rectangle
    more = w * h * GROWTH / (w + h)  # twice area·GROWTH/perimeter
    return centre, (w + more, h + more), angle


def mean_inside(likely: Floats, corners: Floats) -> float:
    """The mean of the map inside four corners."""
    cv2 = import_cv2()
    H, W = likely.shape
    left, top = np.clip(np.floor(corners.min(0)).astype(int), 0, [W - 1, H - 1])
    right, bottom = np.clip(np.ceil(corners.max(0)).astype(int), 0, [W - 1, H - 1])
    mask = np.zeros((bottom - top + 1, right - left + 1), np.uint8)
    cv2.fillPoly(mask, [(corners - [left, top]).astype(np.int32)], 1)
    return float(cv2.mean(likely[top : bottom + 1, left : right + 1], mask)[0])


def order_corners(corners: Floats) -> Floats:
    """Left top, right top, right bottom, left bottom."""
    by_x = corners[np.argsort(corners[:, 0], kind="stable")]
    left, right = by_x[:2], by_x[2:]
    left, right = left[np.argsort(left[:, 1], kind="stable")], right[np.argsort(right[:, 1], kind="stable")]
    return np.stack([left[0], right[0], right[1], left[1]]).astype(np.float32)


def runs_across(corners: Floats) -> bool:
    """Whether a line runs from left to right, more or less level."""
    along, down = corners[1] - corners[0], corners[3] - corners[0]
    width, height = float(np.hypot(*along)), float(np.hypot(*down))
    slant = abs(math.degrees(math.atan2(float(along[1]), float(along[0]))))
    return width > 0 and height < TALL * width and slant <= SLANT


# ── what it says ────────────────────────────────────────────────────────────────────────────────────────────────────


def cut_line(picture: Pictures, corners: Floats) -> Pictures:
    """A line, level and HEIGHT pixels high."""
    cv2 = import_cv2()
    width = max(np.hypot(*(corners[1] - corners[0])), np.hypot(*(corners[2] - corners[3])), 1.0)
    height = max(np.hypot(*(corners[3] - corners[0])), np.hypot(*(corners[2] - corners[1])), 1.0)
    w, h = max(1, int(width)), max(1, int(height))
    flat = np.array([[0, 0], [w, 0], [w, h], [0, h]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, flat)
    level = cv2.warpPerspective(picture, matrix, (w, h), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    across = min(WIDEST, max(8, math.ceil(HEIGHT * w / h)))
    how = cv2.INTER_AREA if h > 2 * HEIGHT else cv2.INTER_LINEAR
    line: Pictures = cv2.resize(level, (across, HEIGHT), interpolation=how)
    return line


def recognise(line: Pictures, model: SignModel) -> tuple[str, tuple[float, ...], tuple[float, ...]]:
    """The letters of a line, how sure each is, and how sure a space before it."""
    _, path = find_weights()
    session = open_session(path, model.threads, "cpu")
    x = np.ascontiguousarray((line[None, :, :, ::-1].astype(np.float32) / 127.5 - 1).transpose(0, 3, 1, 2))
    likely = run_session(session, session.get_outputs()[0].name, session.get_inputs()[0].name, x, path)[0]  # [T, C]
    return fold(likely, alphabet())


def fold(likely: Floats, letters: tuple[str, ...]) -> tuple[str, tuple[float, ...], tuple[float, ...]]:
    """CTC's best path: neighbours that are equal are one letter, 0 is none. A letter is as sure as its surest place.

    A space is what stands highest between two letters, also where it is not the best: it is often just missed."""
    best, highest, blank = likely.argmax(1).tolist(), likely.max(1).tolist(), likely[:, -1].tolist()
    text: list[str] = []
    sure: list[float] = []
    space: list[float] = []
    last, gap = 0, 0.0
    for k, p, s in zip(best, highest, blank, strict=True):
        if not k or letters[k].isspace():
            gap = max(gap, s)
        elif k == last:
            sure[-1] = max(sure[-1], p)
        else:
            text.append(letters[k])
            sure.append(p)
            space.append(gap if len(text) > 1 else 0.0)
            gap = 0.0
        last = k
    return "".join(text), tuple(sure), tuple(space)


@functools.lru_cache(maxsize=1)
def alphabet() -> tuple[str, ...]:
    """The letters by number, as the recogniser's file names them: first none, at the end the blank."""
    _, path = find_weights()
    session = open_session(path, 1, "cpu")
    listed = session.get_modelmeta().custom_metadata_map.get("character")
    letters = ("", *(listed or "").split("\n"))
    classes = session.get_outputs()[0].shape[-1]
    if letters[-1] == "":
        letters = letters[:-1]
    letters = (*letters, " ")
    if not listed or len(letters) != classes:
        raise InputError(
            f"the recogniser has {classes} classes and names {len(letters)} letters",
            file=path,
            hint="install rapidocr again, in the version that fabula[ocr] asks for",
        )
    return letters
