"""VLMEvalKit's evaluator of DREAM-1K: AutoDQ asked once, its answers taken as they come."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.questions import autodq

PROTOCOL = Protocol(
    name="autodq-vlmevalkit",
    task="questions",
    paper="Wang et al., Tarsier, 2024",
    repository="github.com/open-compass/VLMEvalKit",
    commit="e8e78f0",
    metrics=(
        autodq.Metric(
            judge="vlmevalkit",
            read="vlmevalkit",
            tries=1,
            count="any",
            eventless="one",
            missing="drop",
            failed="drop",
        ),
    ),
    quirks=(
        "Empty and missing predictions are left out of the means.",
        "An answer in which nothing can be read lists no events, which scores 1 on that side, or entails none, which "
        "scores 0.",
        "Judgements are counted whatever their number: more of them than events give a share above 1.",
        "A class with a blank around it ('entailment ') is not counted.",
        "A sample whose judgements have another shape (texts instead of objects) is left out.",
        "A call that gets no answer counts as an answer in which nothing can be read; here it ends the run.",
    ),
)
