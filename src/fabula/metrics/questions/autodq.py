"""AutoDQ: what a description tells of the reference's events, and what of its own events is true (Wang et al., 2024).

    recall_i    = |{reference events that the prediction entails}| / |reference events|
    precision_i = |{predicted events that the reference entails}| / |predicted events|
    R, P = means over descriptions;  F1 = 2RP / (R + P);  mean_f1 = mean over descriptions of their own F1

A judge lists the events of a text where nobody has, and says of each event whether the other text entails it. A sample
fails where an answer cannot be read after all tries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeVar

import numpy as np

from fabula.core.errors import InputError, SpecError
from fabula.core.means import f1, f1_of
from fabula.core.rows import Rows
from fabula.data.questions import Response
from fabula.llm.call import Call
from fabula.llm.session import current
from fabula.metrics.base import Row, Values
from fabula.metrics.questions._asking import ask_each
from fabula.metrics.questions._events import READ_EVENTS, READ_JUDGED, BrokenError, Events, Judged
from fabula.metrics.questions.base import QuestionMetric
from fabula.metrics.questions.prompts import examination
from fabula.text.judges.attempts import speaks_to_judge

MOST = 100  # tries
T = TypeVar("T")


@dataclass(slots=True)
class Sample:
    """One description on its way: its texts as the judge sees them, then their events, then its two shares."""

    predicted_text: str
    reference_text: str
    reference: Events | None = None
    predicted: Events | None = None
    shares: dict[str, float] = field(default_factory=dict)
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class Metric(QuestionMetric):
    name: ClassVar[str] = "AutoDQ"
    paper: ClassVar[str] = "Wang et al., Tarsier, 2024"
    needs: ClassVar[str] = "references"
    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1", "mean_f1")
    primary: ClassVar[str] = "f1"
    perfect_score: ClassVar[str] = "a judge decides, who may find an event in a text and deny that the text entails it"
    rules: ClassVar[Mapping[str, str]] = {
        "judge": "a language model lists events and says what is entailed, asked in the words of {}",
        "read=fabula": "the last JSON object of an answer is read, whatever stands around it",
        "read=tarsier": "events are read as a Python literal, judgements as mended JSON; words before are an error",
        "read=vlmevalkit": "an answer in which nothing can be read lists no events and entails none",
        "texts=asis": "the judge sees texts as they are",
        "texts=lower": "the judge sees texts in small letters, with single quotes where events are listed",
        "tries": "an answer that cannot be read is asked for {} times at the most",
        "count=checked": "there must be a judgement for every event",
        "count=any": "judgements are counted as they come, so that more of them than events score above 1",
        "eventless=zero": "a prediction without events has a precision of 0 where the reference has some",
        "eventless=one": "a text without events has a share of 1",
        "eventless=asked": "a text without events has a share of 1, after the judge was asked about the whole of it",
        "missing=zero": "an empty or missing prediction counts 0 on both sides",
        "missing=drop": "empty and missing predictions are left out",
        "missing=judged": "an empty prediction is judged like any other, and has a precision of 1 if it has no events",
        "failed=zero": "a sample whose answers cannot be read counts 0",
        "failed=drop": "samples whose answers cannot be read are left out",
        "failed=raise": "a sample whose answers cannot be read ends the run",
        "over=items": "every description counts the same",
        "over=kinds": "means are taken in each subset, and then over subsets, however many descriptions they have",
        "undefined=zero": "F1 is 0 where precision and recall are, and so is the mean of nothing",
        "undefined=nan": "F1 is NaN where precision and recall are 0, and so is the mean of nothing",
    }

    judge: str = "fabula"
    read: Literal["fabula", "tarsier", "vlmevalkit"] = "fabula"
    texts: Literal["asis", "lower"] = "asis"
    tries: int = 3
    count: Literal["checked", "any"] = "checked"
    eventless: Literal["zero", "one", "asked"] = "zero"
    missing: Literal["zero", "drop", "judged"] = "zero"
    failed: Literal["zero", "drop", "raise"] = "zero"
    over: Literal["items", "kinds"] = "items"
    undefined: Literal["zero", "nan"] = "zero"

    def __post_init__(self) -> None:
        super().__post_init__()
        examination(self.name, self.judge)
        if not 1 <= self.tries <= MOST:
            raise SpecError(f"{self.name}: tries={self.tries}; it lies between 1 and {MOST}")

    def about(self) -> Mapping[str, str]:
        return {"judge": examination(self.name, self.judge).version}

    # ── descriptions into rows ──────────────────────────────────────────────────────────────────────────────────────

    def units(self, responses: Sequence[Response]) -> list[Row]:
        """All of a block go from step to step together, so that the judge is asked about many at once."""
        samples = [None if self.is_silent(r) else self.begin(r) for r in responses]
        judged_samples = [s for s in samples if s is not None]
        self.list_events(judged_samples, "reference")
        self.list_events(judged_samples, "predicted")
        self.compare(judged_samples, "recall")
        self.compare(judged_samples, "precision")
        for response, sample in zip(responses, samples, strict=True):
            if sample is not None and sample.failed and self.failed == "raise":
                problem = f"the judge's answers cannot be read, asked {self.tries} times"
                hint = "AutoDQ(failed=zero) counts it as 0, failed=drop leaves it out"
                raise InputError(problem, video=response.id, noun="item", hint=hint)
        current().tell(attempts=sum(speaks_to_judge(s.predicted_text) for s in judged_samples))
        current().tell(spared=sum(3 + (r.events is None) for r, s in zip(responses, samples, strict=True) if s is None))
        return [self.row(s) for s in samples]

    def is_silent(self, response: Response) -> bool:
        """A prediction that the judge is not asked about."""
        predicted_text = response.answer or ""
        return self.missing != "judged" and not (predicted_text if self.missing == "drop" else predicted_text.strip())

    def begin(self, response: Response) -> Sample:
        predicted_text, (reference_text, *others) = response.answer or "", response.references
        if set(others) - {reference_text}:
            problem = f"{len(response.references)} references; {self.name} judges a description by one"
            raise InputError(problem, video=response.id, noun="item", hint="keep one of them, with its events")
        if self.texts == "lower":
            predicted_text, reference_text = predicted_text.lower(), reference_text.lower()
        return Sample(predicted_text, reference_text, None if response.events is None else list(response.events))

    def list_events(self, samples: Sequence[Sample], side: Literal["reference", "predicted"]) -> None:
        open_samples = [s for s in samples if not s.failed and getattr(s, side) is None]
        texts = [s.reference_text if side == "reference" else s.predicted_text for s in open_samples]
        if self.texts == "lower":
            texts = [text.replace('"', "'") for text in texts]
        ask, model = examination(self.name, self.judge).ask_first, current().model_of(self.judge)
        calls = [ask(model, text) for text in texts]
        found = self.ask(open_samples, calls, [READ_EVENTS[self.read]] * len(calls))
        for sample, events in zip(open_samples, found, strict=True):
            setattr(sample, side, events)

    def compare(self, samples: Sequence[Sample], share: Literal["recall", "precision"]) -> None:
        """Which events of one side the other entails."""
        ask, model = examination(self.name, self.judge).ask_second, current().model_of(self.judge)
        open_samples, calls, readers = list[Sample](), list[Call](), list[Callable[[str], Judged | None]]()
        for sample in (s for s in samples if not s.failed):
            whole, text = sample.reference_text, sample.predicted_text
            if share == "precision":
                whole, text = text, whole
            events = (sample.reference if share == "recall" else sample.predicted) or []
            if not events:
                sample.shares[share] = self.share_of_nothing(sample, share)
                if self.eventless != "asked":
                    current().tell(spared=1)
                    continue
            open_samples.append(sample)
            calls.append(ask(model, text, events or [whole.replace("\n", " ")]))
            readers.append(self.reader(len(events)))
        for sample, judged in zip(open_samples, self.ask(open_samples, calls, readers), strict=True):
            n = len((sample.reference if share == "recall" else sample.predicted) or [])
            if judged is not None and n:
                sample.shares[share] = judged.entailed / n

    def share_of_nothing(self, sample: Sample, share: str) -> float:
        return float(self.eventless != "zero" or share == "recall" or not sample.reference)

    def reader(self, events: int) -> Callable[[str], Judged | None]:
        """Of judgements about so many events; of none, one about the whole text."""
        read, fine = READ_JUDGED[self.read], (events,) if events else (0, 1)

        def checked(text: str) -> Judged | None:
            judged = read(text)
            return judged if judged is not None and judged.events in fine else None

        return checked if self.count == "checked" else read

    def ask(
        self, samples: Sequence[Sample], calls: Sequence[Call], readers: Sequence[Callable[[str], T | None]]
    ) -> list[T | None]:
        """What is read in the answers. A sample without one has failed."""
        found = ask_each(calls, [read_or_break(read) for read in readers], self.tries)
        for sample, one in zip(samples, found, strict=True):
            sample.failed |= one is None or isinstance(one, BrokenError)
        return [None if isinstance(one, BrokenError) else one for one in found]

    def row(self, sample: Sample | None) -> Row:
        failed = sample is not None and sample.failed
        shares = {} if sample is None or failed else sample.shares
        recall, precision = shares.get("recall", 0.0), shares.get("precision", 0.0)
        dropped = (failed and self.failed == "drop") or (sample is None and self.missing == "drop")
        return {
            "precision": precision,
            "recall": recall,
            "f1": f1(precision, recall),
            "events": float(len((sample.reference if sample else None) or ())),
            "predicted": float(len((sample.predicted if sample else None) or ())),
            "failed": float(failed),
            "counts": float(not dropped),
        }

    # ── rows into numbers ───────────────────────────────────────────────────────────────────────────────────────────

    def combine(self, rows: Rows) -> Values:
        rows = rows.take(np.flatnonzero(rows["counts"] > 0))
        nothing = float("nan") if self.undefined == "nan" else 0.0
        if not len(rows):
            return dict.fromkeys(self.fields, nothing)
        parts = [rows]
        if self.over == "kinds":
            parts = [rows.take(np.flatnonzero(rows["kind"] == kind)) for kind in sorted(set(rows["kind"].tolist()))]
        P, R = (float(np.mean([part[share].mean() for part in parts])) for share in ("precision", "recall"))
        each = float(np.mean([f1_of(part["precision"], part["recall"]).mean() for part in parts]))
        return {"precision": P, "recall": R, "f1": f1(P, R) if P + R > 0 else nothing, "mean_f1": each}


def read_or_break(read: Callable[[str], T | None]) -> Callable[[str], T | BrokenError | None]:
    """A reader that hands on where the published program stumbles: it does not ask again."""

    def reads(text: str) -> T | BrokenError | None:
        try:
            return read(text)
        except BrokenError as error:
            return error

    return reads
