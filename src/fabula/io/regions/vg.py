"""Visual Genome region descriptions (Krishna et al., 2017): [{"id", "regions": [{x, y, width, height, phrase}]}].

region_graphs.json has the same fields and more. A file of one image (the object alone) is read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.core.regions import Form, Picture
from fabula.io import _files
from fabula.io._fields import Source
from fabula.io._regions import RegionFormat, picture, size_of
from fabula.io._stream import beginning, elements
from fabula.io.coco import identity

SIDES = ("x", "y", "width", "height")


def read(source: Source, form: Form) -> Iterator[Picture]:
    whole = beginning(source.path)[0] == "{"
    for i, entry in enumerate([_files.load_json(source.path)] if whole else elements(source.path)):
        yield image(source.mapping(entry, f"entry {i}", hint="an image is an object with regions"), i, source, form)


def image(entry: dict[str, Any], i: int, source: Source, form: Form) -> Picture:
    key = "id" if "id" in entry and "image_id" not in entry else "image_id"
    id = str(identity(source.entry(entry, key, at=f"entry {i}"), f"entry {i} {key}", source))
    boxes, captions = [], []
    for k, region in enumerate(source.listing(source.entry(entry, "regions", id), "regions", id)):
        at = f"regions[{k}]"
        region = source.mapping(region, at, id)
        boxes.append([source.number(source.entry(region, side, id, at), f"{at} {side}", id) for side in SIDES])
        captions.append(source.caption(source.entry(region, "phrase", id, at), f"{at} phrase", id))
    return picture(source, id, boxes, captions, None, form, size_of(source, entry, id))


REGIONS = RegionFormat(
    name="vg",
    about="Visual Genome region descriptions or region graphs",
    holds="references",
    sniff=lambda first, keys: "regions" in keys,
    read=read,
    forms=("xywh",),  # its fields are named: there is nothing to declare
    example='[{"id": 1, "regions": [{"x": 10, "y": 20, "width": 30, "height": 40, "phrase": "a red kite"}]}]',
)
