"""What each kind of error costs: predictions are repaired, one kind at a time, and scored again.

How errors are found, for one video and one reference set (thresholds are parameters; IoU and inter over time):

split         a reference g told in pieces: two or more predictions with inter(g, p)/|p| ≥ inside, none with
              IoU(g, p) > right, whose hull has IoU ≥ right with g. Repair: one prediction over the hull, in the words
              of the piece that overlaps g most.
merged        a prediction p over two or more references: inter(g, p)/|g| ≥ inside, none with IoU > right, their hull
              has IoU ≥ right with p. Repair: p cut into its intersections with them, each with the words of p.
  The rest is matched one to one: greedy, the largest IoU first (or in order, the largest sum), where IoU ≥ near.
mislocated    a pair with IoU < right. Repair: the prediction gets the reference's segment.
out_of_order  captions that stand at each other's events: in the exchange of captions between matched predictions that
              raises their scores most, every cycle whose mean reaches `words`. Repair: that exchange. Where a metric
              takes events in file order, also: events not told in the order of time. Repair: sorted.
miscaptioned  a pair whose caption score is below `words` and that is not out of order. Repair: the reference's caption.
identity      a pair whose captions name persons (P1, P2, …), not the same ones in the same order. Repair: the names of
              the reference, in its order, as far as both go.
duplicate     a prediction left over that tells a reference that is already told: IoU ≥ near, or inter/|p| ≥ inside.
              Repair: it goes.
hallucinated  any other prediction left over, malformed segments among them. Repair: it goes.
missed        a reference left over. Repair: it is added, with its own segment and words.

Repairs are oracles: an upper bound for a system that no longer makes that error and changes nothing else. Gains do
not add up, because errors hide one another. Every reference set is diagnosed on its own and sets are averaged, as
refs=mean does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from fabula import metrics
from fabula.core.errors import SpecError
from fabula.core.notes import Notes, Progress, silent
from fabula.core.nouns import Corpus, Event, Segment, Story
from fabula.core.options import Options, option
from fabula.core.rows import Rows
from fabula.diagnose._assignment import assignment
from fabula.diagnose.factors import Factors, factorisable, factors
from fabula.diagnose.slices import EventSlice, VideoSlice, event_slices, video_slices
from fabula.match import Pairs, greedy, ordered
from fabula.metrics import Metric
from fabula.metrics.stories import Stories, tell
from fabula.pair.captions import Captions
from fabula.pair.tiou import Matrix, intersection, tiou
from fabula.score import stories
from fabula.score.base import Readable, Request
from fabula.score.options import ScoreOptions
from fabula.stats.bootstrap import Interval, bootstrap
from fabula.stats.paired import between
from fabula.stats.resampling import Resampling
from fabula.stats.sample import samples

PERSON = re.compile(r"\b[Pp]\d+\b")


@dataclass(frozen=True, kw_only=True)
class Limits(Options):
    """From which number on something counts."""

    near: float = option(0.1, "IoU of a pair at least.", shows_default=True)
    right: float = option(0.5, "IoU of a well located pair.", shows_default=True)
    inside: float = option(0.75, "Share that makes a piece.", shows_default=True)
    words: float = option(0.2, "Caption score of right words.", shows_default=True)
    matching: Literal["greedy", "ordered"] = option("greedy", "Pairs.", shows_default=True)

    def __post_init__(self) -> None:
        for name in ("near", "right", "inside"):
            if not 0 < getattr(self, name) <= 1:
                raise SpecError(f"{name}={getattr(self, name):g}; it must lie above 0 and at most at 1")
        if self.near > self.right:
            raise SpecError(f"near={self.near:g} is above right={self.right:g}")


@dataclass(frozen=True, slots=True)
class Found:
    """The errors of one story against one reference: indices of references g and predictions p."""

    pairs: Pairs = field(default_factory=list)
    split: list[tuple[int, list[int]]] = field(default_factory=list)  # g, its pieces
    merged: list[tuple[int, list[int]]] = field(default_factory=list)  # p, its parts
    mislocated: Pairs = field(default_factory=list)
    out_of_order: Pairs = field(default_factory=list)  # (p, whose caption belongs there)
    miscaptioned: Pairs = field(default_factory=list)
    identity: Pairs = field(default_factory=list)
    duplicate: list[int] = field(default_factory=list)
    hallucinated: list[int] = field(default_factory=list)
    missed: list[int] = field(default_factory=list)
    unsorted: list[int] = field(default_factory=list)  # p that start before one told earlier, where that matters

    def count(self, kind: str) -> int:
        return len(getattr(self, kind)) + (len(self.unsorted) if kind == "out_of_order" else 0)


def find(ref: Story, pred: Story, captions: Matrix | None, limits: Limits, in_time: bool = True) -> Found:
    """captions [G, P]: caption scores, None where there are no words; in_time: the metric sorts predictions itself."""
    G, P = ref.spans, pred.spans
    iou = tiou(G, P)  # [G, P]
    inter = np.where(iou > 0, intersection(G, P), 0.0)
    of_g = inter / np.maximum(G[:, 1] - G[:, 0], 1e-12)[:, None]
    of_p = inter / np.maximum(P[:, 1] - P[:, 0], 1e-12)[None, :]
    split: list[tuple[int, list[int]]] = []
    merged: list[tuple[int, list[int]]] = []
    free_g, free_p = set(range(len(G))), set(range(len(P)))
    for g in range(len(G)):
        pieces = [p for p in sorted(free_p) if of_p[g, p] >= limits.inside and inter[:, p].argmax() == g]
        if stand_apart(iou[g], pieces, limits) and hull_iou(P[pieces], G[g]) >= limits.right:
            split.append((g, pieces))
            free_g -= {g}
            free_p -= set(pieces)
    for p in sorted(free_p):
        parts = [g for g in sorted(free_g) if of_g[g, p] >= limits.inside and inter[g].argmax() == p]
        if stand_apart(iou[:, p], parts, limits) and hull_iou(G[parts], P[p]) >= limits.right:
            merged.append((p, parts))
            free_g -= set(parts)
            free_p -= {p}
    rest = np.where(np.isin(np.arange(len(G)), list(free_g))[:, None], iou, 0.0)
    rest = np.where(np.isin(np.arange(len(P)), list(free_p))[None, :] & (rest >= limits.near), rest, 0.0)
    pairs = (greedy if limits.matching == "greedy" else ordered)(rest)[1]
    free_g -= {g for g, _ in pairs}
    free_p -= {p for _, p in pairs}
    told = sorted(set(range(len(G))) - free_g)
    duplicate = [p for p in sorted(free_p) if ((iou[told, p] >= limits.near) | (of_p[told, p] >= limits.inside)).any()]
    found = Found(
        pairs=pairs,
        split=split,
        merged=merged,
        mislocated=[(g, p) for g, p in pairs if iou[g, p] < limits.right],
        duplicate=duplicate,
        hallucinated=sorted(free_p - set(duplicate)),
        missed=sorted(free_g),
    )
    if captions is not None:
        find_word_errors(found, ref, pred, captions, limits)
    if not in_time and pred.by_start() is not pred:
        starts = P[:, 0]
        found.unsorted.extend(p for p in range(1, len(P)) if starts[p] < starts[:p].max())
    return found


def stand_apart(iou: Matrix, some: list[int], limits: Limits) -> bool:
    """Two or more, and nothing stands right already."""
    return len(some) > 1 and bool((iou <= limits.right).all())


def hull_iou(some: Matrix, one: Matrix) -> float:
    """IoU of the hull of some spans [N, 2] with one span [2]."""
    return float(tiou(np.array([[some[:, 0].min(), some[:, 1].max()]]), one[None])[0, 0])


def find_word_errors(found: Found, ref: Story, pred: Story, captions: Matrix, limits: Limits) -> None:
    """The errors of words, among matched pairs."""
    own = np.array([captions[g, p] for g, p in found.pairs])  # [m]
    T = np.array([[captions[g, q] for _, q in found.pairs] for g, _ in found.pairs]).reshape(len(own), len(own))
    to = dict(assignment(T)[1])  # event i → the caption that belongs there
    moved: set[int] = set()
    for cycle in find_cycles(to):
        after = [T[i, to[i]] for i in cycle]
        if len(cycle) > 1 and np.mean(after) >= limits.words and sum(after) > sum(own[cycle]) + 1e-9:
            found.out_of_order.extend((found.pairs[i][1], found.pairs[to[i]][1]) for i in cycle)
            moved |= set(cycle)
    for i, (g, p) in enumerate(found.pairs):
        if own[i] < limits.words and i not in moved:
            found.miscaptioned.append((g, p))
        named, meant = find_persons(pred.events[p]), find_persons(ref.events[g])
        if i not in moved and named and meant and named != meant:
            found.identity.append((g, p))


def find_cycles(to: dict[int, int]) -> list[list[int]]:
    """The cycles of a permutation."""
    seen: set[int] = set()
    found = []
    for start in to:
        cycle, i = [], start
        while i not in seen:
            seen.add(i)
            cycle.append(i)
            i = to[i]
        if cycle:
            found.append(cycle)
    return found


def find_persons(event: Event) -> list[str]:
    return [name.upper() for name in PERSON.findall(event.caption or "")]


# --- repairs ---------------------------------------------------------------------------------------------------------

Events = list[Event]


def replace_events(pred: Story, changes: dict[int, Event]) -> Events:
    return [changes.get(p, e) for p, e in enumerate(pred.events)]


def drop_events(pred: Story, gone: Sequence[int]) -> Events:
    return [e for p, e in enumerate(pred.events) if p not in set(gone)]


def add_missed(ref: Story, pred: Story, found: Found) -> Events:
    return [*pred.events, *(ref.events[g] for g in found.missed)]


def drop_hallucinated(ref: Story, pred: Story, found: Found) -> Events:
    return drop_events(pred, found.hallucinated)


def drop_duplicates(ref: Story, pred: Story, found: Found) -> Events:
    return drop_events(pred, found.duplicate)


def relocate(ref: Story, pred: Story, found: Found) -> Events:
    return replace_events(
        pred, {p: replace(pred.events[p], segment=ref.events[g].segment) for g, p in found.mislocated}
    )


def reword(ref: Story, pred: Story, found: Found) -> Events:
    return replace_events(
        pred, {p: replace(pred.events[p], caption=ref.events[g].caption) for g, p in found.miscaptioned}
    )


def reorder(ref: Story, pred: Story, found: Found) -> Events:
    moved = {p: replace(pred.events[p], caption=pred.events[q].caption) for p, q in found.out_of_order}
    return list(Story(pred.id, tuple(replace_events(pred, moved))).in_order().events)


def rename(ref: Story, pred: Story, found: Found) -> Events:
    changes = {}
    for g, p in found.identity:
        names = iter(find_persons(ref.events[g]))
        caption = PERSON.sub(lambda m, names=names: next(names, m.group()), pred.events[p].caption or "")  # type: ignore[misc]
        changes[p] = replace(pred.events[p], caption=caption)
    return replace_events(pred, changes)


def join_split(ref: Story, pred: Story, found: Found) -> Events:
    events = drop_events(pred, [p for _, pieces in found.split for p in pieces])
    for g, pieces in found.split:
        some = [pred.events[p] for p in pieces]
        iou = tiou(ref.spans[g : g + 1], pred.spans[pieces])[0]
        hull = Segment(min(e.segment.start for e in some), max(e.segment.end for e in some))
        events.append(replace(some[int(iou.argmax())], segment=hull))
    return events


def cut_merged(ref: Story, pred: Story, found: Found) -> Events:
    events = drop_events(pred, [p for p, _ in found.merged])
    for p, parts in found.merged:
        whole = pred.events[p]
        for g in parts:
            s, e = ref.events[g].segment.start, ref.events[g].segment.end
            events.append(replace(whole, segment=Segment(max(s, whole.segment.start), min(e, whole.segment.end))))
    return events


REPAIRS: dict[str, Callable[[Story, Story, Found], Events]] = {
    "missed": add_missed,
    "hallucinated": drop_hallucinated,
    "mislocated": relocate,
    "miscaptioned": reword,
    "out_of_order": reorder,
    "duplicate": drop_duplicates,
    "split": join_split,
    "merged": cut_merged,
    "identity": rename,
}


# --- the diagnosis ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Repair:
    """One kind of error: how often, and what the score would be without it."""

    kind: str
    errors: int  # over all reference sets
    videos: int  # how many have one
    value: float  # the score once repaired
    gain: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Where the score is lost."""

    task: str
    metric: str
    signature: str
    scale: float
    value: float
    repairs: tuple[Repair, ...]
    videos: tuple[VideoSlice, ...]
    events: tuple[EventSlice, ...]
    factors: Factors | None
    limits: Limits
    how: Resampling
    counts: dict[str, int]
    warnings: tuple[str, ...] = ()

    def __getitem__(self, kind: str) -> Repair:
        return next(r for r in self.repairs if r.kind == kind)


