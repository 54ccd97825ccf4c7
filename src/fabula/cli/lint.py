"""fabula lint: what is odd in a file of annotations or predictions, and a repaired copy of it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from fabula import lint as room
from fabula.cli._console import Several, say, tell
from fabula.cli._out import check_outputs, print_json
from fabula.core.errors import SpecError
from fabula.io.files import dump_json

NAMED = 3  # places a table names
STYLES = {"error": "red", "warning": "yellow", "info": "dim"}


@click.command("lint", cls=Several)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--refs", "-r", multiple=True, type=click.Path(path_type=Path), help="Reference file(s): ids, durations.")
@click.option("--format", help="Format of the file (fabula list formats), or 'captions'. Default: known by its shape.")
@click.option("--refs-format", help="Format of the references. Default: known by its shape.")
@click.option(
    "--json", "json_", type=click.Path(path_type=Path), help="Write all findings as JSON; - for standard output."
)
@click.option(
    "--fix", type=click.Path(path_type=Path), help="Write a repaired copy, and FIX.fixes.json: what was done."
)
@click.option("--task", help="What the file is for (fabula list tasks). Default: known by its shape.")
def command(
    file: Path,
    refs: tuple[Path, ...],
    format: str | None,
    refs_format: str | None,
    json_: Path | None,
    fix: Path | None,
    task: str | None,
) -> None:
    """Look for what is odd in FILE. Exit code 1 where there are errors, 2 where it cannot be read.

    \b
    fabula lint train.json
    fabula lint preds.json --refs val_1.json val_2.json --json lint.json --fix repaired.json
    fabula lint boxes.json --refs region_descriptions.json --format coco:xyxy
    fabula lint filled.csv --refs references.csv
    """
    if fix and fix.exists() and file.exists() and fix.samefile(file):
        raise SpecError("--fix writes a copy, never the file itself; give it another name")
    check_outputs([file, *refs], json_=json_, fix=fix)
    asked = room.Asked(file, refs, format, refs_format)
    kind = room.kind_of(asked, task)
    report, format_read = kind.look(asked)
    document: dict[str, Any] = {"file": str(file), "format": format_read}
    if fix:
        document |= mend(kind, asked, fix)
    document |= report.to_dict()
    if json_ and str(json_) != "-":
        dump_json(json_, document, indent=2)
    show(report, document, as_json=str(json_) == "-")
    sys.exit(0 if report.sound else 1)


def mend(kind: room.Kind, asked: room.Asked, target: Path) -> dict[str, Any]:
    """The repaired copy, and beside it what was done."""
    mended = kind.mend(asked, target)
    for line in mended.lost:
        say(f"warning: {line}", style="yellow")
    done = {"fixed": str(target), "format_written": mended.format, "lost": mended.lost, "fixes": list(mended.deeds)}
    dump_json(target.with_name(target.name + ".fixes.json"), done, indent=2)
    counts = Counter(deed["deed"] for deed in mended.deeds)
    what = "; ".join(f"{mended.meanings[deed]} {count:,} ×" for deed, count in counts.items()) or "nothing to mend"
    say(f"{target}: {what}")
    return done


def show(report: room.Report, document: dict[str, Any], as_json: bool = False) -> None:
    if as_json:
        print_json(document)
    elif sys.stdout.isatty():
        rich_table(report, document)
    else:
        tell(plain_lines(report))
    n = report.numbers
    told = f", {n['told']:.1%} of their time told" if "told" in n else ""
    met = f", {n['found']:,} of {n['references']:,} reference ids" if "found" in n else ""
    levels = ", ".join(f"{count:,} {level}" for level, count in document["levels"].items())
    what = f"{n['videos']:,} ids, {n['events']:,} captions or events{told}{met}"
    say(f"{document['file']} ({document['format']}): {what}: {levels}")


def plain_lines(report: room.Report) -> Iterator[str]:
    """level ⇥ check ⇥ count ⇥ first places ⇥ what it means."""
    for f in report.findings:
        yield "\t".join([f.level, f.check, str(len(f.places)), places(f), f.about]).replace("\n", " ")


def places(finding: room.Finding) -> str:
    more = ", …" if len(finding.places) > NAMED else ""
    return ", ".join(map(str, finding.places[:NAMED])) + more


def rich_table(report: room.Report, document: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=document["file"], title_justify="left", box=None, pad_edge=False, header_style="dim")
    for name in ("level", "check", "count", "where", "what it means", "fix"):
        table.add_column(name, justify="right" if name == "count" else "left", overflow="fold")
    for f in report.findings:
        level, check = Text(f.level, style=STYLES[f.level]), Text(f.check, style="bold")
        table.add_row(level, check, f"{len(f.places):,}", Text(places(f)), Text(f.about), f.fix or "")
    Console().print(table if report.findings else Text("nothing is odd", style="green"))
