"""People's judgements and metrics' scores of the same texts, met by item and system; and Flickr8k's files as published.

    judgements   item (or id, video), value; and where there are: system, rater, measure, excluded, cluster
                 (what `fabula study results --table` writes)
    scores       item (or id, video); system where there are several; every other column of numbers is a metric
                 (what `fabula score --rows` writes; rows of several reference sets are averaged)

Flickr8k (Hodosh, Young & Hockenmaier, JAIR 2013): ExpertAnnotations.txt, three experts with 1–4, and
CrowdFlowerAnnotations.txt, the share of people who said yes. A pair whose caption is one of the image's own five is
left out, as everybody does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, SpecError, shown
from fabula.documents.files import decode_text
from fabula.documents.safe_open import read_bytes
from fabula.documents.tables import as_number, read_table

KEYS = ("item", "id", "video")
ASIDE = {"refset", "study", "question", "kind", "rater", "system", "cluster", "position", "seconds", "at"}
REVERSED = ("rank",)  # 1 is best


@dataclass(frozen=True, slots=True)
class Judgement:
    item: str
    system: str
    value: float
    rater: str
    cluster: str


@dataclass(slots=True)
class Judged:
    """Judgements that have scores: one line each."""

    judgements: list[Judgement]
    scores: dict[str, list[float]]  # metric → a number a judgement
    notes: list[str] = field(default_factory=list)


def find_key(row: dict[str, Any], path: Path) -> str:
    for key in KEYS:
        if key in row:
            return key
    raise InputError(
        f"has none of the columns {', '.join(KEYS)}", file=path, hint="name one of them: rows are met by it"
    )


def read_judgements(path: Path, measure: str | None = None) -> tuple[list[Judgement], list[str]]:
    """The judgements of a file under one measure, and what is to be known of them."""
    rows = read_table(path)
    key = find_key(rows[0], path)
    if "value" not in rows[0]:
        raise InputError("has no column called value", file=path, hint="value holds what people said, as a number")
    measures = list(dict.fromkeys(str(row.get("measure", "")) for row in rows))
    if measure is None and len(measures) > 1:
        raise SpecError(f"{path.name} holds {', '.join(measures)}; say which with --measure")
    if measure is not None and measure not in measures:
        raise SpecError(
            f"{path.name} holds no measure {measure!r}; there are: {', '.join(m for m in measures if m) or 'none'}"
        )
    judgements, out, simulated = [], 0, 0
    sign = -1.0 if (measure or measures[0]) in REVERSED else 1.0
    for number, row in enumerate(rows, 1):
        if measure is not None and str(row.get("measure", "")) != measure:
            continue
        if is_true(row.get("excluded")):
            out += 1
            continue
        simulated += is_true(row.get("simulated"))
        item = str(row.get(key, ""))
        value = sign * as_number(row.get("value"), path, "value", number)
        judgements.append(
            Judgement(item, str(row.get("system", "")), value, str(row.get("rater", "")), str(row.get("cluster", item)))
        )
    notes = []
    if out:
        notes.append(f"{out} answers of raters who were left out do not count")
    if simulated:
        notes.append(f"{simulated} answers are simulated: nobody said them")
    if sign < 0:
        notes.append("ranks are read backwards: 1 is best")
    if not judgements:
        raise InputError("holds no judgement that counts", file=path)
    return judgements, notes


def is_true(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "1"))


def read_scores(path: Path, system: str = "") -> dict[tuple[str, str], dict[str, float]]:
    """(item, system) → metric → number."""
    rows = read_table(path)
    key = find_key(rows[0], path)
    metrics = [name for name in dict.fromkeys(n for row in rows for n in row) if name not in (*KEYS, *ASIDE)]
    metrics = [name for name in metrics if any(looks_number(row.get(name)) for row in rows)]
    if not metrics:
        raise InputError("has no column of scores", file=path, hint="every column of numbers is a metric")
    sums: dict[tuple[str, str], dict[str, list[float]]] = {}
    for number, row in enumerate(rows, 1):
        place = sums.setdefault((str(row.get(key, "")), str(row.get("system", system))), {})
        for name in metrics:
            if row.get(name) not in (None, ""):
                place.setdefault(name, []).append(as_number(row[name], path, name, number))
    return {who: {name: sum(values) / len(values) for name, values in own.items()} for who, own in sums.items()}


def looks_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(value, bool)


def meet(
    judgements: Sequence[Judgement],
    scores: dict[tuple[str, str], dict[str, float]],
    metrics: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Judged:
    """Judgements with their scores. Whatever finds no partner is counted and said; nothing meets by chance."""
    known = list(dict.fromkeys(name for own in scores.values() for name in own))
    chosen = list(metrics) or known
    for name in chosen:
        if name not in known:
            raise SpecError(f"no score is called {name!r}; there are: {', '.join(known)}")
    judged_systems = {j.system for j in judgements}
    named = {system for _, system in scores}
    if named == {""} and len(judged_systems) > 1:
        listed = ", ".join(sorted(judged_systems)[:6])
        raise SpecError(
            f"people judged {listed}, and the scores name no system; give one file of scores a system, or a column"
        )
    alone = named == {""} or judged_systems == {""}
    found = Judged([], {name: [] for name in chosen}, list(notes))
    lacking = 0
    by_item = {(item, "" if alone else system): own for (item, system), own in scores.items()}
    if len(by_item) < len(scores):
        raise SpecError("the scores are of several systems, and the judgements name none; give them a column system")
    for j in judgements:
        own = by_item.get((j.item, "" if alone else j.system), {})
        if any(name not in own for name in chosen):
            lacking += 1
            continue
        found.judgements.append(j)
        for name in chosen:
            found.scores[name].append(own[name])
    if not found.judgements:
        first, other = judgements[0].item, next(iter(scores))[0]
        hint = "are they of the same study? items are met by their ids"
        raise InputError(f"not one judged item has scores (judged: {shown(first)}; scored: {shown(other)})", hint=hint)
    if lacking:
        found.notes.append(f"{lacking} of {len(judgements)} judgements have no scores and are left out")
    return found


# ── Flickr8k ───────────────────────────────────────────────────────────────────────────────────────────────────────

EXPERT, CROWD, CAPTIONS = "ExpertAnnotations.txt", "CrowdFlowerAnnotations.txt", "Flickr8k.token.txt"


def read_flickr8k(folder: Path, who: str = "expert") -> tuple[list[dict[str, Any]], list[Judgement]]:
    """Items {id, cand, refs} to be scored, and what people said of them."""
    if who not in ("expert", "crowd"):
        raise SpecError(f"Flickr8k was judged by expert and crowd, not by {who!r}")
    captions: dict[str, str] = {}
    for number, cells in read_tabs(folder / CAPTIONS, 2):
        if len(cells) != 2:
            raise InputError(
                f"{len(cells)} cells", file=folder / CAPTIONS, field=f"line {number}", hint="two are needed"
            )
        captions[cells[0]] = cells[1]
    path = folder / (EXPERT if who == "expert" else CROWD)
    items: list[dict[str, Any]] = []
    judgements: list[Judgement] = []
    for number, (image, caption, *values) in read_tabs(path, None):
        if caption.partition("#")[0] == image:
            continue
        references = [captions.get(f"{image}#{k}") for k in range(5)]
        if caption not in captions or None in references:
            raise InputError("names a caption that is not in " + CAPTIONS, file=path, field=f"line {number}")
        id = f"{image} {caption}"
        items.append({"id": id, "cand": captions[caption], "refs": references})
        marks = values if who == "expert" else values[:1]
        judgements += [
            Judgement(id, "", as_number(v, path, "a judgement", number), str(k), image) for k, v in enumerate(marks)
        ]
    if not items:
        raise InputError("holds no judgement", file=path)
    return items, judgements


def read_tabs(path: Path, most: int | None) -> list[tuple[int, list[str]]]:
    text = decode_text(read_bytes(path), path)
    return [
        (number, line.split("\t", most - 1 if most else -1))
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip()
    ]
