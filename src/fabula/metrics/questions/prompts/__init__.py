"""What a judge of descriptions is asked: two questions, one after the other; by name, ours and published ones.

AutoDQ   events(text) → what happens in it            relate(text, events) → is each event told there?
VDC      answer(caption, question) → a short answer   match(question, right, said) → do the two answers agree?

Ours are in our own words. Published ones are read from the user's own copy of the program, never shipped.
"""

from __future__ import annotations

from fabula.core.errors import SpecError
from fabula.core.registry import benchmark_index, close_to, load_benchmark
from fabula.metrics.questions.prompts import fabula
from fabula.metrics.questions.prompts.base import Examination, Prompt

__all__ = ["Examination", "Prompt", "examination"]

OWN = {"AutoDQ": fabula.EVENTS, "VDC": fabula.ANSWERS}
SECTIONS = {"AutoDQ": "EVENTS", "VDC": "ANSWERS"}  # of the index of benchmarks; a module's prompts have that name too


def list_judges(metric: str) -> list[str]:
    """The names that the metric's parameter `judge` takes: ours first."""
    return [OWN[metric].name, *getattr(benchmark_index(), SECTIONS[metric])]


def examination(metric: str, judge: str) -> Examination:
    """By the metric's name and its parameter `judge`: NAME, or NAME@MODEL."""
    name, section = judge.partition("@")[0], SECTIONS[metric]
    if name == OWN[metric].name:
        return OWN[metric]
    module = getattr(benchmark_index(), section).get(name)
    if module is None:
        raise SpecError(f"{metric}: no judge is called {name!r}; {close_to(name, list_judges(metric))}")
    found: Examination = getattr(load_benchmark(module), section)
    return found
