"""fabula search: moments of a store of clips that answer a query; many queries at once; calibration; the index."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabula.core.errors import SpecError
from fabula.core.options import Options, option
from fabula.library.options import SearchOptions
from fabula.verbs.searching import search as api
from fabula.verbs.terminal.console import print_note, show_progress, warn
from fabula.verbs.terminal.flags import flags
from fabula.verbs.terminal.out import Shown, check_new, check_outputs, show

if TYPE_CHECKING:
    from fabula.library.find import SearchResult
    from fabula.library.store import Store

PICTURES = 12  # in a terminal, at most


@dataclass(frozen=True, kw_only=True)
class Outputs(Options):
    """What is asked beside one query, and what is written."""

    queries: Path | None = option(None, "File of queries, one JSON object per line, instead of QUERY; needs -o.")
    out: Path | None = option(None, "Answers to --queries, for fabula score --task moments.", "-o", writes=True)
    overwrite: bool = option(False, "Replace an existing file of -o.")
    calibrate: Path | None = option(None, "Calibrate the store on this file of queries with and without an answer.")
    plot: Path | None = option(
        None, "With --calibrate: reliability and trade-off as SVG.", writes=True, needs="calibrate"
    )
    build_index: bool = option(
        False, "Build an approximate index of a store of more than 100,000 clips; the search without one is exact."
    )
    probes: int | None = option(
        None, "With --build-index: lists that a query reads, a fifth by default.", needs="build_index"
    )
    html: Path | None = option(None, "Write a page with a picture of each moment.", writes=True)
    json_: Path | None = option(None, "Write JSON; - for standard output.", writes=True)
    no_pictures: bool = option(False, "Show no pictures in the terminal.")

    def check(self, query: str | None) -> None:
        """Refuse options that contradict each other or have no effect."""
        if query is not None:
            named = [f for f, v in (("--calibrate", self.calibrate), ("--build-index", self.build_index)) if v]
            named += ["--queries"] if self.queries else []
            if named:
                raise SpecError(f"{named[0]} asks no single query; leave {query!r} out, or {named[0]}")
        elif self.calibrate and (self.queries or self.build_index):
            raise SpecError("--calibrate brings its own queries; say --queries and --build-index in another call")
        elif not (self.calibrate or self.build_index or self.queries):
            raise SpecError('say what to look for: fabula search "a dog in the water" --store DIR')
        answers = self.queries is not None and not self.build_index
        if answers and self.out is None:
            raise SpecError("--queries writes its answers to a file; name it: -o answers.jsonl")
        if self.out is not None and not answers:
            raise SpecError("-o takes the answers to --queries; for one query say --json or --html")
        if query is None and (self.html or self.json_) and not self.calibrate:
            raise SpecError("--html and --json take the answer to one query")


@click.command("search")
@click.argument("query", required=False)
@flags(SearchOptions, into="options")
@flags(Outputs, into="outputs")
def command(query: str | None, options: SearchOptions, outputs: Outputs) -> None:
    """Find the moments that answer a QUERY, or report none.

    \b
    fabula search "a dog in the water" --store store/
    fabula search "2:golden retriever + pool.jpg − fruit" --store store/ --html found.html
    fabula search "a man opens a door then a dog runs out" --store store/ --video film.mp4
    fabula search --store store/ --calibrate queries.jsonl --plot calibration.svg
    fabula search "a whale" --store store/ --min-probability .5
    fabula search --store store/ --queries q.jsonl -o answers.jsonl

    A minus ranks similar clips lower; it removes none.
    """
    outputs.check(query)
    if query is not None:  # threads would wait for one another over one sentence; numpy is not loaded yet
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    check_outputs([outputs.queries, outputs.calibrate], outputs)
    if outputs.calibrate is not None:
        calibrate(outputs, options)
    elif outputs.build_index:
        build_index(outputs, options)
    elif outputs.queries is not None:
        ask_many(outputs.queries, outputs, options)
    else:
        assert query is not None
        ask_one(query, outputs, options)


def ask_one(query: str, outputs: Outputs, options: SearchOptions) -> None:
    from fabula.library import sheet
    from fabula.library.query import parse

    wanted = parse(query)
    searcher = api.open_searcher(options=options)
    found = searcher.find(wanted, **api.settings_of(options))
    if outputs.html is not None:
        from fabula.documents.files import write_text

        write_text(outputs.html, [sheet.search_page(found, searcher.store.thumb)])
    show(
        Shown(
            document=found.document,
            lines=lambda: sheet.lines(found),
            drawn=lambda: sheet.table(found),
            warnings=found.notes,
        ),
        outputs.json_,
    )
    if str(outputs.json_) != "-":
        if not outputs.no_pictures:
            show_pictures(found, searcher.store)
        print_note(f"{sheet.describe(found)} ({found.stage}: {found.why})")


def show_pictures(found: SearchResult, store: Store) -> None:
    """A picture a moment, where the terminal can."""
    from fabula.library.terminal import show as picture
    from fabula.library.terminal import way_of

    way = way_of(os.environ, sys.stdout.isatty())
    if way is None:
        return
    for n, m in enumerate(found.moments[:PICTURES]):
        if m.clips and (jpeg := store.thumb(m.clips[0])):
            sys.stdout.write(f"{n + 1}\n{picture(jpeg, way)}\n")
    sys.stdout.flush()


def ask_many(queries: Path, outputs: Outputs, options: SearchOptions) -> None:
    assert outputs.out is not None
    if not outputs.overwrite:
        check_new(outputs.out)
    from fabula.library.queries import answer_queries, read_queries_file

    wanted = read_queries_file(queries)
    searcher = api.open_searcher(options=options)
    with show_progress() as progress:
        count, nothing = answer_queries(searcher, wanted, outputs.out, progress, **api.settings_of(options))
    print_note(f"{count:,} queries, {nothing:,} answered with nothing → {outputs.out}")


def calibrate(outputs: Outputs, options: SearchOptions) -> None:
    assert outputs.calibrate is not None
    from fabula.library.queries import calibrate_store

    with show_progress() as progress:
        searcher = api.open_searcher(options=options, calibrated=False)
        built = calibrate_store(searcher, outputs.calibrate, progress)
    if outputs.plot is not None:
        from fabula.documents.files import write_text
        from fabula.report.drawing.panels import as_file

        write_text(outputs.plot, [as_file(built.figure)])
    if built.unknown:
        warn(f"the embedder knows no word of {built.unknown:,} queries; they find nothing")
    c = built.calibration
    lines = [
        f"map\t{c.kind} on {c.on}",
        f"ECE (10 equal-width bins)\t{built.ece:.4f}",
        f"nothing said at .5, without an answer\t{built.refused:.4f}",
        f"nothing said at .5, with an answer\t{built.lost:.4f}",
    ]
    document = {**c.about, "kind": c.kind, "on": c.on}
    show(Shown(document=lambda: document, lines=lambda: lines), outputs.json_)
    if str(outputs.json_) != "-":
        print_note(f"of {built.held_out:,} queries that were held out; kept in {options.store}")


def build_index(outputs: Outputs, options: SearchOptions) -> None:
    from fabula.library import ann
    from fabula.library.queries import read_queries_file

    searcher = api.open_searcher(options=options, calibrated=False)
    texts = None if outputs.queries is None else [one.text for one in read_queries_file(outputs.queries)]
    plan = ann.build(searcher.store, searcher.embedder, texts, probes=outputs.probes, say=print_note)
    print_note(f"{plan}; searches read it until {searcher.store.folder}/{ann.FILE} is removed")
