"""fabula.tell: the story of any film, from a vision-language model behind an OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fabula.core.notes import Progress, ignore, silent
from fabula.core.options import read_keywords, with_options
from fabula.narration.options import TellOptions
from fabula.verbs.keywords import TellKeywords

if TYPE_CHECKING:
    from fabula.narration.run import Narrated


@with_options(TellOptions)
def tell(
    films: str | Path | Sequence[str | Path],
    *,
    options: TellOptions | None = None,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[TellKeywords],
) -> Narrated:
    """The stories of films (files, or folders of them); with `out` they are written as files, by their endings.

    A run that stopped goes on when it is called again: no answered call is asked twice.

    Examples:

        >>> stories = fabula.tell("inputs/films/a.mkv", url="fake:", shots="none")
        >>> stories.films["a"].events[0].caption
        'Something happens.'
    """
    options = read_keywords("tell", keywords, options or TellOptions)
    from fabula.narration.tell import tell_films

    named = [films] if isinstance(films, str | Path) else list(films)
    return tell_films(named, options, progress, warn)
