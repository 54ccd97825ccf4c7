"""TVR (Lei et al., ECCV 2020): its evaluator, and ReLoCLNet's."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol, Settings
from fabula.metrics.moments import svmr, vcmr, vr

kept: Settings = {"missing": "error", "repeated": "last", "unlisted": "wrong"}
moments: Settings = {"cast": "float32", **kept}
# TVR's evaluator (Lei et al., ECCV 2020): VCMR, SVMR and VR with R@{1, 5, 10, 100} at IoU .5 and .7.
TVR = Protocol(
    name="tvr",
    task="moments",
    paper="Lei et al., ECCV 2020",
    repository="github.com/jayleicn/TVRetrieval",
    commit="d99a9ea",
    metrics=(vcmr.Metric(**moments), svmr.Metric(**moments), vr.Metric(**kept, repeats="count")),
    quirks=(
        "Times are cast to float32, so that an IoU on the border may fall either way.",
        "The list's order ranks, whatever the scores say.",
        "SVMR cuts the list to 100 before it takes answers of other videos out.",
        "With four windows or more (DiDeMo) an answer must overlap two of them.",
        "Two or three windows end the published program; here any one of them counts.",
        "A query without an answer is refused; an empty list ends the published program and counts as a miss here.",
        "Of two answers to a query in one list the last counts.",
        "An answer whose number video2idx gives to no video is a wrong one.",
        "Only the lists that the predictions hold are scored.",
    ),
)

VCMR, SVMR, VR = (TVR.metric(name) for name in ("VCMR", "SVMR", "VR"))
K = {"k": "1/10/100"}
# ReLoCLNet's evaluator (Zhang et al., SIGIR 2021): TVR's with R@{1, 10, 100}, after a slip in SVMR's suppression.
RELOCLNET = Protocol(
    name="reloclnet",
    task="moments",
    paper="Zhang et al., SIGIR 2021",
    repository="github.com/26hzhang/ReLoCLNet",
    commit="56cb666",
    metrics=(VCMR.with_params(K), SVMR.with_params(K | {"nms_rows": "shifted"}), VR.with_params(K)),
    quirks=(
        "R@5 is not reported.",
        "SVMR's suppression (nms=…) reads rows one column off: it compares [video, start] and sorts by end.",
        "Its model puts a moment's end at clip·index, one clip earlier than XML (data/moments.py, clip_seconds).",
        *TVR.quirks,
    ),
)

PROTOCOLS = (TVR, RELOCLNET)
