"""fabula parse: free-form answers of a language model into events, with an audit of how each was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fabula import io
from fabula.cli._console import Several, say
from fabula.cli._out import check_outputs
from fabula.core.errors import SpecError
from fabula.io import answers
from fabula.io.files import dump_json
from fabula.io.ids import respell_id


@click.command("parse", cls=Several)
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Events to write.")
@click.option("--to", default="fabula", show_default=True, help="Format to write (fabula list formats).")
@click.option("--audit", type=click.Path(path_type=Path), help="Write the audit of every answer as JSON.")
@click.option("--unit", help="What numbers without a unit are: seconds, percent, 'frames,fps=2', 'tokens,bins=100', ….")
@click.option("--refs", "-r", multiple=True, type=click.Path(path_type=Path), help="Files to take durations from.")
@click.option("--refs-format", help="Format of these files. Default: known by its shape.")
def command(
    source: Path,
    out: Path,
    to: str,
    audit: Path | None,
    unit: str | None,
    refs: tuple[Path, ...],
    refs_format: str | None,
) -> None:
    """Read free-form answers from SOURCE and write the events they tell.

    \b
    fabula parse answers.jsonl -o events.jsonl --audit audit.json
    fabula parse answers.jsonl -o events.jsonl --unit percent --refs val_1.json
    """
    check_outputs([source, *refs], out=out, audit=audit)
    if io.find(to)[0].write is None:
        raise SpecError(f"the format {to!r} can be read but not written")
    io.check_name(out, to)
    durations: dict[str, float] = {}
    for path in refs:
        for video, story in io.read(path, refs_format)[0].items():
            if story.duration is not None:
                durations |= {id: story.duration for id in respell_id(video) if id not in durations} | {
                    video: story.duration
                }
    corpus, audits, notes = answers.audit(source, unit, durations)
    for line in [*notes.lines(), *io.write(corpus, out, to).lines()]:
        say(f"warning: {line}", style="yellow")
    document = report(audits)
    if audit:
        dump_json(audit, document, indent=2)
    counts = document["counts"]
    kinds = ("parsed", "deduced", "repaired", "refused", "unparsed")
    say(f"{len(corpus):,} answers → {out}: " + ", ".join(f"{counts[k]:,} {k}" for k in kinds))


def report(audits: dict[str, answers.Audit]) -> dict[str, Any]:
    """Counts over all answers, the names of those that gave nothing, and each audit."""
    counts = {
        "answers": len(audits),
        "parsed": sum(a.parsed for a in audits.values()),
        "deduced": sum(n for a in audits.values() for n in a.deduced.values()),
        "repaired": sum(n for a in audits.values() for n in a.repaired.values()),
        "refused": sum(len(a.refused) for a in audits.values()),
        "unparsed": sum(a.unparsed for a in audits.values()),
    }
    unparsed = [video for video, a in audits.items() if a.unparsed]
    return {"counts": counts, "unparsed": unparsed, "answers": {video: a.to_dict() for video, a in audits.items()}}
