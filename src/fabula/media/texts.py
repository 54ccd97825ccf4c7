"""What is said or written in films: which films, one pass over them that can be resumed, and where their texts go.

    stage    a TextStage: `describe` gives the record of one film, JSON alone; long films finish stretch by stretch
    pass     run_films: a sealed record of each film in a work folder, so that a run that was killed goes on
    target   one file for one film (film.srt), a file of lines for many (lines.jsonl), or a folder with a file for each

Speech (media/speech) and signs (media/signs) share it. The records say nothing of when or where they were made: the
same films give the same bytes, however often the run was killed.

    found = find_videos(films, warn)
    with plan_films(options, found) as plan:
        target = choose_target(options.out, kind, found, ("json",), options.overwrite)
        done = run_films(found, build, recipe, plan, progress, warn)
        target.write((id, text_of(record)) for id, record in done.records.items())
"""

from __future__ import annotations

import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fabula.core import atomic
from fabula.core.errors import SpecError
from fabula.core.notes import Progress, ignore, silent
from fabula.documents.fields import JsonDict
from fabula.documents.files import LINES, check_absent, name_write_failures, write_bytes
from fabula.jobs.folder import Folder, begin
from fabula.jobs.runner import InProcess, Runner
from fabula.media.base import hash_file, stamp
from fabula.media.extract import Plan, Refused, VideoStage, warn_refused
from fabula.media.options import TextOptions, choose_runner


@dataclass(frozen=True)
class TextStage(VideoStage):
    """A pass whose record of a film is JSON alone."""

    watch: Progress = silent

    parts = "texts"

    @abstractmethod
    def describe(self, path: Path, part: str) -> JsonDict:
        """The record of one film; InputError, naming the film, where it cannot be read."""

    def process(self, id: str, path: Path, part: str) -> None:
        record = self.describe(path, part)
        self.put({"id": id, "file": path.name, "sha256": hash_file(path, *stamp(path)), **record}, part)
        for stretch in self.folder.at(self.parts).glob(f"{part}-*.json"):
            stretch.unlink(missing_ok=True)

    def finish(self, part: str, k: int, compute: Callable[[], JsonDict]) -> JsonDict:
        """The record of the k-th stretch of a film: that of an earlier run, or a new one, which is put there."""
        found = self.find_stretch(part, k)
        if found is None:
            self.put(compute(), f"{part}-{k}")
            found = self.folder.get(self.parts, f"{part}-{k}.json")
        return found

    def find_stretch(self, part: str, k: int) -> JsonDict | None:
        """What an earlier run has found in the k-th stretch of a film; None: it did not come so far."""
        return self.folder.find(self.parts, f"{part}-{k}.json")


@dataclass(frozen=True)
class FilmTexts:
    """The records of all films that can be used, in the order of their ids; and why others were left out."""

    records: dict[str, JsonDict]
    left_out: Refused
    earlier: set[str]  # ids that an earlier run had finished


def run_films(
    found: Mapping[str, Path],
    build: Callable[[Folder, Progress], TextStage],
    recipe: JsonDict,
    plan: Plan,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
) -> FilmTexts:
    """One pass over films by id (`find_videos`). The recipe holds all that changes what is found in them."""
    plan.check_inputs(found.values())
    folder, _ = begin(plan.folder, {"recipe": recipe}, {}, plan.resume)
    stage = build(folder, progress if isinstance(plan.runner, InProcess) else silent)
    records, left_out, earlier = stage.run(found, plan, progress)
    warn_refused(left_out, warn)
    return FilmTexts(records, left_out, earlier)


@contextmanager
def plan_films(options: TextOptions, found: Mapping[str, Path], on_cpu: bool = True) -> Iterator[Plan]:
    """The plan of a run; without a target its work folder is a temporary one. At the end, if all went well, the work
    folder is deleted, unless the user named it: so write the target inside the block."""
    runner: Runner = choose_runner(options, on_cpu, single=len(found) == 1)  # one is done here, where it shows progress
    if options.out is None and options.work is None:
        with tempfile.TemporaryDirectory() as folder:
            yield Plan(out=Path("-"), work=Path(folder) / "work", skip_bad=options.skip_bad, runner=runner)
        return
    plan = Plan(
        out=options.out or Path("-"),
        overwrite=options.overwrite,
        work=options.work,
        resume=options.resume,
        skip_bad=options.skip_bad,
        runner=runner,
    )
    yield plan
    if plan.work is None:
        shutil.rmtree(plan.folder, ignore_errors=True)


# ── where texts go ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Target:
    """A path to write and what it becomes: a file of one film, lines of many, or a folder with a file for each."""

    path: Path
    kind: str  # srt, vtt, txt, json; "jsonl" for lines
    is_folder: bool = False

    def write(self, texts: Iterable[tuple[str, str]]) -> None:
        """Id and text of every film, in their order; all of it appears at once."""
        if not self.is_folder:
            write_bytes(self.path, (text.encode() for _, text in texts))
            return
        with name_write_failures(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic.beside(self.path) as folder:
                new = folder / "new"
                new.mkdir()
                for id, text in texts:
                    (new / f"{id}.{self.kind}").write_bytes(text.encode())
                atomic.take_folder_place(new, self.path)


def choose_target(
    out: Path, kind: str | None, films: Mapping[str, Path], kinds: Sequence[str], overwrite: bool
) -> Target:
    """What `out` becomes, refused before hours of work where it cannot hold these films.

    `kinds` are the endings of a file of one film; the first is that of files in a folder where nothing else is said.
    """
    ending = ".jsonl" if out.name.endswith(LINES) else out.suffix.lower()
    known = ", ".join(f".{name}" for name in kinds)
    if ending == ".jsonl" and not out.name.endswith(".jsonl"):
        raise SpecError(f"{out}: a store of lines is not packed; name a .jsonl")
    if ending in (".jsonl", *(f".{name}" for name in kinds)):
        target = Target(out, ending[1:])
        if kind not in (None, target.kind):
            raise SpecError(f"--kind {kind} does not fit to {out.name}; leave it out, or name a folder")
        if target.kind != "jsonl" and len(films) > 1:
            problem = f"{len(films):,} films do not fit into one {ending} file"
            raise SpecError(f"{problem}; name a folder, or lines.jsonl with a line for each")
    elif ending and not out.is_dir():
        raise SpecError(f"{out.name} ends in {out.suffix}; name {known}, .jsonl with a line for each film, or a folder")
    else:
        target = Target(out, kind or kinds[0], is_folder=True)
    check_absent(out, overwrite)
    check_kept(target, films)
    return target


def check_kept(target: Target, films: Mapping[str, Path]) -> None:
    """A folder is replaced only where all that lies in it are files that such a run has written."""
    path = target.path
    if path.is_dir() and not target.is_folder:
        raise SpecError(f"{path} is a folder; name a file, or leave the ending out")
    if path.is_dir():
        others = [f.name for f in path.iterdir() if not f.name.endswith(f".{target.kind}")]
        if others:
            raise SpecError(f"{path} holds other files ({others[0]} …) and is not replaced; name another folder")
    elif target.is_folder and path.exists():
        raise SpecError(f"{path} is a file; name a folder, or a file that ends in .jsonl")
    inside = [film for film in films.values() if film.resolve().is_relative_to(path.resolve())]
    if inside:
        raise SpecError(f"{path} holds films that are read ({inside[0].name}); name another folder")
