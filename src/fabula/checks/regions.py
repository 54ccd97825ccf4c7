"""Captioned boxes of images: are they boxes, do they lie in their image, are they what their format declares?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

import numpy as np
from numpy.typing import NDArray

from fabula.checks._check import Check, CheckRequest, Facts, Kind, Mended, Place, Report, report
from fabula.core.errors import SpecError
from fabula.core.notes import Notes
from fabula.data.regions import FORMS, Boxes, Form, Picture, corners
from fabula.data.stories import Corpus
from fabula.documents.document import Document, open_document
from fabula.documents.fields import Source
from fabula.documents.files import check_path, encode_json, has_lines, write_text
from fabula.io import regions as files

WHOLE = 0.99  # of the image
Size = tuple[float, float]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Pictures:
    """The images of a file, under the references' ids where these have them; and the sizes that are known."""

    form: Form
    images: Mapping[str, Picture]
    sizes: Mapping[str, Size]


def images(facts: Facts) -> Iterator[tuple[str, Picture, Size | None]]:
    if isinstance(facts.more, Pictures):
        for id, picture in facts.more.images.items():
            yield id, picture, facts.more.sizes.get(id)


def flagged(fault: Callable[[Picture, Size | None], Flags]) -> Callable[[Facts], Iterator[Place]]:
    """A place for every box that has the fault."""

    def find(facts: Facts) -> Iterator[Place]:
        for id, picture, size in images(facts):
            for i in np.flatnonzero(fault(picture, size)).tolist():
                of = "" if size is None else f" in {size[0]:g} × {size[1]:g}"
                yield Place(id, i, f"{shown(picture.boxes[i])}{of}")

    return find


def shown(box: Boxes) -> str:
    return f"[{', '.join(f'{x:g}' for x in box)}]"


def sides(picture: Picture) -> Boxes:
    """Width and height. [N, 2]"""
    at = picture.corners()
    return at[:, 2:] - at[:, :2]


def either(both: Flags) -> Flags:
    """In x, in y, or in both. [N, 2] → [N]"""
    return np.asarray(both[:, 0] | both[:, 1])


def turned(picture: Picture, size: Size | None) -> Flags:
    return either(sides(picture) < 0)


def empty(picture: Picture, size: Size | None) -> Flags:
    return either(sides(picture) == 0) & ~turned(picture, size)


def outside(picture: Picture, size: Size | None) -> Flags:
    """Beyond the image by more than rounding; without a size, before its first pixel."""
    at, edge = picture.corners(), np.array((np.inf, np.inf) if size is None else size) + files.SLACK
    return (either(at[:, :2] < -files.SLACK) | either(at[:, 2:] > edge)) & ~turned(picture, size)


def whole(picture: Picture, size: Size | None) -> Flags:
    if size is None or len(picture) < 2:
        return np.zeros(len(picture), dtype=bool)
    return ~either(sides(picture) < WHOLE * np.array(size))


def again(picture: Picture, words: bool) -> list[tuple[int, int]]:
    """The boxes that stood there before, with the same words or with others; and where."""
    by_box: dict[tuple[float, ...], dict[str, int]] = {}
    found = []
    for i, (box, caption) in enumerate(zip(picture.boxes.tolist(), picture.captions, strict=True)):
        captions = by_box.setdefault(tuple(box), {})
        if captions and (caption in captions) == words:
            found.append((i, captions.get(caption, next(iter(captions.values())))))
        captions.setdefault(caption, i)
    return found


def twice(words: bool) -> Callable[[Facts], Iterator[Place]]:
    def find(facts: Facts) -> Iterator[Place]:
        for id, picture, _ in images(facts):
            yield from (Place(id, i, f"{shown(picture.boxes[i])} as box {j}") for i, j in again(picture, words))

    return find


def ties(facts: Facts) -> Iterator[Place]:
    for id, picture, _ in images(facts):
        if picture.scores is not None and (n := len(picture) - len(np.unique(picture.scores))):
            yield Place(id, None, f"{n} of {len(picture)} boxes share a score with another")


def no_boxes(facts: Facts) -> Iterator[Place]:
    return (Place(id) for id, picture, _ in images(facts) if not len(picture))


