"""From a folder of videos to a store of clips, and again whenever the folder has changed.

    new        no row                                   changed   another size, or another time and other bytes
    deleted    a row and no file: its rows go           the same  as the row has it: size and time, or the bytes

Videos are looked at by a runner (here, in processes, on Ray) and come back as rows; this process alone writes them,
some videos a commit. Whatever is committed stays; a run that was killed is begun again and does what is left. Two
runs over one store take turns in writing and do not take each other's videos (lock.py).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fabula.core.errors import InputError
from fabula.core.notes import Progress, ignore, silent
from fabula.jobs.runner import InProcess, Runner, run_jobs
from fabula.library.lock import Claims
from fabula.library.scan import Job, Scanned, Scanner
from fabula.library.store import Store, Video, Writer, import_lancedb, number_of
from fabula.library.walk import VideoFile, compare

FIRST = 0.1  # a commit is worth so much of the time that the run has taken …
LONGEST = 5.0  # … and comes at least every so many seconds
TIDY = 256  # commits between two tidyings
WAIT = 0.2  # seconds between two looks at what another process works on


@dataclass
class Indexed:
    """What a run has done."""

    videos: int = 0  # of the store now
    clips: int = 0
    new: int = 0
    changed: int = 0
    removed: int = 0
    same: int = 0
    others: int = 0  # done by another process meanwhile
    left: int = 0  # that changed while they were read
    bad: dict[str, str] = field(default_factory=dict)  # video → why it cannot be read
    frames: int = 0  # pictures decoded
    duration: float = 0.0  # seconds of video looked at
    wall: float = 0.0  # seconds
    seconds: dict[str, float] = field(default_factory=dict)  # of all processes: decode, embed, thumbs; write

    def rate(self) -> str:
        """`812 frames/s (32× real time)`, of all processes together."""
        took = max(self.wall, 1e-9)
        return f"{self.frames / took:,.0f} frames/s ({self.duration / took:,.1f}× real time)"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a run over a folder goes."""

    runner: Runner = field(default_factory=InProcess)
    retry: bool = False  # what could not be read and has not changed
    skip_bad: bool = False
    progress: Progress = silent
    warn: Callable[[str], None] = ignore


def bring_up(store: Store, found: Mapping[str, VideoFile], scanner: Scanner, plan: Plan) -> Indexed:
    """Make the store what the folder is."""
    run = Run(store, scanner, plan)
    if isinstance(plan.runner, InProcess):
        run.scanner = replace(scanner, watch=run.hear)  # how far it is in a video
    with store.writing() as writer:
        todo, gone = compare(writer.there, found, plan.retry)
        gone = [name for name in gone if not is_new(store.root / name)]
        writer.remove(gone)
        run.done.removed, run.done.same = len(gone), len(found) - len(todo)
        run.known = dict(writer.there)
    if todo:
        scanner.embedder.prepare()
        threading.Thread(target=import_lancedb, daemon=True).start()  # seconds, while the first videos are decoded
    with Claims(store.folder) as claims, plan.runner.ready():
        run.work(todo, claims)
    if run.commits or gone:
        with store.writing() as writer:
            if gone or run.done.changed or writer.is_loose():
                writer.tidy()
    return run.finish()


def is_new(path: Path) -> bool:
    """A file that another run has found since this one looked."""
    return path.is_file() and not path.is_symlink()


