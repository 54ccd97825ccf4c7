"""Raw films as videosets: shots are clips, people a cast, features are extracted like those of the run.

clips     the shots of a film, long ones in parts
face, box the cast's, found as the run's were; or a cast that was found (and named, corrected) before
frame     of each clip those features of the film whose stretch has its middle in the clip; where there is none,
action    the one whose stretch the clip's middle lies in
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, Progress, silent
from fabula.documents.fields import JsonDict, JsonObject
from fabula.io.identity.captionsets import SetText
from fabula.learn.identity.clips import Streams
from fabula.learn.identity.videosets import Floats
from fabula.media.stores.features import list_differences

if TYPE_CHECKING:
    from fabula.media.people import Cast, Clip

LEAST_SHARE = 0.3  # of the attention of a person's tokens; below it the person has no face
PICTURES = 3  # small pictures of a person


class ClipArrays(dict[str, Floats]):
    """Features by clip, as a store has them, in memory."""

    def __init__(self, arrays: Mapping[str, Floats], dim: int) -> None:
        super().__init__(arrays)
        self.dim = dim
        self.metadata: JsonDict = {}

    def count(self, clip: str) -> int:
        return len(self[clip]) if clip in self else 0


class FilmStreams(Streams):
    """Streams of clips whose features are in memory."""

    def __init__(self, stores: Mapping[str, ClipArrays], path: Path) -> None:
        self.path, self.files = path, dict.fromkeys(stores, path)
        self.cache, self.size = {}, 0
        self.__dict__["stores"] = dict(stores)


@dataclass(frozen=True)
class Films:
    """Raw films with their clips, people and features."""

    paths: dict[str, Path]  # by stem
    clips: dict[str, list[Clip]]  # by film
    cast: Cast | None  # None: the run sees no faces
    streams: FilmStreams
    recipes: JsonObject  # of the run's features

    def sets(self) -> dict[str, SetText]:
        """A film is one captionset, however long."""
        return {film: SetText(None, clips=tuple(clip.id for clip in shots)) for film, shots in self.clips.items()}


def read_films(
    paths: Sequence[Path],
    recipes: JsonObject,
    streams: Sequence[str],
    *,
    people: Path | None = None,
    longest: float = 6.0,
    weights: Mapping[str, str] | None = None,
    notes: Notes,
    watch: Progress = silent,
) -> Films:
    """Decode, cut, find people, extract features; `streams` are those that the model reads."""
    for stem, times in Counter(path.stem for path in paths).items():
        if times > 1:
            raise InputError(f"{times} films have this name", video=stem, hint="rename them, or predict one at a time")
    for stream in streams:
        if stream != "text" and not isinstance(recipes.get(stream), dict):
            raise SpecError(
                f"the run does not say how its {stream} features were made, so a film cannot be processed alike; "
                "train on stores of fabula features and fabula people, or give --data and --features"
            )
    from fabula.media import extract_one, rebuild  # only where films are looked at
    from fabula.media.cut import cut_features
    from fabula.media.people import cut_cast, shots_as_clips

    files = {path.stem: path for path in paths}
    makers = {s: rebuild(recipes[s], (weights or {}).get(s)) for s in ("frame", "action") if s in streams}
    cast = find_films(paths, recipes.get("face") if "face" in streams else None, people, notes, watch)
    every = shots_as_clips(cast, longest)
    clips = {film: [clip for clip in every if clip.video == film] for film in files}
    stores: dict[str, ClipArrays] = {}
    if "face" in streams:
        size = recipes["face"].get("box_size")
        cut = cut_cast(cast, [clip for shots in clips.values() for clip in shots], tuple(size) if size else None)
        stores |= {"face": ClipArrays(cut.face, cast.dim), "box": ClipArrays(cut.box, 6)}
        if not cut.face:
            notes.add("no face was found: captions name people without having seen one")
    for stream, maker in makers.items():
        features: dict[str, Floats] = {}
        for film, path in files.items():
            watch(f"{stream} features of {path.name}", 0, 0)
            x, _ = extract_one(path, maker)
            features |= {clip.id: cut_features(x, maker.rate, clip.start, clip.end) for clip in clips[film]}
        stores[stream] = ClipArrays(features, maker.dim)
    return Films(files, clips, cast, FilmStreams(stores, paths[0]), {s: recipes[s] for s in streams if s in recipes})


def find_films(
    paths: Sequence[Path], recipe: JsonObject | None, people: Path | None, notes: Notes, watch: Progress
) -> Cast:
    """The cast of films: one that is given, if its faces were found as the run's, or found now."""
    from fabula.media.people import Cast, find_cast, rebuild_faces

    if people is None and recipe is None:  # shots alone
        return shots_alone(paths)
    if people is not None:
        cast = Cast.load(people)
        for path in paths:
            cast.video_index(path.stem)
        for remark in cast.remarks:
            notes.add(remark)
        run = {k: v for k, v in (recipe or {}).items() if k not in ("cluster", "box_size")}
        if recipe is not None and run != cast.recipe:
            raise InputError(
                f"faces found in another way than the run's: {', '.join(list_differences(run, cast.recipe))}",
                file=people,
                hint="find the people as the run's were found, or leave --cast out",
            )
        return cast
    assert recipe is not None
    cluster_settings = recipe.get("cluster")
    return find_cast(
        paths,
        cluster=cluster_settings if isinstance(cluster_settings, str) else "linked",
        model=rebuild_faces(recipe),
        progress=watch,
        warn=notes.add,
    )


