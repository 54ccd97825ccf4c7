"""A store of clips in a browser: opened with all that it takes to ask it, and served until Ctrl-C."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fabula.core.errors import FabulaError, MissingExtra
from fabula.core.options import with_options
from fabula.library.options import SearchOptions
from fabula.verbs.keywords import SearchKeywords

if TYPE_CHECKING:
    from fabula.library.find import Searcher
    from fabula.library.store import Store
    from fabula.web.binding import Binding


@with_options(SearchOptions)
def serve(
    store: str | Path,
    binding: Binding | None = None,
    *,
    ready: Callable[[str, Store], None] | None = None,
    **keywords: Unpack[SearchKeywords],
) -> None:
    """Serve a store until Ctrl-C; `keywords` are what `fabula.search` is told of people, weights and a model.

    `ready` is called with the link and the store when it can be reached. Bound to this machine the link is
    the address; elsewhere it carries a token, new at every start.
    """
    from fabula.verbs.searching.search import open_searcher
    from fabula.web.binding import Binding as Where
    from fabula.web.binding import open_socket, run
    from fabula.web.media import check_folder
    from fabula.web.tokens import make_token

    try:
        from fabula.library.page.server import make_app, needs_token
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "starlette"):
            raise
        raise MissingExtra("fabula serve --store", "web") from None
    binding = binding or Where()
    token = make_token() if needs_token(binding) else None

    def reopen() -> Searcher:
        searcher = open_searcher(store=str(store), **keywords)
        hint = "index a folder of videos alone, or say where they are: fabula index VIDEOS --store DIR --moved"
        check_folder(searcher.store.root, store, hint)
        return warm(searcher)

    with open_socket(binding) as bound:  # a port that is taken is said before weights are loaded
        searcher = reopen()
        first = [searcher]  # opened again only when the store has become another
        app = make_app(lambda: first.pop() if first else reopen(), binding, token)
        host, port = bound.getsockname()[:2]
        if ready is not None:
            address = binding.origin or f"http://{f'[{host}]' if ':' in host else host}:{port}"
            ready(f"{address}/start?token={token}" if token else f"{address}/", searcher.store)
        run(app, bound)


def warm(searcher: Searcher) -> Searcher:
    """Weights and vectors are loaded before somebody waits for them."""
    with contextlib.suppress(FabulaError):  # whoever asks is told
        searcher.find("a person", 1)
    return searcher
