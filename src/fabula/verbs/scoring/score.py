"""fabula.score: predictions against references, every number signed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from fabula.core.notes import Progress, silent
from fabula.core.options import split_keywords, with_options
from fabula.data.result import Result
from fabula.evaluate import request
from fabula.evaluate.options import ScoreOptions
from fabula.stats.resampling import Clusters
from fabula.verbs.keywords import Data, ScoreKeywords

if TYPE_CHECKING:
    from fabula.stats.resampling import Resampling


@with_options(ScoreOptions, Clusters)
def score(
    predictions: Data,
    refs: Data = (),
    *,
    options: ScoreOptions | None = None,
    ci: bool | Resampling = False,
    progress: Progress = silent,
    **keywords: Unpack[ScoreKeywords],
) -> Result:
    """Score predictions against one or more reference sets: files, or what a notebook has of the same shape.

    Dicts, lists, iterators, frames, what `fabula.read` returns; captions also as plain lists, one of candidates and one
    of references (docs/python.md).

    With a protocol, the published evaluator's numbers; without, the corrected ones. `metrics` chooses among them:
    names or specs such as "SODA_c(refs=best)". `ci` gives each primary number an interval: True, or a Resampling that
    says how; `cluster` draws groups of videos. With `engine="ray"` or a `work` folder, stories are scored shard by
    shard, with the same numbers; `resume` goes on with the run of a work folder (docs/engines.md). Options are given
    one by one, or as one object.

    Examples:

        >>> truth = {"v_1": [(0, 10, "a man cuts an onion"), (12, 30, "he fries it in a pan")]}
        >>> result = fabula.score({"v_1": [(0, 10, "a man cuts an onion")]}, truth, metrics="SODA_c,mIoU")
        >>> round(result["SODA_c"].value, 3)
        0.667
    """
    options, grouped = split_keywords("score", keywords, options or ScoreOptions(), Clusters())
    return request.score(predictions, refs, options, ci=ci, cluster=grouped.cluster, progress=progress)
