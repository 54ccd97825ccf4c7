"""Is a judge to be relied on, and what do captions gain that try to please it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from fabula.core.notes import Progress, silent
from fabula.core.options import split_keywords, with_options
from fabula.diagnosis.attacks import Attacked, AttackOptions, attack_judge
from fabula.diagnosis.judges import Checked, CheckOptions, CheckPlan, check_judge, plan_check
from fabula.diagnosis.pairs import read_pairs
from fabula.stats.resampling import Resampling
from fabula.text.judges.options import JudgeOptions
from fabula.verbs.keywords import AttackKeywords, CheckKeywords


@with_options(CheckOptions, JudgeOptions, Resampling)
def check(
    predictions: str | Path,
    refs: str | Path | Sequence[str | Path] = (),
    *,
    options: CheckOptions | None = None,
    ask: JudgeOptions | None = None,
    how: Resampling | None = None,
    progress: Progress = silent,
    **keywords: Unpack[CheckKeywords],
) -> Checked:
    """A judge asked about the same pairs again and otherwise: a file of pairs, or predictions and references.

    Of stories those pairs are taken that overlap in time. Options are given one by one, or as objects.
    """
    hands = (options or CheckOptions(), ask or JudgeOptions(), how or Resampling(resamples=2000))
    options, ask, how = split_keywords("check", keywords, *hands)
    pairs, notes = read_pairs(predictions, [refs] if isinstance(refs, str | Path) else refs)
    found = check_judge(pairs, options, ask, how, progress)
    return replace(found, warnings=(*notes, *found.warnings))


def plan(
    predictions: str | Path,
    refs: str | Path | Sequence[str | Path] = (),
    *,
    options: CheckOptions | None = None,
    ask: JudgeOptions | None = None,
    how: Resampling | None = None,
    price: Sequence[str] = (),
) -> CheckPlan:
    """What `check` would ask of these pairs: calls, tokens, cost; nothing is sent."""
    pairs, _ = read_pairs(predictions, [refs] if isinstance(refs, str | Path) else refs)
    hands = (options or CheckOptions(), ask or JudgeOptions(), how or Resampling(resamples=2000))
    return plan_check(pairs, *hands, price)


@with_options(AttackOptions, JudgeOptions, Resampling)
def stress(
    predictions: str | Path,
    refs: str | Path | Sequence[str | Path] = (),
    *,
    options: AttackOptions | None = None,
    ask: JudgeOptions | None = None,
    how: Resampling | None = None,
    progress: Progress = silent,
    **keywords: Unpack[AttackKeywords],
) -> Attacked:
    """A judge asked about captions that say more than they should, or tell it what to answer."""
    hands = (options or AttackOptions(), ask or JudgeOptions(), how or Resampling(resamples=2000))
    options, ask, how = split_keywords("stress", keywords, *hands)
    pairs, notes = read_pairs(predictions, [refs] if isinstance(refs, str | Path) else refs)
    found = attack_judge(pairs, options, ask, how, progress)
    return replace(found, warnings=(*notes, *found.warnings))
