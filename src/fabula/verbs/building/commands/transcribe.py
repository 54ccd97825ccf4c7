"""fabula transcribe: what is said in films, as subtitles, text or a store of lines."""

from __future__ import annotations

import time
from pathlib import Path

import click

from fabula.media.speech.options import TranscribeOptions
from fabula.report.film import count
from fabula.verbs.building.text_page import open_page
from fabula.verbs.terminal.console import print_note, show_progress, warn
from fabula.verbs.terminal.flags import flags, path_argument


@click.command("transcribe")
@path_argument("films", nargs=-1, required=True)
@flags(TranscribeOptions, into="options")
@click.option("--page", type=click.Path(path_type=Path), help="HTML page to write: the films play, the lines follow.")
@click.option("--signs", type=click.Path(path_type=Path), help="Signs of the films (fabula read), shown on the page.")
def command(films: tuple[Path, ...], options: TranscribeOptions, page: Path | None, signs: Path | None) -> None:
    """Write down what is said in FILMS (files or folders), with times.

    \b
    fabula transcribe film.mp4                                    print the lines
    fabula transcribe film.mp4 -o film.srt                        or .vtt, .txt, .json
    fabula transcribe films/ -o lines.jsonl                       a line of JSON for each film
    fabula transcribe films/ -o subtitles/ --kind vtt             a file for each film
    fabula transcribe films/ -o lines.jsonl --resume              after a stop
    fabula transcribe film.mp4 --page film.html                   a page that plays the film and its lines
    fabula transcribe film.mp4 --url http://127.0.0.1:8000/v1 -m whisper-large-v3 -o film.srt

    Subtitles beside a film or in it win over hearing. Without --url only English is heard, offline.
    """
    from fabula.media.speech.calls import format_transcript, transcribe_films

    film_page = open_page(films, options.out, page, signs=signs)
    began = time.perf_counter()
    with show_progress() as progress:
        done = transcribe_films(films, options, progress, warn)
    if options.out is None and page is None:
        for one in done.transcripts:
            if len(done.transcripts) > 1:
                click.echo(f"# {one.video}")
            click.echo(format_transcript(one, options.kind or "txt"), nl=False)
    where = f" → {options.out}" if options.out else ""
    speed = f": {done.speed()}" if done.seconds else ""
    print_note(
        f"{count(len(done.transcripts), 'film')} of {done.duration:,.0f} s, {count(done.lines, 'line')}, "
        f"{count(done.words, 'word')}{where} "
        f"({time.perf_counter() - began:,.1f} s{speed})"
    )
    if done.left_out:
        print_note(
            f"{count(len(done.left_out), 'film')} left out, as --skip-bad says: {', '.join(list(done.left_out)[:3])}"
        )
    if film_page is not None:
        film_page.write(done.videos, done.transcripts)
