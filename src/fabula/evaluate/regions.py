"""Dense image captions: boxes with words and a score, against the described regions of an image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import cast

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, name_id
from fabula.core.rows import Rows
from fabula.data.regions import Picture
from fabula.evaluate.kept import Described
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.request import Request
from fabula.evaluate.score import Comparison
from fabula.io import regions as files
from fabula.io.regions.sizes import read_sizes
from fabula.metrics import Metric
from fabula.metrics.regions import Pictures, RegionMetric


def compare(request: Request, task: str | None = None) -> tuple[Comparison, list[Metric]]:
    predictions, refs = request.paths("regions")
    request.need_refs()
    chosen = request.readable("regions", "regions")
    notes, options = Notes(), request.options
    pictures, form = files.read_references(refs, notes, options.refs_format, options.repair)
    pictures = request.limit(pictures, notes)
    boxes = sum(map(len, pictures.values()))
    if not boxes:
        raise InputError("no reference image has a box", file=refs[0], hint="check the reference file")
    described, scaling = Described(pictures), read_scaling(options, pictures, notes)
    known = Known(files.Predictions(predictions, options.format, notes), pictures, notes, described, scaling)
    data = Pictures(pictures, known)
    tables: dict[object, Rows] = {}
    for metric in chosen:
        if metric.rows_key not in tables:
            tables[metric.rows_key] = metric.table(data, request.progress)
    known.note_missing(predictions)
    note_ties(chosen, tables, notes)
    missing = len(pictures) - known.images
    counts = {
        "images": len(pictures),
        "missing": missing,
        "unparsed": 0,
        "unknown": known.unknown,
        "references": boxes,
        "predictions": known.boxes,
    }
    scaled = {} if scaling is None else {"scale": f"{scaling.side:g}"}
    facts = {"boxes": known.files.form, "refs_boxes": form, **scaled, "missing": missing}
    return Comparison(
        task="regions",
        rows_of=lambda metric: tables[metric.rows_key],
        counts=counts,
        notes=notes,
        facts=facts,
        evidence=lambda metrics: {"kept": described},
    ), chosen


def note_ties(chosen: Sequence[Metric], tables: Mapping[object, Rows], notes: Notes) -> None:
    """Detections of equal score, where the program that a metric follows does not keep their order."""
    for metric in cast("Sequence[RegionMetric]", chosen):
        if (tied := metric.count_unsettled(tables[metric.rows_key])) > 0:
            text = "{n} detections share their score with another and rank as in the file; the published program's sort"
            notes.add(f"{text} may rank them otherwise, so that its {metric.title} may differ", count=tied)


@dataclass(frozen=True, slots=True)
class Scaling:
    """Boxes of resized images, brought back to the pixels of the images themselves."""

    side: float  # the longer side of a resized image
    sizes: Mapping[str, tuple[float, float]]  # of the images themselves

    def apply(self, picture: Picture, file: object) -> Picture:
        """The boxes times longer side ÷ `side`."""
        size = self.sizes.get(picture.id)
        if size is None:
            hint = "--scale needs it; name the sizes: --image-sizes image_data.json"
            raise InputError(
                "nothing says how large this image is", file=file, video=picture.id, noun="image", hint=hint
            )
        return replace(picture, boxes=picture.boxes * (max(size) / self.side), size=size)


def read_scaling(options: ScoreOptions, refs: Mapping[str, Picture], notes: Notes) -> Scaling | None:
    if options.scale is None:
        return None
    if not 0 < options.scale < 1e6:
        raise SpecError(f"--scale {options.scale:g}; it is a number of pixels, above 0")
    own = {id: picture.size for id, picture in refs.items() if picture.size is not None}
    return Scaling(options.scale, own | (read_sizes(options.image_sizes, notes) if options.image_sizes else {}))


@dataclass(slots=True)
class Known:
    """Predicted images that the references have, under the references' ids; counted when they are first read."""

    files: files.Predictions
    refs: Mapping[str, Picture]
    notes: Notes
    kept: Described
    scaling: Scaling | None = None
    images: int = 0
    boxes: int = 0
    unknown: int = 0
    stranger: str | None = None  # the first unknown id
    counted: bool = field(default=False)

    def __iter__(self) -> Iterator[Picture]:
        known_ids: dict[str, str] = {}
        for picture in self.files:
            id = self.find(picture.id)
            if id is None:
                self.count(picture, None)
                continue
            if id in known_ids:
                problem = f"{shown(known_ids[id])} and {shown(picture.id)} both mean the reference image {shown(id)}"
                raise InputError(problem, file=self.files.path, hint="keep one of the two")
            known_ids[id] = picture.id
            self.count(picture, id)
            known = picture if id == picture.id else replace(picture, id=id)
            if self.scaling is not None and len(known):
                known = self.scaling.apply(known, self.files.path)
            self.kept.keep(known)
            yield known
        self.counted = True

    def find(self, id: str) -> str | None:
        """`2342728.jpg` means 2342728 where the references have no such file name."""
        stem = PurePath(id).stem
        return id if id in self.refs else stem if stem in self.refs else None

    def count(self, picture: Picture, id: str | None) -> None:
        if self.counted:
            return
        if id is None:
            self.unknown += 1
            self.stranger = self.stranger or picture.id
            self.notes.add("{n} predicted images are not in the references and are not scored", name_id(picture.id))
            return
        if id != picture.id:
            self.notes.add("{n} images were met by file name without folder and ending", name_id(picture.id))
        self.images += len(picture) > 0
        self.boxes += len(picture)

    def note_missing(self, file: object) -> None:
        """An error when nothing met, a warning for what is missing."""
        if self.unknown and not self.images:
            both = f"predictions have {shown(self.stranger)}, references {shown(next(iter(self.refs)))}"
            raise InputError("no predicted image is among the references", file=file, hint=f"compare the ids: {both}")
        if missing := len(self.refs) - self.images:
            self.notes.add("{n} reference images have no detections (see missing=… in each signature)", count=missing)
