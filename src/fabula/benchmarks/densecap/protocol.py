"""DenseCap (Johnson et al., CVPR 2016): its own evaluator, and the port to PyTorch."""

from __future__ import annotations

from functools import partial

from fabula.benchmarks.base import Protocol
from fabula.metrics.regions import densecap

make = partial(Protocol, task="regions", paper="Johnson et al., CVPR 2016")


# DenseCap's own evaluator (Johnson et al., CVPR 2016): eval_utils.lua as evaluate_model.lua runs it.
DENSECAP = make(
    name="densecap",
    repository="github.com/jcjohnson/densecap",
    commit="7c32170",
    metrics=(densecap.MeanPrecision(pixel="1", stray="last", grid="accumulated", passing="pipe", ties="file"),),
    quirks=(
        "A detection claims the reference that it overlaps most before any threshold is looked at.",
        "A detection that overlaps nothing claims the last reference of its image: Torch takes index −1 for the last.",
        "Recall levels are added up in doubles: there are 100, 1.0 is none of them, and a recall of exactly .5 fails "
        "the level .5; in train.lua (FloatTensor) it passes, which is grid=float32.",
        "Boxes given by corners are one pixel wider and higher than their corners are apart.",
        "An image without reference boxes ends the program; here its detections are wrong.",
    ),
)

# densecap-pytorch's evaluator, a port of DenseCap's (Johnson et al., CVPR 2016).
DENSECAP_PYTORCH = make(
    name="densecap-pytorch",
    repository="github.com/soloist97/densecap-pytorch",
    commit="ff9b3c6",
    metrics=(densecap.MeanPrecision(missing="drop", grid="arange", passing="pipe", ties="file"),),
    quirks=(
        "A detection claims the reference that it overlaps most before any threshold is looked at.",
        "Images without detections never reach it, so their references are not counted.",
        "Precision and recall are float32, and so are the levels of torch.arange: recall .45 fails its level.",
        "Equal scores: torch.sort may change their order from 17 detections on; here they stay as in the file.",
        "Special tokens of its vocabulary are taken out of captions before METEOR; give captions without them.",
    ),
)

PROTOCOLS = (DENSECAP, DENSECAP_PYTORCH)
