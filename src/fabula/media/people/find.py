"""From videos to people: shots, pictures at exact times, faces, tracks, embeddings, people; a run that can be stopped.

A work folder (jobs/folder.py) keeps what was found: the shots of a video, the faces of every minute of it, and at last
its tracks, each sealed. So a film of hours that was killed goes on in the minute where it stopped, and further videos
are looked at without those that were. Then all faces are grouped at once: people are those of all videos.
"""

from __future__ import annotations

import functools
import io
import math
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, ignore, silent
from fabula.documents.fields import JsonDict
from fabula.jobs.folder import begin
from fabula.jobs.runner import InProcess
from fabula.media.base import Array, Pictures, hash_file, stamp
from fabula.media.decode import Video, import_av
from fabula.media.extract import Plan, Refused, VideoStage, find_videos, warn_refused
from fabula.media.manifest import list_versions
from fabula.media.people.align import align
from fabula.media.people.base import Detections, FaceModel, Floats, import_cv2
from fabula.media.people.cast import COLUMNS, Cast, Faces, FilmedVideo, check_store, pack_bytes
from fabula.media.people.cluster import Clusterer, clusterer
from fabula.media.people.parse import face_model
from fabula.media.people.tracks import Tracker
from fabula.media.pipeline import Stages
from fabula.media.shots import SIDE, build_spans, watch_cuts

STRETCH = 60.0  # seconds of a video that are finished at once
MARGIN = 0.2  # of a face's sides, around it in its small picture
SMALL = 96  # pixels of that


def find_cast(
    videos: Sequence[str | Path],
    *,
    cluster: Clusterer | str = "linked",
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    model: FaceModel | None = None,
    **settings: Any,
) -> Cast:
    """The cast of videos, nothing kept. `model`, or `settings`: detector, embedder, fps, shots, gap …"""
    chosen = model or face_model(**settings)
    with tempfile.TemporaryDirectory() as work:
        plan = Plan(out=Path(work) / "people.npz", work=Path(work) / "work")
        return run(videos, chosen, cluster, plan, progress, warn)


def find_people(
    videos: Sequence[str | Path],
    model: FaceModel,
    cluster: Clusterer | str,
    plan: Plan,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    report: Callable[[str], None] = ignore,
) -> Cast:
    """The cast of videos (files, or folders of them), written as a store; with the corrections that lie beside it.

    `report` hears how many frames were decoded a second, and where the time went."""
    check_store(plan.out, plan.overwrite)
    for path in (model.detector.weights, model.embedder.weights):
        if path is not None and Path(path).resolve() == plan.out.resolve():
            raise SpecError(f"{plan.out} is read and would be replaced; name another store")
    cast = run(videos, model, cluster, plan, progress, warn, report)
    cast.save(plan.out, plan.overwrite)
    if plan.work is None:
        shutil.rmtree(plan.folder, ignore_errors=True)
    from fabula.media.people.corrections import apply_file

    return apply_file(cast, plan.out)


def run(
    videos: Sequence[str | Path],
    model: FaceModel,
    cluster: Clusterer | str,
    plan: Plan,
    progress: Progress,
    warn: Callable[[str], None],
    report: Callable[[str], None] = ignore,
) -> Cast:
    """Every video by itself, then all faces together."""
    chosen = clusterer(cluster) if isinstance(cluster, str) else cluster
    import_av()
    import_cv2()
    found = find_videos(videos, warn)
    recipe = model.recipe()  # weights must be there before any work
    plan.check_inputs(found.values())
    folder, _ = begin(plan.folder, {"recipe": recipe}, {}, plan.resume)
    watch = progress if isinstance(plan.runner, InProcess) else silent
    stage = FaceStage(folder, plan.skip_bad, model, watch)
    account = Stages()
    read, left_out, earlier = stage.run(found, plan, progress)
    for id, one in read.items():
        if id not in earlier:
            account.add(one["stages"], one["frames"])
    report(account.line())
    return collect(stage, found, read, left_out, plan, warn).cluster(chosen, progress)


