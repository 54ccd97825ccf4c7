"""The noun of identity: the blanks of a set of clips, and what a system wrote into them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clip:
    """One clip of a set: the ids that belong into its blanks, and those a system gave. Ids as the file spells them."""

    id: str
    truth: tuple[str, ...] = ()  # empty: no blank
    given: tuple[str, ...] | None = None  # None: the system does not name the clip


@dataclass(frozen=True, slots=True)
class ClipSet:
    """Clips that are filled in together: an id means the same person in all of them, and nothing outside."""

    clips: tuple[Clip, ...]

    @property
    def id(self) -> str:
        """The first clip's: no clip is in two sets."""
        return self.clips[0].id

    @property
    def blanks(self) -> int:
        return sum(len(clip.truth) for clip in self.clips)
