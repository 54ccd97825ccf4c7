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
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, ignore, silent
from fabula.documents.fields import JsonDict
from fabula.documents.files import check_absent, check_path
from fabula.jobs.folder import Folder, begin
from fabula.jobs.runner import InProcess, Runner, run_pass
from fabula.media.base import Clips, Extractor, cut_clips, hash_file, stamp
from fabula.media.decode import ENDINGS, Video, import_av
from fabula.media.extractors import extractor as parse_extractor
from fabula.media.manifest import describe
from fabula.media.pipeline import Stages
from fabula.media.stores.features import Frames, check_features, check_replaceable, is_file_store, write_features

Refused = dict[str, str]  # id → why a video was left out


@dataclass(frozen=True)
class ExtractedVideo:
    """What was made of one video, and how long it took."""

    features: Frames  # [T, C]
    duration: float
    about: dict[str, int]
    seconds: dict[str, float]


def extract_one(video: str | Path, extractor: Extractor | str, watch: Progress = silent) -> tuple[Frames, float]:
    """The features [T, C] of a video and its duration: just what a store of this extractor would hold of it."""
    chosen = parse_extractor(extractor) if isinstance(extractor, str) else extractor
    result = extract_video(check_path(video), chosen, watch)
    return result.features, result.duration


def extract_video(path: Path, extractor: Extractor, watch: Progress = silent) -> ExtractedVideo:
    """Decode, embed, check."""
    video = Video(path, extractor.fps, extractor.resize, extractor.size)
    stages = Stages()
    vectors: list[NDArray[np.float32]] = []
    with closing(stages.ahead("decode", cut_batches(video, extractor), depth=2)) as batches:
        for batch in batches:
            with stages.clock("embed"):
                vectors.append(extractor.embed(batch))
            watch(f"features of {path.name}", int(video.end), 0)
    features = check_features(np.concatenate(vectors), path.stem, path, extractor.dim)
    checked = check_features(features.astype(extractor.dtype), path.stem, path)
    about = {"frames": video.decoded, "width": video.shape[0], "height": video.shape[1]}
    return ExtractedVideo(checked, video.duration, about, stages.seconds)


def cut_batches(video: Video, extractor: Extractor) -> Iterator[Clips]:
    """Clips [N, clip, H, W, 3], as many as the network sees at once."""
    clips = cut_clips((picture for _, picture in video), extractor.clip, extractor.stride)
    while batch := list(islice(clips, extractor.batch)):
        yield np.stack(batch)


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

    def check_inputs(self, paths: Iterable[Path]) -> None:
        """What is read is not replaced."""
        for path in paths:
            if path.resolve() in (self.out.resolve(), self.folder.resolve()):
                raise SpecError(f"{self.out} is read and would be replaced; name another store")


@dataclass(frozen=True)
class Extracted:
    """What a run has done."""

    videos: int
    features: int
    frames: int  # pictures decoded
    duration: float  # of all videos
    seconds: dict[str, float]  # of all processes: decode, embed, write
    left_out: Refused
    speed: str = ""  # frames a second, and the share of each stage


@dataclass(frozen=True)
class VideoStage(ABC):
    """A pass over videos, each a sealed record and maybe an array in a work folder; a value that travels to workers."""

    folder: Folder
    skip_bad: bool

    parts: ClassVar[str]  # the subfolder
    ending: ClassVar[str] = ""  # of the arrays; a record without "array" has none

    @abstractmethod
    def process(self, id: str, path: Path, part: str) -> None:
        """Put the record and the array of one video there."""

    def __call__(self, job: tuple[str, Path]) -> None:
        id, path = job
        part = name_part(id, path)
        try:
            self.process(id, path, part)
        except InputError as error:
            if not self.skip_bad or error.file != path:
                raise
            self.put({"id": id, "refused": " ".join(str(error.problem).split())}, part)

    def put(self, record: JsonDict, part: str) -> None:
        self.folder.put(record, self.parts, f"{part}.json")

    def put_array(self, pieces: Iterable[bytes], part: str) -> str:
        """The seal of the array."""
        return self.folder.put_large(pieces, self.parts, f"{part}{self.ending}")

    def has(self, part: str) -> bool:
        """Whether this was finished before, and is as it was."""
        record = self.folder.find(self.parts, f"{part}.json")
        if record is None or "refused" in record:
            return record is not None and self.skip_bad
        if "array" not in record:
            return True
        return bool(self.folder.seal_of(self.parts, f"{part}{self.ending}") == record["array"])

    def run(
        self, found: Mapping[str, Path], plan: Plan, progress: Progress
    ) -> tuple[dict[str, JsonDict], Refused, set[str]]:
        """Every video that is not done; the records of all, why some were left out, and which were done before."""
        earlier: set[str] = set()

        def is_done(job: tuple[str, Path]) -> bool:
            done = self.has(name_part(*job))
            earlier.update(job[:1] if done else ())
            return done

        with plan.runner.ready():
            run_pass(self, "videos", found.items(), plan.runner, progress, is_done)
        entries = {id: self.folder.get(self.parts, f"{name_part(id, path)}.json") for id, path in sorted(found.items())}
        refused = {id: one["refused"] for id, one in entries.items() if "refused" in one}
        read = {id: one for id, one in entries.items() if "refused" not in one}
        if not read:
            why = f"the first: {next(iter(refused.values()))}"
            raise InputError(f"not one of {len(refused)} videos can be used; {why}", file=plan.out, hint="give others")
        return read, refused, earlier

    def array(self, id: str, path: Path) -> Path:
        return self.folder.at(self.parts, f"{name_part(id, path)}{self.ending}")


