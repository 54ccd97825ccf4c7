"""Metrics while a model trains, as torchmetrics: states are sums, so that processes add them up.

    soda = SodaC()                                       # or SodaC("SODA_c(text=meteor,refs=best)")
    soda.update(preds=[[(0.0, 4.2, "a man bows")]], refs=[[(0.0, 4.0, "a man bows deeply")]])
    soda.compute()                                       # {"precision": …, "recall": …, "f1": …}, over all processes

    Meteor(), Spice(), CaptionScore("BLEU_4")            update(["a dog runs"], [["a dog is running"]]); {"value": …}
    Cider()                                              keeps the captions: document frequencies are the corpus's
    Cider("CIDEr(idf=file:idf.npz)")                     keeps sums
    MomentScore()                                        update([[(4.0, 9.5)]], [[(4.0, 10.0)]]): R@1 and mean IoU
    RegionScore()                                        image by image: DenseCap_mAP of boxes with captions
    Fitb(), Ispice()                                     set by set: people in blanks, people in captions

The sums of precision, recall and F1 are over rows, one for each video and reference set. Where every video has the
same number of reference sets, compute() is what `fabula score` gives to the same videos; where some have fewer, every
row has the same weight here, while `fabula score` gives it to every set. The corpus is never gathered, but for a metric
of captions whose numbers hang on all of them: what travels between processes is some sums and the number of rows.
Metrics of regions and of identities keep their rows, a few numbers per image or set, and fold them all at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fabula import io
from fabula.core.errors import InputError, MissingExtra, SpecError, shown
from fabula.core.notes import Notes
from fabula.core.rows import Rows
from fabula.data.moments import Id, Query, Ranking
from fabula.data.regions import Form
from fabula.data.stories import Corpus, Item
from fabula.documents.document import Document
from fabula.evaluate.identity import join_sets, renames_itself
from fabula.evaluate.rankings import moment_rows
from fabula.evaluate.rewards import check_lengths, make_sets, make_story
from fabula.io import identity, regions
from fabula.metrics import Metric as Measure
from fabula.metrics import metric
from fabula.metrics.captions import Items
from fabula.metrics.identity import ClipSets
from fabula.metrics.moments import MomentMetric
from fabula.metrics.regions import Pictures
from fabula.metrics.regions.base import COLUMNS
from fabula.metrics.stories import Stories

try:
    import torch
    from torch import Tensor
    from torchmetrics import Metric
except ModuleNotFoundError as error:
    if error.name and error.name.split(".")[0] in ("torch", "torchmetrics"):
        raise MissingExtra("fabula.learn.metrics", "torchmetrics") from None
    raise

if TYPE_CHECKING:
    Base = object
else:
    Base = Metric

__all__ = [
    "CaptionScore", "Cider", "Fitb", "IdentityScore", "Ispice", "Meteor", "MomentScore", "RegionScore", "SodaC",
    "Spice", "StoryScore",
]  # fmt: skip

TimedCaptions = Sequence[tuple[float, float, str]]  # (start, end, caption), in any order
Window = tuple[float, float]
BOXES = ("references", "detections", *COLUMNS)  # columns of rows that are kept
BLANKS = ("instance", "same_pairs", "same_right", "different_pairs", "different_right")
PEOPLE = ("value", "action", "identity", "empty")
FLAT = -1  # the width of a column with one number per row
Entry = Mapping[str, Any]  # an image or a captionset, with the fields that its lines have in a file


class Summed(Base):
    """What all of them have in common: sums in double precision, that follow the model to its device."""

    is_differentiable = False
    higher_is_better = True
    full_state_update = False  # forward() needs one update, not two

    if TYPE_CHECKING:
        n: Tensor

        def add_state(self, name: str, default: Any, dist_reduce_fx: str) -> None: ...

    def set_dtype(self, dst_type: object) -> Any:
        """The sums stay in double precision."""
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], *rest: Any, **more: Any) -> Any:
        """Follows the model to its device, not to its precision; a device without doubles gets singles."""

        def moved(state: Tensor) -> Tensor:
            device = fn(torch.zeros(1, device=state.device)).device
            single = device.type == "mps" and state.dtype == torch.float64
            return state.to(device, torch.float32 if single else state.dtype)

        return super()._apply(moved, *rest, **more)  # type: ignore[misc]

    def add_sum(self, name: str, *size: int) -> None:
        self.add_state(name, torch.zeros(size, dtype=torch.float64), dist_reduce_fx="sum")

    def add(self, name: str, value: Any) -> None:
        """Adds up in a state."""
        total = getattr(self, name)
        setattr(self, name, total + torch.as_tensor(value, dtype=total.dtype, device=total.device))


class StoryScore(Summed):
    """Any metric of stories whose number is a mean over rows: SODA_a to SODA_d, mIoU, OrderedPRF@0.5 …"""

    def __init__(self, measure: str | Measure, **options: object) -> None:
        """`options` are those of torchmetrics: dist_sync_on_step, process_group, sync_on_compute …"""
        super().__init__(**options)
        self.measure = folded_by_mean(measure)
        for field in (*self.measure.fields, ""):
            self.add_sum(f"sum_{field}" if field else "n")

    def update(self, preds: Sequence[TimedCaptions], refs: Sequence[Any]) -> None:
        """A batch: for each video a story, and a reference story or a list of them."""
        check_lengths(preds, refs)
        sets = make_sets(refs)
        for i, events in enumerate(refs):
            if not any(str(i) in s and len(s[str(i)]) for s in sets):
                raise InputError(f"the reference is {shown(events)}", field=f"item {i}", hint="it needs an event")
        if not sets:
            return
        guesses = Corpus({str(i): make_story(str(i), events) for i, events in enumerate(preds)})
        rows = self.measure.table(Stories(sets, guesses))
        for field in self.measure.fields:
            self.add(f"sum_{field}", float(rows[field].sum()))
        self.add("n", len(rows))

    def compute(self) -> dict[str, Tensor]:
        """The fields of the measure, as fractions; NaN before the first update."""
        return {field: getattr(self, f"sum_{field}") / self.n for field in self.measure.fields}


class SodaC(StoryScore):
    """SODA_c of all videos since the last reset: {"precision", "recall", "f1"}."""

    def __init__(self, measure: str | Measure = "SODA_c", **options: object) -> None:
        super().__init__(measure, **options)


class CaptionScore(Summed):
    """A metric of single captions: sums where its number is a function of sums, else the captions themselves."""

    if TYPE_CHECKING:
        totals: Tensor
        letters: list[Tensor]
        sizes: list[Tensor]

    def __init__(self, measure: str | Measure, **options: object) -> None:
        super().__init__(**options)
        chosen = metric(measure, "captions") if isinstance(measure, str) else measure
        if chosen.reads != "captions":
            raise SpecError(f"{chosen.name} is not a metric of captions")
        self.measure = chosen
        width = None if hangs_on_all(chosen) else count_sums(chosen)
        self.gathers = width is None
        if width is None:
            self.add_state("letters", [], dist_reduce_fx="cat")  # all texts, UTF-8, end to end
            self.add_state("sizes", [], dist_reduce_fx="cat")  # of each item: how many texts, and their sizes
        else:
            self.add_sum("totals", width)
            self.add_sum("n")

    def update(self, preds: Sequence[str], refs: Sequence[Any]) -> None:
        """A batch: for each item a caption, and a reference or a list of them."""
        check_lengths(preds, refs)
        if not len(preds):
            return
        items = make_items(preds, refs)
        if self.gathers:
            letters, sizes = pack_items(items)
            self.letters.append(torch.tensor(letters, dtype=torch.uint8, device=self.device))  # type: ignore[attr-defined]
            self.sizes.append(torch.tensor(sizes, dtype=torch.int64, device=self.device))  # type: ignore[attr-defined]
        else:
            totals = self.measure.sums(self.measure.table(Items(items)))
            assert totals is not None
            self.add("totals", totals.sum(axis=0))
            self.add("n", len(items))

    def compute(self) -> dict[str, Tensor]:
        """{the primary number's name: it}; NaN before the first update. Of gathered captions, every field."""
        if not self.gathers:
            totals = self.totals.cpu().double().numpy()[None]
            value = self.measure.of_sums(totals)[0] if self.n else math.nan
            return {self.measure.primary: torch.tensor(float(value), dtype=torch.float64)}
        items = unpack_items(joined(self.letters), joined(self.sizes))
        values = self.measure.fold(self.measure.table(Items(items))) if items else {}
        return {field: torch.tensor(values.get(field, math.nan), dtype=torch.float64) for field in self.measure.fields}


class Meteor(CaptionScore):
    """METEOR 1.5 of all captions since the last reset, of summed statistics as the jar gives it: {"value"}."""

    def __init__(self, measure: str | Measure = "METEOR", **options: object) -> None:
        super().__init__(measure, **options)


class Cider(CaptionScore):
    """CIDEr-D of all captions since the last reset, their own document frequencies unless idf=file:…: {"value"}."""

    def __init__(self, measure: str | Measure = "CIDEr", **options: object) -> None:
        super().__init__(measure, **options)


class Spice(CaptionScore):
    """SPICE of all captions since the last reset: {"value"}."""

    def __init__(self, measure: str | Measure = "SPICE", **options: object) -> None:
        super().__init__(measure, **options)


class MomentScore(Summed):
    """A metric of windows in a known video that is a mean over queries: {"r1@0.3", …, "miou"} of Grounding."""

    def __init__(self, measure: str | Measure = "Grounding", **options: object) -> None:
        super().__init__(**options)
        chosen: Any = metric(measure, "grounding") if isinstance(measure, str) else measure
        if chosen.reads != "moments" or type(chosen).combine is not MomentMetric.combine or chosen.answers != "SVMR":
            raise SpecError(
                f"{chosen.name} is no mean over windows in a known video: score the corpus with fabula.score"
            )
        self.measure = chosen
        for field in chosen.fields:
            self.add_sum(state_name("sum", field))
            self.add_sum(state_name("n", field))

    def update(self, preds: Sequence[Sequence[Window]], refs: Sequence[Any]) -> None:
        """A batch: for each query windows, the best first, none where nothing could be read; and the true windows."""
        check_lengths(preds, refs)
        if not len(preds):
            return
        queries: dict[Id, Query] = {}
        for i, true in enumerate(refs):
            queries[i] = Query(i, "v", make_windows(true, i, empty=False))
        spans = [
            np.array(make_windows(windows, i, empty=True), np.float64).reshape(-1, 2) for i, windows in enumerate(preds)
        ]
        rankings = [("", Ranking(i, span)) for i, span in enumerate(spans)]
        rows = moment_rows([self.measure], queries, rankings).rows[self.measure]
        for field in self.measure.fields:
            weight = rows.columns.get(self.measure.weight(field))
            self.add(state_name("sum", field), float(rows[field].sum()))
            self.add(state_name("n", field), len(rows) if weight is None else float(weight.sum()))

    def compute(self) -> dict[str, Tensor]:
        """The fields of the measure, as fractions; NaN before the first update."""
        fields = self.measure.fields
        return {f: getattr(self, state_name("sum", f)) / getattr(self, state_name("n", f)) for f in fields}


class RowScore(Summed):
    """A metric that is folded over rows of numbers, one for each image or set: the rows are kept and gathered."""

    if TYPE_CHECKING:
        cells: list[Tensor]
        shapes: list[Tensor]

    def __init__(self, measure: Measure, columns: Iterable[str], **options: object) -> None:
        super().__init__(**options)
        self.measure = measure
        self.columns = tuple(columns)
        self.add_state("cells", [], dist_reduce_fx="cat")  # of each batch: its columns end to end
        self.add_state("shapes", [], dist_reduce_fx="cat")  # of each batch: rows, and each column's width or FLAT

    def keep(self, rows: Rows) -> None:
        """Add the rows of a batch."""
        if not len(rows):
            return
        table = [rows[name] for name in self.columns]
        shape = [len(rows), *(FLAT if column.ndim == 1 else column.shape[1] for column in table)]
        cells = torch.tensor(np.concatenate([column.ravel() for column in table]), dtype=torch.float64)
        device = self.device  # type: ignore[attr-defined]
        self.cells.append(cells.to(device, torch.float32 if device.type == "mps" else torch.float64))
        self.shapes.append(torch.tensor(shape, device=device))

    def rows(self) -> Rows:
        """The rows of all batches, in their order; after a sync, those of the first process first."""
        cells, shapes = stacked(self.cells).cpu().double().numpy(), [int(n) for n in stacked(self.shapes)]
        parts, at, step = list[Rows](), 0, 1 + len(self.columns)
        for place in range(0, len(shapes), step):
            n, *widths = shapes[place : place + step]
            table = {}
            for name, width in zip(self.columns, widths, strict=True):
                size = n if width == FLAT else n * width
                table[name] = cells[at : at + size].reshape(n if width == FLAT else (n, width))
                at += size
            parts.append(Rows(tuple(range(n)), np.zeros(n, dtype=np.int64), table))
        return Rows.joined(parts)

    def compute(self) -> dict[str, Tensor]:
        """The fields of the measure, as fractions; NaN before the first update."""
        rows = self.rows()
        values = self.measure.fold(rows) if len(rows) else {}
        return {field: torch.tensor(values.get(field, math.nan), dtype=torch.float64) for field in self.measure.fields}


class RegionScore(RowScore):
    """A metric of captioned boxes, image by image: {"map", "detmap"} of DenseCap_mAP."""

    def __init__(self, measure: str | Measure = "DenseCap_mAP", form: Form = "xywh", **options: object) -> None:
        """`form` says what the four numbers of a box are: xywh, xyxy or xcycwh."""
        chosen = metric(measure, "regions") if isinstance(measure, str) else measure
        if chosen.reads != "regions":
            raise SpecError(f"{chosen.name} is not a metric of regions")
        self.form = form
        super().__init__(chosen, BOXES, **options)

    def update(self, preds: Sequence[Entry], refs: Sequence[Entry]) -> None:
        """A batch: for each image {"boxes", "captions", "scores"}, and {"boxes", "captions"} of the references."""
        check_lengths(preds, refs)
        if not len(preds):
            return
        guesses, true = (
            number_entries(side, "image_id", role, "regions", "lines")
            for role, side in (("predictions", preds), ("references", refs))
        )
        notes, format = Notes(), f"lines:{self.form}"
        pictures, _ = regions.read_references([true], notes, format)
        data = Pictures(pictures, list(regions.Predictions(guesses, format, notes)))
        self.keep(self.measure.table(data))


class IdentityScore(RowScore):
    """A metric of captionsets, set by set: FITB of the people in blanks, iSPICE of those in captions."""

    def __init__(self, measure: str | Measure, people: str | None = None, **options: object) -> None:
        """`people` is the pattern of people in captions, if they are not P1 or [PERSON1]."""
        chosen = metric(measure, "identity") if isinstance(measure, str) else measure
        if chosen.reads != "identity" and not renames_itself(chosen):
            raise SpecError(f"{chosen.name} is no metric of who is who; use FITB or iSPICE")
        self.people = people
        super().__init__(chosen, BLANKS if chosen.reads == "identity" else PEOPLE, **options)

    def update(self, preds: Sequence[Any], refs: Sequence[Any]) -> None:
        """A batch: for each set {"captions", "blanks"}, or a text or list of texts, the captions; references alike."""
        check_lengths(preds, refs)
        if not len(preds):
            return
        notes = Notes()
        given, truth = (
            identity.read_sets(number_entries(side, "id", role, "identity", "captionsets"), notes, "captionsets")
            for role, side in (("predictions", preds), ("references", refs))
        )
        sets = join_sets(truth, given, self.people, "predictions", notes)
        if self.measure.reads == "identity":
            if lacking := next((s.id for s in sets if not s.clips), None):
                hint = 'a set is {"blanks": [["P1"], ["P2", "P1"]]}, or has the words of its reference'
                raise InputError("no blanks are filled in", field=f"item {lacking}", hint=hint)
            self.keep(self.measure.table(ClipSets(sets)))
            return
        items = [Item(s.id, s.candidate, (s.reference or "",)) for s in sets]
        self.keep(self.measure.table(Items(items, unit="set")))


class Fitb(IdentityScore):
    """FITB of all sets since the last reset: {"instance", "same", "different", "class"}."""

    def __init__(self, measure: str | Measure = "FITB", people: str | None = None, **options: object) -> None:
        super().__init__(measure, people, **options)


class Ispice(IdentityScore):
    """iSPICE of all captionsets since the last reset: {"value"}."""

    def __init__(self, measure: str | Measure = "iSPICE", people: str | None = None, **options: object) -> None:
        super().__init__(measure, people, **options)


def number_entries(entries: Sequence[Any], id: str, role: str, task: str, format: str) -> Document:
    """Images or captionsets of a batch as a document; tensors become lists, a text or list alone the captions."""
    named = (entry if isinstance(entry, Mapping) else {"captions": entry} for entry in entries)
    plain = [{key: to_plain(value) for key, value in entry.items()} | {id: str(i)} for i, entry in enumerate(named)]
    return io.wrap(plain, role, role, task, format)


def to_plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, Tensor | np.ndarray) else value


