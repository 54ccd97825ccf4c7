"""DenseCap's results.json (Johnson et al., 2016): {"results": [{"img_name", "boxes", "scores", "captions"}]}, xywh."""

from __future__ import annotations

from collections.abc import Iterator

from fabula.data.regions import FORMS, Form, Picture
from fabula.documents.fields import Source
from fabula.documents.files import read_elements
from fabula.io.format import Format, HeadRule
from fabula.io.regions.fields import build_picture, read_size


def read_pictures(source: Source, form: Form) -> Iterator[Picture]:
    for i, entry in enumerate(read_elements(source.document, "results")):
        entry = source.mapping(entry, f"results[{i}]", hint="a result has img_name, boxes, scores and captions")
        id = str(source.identity(source.entry(entry, "img_name", at=f"results[{i}]"), f"results[{i}] img_name"))
        boxes, captions, scores = (source.entry(entry, key, id) for key in ("boxes", "captions", "scores"))
        yield build_picture(source, id, boxes, captions, scores, form, read_size(source, entry, id))


FORMAT = Format(
    name="densecap",
    about="DenseCap's results.json: boxes, scores and captions by img_name",
    known_by=(HeadRule(any=("results", "opt")),),
    holds="predictions",
    tasks=("regions",),
    forms=FORMS,
    read_pictures=read_pictures,
    example='{"results": [{"img_name": "1.jpg", "boxes": [[10, 20, 30, 40]], "scores": [0.9], "captions": ["a '
    'red kite"]}]}',
)
