"""fabula score: predictions against references, one table, a signature on each number."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula.core.errors import SpecError
from fabula.core.options import Options, option
from fabula.evaluate.options import ScoreOptions
from fabula.stats.resampling import Clusters, Resampling
from fabula.verbs.terminal.console import Several, show_progress
from fabula.verbs.terminal.flags import flags, path_argument, refs_option, typed
from fabula.verbs.terminal.gates import check_floors, read_floors
from fabula.verbs.terminal.out import Shown, check_outputs, show, write_page


@dataclass(frozen=True, kw_only=True)
class Outputs(Options):
    """What is made of the result."""

    json_: Path | None = option(None, "Write the result as JSON; - for standard output.", writes=True)
    rows: Path | None = option(None, "Write a row per video (.jsonl, .jsonl.gz, .csv, .parquet).", writes=True)
    html: Path | None = option(None, "Write the report as one self-contained page.", writes=True)
    against: Path | None = option(None, "A second system's predictions, compared in --html.", needs="html")
    videos: Path | None = option(
        None, "Folder of films or clips, played in --html next to what is said of them.", needs="html"
    )
    images: Path | None = option(None, "Folder of images for --html: under boxes, or a frame per clip.", needs="html")
    thresholds: bool = option(False, "Also show numbers at each tIoU, if a score is the mean over several.")
    signatures: str = option(
        "short", "Signatures in a terminal: full, or short (without defaults).", choices=("short", "full")
    )
    fail_under: tuple[str, ...] = option(
        (), "End with exit code 3 if a score is lower: SODA_c=.27, PRF/recall=.3.", parts=True
    )
    ci: bool = option(False, "Add an interval to every primary number: a bootstrap over videos.")


@click.command("score", cls=Several)
@path_argument("predictions", stdin=True)
@refs_option()
@flags(ScoreOptions, into="options")
@flags(Outputs, into="outputs")
@flags(Resampling, into="how", help={"resamples": "Number of resamples for --ci."})
@flags(Clusters, into="grouped", help={"cluster": "For --ci: resample groups of videos (docs/compare.md)."})
def command(
    predictions: Path,
    refs: tuple[Path, ...],
    options: ScoreOptions,
    outputs: Outputs,
    how: Resampling,
    grouped: Clusters,
) -> None:
    """Score PREDICTIONS against one or more reference files.

    \b
    fabula score preds.json --refs val_1.json val_2.json
    fabula score preds.json --refs val_1.json --protocol soda-2021 --metrics SODA_c --json out.json
    fabula score a.json --refs val_1.json --html report.html --against b.json
    fabula score a.json --refs val_1.json --html report.html --videos clips/
    fabula score caps.json --refs coco_annotations.json --task captions
    fabula score pairs.jsonl --task captions --rows rows.jsonl
    fabula score preds.json --refs val_1.json --ci --seed 1
    fabula score preds.json --refs val_1.json --fail-under SODA_c=.27
    fabula score sets.jsonl --refs truth.jsonl --task identity --html report.html
    """
    from fabula.report import table
    from fabula.verbs.scoring.score import score

    check_asked(outputs, [*typed(Resampling), *typed(Clusters)])
    floors = read_floors(outputs.fail_under)
    read = [predictions, *refs, outputs.against, options.sets, options.judge_replay]
    check_outputs(read, outputs, **{"--judge-record": options.judge_record})
    systems = [path for path in (predictions, outputs.against) if path]
    with show_progress() as progress:
        ci = how if outputs.ci else False
        own = {"ci": ci, "cluster": grouped.cluster, "progress": progress}
        results = [score(path, refs, options=options, **own) for path in systems]
    if outputs.html:
        write_page(outputs.html, results, systems, videos=outputs.videos, images=outputs.images)
    result = results[0]
    if outputs.rows:
        from fabula.documents.rows import write_rows

        write_rows(result.rows, outputs.rows)
    title = f"{predictions.name} · {result.task} · protocol {result.protocol} · ×100"
    shown = Shown(
        document=result.to_dict,
        lines=lambda: table.plain_lines(result, outputs.thresholds),
        drawn=lambda: table.rich_table(result, title, outputs.thresholds, outputs.signatures == "full"),
        warnings=result.warnings,
    )
    show(shown, outputs.json_)
    check_floors(result, floors)


def check_asked(outputs: Outputs, resampling: list[str]) -> None:
    """Refuse options without effect before anything is computed."""
    if outputs.rows:
        from fabula.documents.rows import check_suffix

        check_suffix(outputs.rows)
    if resampling and not outputs.ci:
        raise SpecError(f"{', '.join(resampling)} only {'apply' if len(resampling) > 1 else 'applies'} with --ci")
