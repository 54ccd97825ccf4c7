"""Fabula's own lines of regions: an image a line, {"image_id", "boxes", "captions", "scores", "width", "height"}.

scores are wanted in predictions, width and height never. Read as a stream, which nothing but these lines and DenseCap's
results allow for predictions.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabula.core.regions import Form, Picture
from fabula.io import objects
from fabula.io._fields import Source
from fabula.io._regions import RegionFormat, picture, size_of
from fabula.io.coco import identity


def read(source: Source, form: Form) -> Iterator[Picture]:
    for number, entry in objects(source.path):
        at = f"line {number}"
        entry = source.mapping(entry, at, hint="an image is an object with image_id, boxes and captions")
        id = str(identity(source.entry(entry, "image_id", at=at), f"{at} image_id", source))
        boxes, captions = (source.entry(entry, key, id, at) for key in ("boxes", "captions"))
        yield picture(source, id, boxes, captions, entry.get("scores"), form, size_of(source, entry, id))


REGIONS = RegionFormat(
    name="lines",
    about="an image a line: image_id, boxes, captions, scores",
    holds="either",
    sniff=lambda first, keys: "boxes" in keys,
    read=read,
    lines=True,
    example='{"image_id": 1, "boxes": [[10, 20, 30, 40]], "captions": ["a red kite"], "scores": [0.9]}',
)
