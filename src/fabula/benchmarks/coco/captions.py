"""COCO captions (Chen et al., 2015): results [{image_id, caption}] and {"annotations": [{image_id, caption}]}."""

from __future__ import annotations

from typing import Any

from fabula.documents.fields import Source
from fabula.io.format import Format

RESULTS = '[{"image_id": id, "caption": text}, …]'
ANNOTATIONS = '{"annotations": [{"image_id": id, "caption": text}, …]}'


def read_results(document: Any, source: Source) -> dict[str | int, str]:
    """One candidate per image."""
    found: dict[str | int, str] = {}
    for i, entry in enumerate(source.listing(document, "the root", hint=f"COCO results are {RESULTS}")):
        image, caption = read_entry(entry, f"entry {i}", source, RESULTS)
        if image in found:
            raise source.wrong("this image has two captions", image, f"entry {i}", "keep one candidate per image")
        found[image] = caption
    return found


def read_annotations(document: Any, source: Source) -> dict[str | int, tuple[str, ...]]:
    """The references of every image, in file order."""
    root = source.mapping(document, "the root", hint=f"COCO annotations are {ANNOTATIONS}")
    entries = source.listing(source.entry(root, "annotations"), "annotations", hint=f"they are {ANNOTATIONS}")
    found: dict[str | int, list[str]] = {}
    for i, entry in enumerate(entries):
        image, caption = read_entry(entry, f"annotations[{i}]", source, ANNOTATIONS)
        found.setdefault(image, []).append(caption)
    return {image: tuple(captions) for image, captions in found.items()}


def read_entry(entry: Any, where: str, source: Source, shape: str) -> tuple[str | int, str]:
    entry = source.mapping(entry, where, hint=f"expected {shape}")
    image = source.identity(source.entry(entry, "image_id", at=where), f"{where} image_id")
    return image, source.caption(source.entry(entry, "caption", image, where), f"{where} caption", image)


FORMATS = (
    Format(
        name="coco-results",
        about=f"COCO caption results, one candidate per image: {RESULTS}",
        holds="predictions",
        tasks=("captions",),
        read_captions=read_results,
        example='[{"image_id": 1, "caption": "a kite rises"}]',
    ),
    Format(
        name="coco-annotations",
        about=f"COCO caption annotations, several per image: {ANNOTATIONS}",
        holds="references",
        tasks=("captions",),
        read_captions=read_annotations,
        example='{"annotations": [{"image_id": 1, "caption": "a kite is rising"}]}',
    ),
)