class Run:
    """One run: what is known, what waits to be committed, what was done."""

    def __init__(self, store: Store, scanner: Scanner, plan: Plan) -> None:
        self.store, self.scanner, self.plan = store, scanner, plan
        self.done = Indexed()
        self.known: dict[str, Video] = {}
        self.waiting: list[Scanned] = []
        self.began = self.last = time.monotonic()
        self.commits = 0
        self.finished = self.total = 0

    def work(self, todo: Sequence[Job], claims: Claims) -> None:
        """Every job, unless another process does it first."""
        self.total, rest = len(todo), list(todo)
        while rest:
            later: list[Job] = []
            try:
                for result in run_jobs(self.scanner, self.claim(rest, later, claims), self.plan.runner):
                    if result is None:
                        self.done.left += 1
                    else:
                        self.waiting.append(result)
                    self.step(result)
                    if self.is_time():
                        self.commit(claims)
            finally:
                self.commit(claims)
            rest = [job for job in later if not self.is_done(job)]
            self.finished = self.total - len(rest)
            if len(rest) == len(later) and rest:
                time.sleep(WAIT)
        self.done.wall = time.monotonic() - self.began

    def claim(self, rest: Sequence[Job], later: list[Job], claims: Claims) -> Iterator[Job]:
        """Jobs as they can begin; those that another process works on come later."""
        for job in rest:
            if not claims.take(number_of(job.video)):
                later.append(job)
            elif self.is_done(job):
                claims.give_back(number_of(job.video))
                self.step(None)
            else:
                yield job

    def is_done(self, job: Job) -> bool:
        """Whether another process has done it since this run began."""
        then = self.known.get(job.video)
        now = self.store.by_name().get(job.video)
        if now is None or now == then:
            return False
        self.done.others += 1
        return True

    def step(self, result: Scanned | None) -> None:
        """One video more."""
        self.finished += 1
        self.done.wall = time.monotonic() - self.began
        if result is not None:
            self.done.frames += result.frames
            self.done.duration += result.entry.video.duration
            for what, took in result.seconds.items():
                self.done.seconds[what] = self.done.seconds.get(what, 0.0) + took
        self.plan.progress(f"videos, {self.done.rate()}", self.finished, self.total)

    def hear(self, what: str, seconds: int, _: int) -> None:
        self.plan.progress(f"videos, {self.done.rate()}, {what} at {seconds} s", self.finished, self.total)

    def is_time(self) -> bool:
        now = time.monotonic()
        return now - self.last >= min(LONGEST, FIRST * (now - self.began))

    def commit(self, claims: Claims) -> None:
        """What waits, as rows; what another process has written meanwhile stays."""
        batch, self.waiting = self.waiting, []
        began = time.monotonic()
        if batch:
            with self.store.writing() as writer:
                self.write(writer, [result for result in batch if self.is_ours(writer, result)])
                self.commits += 1
                if not self.commits % TIDY:
                    writer.tidy()
        for result in batch:
            claims.give_back(number_of(result.entry.video.video))
        self.last = time.monotonic()
        self.done.seconds["write"] = self.done.seconds.get("write", 0.0) + self.last - began

    def is_ours(self, writer: Writer, result: Scanned) -> bool:
        name = result.entry.video.video
        if writer.there.get(name) == self.known.get(name) or name not in writer.there:
            return True
        self.done.others += 1
        return False

    def write(self, writer: Writer, batch: Sequence[Scanned]) -> None:
        writer.touch([carry(writer.there[s.entry.video.video], s.entry.video) for s in batch if s.touched])
        writer.put([s.entry for s in batch if not s.touched])
        for result in batch:
            self.count(result)
            self.known[result.entry.video.video] = writer.there[result.entry.video.video]

    def count(self, result: Scanned) -> None:
        """What was written, into the account."""
        done, row = self.done, result.entry.video
        if result.touched:
            done.same += 1
            return
        if row.problem is None:
            done.changed += row.video in self.known
            done.new += row.video not in self.known

    def finish(self) -> Indexed:
        """How the store stands; videos that cannot be read are named."""
        videos = self.store.videos()
        done = self.done
        done.videos, done.clips = len(videos), sum(video.clips for video in videos)
        done.bad = {video.video: video.problem for video in videos if video.problem is not None}
        if done.bad and not self.plan.skip_bad:
            name, why = next(iter(done.bad.items()))
            count = f"{len(done.bad):,} of {len(videos):,} videos" if len(videos) > 1 else "the only video"
            raise InputError(
                f"{count} cannot be used, the first: {why}",
                file=self.store.root / name,
                hint="all others are in the store; fix them, remove them, or use --skip-bad",
            )
        for name, why in list(done.bad.items())[:3]:
            self.plan.warn(f"{name!r} has no clips: {why}")
        return done


def carry(row: Video, new: Video) -> Video:
    """A row whose file has another time of change and the same bytes."""
    return replace(row, size=new.size, mtime_ns=new.mtime_ns)


def check_root(store: Store, root: Path, moved: bool) -> bool:
    """Whether the videos lie elsewhere now, as was said; another folder that nobody spoke of is refused."""
    if Path(store.manifest.root) == root:
        return False
    if not moved:
        raise InputError(
            f"a store of the videos in {store.manifest.root}, not of {root}",
            file=store.where,
            hint="say --moved if they lie there now, or name another store",
        )
    return True
