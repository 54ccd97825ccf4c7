"""A diagnosis as text: for a terminal, a pipe and JSON. Numbers × 100."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fabula.core.printable import printable
from fabula.diagnosis.errors import Diagnosis
from fabula.diagnosis.factors import CHAIN
from fabula.diagnosis.retrieval import Retrieval
from fabula.report.table import plain_rows
from fabula.stats.bootstrap import Interval
from fabula.stats.choose import name_methods

if TYPE_CHECKING:
    from rich.console import Group

Table = tuple[list[str], list[list[str]]]  # head, lines


def spread(interval: Interval | None, scale: float, sign: str = "") -> str:
    """[low, high]; – where there is none."""
    return "–" if interval is None else f"[{interval.low * scale:{sign}.2f}, {interval.high * scale:{sign}.2f}]"


def ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)


def tables(seen: Diagnosis) -> Iterator[Table]:
    """Repairs, factors, slices of videos, slices of events."""
    scale = seen.scale
    repairs = [
        [
            r.kind.replace("_", " "),
            f"{r.errors:,}",
            f"{r.videos:,}",
            f"{r.value * scale:.2f}",
            f"{r.gain * scale:+.2f}",
            spread(r.interval, scale, "+") if r.errors else "",
        ]
        for r in seen.repairs
    ]
    yield ["if repaired", "errors", "videos", seen.metric, "gain", "interval"], repairs
    if seen.factors:
        numbers = [f"{getattr(seen.factors, name):.4f}" for name in CHAIN]
        yield (
            ["score =", *(f"{name}{' ×' if name != CHAIN[-1] else ''}" for name in CHAIN)],
            [[f"{seen.factors.product * scale:.2f}", *numbers]],
        )
    yield (
        ["videos by", "", "videos", seen.metric, "interval"],
        [
            [s.attribute, s.label, f"{s.videos:,}", f"{s.value * scale:.2f}", spread(s.interval, scale)]
            for s in seen.videos
        ],
    )
    yield (
        ["events by", "", "events", "found", "mean IoU"],
        [[s.attribute, s.label, f"{s.events:,}", f"{s.found * 100:.2f}", f"{s.iou * 100:.2f}"] for s in seen.events],
    )


def how(seen: Diagnosis) -> str:
    limits = ",".join(f"{name}={value}" for name, value in asdict(seen.limits).items())
    used = [*(r.ci_method for r in seen.repairs if r.errors), *(s.ci_method for s in seen.videos)]
    return f"{seen.signature}|limits:{limits}|ci:{seen.how.named(name_methods(used))}"


def plain(seen: Diagnosis | Retrieval) -> Iterator[str]:
    return retrieval_plain(seen) if isinstance(seen, Retrieval) else errors_plain(seen)


def draw_tables(seen: Diagnosis | Retrieval) -> Callable[[], Group] | None:
    """Tables for a terminal; None where plain lines will do."""
    return None if isinstance(seen, Retrieval) else lambda: rich_tables(seen)


def as_json(seen: Diagnosis | Retrieval) -> dict[str, Any]:
    return retrieval_json(seen) if isinstance(seen, Retrieval) else errors_json(seen)


def errors_plain(seen: Diagnosis) -> Iterator[str]:
    yield f"{seen.metric}\t{seen.value * seen.scale:.2f}"
    for head, lines in tables(seen):
        yield ""
        yield from plain_rows(head, lines)
    yield ""
    yield how(seen)


def rich_tables(seen: Diagnosis) -> Group:
    from rich.console import Group
    from rich.text import Text

    from fabula.report.layout import Paragraph, TextTable

    shown: list[Any] = [Text(f"{printable(seen.metric)}  {seen.value * seen.scale:.2f}", style="bold")]
    for head, lines in tables(seen):
        shown += [Text(), TextTable(head, lines, names=1 if head[1] else 2)]
    return Group(*shown, Text(), Paragraph(how(seen), style="dim"))


def errors_json(seen: Diagnosis) -> dict[str, Any]:
    return {
        "task": seen.task,
        "metric": seen.metric,
        "signature": seen.signature,
        "value": seen.value,
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
            for r in seen.repairs
        ],
        "factors": seen.factors.to_dict() if seen.factors else None,
        "slices": {
            "videos": [{**asdict(s), "interval": ends(s.interval)} for s in seen.videos],
            "events": [asdict(s) for s in seen.events],
        },
        "limits": asdict(seen.limits),
        "ci": asdict(seen.how),
        "counts": seen.counts,
        "warnings": list(seen.warnings),
    }


def retrieval_plain(seen: Retrieval) -> Iterator[str]:
    """What is wrong with the queries."""
    said = {"right": f"right (R@{seen.k}, IoU ≥ {seen.iou:g})"}
    head = ["queries", "number", "share", "interval"]
    lines = [
        [said.get(f.kind, f"{f.kind} wrong"), f"{f.queries:,}", f"{f.share * 100:.2f}", spread(f.interval, 100)]
        for f in seen.faults
    ]
    methods = seen.how.named(name_methods(f.ci_method for f in seen.faults))
    yield from plain_rows(head, lines)
    yield ""
    yield f"queries:{seen.queries}|k:{seen.k}|iou:{seen.iou:g}|ci:{methods}"


def retrieval_json(seen: Retrieval) -> dict[str, Any]:
    return {
        "task": "moments",
        "k": seen.k,
        "iou": seen.iou,
        "queries": seen.queries,
        "faults": {
            f.kind: {"queries": f.queries, "share": f.share, "ci": ends(f.interval), "ci_method": f.ci_method}
            for f in seen.faults
        },
        "ci": asdict(seen.how),
        "warnings": list(seen.warnings),
    }
