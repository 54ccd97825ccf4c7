"""fabula.analyse: what can be seen inside a trained model, as figures and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from fabula.core.errors import SpecError
from fabula.core.options import read_keywords, with_options
from fabula.learn import need_learn
from fabula.learn.options import Callbacks, PredictOptions
from fabula.verbs.keywords import AnalyseKeywords
from fabula.verbs.training.train import find_task

if TYPE_CHECKING:
    from fabula.report.analysis import Analysis


@with_options(PredictOptions)
def analyse(
    name: str,
    checkpoint: str | Path,
    out: str | Path | None = None,
    *,
    options: PredictOptions | None = None,
    callbacks: Callbacks | None = None,
    **keywords: Unpack[AnalyseKeywords],
) -> Analysis:
    """The figures of a task's paper, drawn of the model of a checkpoint or run.

    With `out`, also a folder: index.html, an .svg a figure, analysis.json. Options are given one by one, or as one
    object; the task's own are those of `fabula analyse NAME --help`.

    Examples:

        >>> analysis = fabula.analyse("micap", "runs/micap_joint", data="inputs/sets", device="cpu")
        >>> len(analysis.figures)
        4
    """
    task = find_task(name)
    if task.Analyse is None:
        raise SpecError(f"the task {task.name!r} offers no analysis")
    options = read_keywords("analyse", keywords, options or task.Analyse)
    need_learn()
    from fabula.learn.run import analyse as run_analysis

    made = run_analysis(task, checkpoint, options, callbacks)
    if out is not None:
        from fabula.documents.files import write_text
        from fabula.report.analysis import as_files

        for file, text in as_files(made).items():
            write_text(Path(out) / file, [text])
    return made
