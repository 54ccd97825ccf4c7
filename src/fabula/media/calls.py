"""Features of raw videos as a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fabula.core.notes import Progress, ignore, silent
from fabula.media.devices import place_adapter
from fabula.media.extract import Extracted, Plan, extract
from fabula.media.extractors import extractor
from fabula.media.options import ExtractOptions, choose_runner


def extract_features(
    videos: Sequence[str | Path],
    options: ExtractOptions,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
) -> Extracted:
    """Features of videos (files, or folders of them), written as a store with its manifest."""
    changes = {"device": options.device, "fps": options.fps}
    changes["weights"] = None if options.weights is None else str(options.weights)
    adapter = place_adapter(extractor(options.with_, **{name: v for name, v in changes.items() if v is not None}))
    plan = Plan(
        out=options.out,
        overwrite=options.overwrite,
        work=options.work,
        resume=options.resume,
        skip_bad=options.skip_bad,
        licence=options.licence,
        runner=choose_runner(options, adapter.device == "cpu"),
    )
    return extract(videos, adapter, plan, progress, warn)
