"""tarsier's evaluator of DREAM-1K (Wang et al., 2024): AutoDQ with its own prompts, tries and subsets."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.questions import autodq

PROTOCOL = Protocol(
    name="autodq-tarsier",
    task="questions",
    paper="Wang et al., Tarsier, 2024",
    repository="github.com/bytedance/tarsier",
    commit="63de87a",
    metrics=(
        autodq.Metric(
            judge="tarsier",
            read="tarsier",
            texts="lower",
            tries=10,
            eventless="asked",
            missing="judged",
            failed="drop",
            over="kinds",
            undefined="nan",
        ),
    ),
    quirks=(
        "Texts are shown to the judge in small letters, with single quotes where it lists events; reference events of "
        "the file are not.",
        "An answer that cannot be read is asked for again, 10 times in all; then the sample is left out of the means.",
        "A text without events has a share of 1: a prediction that tells nothing, or is empty, has a precision of 1. "
        "The judge is asked about the whole text first, and only the shape of its answer matters.",
        "Overall precision and recall are plain means over subsets, whatever their size; F1 is NaN where both are 0.",
        "Words before the JSON are an error; a missing outer brace and trailing commas are not.",
        "Limits of the endpoint are waited for without end, and its temperature is not set; here --judge-retries "
        "bounds the tries, and a call without any answer ends the run.",
    ),
)
