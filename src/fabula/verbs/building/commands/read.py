"""fabula read: what is written in films, with times, confidence and kind."""

from __future__ import annotations

from pathlib import Path

import click

from fabula.data.transcripts import SignList
from fabula.media.pipeline import share_of
from fabula.media.signs.options import ReadOptions
from fabula.verbs.building.read_signs import read_signs
from fabula.verbs.terminal.console import print_lines, print_note, show_progress, warn
from fabula.verbs.terminal.flags import flags, path_argument


@click.command("read")
@path_argument("films", nargs=-1, required=True)
@flags(ReadOptions, into="options")
def command(films: tuple[Path, ...], options: ReadOptions) -> None:
    """Read the text in the pictures of FILMS: signs, logos, subtitles.

    FILMS are files or folders. Subtitles are those that are part of the pictures.

    \b
    fabula read film.mp4                          print the signs
    fabula read film.mp4 -o signs.json            or .srt, .vtt, .txt
    fabula read films/ -o signs.jsonl             a line a film; a folder takes a file a film
    fabula read films/ -o signs.jsonl --resume    after a stop

    The weights are PP-OCRv6's, in the package rapidocr (fabula[ocr]); nothing is downloaded when it runs.
    """
    with show_progress() as progress:
        done = read_signs(films, options=options, progress=progress, warn=warn)
    if options.out is None:
        for film in done.films:
            print_lines(list_signs(film))
    speed = f": {share_of(done.seconds)}" if done.seconds else ""
    target = "" if options.out is None else f" → {options.out}"
    read = f"{count(len(done.films), 'film')} of {done.duration:,.0f} s, {count(done.signs, 'sign')}"
    print_note(f"{read}{target} ({done.took:,.1f} s{speed})")
    if done.left_out:
        print_note(f"{count(len(done.left_out), 'film')} left out, as --skip-bad says")


def count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def list_signs(film: SignList) -> list[str]:
    """A line for each sign."""
    return [
        f"{film.video}  {sign.start:9.2f} {sign.end:9.2f}  {sign.kind:8}  {sign.confidence:.2f}  {sign.text}"
        for sign in film.signs
    ]
