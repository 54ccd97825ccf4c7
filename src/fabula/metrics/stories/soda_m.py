"""SODA_m (TimeChat-Captioner: Yao et al., ICML 2026): a judge counts which points of each reference are told.

    groups   anchors of the ordered matching of IoU, with the predictions merged into them (_families/merged.py)
    s_g    = Σ_d c_d / Σ_d n_d     s_g,d = c_d / n_d      c: points told by the group's captions · n: points there are
    P = Σ s_g / |P|     R = Σ s_g / |G|     F1 = 2PR/(P+R)      per video, in all and by dimension, then the mean

Ours counts only references that have points (of the dimension in question) and predictions that are not merged into
other references; no count exceeds the points there are. The published evaluator divides P by the number of groups, so
that cutting a caption into pieces and junk around it cost nothing; and nothing it sees of time enters the number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from fabula.core.errors import InputError
from fabula.core.means import f1
from fabula.core.rows import CROWDED, Rows
from fabula.data.stories import DIMENSIONS, Checklist, Event, Segment, Story, count_points
from fabula.llm.session import current
from fabula.match.merged import Groups
from fabula.metrics.base import Array, Row, Values
from fabula.metrics.stories._families.merged import Merged
from fabula.metrics.stories.base import Pair, Stories
from fabula.text.checklists import Counts, find_judge
from fabula.text.checklists import base as checklists

TOTAL = "total"
PARTS = (TOTAL, *DIMENSIONS)


class Judged(NamedTuple):
    """One group: whose points, told by how many predictions, and what was found of them."""

    points: Mapping[str, int]  # n, in all and by dimension
    members: int
    scores: Mapping[str, float]  # s


@dataclass(frozen=True, kw_only=True)
class Metric(Merged):
    name: ClassVar[str] = "SODA_m"
    paper: ClassVar[str] = "Yao et al., ICML 2026"
    tasks: ClassVar[tuple[str, ...]] = ("dense",)
    shown: ClassVar[bool] = False
    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1", *DIMENSIONS)
    primary: ClassVar[str] = "f1"
    perfect_score: ClassVar[str] = "a judge decides what is told"
    rules: ClassVar[Mapping[str, str]] = {
        "judge": "points are counted by the judge {}",
        "per=predictions": "precision is per prediction",
        "per=groups": "precision is per group, so that cutting an event into pieces costs nothing",
        "counts=capped": "no count exceeds the points there are",
        "counts=raw": "a judge may count more points than there are",
        "dims=present": "a dimension counts where a reference has points of it",
        "dims=all": "a reference without points of a dimension counts as 0 there",
        "broken=zero": "an answer whose counts cannot be read counts as 0",
        "broken=before": "where counts cannot be read, the dimensions of the group before are taken again",
        "times=own": "predictions have their own times",
        "times=published": "every prediction has the time of the last reference of the file",
    }

    judge: str = "fabula"
    per: Literal["predictions", "groups"] = "predictions"
    counts: Literal["capped", "raw"] = "capped"
    dims: Literal["present", "all"] = "present"
    broken: Literal["zero", "before"] = "zero"
    times: Literal["own", "published"] = "own"

    def prepare(self, data: Stories) -> Segment | None:
        """The last time of the references, which a defect of the published program gives to every prediction."""
        events = [e for ref in data.refs for story in ref.values() for e in story.events]
        if not any(e.checklist for e in events):
            hint = 'SODA_m reads SodaM\'s references, whose events have "keypoints" (format sodam)'
            raise InputError("no reference event has a checklist", file=data.refs[0].name or None, hint=hint)
        return events[-1].segment if self.times == "published" else None

    def many(self, pairs: Sequence[Pair], ctx: Segment | None) -> dict[str, Array]:
        """All groups of all videos are put to the judge at once."""
        paired = [(ref, at_one_time(pred, ctx)) for ref, pred in pairs]
        groups = [self.groups(ref, pred) for ref, pred in paired]
        every = [(n, g, members) for n, own_groups in enumerate(groups) for g, members in own_groups]
        counted = [(n, g, members) for n, g, members in every if self.counts_at(paired[n][0], g)]
        questions = [(checklist_of(paired[n][0], g), join_captions(paired[n][1], members)) for n, g, members in counted]
        judge, session = find_judge(self.judge), current()
        model = session.model_of(self.judge)
        answers = checklists.count_points(judge, session, model, questions)
        unread = sum(not counts for counts in answers)
        session.tell(unparsed=unread, spared=len(every) - len(counted), parsed=len(answers) - unread)
        found: list[dict[int, Counts | None]] = [{} for _ in paired]
        for (n, g, _), counts in zip(counted, answers, strict=True):
            found[n][g] = counts
        rows = [
            self.row(*pair, own_groups, counts) for pair, own_groups, counts in zip(paired, groups, found, strict=True)
        ]
        return dict(Rows.of({"video": "", **row} for row in rows).columns)

    def counts_at(self, ref: Story, g: int) -> bool:
        """False where no judgement can move a number: there is nothing to be told."""
        checklist = ref.events[g].checklist
        return checklist is not None and (self.dims == "all" or any(points for _, points in checklist))

    def row(self, ref: Story, pred: Story, groups: Groups, answers: Mapping[int, Counts | None]) -> Row:
        judged, before = list[Judged](), dict.fromkeys(DIMENSIONS, 0.0)
        for g, members in groups:
            points = points_of(ref.events[g])
            scores = self.score_group(points, answers.get(g, {}), before)
            before = {d: scores[d] for d in DIMENSIONS}
            judged.append(Judged(points, len(members), scores))
        row, references = Row(), [points_of(event) for event in ref.events]
        for part in PARTS:
            row |= self.prf(part, judged, references, len(pred))
        n = {"n_ref": float(len(ref)), "n_pred": float(len(pred)), "groups": float(len(groups))}
        return row | n | {CROWDED: float(sum(not counts for counts in answers.values()))}

    def score_group(
        self, points: Mapping[str, int], counts: Counts | None, before: Mapping[str, float]
    ) -> dict[str, float]:
        """s of one group; {}: counts that cannot be read; None: no judgement."""
        if counts == {} and self.broken == "before":
            return {TOTAL: 0.0, **before}
        counted = {d: (counts or {}).get(d, 0) for d in DIMENSIONS}
        if self.counts == "capped":
            counted = {d: max(0, min(counted[d], points[d])) for d in DIMENSIONS}
        by_dim = {d: counted[d] / points[d] if points[d] else 0.0 for d in DIMENSIONS}
        return {TOTAL: sum(counted.values()) / max(1, points[TOTAL]), **by_dim}

    def prf(self, part: str, judged: Sequence[Judged], references: Sequence[Mapping[str, int]], P: int) -> Row:
        """One dimension, or all together."""
        S = sum(group.scores[part] for group in judged)
        every = self.dims == "all"
        G = sum(every or points[part] > 0 for points in references)
        own = [group for group in judged if every or group.points[part] > 0]
        if self.per == "groups":
            size = len(own)
        else:  # of those merged into references that do not count, none counts
            size = P - sum(group.members for group in judged) + sum(group.members for group in own)
        precision, recall = S / size if size else 0.0, S / G if G else 0.0
        name = "" if part == TOTAL else f" {part}"
        numbers = {f"precision{name}": precision, f"recall{name}": recall, f"has{name}": float(G > 0)}
        return {**numbers, "f1" if part == TOTAL else part: f1(precision, recall)}

    def combine(self, rows: Rows) -> Values:
        """The mean over videos that have points (of the dimension in question)."""
        found = {}
        for field in self.fields:
            has = rows[f"has {field}" if field in DIMENSIONS else "has"]
            found[field] = float((rows[field] * has).sum() / has.sum()) if has.any() else float("nan")
        return found

    def sums(self, rows: Rows) -> Array | None:
        return np.stack([rows[self.primary] * rows["has"], rows["has"]], axis=1)

    def about(self) -> Mapping[str, str]:
        return {"judge": find_judge(self.judge).version}

    @property
    def depends_on(self) -> frozenset[str]:
        """By name alone: the prompt may be in a clone that is not here."""
        return frozenset(["judge"])


def points_of(event: Event) -> dict[str, int]:
    """n, in all and by dimension."""
    n = count_points(event.checklist or ())
    return {TOTAL: sum(n.values()), **n}


def checklist_of(ref: Story, g: int) -> Checklist:
    return ref.events[g].checklist or ()


def join_captions(pred: Story, members: Sequence[int]) -> str:
    """The captions of a group, a line each."""
    captions = pred.captions
    return "\n".join(captions[j] for j in members)


def at_one_time(pred: Story, segment: Segment | None) -> Story:
    """All events at this time, where there is one: the published defect."""
    if segment is None:
        return pred
    return Story(pred.id, tuple(Event(segment, e.caption) for e in pred.events), pred.duration)
