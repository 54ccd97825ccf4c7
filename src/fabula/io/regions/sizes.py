"""Sizes of images from their metadata: Visual Genome's image_data.json, or the "images" of a COCO file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.notes import Notes
from fabula.documents.document import Document, open_document
from fabula.documents.fields import Source
from fabula.documents.files import read_elements, read_root
from fabula.io.regions.fields import read_size

if TYPE_CHECKING:
    from fabula.documents.safe_open import File

SHAPE = "a list of {image_id, width, height}, as Visual Genome's image_data.json, or the images of a COCO file"


def read_sizes(file: str | File, notes: Notes) -> dict[str, tuple[float, float]]:
    """Width and height of each image, in pixels, by id."""
    source = Source(open_document(file), notes, noun="image")
    sizes: dict[str, tuple[float, float]] = {}
    for at, entry in list_images(source.document):
        entry = source.mapping(entry, at, hint=SHAPE)
        key = "image_id" if "image_id" in entry else "id"
        id = str(source.identity(source.entry(entry, key, at=at), f"{at} {key}"))
        size = read_size(source, entry, id)
        if size is None or min(size) <= 0:
            raise source.wrong("no width and height above 0", id, at, SHAPE)
        if sizes.setdefault(id, size) != size:
            raise source.wrong("this image has two sizes", id, at, "keep one of the two")
    if not sizes:
        raise source.wrong("no image", None, None, SHAPE)
    return sizes


def list_images(document: Document) -> list[tuple[str, object]]:
    """The entries of the list, with their places."""
    if document.lines:
        return list(document.entries())
    inside = "images" if read_root(document)[0] == "{" else None
    place = "images[{}]" if inside else "entry {}"
    return [(place.format(i), entry) for i, entry in enumerate(read_elements(document, inside))]
