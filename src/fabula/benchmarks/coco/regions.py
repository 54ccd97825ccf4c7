"""COCO-style boxes with captions: {"annotations": [{image_id, bbox, caption}], "images": […]} or results, a flat list.

Results are [{"image_id", "bbox", "caption", "score"}].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fabula.benchmarks._families.boxes import Gathered, gather_boxes
from fabula.data.regions import FORMS, Form, Picture
from fabula.documents.fields import Source
from fabula.documents.files import open_cursor, read_elements, read_root
from fabula.io.format import Format, HeadRule
from fabula.io.regions.fields import read_size


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


def gather_sizes(entries: Iterable[object], found: dict[str, Gathered], source: Source) -> None:
    for i, entry in enumerate(entries):
        at = f"images[{i}]"
        entry = source.mapping(entry, at, hint="an image is an object with id, width and height")
        id = str(source.identity(source.entry(entry, "id", at=at), f"{at} id"))
        found.setdefault(id, Gathered()).size = read_size(source, entry, id)


FORMAT = Format(
    name="coco",
    about="COCO-style boxes: annotations with bbox and caption, or results with image_id, bbox, caption, score",
    known_by=(HeadRule(any=("bbox", "annotations", "images"), none=("object_descriptions",)),),
    holds="either",
    tasks=("regions",),
    forms=FORMS,
    read_pictures=read_pictures,
    example='[{"image_id": 1, "bbox": [10, 20, 30, 40], "caption": "a red kite", "score": 0.9}]',
)
