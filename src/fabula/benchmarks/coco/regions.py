"""COCO-style boxes with captions: {"annotations": [{image_id, bbox, caption}], "images": […]} or results, a flat list.

Results are [{"image_id", "bbox", "caption", "score"}]. The boxes of an image may stand anywhere in the file, so a file
of this format is held while it is scored: 32 bytes and a caption a box.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fabula.data.regions import FORMS, Form, Picture
from fabula.documents.fields import Source, plain_caption
from fabula.documents.files import open_cursor, read_elements, read_root
from fabula.io.format import Format, HeadRule
from fabula.io.regions.fields import check_box, read_size


@dataclass(slots=True)
class Gathered:
    """The boxes of an image so far."""

    boxes: array[float] = field(default_factory=lambda: array("d"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    captions: list[str] = field(default_factory=list)
    size: tuple[float, float] | None = None

    def add(self, entry: dict[str, Any], source: Source, id: str, at: str, scored: bool) -> None:
        self.boxes.extend(check_box(source, source.entry(entry, "bbox", id, at), f"{at} bbox", id))
        caption = source.entry(entry, "caption", id, at)
        self.captions.append(plain_caption(caption) or source.caption(caption, f"{at} caption", id))
        if scored:
            self.scores.append(source.number(source.entry(entry, "score", id, at), f"{at} score", id))

    def picture(self, id: str, scored: bool, form: Form) -> Picture:
        boxes = np.array(self.boxes, dtype=np.float64).reshape(-1, 4)
        return Picture(id, boxes, tuple(self.captions), np.array(self.scores) if scored else None, form, self.size)


def read_pictures(source: Source, form: Form) -> Iterator[Picture]:
    found: dict[str, Gathered] = {}
    scored = read_root(source.document)[0] == "["
    if scored:
        gather_boxes(read_elements(source.document), "entry {}", found, source, scored)
    else:
        with open_cursor(source.document) as cursor:
            for key in cursor.members():
                if key == "annotations":
                    gather_boxes(cursor.elements(), "annotations[{}]", found, source, scored)
                elif key == "images":
                    gather_sizes(cursor.elements(), found, source)
                else:
                    cursor.value()
            cursor.end()
    for id in list(found):
        yield found.pop(id).picture(id, scored, form)


def gather_boxes(entries: Iterable[Any], place: str, found: dict[str, Gathered], source: Source, scored: bool) -> None:
    for i, entry in enumerate(entries):
        at = place.format(i)
        entry = source.mapping(entry, at, hint="a box is an object with image_id, bbox and caption")
        id = str(source.identity(source.entry(entry, "image_id", at=at), f"{at} image_id"))
        (found.get(id) or found.setdefault(id, Gathered())).add(entry, source, id, at, scored)


def gather_sizes(entries: Iterable[Any], found: dict[str, Gathered], source: Source) -> None:
    for i, entry in enumerate(entries):
        at = f"images[{i}]"
        entry = source.mapping(entry, at, hint="an image is an object with id, width and height")
        id = str(source.identity(source.entry(entry, "id", at=at), f"{at} id"))
        found.setdefault(id, Gathered()).size = read_size(source, entry, id)


FORMAT = Format(
    name="coco",
    about="COCO-style boxes: annotations with bbox and caption, or results with image_id, bbox, caption, score",
    known_by=(HeadRule(any=("bbox", "annotations", "images")),),
    holds="either",
    tasks=("regions",),
    forms=FORMS,
    read_pictures=read_pictures,
    example='[{"image_id": 1, "bbox": [10, 20, 30, 40], "caption": "a red kite", "score": 0.9}]',
)
