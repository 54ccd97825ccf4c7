"""What a judge of descriptions is asked: two questions, one after the other; by name, ours and published ones.

AutoDQ   events(text) → what happens in it            relate(text, events) → is each event told there?
VDC      answer(caption, question) → a short answer   match(question, right, said) → do the two answers agree?

Ours are in our own words. Published ones are read from the user's own copy of the program, never shipped.
"""

from __future__ import annotations

from fabula.core.errors import SpecError
from fabula.core.registry import Section, close_to
from fabula.metrics.questions.prompts import fabula
from fabula.metrics.questions.prompts.base import Examination, Prompt

__all__ = ["Examination", "Prompt", "examination"]

SECTIONS = {
    "AutoDQ": Section("EVENT_JUDGES", (fabula.EVENTS,)),
    "VDC": Section("QUESTION_JUDGES", (fabula.ANSWERS,)),
}


def examination(metric: str, judge: str) -> Examination:
    """By the metric's name and its parameter `judge`: NAME, or NAME@MODEL."""
    name, section = judge.partition("@")[0], SECTIONS[metric]
    if name not in section.names():
        raise SpecError(f"{metric}: no judge is called {name!r}; {close_to(name, section.names())}")
    found: Examination = section.find(name)
    return found
