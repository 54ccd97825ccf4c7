"""fabula.protocols: the same predictions under every published evaluator, and why they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabula.api.score import list_refs
from fabula.core.notes import Progress, silent
from fabula.core.options import deal, takes
from fabula.diagnose.protocols import Compared, Overview, overview
from fabula.score.base import Readable
from fabula.score.options import WHERE, ScoreOptions

WITHOUT = ("protocol", "metrics", "strict", *WHERE)  # a protocol has them


@takes(Compared, ScoreOptions, without=WITHOUT)
def protocols(
    predictions: Readable,
    refs: Readable | Sequence[Readable] = (),
    *,
    options: ScoreOptions | None = None,
    compared: Compared | None = None,
    progress: Progress = silent,
    **given: Any,
) -> Overview:
    """Score predictions under the default and every published protocol that applies, or `only` those named.

    `overview.reasons("soda-2021")` says what parts a protocol from the default. With `explain`, the two that it names
    are compared. Options are given one by one, or as objects.
    """
    own = (options or ScoreOptions(), compared or Compared())
    options, compared = deal("protocols", given, *own, without=WITHOUT)
    names = compared.names or None
    return overview(predictions, list_refs(refs), names, options.task, progress=progress, options=options)
