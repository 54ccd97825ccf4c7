"""PDVC's evaluation (Wang et al., ICCV 2021), two versions: densevid, SODA_c per reference file, paragraphs."""

from __future__ import annotations

from functools import partial

from fabula.benchmarks._families.densevid import FIRST_1000, detection, paragraphs, soda_mean, words
from fabula.benchmarks.base import Protocol
from fabula.benchmarks.densevid.protocol import DENSEVID_2018, DENSEVID_2019

make = partial(
    Protocol, task="dense", paper="Wang et al., ICCV 2021", repository="github.com/ttengwang/PDVC", commit="0b025c8"
)


QUIRKS = (
    "SODA_c is computed on each reference file alone and averaged, its sides exchanged, missing videos dropped.",
    "Paragraphs join sentences in file order and keep letters only.",
)

# PDVC's evaluation, version 2018, its default (Wang et al., ICCV 2021): densevid, SODA_c per file, paragraphs.
PDVC_2018 = make(
    name="pdvc-2018",
    metrics=(*words("abc", **FIRST_1000), detection(**FIRST_1000), soda_mean(), *paragraphs()),
    quirks=(*DENSEVID_2018.quirks, *QUIRKS),
)

# PDVC's evaluation, version 2021 (Wang et al., ICCV 2021): densevid, SODA_c per reference file, paragraphs.
PDVC_2021 = make(
    name="pdvc-2021",
    metrics=(*words("random", **FIRST_1000), detection(**FIRST_1000), soda_mean(), *paragraphs()),
    quirks=(*DENSEVID_2019.quirks, *QUIRKS),
)

PROTOCOLS = (PDVC_2018, PDVC_2021)
