"""ReLoCLNet's evaluator (Zhang et al., SIGIR 2021): TVR's with R@{1, 10, 100}, after a slip in SVMR's suppression."""

from __future__ import annotations

from fabula.benchmarks import tvr
from fabula.benchmarks.base import Protocol

VCMR, SVMR, VR = (tvr.PROTOCOL.metric(name) for name in ("VCMR", "SVMR", "VR"))
K = {"k": "1/10/100"}

PROTOCOL = Protocol(
    name="reloclnet",
    task="moments",
    paper="Zhang et al., SIGIR 2021",
    repository="github.com/26hzhang/ReLoCLNet",
    commit="56cb666",
    metrics=(VCMR.with_params(K), SVMR.with_params(K | {"nms_rows": "shifted"}), VR.with_params(K)),
    quirks=(
        "R@5 is not reported.",
        "SVMR's suppression (nms=…) reads rows one column off: it compares [video, start] and sorts by end.",
        "Its model puts a moment's end at clip·index, one clip earlier than XML (core/moments.py, clip_seconds).",
        *tvr.PROTOCOL.quirks,
    ),
)
