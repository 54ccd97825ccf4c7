"""fabula.index: a folder of videos as a store of clips that can be searched; said again, what has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fabula.core.notes import Progress, ignore, silent
from fabula.core.options import read_keywords, with_options
from fabula.library.options import IndexOptions
from fabula.verbs.keywords import IndexKeywords

if TYPE_CHECKING:
    from fabula.library.index import Indexed


@with_options(IndexOptions)
def index(
    videos: str | Path,
    *,
    options: IndexOptions | None = None,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[IndexKeywords],
) -> Indexed:
    """Bring a store of clips up to date with a folder of videos: new, changed and deleted files.

    Examples:

        >>> fabula.index("inputs/films", store="store", processes=1).clips
        5
    """
    options = read_keywords("index", keywords, options or IndexOptions)
    from fabula.jobs.runner import InProcess
    from fabula.library.generations import prepare, take_over
    from fabula.library.index import Plan, bring_up
    from fabula.media.options import choose_runner

    store, found, look = prepare(videos, options, warn)
    runner = choose_runner(options, look.embedder.device == "cpu") if len(found) > 1 else InProcess()
    plan = Plan(runner=runner, retry=options.retry, skip_bad=options.skip_bad, progress=progress, warn=warn)
    done = bring_up(store, found, look, plan)
    if options.reembed:
        take_over(store)
    return done
