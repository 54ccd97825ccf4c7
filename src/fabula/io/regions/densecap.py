"""DenseCap's results.json (Johnson et al., 2016): {"results": [{"img_name", "boxes", "scores", "captions"}]}, xywh."""

from __future__ import annotations

from collections.abc import Iterator

from fabula.core.regions import Form, Picture
from fabula.io._fields import Source
from fabula.io._regions import RegionFormat, picture, size_of
from fabula.io._stream import elements
from fabula.io.coco import identity


def read(source: Source, form: Form) -> Iterator[Picture]:
    for i, entry in enumerate(elements(source.path, "results")):
        entry = source.mapping(entry, f"results[{i}]", hint="a result has img_name, boxes, scores and captions")
        id = str(identity(source.entry(entry, "img_name", at=f"results[{i}]"), f"results[{i}] img_name", source))
        boxes, captions, scores = (source.entry(entry, key, id) for key in ("boxes", "captions", "scores"))
        yield picture(source, id, boxes, captions, scores, form, size_of(source, entry, id))


REGIONS = RegionFormat(
    name="densecap",
    about="DenseCap's results.json: boxes, scores and captions by img_name",
    holds="predictions",
    sniff=lambda first, keys: first == "{" and ("results" in keys or "opt" in keys),
    read=read,
    example='{"results": [{"img_name": "1.jpg", "boxes": [[10, 20, 30, 40]], "scores": [0.9], "captions": ["a '
    'red kite"]}]}',
)
