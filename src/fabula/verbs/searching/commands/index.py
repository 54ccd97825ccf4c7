"""fabula index: a folder of videos as a store of clips; said again, what has changed since."""

from __future__ import annotations

from pathlib import Path

import click

from fabula.library.options import IndexOptions
from fabula.media.pipeline import share_of
from fabula.verbs.searching.index import index
from fabula.verbs.terminal.console import print_note, show_training, warn
from fabula.verbs.terminal.flags import flags, path_argument


@click.command("index")
@path_argument("videos")
@flags(IndexOptions, into="options")
def command(videos: Path, options: IndexOptions) -> None:
    """Index the VIDEOS of a folder as a store of clips to search.

    \b
    fabula index videos/ --store store/                      run again: new, changed and deleted files
    fabula index videos/ --store store/ --with openclip:clip.safetensors --reembed
    fabula search "a dog in the water" --store store/

    Run the same command again to resume a stopped run; two runs at once share the work.
    """
    with show_training() as progress:
        done = index(videos, options=options, progress=progress, warn=warn)
    text = [
        f"{n:,} {what}" for n, what in ((done.new, "new"), (done.changed, "changed"), (done.removed, "deleted")) if n
    ]
    text += [f"{done.others:,} by another process"] if done.others else []
    text += [f"{done.left:,} changed while they were read: index again"] if done.left else []
    speed = f", {done.rate()}: {share_of(done.seconds)}" if done.frames else ""
    print_note(
        f"{done.videos:,} videos, {done.clips:,} clips → {options.store} ({', '.join(text) or 'nothing new'}{speed})"
    )
