"""Features of raw videos as a store, and what a store says of itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from fabula.core.notes import Progress, ignore, silent
from fabula.core.options import read_keywords, with_options
from fabula.media.options import ExtractOptions
from fabula.verbs.keywords import ExtractKeywords

if TYPE_CHECKING:
    from fabula.jobs.runner import Runner
    from fabula.media.extract import Extracted


@with_options(ExtractOptions)
def extract_features(
    videos: Sequence[str | Path],
    *,
    options: ExtractOptions | None = None,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
    **keywords: Unpack[ExtractKeywords],
) -> Extracted:
    """Features of videos (files, or folders of them), written as a store with its manifest."""
    options = read_keywords("extract_features", keywords, options or ExtractOptions)
    from fabula.media.devices import place_adapter
    from fabula.media.extract import Plan, extract
    from fabula.media.extractors import extractor

    changes: dict[str, Any] = {"device": options.device}
    changes |= {} if options.fps is None else {"fps": options.fps}
    changes |= {} if options.weights is None else {"weights": str(options.weights)}
    adapter = place_adapter(extractor(options.with_, **changes))
    plan = Plan(
        out=options.out,
        overwrite=options.overwrite,
        work=options.work,
        resume=options.resume,
        skip_bad=options.skip_bad,
        licence=options.licence,
        runner=choose_runner(options, adapter.device),
    )
    return extract(videos, adapter, plan, progress, warn)


class Placed(Protocol):
    """Options that say where videos are worked on."""

    @property
    def engine(self) -> str: ...
    @property
    def address(self) -> str | None: ...
    @property
    def processes(self) -> int | None: ...


def choose_runner(options: Placed, device: str) -> Runner:
    """Where videos are worked on: here, in processes, on Ray. One at a time on a GPU."""
    from fabula._kernels import processors
    from fabula.jobs.runner import InProcess, runner_named

    if options.engine == "ray":
        return runner_named("ray", options.address)
    count = options.processes or (processors() if device == "cpu" else 1)
    if count == 1:
        return InProcess()
    from fabula.jobs.processes import Processes

    return Processes(count)


def cut_features(store: str | Path, clips: str | Path, out: str | Path, overwrite: bool = False) -> int:
    """A store of films cut into clips, which lines of {"id", "video", "start", "end"} tell; returns how many."""
    from fabula.media.cut import cut_store

    return cut_store(store, clips, out, overwrite)


def describe_store(store: str | Path) -> dict[str, Any]:
    """What a store says of itself: how it was made, of what, and how much there is."""
    from fabula.media.stores.features import Features

    return Features(store).describe()
