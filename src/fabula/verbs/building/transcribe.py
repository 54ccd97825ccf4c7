"""fabula.transcribe: what is said in films, with times; from their subtitles, or heard here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fabula.core.notes import Progress, ignore, silent
from fabula.core.options import read_keywords, with_options
from fabula.media.speech.options import TranscribeOptions
from fabula.verbs.keywords import TranscribeKeywords

if TYPE_CHECKING:
    from fabula.data.transcripts import Transcript


@with_options(TranscribeOptions)
def transcribe(
    films: str | Path | Sequence[str | Path],
    *,
    options: TranscribeOptions | None = None,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[TranscribeKeywords],
) -> list[Transcript]:
    """The lines that are spoken in films (files, or folders of them), in the order of their ids; written to `out`.

    Subtitles beside a film or in it win over hearing; what is not heard as English gives no lines.

    Examples:

        >>> _ = Path("inputs/films/a.srt").write_text("1\\n00:00:00,500 --> 00:00:01,500\\nGood morning.\\n")
        >>> (transcript,) = fabula.transcribe("inputs/films/a.mkv")
        >>> transcript.lines[0].text, transcript.lines[0].start, transcript.source
        ('Good morning.', 0.5, 'subtitles a.srt')
    """
    options = read_keywords("transcribe", keywords, options or TranscribeOptions)
    from fabula.media.speech.calls import transcribe_films

    named = [films] if isinstance(films, str | Path) else list(films)
    return transcribe_films(named, options, progress, warn).transcripts
