"""What is asked for: names of protocol and metrics looked up, contradictions refused, the task agreed on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fabula import metrics as metric_room
from fabula.core import spec
from fabula.core.errors import SpecError
from fabula.core.notes import Progress, silent
from fabula.data.result import Result
from fabula.data.stories import Corpus
from fabula.evaluate import stories
from fabula.evaluate.base import Readable, Request
from fabula.evaluate.inputs import take_both, take_sets
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.tasks import STORIES, find_task, task_names
from fabula.metrics import Metric, Wanted, check_choice, check_parser, names_of

if TYPE_CHECKING:
    from fabula.benchmarks import Protocol
    from fabula.jobs.runner import Runner
    from fabula.stats.resampling import Resampling


def score(
    predictions: Any,
    refs: Any,
    options: ScoreOptions,
    *,
    ci: bool | Resampling = False,
    cluster: Any = None,
    progress: Progress = silent,
) -> Result:
    """Predictions against references, both files or objects; `ci` adds intervals, over groups with `cluster`."""
    if cluster is not None and not ci:
        raise SpecError("--cluster only applies with --ci")
    options = take_sets(options)
    taken, several = take_both(predictions, refs, options)
    result = run_request(make_request(taken, several, options, progress))
    if not ci:
        return result
    from fabula.evaluate.intervals import with_intervals
    from fabula.stats.resampling import Resampling as Default

    how = Default() if ci is True else ci
    if cluster is None:
        return with_intervals(result, how)
    from fabula.evaluate.clusters import cluster_results, name

    clustered, n = cluster_results({"": result}, cluster, [taken], several)
    return with_intervals(clustered[""], how, f"|clusters:{name(cluster)}:{n}", n)


def run_request(request: Request) -> Result:
    """The task that was named, that all agree on, or that the files are known to be for."""
    agreed = agree_task(request)
    if agreed is None:
        found = infer_task(request.predictions, request.refs, request.options.format)
        agreed = found if all(found in m.tasks for m in request.metrics or ()) else None
    check_request(request, agreed)
    result = find_task(agreed).run(request) if agreed else stories.run(request, None)
    check_parser(result.metrics.values(), request.options.spice)
    check_judged(result.metrics.values(), request.options)
    return result


def check_judged(some: Iterable[Metric], options: ScoreOptions) -> None:
    """Refuse flags of a judge that nobody asks."""
    if options.judge_flags:
        from fabula.evaluate.judged import check_judge_used

        check_judge_used(some, options)


def infer_task(predictions: Readable, refs: Sequence[Readable], format: str | None) -> str | None:
    """By the shape of the files; None: stories, which tell by having captions or not."""
    if isinstance(predictions, Corpus):
        return None
    from fabula.io import kinds

    return kinds.infer_task(predictions, [ref for ref in refs if not isinstance(ref, Corpus)], format)


def make_request(predictions: Readable, refs: Sequence[Readable], options: ScoreOptions, progress: Progress) -> Request:
    """What was asked for: names of protocol and metrics looked up, contradictions refused."""
    protocol, wanted, name = find_protocol(options.protocol), options.metrics, options.task
    if name is None and protocol is None and wanted is not None and mentions_dense(wanted):
        name = "dense" if tells_stories(predictions) else None
    check_choice(wanted or (), "spice", options.spice)
    check_choice(wanted or (), "tok", options.tok)
    chosen = choose_metrics(wanted, protocol, name)
    if chosen is not None:
        check_parser(chosen, options.spice)
        check_judged(chosen, options)
    return Request(
        predictions=predictions,
        refs=refs,
        options=options if name == options.task else replace(options, task=name),
        protocol=protocol,
        metrics=chosen,
        progress=progress,
        runner=find_runner(options),
    )


def find_runner(options: ScoreOptions) -> Runner | None:
    """Where shards are scored; None: on this machine, as the size of the input suggests."""
    if not isinstance(options.engine, str):
        runner: Runner = options.engine
        return runner
    if options.engine == "local" and options.address is None:
        return None
    from fabula.jobs.runner import runner_named

    return runner_named(options.engine, options.address)


def find_protocol(name: str | None) -> Protocol | None:
    if not name:
        return None
    from fabula.benchmarks import protocol

    return protocol(name)


def tells_stories(predictions: Readable) -> bool:
    """Stories and caption items both have a METEOR: what the file looks like decides which is meant."""
    if isinstance(predictions, Corpus):
        return True
    from fabula.io.captions import is_items

    return not is_items(predictions)


def mentions_dense(wanted: Wanted) -> bool:
    """True where a name means another metric for stories than for single captions."""
    return any(metric_room.is_ambiguous(spec.parse(name)[0]) for name in names_of(wanted))


def choose_metrics(wanted: Wanted | None, protocol: Protocol | None, task: str | None) -> list[Metric] | None:
    """The metrics asked for, or all of the protocol; None where the task decides."""
    if wanted is None:
        return list(protocol.metrics) if protocol else None
    several = spec.split(wanted) if isinstance(wanted, str) else wanted
    names: Sequence[str | Metric] = several if isinstance(several, Sequence) else [several]
    if not names:
        raise SpecError("no metric is named; leave --metrics out to get all")
    make = protocol.metric if protocol else lambda name: metric_room.metric(name, task)
    return [make(name) if isinstance(name, str) else name for name in names]


def agree_task(request: Request) -> str | None:
    """The task that was named, or the one the protocol or all metrics belong to; None: the stories must tell."""
    protocol, chosen, name = request.protocol, request.metrics, request.options.task
    if name is not None:
        name = find_task(name).name
    if protocol:
        if name and name != protocol.task:
            raise SpecError(f"the protocol {protocol.name} is for the task {protocol.task}, not {name}")
        return protocol.task
    if name is None and chosen:
        common = set(chosen[0].tasks).intersection(*(m.tasks for m in chosen))
        return common.pop() if len(common) == 1 else None
    return name


def check_request(request: Request, agreed: str | None) -> None:
    """Refuse options that the task does not heed."""
    options, protocol = request.options, request.protocol
    options.check_task(agreed or "dense", task_names)
    if options.repair and protocol and agreed in STORIES and not protocol.judges_segments:
        raise SpecError(f"--repair has no effect with {protocol.name}, which repairs nothing; correct the file")
    if options.sharded and agreed not in (None, *STORIES):
        raise SpecError(f"the task {agreed} is scored at once on this machine; leave --engine, --work and --resume out")
