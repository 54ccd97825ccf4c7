"""Dense image captions: boxes with words and a score, against the described regions of an image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, named
from fabula.core.regions import Picture
from fabula.core.result import Result
from fabula.core.rows import Rows
from fabula.engine.regions import region_rows
from fabula.io import regions as files
from fabula.metrics import Metric
from fabula.metrics._regions import RegionMetric
from fabula.tasks._task import FILES, Request, Task, measured, wrong_task


def run(request: Request) -> Result:
    predictions, refs = request.paths("regions")
    if not refs:
        raise SpecError("no references; name at least one reference file with --refs")
    chosen: list[RegionMetric] = []
    for metric in request.chosen("regions"):
        if not isinstance(metric, RegionMetric):
            raise wrong_task(metric, "regions")
        chosen.append(metric)
    notes = Notes()
    pictures, form = files.read_references(refs, notes, request.refs_format, request.repair)
    boxes = sum(map(len, pictures.values()))
    if not boxes:
        raise InputError("no reference image has a box", file=refs[0], hint="check the reference file")
    met = Met(files.Predictions(predictions, request.format, notes), pictures, notes)
    tables: dict[tuple[object, ...], Rows] = {}
    for metric in chosen:
        if metric.matching not in tables:
            tables[metric.matching] = region_rows(metric, pictures, met, request.progress)
    met.say(predictions)

    def rows_of(metric: Metric) -> Rows:
        assert isinstance(metric, RegionMetric)
        return tables[metric.matching]

    missing = len(pictures) - met.images
    counts = {
        "images": len(pictures),
        "missing": missing,
        "unparsed": 0,
        "unknown": met.unknown,
        "references": boxes,
        "predictions": met.boxes,
    }
    facts = {"boxes": met.files.form, "refs_boxes": form, "missing": missing}
    return measured(replace(request, metrics=chosen), "regions", rows_of, facts, counts, notes)


@dataclass(slots=True)
class Met:
    """Predicted images that the references have, under the references' ids; counted when they are first read."""

    files: files.Predictions
    refs: Mapping[str, Picture]
    notes: Notes
    images: int = 0
    boxes: int = 0
    unknown: int = 0
    stranger: str | None = None  # the first unknown id
    counted: bool = field(default=False)

    def __iter__(self) -> Iterator[Picture]:
        seen: dict[str, str] = {}
        for picture in self.files:
            id = self.known(picture.id)
            if id is None:
                self.count(picture, None)
                continue
            if id in seen:
                problem = f"{shown(seen[id])} and {shown(picture.id)} both mean the reference image {shown(id)}"
                raise InputError(problem, file=self.files.path, hint="keep one of the two")
            seen[id] = picture.id
            self.count(picture, id)
            yield picture if id == picture.id else replace(picture, id=id)
        self.counted = True

    def known(self, id: str) -> str | None:
        """`2342728.jpg` means 2342728 where the references have no such file name."""
        stem = PurePath(id).stem
        return id if id in self.refs else stem if stem in self.refs else None

    def count(self, picture: Picture, id: str | None) -> None:
        if self.counted:
            return
        if id is None:
            self.unknown += 1
            self.stranger = self.stranger or picture.id
            self.notes.add("{n} predicted images are not in the references and are not scored", named(picture.id))
            return
        if id != picture.id:
            self.notes.add("{n} images were met by file name without folder and ending", named(picture.id))
        self.images += len(picture) > 0
        self.boxes += len(picture)

    def say(self, file: Path) -> None:
        """An error when nothing met, a warning for what is missing."""
        if self.unknown and not self.images:
            both = f"predictions have {shown(self.stranger)}, references {shown(next(iter(self.refs)))}"
            raise InputError("no predicted image is among the references", file=file, hint=f"compare the ids: {both}")
        if missing := len(self.refs) - self.images:
            self.notes.add("{n} reference images have no detections (see missing=… in each signature)", count=missing)


TASK = Task(
    name="regions",
    about="dense image captions: boxes with words and scores",
    run=run,
    reads=FILES - {"strict"},
)
