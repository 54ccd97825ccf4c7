"""fabula protocols: the same predictions under every published evaluator, and why they differ."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from fabula import io
from fabula.cli._console import Several, bar, say, tell
from fabula.cli._what import What, what_to_score
from fabula.core.notes import Notes
from fabula.diagnose.protocols import Overview, Reason, overview
from fabula.io._files import dump_json
from fabula.report.table import plain_rows

SCALE = 100
NAMED = 3  # videos a sentence names; --explain lists them all


@click.command("protocols", cls=Several)
@click.argument("predictions", type=click.Path(path_type=Path))
@what_to_score("refs", "task", "format", "refs_format", required=True)
@click.option("--explain", nargs=2, metavar="A B", help="List what parts protocol A from protocol B, video by video.")
@click.option("--only", help="Protocols to compare, comma separated. Default: all that apply.")
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write the table and the reasons as JSON.")
def command(
    predictions: Path,
    what: What,
    explain: tuple[str, str] | None,
    only: str | None,
    json_: Path | None,
) -> None:
    """Score PREDICTIONS under every published protocol that applies, the default first.

    \b
    fabula protocols preds.json --refs val_1.json val_2.json
    fabula protocols preds.json --refs val_1.json --explain soda-2021 vid2seq
    """
    notes = Notes()
    pred, remarks = io.read(predictions, what["format"])
    notes.extend(remarks)
    sets = []
    for ref in what["refs"]:
        corpus, remarks = io.read(ref, what["refs_format"])
        notes.extend(remarks)
        sets.append(corpus)
    names = [n.strip() for n in only.split(",")] if only else [n for n in explain or () if n != "default"]
    with bar() as progress:
        seen = overview(pred, sets, names or None, what["task"], progress)
    for line in notes.lines():
        say(f"warning: {line}", style="yellow")
    if json_:
        dump_json(json_, as_json(seen), indent=2)
    if explain:
        tell(explained(seen, *explain))
        return
    show(seen)
    tell(reasons(seen))


def cells(seen: Overview) -> list[list[str]]:
    """A line per metric, a column per protocol."""
    lines = []
    for label in seen.labels():
        scores = [c.result.scores.get(label) if c.result else None for c in seen.columns]
        lines.append([label, *("" if s is None else f"{s.value * s.scale:.2f}" for s in scores)])
    return lines


def show(seen: Overview) -> None:
    head = ["metric", *(c.name for c in seen.columns)]
    if not sys.stdout.isatty():
        tell(plain_rows(head, cells(seen)))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for i, name in enumerate(head):
        table.add_column(name, justify="left" if i == 0 else "right", style="bold" if i < 2 else None, overflow="fold")
    for line in cells(seen):
        table.add_row(*line)
    Console().print(table)


def reasons(seen: Overview) -> Iterator[str]:
    """One sentence for each number that differs from the default; protocols that agree share it."""
    yield ""
    told: dict[str, list[str]] = {}
    for column in seen.columns[1:]:
        if column.result is None:
            yield f"{column.name}: not computed: {column.refused}"
            continue
        for reason in seen.reasons(column.name):
            told.setdefault(said(reason), []).append(column.name)
    for sentence in sorted(told):
        metric, _, rest = sentence.partition("\t")
        yield f"{metric} under {', '.join(told[sentence])}: {rest}"


def said(reason: Reason) -> str:
    numbers = f"{reason.metric}\t{reason.here * SCALE:.2f}, default {reason.there * SCALE:.2f}"
    why = "; ".join(reason.rules) or "no rule of these files' differs but the fold"
    who = ", ".join(video for video, _, _ in reason.most[:NAMED]) + (", …" if reason.videos > NAMED else "")
    return f"{numbers}: {why} ({reason.videos:,} videos differ{f': {who}' if who else ''})"


def explained(seen: Overview, a: str, b: str) -> Iterator[str]:
    """Metric by metric: the rules, then the videos with the largest differences."""
    for reason in seen.reasons(a, b):
        yield f"{reason.metric}: {a} {reason.here * SCALE:.2f}, {b} {reason.there * SCALE:.2f}"
        for rule in reason.rules:
            yield f"  {a}: {rule}"
        for video, here, there in reason.most:
            yield f"  {video}: {number(here)} against {number(there)}"


def number(value: float) -> str:
    return "does not count" if value != value else f"{value * SCALE:.2f}"


def as_json(seen: Overview) -> dict[str, Any]:
    return {
        "task": seen.task,
        "protocols": {c.name: c.result.to_dict() if c.result else {"refused": c.refused} for c in seen.columns},
        "reasons": {
            c.name: [
                {
                    "metric": r.metric,
                    "value": r.here,
                    "default": r.there,
                    "rules": list(r.rules),
                    "videos": r.videos,
                    "most": [json_row(*row) for row in r.most[:100]],
                }
                for r in seen.reasons(c.name)
            ]
            for c in seen.columns[1:]
            if c.result
        },
    }


def json_row(video: str, here: float, there: float) -> dict[str, Any]:
    """A video that does not count has null."""
    return {"video": video, "value": None if here != here else here, "default": None if there != there else there}
