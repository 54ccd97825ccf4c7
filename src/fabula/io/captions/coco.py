"""COCO captions (Chen et al., 2015): results [{image_id, caption}] and {"annotations": [{image_id, caption}]}."""

from __future__ import annotations

from typing import Any

from fabula.io._fields import Source, kind
from fabula.io._format import Reader

RESULTS = '[{"image_id": id, "caption": text}, …]'
ANNOTATIONS = '{"annotations": [{"image_id": id, "caption": text}, …]}'


def results(document: Any, source: Source) -> dict[str | int, str]:
    """One candidate per image."""
    found: dict[str | int, str] = {}
    for i, entry in enumerate(source.listing(document, "the root", hint=f"COCO results are {RESULTS}")):
        image, caption = captioned(entry, f"entry {i}", source, RESULTS)
        if image in found:
            raise source.wrong("this image has two captions", image, f"entry {i}", "keep one candidate per image")
        found[image] = caption
    return found


def references(document: Any, source: Source) -> dict[str | int, tuple[str, ...]]:
    """The references of every image, in file order."""
    root = source.mapping(document, "the root", hint=f"COCO annotations are {ANNOTATIONS}")
    entries = source.listing(source.entry(root, "annotations"), "annotations", hint=f"they are {ANNOTATIONS}")
    found: dict[str | int, list[str]] = {}
    for i, entry in enumerate(entries):
        image, caption = captioned(entry, f"annotations[{i}]", source, ANNOTATIONS)
        found.setdefault(image, []).append(caption)
    return {image: tuple(captions) for image, captions in found.items()}


def captioned(entry: Any, where: str, source: Source, shape: str) -> tuple[str | int, str]:
    entry = source.mapping(entry, where, hint=f"expected {shape}")
    image = identity(source.entry(entry, "image_id", at=where), f"{where} image_id", source)
    return image, source.caption(source.entry(entry, "caption", image, where), f"{where} caption", image)


def identity(value: Any, where: str, source: Source) -> str | int:
    """An id is text or a whole number, and stays what it is."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise source.wrong(f"expected an id (text or a whole number), saw {kind(value)}", None, where, "mend the file")
    return value


READERS = (
    Reader(
        "coco-results",
        ("captions",),
        "predictions",
        "*.json",
        f"COCO caption results, one candidate per image: {RESULTS}",
        '[{"image_id": 1, "caption": "a kite rises"}]',
    ),
    Reader(
        "coco-annotations",
        ("captions",),
        "references",
        "*.json",
        f"COCO caption annotations, several per image: {ANNOTATIONS}",
        '{"annotations": [{"image_id": 1, "caption": "a kite is rising"}]}',
    ),
)
