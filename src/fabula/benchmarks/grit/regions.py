"""GRiT's vg_instances_results.json (Wu et al., 2022): [{"image_id", "bbox", "score", "object_descriptions"}], xywh.

Its boxes of Visual Genome lie in an image whose longer side is 720 pixels, as DenseCap's do: score them with
--scale 720. `category_id` and `logit` are not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabula.benchmarks._families.boxes import Gathered, gather_boxes
from fabula.data.regions import FORMS, Form, Picture
from fabula.documents.fields import Source
from fabula.documents.files import read_elements
from fabula.io.format import Format, HeadRule


def read_pictures(source: Source, form: Form) -> Iterator[Picture]:
    found: dict[str, Gathered] = {}
    gather_boxes(read_elements(source.document), "entry {}", found, source, True, "object_descriptions")
    for id in list(found):
        yield found.pop(id).picture(id, True, form)


FORMAT = Format(
    name="grit",
    about="GRiT's vg_instances_results.json: a list of image_id, bbox, score, object_descriptions",
    known_by=(HeadRule(all=("bbox", "object_descriptions")),),
    holds="predictions",
    tasks=("regions",),
    forms=FORMS,
    read_pictures=read_pictures,
    example='[{"image_id": 1, "category_id": 0, "bbox": [10, 20, 30, 40], "score": 0.9, "object_descriptions": "a red '
    'kite", "logit": 0.8}]',
)
