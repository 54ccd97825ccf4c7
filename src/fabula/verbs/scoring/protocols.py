"""fabula.protocols: the same predictions every published evaluator, and why they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from fabula.core.notes import Progress, silent
from fabula.core.options import split_keywords, with_options
from fabula.diagnosis.panel import Panel, panel
from fabula.diagnosis.protocols import Compared, Overview, overview
from fabula.evaluate.inputs import take_both, take_sets
from fabula.evaluate.options import WHERE, ScoreOptions
from fabula.evaluate.request import check_judged, infer_task
from fabula.text.judges.scorer import open_session
from fabula.verbs.keywords import Data, ProtocolsKeywords

WITHOUT = ("protocol", "metrics", "strict", *WHERE)  # a protocol has them


@with_options(Compared, ScoreOptions, without=WITHOUT)
def protocols(
    predictions: Data,
    refs: Data = (),
    *,
    options: ScoreOptions | None = None,
    compared: Compared | None = None,
    progress: Progress = silent,
    **keywords: Unpack[ProtocolsKeywords],
) -> Overview | Panel:
    """Score predictions under the default and every published protocol that applies, or `only` those named.

    With `judges`, records of judgements, under every judge on record instead: a `Panel` (docs/judges.md).

    `overview.reasons("soda-2021")` says what parts a protocol from the default. With `explain`, the two that it names
    are compared. Options are given one by one, or as objects.

    Examples:

        >>> refs = demo.REFERENCES["annotator_1"]
        >>> found = fabula.protocols(demo.SYSTEMS["good"], refs, task="procedure", only=["pss-2022"])
        >>> [column.name for column in found.columns]
        ['default', 'pss-2022']
    """
    own = (options or ScoreOptions(), compared or Compared())
    options, compared = split_keywords("protocols", keywords, *own, without=WITHOUT)
    names = compared.names or None
    options = take_sets(options)
    agreed = agreed_task(names)
    system, several = take_both(predictions, refs, replace(options, task=options.task or agreed))
    task = options.task or (None if agreed else infer_task(system, several, options.format))
    if compared.judges:
        return panel(system, several, compared.judges, task or agreed, options=options, progress=progress)
    if not options.names_judge:
        return overview(system, several, names, task, progress=progress, options=options)
    with open_session(options, progress) as judge:  # asked once for all protocols
        found = overview(system, several, names, task, progress=progress, options=options, judge=judge)
    check_judged((m for column in found.columns for m in column.metrics.values()), options)
    return found


def agreed_task(names: Sequence[str] | None) -> str | None:
    """The task of the protocols that were named."""
    from fabula.benchmarks import protocol

    return next((protocol(name).task for name in names or ()), None)
