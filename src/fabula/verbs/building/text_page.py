"""The page that `transcribe --page` and `read --page` write: films that play, with their lines and signs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from fabula.core.errors import SpecError
from fabula.data.transcripts import SignList, Transcript
from fabula.documents.files import write_text
from fabula.io.subtitles import read_signs, read_transcripts
from fabula.report.lines import lines_page, pair_up
from fabula.verbs.terminal.console import print_note, warn
from fabula.verbs.terminal.out import check_outputs

T = TypeVar("T", Transcript, SignList)


@dataclass(frozen=True)
class TextPage:
    """A page to write, and what another run has found in the same films."""

    path: Path
    transcripts: Sequence[Transcript] = ()
    signs: Sequence[SignList] = ()

    def write(
        self, videos: Mapping[str, Path], transcripts: Sequence[Transcript] = (), signs: Sequence[SignList] = ()
    ) -> None:
        """The films of this run; what is stored of other films is left out."""
        spoken = [*transcripts, *match_films(self.transcripts, videos)]
        written = [*signs, *match_films(self.signs, videos)]
        heads = {(True, True): "What is said and written", (True, False): "What is said"}
        title = heads.get((bool(spoken), bool(written)), "What is written")
        write_text(self.path, [lines_page(pair_up(spoken, written, dict(videos)), title, folder=self.path.parent)])
        print_note(f"→ {self.path}")


def match_films(stored: Sequence[T], videos: Mapping[str, Path]) -> list[T]:
    """Those of these films by id; of one film alone, whatever it is called."""
    if len(stored) == len(videos) == 1:
        return [replace(stored[0], video=next(iter(videos)))]
    found = [one for one in stored if one.video in videos]
    if left_out := len(stored) - len(found):
        warn(f"{left_out:,} of {len(stored):,} stored films are none of these and were left out of the page")
    return found


def open_page(
    films: Sequence[Path],
    out: Path | None,
    page: Path | None,
    *,
    lines: Path | None = None,
    signs: Path | None = None,
) -> TextPage | None:
    """What is stored is read before any work, so that a wrong file costs a line at once."""
    stored = lines or signs
    check_outputs([*films, stored, out], None, **{"--page": page})
    if page is not None and out is not None and page.resolve() == out.resolve():
        raise SpecError(f"--out and --page both write {page}; give one another name")
    if page is None:
        if stored is not None:
            raise SpecError(f"{'--lines' if lines else '--signs'} only applies with --page")
        return None
    transcripts: Sequence[Transcript] = ()
    written: Sequence[SignList] = ()
    if lines is not None:
        transcripts, notes = read_transcripts(lines)
    elif signs is not None:
        written, notes = read_signs(signs)
    for line in notes.lines() if stored is not None else ():
        warn(line)
    return TextPage(page, transcripts, written)
