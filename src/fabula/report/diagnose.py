"""A diagnosis as text: for a terminal, a pipe and JSON. Numbers × 100."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from fabula.core.printable import printable
from fabula.diagnosis.errors import Diagnosis
from fabula.diagnosis.factors import CHAIN
from fabula.diagnosis.retrieval import Retrieval
from fabula.report.table import plain_rows
from fabula.stats.bootstrap import Interval
from fabula.stats.choose import name_methods

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

Table = tuple[list[str], list[list[str]]]  # head, lines


def spread(interval: Interval | None, scale: float, sign: str = "") -> str:
    """[low, high]; – where there is none."""
    return "–" if interval is None else f"[{interval.low * scale:{sign}.2f}, {interval.high * scale:{sign}.2f}]"


def ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)


def tables(diagnosis: Diagnosis) -> Iterator[Table]:
    """Repairs, factors, slices of videos, slices of events."""
    scale = diagnosis.scale
    repairs = [
        [
            r.kind.replace("_", " "),
            f"{r.errors:,}",
            f"{r.videos:,}",
            f"{r.value * scale:.2f}",
            f"{r.gain * scale:+.2f}",
            spread(r.interval, scale, "+") if r.errors else "",
        ]
        for r in diagnosis.repairs
    ]
    yield ["if repaired", "errors", "videos", diagnosis.metric, "gain", "interval"], repairs
    if diagnosis.factors:
        numbers = [f"{getattr(diagnosis.factors, name):.4f}" for name in CHAIN]
        yield (
            ["score =", *(f"{name}{' ×' if name != CHAIN[-1] else ''}" for name in CHAIN)],
            [[f"{diagnosis.factors.product * scale:.2f}", *numbers]],
        )
    yield (
        ["videos by", "", "videos", diagnosis.metric, "interval"],
        [
            [s.attribute, s.label, f"{s.videos:,}", f"{s.value * scale:.2f}", spread(s.interval, scale)]
            for s in diagnosis.videos
        ],
    )
    yield (
        ["events by", "", "events", "found", "mean IoU"],
        [
            [s.attribute, s.label, f"{s.events:,}", f"{s.found * 100:.2f}", f"{s.iou * 100:.2f}"]
            for s in diagnosis.events
        ],
    )


def how(diagnosis: Diagnosis) -> str:
    limits = ",".join(f"{name}={value}" for name, value in asdict(diagnosis.limits).items())
    used = [*(r.ci_method for r in diagnosis.repairs if r.errors), *(s.ci_method for s in diagnosis.videos)]
    return f"{diagnosis.signature}|limits:{limits}|ci:{diagnosis.how.named(name_methods(used))}"


def plain(diagnosis: Diagnosis | Retrieval) -> Iterator[str]:
    return retrieval_plain(diagnosis) if isinstance(diagnosis, Retrieval) else errors_plain(diagnosis)


def draw_tables(diagnosis: Diagnosis | Retrieval) -> Callable[[], Group] | None:
    """Tables for a terminal; None where plain lines will do."""
    return None if isinstance(diagnosis, Retrieval) else lambda: rich_tables(diagnosis)


def as_json(diagnosis: Diagnosis | Retrieval) -> dict[str, object]:
    return retrieval_json(diagnosis) if isinstance(diagnosis, Retrieval) else errors_json(diagnosis)


def errors_plain(diagnosis: Diagnosis) -> Iterator[str]:
    yield f"{diagnosis.metric}\t{diagnosis.value * diagnosis.scale:.2f}"
    for head, lines in tables(diagnosis):
        yield ""
        yield from plain_rows(head, lines)
    yield ""
    yield how(diagnosis)


def rich_tables(diagnosis: Diagnosis) -> Group:
    from rich.console import Group
    from rich.text import Text

    from fabula.report.layout import Paragraph, TextTable

    shown: list[RenderableType] = [
        Text(f"{printable(diagnosis.metric)}  {diagnosis.value * diagnosis.scale:.2f}", style="bold")
    ]
    for head, lines in tables(diagnosis):
        shown += [Text(), TextTable(head, lines, names=1 if head[1] else 2)]
    return Group(*shown, Text(), Paragraph(how(diagnosis), style="dim"))


def errors_json(diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "task": diagnosis.task,
        "metric": diagnosis.metric,
        "signature": diagnosis.signature,
        "value": diagnosis.value,
        "repairs": [
            {
                "kind": r.kind,
                "errors": r.errors,
                "videos": r.videos,
                "value": r.value,
                "gain": r.gain,
                "ci": ends(r.interval),
                "ci_method": r.ci_method,
            }
            for r in diagnosis.repairs
        ],
        "factors": diagnosis.factors.to_dict() if diagnosis.factors else None,
        "slices": {
            "videos": [{**asdict(s), "interval": ends(s.interval)} for s in diagnosis.videos],
            "events": [asdict(s) for s in diagnosis.events],
        },
        "limits": asdict(diagnosis.limits),
        "ci": asdict(diagnosis.how),
        "counts": diagnosis.counts,
        "warnings": list(diagnosis.warnings),
    }


def retrieval_plain(diagnosis: Retrieval) -> Iterator[str]:
    """What is wrong with the queries."""
    labels = {"right": f"right (R@{diagnosis.k}, IoU ≥ {diagnosis.iou:g})"}
    head = ["queries", "number", "share", "interval"]
    lines = [
        [labels.get(f.kind, f"{f.kind} wrong"), f"{f.queries:,}", f"{f.share * 100:.2f}", spread(f.interval, 100)]
        for f in diagnosis.faults
    ]
    methods = diagnosis.how.named(name_methods(f.ci_method for f in diagnosis.faults))
    yield from plain_rows(head, lines)
    yield ""
    yield f"queries:{diagnosis.queries}|k:{diagnosis.k}|iou:{diagnosis.iou:g}|ci:{methods}"


def retrieval_json(diagnosis: Retrieval) -> dict[str, object]:
    return {
        "task": "moments",
        "k": diagnosis.k,
        "iou": diagnosis.iou,
        "queries": diagnosis.queries,
        "faults": {
            f.kind: {"queries": f.queries, "share": f.share, "ci": ends(f.interval), "ci_method": f.ci_method}
            for f in diagnosis.faults
        },
        "ci": asdict(diagnosis.how),
        "warnings": list(diagnosis.warnings),
    }
