"""fabula people: who is in videos; found, shown by faces, put right by hand, cut into clips for MICap."""

from __future__ import annotations

from pathlib import Path

import click

from fabula.core.errors import InputError
from fabula.documents.files import write_text
from fabula.media.people import calls, corrections
from fabula.media.people.options import CutOptions, FindOptions
from fabula.verbs.terminal.console import VerbGroup, print_note, show_progress, warn
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.terminal.out import Shown, check_outputs, show
from fabula.verbs.training.commands.features import list_lines


@click.group("people", cls=VerbGroup)
def command() -> None:
    """Find people in videos by their faces, and correct the result."""


@command.command()
@path_argument("videos", nargs=-1, required=True)
@flags(FindOptions, into="options")
def find(videos: tuple[Path, ...], options: FindOptions) -> None:
    """Find the people in VIDEOS (files or folders): shots, faces, tracks, people.

    \b
    fabula people find film.mp4 -o people.npz
    fabula people find videos/ -o people.npz --detector yunet:yunet.onnx --embedder sface:sface.onnx
    fabula people find videos/ -o people.npz --resume       after a stop

    The default weights are InsightFace's, from fabula[faces], for non-commercial research only.
    """
    speed: list[str] = []
    with show_progress() as progress:
        cast = calls.find_people(videos, options, progress, warn, speed.append)
    tracks = len(set(cast.faces.track.tolist()))
    seconds = sum(one.duration for one in cast.videos)
    print_note(
        f"{len(cast.videos):,} videos of {seconds:,.0f} s, {len(cast):,} faces in {tracks:,} tracks, "
        f"{len(cast.people()):,} people → {options.out} ({speed[0]})"
    )
    if nobody := int((cast.person < 0).sum()):
        print_note(f"{nobody:,} faces are nobody's, as the noise rule says")
    if left_out := cast.metadata.get("left_out"):
        print_note(f"{len(left_out):,} videos were left out, as --skip-bad says; the manifest names them")


@command.command("show")
@path_argument("store")
@click.option("--page", "-o", type=click.Path(path_type=Path), required=True, help="HTML file to write.")
@click.option("--title", help="Title of the page. Default: the store's name.")
def show_(store: Path, page: Path, title: str | None) -> None:
    """Write a page with the people of a STORE: faces by person, with their numbers.

    \b
    fabula people show people.npz --page people.html
    """
    check_outputs([store], None, **{"--page": page})
    write_text(page, [calls.page_of(store, title, warn)])
    print_note(f"→ {page}")


@command.command()
@path_argument("store")
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write JSON; - for standard output.")
def info(store: Path, json_: Path | None) -> None:
    """Show who is in a STORE, how it was made, and the licence of its weights.

    \b
    fabula people info people.npz
    """
    found = calls.describe_people(store, warn)
    show(Shown(document=lambda: found, lines=lambda: list_lines(found)), json_)


@command.command()
@path_argument("store")
@click.argument("people", nargs=-1, type=int, required=True)
def merge(store: Path, people: tuple[int, ...]) -> None:
    """Merge PEOPLE of a STORE, by number, into one person.

    \b
    fabula people merge people.npz 2 5
    """
    cast = corrections.merge(store, people)
    print_note(f"one person now: {cast.name(min(people))}; {len(cast.people()):,} people")


@command.command()
@path_argument("store")
@click.argument("person", type=int)
@click.option("--tracks", required=True, help="Numbers of the tracks of the new person: 14,17.")
def split(store: Path, person: int, tracks: str) -> None:
    """Split some tracks of a PERSON off as a new person.

    \b
    fabula people split people.npz 2 --tracks 14,17
    """
    cast = corrections.split(store, person, read_numbers(tracks))
    print_note(f"new: person {max(cast.people())}; {len(cast.people()):,} people")


def read_numbers(text: str) -> list[int]:
    """`14,17` as numbers."""
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InputError(f"--tracks {text!r} are not numbers", hint="write them with commas: 14,17") from None


@command.command()
@path_argument("store")
@click.argument("person", type=int)
@click.argument("called")
def name(store: Path, person: int, called: str) -> None:
    """Give a PERSON of a STORE a name.

    \b
    fabula people name people.npz 2 "Anna"
    """
    corrections.name(store, person, called)
    print_note(f"person {person} is called {called}")


@command.command()
@path_argument("store")
def undo(store: Path) -> None:
    """Undo the last correction of a STORE."""
    print_note(f"undone: {corrections.undo(store)['do']}")


@command.command()
@path_argument("store")
@click.option("--cluster", default="linked", show_default=True, help="linked, linked(eps=0.6,noise=drop), dbscan …")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Store to write.")
@click.option("--overwrite", is_flag=True, help="Replace an existing store; it may be STORE itself.")
def group(store: Path, cluster: str, out: Path, overwrite: bool) -> None:
    """Group the faces of a STORE again without reading the videos; the corrections of OUT are applied again.

    \b
    fabula people group people.npz --cluster "dbscan(eps=0.75)" -o paper.npz
    """
    with show_progress() as progress:
        cast = calls.group_people(store, out, cluster, overwrite, progress, warn)
    print_note(f"{len(cast.people()):,} people, {cast.impossible():,} impossible merges → {out}")


@command.command()
@path_argument("store")
@flags(CutOptions, into="options")
def cut(store: Path, options: CutOptions) -> None:
    """Cut the people of a STORE into clips: the streams face and box that MICap reads.

    \b
    fabula people cut people.npz --clips clips.jsonl -o streams/
    fabula train micap --data sets/ --features streams/ …
    """
    built = calls.cut_people(store, options, warn)
    faces = sum(map(len, built.face.values()))
    if not built.face:
        print_note(f"no face in any of {len(built.empty):,} clips: nothing was written")
        return
    print_note(f"{faces:,} faces in {len(built.face):,} clips, {len(built.empty):,} clips without one → {options.out}")
    if built.nobody:
        print_note(f"{built.nobody:,} faces are nobody's and were left out")
