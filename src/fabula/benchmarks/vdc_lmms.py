"""lmms-eval's evaluator of VDC (Chai et al., ICLR 2025): every question of a caption, read as a Python literal."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.questions import vdc

PROTOCOL = Protocol(
    name="vdc-lmms",
    task="questions",
    paper="Chai et al., ICLR 2025",
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
    metrics=(
        vdc.Metric(judge="lmms", read="literal", numbers="number", yes="exact", lacking="skip", missing="judged"),
    ),
    quirks=(
        "The run ends at the first judgement that is no Python literal (JSON's true and null are none) or whose score "
        "is text, and where no question of a caption is judged; here such a question, or caption, counts 0.",
        "A judgement without pred or score leaves the question out.",
        "'Yes' is no.",
        "A score beyond 0 to 5 counts as it is.",
        "The caption prompt is drawn at random, unseeded, from 16 to 24 a kind; the log keeps it under input.",
    ),
)
