"""A result from the JSON that `fabula score --json` wrote (docs/result-json.md)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from fabula import metrics as metric_room
from fabula.core.errors import InputError
from fabula.data.result import Result, Score
from fabula.documents.files import check_path, load_json


def load_result(path: Path) -> Result | None:
    """A result from its JSON (docs/result-json.md), or None where the file is something else."""
    if path.suffix.lower() != ".json":
        return None
    document = load_json(check_path(path))
    if not isinstance(document, dict) or not {"fabula", "scores", "counts"} <= document.keys():
        return None
    try:
        scores = {name: load_score(name, given) for name, given in document["scores"].items()}
        counts = {str(k): int(n) for k, n in document["counts"].items()}
        lines = tuple(str(line) for line in document["warnings"])
        made, task, protocol = (str(document[k]) for k in ("fabula", "task", "protocol"))
        return Result(made, task, protocol, scores, counts, lines)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        hint = "write it again with fabula score --json"
        raise InputError(f"no result that this version can read ({error!r})", file=path, hint=hint) from None


def load_score(name: str, given: dict[str, Any]) -> Score:
    """The signature says which metric it was, and the metric which of its numbers is the primary one."""
    metric = metric_room.metric(given["signature"].split("|")[0])
    given = dict(given)
    if "short" in metric.fields and isinstance(given["short"], str):  # 0.1.0 wrote a signature over this number
        given["short"] = None
    values = {field: math.nan if given[field] is None else float(given[field]) for field in metric.fields}
    low_high = given.get("ci")
    ci = {metric.primary: (float(low_high[0]), float(low_high[1]))} if low_high else None
    at = {str(t): load_numbers(numbers) for t, numbers in given.get("by_threshold", {}).items()}
    types = {str(t): load_numbers(numbers) for t, numbers in given.get("by_type", {}).items()}
    short = "" if "short" in metric.fields else str(given.get("short", ""))
    method = str(given.get("ci_method", ""))
    return Score(name, values, metric.primary, given["signature"], ci, metric.scale, types, at, short, method)


def load_numbers(given: dict[str, Any]) -> dict[str, float]:
    return {field: math.nan if number is None else float(number) for field, number in given.items()}
