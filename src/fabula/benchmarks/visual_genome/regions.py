"""Visual Genome region descriptions (Krishna et al., 2017): [{"id", "regions": [{x, y, width, height, phrase}]}].

region_graphs.json has the same fields and more. A file of one image (the object alone) is read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.data.regions import Form, Picture
from fabula.documents.fields import Source
from fabula.documents.files import read_elements, read_root
from fabula.io.format import Format, HeadRule
from fabula.io.regions.fields import build_picture, read_size

SIDES = ("x", "y", "width", "height")


def read_pictures(source: Source, form: Form) -> Iterator[Picture]:
    whole = read_root(source.document)[0] == "{"
    for i, entry in enumerate([source.document.tree()] if whole else read_elements(source.document)):
        yield build_image(
            source.mapping(entry, f"entry {i}", hint="an image is an object with regions"), i, source, form
        )


def build_image(entry: dict[str, Any], i: int, source: Source, form: Form) -> Picture:
    key = "id" if "id" in entry and "image_id" not in entry else "image_id"
    id = str(source.identity(source.entry(entry, key, at=f"entry {i}"), f"entry {i} {key}"))
    boxes, captions = [], []
    for k, region in enumerate(source.listing(source.entry(entry, "regions", id), "regions", id)):
        at = f"regions[{k}]"
        region = source.mapping(region, at, id)
        boxes.append([source.number(source.entry(region, side, id, at), f"{at} {side}", id) for side in SIDES])
        captions.append(source.caption(source.entry(region, "phrase", id, at), f"{at} phrase", id))
    return build_picture(source, id, boxes, captions, None, form, read_size(source, entry, id))


FORMAT = Format(
    name="vg",
    about="Visual Genome region descriptions or region graphs",
    known_by=(HeadRule(all=("regions",)),),
    holds="references",
    tasks=("regions",),
    read_pictures=read_pictures,
    forms=("xywh",),  # its fields are named: there is nothing to declare
    example='[{"id": 1, "regions": [{"x": 10, "y": 20, "width": 30, "height": 40, "phrase": "a red kite"}]}]',
)