def other_form(facts: Facts) -> Iterator[Place]:
    """Of all boxes together: would they lie in their images, and be boxes at all, if they were read otherwise?"""
    bad = dict.fromkeys(FORMS, 0)
    boxes = 0
    for _, picture, size in images(facts):
        boxes += len(picture)
        for form in FORMS:
            read = replace(picture, form=form)
            bad[form] += int((outside(read, size) | turned(read, size) | empty(read, size)).sum())
    if boxes < files.ENOUGH or not isinstance(facts.more, Pictures):
        return
    here, best = facts.more.form, min(FORMS, key=lambda form: bad[form])
    if bad[here] > boxes / 10 and bad[best] < bad[here] / 4:
        problem = f"read as {here}, {bad[here]:,} of {boxes:,} boxes are turned, empty or out of their image"
        yield Place(None, None, f"{problem}; as {best}, {bad[best]:,}")


def like_corners(facts: Facts) -> Iterator[Place]:
    """Widths that are always above the left side, heights above the top, are rare; right and bottom always are."""
    pictures = [picture for _, picture, _ in images(facts)]
    boxes = sum(map(len, pictures))
    rising = sum(int((~either(p.boxes[:, 2:] <= p.boxes[:, :2])).sum()) for p in pictures)
    form = facts.more.form if isinstance(facts.more, Pictures) else None
    if boxes >= files.ENOUGH and rising == boxes and form == "xywh":
        yield Place(None, None, f"in all {boxes:,} boxes the third number is above the first, the fourth the second")


CHECKS = (
    Check("turned-box", "error", "The box's right or lower side comes before the other.", flagged(turned), "swap"),
    Check("zero-area", "error", "The box has no width or no height: it overlaps nothing.", flagged(empty), "drop"),
    Check("other-form", "error", "The numbers speak for another form of boxes than the declared one.", other_form),
    Check("like-corners", "warning", "Boxes read as xywh that look like corners, xyxy.", like_corners),
    Check("outside-image", "warning", "The box reaches out of its image.", flagged(outside), "clip"),
    Check("duplicate-box", "warning", "The same box with the same words again.", twice(True), "drop"),
    Check("no-boxes", "warning", "The image has no boxes.", no_boxes),
    Check("same-place", "info", "The same box again, in other words.", twice(False)),
    Check("whole-image", "info", "One of several boxes takes the whole image.", flagged(whole)),
    Check("score-ties", "info", "Boxes of one score: the file's order decides who comes first.", ties),
)
FAMILIES = ("regions", "ids", "words")


# The kind -------------------------------------------------------------------------------------------------------------


def read(path: Path | Document, format: str | None, notes: Notes) -> tuple[Pictures, str]:
    source = Source(open_document(path), notes, noun="image")
    chosen, form = files.choose_format(source.document, format)
    found: dict[str, Picture] = {}
    for picture in files.read_pictures(chosen, source, form):
        if picture.id in found:
            raise source.wrong("this image stands twice", picture.id, None, "keep one of the two")
        found[picture.id] = picture
    source.report()
    sizes = {id: p.size for id, p in found.items() if p.size is not None}
    return Pictures(form, found, sizes), chosen.name


def read_under_reference_ids(request: CheckRequest, notes: Notes) -> tuple[Pictures, str, frozenset[str | int] | None]:
    """The file's images under the references' ids, as in scoring: 7.jpg is 7. Sizes are the file's, else theirs."""
    pictures, name = read(request.path, request.format, notes)
    if not request.refs:
        return pictures, name, None
    known: dict[str, Picture] = {}
    for ref in request.refs:
        known |= read(ref, request.refs_format, Notes())[0].images
    ids = {id: id if id in known or PurePath(id).stem not in known else PurePath(id).stem for id in pictures.images}
    theirs = {id: p.size for id, p in known.items() if p.size is not None}
    sizes = theirs | {ids[id]: size for id, size in pictures.sizes.items()}
    met_images = {ids[id]: picture for id, picture in pictures.images.items()}
    return Pictures(pictures.form, met_images, sizes), name, request.limit(known, notes)


