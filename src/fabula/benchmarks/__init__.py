"""One folder per source of data or evaluators: its formats, its readers of answers, its prompts, its protocols.

index.py says what the folders hold. It is written by `python -m tools.benchmarks`, and is all that other packages look
at: a name, or the shape of a file, leads to one module. `_families` has what several sources share.
"""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.core.registry import IndexedRoom

__all__ = ["Protocol", "protocol", "room"]


def check_protocol(thing: object) -> str | None:
    """What is wrong with a protocol of another package."""
    from fabula.core.plugins import check_object

    return check_object(thing, Protocol, "protocol")


room = IndexedRoom("PROTOCOLS", "PROTOCOL", "protocol", group="fabula.protocols", check=check_protocol)


def protocol(name: str) -> Protocol:
    """A published evaluator by name: soda-2021, pss-2022, procnets, …

    Examples:

        >>> fabula.protocol("soda-2021").paper
        'Fujita et al., ECCV 2020'
    """
    made: Protocol = room.get(name)
    return made
