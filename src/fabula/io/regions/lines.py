"""Fabula's own lines of regions: an image a line, {"image_id", "boxes", "captions", "scores", "width", "height"}.

scores are wanted in predictions, width and height never. Read as a stream, which nothing but these lines and DenseCap's
results allow for predictions.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabula.data.regions import FORMS, Form, Picture
from fabula.documents.fields import Source
from fabula.io.format import Format
from fabula.io.regions.fields import build_picture, read_size


def read_pictures(source: Source, form: Form) -> Iterator[Picture]:
    for at, entry in source.document.entries():
        entry = source.mapping(entry, at, hint="an image is an object with image_id, boxes and captions")
        id = str(source.identity(source.entry(entry, "image_id", at=at), f"{at} image_id"))
        boxes, captions = (source.entry(entry, key, id, at) for key in ("boxes", "captions"))
        yield build_picture(source, id, boxes, captions, entry.get("scores"), form, read_size(source, entry, id))


FORMAT = Format(
    name="lines",
    about="an image a line: image_id, boxes, captions, scores",
    holds="either",
    tasks=("regions",),
    forms=FORMS,
    read_pictures=read_pictures,
    pattern="*.jsonl",
    example='{"image_id": 1, "boxes": [[10, 20, 30, 40]], "captions": ["a red kite"], "scores": [0.9]}',
)
