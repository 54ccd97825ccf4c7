"""SoccerNet's dense captioning evaluator (Mkhallati et al., CVPRW 2023; SoccerNet 0.2.0, DenseVideoCaptioning.py)."""

from __future__ import annotations

from fabula.benchmarks._families.densevid import FIRST_1000, RANDOM_QUIRK, RAW, detection, words
from fabula.benchmarks.base import Protocol, Settings
from fabula.metrics.stories import soda_c

ALL: Settings = {**FIRST_1000, "tiou": (0.0,), "cmp": ">", "order": "start"}
SODA: Settings = {**RAW, "order": "start", "refs": "best", "nonascii": "blank"}

PROTOCOL = Protocol(
    name="soccernet",
    task="dense",
    paper="Mkhallati et al., CVPRW 2023",
    repository="github.com/SoccerNet/sn-caption",
    commit="c05973d, with SoccerNet 0.2.0",
    metrics=(
        *words("random", **ALL),
        detection(tau=(0.0,), order="start"),
        soda_c.Metric(**SODA),
    ),
    quirks=(
        "Its SODA is made by each caption metric: SODA_c(text=bleu_1) to bleu_4, and rouge, give the others.",
        "A comment is 30 s around its gameTime, whole seconds; two that are 30 s apart touch and do not meet.",
        "A unit is one half of a game: METEOR's aggregate and CIDEr's document frequencies are those of a half: "
        "a half with one pair has CIDEr 0.",
        RANDOM_QUIRK,
        "Its SODA with CIDEr is 0 whatever is said, for all items have one reference and idf 0: it is left out here.",
        "The precision of a half without predictions depends on the half before it, in an order that changes with "
        "Python's hash seed; here it is 0.",
        "A game without a file, and a half without references, end the published program; here the first counts as 0, "
        "the second does not count.",
    ),
)