def shots_alone(paths: Sequence[Path]) -> Cast:
    """Films whose people are not needed."""
    from fabula.media.decode import Video
    from fabula.media.people import Cast, Faces, FilmedVideo
    from fabula.media.shots import find_shots

    spans = []
    for path in paths:
        shots = find_shots(path)
        video = Video(path)
        for _ in video.walk():
            pass
        spans.append(FilmedVideo(path.stem, video.duration, *video.shape, shots))
    return Cast(tuple(spans), Faces.none(1), np.zeros(0, np.int64))


# --- what is shown ---------------------------------------------------------------------------------------------------


def describe_films(films: Films, recipes: JsonObject) -> list[str]:
    """The extractors of a film's features, and the licence of the weights."""
    extractors = [
        f"{stream}: {recipe.get('extractor')}" for stream, recipe in recipes.items() if isinstance(recipe, dict)
    ]
    lines = [f"features as the run's: {', '.join(extractors)}"] if extractors else []
    if films.cast is not None and (licence := films.cast.metadata.get("licence")):
        licence_text = licence if isinstance(licence, str) else "; ".join(f"{k}: {v}" for k, v in dict(licence).items())
        lines.append(f"licence of the weights that found the faces: {licence_text}")
    return lines


def people_of_film(
    films: Films, film: str, faces: Mapping[int, Mapping[int, float]]
) -> tuple[list[JsonDict], dict[int, int]]:
    """The people of a film (name, small pictures, when), and which of them each P is.

    faces: number of a P → number of a person of the cast → attention. The surest pairs first, each person once.
    """
    from fabula.learn.identity.windows import pair_off

    cast = films.cast
    if cast is None or not len(cast):
        return [], {}
    k = cast.video_index(film)
    here = cast.faces.video == k
    shares = {
        (p, who): value / sum(votes.values())
        for p, votes in faces.items()
        for who, value in votes.items()
        if sum(votes.values())
    }
    number = pair_off({pair: share for pair, share in shares.items() if share >= LEAST_SHARE})
    person_of = {who: p for p, who in number.items()}
    listed: list[JsonDict] = []
    for who in cast.people():
        mine = here & (cast.person == who)
        if not mine.any():
            continue
        tracks = [t for t in cast.tracks_of(who).tolist() if (mine & (cast.faces.track == t)).any()]
        times = [cast.faces.time[mine & (cast.faces.track == t)] for t in tracks]
        best = sorted(tracks, key=lambda t: -int((cast.faces.track == t).sum()))  # seen longest
        listed.append(
            {
                "who": who,
                "name": cast.names.get(who),
                "number": person_of.get(who),
                "faces": int(mine.sum()),
                "pictures": [cast.thumbs[t] for t in best if t in cast.thumbs][:PICTURES],
                "spans": [(float(t.min()), float(t.max())) for t in times],
            }
        )
    listed.sort(key=lambda one: (one["number"] is None, one["name"] is None, -one["faces"], one["who"]))
    return listed, number
