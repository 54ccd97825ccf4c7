"""People in videos, found, looked at, put right, cut into clips: a call for each command of `fabula people`.

find_people(…) · load_cast(…) · group_people(…) · cut_people(…) · page_of(…) · describe_people(…)
merge_people(…) · split_person(…) · name_person(…) · undo_correction(…)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, ignore, silent
from fabula.core.options import read_keywords, with_options
from fabula.media.people.options import CutOptions, FindOptions
from fabula.verbs.keywords import CutKeywords, FindKeywords

if TYPE_CHECKING:
    from fabula.jobs.runner import Runner
    from fabula.media.people.cast import Cast
    from fabula.media.people.streams import Cut

SAID = 10  # people that info lists


@with_options(FindOptions)
def find_people(
    videos: Sequence[str | Path],
    *,
    options: FindOptions | None = None,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[FindKeywords],
) -> Cast:
    """The people of videos (files, or folders of them), written as a store; corrections beside it are applied."""
    options = read_keywords("find_people", keywords, options or FindOptions)
    from fabula.media.devices import place_adapter
    from fabula.media.extract import Plan
    from fabula.media.people.base import FaceModel, Look
    from fabula.media.people.cluster import clusterer
    from fabula.media.people.detectors import detector
    from fabula.media.people.embedders import embedder
    from fabula.media.people.find import find_people as find

    look = Look(fps=options.fps, shots=options.shots, side=options.side)
    finds = place_adapter(detector(options.detector, device=options.device))
    knows = place_adapter(embedder(options.embedder, device=options.device))
    model = FaceModel(finds, knows, look)
    plan = Plan(
        out=options.out,
        overwrite=options.overwrite,
        work=options.work,
        resume=options.resume,
        skip_bad=options.skip_bad,
        licence=options.licence,
        runner=choose_runner(options, videos, {finds.device, knows.device}),
    )
    made = find(videos, model, clusterer(options.cluster), plan, progress, warn)
    for line in made.remarks:
        warn(line)
    return made


def choose_runner(options: FindOptions, videos: Sequence[str | Path], devices: set[str]) -> Runner:
    """Where videos are worked on; one video is looked at here, where its progress can be seen."""
    from fabula._kernels import processors
    from fabula.jobs.runner import InProcess, runner_named

    if options.engine == "ray":
        if options.processes is not None:
            raise SpecError("--processes has no effect with Ray; leave it out")
        return runner_named("ray", options.address)
    if options.address is not None:
        raise SpecError("--address names a Ray cluster; say --engine ray")
    alone = len(videos) == 1 and not Path(videos[0]).is_dir()
    count = options.processes or (processors() if devices == {"cpu"} and not alone else 1)
    if count == 1:
        return InProcess()
    from fabula.jobs.processes import Processes

    return Processes(count)


def load_cast(store: str | Path, warn: Callable[[str], None] = ignore) -> Cast:
    """A store with its corrections; those that no longer apply are told."""
    from fabula.media.people.cast import Cast

    made = Cast.load(store)
    for line in made.remarks:
        warn(line)
    return made


def group_people(
    store: str | Path,
    out: str | Path,
    cluster: str = "linked",
    overwrite: bool = False,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
) -> Cast:
    """The faces of a store grouped anew, without a look at the videos; corrections beside `out` are applied."""
    from fabula.media.people.cast import Cast, check_store

    check_store(Path(out), overwrite)
    Cast.load(store, corrected=False).cluster(cluster, progress).save(out, overwrite)
    return load_cast(out, warn)


@with_options(CutOptions)
def cut_people(
    store: str | Path,
    *,
    options: CutOptions | None = None,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[CutKeywords],
) -> Cut:
    """The streams `face` and `box` of clips, as `fabula train micap` reads them."""
    options = read_keywords("cut_people", keywords, options or CutOptions)
    from fabula.media.people.streams import read_clips, shots_as_clips, write_streams

    cast = load_cast(store, warn)
    if options.clips is not None and options.longest is not None:
        raise SpecError("--longest cuts shots; with --clips it says nothing")
    if options.longest is not None and not options.longest > 0:
        raise SpecError(f"--longest {options.longest:g}; a clip has some length")
    clips = read_clips(options.clips) if options.clips is not None else shots_as_clips(cast, options.longest)
    ending = "" if options.kind == "folder" else f".{options.kind}"
    return write_streams(cast, clips, options.out, ending, options.overwrite)


def page_of(store: str | Path, title: str | None = None, warn: Callable[[str], None] = ignore) -> str:
    """The people of a store as one HTML document."""
    from fabula.media.people.page import people_page

    return people_page(load_cast(store, warn), title or f"People: {Path(store).stem}", str(store))


def merge_people(store: str | Path, people: Sequence[int]) -> Cast:
    """These are one person."""
    from fabula.media.people.corrections import merge

    return merge(store, people)


def split_person(store: str | Path, person: int, tracks: Sequence[int]) -> Cast:
    """These tracks of a person are somebody else."""
    from fabula.media.people.corrections import split

    return split(store, person, tracks)


def name_person(store: str | Path, person: int, name: str) -> Cast:
    """This person is called so."""
    from fabula.media.people.corrections import name as say

    return say(store, person, name)


def undo_correction(store: str | Path) -> str:
    """The last correction, taken back; which it was."""
    from fabula.media.people.corrections import undo

    return str(undo(store)["do"])


def describe_people(store: str | Path, warn: Callable[[str], None] = ignore) -> dict[str, Any]:
    """What a store says of itself, and who is in it."""
    from fabula.media.people.corrections import file_beside, read_steps

    cast = load_cast(store, warn)
    people = sorted(cast.people(), key=lambda p: (-int((cast.person == p).sum()), p))
    who = {
        cast.name(p): f"{int((cast.person == p).sum()):,} faces, {len(cast.tracks_of(p)):,} tracks, "
        f"{cast.seconds_of(p):.1f} s"
        for p in people[:SAID]
    }
    return {
        "store": str(store),
        "videos": len(cast.videos),
        "faces": len(cast),
        "tracks": len(set(cast.faces.track.tolist())),
        "people": len(people),
        "nobody": int((cast.person < 0).sum()),
        "impossible merges": cast.impossible(),
        "corrections": len(read_steps(file_beside(store))),
        "too small, passed over": sum(int(v.about.get("too_small", 0)) for v in cast.videos),
        "without a face": [v.id for v in cast.videos if not v.about.get("faces", 1)],
        "who": who,
        **cast.metadata,
    }


def check_numbers(text: str, what: str) -> list[int]:
    """`14,17` as numbers."""
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InputError(f"{what} {text!r} are not numbers", hint="write them with commas: 14,17") from None