def errors(
    predictions: Readable,
    refs: Readable | Sequence[Readable],
    *,
    metric: str | Metric | None = None,
    limits: Limits | None = None,
    ci: Resampling | None = None,
    options: ScoreOptions | None = None,
    progress: Progress = silent,
) -> Diagnosis:
    """The gain in `metric` (SODA_c; SODA_d where there are no captions) if each kind of error were repaired."""
    several = refs if isinstance(refs, Sequence) and not isinstance(refs, str | Corpus) else [refs]
    notes, limits, how = Notes(), limits or Limits(), ci or Resampling(resamples=2000)
    options = options or ScoreOptions()
    sets, pred = stories.gather(Request(predictions=predictions, refs=several, options=options), notes)
    counts = stories.count(pred, sets, notes)
    task = "dense" if pred.captioned else "procedure"
    name = metric or ("SODA_c" if task == "dense" else "SODA_d")
    metrics.check_choice(name, "spice", options.spice)
    made = metrics.metric(name, task) if isinstance(name, str) else name
    metrics.check_parser([made], options.spice)
    (made,) = metrics.set_parser([made], options.spice)
    if made.reads != "stories":
        raise SpecError(f"{made.name} does not score stories; SODA_c, PRF, DVC_METEOR and their like can be diagnosed")
    worded = pred.captioned and all(ref.captioned for ref in sets)
    kinds = [k for k in REPAIRS if worded or k not in ("miscaptioned", "out_of_order", "identity")]
    if made.param("order", "start") == "file" and "out_of_order" not in kinds:
        kinds.append("out_of_order")
    looked = [find_all(ref, pred, made, limits, worded) for ref in sets]

    def score_repaired(kind: str | None) -> Rows:
        both = zip(sets, looked, strict=True)
        return join_sets(
            [made.table(Stories([ref], repair_corpus(kind, ref, pred, found, made))) for ref, found in both]
        )

    tables: dict[str | None, Rows] = {None: score_repaired(None)}
    for k, kind in enumerate(kinds):
        progress("repairs", k, len(kinds))
        tables[kind] = (
            score_repaired(kind) if any(f.count(kind) for one in looked for f in one.values()) else tables[None]
        )
    progress("repairs", len(kinds), len(kinds))
    some = dict(zip(tables, samples([(rows, made) for rows in tables.values()]), strict=True))
    drawn = dict(zip(some, bootstrap(list(some.values()), how.resamples, how.seed), strict=True))
    told = []
    for kind in kinds:
        n = sum(f.count(kind) for one in looked for f in one.values())
        videos = len({v for one in looked for v, f in one.items() if f.count(kind)})
        gain, bounds = between(some[None], some[kind], drawn[kind] - drawn[None], how.level, how.method)
        told.append(Repair(kind, n, videos, some[kind].value, gain, bounds))
    single = replace(made, refs="mean") if "refs" in made.defaults() else made  # type: ignore[call-arg]
    return Diagnosis(
        task=task,
        metric=str(made),
        signature=made.signature({"videos": counts["videos"], "sets": len(sets), "missing": counts["missing"]}),
        scale=made.scale,
        value=some[None].value,
        repairs=tuple(sorted(told, key=lambda r: -r.gain)),
        videos=tuple(video_slices(sets, tables[None], made, how)),
        events=tuple(event_slices(sets, pred)),
        factors=factors(single, sets, pred) if factorisable(made) else None,
        limits=limits,
        how=how,
        counts=counts,
        warnings=tuple(notes.lines()),
    )


