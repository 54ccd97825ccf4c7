"""From a video, or a folder of them, to features: one by one here, or all as a run that can be stopped and resumed.

A run keeps what it has made in a work folder (jobs/folder.py), each video as a sealed file under the name of its id,
size and time of change. So a run that was killed goes on where it stopped, and one that is told to resume takes what is
there for the videos it is given, more or fewer than before. The store is written at the end, whole, in the order of
the ids, and says nothing of when or where it was made: the same videos give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, ignore, silent
from fabula.documents.files import check_path
from fabula.jobs.folder import Folder, begin
from fabula.jobs.runner import InProcess, Runner, run_pass
from fabula.media.base import Clips, Extractor, cut_clips, hash_file, stamp
from fabula.media.decode import ENDINGS, Video, import_av
from fabula.media.extractors import extractor as parse_extractor
from fabula.media.manifest import describe
from fabula.media.stores.features import Frames, check_features, check_replaceable, is_file_store, write_features

PARTS = "videos"


@dataclass(frozen=True)
class ExtractedVideo:
    """What was made of one video, and how long it took."""

    features: Frames  # [T, C]
    duration: float
    about: dict[str, Any]
    seconds: dict[str, float]


def extract_one(video: str | Path, extractor: Extractor | str, watch: Progress = silent) -> tuple[Frames, float]:
    """The features [T, C] of a video and its duration: just what a store of this extractor would hold of it."""
    chosen = parse_extractor(extractor) if isinstance(extractor, str) else extractor
    result = extract_video(check_path(video), chosen, watch)
    return result.features, result.duration


def extract_video(path: Path, extractor: Extractor, watch: Progress = silent) -> ExtractedVideo:
    """Decode, embed, check."""
    video = Video(path, extractor.fps, extractor.resize, extractor.size)
    clips = cut_clips((picture for _, picture in video), extractor.clip, extractor.stride)
    decode = embed = 0.0
    vectors: list[NDArray[np.float32]] = []
    while True:
        began = time.perf_counter()
        batch: list[Clips] = list(islice(clips, extractor.batch))
        decode += time.perf_counter() - began
        if not batch:
            break
        began = time.perf_counter()
        vectors.append(extractor.embed(np.stack(batch)))
        embed += time.perf_counter() - began
        watch(f"features of {path.name}", int(video.end), 0)
    features = check_features(np.concatenate(vectors), path.stem, path, extractor.dim)
    checked = check_features(features.astype(extractor.dtype), path.stem, path)
    about = {"frames": video.decoded, "width": video.shape[0], "height": video.shape[1]}
    return ExtractedVideo(checked, video.duration, about, {"decode": decode, "embed": embed})


# ── many videos ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Where a run over videos goes and how."""

    out: Path
    overwrite: bool = False
    work: Path | None = None  # None: beside the store, and taken away at the end
    resume: bool = False
    skip_bad: bool = False
    licence: str | None = None  # of the weights; None: as the adapters know it
    runner: Runner = field(default_factory=InProcess)

    @property
    def folder(self) -> Path:
        return self.work or self.out.with_name(f"{self.out.name}.work")


@dataclass(frozen=True)
class Extracted:
    """What a run has done."""

    videos: int
    features: int
    frames: int  # pictures decoded
    duration: float  # of all videos
    seconds: dict[str, float]  # of all processes: decode, embed, write
    left_out: dict[str, str]  # id → why


@dataclass(frozen=True)
class Work:
    """One video of a run; a value that travels to whoever does it."""

    folder: Folder
    extractor: Extractor
    skip_bad: bool

    def __call__(self, job: tuple[str, Path]) -> None:
        id, path = job
        part = name_part(id, path)
        try:
            result = extract_video(path, self.extractor)
        except InputError as error:
            if not self.skip_bad or error.file != path:
                raise
            self.folder.put({"id": id, "refused": describe_refusal(error)}, PARTS, f"{part}.json")
            return
        began = time.perf_counter()
        raw = io.BytesIO()
        np.save(raw, result.features.astype(self.extractor.dtype), allow_pickle=False)
        sealed = self.folder.put_large([raw.getvalue()], PARTS, f"{part}.npy")
        digest = hash_file(path, *stamp(path))
        write = time.perf_counter() - began
        about = {
            "id": id,
            "array": sealed,
            "features": len(result.features),
            "duration": result.duration,
            "about": {"file": path.name, "sha256": digest, **result.about},
            "seconds": {**result.seconds, "write": write},
        }
        self.folder.put(about, PARTS, f"{part}.json")


def extract(
    videos: Sequence[str | Path],
    extractor: Extractor | str,
    plan: Plan,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
) -> Extracted:
    """Features of all videos, as a store; folders stand for the videos in them."""
    chosen = parse_extractor(extractor) if isinstance(extractor, str) else extractor
    import_av()
    found = find_videos(videos, warn)
    check_target(plan)
    recipe = chosen.recipe()  # weights must be there before any work
    for path in (*found.values(), *filter(None, [chosen.weights_file()])):
        if path.resolve() in (plan.out.resolve(), plan.folder.resolve()):
            raise SpecError(f"{plan.out} is read and would be replaced; name another store")
    folder, _ = begin(plan.folder, {"recipe": recipe}, {}, plan.resume)
    todo = [(id, path) for id, path in found.items() if not is_done(folder, id, path, plan.skip_bad)]
    with plan.runner.ready():
        run_pass(Work(folder, chosen, plan.skip_bad), "videos", todo, plan.runner, progress)
    done = collect(folder, chosen, found, plan)
    if plan.work is None:
        shutil.rmtree(folder.path, ignore_errors=True)
    for id, why in list(done.left_out.items())[:3]:
        warn(f"{id!r} was left out: {why}")
    return done


