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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fabula import metrics
from fabula.core.errors import SpecError
from fabula.core.notes import Notes, Progress, silent
from fabula.core.rows import Rows
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.diagnosis.factors import Factors, chain_rows, factorisable, fold_factors
from fabula.diagnosis.finding import PERSON, Found, Limits, find_many, find_persons
from fabula.diagnosis.slices import EventSlice, VideoSlice, event_slices, video_slices
from fabula.evaluate import stories
from fabula.evaluate.inputs import Readable
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.request import Request
from fabula.metrics import Metric
from fabula.metrics.stories import Stories, sort_story
from fabula.pair.captions import Captions
from fabula.pair.grid import Grid
from fabula.pair.strips import MANY, portions
from fabula.pair.tiou import tiou
from fabula.stats.bootstrap import Interval, bootstrap
from fabula.stats.choose import choose_difference, tell_choices
from fabula.stats.resampling import Resampling
from fabula.stats.sample import samples

# --- repairs ---------------------------------------------------------------------------------------------------------

Events = list[Event]


def replace_events(pred: Story, changes: dict[int, Event]) -> Events:
    return [changes.get(p, e) for p, e in enumerate(pred.events)]


def drop_events(pred: Story, gone: Sequence[int]) -> Events:
    return [e for p, e in enumerate(pred.events) if p not in set(gone)]


def add_missed(ref: Story, pred: Story, found: Found) -> Events:
    return [*pred.events, *(ref.events[g] for g in found.missed)]


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
        parts = [pred.events[p] for p in pieces]
        iou = tiou(ref.spans[g : g + 1], pred.spans[pieces])[0]
        hull = Segment(min(e.segment.start for e in parts), max(e.segment.end for e in parts))
        events.append(replace(parts[int(iou.argmax())], segment=hull))
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
    "hallucinated": lambda ref, pred, found: drop_events(pred, found.hallucinated),
    "mislocated": relocate,
    "miscaptioned": reword,
    "out_of_order": reorder,
    "duplicate": lambda ref, pred, found: drop_events(pred, found.duplicate),
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
    interval: Interval | None  # None: too few videos for one
    ci_method: str = ""


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
    chosen = metrics.metric(name, task) if isinstance(name, str) else name
    metrics.check_parser([chosen], options.spice)
    (chosen,) = metrics.set_parser([chosen], options.spice)
    if chosen.reads != "stories":
        raise SpecError(
            f"{chosen.name} does not score stories; SODA_c, PRF, DVC_METEOR and their like can be diagnosed"
        )
    worded = pred.captioned and all(ref.captioned for ref in sets)
    kinds = [k for k in REPAIRS if worded or k not in ("miscaptioned", "out_of_order", "identity")]
    if chosen.param("order", "start") == "file" and "out_of_order" not in kinds:
        kinds.append("out_of_order")
    ordered = sort_predictions(pred, chosen)
    looked = [find_all(ref, ordered, chosen, limits, worded) for ref in sets]

    data = Stories(sets, pred)
    unrepaired = score_each(chosen, data)

    def score_repaired(kind: str) -> Rows:
        each = zip(sets, looked, counted, unrepaired, strict=True)
        return join_sets(
            [
                score_again(
                    chosen,
                    ref,
                    repair_stories(kind, ref, ordered, {v: found[v] for v in errors_of[kind]}, chosen),
                    pred,
                    rows,
                )
                for ref, found, errors_of, rows in each
            ]
        )

    tables: dict[str | None, Rows] = {None: join_sets(unrepaired)}
    counted = [{kind: count_errors(kind, found) for kind in kinds} for found in looked]
    for k, kind in enumerate(kinds):
        progress("repairs", k, len(kinds))
        tables[kind] = score_repaired(kind) if any(one[kind] for one in counted) else tables[None]
    progress("repairs", len(kinds), len(kinds))
    distinct = {id(rows): rows for rows in tables.values()}  # a kind without errors shares the unrepaired table
    sampled = dict(zip(distinct, samples([(rows, chosen) for rows in distinct.values()]), strict=True))
    thetas = dict(zip(sampled, bootstrap(list(sampled.values()), how.resamples, how.seed), strict=True))
    sample_of = {kind: sampled[id(rows)] for kind, rows in tables.items()}
    drawn = {kind: thetas[id(rows)] for kind, rows in tables.items()}
    repairs, choices = [], []
    for kind in kinds:
        n = sum(sum(one[kind].values()) for one in counted)
        videos = len({v for one in counted for v in one[kind]})
        gain = choose_difference(sample_of[None], sample_of[kind], drawn[kind] - drawn[None], how)
        value = sample_of[kind].value
        repairs.append(Repair(kind, n, videos, value, value - sample_of[None].value, gain.interval, gain.method))
        if n:
            choices.append((kind.replace("_", " "), gain))
    single = replace(chosen, refs="mean") if "refs" in chosen.defaults() else chosen  # type: ignore[call-arg]
    return Diagnosis(
        task=task,
        metric=str(chosen),
        signature=chosen.signature({"videos": counts["videos"], "sets": len(sets), "missing": counts["missing"]}),
        scale=chosen.scale,
        value=sample_of[None].value,
        repairs=tuple(sorted(repairs, key=lambda r: -r.gain)),
        videos=tuple(video_slices(sets, tables[None], chosen, how)),
        events=tuple(event_slices(sets, pred)),
        factors=fold_factors(chain_rows(single, data)) if factorisable(chosen) else None,
        limits=limits,
        how=how,
        counts=counts,
        warnings=(*notes.lines(), *tell_choices(choices, "videos")),
    )


