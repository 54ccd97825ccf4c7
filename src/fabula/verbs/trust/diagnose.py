"""fabula.diagnose: how much each kind of error costs, and where a system is weak."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

from fabula.core.errors import SpecError
from fabula.core.notes import Progress, silent
from fabula.core.options import Options, option, split_keywords, with_options
from fabula.data.stories import Corpus
from fabula.diagnosis.errors import Diagnosis, errors
from fabula.diagnosis.finding import Limits
from fabula.diagnosis.retrieval import Recall, Retrieval, retrieval
from fabula.evaluate.inputs import Readable, take_both
from fabula.evaluate.options import ScoreOptions
from fabula.stats.resampling import Resampling
from fabula.verbs.keywords import Data, DiagnoseKeywords

READING = ("repair", "spice", "format", "refs_format")  # of ScoreOptions
WITHOUT = tuple(o.name for o in ScoreOptions.options() if o.name not in (*READING, "task"))
DRAWS = 2000


@dataclass(frozen=True, kw_only=True)
class Explained(Options):
    """Which score is explained."""

    task: Literal["stories", "moments"] = option("stories", "stories, or moments for rankings of moments.")
    metric: Any = option(None, "The score to explain. Default: SODA_c; SODA_d where there are no captions.", "-m")


@with_options(Explained, Limits, Recall, Resampling, ScoreOptions, without=WITHOUT)
def diagnose(
    predictions: Data,
    refs: Data,
    *,
    options: ScoreOptions | None = None,
    explained: Explained | None = None,
    limits: Limits | None = None,
    recall: Recall | None = None,
    how: Resampling | None = None,
    progress: Progress = silent,
    **keywords: Unpack[DiagnoseKeywords],
) -> Diagnosis | Retrieval:
    """What each kind of error in the predictions costs, by repairing it and scoring again.

    For `task="moments"`, what is wrong with each query that R@k at an IoU misses. Intervals are made with 2,000 draws
    where nothing else is said. Options are given one by one, or as objects.

    Examples:

        >>> refs = list(demo.REFERENCES.values())
        >>> fabula.diagnose(demo.SYSTEMS["good"], refs, metric="SODA_d", resamples=100)["missed"].errors
        10
    """
    how = how or Resampling(resamples=DRAWS)
    hands = (explained or Explained(), limits or Limits(), recall or Recall(), how, options or ScoreOptions())
    explained, limits, recall, how, options = split_keywords("diagnose", keywords, *hands, without=WITHOUT)
    task = explained.task if explained.task != "stories" else None
    system, several = take_both(predictions, refs, replace(options, task=task))
    if explained.task == "stories" and not holds_queries(system, options.format):
        return errors(
            system, several, metric=explained.metric, limits=limits, ci=how, options=options, progress=progress
        )
    if explained.metric or options.spice:
        raise SpecError("for moments the score is R@k at an IoU: say --k and --iou")
    files = [ref for ref in several if not isinstance(ref, Corpus)]
    if isinstance(system, Corpus) or len(files) < len(several):
        raise SpecError("rankings of moments are read from files, not from story corpora")
    return retrieval(system, files, k=recall.k, iou=recall.iou, ci=how, options=options, progress=progress)


def holds_queries(predictions: Readable, format: str | None) -> bool:
    """True where a file is known to rank moments; then no task need be named."""
    if isinstance(predictions, Corpus):
        return False
    from fabula.documents.document import open_document
    from fabula.io import kinds

    document = open_document(predictions)
    return not document.holds_only_stories and kinds.name_kind(document, format) == "moments"
