"""FITB: who is who in the blanks of a set of clips, judged by pairs of blanks (Park et al., ECCV 2020).

Over all pairs x < y of blanks in a set s, with g the true ids and p the given ones:

    instance_s  = share of pairs with (g_x = g_y) = (p_x = p_y)
    same_s      = the same share among pairs with g_x = g_y          different_s: among pairs with g_x ≠ g_y

instance, same and different are means over sets: of those with at least two blanks, one same pair, one different pair.

    class = 2 · same · different / (same + different)

Whoever gives all blanks one id has same = 1 and class = 0; so has whoever gives each its own.

labels  clean: an id is what stands inside brackets, quotes and blanks · exact: the text between two commas, as it is
short   zero: a blank without an id is wrong in all its pairs, an id too many is not read
        shift: the ids of a set are laid end to end, so that one too few (or too many) moves all that follow
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal

from fabula.core.errors import InputError
from fabula.core.means import f1, mean_in_order
from fabula.core.rows import Rows
from fabula.data.identity import ClipSet
from fabula.metrics.base import Metric as Base
from fabula.metrics.base import Row, Values
from fabula.text.identity import is_named, label


@dataclass(frozen=True, kw_only=True)
class Metric(Base):
    name: ClassVar[str] = "FITB"
    paper: ClassVar[str] = "Park et al., ECCV 2020"
    reads: ClassVar[str] = "identity"
    tasks: ClassVar[tuple[str, ...]] = ("identity",)
    fields: ClassVar[tuple[str, ...]] = ("instance", "same", "different", "class")
    primary: ClassVar[str] = "class"
    perfect_score: ClassVar[str] = "Class is 0 where nobody is named twice, or only one person is"
    rules: ClassVar[Mapping[str, str]] = {
        "labels=clean": "an id is read without brackets, quotes and blanks",
        "labels=exact": "an id is the text between two commas as it stands, so that '[1' and ' 1]' are two people",
        "short=zero": "a blank without an id is wrong in all its pairs, and an id too many is not read",
        "short=shift": "the ids of a set are laid end to end, so that one too few or too many moves all that follow, "
        "and a lone '_' is an id",
    }

    labels: Literal["clean", "exact"] = "clean"
    short: Literal["zero", "shift"] = "zero"

    def rows(self, block: Sequence[ClipSet], ctx: object) -> Rows:
        """A row for every set with two blanks or more; there is nothing to compare in the others."""
        return Rows.of(({"set": s.id, **self.unit(s)} for s in block if s.blanks >= 2), unit="set")

    def unit(self, clips: ClipSet) -> Row:
        g, p = self.truth(clips), self.predicted(clips)
        same = same_right = different = different_right = 0
        for x, y in combinations(range(len(g)), 2):
            known = p[x] is not None and p[y] is not None
            if g[x] == g[y]:
                same += 1
                same_right += known and p[x] == p[y]
            else:
                different += 1
                different_right += known and p[x] != p[y]
        return {
            "instance": (same_right + different_right) / (same + different),
            "blanks": len(g),
            "same_pairs": same,
            "same_right": same_right,
            "different_pairs": different,
            "different_right": different_right,
        }

    def truth(self, clips: ClipSet) -> list[str]:
        return [self.spelled(id) for clip in clips.clips for id in clip.truth]

    def predicted(self, clips: ClipSet) -> list[str | None]:
        """An id for every blank; None where there is none."""
        ids: list[str | None] = []
        blanked = [clip for clip in clips.clips if clip.truth]
        if self.short == "zero":
            for clip in blanked:
                own = [id if is_named(id) else None for id in map(self.spelled, (clip.given or ())[: len(clip.truth)])]
                ids += own + [None] * (len(clip.truth) - len(own))
            return ids
        for clip in blanked:
            if clip.given is None:
                hint = "the published evaluator stops here; short=zero counts its blanks as wrong"
                raise InputError("no prediction for this clip", video=clip.id, noun="clip", hint=hint)
            ids += [self.spelled(id) for id in clip.given]  # a lone `_` is an id like any other
        if len(ids) < clips.blanks:
            clip = next(c for c in blanked if len(c.given or ()) < len(c.truth))
            problem = f"{len(ids)} ids for the {clips.blanks} blanks of its set; this clip has too few"
            hint = "the published evaluator stops here; short=zero counts blanks without an id as wrong"
            raise InputError(problem, video=clip.id, noun="clip", hint=hint)
        return ids

    def spelled(self, id: str) -> str:
        return label(id) if self.labels == "clean" else id

    def combine(self, rows: Rows) -> Values:
        shares = {"instance": mean_in_order(rows["instance"])}
        for kind in ("same", "different"):
            has_pairs = rows[f"{kind}_pairs"] > 0
            shares[kind] = mean_in_order(rows[f"{kind}_right"][has_pairs] / rows[f"{kind}_pairs"][has_pairs])
        return {**shares, "class": f1(shares["same"], shares["different"])}
