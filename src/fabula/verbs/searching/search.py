"""fabula.search: moments of a library of videos that answer a query, or nothing.

found = fabula.search("a dog jumps into the water", "store/")
found = fabula.search("2:golden retriever + pool.jpg − fruit", "store/", limit=5, min_probability=0.5)
searcher = open_searcher(store="store/"); searcher.find("a dog"); searcher.find("a man opens a door then a dog runs")
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from fabula.core.errors import SpecError
from fabula.core.notes import Progress, ignore, silent
from fabula.core.options import read_keywords, with_options
from fabula.library.options import SearchOptions
from fabula.verbs.keywords import SearcherKeywords, SearchKeywords

if TYPE_CHECKING:
    from fabula.library.ann import Plan
    from fabula.library.calibrate import Calibration
    from fabula.library.find import Searcher, SearchResult
    from fabula.library.store import Store
    from fabula.report.drawing.panels import Figure


@with_options(SearchOptions)
def search(
    query: str,
    store: str | Path | None = None,
    *,
    options: SearchOptions | None = None,
    **keywords: Unpack[SearchKeywords],
) -> SearchResult:
    """The moments of a store that answer a query best: text, pictures, plus and minus, `A then B`.

    Examples:

        >>> fabula.search("blue", "search/store", limit=2).moments[0].video
        'b.mkv'
    """
    named = {} if store is None else {"store": str(store)}
    options = read_keywords("search", {**keywords, **named}, options or SearchOptions)
    from fabula.library.query import parse

    asked = parse(query)  # before anything is opened
    return open_searcher(options=options).find(asked, **settings_of(options))


def settings_of(options: SearchOptions) -> dict[str, Any]:
    """What one question is asked with."""
    return {
        "limit": options.limit,
        "videos": options.video or None,
        "people": options.person or None,
        "length": options.length,
        "min_probability": options.min_probability,
    }


def open_store(where: str) -> Store:
    from fabula.library.store import Store

    return Store.open(where)


@with_options(SearchOptions)
def open_searcher(
    *, options: SearchOptions | None = None, calibrated: bool = True, **keywords: Unpack[SearcherKeywords]
) -> Searcher:
    """A store and its embedder, to be asked often."""
    options = read_keywords("open_searcher", keywords, options or SearchOptions)
    from fabula.library.embedders import rebuild
    from fabula.library.find import Searcher
    from fabula.media.devices import find_device, place_adapter

    store = open_store(options.store)
    weights = None if options.weights is None else str(options.weights)
    embedder = rebuild(store.recipe, weights or store.manifest.weights, options.device)
    embedder = place_adapter(embedder, embedder.text_library)
    cast = model = None
    if options.people is not None:
        from fabula.media.people.cast import Cast

        cast = Cast.load(options.people)
    if options.model is not None:
        from fabula.library.spans import Model

        device = find_device(options.device, "torch")
        model = Model(str(options.model), options.extract, device, options.other_features)
    made = Searcher(store, embedder, cast=cast, model=model)
    if not calibrated:
        made.calibration = None
    return made


def answer_queries(
    queries: str | Path, out: str | Path, options: SearchOptions, progress: Progress = silent
) -> tuple[int, int]:
    """Answer every query of a file, as `fabula score --task moments` reads it; how many, and how many with nothing."""
    from fabula.data.moments import VideoNumbers
    from fabula.io.moments import write_rankings
    from fabula.library.queries import answer, as_ranking, read_queries_file

    asked = read_queries_file(queries)
    searcher, numbers = open_searcher(options=options), VideoNumbers()
    counts = [0, 0]

    def rankings() -> Any:
        for one, found in answer(searcher, asked, progress, **settings_of(options)):
            counts[0] += 1
            counts[1] += found.nothing
            yield as_ranking(one.id, found, numbers)

    write_rankings(rankings(), numbers, out)
    return counts[0], counts[1]


@dataclass(frozen=True)
class Calibrated:
    """A calibration that was made, and how it does on the queries that were kept aside."""

    calibration: Calibration
    figure: Figure
    ece: float
    refused: float  # share of held-out queries without an answer to which "nothing" is said at .5
    lost: float  # share of those with one
    held_out: int
    unknown: int  # queries of which the embedder knows no word


def calibrate(queries: str | Path, options: SearchOptions, progress: Progress = silent, seed: int = 0) -> Calibrated:
    """Calibrate a store on queries with and without an answer: fitted to half of them, judged by the other half, kept
    beside the store."""
    import numpy as np

    from fabula.library import calibrate as c
    from fabula.library.queries import measure, read_queries_file

    asked = read_queries_file(queries)
    searcher = open_searcher(options=options, calibrated=False)
    if searcher.store.folder is None:
        raise SpecError("a calibration is kept in the store's folder; calibrate a copy in a folder")
    sample, unknown = measure(searcher, asked, queries, progress)
    rng = np.random.default_rng(seed)
    half = np.zeros(len(sample.present), bool)
    for kind in (True, False):  # half of each kind
        at = rng.permutation(np.flatnonzero(sample.present == kind))
        half[at[: len(at) // 2]] = True
    made, left = c.fit(sample.take(half), searcher.store.recipe, seed), sample.take(~half)
    p = made.many(left.score, left.lift)
    trade = c.trade_off(p, left.present, [0.5])[0]
    ece = c.calibration_error(p, left.present)
    told = {"ece": ece, "refused at .5": trade.refused, "lost at .5": trade.lost, "queries": len(p)}
    made = c.Calibration(
        made.kind, made.on, made.weights, made.knots, made.recipe, {**made.about, "held out": told, "unknown": unknown}
    )
    made.save(searcher.store.folder / c.FILE)
    figure = c.draw(p, left.present, "Calibration on queries that were held out")
    return Calibrated(made, figure, ece, trade.refused, trade.lost, len(p), unknown)


def build_index(options: SearchOptions, queries: str | Path | None = None, say: Callable[[str], None] = ignore) -> Plan:
    """Build the index of a large store, and measure it with texts: those of a file, or plain ones of ours."""
    from fabula.library import ann
    from fabula.library.queries import read_queries_file

    searcher = open_searcher(options=options, calibrated=False)
    texts = None if queries is None else [one.text for one in read_queries_file(queries)]
    return ann.build(searcher.store, searcher.embedder, texts, say=say)
