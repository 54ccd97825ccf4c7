"""fabula.read_signs: what is written in films, with times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fabula.core.notes import Progress, ignore, silent
from fabula.core.options import read_keywords, with_options
from fabula.media.signs.options import ReadOptions
from fabula.verbs.keywords import ReadSignsKeywords

if TYPE_CHECKING:
    from fabula.media.signs.calls import ReadFilms


@with_options(ReadOptions)
def read_signs(
    films: str | Path | Sequence[str | Path],
    *,
    options: ReadOptions | None = None,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[ReadSignsKeywords],
) -> ReadFilms:
    """Read the text in the pictures of films: files, or folders of them.

    Examples:

        >>> fabula.read_signs("inputs/sign.mp4").films[0].signs[0].text
        'BAKER STREET'
    """
    options = read_keywords("read_signs", keywords, options or ReadOptions)
    from fabula.media.signs import calls

    named = [films] if isinstance(films, (str, Path)) else films
    return calls.read_signs(named, options, progress, warn)
