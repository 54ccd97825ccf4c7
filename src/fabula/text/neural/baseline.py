"""BERTScore's baseline (Zhang et al., ICLR 2020; the package's rescale_with_baseline): what unrelated sentences score.

    x' = (x − b) / (1 − b)        b: the mean P, R or F of sentences that have nothing to do with each other, at a layer

Numbers come from the user: a table LAYER,P,R,F called rescale_baseline.tsv in the encoder's folder, or the table that
an installed bert_score has for an encoder of that name. `make_baseline` makes one of any sentences.
"""

from __future__ import annotations

import csv
import importlib.util
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fabula.core.errors import InputError, SpecError
from fabula.documents.files import write_text
from fabula.text.neural.model import find_folder

FILE = "rescale_baseline.tsv"
HEAD = ("LAYER", "P", "R", "F")
PAIRS = 10_000


def find_baseline(model: str) -> Path:
    """The table of an encoder: in its folder, else in the package."""
    folder = find_folder(model)
    places = [folder / FILE]
    found = importlib.util.find_spec("bert_score")
    for place in found.submodule_search_locations or () if found else ():
        places.append(Path(place) / "rescale_baseline" / "en" / f"{Path(model).name}.tsv")
    for file in places:
        if file.is_file():
            return file
    hint = f"put its table there as {FILE} (the package bert_score has some), or make one: docs/dense-2026.md"
    raise InputError("no baseline of this encoder", file=folder, hint=hint)


def read_baseline(model: str, layer: int, take: str) -> float:
    """b of P, R or F at this layer."""
    file = find_baseline(model)
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            rows = [row for row in csv.DictReader(stream) if float(row["LAYER"]) == layer]
        b = float(rows[0][take.upper()])
    except (OSError, ValueError, KeyError, TypeError, IndexError, csv.Error):
        hint = f"it is a table {','.join(HEAD)} with a row for every layer that is used"
        raise InputError(f"has no {take.upper()} of layer {layer}", file=file, hint=hint) from None
    if not math.isfinite(b) or b >= 1:
        raise InputError(f"a baseline of {b:g}", file=file, hint="a baseline is below 1")
    return b


def make_baseline(model: str, sentences: Sequence[str], *, seed: int = 0, pairs: int = PAIRS) -> dict[str, float]:
    """P, R and F of sentences drawn at random, written into the encoder's folder; `FOLDER@9` takes layer 9."""
    from fabula.text import scorer

    distinct = list(dict.fromkeys(sentences))
    if len(distinct) < 2:
        raise SpecError(f"{len(distinct)} distinct sentences; a baseline is made of many")
    chance = np.random.default_rng(seed)
    first = chance.integers(len(distinct), size=pairs)
    second = (first + chance.integers(1, len(distinct), size=pairs)) % len(distinct)  # never the same one
    found = {}
    for take, name in (("p", "bertscore-p"), ("r", "bertscore-r"), ("f", "bertscore")):
        bertscore = scorer(f"{name}:{model}")
        blocks = [([distinct[i]], [distinct[j]]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
        found[take.upper()] = float(np.mean([scores[0, 0] for scores in bertscore.pairs_many(blocks)]))
    layer, folder = bertscore.layer, bertscore.folder  # type: ignore[attr-defined]
    row = ",".join([str(layer), *(f"{found[take]:.8f}" for take in ("P", "R", "F"))])
    write_text(find_folder(folder) / FILE, [f"{','.join(HEAD)}\n{row}\n"])
    return found
