"""One small file per published evaluator: which metrics, which settings, paper, repository, commit."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.core.registry import Room

__all__ = ["Protocol", "protocol", "room"]


def check_protocol(thing: object) -> str | None:
    """What is wrong with a protocol of another package."""
    from fabula.core.plugins import check_object

    return check_object(thing, Protocol, "protocol")


room = Room(__name__, "PROTOCOL", "protocol", group="fabula.protocols", check=check_protocol)


def protocol(name: str) -> Protocol:
    """A published evaluator by name: soda-2021, pss-2022, procnets, …

    >>> fabula.protocol("soda-2021").paper
    'Fujita et al., ECCV 2020'
    """
    made: Protocol = room.get(name)
    return made
