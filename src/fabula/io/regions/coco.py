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

from fabula.core.regions import Form, Picture
from fabula.io._fields import Source, plain_caption
from fabula.io._regions import RegionFormat, four, size_of
from fabula.io._stream import beginning, elements, opened
from fabula.io.coco import identity


@dataclass(slots=True)
class Gathered:
    """The boxes of an image so far."""

    boxes: array[float] = field(default_factory=lambda: array("d"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    captions: list[str] = field(default_factory=list)
    size: tuple[float, float] | None = None

    def add(self, entry: dict[str, Any], source: Source, id: str, at: str, scored: bool) -> None:
        self.boxes.extend(four(source, source.entry(entry, "bbox", id, at), f"{at} bbox", id))
        caption = source.entry(entry, "caption", id, at)
        self.captions.append(plain_caption(caption) or source.caption(caption, f"{at} caption", id))
        if scored:
            self.scores.append(source.number(source.entry(entry, "score", id, at), f"{at} score", id))

    def picture(self, id: str, scored: bool, form: Form) -> Picture:
        boxes = np.array(self.boxes, dtype=np.float64).reshape(-1, 4)
        return Picture(id, boxes, tuple(self.captions), np.array(self.scores) if scored else None, form, self.size)


def read(source: Source, form: Form) -> Iterator[Picture]:
    found: dict[str, Gathered] = {}
    scored = beginning(source.path)[0] == "["
    if scored:
        gather(elements(source.path), "entry {}", found, source, scored)
    for reader in opened(source.path) if not scored else ():
        for key in reader.members():
            if key == "annotations":
                gather(reader.elements(), "annotations[{}]", found, source, scored)
            elif key == "images":
                images(reader.elements(), found, source)
            else:
                reader.value()
        reader.end()
    for id in list(found):
        yield found.pop(id).picture(id, scored, form)


def gather(entries: Iterable[Any], place: str, found: dict[str, Gathered], source: Source, scored: bool) -> None:
    for i, entry in enumerate(entries):
        at = place.format(i)
        entry = source.mapping(entry, at, hint="a box is an object with image_id, bbox and caption")
        id = str(identity(source.entry(entry, "image_id", at=at), f"{at} image_id", source))
        (found.get(id) or found.setdefault(id, Gathered())).add(entry, source, id, at, scored)


def images(entries: Iterable[Any], found: dict[str, Gathered], source: Source) -> None:
    for i, entry in enumerate(entries):
        at = f"images[{i}]"
        entry = source.mapping(entry, at, hint="an image is an object with id, width and height")
        id = str(identity(source.entry(entry, "id", at=at), f"{at} id", source))
        found.setdefault(id, Gathered()).size = size_of(source, entry, id)


REGIONS = RegionFormat(
    name="coco",
    about="COCO-style boxes: annotations with bbox and caption, or results with image_id, bbox, caption, score",
    holds="either",
    sniff=lambda first, keys: "bbox" in keys if first == "[" else "annotations" in keys or "images" in keys,
    read=read,
    example='[{"image_id": 1, "bbox": [10, 20, 30, 40], "caption": "a red kite", "score": 0.9}]',
)
