"""DenseCap's own evaluator (Johnson et al., CVPR 2016): eval_utils.lua as evaluate_model.lua runs it."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.regions import densecap_map

PROTOCOL = Protocol(
    name="densecap",
    task="regions",
    paper="Johnson et al., CVPR 2016",
    repository="github.com/jcjohnson/densecap",
    commit="7c32170",
    metrics=(densecap_map.Metric(pixel="1", stray="last", grid="accumulated", passing="pipe", ties="file"),),
    quirks=(
        "A detection claims the reference that it overlaps most before any threshold is looked at.",
        "A detection that overlaps nothing claims the last reference of its image: Torch takes index −1 for the last.",
        "Recall levels are added up in doubles: there are 100, 1.0 is none of them, and a recall of exactly .5 fails "
        "the level .5; in train.lua (FloatTensor) it passes, which is grid=float32.",
        "Boxes given by corners are one pixel wider and higher than their corners are apart.",
        "An image without reference boxes ends the program; here its detections are wrong.",
    ),
)
