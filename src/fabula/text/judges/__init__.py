"""Language models as judges of captions: one prompt and its parse rule per file; the model is named by whoever runs it.

    SODA_c(text=judge:fabula)              asks the model of --judge-model
    SODA_c(text=judge:fabula@some-model)   asks this one, whatever the others ask

A judge is a value (base.py), a scorer like any other once it has a session to ask (scorer.py). Other packages offer
theirs by entry points of `fabula.judges`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.registry import IndexedRoom

if TYPE_CHECKING:
    from fabula.text.judges.base import Judge

__all__ = ["judge", "room"]


def check_judge(thing: object) -> str | None:
    """What is wrong with a judge of another package."""
    from fabula.core.plugins import check_object
    from fabula.text.judges.base import Judge

    return check_object(thing, Judge, "judge")


room = IndexedRoom("JUDGES", "JUDGE", "judge", files=__name__, group="fabula.judges", check=check_judge)


def judge(name: str) -> Judge:
    """A judge by name, without the model."""
    found: Judge = room.get(name)
    return found
