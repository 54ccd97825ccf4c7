"""Judges of checklists: which points of a reference does a caption tell? (SodaM: Yao et al., ICML 2026)

base.py   what such a judge is            fabula.py   our own, in our own words

Others stand with their benchmark: SODA_m(judge=fabula), SODA_m(judge=timechat-captioner), SODA_m(judge=fabula@model).
"""

from __future__ import annotations

from fabula.core.registry import Section
from fabula.text.checklists.base import ChecklistJudge, Counts, OpenJudge

__all__ = ["ChecklistJudge", "Counts", "find_judge"]


def open_own() -> ChecklistJudge:
    from fabula.text.checklists.fabula import JUDGE

    return JUDGE


JUDGES = Section("CHECKLIST_JUDGES", (OpenJudge("fabula", open_own),))


def find_judge(named: str) -> ChecklistJudge:
    """A judge by its name; a model may follow an @."""
    found: OpenJudge = JUDGES.get(named.partition("@")[0], "judge of checklists")
    return found.open()
