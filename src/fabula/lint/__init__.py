"""Lint: what is odd in annotations and predictions, before anybody scores them. One small function per check."""

from __future__ import annotations

from fabula.core.registry import Room
from fabula.lint._check import Check, Facts, Finding, Place
from fabula.lint._examine import Report, examine, examine_items
from fabula.lint._repair import Deed, repair

__all__ = ["Check", "Deed", "Facts", "Finding", "Place", "Report", "checks", "examine", "examine_items", "repair"]

room = Room(__name__, "CHECKS", "family of checks")


def checks() -> list[Check]:
    """Every check of this room, errors first."""
    found = [check for family in room.all() for check in family]
    return sorted(found, key=lambda c: ("error", "warning", "info").index(c.level))
