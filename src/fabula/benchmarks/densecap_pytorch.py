"""densecap-pytorch's evaluator, a port of DenseCap's (Johnson et al., CVPR 2016)."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.regions import densecap_map

PROTOCOL = Protocol(
    name="densecap-pytorch",
    task="regions",
    paper="Johnson et al., CVPR 2016",
    repository="github.com/soloist97/densecap-pytorch",
    commit="ff9b3c6",
    metrics=(densecap_map.Metric(missing="drop", grid="arange", passing="pipe", ties="file"),),
    quirks=(
        "A detection claims the reference that it overlaps most before any threshold is looked at.",
        "Images without detections never reach it, so their references are not counted.",
        "Precision and recall are float32, and so are the levels of torch.arange: recall .45 fails its level.",
        "Equal scores: torch.sort may change their order from 17 detections on; here they stay as in the file.",
        "Special tokens of its vocabulary are taken out of captions before METEOR; give captions without them.",
    ),
)