def join_sets(tables: Sequence[Rows]) -> Rows:
    """The rows of each reference set, numbered."""
    return Rows.joined([replace(rows, refset=np.full(len(rows), k)) for k, rows in enumerate(tables)])


def find_prediction(metric: Metric, video: str, pred: Corpus) -> Story | None:
    """The prediction of a video; none where the metric leaves such videos out."""
    if video in pred:
        return tell(pred[video], metric.param("order", "time"), predicted=True)
    return Story(video) if metric.param("missing", "zero") == "zero" else None


def find_all(ref: Corpus, pred: Corpus, metric: Metric, limits: Limits, worded: bool) -> dict[str, Found]:
    """The errors of every video against one reference set."""
    told = {v: (ref[v], story) for v in ref if len(ref[v]) and (story := find_prediction(metric, v, pred)) is not None}
    captions = metric.captions() or Captions("meteor", "prediction-as-hypothesis", "ptb", False)
    if worded:
        captions.score_all([([r], p) for r, p in told.values()])
    in_time = metric.param("order", "time") != "file"
    return {v: find(r, p, captions.matrix(r, p) if worded else None, limits, in_time) for v, (r, p) in told.items()}


def repair_corpus(kind: str | None, ref: Corpus, pred: Corpus, looked: dict[str, Found], metric: Metric) -> Corpus:
    """Predictions without one kind of error; None: as they are."""
    if kind is None:
        return pred
    stories = dict(pred.stories)
    for v, found in looked.items():
        if found.count(kind):
            story = find_prediction(metric, v, pred) or Story(v)
            stories[v] = replace(story, events=tuple(REPAIRS[kind](ref[v], story, found)))
    return Corpus(stories, name=pred.name)
