"""The pairs of a result, for whoever draws or lists them: matched by one of its own metrics, not anew.

Whose: SODA_c's, SODA_d's, or those of the first other metric that matches pairs. A result of metrics that match none
has those of plain SODA_c where it reads captions by METEOR (the index is then at hand), else those of plain SODA_d.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fabula import metrics
from fabula.data.result import Result
from fabula.metrics import Metric
from fabula.metrics.stories import Match
from fabula.text import meteor

FIRST = ("SODA_c", "SODA_d")  # whose pairs are asked for before those of other metrics


@dataclass(frozen=True, slots=True)
class Pairs:
    """Whose pairs, and which events of every video they join, set by set; by their places in the result's stories."""

    name: str  # what the result calls the metric
    metric: Metric
    matches: Mapping[str, Sequence[Sequence[Match]]]

    @property
    def text(self) -> str | None:
        """The caption scorer whose number is `Match.text`, by its name in text/."""
        captions = self.metric.captions()
        return captions.scorer.name if captions else None

    def align_words(self, captions: Sequence[tuple[str, str]]) -> list[meteor.Alignment]:
        """METEOR's alignment of (reference, prediction) captions, whichever side the metric makes the candidate.

        Of each the prediction's words come as the candidate's. None where the metric reads captions otherwise.
        """
        if self.text != "meteor":
            return []
        how = self.metric.captions()
        how.tokenize(caption for pair in captions for caption in pair)
        golds, guesses = ([how.tokens[pair[side]] for pair in captions] for side in (0, 1))
        if how.roles == "prediction-as-hypothesis":
            return meteor.align_all(guesses, golds)
        return list(map(exchange_sides, meteor.align_all(golds, guesses)))


def exchange_sides(found: meteor.Alignment) -> meteor.Alignment:
    matches = [m._replace(ref=m.hyp, hyp=m.ref, ref_words=m.hyp_words, hyp_words=m.ref_words) for m in found.matches]
    return meteor.Alignment(found.reference, found.candidate, sorted(matches))


def find_pairs(result: Result) -> Pairs:
    """Of a result of stories that has them still."""
    drawn = [name for name, metric in result.metrics.items() if metric.draws == "pairs"]
    if drawn:
        name = min(drawn, key=lambda n: (*FIRST, result.metrics[n].name).index(result.metrics[n].name))
        return Pairs(name, result.metrics[name], result.pairs(name))
    reads_meteor = any("meteor" in metric.depends_on for metric in result.metrics.values())
    metric = metrics.metric("SODA_c" if reads_meteor else "SODA_d")
    return find_pairs(replace(result, metrics={str(metric): metric}))
