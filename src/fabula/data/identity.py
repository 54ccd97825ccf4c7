"""The noun of identity: the clips of a set, the blanks in their captions, and what a system wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass

ID = re.compile(r"(?<![\w-])[Pp](\d+)(?![\w-])")  # a person in a caption


@dataclass(frozen=True, slots=True)
class Clip:
    """One clip of a set: the ids that belong into its blanks, and those a system gave. Ids as the file spells them."""

    id: str
    truth: tuple[str, ...] = ()  # empty: no blank
    given: tuple[str, ...] | None = None  # None: the system does not name the clip


@dataclass(frozen=True, slots=True)
class ClipCaptions:
    """The captions of one clip on both sides, people as P1, P2, …; None: not there."""

    clip: str
    truth: str | None
    given: str | None


@dataclass(frozen=True, slots=True)
class ClipSet:
    """Clips that are filled in together: an id means the same person in all of them, and nothing outside."""

    clips: tuple[Clip, ...]
    name: str = ""
    candidate: str | None = None  # all captions as one text; None: not given
    reference: str | None = None
    captions: tuple[ClipCaptions, ...] = ()  # clip by clip, where the files have them so

    @property
    def id(self) -> str:
        """Its name; without one, the first clip's: no clip is in two sets."""
        return self.name or self.clips[0].id

    @property
    def blanks(self) -> int:
        return sum(len(clip.truth) for clip in self.clips)
