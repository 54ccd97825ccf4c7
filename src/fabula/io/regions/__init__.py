"""Regions from files: the format is known by how the file begins, the form of its boxes is declared, never guessed.

--format NAME, NAME:FORM or FORM: `coco:xyxy`, `densecap`, `xcycwh`. Without a form, the format's own (xywh).
Where the numbers speak against the declared form, a warning says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, name_id
from fabula.core.registry import close_to
from fabula.data.regions import FORMS, Boxes, Form, Picture, corners
from fabula.documents.document import Document, open_document
from fabula.documents.fields import Source
from fabula.io.format import Format
from fabula.io.shelf import SHELVES, list_known

if TYPE_CHECKING:
    from fabula.documents.safe_open import File

Flags = NDArray[np.bool_]

REPAIRS = ("swap", "drop", "keep")
ENOUGH = 20  # boxes before the numbers of a file are taken for a sign of its form
FAR = 1e100  # pixels
SLACK = 2.0  # pixels that a box may reach out of its image before it counts


SHELF = SHELVES["regions"]


def formats() -> list[Format]:
    """Every format of regions, by file name."""
    return SHELF.formats()


def choose_format(file: str | File, asked: str | None) -> tuple[Format, Form]:
    """The format of a file and the form of its boxes."""
    name, colon, declared = (asked or "").partition(":")
    if asked in FORMS:
        name, declared = "", asked
    if colon and not declared:
        raise SpecError(f"{asked!r}: nothing follows the colon; it may be {', '.join(FORMS)}")
    format = find_format(name) if name else sniff_format(open_document(file))
    for form in format.forms:
        if form == (declared or format.forms[0]):
            return format, form
    raise SpecError(f"boxes of the format {format.name!r} are {' or '.join(format.forms)}, not {declared!r}")


def find_format(name: str) -> Format:
    if (found := SHELF.find(name)) is not None:
        return found
    raise SpecError(f"no format of regions is called {name!r}; {close_to(name, [f.name for f in formats()])}")


def sniff_format(head: Document) -> Format:
    """The first format that knows how the file begins."""
    if head.empty:
        raise InputError("the file is empty", file=head, hint="it should hold an image a line")
    if (found := SHELF.sniff(head)) is not None:
        return found
    first, keys = head.root
    shape = (
        f"{'a list of objects' if first == '[' else 'an object'} with {', '.join(map(shown, keys[:4])) or 'no keys'}"
    )
    raise InputError(f"{shape}: no known format of regions", file=head, hint=list_known(formats()))


def read_pictures(format: Format, source: Source, form: Form) -> Iterator[Picture]:
    assert format.read_pictures is not None
    return format.read_pictures(source, form)


def read_references(
    paths: Sequence[str | File], notes: Notes, format: str | None = None, repair: Sequence[str] = ()
) -> tuple[dict[str, Picture], Form]:
    """The images of one or more files by id, and the form of their boxes."""
    for way in repair:
        if way not in REPAIRS:
            raise SpecError(f"no repair of boxes is called {way!r}; {close_to(way, list(REPAIRS))}")
    found: dict[str, Picture] = {}
    forms = set[Form]()
    for path in paths:
        source = Source(open_document(path), notes, noun="image")
        chosen, form = choose_format(source.document, format)
        watch = Watch(source, "reference")
        for picture in read_pictures(chosen, source, form):
            if picture.id in found:
                raise source.wrong("this image stands twice", picture.id, None, "keep one of the two")
            watch.look_at(picture)
            found[picture.id] = mend_picture(replace(picture, scores=None), source, repair)
        watch.add_notes()
        forms.add(form)
    return found, forms.pop() if len(forms) == 1 else "xywh"


@dataclass(slots=True)
class Predictions:
    """The images of a predictions file, read anew each time they are asked for; remarks are made once."""

    path: str | File
    format: str | None
    notes: Notes
    form: Form = "xywh"
    chosen: Format = field(init=False)
    noted: bool = False

    def __post_init__(self) -> None:
        self.chosen, self.form = choose_format(self.path, self.format)
        if self.chosen.holds == "references":
            raise SpecError(f"{self.path} has the format {self.chosen.name!r}, which holds references, not predictions")

    def __iter__(self) -> Iterator[Picture]:
        source = Source(open_document(self.path), Notes() if self.noted else self.notes, noun="image")
        known_ids, watch = set[str](), Watch(source, "predicted")
        for picture in read_pictures(self.chosen, source, self.form):
            if picture.id in known_ids:
                raise source.wrong("this image stands twice", picture.id, None, "keep one of the two")
            if picture.scores is None:
                hint = "predictions are ranked by score; give one per box"
                raise source.wrong("no scores", picture.id, "scores", hint)
            known_ids.add(picture.id)
            watch.look_at(picture)
            yield picture
        watch.add_notes()
        self.noted = True


def mend_picture(picture: Picture, source: Source, repair: Sequence[str]) -> Picture:
    """Reference boxes that are no boxes: refused, unless a repair is named."""
    bad = np.flatnonzero(find_turned(picture.boxes, picture.form))
    if not len(bad):
        return picture
    ways = [way for way in repair if way != "swap" or picture.form == "xyxy"]
    if not ways:
        box = ", ".join(f"{x:g}" for x in picture.boxes[bad[0]])
        hint = f"mend it, declare another form with --refs-format, or say --repair {', '.join(REPAIRS)}"
        problem = f"[{box}] as {picture.form} is turned round or has no size"
        raise source.wrong(problem, picture.id, f"region {bad[0]}", hint)
    source.notes.add(
        f"{{n}} reference boxes without size: {ways[0]}", f"{name_id(picture.id)} region {bad[0]}", len(bad)
    )
    if ways[0] == "keep":
        return picture
    if ways[0] == "swap":
        boxes = picture.boxes.copy()
        boxes[:, [0, 2]], boxes[:, [1, 3]] = np.sort(boxes[:, [0, 2]]), np.sort(boxes[:, [1, 3]])
        return replace(picture, boxes=boxes)
    valid = np.setdiff1d(np.arange(len(picture)), bad)
    return replace(picture, boxes=picture.boxes[valid], captions=tuple(picture.captions[i] for i in valid))


def check_reach(picture: Picture, source: Source) -> None:
    """Numbers of which no width, area or mean can be made."""
    far = np.flatnonzero((np.abs(picture.boxes) > FAR).any(axis=1))
    if len(far):
        box = ", ".join(f"{x:g}" for x in picture.boxes[far[0]])
        hint = "boxes are given in pixels; mend it or leave it out"
        raise source.wrong(f"[{box}] has a number beyond {FAR:g}", picture.id, f"box {far[0]}", hint)


def find_turned(boxes: Boxes, form: Form) -> Flags:
    """Where right < left or bottom < top; where sizes are given, also where one is 0. [N]"""
    bad = boxes[:, 2:] < boxes[:, :2] if form == "xyxy" else boxes[:, 2:] <= 0
    return bad[:, 0] | bad[:, 1]


@dataclass(slots=True)
class Watch:
    """Looks whether the numbers speak against the declared form of the boxes."""

    source: Source
    role: str
    form: Form = "xywh"
    boxes: int = 0
    rising: int = 0  # third number above the first, fourth above the second: what corners look like
    before: int = 0  # begin left of or above the image
    sized: int = 0  # boxes of images with a known size
    outside: dict[Form, int] = field(default_factory=lambda: dict.fromkeys(FORMS, 0))  # out of it, read as each form

    def look_at(self, picture: Picture) -> None:
        boxes, self.form = picture.boxes, picture.form
        check_reach(picture, self.source)
        bad = np.flatnonzero(find_turned(boxes, self.form))
        if len(bad) and self.role == "predicted":
            what = f"{{n}} {self.role} boxes, as {self.form}, are turned round or have no size and overlap nothing"
            what += "; are they xywh?" if self.form == "xyxy" else ""
            self.source.notes.add(what, f"{name_id(picture.id)} box {bad[0]}", len(bad))
        self.boxes += len(boxes)
        self.rising += int((boxes[:, 2:] > boxes[:, :2]).all(axis=1).sum())
        self.before += int((picture.corners()[:, :2] < -SLACK).any(axis=1).sum())
        if picture.size is not None:
            self.sized += len(boxes)
            for form in FORMS:
                self.outside[form] += int(find_outside(corners(boxes, form), picture.size).sum())

    def add_notes(self) -> None:
        name, role, form = self.source.document.filename, self.role, self.form
        if self.boxes < ENOUGH:
            return
        if form == "xywh" and self.rising == self.boxes:
            self.source.notes.add(
                f"in all {self.boxes:,} {role} boxes of {name} the third number is above the first, the fourth above "
                "the second, as in xyxy; they were read as xywh"
            )
        if form == "xcycwh" and self.before > self.boxes / 5:
            self.source.notes.add(
                f"{self.before:,} of {self.boxes:,} {role} boxes of {name} begin outside the image; they were read as "
                "xcycwh, are they xywh?"
            )
        if self.outside[form] > self.sized / 10:
            best = min(FORMS, key=lambda f: self.outside[f])
            fewer = f"; as {best}, {self.outside[best]:,} would" if self.outside[best] < self.outside[form] / 4 else ""
            self.source.notes.add(
                f"{self.outside[form]:,} of {self.sized:,} {role} boxes of {name}, read as {form}, reach out of their "
                f"image or are turned round{fewer}"
            )


def find_outside(boxes: Boxes, size: tuple[float, float]) -> Flags:
    """Which corners reach out of an image, or are turned round. [N]"""
    edge = np.array(size) + SLACK
    bad = (boxes[:, :2] < -SLACK) | (boxes[:, 2:] > edge) | (boxes[:, 2:] < boxes[:, :2])
    return bad[:, 0] | bad[:, 1]
