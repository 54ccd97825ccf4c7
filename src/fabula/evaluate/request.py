"""What is asked for: names of protocol and metrics looked up, contradictions refused, the task agreed on."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fabula import metrics as metric_room
from fabula.core import spec
from fabula.core.errors import SpecError
from fabula.core.notes import Notes, Progress, silent
from fabula.data.result import Result
from fabula.data.stories import Corpus
from fabula.documents.document import Document
from fabula.evaluate.inputs import READABLE, Readable, take_both, take_sets
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.score import Cache, Comparison
from fabula.evaluate.score import score as score_comparison
from fabula.evaluate.tasks import QUERIES, STORIES, find_task, task_names
from fabula.io.idlist import Id, IdList, Thing, read_ids
from fabula.metrics import Metric, Wanted, check_choice, check_parser, names_of

if TYPE_CHECKING:
    from fabula.benchmarks import Protocol
    from fabula.jobs.runner import Runner
    from fabula.llm.session import Session
    from fabula.stats.resampling import Resampling

MODULES = {**dict.fromkeys(STORIES, "stories"), **dict.fromkeys(QUERIES, "queries")}  # others: called as the task is


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a user asked `score` for."""

    predictions: Readable
    refs: Sequence[Readable] = ()
    options: ScoreOptions = field(default_factory=ScoreOptions)
    protocol: Protocol | None = None
    metrics: Sequence[Metric] | None = None  # None: the protocol's, or all of the task
    progress: Progress = silent
    runner: Runner | None = None  # where shards are scored; None: here
    judge: Session | None = None  # whom metrics ask that ask a model
    only: IdList | None = None  # which references are scored; None: all
    cache: Cache = field(default_factory=Cache)  # shared with other requests about these files, with the same options

    def __post_init__(self) -> None:
        if self.only is None and self.options.ids is not None:
            object.__setattr__(self, "only", read_ids(self.options.ids))

    def chosen(self, task: str) -> list[Metric]:
        """The metrics to compute, bound to the judge; with `tok` and `spice`, as these say."""
        wanted = metric_room.default(task) if self.metrics is None else self.metrics
        wanted, tok = metric_room.set_parser(wanted, self.options.spice), self.options.tok
        if tok is not None:
            for m in wanted if self.protocol else ():
                if self.protocol and m.param("tok", tok) != tok:
                    rule = f"the protocol {self.protocol.name} has tok={m.param('tok')} for {m.title}"
                    raise SpecError(f"{rule}, and --tok {tok} contradicts it; leave one of the two out")
            wanted = [m.with_params({"tok": tok}) if "tok" in m.defaults() else m for m in wanted]
        return wanted if self.judge is None else [m.with_judge(self.judge) for m in wanted]

    def readable(self, task: str, *kinds: str) -> list[Metric]:
        """The same, if each compares what this task has."""
        chosen = self.chosen(task)
        for metric in chosen:
            if metric.reads not in kinds:
                tasks = " and ".join(metric.tasks)
                raise SpecError(f"{metric.name} is not a metric of the task {task}; it is for {tasks}")
        return chosen

    @property
    def means_all(self) -> bool:
        """True where nobody chose metrics: those that the files do not allow are then left out, and named."""
        return self.metrics is None or (self.protocol is not None and list(self.metrics) == list(self.protocol.metrics))

    @property
    def judges_segments(self) -> bool:
        return self.protocol is None or self.protocol.judges_segments

    def paths(self, task: str) -> tuple[Path | Document, list[Path | Document]]:
        """The files of a task that reads files only."""
        everything = [self.predictions, *self.refs]
        if any(isinstance(r, Corpus) for r in everything):
            raise SpecError(f"the task {task} reads files, not story corpora")
        first, *rest = (r if isinstance(r, Path | Document) else Path(str(r)) for r in everything)
        return first, rest

    def limit(self, references: Mapping[Id, Thing], notes: Notes) -> dict[Id, Thing]:
        """The references that are scored."""
        return dict(references) if self.only is None else self.only.limit(references, notes)

    def need_refs(self) -> None:
        if not self.refs:
            raise SpecError("no references; name at least one reference file: --refs FILE, in Python refs=")


def score(
    predictions: object,
    refs: object,
    options: ScoreOptions,
    *,
    ci: bool | Resampling = False,
    cluster: object = None,
    progress: Progress = silent,
) -> Result:
    """Predictions against references, both files or objects; `ci` adds intervals, over groups with `cluster`."""
    if cluster is not None and not ci:
        raise SpecError("--cluster only applies with --ci")
    if options.sets is not None:
        options = take_sets(options)
    if isinstance(predictions, READABLE) and isinstance(refs, READABLE):
        taken, several = predictions, [refs]
    else:
        taken, several = take_both(predictions, refs, options)
    result = run_request(make_request(taken, several, options, progress))
    if not ci:
        return result
    from fabula.evaluate.intervals import cluster_results, name_groups, with_intervals
    from fabula.stats.resampling import Resampling as Default

    how = Default() if ci is True else ci
    if cluster is None:
        return with_intervals(result, how)
    clustered, n = cluster_results({"": result}, cluster, [taken], several)
    return with_intervals(clustered[""], how, f"|clusters:{name_groups(cluster)}:{n}", n)


def run_request(request: Request, task: str | None = None) -> Result:
    """The request's task compared and scored: the one named, that all agree on, or that the files are known to be for.

    With `task`, what was asked for is not checked against it again.
    """
    options = request.options
    agreed = task or agree_task(request)
    if agreed is None:
        found = infer_task(request.predictions, request.refs, options.format)
        agreed = found if all(found in m.tasks for m in request.metrics or ()) else None
    if task is None:
        check_request(request, agreed)
    passed = request.judge if request.judge and not request.judge.closed else None
    named = options.judge_url is not None or options.judge_replay is not None
    with nullcontext(passed) if passed or not named else open_judge(request) as judge:
        comparison, chosen = compare(replace(request, judge=judge), agreed)
        if request.only is not None:
            comparison.add_fact("ids", request.only.sign)
        comparison.strict, comparison.judge_failed = options.strict, options.judge_failed
        comparison.protocol = request.protocol.name if request.protocol else "default"
        comparison.optional = request.means_all
        with comparison.opened:
            result = score_comparison(comparison, chosen, cache=request.cache)
    if task is None:
        check_parser(result.metrics.values(), options.spice)
        check_judged(result.metrics.values(), options)
    return result


def open_judge(request: Request) -> Session:
    from fabula.text.judges.scorer import open_session

    return open_session(request.options, request.progress)


def compare(request: Request, task: str | None) -> tuple[Comparison, list[Metric]]:
    """Both sides of a request, and the metrics that can score them; only the module of the task is imported."""
    module = importlib.import_module(f"fabula.evaluate.{MODULES.get(task or 'dense', task)}")
    found: tuple[Comparison, list[Metric]] = module.compare(request, task)
    return found


def check_judged(some: Iterable[Metric], options: ScoreOptions) -> None:
    """Refuse flags of a judge that no metric asks."""
    flags = [o.flag for o in options.changed() if o.name.startswith("judge_")]
    if flags and not any(metric.uses_llm for metric in some):
        named = ", ".join(flags)
        raise SpecError(
            f'{named} has no effect: no metric here asks a judge; choose one: -m "SODA_c(text=judge:fabula)"'
        )


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
    if request.only is not None and options.sharded:
        raise SpecError("--ids is for what is scored at once on this machine; leave --engine, --work and --resume out")
    if agreed not in (None, *STORIES) and options.sharded:
        raise SpecError(f"the task {agreed} is scored at once on this machine; leave --engine, --work and --resume out")
