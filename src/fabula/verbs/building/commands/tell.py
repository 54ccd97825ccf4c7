"""fabula tell: the story of any film, with every frame, prompt and answer on record."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from fabula.core.errors import SpecError
from fabula.core.options import option
from fabula.narration.options import TellOptions
from fabula.verbs.terminal.console import Several, print_lines, print_note, show_training, warn
from fabula.verbs.terminal.endpoint import need_model
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.terminal.out import JsonOutput, Shown, check_outputs, show

UNFINISHED = 3  # exit code of a run that leaves something to do


@dataclass(frozen=True, kw_only=True)
class InsteadOptions(JsonOutput):
    """What is done instead of a story."""

    plan: bool = option(False, "Print calls, pictures and tokens, and send nothing.")
    offline: bool = option(False, "Ask no model: shots, lines, signs, people and objects of the films.")


@click.command("tell", cls=Several)
@path_argument("films", nargs=-1, required=True)
@flags(TellOptions, into="options")
@flags(InsteadOptions, into="instead")
def command(films: tuple[Path, ...], options: TellOptions, instead: InsteadOptions) -> None:
    """Tell the story of FILMS with a vision-language model.

    FILMS are files or folders. Every frame, prompt and answer goes on record.

    \b
    fabula tell film.mp4 --url http://127.0.0.1:8000/v1 -m qwen2.5-vl --plan       what it takes; nothing is sent
    fabula tell film.mp4 --url http://127.0.0.1:8000/v1 -m qwen2.5-vl -o story.json page.html story.srt
    fabula tell films/ --url URL -m M -o stories --to submission,vtt,otio,page     a folder; run again to resume
    fabula tell film.mp4 --url URL -m M --style chapters -o film.vtt film.ffmeta
    fabula tell film.mp4 --url URL -m M --people people.npz --lines lines.jsonl --signs signs.jsonl -o page.html
    fabula tell films/ --url URL -m M --budget 5 --price 0.15/0.60 -o stories
    fabula tell film.mp4 --offline -o film.html                                    without a model

    Run the same command again to resume. Exit code 3: something is left to do.
    """
    if instead.plan and instead.offline:
        raise SpecError("--plan and --offline: say one of them")
    if instead.json_ is not None and not (instead.plan or instead.offline):
        raise SpecError("--json only applies with --plan or --offline; -o story.record.json has everything of a story")
    check_outputs([*films, options.replay], options)
    check_outputs(films, instead)
    if instead.offline:
        look(films, options, instead)
    elif instead.plan:
        from fabula.narration.tell import plan_stories

        with show_training() as progress:
            found = plan_stories(films, options, progress, warn)
        show(Shown(document=found.to_dict, lines=found.lines), instead.json_)
    else:
        options.check_server()
        need_model(options, TellOptions)
        report(films, options)


def look(films: tuple[Path, ...], options: TellOptions, instead: InsteadOptions) -> None:
    """What is found without a model."""
    from fabula.narration.offline import look_at_films

    if options.has_server or options.replay:
        raise SpecError("--offline asks no server; leave out --url and --replay")
    with show_training() as progress:
        found = look_at_films(films, options, progress, warn)
    show(Shown(document=found.to_dict, lines=found.lines), instead.json_)


def report(films: tuple[Path, ...], options: TellOptions) -> None:
    from fabula.verbs.building.tell import tell

    with show_training() as progress:
        done = tell(films, options=options, progress=progress, warn=warn)
    stories = done.films.values()
    if not options.out:
        for film in stories:
            print_lines([f"# {film.title or film.id}"] if len(done.films) > 1 or film.title else [])
            print_lines(f"{event.start:9.2f} {event.end:9.2f}  {event.caption}" for event in film.events)
    where = f" → {', '.join(map(str, options.out))}" if options.out else ""
    cost = f", {done.spent:.4f} spent in all" if options.price else ""
    events = sum(len(film.events) for film in stories)
    print_note(f"{len(done.films):,} films, {events:,} events{where} ({done.answered:,} calls answered now{cost})")
    if done.unread:
        warn(f"{done.unread:,} lines or entries of answers gave no event; the record (.record.json) has them")
    for film in [film for film in stories if not film.complete][:3]:
        failed = film.record["counts"]["windows failed"]
        why = f"{failed:,} of its windows got no answer ({film.failure})"
        warn(f"{film.id}: {why}; run the same command again to ask for them")
    for id, why in list(done.refused.items())[:3]:
        warn(f"{id!r} was left out: {why}")
    if done.stopped:
        warn(f"stopped: {done.stopped}; {len(done.left):,} films are left; run the same command again to resume")
    if not done.finished:
        sys.exit(UNFINISHED)
