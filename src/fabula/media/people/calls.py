"""People in videos: found, looked at, cut into clips; what `fabula people` calls besides corrections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fabula.core.errors import SpecError
from fabula.core.notes import Progress, ignore, silent
from fabula.media.devices import place_adapter
from fabula.media.extract import Plan
from fabula.media.options import choose_runner
from fabula.media.people.base import FaceModel, Look
from fabula.media.people.cast import Cast, check_store
from fabula.media.people.cluster import clusterer
from fabula.media.people.corrections import file_beside, read_steps
from fabula.media.people.detectors import detector
from fabula.media.people.embedders import embedder
from fabula.media.people.find import find_people as find
from fabula.media.people.options import CutOptions, FindOptions
from fabula.media.people.page import people_page
from fabula.media.people.streams import Cut, read_clips, shots_as_clips, write_streams

LISTED = 10  # people that info lists


def find_people(
    videos: Sequence[str | Path],
    options: FindOptions,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    report: Callable[[str], None] = ignore,
) -> Cast:
    """The people of videos (files, or folders of them), written as a store; corrections beside it are applied."""
    look = Look(fps=options.fps, shots=options.shots, side=options.side)
    faces = place_adapter(detector(options.detector, device=options.device))
    identities = place_adapter(embedder(options.embedder, device=options.device))
    single = len(videos) == 1 and not Path(videos[0]).is_dir()  # processed here, where its progress can be seen
    plan = Plan(
        out=options.out,
        overwrite=options.overwrite,
        work=options.work,
        resume=options.resume,
        skip_bad=options.skip_bad,
        licence=options.licence,
        runner=choose_runner(options, {faces.device, identities.device} == {"cpu"}, single),
    )
    cast = find(videos, FaceModel(faces, identities, look), clusterer(options.cluster), plan, progress, warn, report)
    return report_remarks(cast, warn)


def report_remarks(cast: Cast, warn: Callable[[str], None]) -> Cast:
    for line in cast.remarks:
        warn(line)
    return cast


def load_cast(store: str | Path, warn: Callable[[str], None] = ignore) -> Cast:
    """A store with its corrections; warns of those that no longer apply."""
    return report_remarks(Cast.load(store), warn)


def group_people(
    store: str | Path,
    out: str | Path,
    cluster: str = "linked",
    overwrite: bool = False,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
) -> Cast:
    """The faces of a store grouped anew, without a look at the videos; corrections beside `out` are applied."""
    check_store(Path(out), overwrite)
    Cast.load(store, corrected=False).cluster(cluster, progress).save(out, overwrite)
    return load_cast(out, warn)


def cut_people(store: str | Path, options: CutOptions, warn: Callable[[str], None] = ignore) -> Cut:
    """The streams `face` and `box` of clips, as `fabula train micap` reads them."""
    cast = load_cast(store, warn)
    if options.clips is not None and options.longest is not None:
        raise SpecError("--longest cuts shots; it has no effect with --clips")
    if options.longest is not None and not options.longest > 0:
        raise SpecError(f"--longest {options.longest:g}; it must be a positive number of seconds")
    clips = read_clips(options.clips) if options.clips is not None else shots_as_clips(cast, options.longest)
    ending = "" if options.kind == "folder" else f".{options.kind}"
    return write_streams(cast, clips, options.out, ending, options.overwrite)


def page_of(store: str | Path, title: str | None = None, warn: Callable[[str], None] = ignore) -> str:
    """The people of a store as one HTML document."""
    return people_page(load_cast(store, warn), title or f"People: {Path(store).stem}", str(store))


def describe_people(store: str | Path, warn: Callable[[str], None] = ignore) -> dict[str, object]:
    """How a store was made, and who is in it."""
    cast = load_cast(store, warn)
    faces = {p: int((cast.person == p).sum()) for p in cast.people()}
    people = sorted(faces, key=lambda p: (-faces[p], p))
    who = {
        cast.name(p): f"{faces[p]:,} faces, {len(cast.tracks_of(p)):,} tracks, {cast.seconds_of(p):.1f} s"
        for p in people[:LISTED]
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
