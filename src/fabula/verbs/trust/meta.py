"""fabula.meta: which metric agrees with people on these texts?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from fabula.core.errors import SpecError
from fabula.core.notes import Progress, silent
from fabula.core.options import option, split_keywords, with_options
from fabula.io.judgements import Judged, meet, read_flickr8k, read_judgements, read_scores
from fabula.stats.meta import STATISTICS, Meta, People, weigh
from fabula.stats.resampling import PairedTest
from fabula.text.judges.options import JudgeOptions
from fabula.verbs.keywords import MetaKeywords

FLICKR8K = ("BLEU_4", "ROUGE_L", "METEOR", "CIDEr", "SPICE")


@dataclass(frozen=True, kw_only=True)
class MetaOptions(PairedTest):
    """How metrics are weighed against people."""

    resamples: int = option(1000, "Number of resamples and permutations.", shows_default=True, at_least=1)
    statistic: str = option("tau_b", "Statistic of the tests between metrics.", choices=STATISTICS, shows_default=True)
    measure: str | None = option(None, "Which of people's measures, if the file holds several.")
    metrics: tuple[str, ...] = option((), "Scores to compare, comma separated. Default: all.", "-m", parts=True)
    average: bool = option(False, "Average the judgements of one text before correlating.")


@with_options(MetaOptions, JudgeOptions)
def meta(
    scores: str | Path | Mapping[str, str | Path] | None = None,
    answers: str | Path | None = None,
    *,
    flickr8k: str | Path | None = None,
    crowd: bool = False,
    options: MetaOptions | None = None,
    ask: JudgeOptions | None = None,
    progress: Progress = silent,
    **keywords: Unpack[MetaKeywords],
) -> Meta:
    """Correlations of scores with people's answers, at the level of segments and of systems, and tests between metrics.

    `scores`: a table (`fabula score --rows`), or a mapping of one a system. `answers`: that of `study results --table`,
    or any table with item and value. `flickr8k`: the folder of Flickr8k's judgements instead, scored here; with `crowd`
    those of CrowdFlower.

    Examples:

        >>> _ = Path("people.csv").write_text("item,value\\na,1\\nb,2\\nc,4\\n")
        >>> _ = Path("rows.csv").write_text("video,METEOR\\na,0.1\\nb,0.2\\nc,0.3\\n")
        >>> seen = fabula.meta("rows.csv", "people.csv", resamples=100)
        >>> [line.metric for line in seen.lines], seen.judgements
        (['METEOR'], 3)
    """
    options, ask = split_keywords("meta", keywords, options or MetaOptions(), ask or JudgeOptions())
    if flickr8k is None and ask.judge_flags:
        raise SpecError(f"{ask.judge_flags[0]} has no effect: the tables hold scores already")
    if flickr8k is not None:
        if scores is not None or answers is not None:
            raise SpecError("flickr8k brings its own scores and judgements; name no other files")
        who = "crowd" if crowd else "expert"
        judged = judge_flickr8k(Path(flickr8k), who, options.metrics or FLICKR8K, ask, progress)
    elif scores is None or answers is None:
        raise SpecError("meta needs scores and people's answers: fabula meta scores.parquet answers.parquet")
    else:
        judged = read_both(scores, Path(answers), options)
    return weigh_judged(judged, options, progress)


def read_both(scores: str | Path | Mapping[str, str | Path], answers: Path, options: MetaOptions) -> Judged:
    judgements, notes = read_judgements(answers, options.measure)
    named = scores if isinstance(scores, Mapping) else {"": scores}
    held: dict[tuple[str, str], dict[str, float]] = {}
    for system, path in named.items():
        found = read_scores(Path(path), system)
        if twice := held.keys() & found.keys():
            item, whose = next(iter(twice))
            raise SpecError(f"item {item!r} of {whose!r} is scored in two files; name each file's system")
        held |= found
    return meet(judgements, held, options.metrics, notes)


def judge_flickr8k(
    folder: Path, who: str, metrics: Sequence[str], ask: JudgeOptions, progress: Progress = silent
) -> Judged:
    """Flickr8k's captions scored with our own scorers."""
    from fabula.documents.files import temporary_folder
    from fabula.verbs.scoring.score import score

    items, judgements = read_flickr8k(folder, who)
    with temporary_folder("flickr8k") as work:
        pairs = work / "pairs.jsonl"
        pairs.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
        result = score(pairs, task="captions", metrics=list(metrics), progress=progress, **vars(ask))
    held: dict[tuple[str, str], dict[str, float]] = {(str(item["id"]), ""): {} for item in items}
    for name, rows in result.rows.items():
        for key, value in rows.by_key(result.scores[name].primary).items():
            held[str(key), ""][name] = value
    return meet(judgements, held)


def weigh_judged(judged: Judged, options: MetaOptions, progress: Progress = silent) -> Meta:
    """From judgements with scores to the finding."""
    j = judged.judgements
    people = People.of([x.value for x in j], [x.item for x in j], [x.cluster for x in j], [x.system for x in j])
    scores: Mapping[str, Any] = judged.scores
    if options.average:
        import numpy as np

        first = np.unique(people.segment, return_index=True)[1]
        scores = {name: people.mean(np.asarray(values)) for name, values in judged.scores.items()}
        own = [j[k] for k in first.tolist()]
        people = People.of(
            people.mean(people.y).tolist(), [x.item for x in own], [x.cluster for x in own], [x.system for x in own]
        )
    found = weigh(scores, people, options, options.statistic, progress)
    return replace(found, notes=(*judged.notes, *found.notes))
