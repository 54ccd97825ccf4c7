"""Which metric notices what: references are spoiled in known ways and scored against themselves.

    r = mean over stories of  ŝ/s        s: the reference against itself · ŝ: its spoiled copy, mean over copies

1: not noticed; 0: everything is lost. The ways are in _changes.py; the first three are Table 1 of MICap (Raajesh et
al., CVPR 2024), where the identity-aware metric must fall furthest. A story that a way does not apply to, and one with
s = 0, does not count. Metrics of stories read times and words; metrics of captions read a story's sentences, in the
order of time, as one text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

import numpy as np

from fabula import metrics
from fabula.core.errors import SpecError
from fabula.core.notes import Progress, silent
from fabula.core.options import Options, option, same_as
from fabula.core.registry import close_to
from fabula.core.rows import Rows
from fabula.data.stories import Corpus, Story
from fabula.diagnosis._changes import CHANGES, USUAL, renumber_persons
from fabula.diagnosis.refusals import REFUSE, refuse_stories, tabulate
from fabula.evaluate.options import ScoreOptions
from fabula.metrics import Metric
from fabula.stats.bootstrap import Interval
from fabula.stats.choose import Chosen, choose_apart, tell_choices
from fabula.stats.resampling import Resampling, check_seed
from fabula.stats.sample import Mean, Sample

FEW = "too few {units} carry the spread for a bootstrap"
COPIES = 3  # of every story and way, as MICap makes them
TIMED = ("split", "merge", "shift")  # change when things happen
UNTIMED = tuple(way for way in USUAL if way not in TIMED)  # of captionsets, which have no times
DEFAULT = ("SODA_c", "METEOR", "CIDEr", "BLEU_4", "ROUGE_L")  # and iSPICE, where it is installed


@dataclass(frozen=True, kw_only=True)
class StressOptions(Options):
    """How stories are spoiled, and how intervals of what is left are made."""

    ways: tuple[str, ...] = option(
        (),
        f"Perturbations, comma separated: {', '.join(CHANGES)}. Default: the first ten. Also: refuse, does it "
        "pay to leave out the hard half?",
        "-w",
        parts=True,
    )
    copies: int = option(COPIES, "Perturbed copies of a story.", shows_default=True, at_least=1, at_most=1000)
    seed: int = option(0, "Random seed.", shows_default=True)
    resamples: int = option(2000, "Number of resamples of the intervals.", shows_default=True, at_least=1)
    spice: str | None = same_as(ScoreOptions, "spice")
    sets: Path | None = option(
        None, "Captions of clips: the file of sets (valSets.csv). Default: five consecutive clips of a film."
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """What is left of one metric under one way of spoiling."""

    ratio: float
    interval: Interval | None  # None: too few stories for one
    stories: int
    skipped: int  # stories that it does not apply to, or that score 0 against themselves
    ratios: Mapping[str | int, float]  # of each story
    ci_method: str = ""
    reason: str = ""  # why the interval is another than was asked for, or none


@dataclass(frozen=True, slots=True)
class Stress:
    """metric → way → what is left; None where no story of the corpus can be spoiled so."""

    cells: Mapping[str, Mapping[str, Cell | None]]
    signatures: Mapping[str, str]
    stories: int
    copies: int
    seed: int
    how: Resampling
    warnings: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> Mapping[str, Cell | None]:
        return self.cells[metric]

    @property
    def ways(self) -> list[str]:
        return list(next(iter(self.cells.values())))


def default() -> list[str]:
    """The metrics that are put under stress unasked."""
    return [*(["iSPICE"] if metrics.room.find("iSPICE") else []), *DEFAULT]


def stress(
    wanted: Sequence[str | Metric],
    corpus: Corpus,
    *,
    changes: Sequence[str] | None = None,
    copies: int = COPIES,
    seed: int = 0,
    ci: Resampling | None = None,
    progress: Progress = silent,
) -> Stress:
    """Perturb every story of the corpus in every way, `copies` times, and score it with every metric."""
    chosen = [metrics.metric(m) if isinstance(m, str) else m for m in wanted]
    for m in chosen:
        if m.reads not in ("stories", "captions"):
            raise SpecError(f"{m.name} scores neither stories nor captions; it cannot be put under stress")
    ways = list(USUAL) if changes is None else list(changes)
    for way in ways:
        if way not in (*CHANGES, REFUSE):
            raise SpecError(f"no perturbation is called {way!r}; {close_to(way, [*CHANGES, REFUSE])}")
    if copies < 1:
        raise SpecError(f"{copies} copies; there must be at least 1")
    check_seed(seed)
    how = ci or Resampling(resamples=2000, seed=seed)
    stories = {v: renumber_persons(story.in_order()) for v, story in corpus.items() if len(story)}
    cells: dict[str, dict[str, Cell | None]] = {str(m): {} for m in chosen}
    bases = Bases(stories)
    for k, way in enumerate(ways):
        progress("stress", k, len(ways))
        if way == REFUSE:
            for m in chosen:
                found = refuse_stories(m, stories, copies, how)
                cells[str(m)][way] = None if found is None else refused(*found, len(stories))
            continue
        spoiled = [
            {
                v: s
                for v, story in stories.items()
                if (s := CHANGES[way](story, make_chance(seed, way, copy, v))) is not None
            }
            for copy in range(copies)
        ]
        refs = {v: stories[v] for v in spoiled[0]}
        for m in chosen:
            cells[str(m)][way] = (
                measure_notice(m, bases.score(m, refs), refs, spoiled, len(stories), how) if refs else None
            )
    progress("stress", len(ways), len(ways))
    signed = {str(m): m.signature({"stories": len(stories), **judged_by(m)}) for m in chosen}
    return Stress(cells, signed, len(stories), copies, seed, how, tell_cells(cells, "stories"))


def refused(ratio: float, chosen: Chosen, units: int, of: int) -> Cell:
    """Whether refusing pays, as a cell."""
    return Cell(ratio, chosen.interval, units, of - units, {}, chosen.method, chosen.reason)


def tell_cells(cells: Mapping[str, Mapping[str, Cell | None]], units: str) -> tuple[str, ...]:
    """Which intervals are bounded ones, and which are absent, with the reason."""
    choices = [
        (f"{metric} {way}", Chosen(c.interval, c.ci_method, FEW if c.ci_method else c.reason))
        for metric, ways in cells.items()
        for way, c in ways.items()
        if c is not None and c.reason
    ]
    return tuple(tell_choices(choices, units))


def judged_by(metric: Metric) -> dict[str, str]:
    """The model that a metric asks, for its signature."""
    if not metric.uses_llm:
        return {}
    from fabula.evaluate.judged import model_of

    return {"model": model_of(metric)}


def make_chance(seed: int, way: str, copy: int, video: str) -> np.random.Generator:
    """Of its own for each story, way and copy: what else is asked for changes nothing."""
    return np.random.default_rng([seed, crc32(way.encode()), copy, crc32(video.encode())])


@dataclass(frozen=True, slots=True)
class Bases:
    """What references score against themselves, each once: most ways spoil the same stories."""

    stories: Mapping[str, Story]
    scores: dict[tuple[str, tuple[str, ...]], dict[str | int, float]] = field(default_factory=dict)

    def score(self, metric: Metric, refs: Mapping[str, Story]) -> dict[str | int, float]:
        """Of these stories; from the scores of all, where a story's score hangs on itself alone."""
        stories = self.stories if metric.of_unit else refs
        key = str(metric), tuple(stories)
        if key not in self.scores:
            self.scores[key] = score_stories(metric, stories, stories)
        return {v: score for v, score in self.scores[key].items() if v in refs}


def measure_notice(
    metric: Metric,
    base: Mapping[str | int, float],
    refs: Mapping[str, Story],
    spoiled: Sequence[Mapping[str, Story]],
    of: int,
    how: Resampling,
) -> Cell | None:
    after = [score_stories(metric, refs, copy) for copy in spoiled]
    counted = [v for v, s in base.items() if s > 0 and all(v in one for one in after)]
    if not counted:
        return None
    ratios = {v: float(np.mean([one[v] for one in after])) / base[v] for v in counted}
    rows = Rows.of({"video": v, "value": r} for v, r in ratios.items())
    ratio, (chosen,) = float(np.mean(list(ratios.values()))), choose_apart([Sample.of(rows, Mean())], how)
    return Cell(ratio, chosen.interval, len(counted), of - len(counted), ratios, chosen.method, chosen.reason)


def score_stories(
    metric: Metric, refs: Mapping[str, Story], predictions: Mapping[str, Story]
) -> dict[str | int, float]:
    """One number a story."""
    return tabulate(metric, refs, predictions).by_key(metric.primary)
