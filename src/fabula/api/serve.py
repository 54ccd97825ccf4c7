"""A store of clips in a browser: opened with all that it takes to ask it, and served until Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.core.errors import MissingExtra

if TYPE_CHECKING:
    from fabula.search.find import Searcher
    from fabula.web.binding import Binding


def open_searcher(store: str | Path, people: str | Path | None = None, weights: str | None = None) -> Searcher:
    """The store, the embedder of its recipe, and who is seen in its videos."""
    from fabula.search.embedders import rebuild
    from fabula.search.find import Searcher
    from fabula.search.store import Store

    opened = Store.open(store)
    embedder = rebuild(opened.recipe, weights or opened.manifest.weights)
    cast = None
    if people is not None:
        from fabula.features.people.cast import Cast

        cast = Cast.load(people)
    return Searcher(opened, embedder, cast=cast)


def serve(
    store: str | Path,
    binding: Binding | None = None,
    *,
    people: str | Path | None = None,
    weights: str | None = None,
    ready: Callable[[str, int], None] | None = None,
) -> None:
    """Serve a store until Ctrl-C; `ready` is called with the link and the number of clips when it can be reached.

    Bound to this machine the link is the address; elsewhere it carries a token, new at every start.
    """
    from fabula.web.binding import Binding as Where
    from fabula.web.binding import open_socket, run
    from fabula.web.tokens import make_token

    try:
        from fabula.search.server import make_app, needs_token
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "starlette"):
            raise
        raise MissingExtra("fabula serve --store", "web") from None
    binding = binding or Where()
    searcher = open_searcher(store, people, weights)
    first = [searcher]  # checked before the port is taken; opened again only when the store was embedded anew
    token = make_token() if needs_token(binding) else None
    app = make_app(lambda: first.pop() if first else open_searcher(store, people, weights), binding, token)
    bound = open_socket(binding)
    host, port = bound.getsockname()[:2]
    if ready is not None:
        address = binding.origin or f"http://{f'[{host}]' if ':' in host else host}:{port}"
        ready(f"{address}/start?token={token}" if token else f"{address}/", len(searcher.store))
    run(app, bound)
