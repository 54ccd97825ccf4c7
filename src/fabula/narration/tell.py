"""The stories of films: what `fabula.tell` and `fabula tell` call."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from fabula.core.errors import SpecError
from fabula.core.notes import Notes, Progress, ignore, silent
from fabula.jobs.folder import begin
from fabula.llm.fake import Reply
from fabula.media.extract import find_videos
from fabula.narration import fake
from fabula.narration.calls import Asking
from fabula.narration.companions import Library
from fabula.narration.options import TellOptions
from fabula.narration.outputs import check_outputs, plan_outputs, write_outputs
from fabula.narration.plan import TellPlan, plan_films
from fabula.narration.record import VERSION
from fabula.narration.run import Narrated, Work


def tell_films(
    films: Sequence[str | Path],
    options: TellOptions,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    reply: Reply = fake.reply,
) -> Narrated:
    """The stories of films (files, or folders of them); with `options.out` they are written."""
    options.check_server()
    asking, library, found = open_inputs(films, options, warn)
    planned = plan_outputs(options.out, options.to, found)
    with ExitStack() as stack:
        if options.work is not None:
            folder = options.work
        elif options.out:
            folder = options.out[0].with_name(f"{options.out[0].name}.work")
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "work"
        inside = [path for path in found.values() if path.resolve().is_relative_to(folder.resolve())]
        if inside:
            raise SpecError(f"{folder} holds films that are read ({inside[0].name}); name another --work")
        is_replay = options.replay is not None
        work = None if is_replay else begin(folder, {"tell": VERSION}, {}, resume=True)[0]
        check_outputs(planned, work, options.overwrite)
        run = Work(asking, library, folder, reply, progress, warn)
        narrated = run.run(found)
        notes = Notes()
        companions = {id: library.of_film(id) for id in narrated.films} if library.cast is not None else {}
        if planned and narrated.films:
            write_outputs(planned, narrated.films, companions, work, notes)
    for line in [*narrated.warnings, *notes.lines()]:
        warn(line)
    return narrated


def plan_stories(
    films: Sequence[str | Path],
    options: TellOptions,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
) -> TellPlan:
    """Calls, pictures and tokens, before anything is sent."""
    asking, library, found = open_inputs(films, options, warn)
    plan_outputs(options.out, options.to, found)
    return plan_films(found, asking, library, progress)


def open_inputs(
    films: Sequence[str | Path], options: TellOptions, warn: Callable[[str], None]
) -> tuple[Asking, Library, Mapping[str, Path]]:
    """What is wrong with settings, stores and names is said before any work."""
    asking = Asking(options)
    asking.source, asking.prompts  # noqa: B018  (read now)
    found = find_videos(films, warn)
    library = Library.load(options.lines, options.signs, options.people)
    if options.style == "descriptions" and options.lines is None:
        warn("no --lines are named: descriptions are placed as if nobody spoke")
    return asking, library, found
