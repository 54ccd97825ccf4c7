"""PDVC's evaluation, version 2018, its default (Wang et al., ICCV 2021): densevid, SODA_c per file, paragraphs."""

from __future__ import annotations

from fabula.benchmarks._densevid import FIRST_1000, detection, paragraphs, soda_mean, words
from fabula.benchmarks.base import Protocol
from fabula.benchmarks.densevid_2018 import PROTOCOL as DENSEVID

PROTOCOL = Protocol(
    name="pdvc-2018",
    task="dense",
    paper="Wang et al., ICCV 2021",
    repository="github.com/ttengwang/PDVC",
    commit="0b025c8",
    metrics=(*words("abc", **FIRST_1000), detection(**FIRST_1000), soda_mean(), *paragraphs()),
    quirks=(
        *DENSEVID.quirks,
        "SODA_c is computed on each reference file alone and averaged, its sides exchanged, missing videos dropped.",
        "Paragraphs join sentences in file order and keep letters only.",
    ),
)