def state_name(what: str, field: str) -> str:
    """A field as an attribute: sum, r1@0.5 → sum_r1_at_0_5."""
    return f"{what}_{field.replace('@', '_at_').replace('.', '_')}"


def make_windows(windows: Any, i: int, empty: bool) -> tuple[tuple[float, float], ...]:
    try:
        several = [windows] if len(windows) and isinstance(windows[0], int | float | np.number) else windows
        spans = tuple((float(start), float(end)) for start, end, *_ in several)
        if (spans or empty) and all(math.isfinite(x) for window in spans for x in window):
            return spans
    except (TypeError, ValueError):
        pass
    raise InputError(
        f"expected windows, saw {shown(windows)}",
        field=f"item {i}",
        hint="windows are (start, end), one or several" + ("" if empty else ", and a query has one at least"),
    )


def make_items(preds: Sequence[Any], refs: Sequence[Any]) -> list[Item]:
    items = []
    for i, (candidate, true) in enumerate(zip(preds, refs, strict=True)):
        several = (true,) if isinstance(true, str) else tuple(true)
        if not several or not all(isinstance(t, str) for t in (candidate, *several)):
            raise InputError(
                f"expected captions, saw {shown((candidate, true))}",
                field=f"item {i}",
                hint="a caption is text, and has one reference or several",
            )
        items.append(Item(i, candidate, several))
    return items


