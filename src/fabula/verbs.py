"""The verbs: what the command line does, as library calls. `fabula.score(...)` is `fabula score`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula import metrics, protocols, tasks
from fabula.core import spec
from fabula.core.errors import InputError, SpecError, shown
from fabula.core.nouns import Corpus, Event, Item, Segment, Story
from fabula.core.result import Result, Score
from fabula.engine.captions import Tokenised, caption_rows
from fabula.engine.local import Progress, silent, story_rows
from fabula.engine.shards import Engine, engine_named
from fabula.io.captions import is_items
from fabula.metrics import Metric, check_parsing, one_choice, one_parser
from fabula.metrics._caption import CaptionMetric
from fabula.metrics._story import StoryMetric
from fabula.protocols import Protocol
from fabula.stats.bootstrap import Method, Resampling, each_interval
from fabula.stats.compare import Comparison, Test, check_test
from fabula.stats.compare import compare as compare_rows
from fabula.stats.sample import Sample
from fabula.tasks import Request, _stories
from fabula.tasks._task import Readable


def score(
    predictions: Readable,
    refs: Readable | Sequence[Readable] = (),
    *,
    task: str | None = None,
    protocol: str | None = None,
    metrics: Sequence[str | Metric] | str | Metric | None = None,
    repair: Sequence[str] | str = (),
    strict: bool = False,
    tok: str | None = None,
    spice: str | None = None,
    people: str | None = None,
    format: str | None = None,
    refs_format: str | None = None,
    sets: Path | None = None,
    ci: bool | Resampling = False,
    engine: str | Engine = "local",
    address: str | None = None,
    work: str | Path | None = None,
    resume: bool = False,
    progress: Progress = silent,
) -> Result:
    """Score predictions against one or more reference sets.

    With a protocol, the published evaluator's numbers; without, the corrected ones. `metrics` chooses among them:
    names or specs such as "SODA_c(refs=best)". `repair` says what to do with malformed reference segments, `tok`
    sets the tokeniser of every metric that has one, `spice` who parses for SPICE and iSPICE ("native", "java"). For the
    task identity `sets` names the file that groups clips, and `people` is a pattern of how captions write people where
    that is not P1 or [PERSON1]. `ci` gives each primary number an interval: True, or a Resampling that says how.

    With `engine="ray"` or a `work` folder, stories are scored shard by shard, with the same numbers; `resume` goes on
    with the run of a work folder (docs/engines.md).
    """
    named = protocols.protocol(protocol) if protocol else None
    if task is None and named is None and metrics is not None and mentions_dense(metrics):
        task = "dense" if tells_stories(predictions) else None
    one_parser(metrics or (), spice)
    one_choice(metrics or (), "tok", tok)
    chosen = choose(metrics, named, task)
    if chosen is not None:
        check_parsing(chosen, spice)
    request = Request(
        predictions=predictions,
        refs=[refs] if isinstance(refs, str | Path | Corpus) else refs,
        protocol=named,
        metrics=chosen,
        repair=[repair] if isinstance(repair, str) else repair,
        strict=strict,
        tok=tok,
        spice=spice,
        people=people,
        format=format,
        refs_format=refs_format,
        sets=sets,
        engine=None if engine == "local" and address is None else made(engine, address),
        work=None if work is None else Path(work),
        resume=resume,
        progress=progress,
    )
    agreed = agreed_task(task, named, chosen)
    given = {"repair": repair, "strict": strict, "format": format, "refs_format": refs_format}
    tasks.check_options(agreed or "dense", **given, sets=sets, people=people)
    if repair and named and agreed in ("dense", "procedure") and not named.judges_segments:
        raise SpecError(f"--repair is not heeded by {named.name}, which takes segments as they are; mend the file")
    if request.sharded and agreed not in (None, "dense", "procedure"):
        raise SpecError(f"the task {agreed} is scored at once on this machine; leave --engine, --work and --resume out")
    result = tasks.task(agreed).run(request) if agreed else _stories.run(request, None)
    check_parsing(map(of_signature, result.scores.values()), spice)
    return with_intervals(result, Resampling() if ci is True else ci) if ci else result


def of_signature(score: Score) -> Metric:
    return metrics.metric(score.signature)


def with_intervals(result: Result, how: Resampling) -> Result:
    """The result with the interval of every primary number; its signature says how it was made."""
    named = {name: of_signature(score) for name, score in result.scores.items()}
    some = {name: Sample.of(result.rows[name], metric) for name, metric in named.items()}
    scores = {
        name: replace(
            result[name],
            ci={result[name].primary: (found.low, found.high)},
            signature=f"{result[name].signature}|ci:{how}",
        )
        for name, found in each_interval(some, how).items()
    }
    return replace(result, scores={name: scores[name] for name in result.scores})


def compare(
    systems: Mapping[str, Readable] | Sequence[Readable],
    refs: Readable | Sequence[Readable] = (),
    *,
    test: Test = "randomisation",
    method: Method = "bca",
    level: float = 0.95,
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
    **options: Any,
) -> Comparison:
    """Two or more systems on the same references: scores with intervals, differences with intervals and p-values.

    Systems are named by the mapping's keys, or by their files. `options` are those of `score`. A difference is marked
    where its p-value, corrected over all pairs of systems (Holm), is below `alpha`.
    """
    check_test(test, method, level, alpha, seed)
    named = dict(systems) if isinstance(systems, Mapping) else by_name(systems)
    if len(named) < 2:
        raise SpecError("one system is no comparison; name two or more prediction files")
    results = {name: score(read, refs, **options) for name, read in named.items()}
    first = next(iter(results.values()))
    for name, result in results.items():
        if result.task != first.task:
            raise SpecError(
                f"{name} was read as {result.task}, {next(iter(results))} as {first.task}; say which: --task"
            )
    tables = {
        label: {name: (r.rows[label], of_signature(first[label])) for name, r in results.items()}
        for label in first.scores
    }
    seen = compare_rows(
        tables,
        scales={label: s.scale for label, s in first.scores.items()},
        signatures={label: s.signature for label, s in first.scores.items()},
        test=test,
        method=method,
        level=level,
        alpha=alpha,
        resamples=resamples,
        seed=seed,
    )
    return replace(seen, warnings=tuple(f"{name}: {w}" for name, r in results.items() for w in r.warnings))


def by_name(systems: Sequence[Readable]) -> dict[str, Readable]:
    """Systems by the names of their files; by their paths where two files share a name."""
    stems = [s.name or f"system {i + 1}" if isinstance(s, Corpus) else Path(s).stem for i, s in enumerate(systems)]
    if len(set(stems)) < len(stems):
        stems = [f"{s.name} {i + 1}" if isinstance(s, Corpus) else str(s) for i, s in enumerate(systems)]
    if len(set(stems)) < len(stems):
        raise SpecError("the same file is named twice; a system is not compared with itself")
    return dict(zip(stems, systems, strict=True))


def made(engine: str | Engine, address: str | None) -> Engine:
    return engine_named(engine, address) if isinstance(engine, str) else engine


def tells_stories(predictions: Readable) -> bool:
    """Stories and caption items both have a METEOR: what the file looks like decides which is meant."""
    return isinstance(predictions, Corpus) or not is_items(predictions)


def mentions_dense(wanted: Sequence[str | Metric] | str | Metric) -> bool:
    """True where a name means another metric for stories than for single captions."""
    names = spec.split(wanted) if isinstance(wanted, str) else [] if isinstance(wanted, Metric) else wanted
    return any(metrics.ambiguous(spec.parse(name)[0]) for name in names if isinstance(name, str))


def agreed_task(task: str | None, protocol: Protocol | None, chosen: Sequence[Metric] | None) -> str | None:
    """The task that was named, or the one the protocol or all metrics belong to; None: the stories must tell."""
    if task is not None:
        task = tasks.task(task).name
    if protocol:
        if task and task != protocol.task:
            raise SpecError(f"the protocol {protocol.name} is for the task {protocol.task}, not {task}")
        return protocol.task
    if task is None and chosen:
        common = set(chosen[0].tasks).intersection(*(m.tasks for m in chosen))
        return common.pop() if len(common) == 1 else None
    return task


def choose(
    wanted: Sequence[str | Metric] | str | Metric | None, protocol: Protocol | None, task: str | None
) -> list[Metric] | None:
    """The metrics asked for, or all of the protocol; None where the task decides."""
    if wanted is None:
        return list(protocol.metrics) if protocol else None
    if isinstance(wanted, Metric):
        wanted = [wanted]
    names = spec.split(wanted) if isinstance(wanted, str) else wanted
    if not names:
        raise SpecError("no metric is named; leave --metrics out to get all")
    make = protocol.metric if protocol else lambda name: metrics.metric(name, task)
    return [make(name) if isinstance(name, str) else name for name in names]


Told = Sequence[tuple[float, float, str]]  # a story as training code has it: (start, end, caption)
Reward = Callable[[Sequence[Any], Sequence[Any]], NDArray[np.float64]]


def reward(metric: str | Metric) -> Reward:
    """A metric as a batched reward for reinforcement learning: `reward(candidates, references) → [B]`.

    METEOR, CIDEr, BLEU_4 …: a candidate is a sentence, its references a sentence or a list of them (CIDEr takes its
    document frequencies from the batch unless idf=file:… is given). SODA_c and its like: a candidate is a list of
    (start, end, caption), its reference another, or several of them in a list.
    """
    made = metrics.metric(metric) if isinstance(metric, str) else metric
    if isinstance(made, CaptionMetric):
        return lambda candidates, references: caption_reward(made, candidates, references)
    if isinstance(made, StoryMetric):
        return lambda candidates, references: story_reward(made, candidates, references)
    raise SpecError(f"{made.name} gives no reward per item")


def caption_reward(metric: CaptionMetric, candidates: Sequence[str], references: Sequence[Any]) -> NDArray[np.float64]:
    same_length(candidates, references)
    items = [
        Item(i, c, (r,) if isinstance(r, str) else tuple(r))
        for i, (c, r) in enumerate(zip(candidates, references, strict=True))
    ]
    for item in items:
        for text in (item.candidate, *item.references):
            if not isinstance(text, str):
                raise InputError(
                    f"expected text, saw {shown(text)}", field=f"item {item.id}", hint="rewards score text"
                )
    return caption_rows(metric, Tokenised(items))[metric.primary] if items else np.zeros(0)


def story_reward(metric: StoryMetric, candidates: Sequence[Told], references: Sequence[Any]) -> NDArray[np.float64]:
    same_length(candidates, references)
    sets: list[dict[str, Story]] = []
    for i, told in enumerate(references):
        for k, one in enumerate(told if nested(told) else [told]):
            sets += [{}] if k == len(sets) else []
            sets[k][str(i)] = story(str(i), one)
    preds = {str(i): story(str(i), told) for i, told in enumerate(candidates)}
    rows = story_rows(metric, [Corpus(s) for s in sets], Corpus(preds))
    value, n = np.zeros(len(candidates)), np.zeros(len(candidates))
    for key, number in zip(rows.keys, rows[metric.primary], strict=True):
        value[int(key)] += number
        n[int(key)] += 1
    return value / np.maximum(n, 1)


def nested(told: Any) -> bool:
    """True for a list of stories, False for one story."""
    return len(told) > 0 and len(told[0]) > 0 and not isinstance(told[0][0], int | float | np.number)


def story(id: str, told: Told) -> Story:
    try:
        return Story(id, tuple(Event(Segment(float(s), float(e)), str(c)) for s, e, c in told))
    except (TypeError, ValueError):
        hint = "a story is a list of (start, end, caption)"
        raise InputError(f"expected a story, saw {shown(told)}", field=f"item {id}", hint=hint) from None


def same_length(candidates: Sequence[Any], references: Sequence[Any]) -> None:
    if len(candidates) != len(references):
        raise InputError(f"{len(candidates)} candidates for {len(references)} references", hint="give one for each")
