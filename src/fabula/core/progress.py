"""How far a long run is: a callback that a library call ignores and the command line draws as a bar."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]  # what is being done, how far, of how many


def silent(what: str, done: int, total: int) -> None:
    """The progress of a library call: none."""


def ignore(line: str) -> None:
    """The warnings of a library call that nobody wants to hear."""
