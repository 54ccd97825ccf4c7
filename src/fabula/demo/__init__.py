"""The demo corpus: 15 invented videos, two annotators who disagree, three systems on which the metrics disagree.

good             the right events with slightly wrong ends, in other words; now and then one is missed
over_segmenting  every event whole and in pieces, the same short captions again and again: every reference finds a
                 close prediction (mIoU, mJaccard), most predictions are superfluous (SODA, precision).
                 One segment is reversed, so that a warning shows
out_of_order     the right segments and the right captions, but not together: only a metric that reads times and words
                 at once (SODA_c) sees it. One video is missing, so that a warning shows

captionsets: 100 sets of five short captions as movies are described, persons called P1, P2, … (fabula stress). In the
last 34 who is named where follows sets drawn at random from those with two or four people, one of them named once, in
LSMDC's public validation file, which has such sets far more often than the first 66.

Every story was written for this package; no text comes from a data set.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

__all__ = ["CAPTIONSETS", "REFERENCES", "SYSTEMS", "inputs", "path"]


def path(name: str) -> Path:
    """Where a file of the demo lies on this machine: `path("good.json")`."""
    return Path(str(files(__name__) / name))


REFERENCES: Final = {name: path(f"{name}.json") for name in ("annotator_1", "annotator_2")}
CAPTIONSETS: Final = path("captionsets.json")
SYSTEMS: Final = {name: path(f"{name}.json") for name in ("good", "over_segmenting", "out_of_order")}


def inputs() -> list[Path]:
    """Every file of the demo: what `fabula demo --copy` writes."""
    return [*SYSTEMS.values(), *REFERENCES.values(), CAPTIONSETS]
