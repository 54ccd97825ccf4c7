"""fabula.score: predictions against references, every number signed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabula.core.notes import Progress, silent
from fabula.core.options import deal, takes
from fabula.core.result import Result
from fabula.evaluate import request
from fabula.evaluate.options import ScoreOptions
from fabula.stats.resampling import Clusters

if TYPE_CHECKING:
    from fabula.stats.resampling import Resampling


@takes(ScoreOptions, Clusters)
def score(
    predictions: Any,
    refs: Any = (),
    *,
    options: ScoreOptions | None = None,
    ci: bool | Resampling = False,
    progress: Progress = silent,
    **given: Any,
) -> Result:
    """Score predictions against one or more reference sets: files, or what a notebook has of the same shape.

    Dicts, lists, iterators, frames, what `fabula.read` returns; captions also as plain lists, one of candidates and one
    of references (docs/python.md).

    With a protocol, the published evaluator's numbers; without, the corrected ones. `metrics` chooses among them:
    names or specs such as "SODA_c(refs=best)". `ci` gives each primary number an interval: True, or a Resampling that
    says how; `cluster` draws groups of videos. With `engine="ray"` or a `work` folder, stories are scored shard by
    shard, with the same numbers; `resume` goes on with the run of a work folder (docs/engines.md). Options are given
    one by one, or as one object.
    """
    options, grouped = deal("score", given, options or ScoreOptions(), Clusters())
    return request.score(predictions, refs, options, ci=ci, cluster=grouped.cluster, progress=progress)
