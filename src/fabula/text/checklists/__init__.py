"""Judges of checklists: which points of a reference does a caption tell? (SodaM: Yao et al., ICML 2026)

base.py        what such a judge is            fabula.py   our own, in our own words
published.py   the prompt of the user's own clone of the repository; nothing of it is shipped

    SODA_m(judge=fabula)     SODA_m(judge=timechat-captioner)     SODA_m(judge=fabula@some-model)
"""

from __future__ import annotations

from fabula.core.errors import SpecError
from fabula.core.registry import close_to
from fabula.text.checklists.base import ChecklistJudge, Counts

__all__ = ["NAMES", "ChecklistJudge", "Counts", "find_judge"]

NAMES = ("fabula", "timechat-captioner")


def find_judge(named: str) -> ChecklistJudge:
    """A judge by its name; a model may follow an @."""
    name = named.partition("@")[0]
    if name == "fabula":
        from fabula.text.checklists.fabula import JUDGE

        return JUDGE
    if name == "timechat-captioner":
        from fabula.text.checklists.published import open_judge

        return open_judge()
    raise SpecError(f"no judge of checklists is called {name!r:.60}; {close_to(name, list(NAMES))}")