# ── one video ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class FaceStage(VideoStage):
    """The faces and tracks of one video after the other."""

    model: FaceModel
    watch: Progress = silent

    parts = "people"
    ending = ".npz"

    def process(self, id: str, path: Path, part: str) -> None:
        stages = Stages()
        video = Video(path, self.model.look.fps)
        passed = pictures = 0
        names = []
        looks = Looks(video, self.find_shots(part), self.model, lambda k: self.has(f"{part}-{k}"))
        with closing(looks.faces(stages)) as faces:
            for k, found in groupby(faces, lambda look: look.stretch):
                name = f"{part}-{k}"
                if not self.has(name):
                    self.collect(name, found, stages)
                names.append(name)
                entry = self.folder.get(self.parts, f"{name}.json")
                passed, pictures = passed + entry["passed"], pictures + entry["pictures"]
                self.watch(f"faces in {path.name}", int(video.end), 0)
        shots = looks.shots()
        if not self.folder.holds(self.parts, f"{part}-shots.json"):
            self.folder.put({"shots": shots.tolist()}, self.parts, f"{part}-shots.json")
        columns, thumbs = self.track(names, shots)
        with stages.clock("write"):
            sealed = self.put_arrays(part, **columns, **thumbs)
            digest = hash_file(path, *stamp(path))
        about = {
            "id": id,
            "array": sealed,
            "seen": {"duration": video.duration, "width": video.shape[0], "height": video.shape[1],
                     "shots": shots.tolist()},
            "about": {"file": path.name, "sha256": digest, "pictures": pictures,
                      "faces": len(columns["time"]), "too_small": passed},
            "seconds": stages.wall(),
            "stages": stages.seconds,
            "frames": video.decoded,
        }  # fmt: skip
        self.put(about, part)
        for name in names:
            for end in (".json", ".npz"):
                self.folder.at(self.parts, f"{name}{end}").unlink(missing_ok=True)

    def find_shots(self, part: str) -> NDArray[np.float64] | None:
        """Those that an earlier run has found."""
        found = self.folder.find(self.parts, f"{part}-shots.json")
        return None if found is None else np.array(found["shots"], np.float64).reshape(-1, 2)

    def put_arrays(self, part: str, **arrays: Array) -> str:
        raw = io.BytesIO()
        np.savez(raw, **arrays)  # type: ignore[arg-type]
        return self.put_array([raw.getvalue()], part)

    def collect(self, name: str, looks: Iterable[Look], stages: Stages) -> None:
        """The faces of a stretch, each with its small picture."""
        rows: dict[str, list[Array]] = {key: [] for key in ("frame", "time", "box", "score", "embedding")}
        small: list[bytes] = []
        passed = pictures = 0
        for look in looks:
            assert look.picture is not None and look.found is not None
            passed, pictures = passed + look.passed, pictures + 1
            found, picture = look.found, look.picture
            if not len(found.box):
                continue
            with stages.clock("embed"):
                rows["embedding"].append(self.model.embedder.embed(align(picture, found.points)))
                rows["frame"].append(np.full(len(found.box), look.frame))
                rows["time"].append(np.full(len(found.box), look.time))
                rows["box"].append(found.box)
                rows["score"].append(found.score)
                small += [shrink(picture, box) for box in found.box]
        columns = join_rows(rows, self.model.embedder.dim, ("time", "score"))
        if not np.isfinite(columns["embedding"]).all():
            raise InputError(
                "the embedder gives numbers that are not finite",
                file=self.model.embedder.weights_file(),
                hint="name other weights",
            )
        packed, ends = pack_bytes(small)
        with stages.clock("write"):
            sealed = self.put_arrays(name, **columns, small=packed, ends=ends)
            self.put({"array": sealed, "passed": passed, "pictures": pictures}, name)

    def track(self, names: Sequence[str], shots: NDArray[np.float64]) -> tuple[dict[str, Array], dict[str, Array]]:
        """The stretches in their order as one table, and each track's best face."""
        tracker = Tracker(self.model.look)
        rows: dict[str, list[Array]] = {
            key: [] for key in ("frame", "time", "shot", "track", "box", "score", "embedding")
        }
        best: dict[int, tuple[float, bytes]] = {}
        for name in names:
            with np.load(self.folder.at(self.parts, f"{name}.npz"), allow_pickle=False) as arrays:
                part = {key: arrays[key] for key in arrays.files}
            small, ends = part["small"].tobytes(), part["ends"]
            frame = part["frame"]
            for at in np.split(np.arange(len(frame)), np.flatnonzero(np.diff(frame)) + 1):
                if not len(at):
                    continue
                t = float(part["time"][at[0]])
                shot = max(0, int(np.searchsorted(shots[:, 0], t, side="right")) - 1)
                found = Detections(part["box"][at], part["score"][at], np.zeros((len(at), 5, 2), np.float32))
                track = tracker(t, shot, found, part["embedding"][at])
                rows["track"].append(track)
                rows["shot"].append(np.full(len(at), shot))
                for k, who in zip(at.tolist(), track.tolist(), strict=True):
                    worth = rate(part["box"][k], float(part["score"][k]))
                    if who not in best or worth > best[who][0]:
                        best[who] = worth, small[int(ends[k - 1]) if k else 0 : int(ends[k])]
            for key in ("frame", "time", "box", "score", "embedding"):
                rows[key].append(part[key])
        columns = join_rows(rows, self.model.embedder.dim)
        thumbs, ends = pack_bytes([best[t][1] for t in sorted(best)])
        return columns, {"thumbs": thumbs, "thumb_ends": ends}


