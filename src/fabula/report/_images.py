"""Rows of images for the page: reference regions and the surest detections, with what the metric made of them."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.data.result import Result
from fabula.evaluate.kept import Claim, Described
from fabula.report._data import LOW, list_metrics, list_numbers, read_values, round_number, sort_worst_first
from fabula.report._events import Cells


def list_images(results: Sequence[Result], systems: Sequence[str]) -> dict[str, object]:
    """base.js says what a row is. Boxes are those of the first metric: merged, and claimed by its rules."""
    first, values = results[0], [read_values(r) for r in results]
    described: list[Described] = [r.kept for r in results]
    names, judge = list(values[0]), next(iter(first.metrics))
    rows = []
    for id, picture in described[0].refs.items():
        judged = [each.judge(result, judge, id) for each, result in zip(described, results, strict=True)]
        rows.append(
            [
                id,
                [list_numbers(id, names, each) for each in values],
                None if picture.size is None else [round_pixels(side) for side in picture.size],
                [[[round_pixels(side) for side in ref.box], list(ref.captions)] for ref in judged[0][0]],
                [[list_claim(claim) for claim in claims] for _, claims in judged],
            ]
        )
    return {
        "kind": "images",
        "systems": systems,
        "metrics": list_metrics(first, values[0]),
        "lead": sort_worst_first(rows, names),
        "low": LOW,
        "least": min(first.metrics[judge].ious),
        "judge": judge,
        "rows": rows,
    }


def list_claim(claim: Claim) -> Cells:
    return [
        [round_pixels(side) for side in claim.box],
        claim.caption,
        round_number(claim.score),
        claim.reference,
        round(claim.iou, 4),
        int(claim.first),
        None if claim.meteor is None else round(claim.meteor, 4),
    ]


def round_pixels(value: float) -> float | int:
    short = round(value, 1)
    return int(short) if short == int(short) else short
