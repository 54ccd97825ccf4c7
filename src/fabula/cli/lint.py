"""fabula lint: what is odd in a file of annotations or predictions, and a repaired copy of it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from fabula import io
from fabula import lint as room
from fabula.cli._console import Several, say, tell
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.core.nouns import Corpus
from fabula.io import _files, coco, pairs
from fabula.io._fields import Source
from fabula.lint._examine import durations
from fabula.lint._repair import DEEDS

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
def command(
    file: Path,
    refs: tuple[Path, ...],
    format: str | None,
    refs_format: str | None,
    json_: Path | None,
    fix: Path | None,
) -> None:
    """Look for what is odd in FILE. Exit code 1 where there are errors, 2 where it cannot be read.

    \b
    fabula lint train.json
    fabula lint preds.json --refs val_1.json val_2.json --json lint.json --fix repaired.json
    """
    if fix and fix.exists() and file.exists() and fix.samefile(file):
        raise SpecError("--fix writes a copy, never the file itself; give it another name")
    document: dict[str, Any] = {"file": str(file)}
    stories = None if format == "captions" else read_stories(file, format)
    if stories is None:
        if fix:
            raise SpecError("--fix mends segments; single captions have none, and words are never touched")
        report = look_at_captions(file, refs)
        document["format"] = "captions"
    else:
        corpus, notes = stories
        sets = [io.read(path, refs_format)[0] for path in refs]
        report = room.examine(corpus, sets, notes)
        document["format"] = corpus.format
        if fix:
            document |= mend(corpus, sets, fix)
    document |= report.to_dict()
    if json_ and str(json_) != "-":
        _files.dump_json(json_, document, indent=2)
    show(report, document, as_json=str(json_) == "-")
    sys.exit(0 if report.sound else 1)


def mend(corpus: Corpus, sets: list[Corpus], target: Path) -> dict[str, Any]:
    """The repaired copy in the format that was read (Fabula's own where that cannot be written), and what was done."""
    repaired, deeds = room.repair(corpus, durations(corpus, sets))
    to = corpus.format if io.find(corpus.format)[0].write else "fabula"
    notes = io.write(repaired, target, to)
    for line in notes.lines():
        say(f"warning: {line}", style="yellow")
    done = {"fixed": str(target), "format_written": to, "lost": notes.lines(), "fixes": [d.to_dict() for d in deeds]}
    _files.dump_json(target.with_name(target.name + ".fixes.json"), done, indent=2)
    counts = Counter(d.deed for d in deeds)
    what = "; ".join(f"{DEEDS[deed]} {count:,} ×" for deed, count in counts.items()) or "nothing to mend"
    say(f"{target}: {what}")
    return done


def read_stories(path: Path, format: str | None) -> tuple[Corpus, Notes] | None:
    """The stories of a file, or None where it holds single captions."""
    try:
        return io.read(path, format)
    except InputError as error:
        if format is None and error.problem.endswith("no known format") and of_captions(path):
            return None
        raise


def of_captions(path: Path) -> bool:
    """Whether the file holds COCO results or annotations, or pairs."""
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        first: Any = next((entry for _, entry in io.objects(path)), None)
        return isinstance(first, dict) and {"refs", "cand"} <= first.keys()
    document = _files.load_json(path)
    entries = document.get("annotations") if isinstance(document, dict) else document
    first = entries[0] if isinstance(entries, list) and entries else None
    return isinstance(first, dict) and "image_id" in first and "caption" in first and "segments" not in first


def look_at_captions(path: Path, refs: tuple[Path, ...]) -> room.Report:
    notes = Notes()
    captions = said(path, notes)
    known = [id for ref in refs for id, _ in said(ref, notes)] if refs else None
    return room.examine_items(captions, known, notes)


def said(path: Path, notes: Notes) -> list[tuple[str | int, str | None]]:
    """Each caption with its id."""
    source = Source(io.usable(path), notes, noun="item")
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        return [(item.id, item.candidate) for item in pairs.items(io.objects(path), source)]
    document = _files.load_json(path)
    if isinstance(document, dict):
        return [(id, caption) for id, several in coco.references(document, source).items() for caption in several]
    if not isinstance(document, list):
        raise InputError("no file of captions", file=path, hint=f"it is {coco.RESULTS} or {coco.ANNOTATIONS}")
    return list(coco.results(document, source).items())


def show(report: room.Report, document: dict[str, Any], as_json: bool = False) -> None:
    if as_json:
        click.echo(json.dumps(document, ensure_ascii=True, indent=2))
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
