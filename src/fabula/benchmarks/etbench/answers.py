"""E.T. Bench's reader of windows (Liu et al., NeurIPS 2024; compute_metrics.py): dashes, "to", then phrases."""

from __future__ import annotations

from fabula.benchmarks._families.phrases import BREAKS, TELLING
from fabula.benchmarks.etbench.captioned import read_captioned
from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import Reader, Window, clock_seconds, pair_up, put_forward

LOOSE = r"(\d+\.*\d*)"
DASHED = lazy(rf"{LOOSE}\s*-\s*{LOOSE}")
SPELLED = lazy(rf"{LOOSE}\s*[ ]to[ ]\s*{LOOSE}")  # a tab or a line break will not do
ALONE = lazy(r"\b(\d+\.\d+\b|\b\d+)\b")
CLOCK = lazy(r"\b(\d{1,2}:\d{2}:\d{2})\b")


def read(text: str) -> list[Window]:
    """All windows, forwards. A number with two dots ends the published program; here it is no number."""
    text = text.lower()
    for pattern in (DASHED, SPELLED):
        if found := numbers(pattern.findall(text)):
            return [put_forward(window) for window in found]
    telling = [phrase for phrase in BREAKS.split(text) if any(word in phrase for word in TELLING)]
    found = pair_up([float(hits[0]) for phrase in telling if (hits := ALONE.findall(phrase))])
    found = found or pair_up([clock_seconds(hits[0]) for phrase in telling if (hits := CLOCK.findall(phrase))])
    return [put_forward(window) for window in found]


def numbers(found: list[tuple[str, str]]) -> list[Window]:
    out = []
    for a, b in found:
        try:
            out.append((float(a), float(b)))
        except ValueError:
            continue
    return out


READER = Reader(
    name="etbench",
    about="numbers around a plain dash, else around 'to', else the first number of phrases that say start, end, happen",
    read=read,
    tell=read_captioned,
    repository="huggingface.co/datasets/PolyU-ChenLab/ETBench",
    commit="as read in 2026",
)
