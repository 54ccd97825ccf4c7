"""fabula.search: moments of a library of videos that answer a query, or nothing.

found = fabula.search("a dog jumps into the water", "store/")
found = fabula.search("2:golden retriever + pool.jpg − fruit", "store/", limit=5, min_probability=0.5)
searcher = open_searcher(store="store/"); searcher.find("a dog"); searcher.find("a man opens a door then a dog runs")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from fabula.core.options import read_keywords, with_options
from fabula.library.options import SearchOptions
from fabula.verbs.keywords import SearcherKeywords, SearchKeywords

if TYPE_CHECKING:
    from fabula.library.find import Searcher, SearchResult


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


@with_options(SearchOptions)
def open_searcher(
    *, options: SearchOptions | None = None, calibrated: bool = True, **keywords: Unpack[SearcherKeywords]
) -> Searcher:
    """A store and its embedder, to be asked often."""
    options = read_keywords("open_searcher", keywords, options or SearchOptions)
    from fabula.library.embedders import rebuild
    from fabula.library.find import Searcher
    from fabula.library.store import Store
    from fabula.media.devices import find_device, place_adapter

    store = Store.open(options.store)
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
