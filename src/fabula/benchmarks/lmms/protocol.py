"""lmms-eval (Zhang et al., 2024): its tasks for Charades-STA, ExtremeWhenBench, VDC and YouCook2."""

from __future__ import annotations

from functools import partial

from fabula.benchmarks.base import Protocol, Settings
from fabula.metrics.captions import bleu, cider, meteor, rouge_l
from fabula.metrics.moments import grounding
from fabula.metrics.questions import vdc

make = partial(Protocol, repository="github.com/EvolvingLMMs-Lab/lmms-eval", commit="75571cf")


# lmms-eval's Charades-STA (Li et al., 2024; tasks/charades_sta/utils.py): a video LLM's words, its first window.
CHARADES_LMMS = make(
    name="charades-lmms",
    task="grounding",
    paper="Zhang et al., lmms-eval, 2024",
    metrics=(grounding.Metric(reader="charades-lmms", repeated="last", missing="drop"),),
    quirks=(
        "Every 'to' becomes a dash before numbers are looked for, inside words too.",
        "What stands between <think> and </think> is read like the rest, and its window counts if it comes first.",
        "Where a key of video, query and truth comes twice, the later answer counts.",
        "An answer that cannot be read is a miss.",
    ),
)

# lmms-eval's stand-alone script for Charades-STA (tasks/charades_sta/eval_tvg.py): another reader, other numbers.
CHARADES_TVG = make(
    name="charades-tvg",
    task="grounding",
    paper="Zhang et al., lmms-eval, 2024",
    metrics=(grounding.Metric(reader="charades-tvg", repeated="last", missing="drop"),),
    quirks=(
        "An answer without one of the words start, end or happen is not read: a bare '10.5 - 12.0' is a miss.",
        "A query that contains '>>>', and two windows of no length, end the published program.",
    ),
)

# lmms-eval's ExtremeWhenBench (tasks/extremewhenbench/utils.py): the last window of an answer.
EXTREMEWHEN = make(
    name="extremewhen",
    task="grounding",
    paper="ExtremeWhenBench, 2026",
    metrics=(grounding.Metric(reader="extremewhen", missing="drop"),),
    quirks=(
        "The last window of an answer counts; clocks are read as plain numbers (00:10 - 00:12 is 0 to 10).",
        "An answer that cannot be read is a miss.",
    ),
)

# lmms-eval's evaluator of VDC (Chai et al., ICLR 2025): every question of a caption, read as a Python literal.
VDC_LMMS = make(
    name="vdc-lmms",
    task="questions",
    paper="Chai et al., ICLR 2025",
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

EACH: Settings = {"over": "videos", "nonascii": "blank", "missing": "drop"}
# lmms-eval's YouCook2 (tasks/youcook2/utils.py; Zhou et al., AAAI 2018): captions of given segments, by video.
YOUCOOK2_LMMS = make(
    name="youcook2-lmms",
    task="captions",
    paper="Zhang et al., lmms-eval, 2024",
    metrics=(
        *(metric(take="mean", **EACH) for metric in bleu.METRICS),
        meteor.Metric(**EACH),
        rouge_l.Metric(**EACH),
        cider.Metric(**EACH),
    ),
    quirks=(
        "BLEU-1, -2, -3 and -4 are one number, the mean of the four: the list of four is averaged.",
        "Scores are made of the segments of one video, then averaged over videos; CIDEr's document frequencies are "
        "those of the video, so that a video with one segment has CIDEr 0.",
        "The model sees each segment cut out: no time is judged.",
    ),
)

PROTOCOLS = (CHARADES_LMMS, CHARADES_TVG, EXTREMEWHEN, VDC_LMMS, YOUCOOK2_LMMS)