def collect(folder: Folder, extractor: Extractor, found: Mapping[str, Path], plan: Plan) -> Extracted:
    """The parts as a store."""
    entries = {id: folder.get(PARTS, f"{name_part(id, path)}.json") for id, path in sorted(found.items())}
    left_out = {id: one["refused"] for id, one in entries.items() if "refused" in one}
    read = {id: one for id, one in entries.items() if "refused" not in one}
    if not read:
        why = f"the first: {next(iter(left_out.values()))}"
        raise InputError(f"not one of {len(left_out)} videos can be used; {why}", file=plan.out, hint="give others")
    seconds: dict[str, float] = {}
    for one in read.values():
        for what, took in one["seconds"].items():
            seconds[what] = seconds.get(what, 0.0) + took
    metadata = describe(
        extractor,
        {id: one["duration"] for id, one in read.items()},
        {id: one["about"] for id, one in read.items()},
        left_out,
    )
    if plan.licence is not None:
        metadata["licence"] = plan.licence

    def arrays() -> Iterator[tuple[str, NDArray[Any]]]:
        for id in read:
            path = folder.at(PARTS, f"{name_part(id, found[id])}.npy")
            yield id, np.load(path, allow_pickle=False)

    began = time.perf_counter()
    write_features(plan.out, arrays(), metadata, plan.overwrite)
    seconds["write"] = seconds.get("write", 0.0) + time.perf_counter() - began
    return Extracted(
        len(read),
        sum(one["features"] for one in read.values()),
        sum(one["about"]["frames"] for one in read.values()),
        sum(one["duration"] for one in read.values()),
        seconds,
        left_out,
    )


def is_done(folder: Folder, id: str, path: Path, skip_bad: bool) -> bool:
    """Whether an earlier run has finished this video, and what it left is as it was."""
    part = name_part(id, path)
    if not folder.holds(PARTS, f"{part}.json"):
        return False
    entry = folder.get(PARTS, f"{part}.json")
    if "refused" in entry:
        return skip_bad
    return bool(folder.seal_of(PARTS, f"{part}.npy") == entry["array"])


def name_part(id: str, path: Path) -> str:
    """Of the video as it is: changed, it is another."""
    text = "\0".join((id, *map(str, stamp(path))))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def describe_refusal(error: InputError) -> str:
    return " ".join(str(error.problem).split())


def check_target(plan: Plan) -> None:
    """What `write_features` would refuse at the end is refused before hours of work."""
    if plan.out.exists() and not plan.overwrite:
        hint = "choose another name, or say --overwrite"
        raise InputError("exists already", file=plan.out, hint=hint)
    if not is_file_store(plan.out):
        check_replaceable(plan.out)


def find_videos(paths: Iterable[str | Path], warn: Callable[[str], None] = ignore) -> dict[str, Path]:
    """Id → file: the file's name without its ending. Of a folder those that end as videos do."""
    found: dict[str, Path] = {}
    passed: list[str] = []
    for named in map(check_path, paths):
        if named.is_dir():
            try:
                inner = sorted(f for f in named.iterdir() if not f.name.startswith("."))
            except OSError as error:
                raise InputError(f"cannot be read ({error.strerror})", file=named, hint="check it") from None
            videos = [f for f in inner if f.suffix.lower() in ENDINGS and f.is_file()]
            passed += [f.name for f in inner if f not in videos]
            if not videos:
                hint = f"their names end in {', '.join(ENDINGS[:6])} …"
                raise InputError("a folder without videos", file=named, hint=hint)
        else:
            if not named.is_file():
                problem = "no such video" if not named.exists() else "is a device or a pipe"
                raise InputError(problem, file=named, hint="name a video, or a folder of videos")
            videos = [named]
        for path in videos:
            if path.stem in found:
                problem = f"two videos have the id {path.stem!r}: {found[path.stem].name} and {path.name}"
                raise InputError(problem, file=path, hint="rename one; the id is the file's name without its ending")
            found[path.stem] = path
    if passed:
        more = ", …" if len(passed) > 3 else ""
        count = f"{len(passed)} files are" if len(passed) > 1 else "1 file is"
        warn(f"{count} not named like a video and skipped: {', '.join(passed[:3])}{more}")
    if not found:
        raise SpecError("no video was named")
    return found


def share_of(seconds: Mapping[str, float]) -> str:
    """Where the time went: `decode 61 %, embed 37 %, write 2 %`."""
    total = sum(seconds.values()) or 1.0
    return ", ".join(f"{what} {100 * took / total:.0f} %" for what, took in seconds.items())
