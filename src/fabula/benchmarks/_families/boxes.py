"""Boxes in one flat list, an object a box: {image_id, bbox, caption, score}, as COCO has them and GRiT writes them.

The boxes of an image may stand anywhere in the file, so a file of this family is held while it is scored: 32 bytes and
a caption a box.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from fabula.data.regions import Form, Picture
from fabula.documents.fields import Source, plain_caption
from fabula.io.regions.fields import check_box


@dataclass(slots=True)
class Gathered:
    """The boxes of an image so far."""

    boxes: array[float] = field(default_factory=lambda: array("d"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    captions: list[str] = field(default_factory=list)
    size: tuple[float, float] | None = None

    def add(self, entry: dict[str, object], source: Source, id: str, at: str, scored: bool, words: str) -> None:
        self.boxes.extend(check_box(source, source.entry(entry, "bbox", id, at), f"{at} bbox", id))
        caption = source.entry(entry, words, id, at)
        self.captions.append(plain_caption(caption) or source.caption(caption, f"{at} {words}", id))
        if scored:
            self.scores.append(source.number(source.entry(entry, "score", id, at), f"{at} score", id))

    def picture(self, id: str, scored: bool, form: Form) -> Picture:
        boxes = np.array(self.boxes, dtype=np.float64).reshape(-1, 4)
        return Picture(id, boxes, tuple(self.captions), np.array(self.scores) if scored else None, form, self.size)


def gather_boxes(
    entries: Iterable[object],
    place: str,
    found: dict[str, Gathered],
    source: Source,
    scored: bool,
    words: str = "caption",
) -> None:
    """Add the boxes of a list to their images; `words` is the key of a box's caption."""
    for i, entry in enumerate(entries):
        at = place.format(i)
        entry = source.mapping(entry, at, hint=f"a box is an object with image_id, bbox and {words}")
        id = str(source.identity(source.entry(entry, "image_id", at=at), f"{at} image_id"))
        (found.get(id) or found.setdefault(id, Gathered())).add(entry, source, id, at, scored, words)