def score_each(metric: Metric, data: Stories) -> list[Rows]:
    """The rows of each reference set by itself; made together where sets do not touch each other."""
    if not (metric.of_unit and metric.param("refs") == "mean"):
        return [metric.table(Stories([ref], data.preds)) for ref in data.refs]
    rows, found = metric.table(data), list[Rows]()
    for k, ref in enumerate(data.refs):
        place = {rows.keys[i]: i for i in np.flatnonzero(rows.refset == k).tolist()}
        found.append(rows.take([place[v] for v in ref if v in place]).as_set(0))
    return found


def join_sets(tables: Sequence[Rows]) -> Rows:
    """The rows of each reference set, numbered."""
    return Rows.joined([replace(rows, refset=np.full(len(rows), k)) for k, rows in enumerate(tables)])


def sort_predictions(pred: Corpus, metric: Metric) -> Corpus:
    """All predictions as the metric reads them: sorted once, and their events made once, for all kinds of errors."""
    order = metric.param("order", "time")
    return replace(pred, stories={v: sort_story(story, order, predicted=True) for v, story in pred.items()})


def find_prediction(metric: Metric, video: str, pred: Corpus) -> Story | None:
    """The prediction of a video; none where the metric leaves such videos out."""
    if video in pred:
        return sort_story(pred[video], metric.param("order", "time"), predicted=True)
    return Story(video) if metric.param("missing", "zero") == "zero" else None


def find_all(ref: Corpus, pred: Corpus, metric: Metric, limits: Limits, worded: bool) -> dict[str, Found]:
    """The errors of every video against one reference set."""
    stories = {
        v: (ref[v], story) for v in ref if len(ref[v]) and (story := find_prediction(metric, v, pred)) is not None
    }
    words = metric.captions() or Captions("meteor", "prediction-as-hypothesis", "ptb", False) if worded else None
    in_time, found = metric.param("order", "time") != "file", list[Found]()
    for portion in portions(list(stories.values()), MANY):
        grid = Grid.of(portion)
        scores = None if words is None else words.scores(grid, np.ones(len(grid.pair), bool))
        found += find_many(grid, scores, limits, in_time)
    return dict(zip(stories, found, strict=True))


def count_errors(kind: str, looked: dict[str, Found]) -> dict[str, int]:
    """How many errors of a kind each video has that has one."""
    return {v: n for v, found in looked.items() if (n := found.count(kind))}


def repair_stories(kind: str, ref: Corpus, pred: Corpus, looked: dict[str, Found], metric: Metric) -> dict[str, Story]:
    """The predictions of these videos without this kind of error."""
    stories: dict[str, Story] = {}
    for v, found in looked.items():
        story = find_prediction(metric, v, pred) or Story(v)
        stories[v] = replace(story, events=tuple(REPAIRS[kind](ref[v], story, found)))
    return stories


def score_again(metric: Metric, ref: Corpus, changed: dict[str, Story], pred: Corpus, rows: Rows) -> Rows:
    """The rows of predictions of which some have changed, given those of all as they were: only these are scored."""
    if metric.of_unit:
        affected = replace(ref, stories={v: ref[v] for v in ref if v in changed})
        new = metric.table(Stories([affected], replace(pred, stories=changed)))
        at = [i for i, video in enumerate(rows.keys) if video in changed]
        if new.keys == tuple(rows.keys[i] for i in at):
            places = np.arange(len(rows))
            places[at] = len(rows) + np.arange(len(at))
            return Rows.joined([rows, new]).take(places)
    return metric.table(Stories([ref], replace(pred, stories=dict(pred.stories) | changed)))
