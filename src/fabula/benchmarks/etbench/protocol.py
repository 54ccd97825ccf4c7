"""E.T. Bench's evaluator (Liu et al., NeurIPS 2024; evaluation/compute_metrics.py), a protocol a kind of task."""

from __future__ import annotations

from fabula.benchmarks._families.densevid import FIRST_1000, RANDOM_QUIRK, RAW, VIDEO_QUIRK, detection, words
from fabula.benchmarks.base import Protocol, Settings
from fabula.metrics.base import Metric
from fabula.metrics.moments import allwindows, grounding, pointing, seconds
from fabula.metrics.questions import groundedchoice, nearestchoice
from fabula.metrics.stories import dvc

TIOU = (0.1, 0.3, 0.5, 0.7)
WORDS: Settings = {"reader": "etbench", "missing": "drop", "over": "sources"}
MEANS = "The number of a task is the mean over its sources; each source is the mean over its samples."
DOTS = "An answer with a number like '10..5' ends the published program; here it is no number."
HYPHEN = "Only a plain hyphen or 'to' joins two numbers; clocks are read as numbers (00:10 - 00:12 is 0 to 10)."
SINGLE = "Overlaps are computed in single precision and held against τ in double: exactly 0.7 is a miss."
NO_LENGTH = "Where answer and truth have no length its mean IoU is NaN; here the answer is a miss."


OPTIONS: Settings = {"text": "embed_signed:minilm", "missing": "drop", "over": "sources"}
LIKENESS = (
    "An answer without a letter on offer is given to the option that it is most like, by all-MiniLM-L6-v2; every such "
    "answer has a choice, and may be right by chance."
)
SIMILAR: Settings = {**RAW, **FIRST_1000, "refs": "merged", "garbage": "random", "nonascii": "blank"}


def protocol(
    name: str, metrics: tuple[Metric, ...], *quirks: str, task: str = "grounding", answers: str = ""
) -> Protocol:
    return Protocol(
        name=f"etbench-{name}",
        task=task,
        paper="Liu et al., NeurIPS 2024",
        repository="github.com/PolyU-ChenLab/ETBench",
        commit="278cfa2; the evaluator, on Hugging Face, as read in 2026",
        metrics=metrics,
        answers=answers,
        quirks=(*quirks, MEANS),
    )


first = grounding.Metric(iou=TIOU, mean="yes", digits="mixed", **WORDS)

PROTOCOLS = (
    protocol(
        "tvg",
        (first,),
        "tvg and epm: only the first window of an answer counts; its F1 is R@1, and an unread answer is a miss.",
        HYPHEN,
        SINGLE,
        NO_LENGTH,
        DOTS,
    ),
    protocol(
        "tem",
        (first,),
        "Only the first window of an answer counts, against the window that it fits best.",
        HYPHEN,
        SINGLE,
        NO_LENGTH,
        DOTS,
    ),
    protocol(
        "tal",
        (allwindows.Metric(iou=TIOU, match="covering", digits="float32", **WORDS),),
        "Not one to one: a window said three times is right three times, and one may cover several.",
        "Overlap and τ are held in single precision: exactly 0.7 is a hit, where it is a miss in tvg.",
        HYPHEN,
        DOTS,
    ),
    protocol(
        "evs",
        (seconds.Metric(grid="seconds", unread="drop", **WORDS),),
        "Answers that cannot be read leave the mean: whoever answers the easy half scores as if there were no other.",
        "Ends are rounded to whole seconds, half to even; beyond second 1,000 nothing counts.",
        HYPHEN,
        DOTS,
    ),
    protocol(
        "vhd",
        (pointing.Metric(**{**WORDS, "reader": "etbench-point"}),),
        "The first number of the answer is the moment, whatever it counts: the 2 of 'in the 2 minute video'.",
        "Windows of all annotators are right.",
    ),
    protocol(
        "dvc",
        (
            detection(f1="levels", tau=TIOU, **FIRST_1000),
            *words("random", tiou=TIOU, missing="drop", **FIRST_1000),
            dvc.Text(text="embed_signed:minilm", tiou=TIOU, missing="drop", **SIMILAR),
        ),
        "dvc and slc: answers that cannot be read are videos without a prediction. F1 counts them as 0; METEOR, CIDEr, "
        "ROUGE_L, BLEU and the similarity leave them out: whoever refuses the hard videos gains.",
        "Words are given to windows by position: words before their window shift by one, a preamble moves all.",
        "One time alone is read as 40 s around it.",
        "Of several samples of a video the last that can be read counts; the others count as 0 for F1.",
        "The similarity of a prediction that overlaps nothing is one to random letters, and changes from run to run.",
        RANDOM_QUIRK,
        VIDEO_QUIRK,
        task="dense",
        answers="etbench",
    ),
    protocol(
        "mcq",
        (nearestchoice.Metric(**OPTIONS),),
        "rar, eca and rvq: the first letter of an answer is its choice where a blank follows it: 'A dog runs' is A.",
        LIKENESS,
        task="questions",
    ),
    protocol(
        "gvq",
        (groundedchoice.Metric(find="first", iou=TIOU, digits="mixed", reader="etbench", **OPTIONS),),
        "Windows are looked for only where the option is right; the first window counts.",
        "No (X) is looked for, as it is in the other tasks with options.",
        LIKENESS,
        HYPHEN,
        SINGLE,
        NO_LENGTH,
        DOTS,
        task="questions",
    ),
)
