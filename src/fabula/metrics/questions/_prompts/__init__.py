"""What a judge of descriptions is asked: two questions, one after the other; by name, ours and published ones.

AutoDQ   events(text) → what happens in it            relate(text, events) → is each event told there?
VDC      answer(caption, question) → a short answer   match(question, right, said) → do the two answers agree?

Ours are in our own words. Published ones are read from the user's own copy of the program, never shipped.
"""

from __future__ import annotations

from fabula.core.errors import SpecError
from fabula.core.registry import close_to
from fabula.metrics.questions._prompts import aurora, fabula, lmms, tarsier, vlmevalkit
from fabula.metrics.questions._prompts.base import Examination, Prompt

__all__ = ["Examination", "Prompt", "examination"]

KNOWN: dict[str, dict[str, Examination]] = {
    "AutoDQ": {e.name: e for e in (fabula.EVENTS, tarsier.EVENTS, vlmevalkit.EVENTS)},
    "VDC": {e.name: e for e in (fabula.ANSWERS, lmms.ANSWERS, aurora.ANSWERS, vlmevalkit.ANSWERS)},
}


def examination(metric: str, judge: str) -> Examination:
    """By the metric's name and its parameter `judge`: NAME, or NAME@MODEL."""
    name = judge.partition("@")[0]
    known = KNOWN[metric]
    if name not in known:
        raise SpecError(f"{metric}: no judge is called {name!r}; {close_to(name, list(known))}")
    return known[name]