def join_rows(rows: Mapping[str, list[Array]], dim: int, floats: Sequence[str] = ()) -> dict[str, Array]:
    """The columns of all pictures; of none, empty ones."""
    empty: dict[str, Array] = {"box": np.zeros((0, 4), np.float32), "embedding": np.zeros((0, dim), np.float32)}
    empty |= {key: np.zeros(0) for key in floats}
    return {
        key: np.concatenate(arrays) if arrays else empty.get(key, np.zeros(0, np.int64)) for key, arrays in rows.items()
    }


@dataclass(frozen=True)
class Look:
    """A picture that is looked at, and its faces; neither where its stretch was finished before."""

    stretch: int
    frame: int
    time: float
    picture: Pictures | None = None
    found: Detections | None = None
    passed: int = 0  # faces that are too small


class Looks:
    """One walk over a video for both: every picture for its shots, some at exact times for their faces."""

    def __init__(
        self, video: Video, shots: NDArray[np.float64] | None, model: FaceModel, has: Callable[[int], bool]
    ) -> None:
        self.video, self.model, self.known = video, model, shots
        self.has = functools.cache(has)
        self.small = Video(video.path, resize=SIDE)
        self.cuts = None if shots is not None else watch_cuts(model.look.shots, model.look.shortest)

    def faces(self, stages: Stages) -> Generator[Look, None, None]:
        """By stretches; decoded, watched for cuts and looked at for faces in threads of their own."""
        decoded = stages.ahead("decode", self.decode())
        watched = decoded if self.cuts is None else stages.ahead("shots", decoded, self.watch)
        looked = stages.ahead("detect", watched, self.detect)
        with closing(looked):
            for looks in looked:
                yield from looks

    def decode(self) -> Iterator[DecodedPicture]:
        for t, frame, numbers in self.video.steps():
            looks = [(i, float(time), int(time // STRETCH)) for i in numbers for time in [self.video.time_of(i)]]
            wanted = not any(self.video.shape) or any(not self.has(k) for _, _, k in looks)  # what is done is not made
            picture = self.video.convert(frame) if looks and wanted else None
            self.small.ratio = self.video.ratio
            yield DecodedPicture(float(t), None if self.cuts is None else self.small.convert(frame), looks, picture)

    def watch(self, decoded: DecodedPicture) -> DecodedPicture:
        assert self.cuts is not None and decoded.small is not None
        self.cuts.see(decoded.time, decoded.small)
        return decoded

    def detect(self, decoded: DecodedPicture) -> list[Look]:
        """The faces of a picture, as often as it is on the screen when one is looked at."""
        looks = []
        for frame, t, k in decoded.looks:
            if self.has(k):
                looks.append(Look(k, frame, t))
                continue
            assert decoded.picture is not None
            found = self.model.detector.detect(decoded.picture)
            sides = (found.box[:, 2:] - found.box[:, :2]).min(1, initial=np.inf)
            large = np.flatnonzero(sides >= self.model.look.side)
            at = large[np.argsort(found.box[large, 0], kind="stable")]  # from left to right
            looks.append(Look(k, frame, t, decoded.picture, found.take(at), len(sides) - len(large)))
        return looks

    def shots(self) -> NDArray[np.float64]:
        """Once all was walked over."""
        if self.cuts is None:
            assert self.known is not None
            return self.known
        spans = build_spans(self.cuts.cuts(), self.video.duration, self.model.look.shortest)
        return spans.reshape(-1, 2)


class DecodedPicture(NamedTuple):
    """A decoded picture: small for the shots, whole where it is looked at (number, time and stretch of each look)."""

    time: float
    small: Pictures | None
    looks: list[tuple[int, float, int]]
    picture: Pictures | None


def rate(box: Floats, score: float) -> float:
    """How well a face can be seen: sure and large."""
    width, height = (max(0.0, float(side)) for side in box[2:] - box[:2])
    return score * math.sqrt(width * height)


def shrink(picture: Pictures, box: Floats) -> bytes:
    """A face as a small JPEG, square, with a margin."""
    cv2 = import_cv2()
    H, W = picture.shape[:2]
    centre, half = (box[:2] + box[2:]) / 2, (0.5 + MARGIN) * float((box[2:] - box[:2]).max())
    x1, y1 = (int(max(0, c - half)) for c in centre)
    x2, y2 = (int(min(side, c + half)) for c, side in zip(centre, (W, H), strict=True))
    crop = picture[y1 : max(y2, y1 + 1), x1 : max(x2, x1 + 1)]
    if not crop.size:
        crop = np.zeros((1, 1, 3), np.uint8)
    scale = SMALL / max(crop.shape[:2])
    size = tuple(max(1, round(side * scale)) for side in crop.shape[1::-1])
    small = cv2.resize(np.ascontiguousarray(crop[..., ::-1]), size, interpolation=cv2.INTER_AREA)
    return bytes(cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, 80])[1].tobytes())


# ── all of them ─────────────────────────────────────────────────────────────────────────────────────────────────────


def collect(
    stage: FaceStage,
    found: Mapping[str, Path],
    read: Mapping[str, JsonDict],
    left_out: Refused,
    plan: Plan,
    warn: Callable[[str], None],
) -> Cast:
    """The videos' tables as one; nobody is anybody yet."""
    model = stage.model
    n, dim = sum(one["about"]["faces"] for one in read.values()), model.embedder.dim
    none = Faces.none(dim)
    columns = {name: np.zeros((n, *getattr(none, name).shape[1:]), getattr(none, name).dtype) for name in COLUMNS}
    thumbs: dict[int, bytes] = {}
    at = tracks = 0
    for k, id in enumerate(read):
        with np.load(stage.array(id, found[id]), allow_pickle=False) as part:
            rows = slice(at, at + len(part["time"]))
            for name in COLUMNS:
                columns[name][rows] = k if name == "video" else part[name] + tracks if name == "track" else part[name]
            ends, raw = part["thumb_ends"].tolist(), part["thumbs"].tobytes()
        thumbs |= {tracks + t: raw[a:b] for t, (a, b) in enumerate(pairwise([0, *ends]))}
        at, tracks = rows.stop, tracks + len(ends)
    videos = tuple(
        FilmedVideo(
            id,
            **{**one["seen"], "shots": np.array(one["seen"]["shots"], np.float64).reshape(-1, 2)},
            about=one["about"],
        )
        for id, one in read.items()
    )
    warn_refused(left_out, warn)
    empty = [one.id for one in videos if not one.about["faces"]]
    if empty:
        more = ", …" if len(empty) > 3 else ""
        warn(f"no face was found in {len(empty)} of {len(videos)} videos: {', '.join(map(repr, empty[:3]))}{more}")
    metadata = {
        "recipe": model.recipe(),
        "spec": str(model),
        "licence": plan.licence or model.licence(),
        "own_eps": model.embedder.eps,
        "versions": list_versions(model.packages),
        "left_out": left_out,
    }
    return Cast(videos, Faces(**columns), np.full(n, -1, np.int64), {}, thumbs, metadata)
