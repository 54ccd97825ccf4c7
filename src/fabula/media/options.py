"""What extraction can be told; nothing here needs a decoder or torch, so that help texts do not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from fabula.core.errors import SpecError
from fabula.core.options import MUST, Options, option, same_as

if TYPE_CHECKING:
    from fabula.jobs.runner import Runner


class Placed(Protocol):
    """Options that name the place where videos are processed."""

    @property
    def engine(self) -> str: ...
    @property
    def address(self) -> str | None: ...
    @property
    def processes(self) -> int | None: ...


def check_engine(options: Placed) -> None:
    if options.engine == "ray" and options.processes is not None:
        raise SpecError("--processes has no effect with Ray; leave it out")
    if options.engine != "ray" and options.address is not None:
        raise SpecError("--address names a Ray cluster; say --engine ray")


def choose_runner(options: Placed, on_cpu: bool, single: bool = False) -> Runner:
    """This process, several processes, or Ray. A GPU, or a single video, takes one process."""
    from fabula._kernels import processors
    from fabula.jobs.processes import Processes
    from fabula.jobs.runner import InProcess, runner_named

    if options.engine == "ray":
        return runner_named("ray", options.address)
    count = options.processes or (processors() if on_cpu and not single else 1)
    return InProcess() if count == 1 else Processes(count)


@dataclass(frozen=True, kw_only=True)
class ExtractOptions(Options):
    """Which features are made of videos, and where they go."""

    with_: str = option(
        MUST,
        "Extractor, as efficientnet_lite0 or onnx(size=112):model.onnx (fabula list extractors).",
        metavar="NAME",
    )
    out: Path = option(MUST, "Store to write: a folder of .npy, an .h5 or a .safetensors file.", "-o")
    fps: float | None = option(None, "Frames read per second. Default: the extractor's.")
    weights: Path | None = option(None, "File of the weights, if the extractor ships none.")
    licence: str | None = option(None, "Licence of the weights, for the manifest. Default: as the extractor knows it.")
    device: str = option("auto", "auto, cpu, cuda, cuda:1 …", shows_default=True)
    processes: int | None = option(None, "Videos processed in parallel. Default: one per processor.", at_least=1)
    engine: Literal["local", "ray"] = option("local", "Engine that processes the videos.", shows_default=True)
    address: str | None = option(None, "Address of a Ray cluster. Default: one of this machine.")
    work: Path | None = option(None, "Folder of intermediate results, kept. Default: OUT.work, deleted at the end.")
    resume: bool = option(False, "Resume from the existing work folder.")
    skip_bad: bool = option(False, "Skip unreadable videos and list them in the manifest.")
    overwrite: bool = option(False, "Replace an existing store.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_engine(self)


@dataclass(frozen=True, kw_only=True)
class CutOptions(Options):
    """How a store of films is cut into clips."""

    clips: Path = option(MUST, 'Lines of {"id", "video", "start", "end"}.')
    out: Path = option(MUST, "Store to write.", "-o")
    overwrite: bool = option(False, "Replace an existing store.")


@dataclass(frozen=True, kw_only=True)
class TextOptions(Options):
    """Where the texts of films go, and how a run over films is done; speech and signs share it."""

    out: Path | None = option(None, "File, folder or store (.jsonl) to write.", "-o", writes=True)
    processes: int | None = option(None, "Films processed in parallel. Default: one per processor.", at_least=1)
    engine: Literal["local", "ray"] = option("local", "Engine that processes the films.", shows_default=True)
    address: str | None = same_as(ExtractOptions, "address")
    work: Path | None = same_as(ExtractOptions, "work")
    resume: bool = same_as(ExtractOptions, "resume")
    skip_bad: bool = option(False, "Skip unreadable films and name them.")
    overwrite: bool = option(False, "Replace what exists at OUT.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_engine(self)
        if self.resume and self.out is None and self.work is None:
            raise SpecError("--resume needs the work folder of the earlier run; name its --out or --work")