@dataclass(frozen=True)
class Extraction(VideoStage):
    """Features of one video after the other."""

    extractor: Extractor

    parts = "videos"
    ending = ".npy"

    def process(self, id: str, path: Path, part: str) -> None:
        result = extract_video(path, self.extractor)
        began = time.perf_counter()
        raw = io.BytesIO()
        np.save(raw, result.features.astype(self.extractor.dtype), allow_pickle=False)
        sealed = self.put_array([raw.getvalue()], part)
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
        self.put(about, part)


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
    plan.check_inputs([*found.values(), *filter(None, [chosen.weights_file()])])
    folder, _ = begin(plan.folder, {"recipe": recipe}, {}, plan.resume)
    done = collect(Extraction(folder, plan.skip_bad, chosen), found, plan, progress)
    if plan.work is None:
        shutil.rmtree(folder.path, ignore_errors=True)
    warn_refused(done.left_out, warn)
    return done


def warn_refused(refused: Refused, warn: Callable[[str], None]) -> None:
    for id, why in list(refused.items())[:3]:
        warn(f"{id!r} was left out: {why}")


def collect(stage: Extraction, found: Mapping[str, Path], plan: Plan, progress: Progress) -> Extracted:
    """The features of all videos as a store."""
    account = Stages()
    read, left_out, earlier = stage.run(found, plan, progress)
    seconds: dict[str, float] = {}
    for id, one in read.items():
        for what, took in one["seconds"].items():
            seconds[what] = seconds.get(what, 0.0) + took
        if id not in earlier:
            account.add(one["seconds"], one["about"]["frames"])
    metadata = describe(
        stage.extractor,
        {id: one["duration"] for id, one in read.items()},
        {id: one["about"] for id, one in read.items()},
        left_out,
    )
    if plan.licence is not None:
        metadata["licence"] = plan.licence
    began = time.perf_counter()
    arrays = ((id, np.load(stage.array(id, found[id]), allow_pickle=False)) for id in read)
    write_features(plan.out, arrays, metadata, plan.overwrite)
    write = time.perf_counter() - began
    seconds["write"] = seconds.get("write", 0.0) + write
    account.add({"write": write})
    return Extracted(
        len(read),
        sum(one["features"] for one in read.values()),
        sum(one["about"]["frames"] for one in read.values()),
        sum(one["duration"] for one in read.values()),
        seconds,
        left_out,
        account.line(),
    )


def name_part(id: str, path: Path) -> str:
    """Of the video as it is: changed, it is another."""
    text = "\0".join((id, *map(str, stamp(path))))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def check_target(plan: Plan) -> None:
    """What `write_features` would refuse at the end is refused before hours of work."""
    check_absent(plan.out, plan.overwrite)
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
                raise InputError(
                    "a folder without videos", file=named, hint=f"their names end in {', '.join(ENDINGS[:6])} …"
                )
        else:
            if not named.is_file():
                raise InputError(
                    "no such video" if not named.exists() else "is a device or a pipe",
                    file=named,
                    hint="name a video, or a folder of videos",
                )
            videos = [named]
        for path in videos:
            if path.stem in found:
                raise InputError(
                    f"two videos have the id {path.stem!r}: {found[path.stem].name} and {path.name}",
                    file=path,
                    hint="rename one; the id is the file's name without its ending",
                )
            found[path.stem] = path
    if passed:
        more = ", …" if len(passed) > 3 else ""
        count = f"{len(passed)} files are" if len(passed) > 1 else "1 file is"
        warn(f"{count} not named like a video and skipped: {', '.join(passed[:3])}{more}")
    if not found:
        raise SpecError("no video was named")
    return found
