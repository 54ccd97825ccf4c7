"""Feature stores, checkpoints and work folders, whole and then damaged."""

from __future__ import annotations

from tools.fuzz.watch import Target

TARGETS: tuple[Target, ...] = ()