def look(request: CheckRequest) -> tuple[Report, str]:
    notes = Notes()
    pictures, name, known = read_under_reference_ids(request, notes)
    words = tuple((id, i, caption) for id, p in pictures.images.items() for i, caption in enumerate(p.captions))
    facts = Facts(corpus=Corpus({}), words=words, known=known, part="box", more=pictures)
    return report(facts, notes, FAMILIES), f"{name}:{pictures.form}"


DEEDS = {
    "swap": "exchanged the sides of a box that was turned round",
    "clip": "cut a box to its image",
    "drop-empty": "dropped a box without area",
    "drop-duplicate": "dropped a box that stood there already",
}


def mend(request: CheckRequest, target: Path) -> Mended:
    """Swapped, cut, dropped; written as xywh: lines where the name ends in .jsonl, else as COCO has it."""
    pictures, _, _ = read_under_reference_ids(request, Notes())
    deeds: list[dict[str, object]] = []
    mended = [repair_picture(p, pictures.sizes.get(id), deeds) for id, p in pictures.images.items()]
    to = "lines" if has_lines(target) else "coco"
    write_text(check_path(target), as_lines(mended, target) if to == "lines" else [json.dumps(as_coco(mended))])
    lost = ["boxes are written as xywh"] if pictures.form != "xywh" else []
    return Mended(to, deeds, DEEDS, lost)


def repair_picture(picture: Picture, size: Size | None, deeds: list[dict[str, object]]) -> Picture:
    """With boxes as corners of a sound box, each once."""
    rows: list[int] = []
    boxes = corners(picture.boxes, picture.form).copy()
    doubles = {i for i, _ in again(picture, words=True)}
    for i, box in enumerate(boxes):
        before = box.tolist()
        done = []
        if (box[2:] < box[:2]).any():
            box[[0, 2]], box[[1, 3]] = np.sort(box[[0, 2]]), np.sort(box[[1, 3]])
            done.append("swap")
        edge = np.array((np.inf, np.inf) if size is None else size)
        cut = np.concatenate([np.maximum(box[:2], 0), np.minimum(box[2:], edge)])
        if (cut != box).any():
            box[:] = cut
            done.append("clip")
        if (box[2:] <= box[:2]).any():
            done = ["drop-empty"]
        elif i in doubles:
            done = ["drop-duplicate"]
        else:
            rows.append(i)
        after = None if done and done[-1].startswith("drop") else box.tolist()
        deeds += [{"deed": deed, "image": picture.id, "box": i, "before": before, "after": after} for deed in done]
    captions = tuple(picture.captions[i] for i in rows)
    scores = None if picture.scores is None else picture.scores[rows]
    size_form = np.concatenate([boxes[rows, :2], boxes[rows, 2:] - boxes[rows, :2]], axis=1)
    return replace(picture, boxes=size_form, captions=captions, scores=scores, form="xywh", size=size)


def as_lines(pictures: list[Picture], target: Path) -> Iterator[str]:
    for p in pictures:
        line: dict[str, object] = {"image_id": p.id, "boxes": p.boxes.tolist(), "captions": list(p.captions)}
        line |= {} if p.scores is None else {"scores": p.scores.tolist()}
        yield encode_json(line | ({} if p.size is None else {"width": p.size[0], "height": p.size[1]}), target)


def as_coco(pictures: list[Picture]) -> object:
    """Results where there are scores, else images and annotations."""
    boxes = [
        {"image_id": p.id, "bbox": box, "caption": caption}
        | ({} if p.scores is None else {"score": float(p.scores[i])})
        for p in pictures
        for i, (box, caption) in enumerate(zip(p.boxes.tolist(), p.captions, strict=True))
    ]
    if any(p.scores is not None for p in pictures):
        return boxes
    sizes = [{"id": p.id} | ({} if p.size is None else {"width": p.size[0], "height": p.size[1]}) for p in pictures]
    return {"images": sizes, "annotations": boxes}


def knows(head: Document) -> bool:
    keys = head.first_entry.keys()
    return bool(keys & {"bbox", "boxes"}) or {"regions"} <= keys


def knows_name(format: str) -> bool:
    try:
        return format in FORMS or bool(files.find_format(format.partition(":")[0]))
    except SpecError:
        return False


KIND = Kind(name="regions", tasks=("regions",), knows=knows, named=knows_name, look=look, mend=mend, last=1)
