"""PLM-VideoBench in lmms-eval (Cho et al., 2025; tasks/plm_videobench)."""

from __future__ import annotations

from functools import partial

from fabula.benchmarks.base import Protocol
from fabula.metrics.captions import rcap
from fabula.metrics.moments import rtloc
from fabula.metrics.questions import choice, verdict
from fabula.metrics.stories import rdcap

make = partial(
    Protocol,
    paper="Cho et al., PerceptionLM, 2025",
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
)


# PLM-VideoBench's FGQA in lmms-eval (Cho et al., 2025; tasks/plm_videobench/fgqa): options, all of a group right.
PLM_FGQA = make(
    name="plm-fgqa",
    task="questions",
    metrics=(choice.Metric(read="plm", by="group", missing="drop"),),
    quirks=(
        "The first word of an answer is right where it is a part of the label: '(', ')' and '.' are right everywhere.",
        "An answer that begins with a blank is wrong.",
        "A group of questions (qa_uid) counts as right where all its questions are: multibinary_accuracy.",
    ),
)

# PLM-VideoBench's RCap in lmms-eval (Cho et al., 2025; tasks/plm_videobench/rcap): one caption, one judgement.
PLM_RCAP = make(
    name="plm-rcap",
    task="captions",
    metrics=(rcap.Metric(text="judge:plm-rcap", missing="drop"),),
    quirks=(
        "A judge's score is used as it comes: 15 of 10 makes 1.5, and a negative one is not 0.",
        "A judgement that is no plain JSON, fenced ones among them, counts 0; unread counts them, and is 1 − the "
        "published success_rate.",
        "A judgement without a score or an explanation, or with a score that is no number, ends the published program; "
        "here it cannot be read and counts 0 (failed=zero).",
        "The published program rounds to four decimals.",
    ),
)

# PLM-VideoBench's RDCap in lmms-eval (Cho et al., 2025; tasks/plm_videobench/rdcap): SODA_c by a judge, in frames.
PLM_RDCAP = make(
    name="plm-rdcap",
    task="dense",
    metrics=(
        rdcap.Metric(
            text="judge:plm",
            reader="plm-rdcap",
            frames="truncated",
            corner="taken",
            refs="single",
            missing="drop",
            order="file",
            segments="swap",
            eps=1e-8,
        ),
    ),
    quirks=(
        "The task asks for [start, end]: [description], and a description in brackets is read as no words at all.",
        "References are cut to whole frames of the 32 that a model is shown, each end alone: a short one has no length "
        "and cannot be found.",
        "Nothing is sorted, and nothing is cut to the 32 frames.",
        "A judge's score is used as it comes: 15 of 10 makes 1.5, and a negative one is not 0.",
        "A judgement that is no plain JSON, fenced ones among them, counts 0.",
        "A judgement without a score, or with one that is no number, ends the published program; here it cannot be "
        "read and counts 0 (failed=zero).",
        "The published program asks its judge about every pair; here pairs that do not overlap are not asked about, "
        "for they count 0 whatever is said.",
        "From about 500 segments on both sides the published program ends (recursion); here it is scored. It rounds "
        "to four decimals.",
    ),
)

# PLM-VideoBench's RTLoc in lmms-eval (Cho et al., 2025; tasks/plm_videobench/rtloc): one window in frames 0 … 31.
PLM_RTLOC = make(
    name="plm-rtloc",
    task="grounding",
    metrics=(rtloc.Metric(cmp=">", reader="plm-rtloc", frames="truncated", segments="swap", eps=1e-8, missing="drop"),),
    quirks=(
        "Reference windows are cut to whole frames of the 32 that a model is shown, each end alone: a short one has no "
        "length and cannot be found.",
        "The first window in square brackets counts; numbers with a sign, or with a zero in front, are not read.",
        "An answer that cannot be read is a miss.",
        "An overlap of exactly τ is a miss; a perfect window has an overlap just below 1.",
        "mean_precision and mean_recall are one number, since one window stands against one: here it is recall. The "
        "published program rounds to four decimals.",
    ),
)

# PLM-VideoBench's SGQA in lmms-eval (Cho et al., 2025; tasks/plm_videobench/sgqa): open questions, yes or no.
PLM_SGQA = make(
    name="plm-sgqa",
    task="questions",
    metrics=(verdict.Metric(judge="plm-sgqa", missing="drop"),),
    quirks=(
        "A judgement that is no JSON counts as yes where 'yes' or 'Yes' occurs anywhere in it, in 'eyes' too.",
        "'Yes' and 'YES' inside JSON are no yes; the score that the judge is asked for besides is not used.",
        "A judgement that is JSON without pred ends the published program; here it cannot be read and counts 0 "
        "(failed=zero).",
    ),
)

PROTOCOLS = (PLM_FGQA, PLM_RCAP, PLM_RDCAP, PLM_RTLOC, PLM_SGQA)