def hangs_on_all(measure: Measure) -> bool:
    """Whether a caption's score depends on the other captions; tested by scoring one with another."""
    one, other = Item(0, "a dog runs home", ("a dog ran home",)), Item(1, "b c d e", ("f g h i",))
    alone, beside = (measure.table(Items(items)) for items in ([one], [one, other]))
    return any(not np.array_equal(alone[name][0], beside[name][0]) for name in alone.columns)


def count_sums(measure: Measure) -> int | None:
    """How many sums its number is a function of; None where it is of none."""
    sums = measure.sums(measure.table(Items([Item(0, "a", ("a",))])))
    return None if sums is None else sums.shape[1]


def pack_items(items: Sequence[Item]) -> tuple[list[int], list[int]]:
    """Letters end to end; of each item the number of its references, and the sizes of all its texts."""
    letters, sizes = bytearray(), list[int]()
    for item in items:
        texts = [t.encode("utf-8", "surrogatepass") for t in (item.candidate or "", *item.references)]
        sizes += [len(texts), *map(len, texts)]
        letters += b"".join(texts)
    return list(letters), sizes


def unpack_items(letters: bytes, sizes: Sequence[int]) -> list[Item]:
    items, at, place = list[Item](), 0, 0
    while place < len(sizes):
        lengths = sizes[place + 1 : place + 1 + sizes[place]]
        place += 1 + sizes[place]
        texts = []
        for length in lengths:
            texts.append(letters[at : at + length].decode("utf-8", "surrogatepass"))
            at += length
        items.append(Item(len(items), texts[0], tuple(texts[1:])))
    return items


def stacked(parts: Any) -> Tensor:
    """A state that is gathered: a list of tensors here, one tensor after a sync."""
    several = [parts] if isinstance(parts, Tensor) else parts
    return torch.cat([*several]) if several else torch.zeros(0, dtype=torch.int64)


def joined(parts: Any) -> Any:
    """A gathered state as bytes, or as a list of whole numbers."""
    whole = stacked(parts)
    return bytes(whole.cpu().numpy()) if whole.dtype == torch.uint8 else whole.tolist()


def folded_by_mean(measure: str | Measure) -> Measure:
    """The measure, if sums over batches are all it takes."""
    chosen = metric(measure, "dense") if isinstance(measure, str) else measure
    if chosen.reads != "stories" or "refs" not in chosen.defaults():  # paragraphs are folded over the corpus
        raise SpecError(f"{chosen.name} is not a metric of stories")
    if not chosen.is_mean or chosen.needs_statistics:
        raise SpecError(f"{chosen} is no mean over videos: score the whole corpus with fabula.score")
    return chosen
