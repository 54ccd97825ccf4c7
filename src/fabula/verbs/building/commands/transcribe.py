"""fabula transcribe: what is said in films, as subtitles, text or a store of lines."""

from __future__ import annotations

import time
from pathlib import Path

import click

from fabula.media.speech.options import TranscribeOptions
from fabula.verbs.terminal.console import print_note, show_progress, warn
from fabula.verbs.terminal.flags import flags, path_argument


@click.command("transcribe")
@path_argument("films", nargs=-1, required=True)
@flags(TranscribeOptions, into="options")
def command(films: tuple[Path, ...], options: TranscribeOptions) -> None:
    """Write down what is said in FILMS (files or folders), with times.

    \b
    fabula transcribe film.mp4                                    print the lines
    fabula transcribe film.mp4 -o film.srt                        or .vtt, .txt, .json
    fabula transcribe films/ -o lines.jsonl                       a line of JSON for each film
    fabula transcribe films/ -o subtitles/ --kind vtt             a file for each film
    fabula transcribe films/ -o lines.jsonl --resume              after a stop
    fabula transcribe film.mp4 --url http://127.0.0.1:8000/v1 -m whisper-large-v3 -o film.srt

    Subtitles beside a film or in it win over hearing. Without --url only English is heard, offline.
    """
    from fabula.media.speech.calls import format_transcript, transcribe_films

    began = time.perf_counter()
    with show_progress() as progress:
        done = transcribe_films(films, options, progress, warn)
    if options.out is None:
        for one in done.transcripts:
            if len(done.transcripts) > 1:
                click.echo(f"# {one.video}")
            click.echo(format_transcript(one, options.kind or "txt"), nl=False)
    where = f" → {options.out}" if options.out else ""
    speed = f": {done.speed()}" if done.seconds else ""
    print_note(
        f"{len(done.transcripts):,} films of {done.duration:,.0f} s, {done.lines:,} lines, {done.words:,} words{where} "
        f"({time.perf_counter() - began:,.1f} s{speed})"
    )
    if done.left_out:
        print_note(
            f"{len(done.left_out):,} films were left out, as --skip-bad says: {', '.join(list(done.left_out)[:3])}"
        )
