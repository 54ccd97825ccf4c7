"""Coarse captions into a fine-grained benchmark, a call for each word of `fabula annotate`.

plan(…) · run(…) · retry(…) · status(…) · ab(…) · stats(…) · export(…)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

from fabula.annotation import stats as count
from fabula.annotation.compare import compare, draw_sample
from fabula.annotation.export import LAYOUTS, Export
from fabula.annotation.export import export as write_benchmark
from fabula.annotation.keyframes import FrameSampler, Videos
from fabula.annotation.moments import read_moments
from fabula.annotation.plan import Plan, list_failed, summarise
from fabula.annotation.plan import plan as count_calls
from fabula.annotation.recipe import Recipe, RecipeOptions
from fabula.annotation.run import Batching, Work
from fabula.annotation.shards import run_shards, take_over_shards
from fabula.annotation.steps import Scorer
from fabula.annotation.store import Store
from fabula.core.errors import SpecError
from fabula.core.notes import Progress, silent
from fabula.core.options import MUST, Options, option
from fabula.documents.fields import JsonDict
from fabula.jobs.ray import Ray
from fabula.llm.options import EndpointOptions


@dataclass(frozen=True, kw_only=True)
class StoreOptions(Options):
    """The store that a verb looks at."""

    store: Path = option(MUST, "Store of the run: one SQLite file.", "-s")
    recipe: str | None = option(None, "Hash of the recipe, or its first characters, if the store has several.")


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """Where a run works, on what, and how far it may go."""

    store: Path = option(MUST, "Store of the run: one SQLite file; an existing one is resumed.", "-s")
    videos: Path | None = option(None, "Folder of the videos.")
    budget: float | None = option(None, "Maximum cost, in the unit of --price; no call starts beyond it.")
    batch: bool = option(False, "Use the endpoint's batch interface: slower, often cheaper.")
    batch_moments: int = option(500, "Moments per batch, with --batch.", at_least=1, at_most=50_000, shows_default=True)
    batch_pause: float = option(30.0, "Seconds between two checks of a batch.", shows_default=True)
    batch_wait: float = option(26.0, "Maximum hours to wait for a batch.", shows_default=True)
    forget_batches: bool = option(False, "Discard batches that were sent and not fetched; they may be paid for twice.")
    engine: Literal["local", "ray"] = option("local", "Engine that processes the moments.", shows_default=True)
    address: str | None = option(None, "Address of a Ray cluster. Default: one on this machine.")
    format: str | None = option(
        None, "Format of the moments (fabula list formats). Default: detected from the content."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget is not None and not 0 <= self.budget < 1e12:
            raise SpecError(f"--budget {self.budget:g}; it is 0 or more")
        if not 0 < self.batch_pause < 1e6:
            raise SpecError(f"--batch-pause {self.batch_pause:g}; it is a positive number of seconds")
        if not 0 < self.batch_wait < 1e6:
            raise SpecError(f"--batch-wait {self.batch_wait:g}; it is a positive number of hours")
        if self.batch and self.engine == "ray":
            raise SpecError("--batch has one ledger, in one process; leave out --engine ray")


@dataclass(frozen=True, kw_only=True)
class PlanOptions(Options):
    """What a plan may look at."""

    store: Path | None = option(None, "Store of a started run; its answered calls are not counted.", "-s")
    videos: Path | None = option(None, "Folder of the videos, for --probe.")
    probe: int = option(0, "Number of moments whose keyframes are counted.", at_least=0, at_most=10_000)
    format: str | None = option(
        None, "Format of the moments (fabula list formats). Default: detected from the content."
    )


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run did."""

    made: int  # calls that were answered
    failed: int  # moments
    stopped: str | None  # why it did not go on to the end
    states: dict[str, int] = field(default_factory=dict)  # of all moments
    recipe: str = ""
    reason: str | None = None  # why the first of those that failed did
    left: int = 0  # moments without an outcome

    @property
    def finished(self) -> bool:
        """Whether every moment is done, or empty: its models answered."""
        return not self.left and not self.states.get("failed")


def make_sampler(videos: Path | None, blind: bool) -> FrameSampler | None:
    """Whoever shows the frames."""
    if blind:
        return None
    if videos is None:
        raise SpecError("models are shown frames: say where the videos are (--videos DIR), or --blind to show none")
    return Videos(videos)


class Evaluator(Scorer, Protocol):
    """A scorer that says which it is: a part of the recipe."""

    @property
    def about(self) -> dict[str, object]: ...


MakeScorer = Callable[[RecipeOptions], Evaluator | None]


def no_scorer(recipe: RecipeOptions) -> None:
    """A run in which the judge chooses."""


def settle(endpoint: EndpointOptions, recipe: RecipeOptions, make: MakeScorer) -> tuple[Recipe, Evaluator | None]:
    """The recipe, and the evaluator that it names."""
    scorer = make(recipe)
    return Recipe.of(endpoint, recipe, scorer.about if scorer else None), scorer


def plan(
    moments: str | Path,
    *,
    endpoint: EndpointOptions | None = None,
    recipe: RecipeOptions | None = None,
    options: PlanOptions | None = None,
) -> Plan:
    """Calls, tokens, cost and time of a run, before anything is spent."""
    endpoint, recipe, options = endpoint or EndpointOptions(), recipe or RecipeOptions(), options or PlanOptions()
    settled = Recipe.of(endpoint, recipe)
    sampler = make_sampler(options.videos, recipe.blind) if options.probe else None
    wanted = read_moments(moments, options.format)
    if options.store is None or not options.store.exists():
        return count_calls(wanted, settled, endpoint, None, sampler, options.probe)
    with Store(options.store) as store:
        return count_calls(wanted, settled, endpoint, store, sampler, options.probe)


def run(
    moments: str | Path | None,
    *,
    options: RunOptions,
    endpoint: EndpointOptions | None = None,
    recipe: RecipeOptions | None = None,
    make_scorer: MakeScorer = no_scorer,
    progress: Progress = silent,
) -> Ran:
    """Annotate moments, or go on with those that the store holds; another run goes on where this one ends.

    Moments that failed are asked again.
    """
    endpoint, recipe = endpoint or EndpointOptions(), recipe or RecipeOptions()
    settled, scorer = settle(endpoint, recipe, make_scorer)
    sampler = make_sampler(options.videos, recipe.blind)
    take_over_shards(options.store)
    with Store(options.store, work=True) as store:
        if moments is not None:
            store.add_moments(read_moments(moments, options.format))
        if not store.count_moments():
            raise SpecError(f"{options.store} holds no moments; name a file of them")
        if options.forget_batches:
            for sent in store.batches():
                store.drop_batch(sent.tag)
        store.forget_outcomes(settled.hash, ("failed",))
        wait = options.batch_wait * 3600
        batch = Batching(options.batch_moments, options.batch_pause, wait) if options.batch else None
        work = Work(store, settled, endpoint, sampler, options.budget, scorer=scorer, batch=batch, progress=progress)
        if options.engine == "local":
            work.run()
            return describe_run(store, settled.hash, work.answered, work.failed, work.stopped)
    if endpoint.record is not None:
        raise SpecError("--record writes one file, from one process; leave it out with --engine ray")

    runner = Ray(options.address)
    with runner.ready() as ray:
        workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        make = partial(make_sampler, options.videos, recipe.blind)
        done = run_shards(options.store, work, runner, workers, make, progress, partial(make_scorer, recipe))
    with Store(options.store) as store:
        return describe_run(store, settled.hash, done["made"], done["failed"], done["stopped"])


def describe_run(store: Store, recipe: str, made: int, failed: int, stopped: str | None) -> Ran:
    """What a run did, and how the store stands after it."""
    states = store.states(recipe)
    left = int(store.rows("SELECT count(DISTINCT key) FROM moments")[0][0]) - sum(states.values())
    reasons = [f"{f['kind']}: {f['message']}" for f in list_failed(store, recipe, 1)]
    return Ran(made, failed, stopped, states, recipe, reasons[0] if reasons else None, left)


def retry(
    *,
    options: RunOptions,
    endpoint: EndpointOptions | None = None,
    recipe: RecipeOptions | None = None,
    states: Sequence[str] = ("failed",),
    make_scorer: MakeScorer = no_scorer,
    progress: Progress = silent,
) -> Ran:
    """Ask again for the moments that failed, with `states` for others too; what was answered is not asked again."""
    settled, _ = settle(endpoint or EndpointOptions(), recipe or RecipeOptions(), make_scorer)
    with Store(options.store, work=True) as store:
        store.forget_outcomes(settled.hash, states)
    return run(None, options=options, endpoint=endpoint, recipe=recipe, make_scorer=make_scorer, progress=progress)


def status(options: StoreOptions) -> dict[str, object]:
    """How far the run of a store has come, and what it cost."""
    with Store(options.store) as store:
        return summarise(store, options.recipe)


# ── two recipes ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class AbOptions(Options):
    """What B has otherwise, and on how many moments both are tried."""

    model_b: str | None = option(None, "Model of B. Default: as A.")
    prompts_b: Path | None = option(None, "Prompts of B. Default: as A.")
    sample: int = option(50, "Number of random moments.", at_least=2, shows_default=True)
    sample_seed: int = option(0, "Seed of the sample.", shows_default=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model_b is None and self.prompts_b is None:
            raise SpecError("A and B are the same; say --model-b or --prompts-b")


def ab(
    moments: str | Path | None,
    *,
    ab_options: AbOptions,
    options: RunOptions,
    endpoint: EndpointOptions | None = None,
    recipe: RecipeOptions | None = None,
    make_scorer: MakeScorer = no_scorer,
    progress: Progress = silent,
) -> dict[str, object]:
    """Two prompts or models on a sample of the moments; the judge is A's in both."""
    endpoint, recipe = endpoint or EndpointOptions(), recipe or RecipeOptions()
    sampler = make_sampler(options.videos, recipe.blind)
    first, scorer = settle(endpoint, recipe, make_scorer)
    other = Recipe.of(
        replace(endpoint, model=ab_options.model_b or endpoint.model),
        replace(recipe, prompts=ab_options.prompts_b or recipe.prompts),
        first.evaluator,
    )
    second = replace(
        other,
        models={**other.models, "judge": first.models["judge"]},
        prompts={**other.prompts, "judge": first.prompts["judge"]},
    )
    with Store(options.store, work=True) as store:
        if moments is not None:
            store.add_moments(read_moments(moments, options.format))
        sample = draw_sample(store, ab_options.sample, ab_options.sample_seed)
        for one in (first, second):
            work = Work(store, one, endpoint, sampler, options.budget, scorer=scorer, progress=progress)
            work.run(store.without(one.hash, sample))
        return compare(store, [first, second], sample)


# ── what came of it ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class StatsOptions(Options):
    """What is counted."""

    embedder: str | None = option(None, "Sentence embedder for near-equal captions: minilm, wordllama, hashing.")
    eps: float = option(0.01, "Cosine distance below which captions are near-equal.", shows_default=True)
    picture: bool = option(False, "Draw clustered captions by t-SNE (needs --embedder).", needs="embedder")
    words: int = option(0, "Number of captions whose new words are counted by part of speech; 0: none.", at_least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.eps < 1:
            raise SpecError(f"--eps {self.eps:g}; it lies between 0 and 1")


def stats(files: Sequence[str | Path], *, options: StatsOptions | None = None) -> dict[str, object]:
    """The paper's tables of released files, or of those that `export` wrote."""
    options = options or StatsOptions()
    rows = count.read_rows([Path(file) for file in files])
    every = [row for own in rows.values() for row in own]
    named = rows if len(rows) == 1 else {**rows, "all": every}
    found: dict[str, object] = {
        "title": "Fine-grained captions",
        "files": {n: count.describe(r) for n, r in named.items()},
    }
    whole = {name: [row.score for row in own if row.score is not None] for name, own in named.items()}
    found["histogram"] = {name: count.histogram(scores) for name, scores in whole.items()}
    if options.embedder is not None:
        embed = count.remember(count.load_embedder(options.embedder)())
        found["embedder"] = options.embedder
        found["distinct"] = {n: count.distinctiveness(r, embed, options.eps, 2) for n, r in named.items()}
        if options.picture:
            found["picture"] = count.picture(every, embed, options.eps)
    if options.words:
        found["new words"] = count.new_words(every, options.words)
    return found


@dataclass(frozen=True, kw_only=True)
class ExportOptions(StoreOptions):
    """What goes out, and how."""

    out: Path = option(MUST, "Folder of the benchmark; it is created.", "-o")
    split: str = option("train", "Name of the split.", shows_default=True)
    name: str = option("fine-grained moments", "Name of the benchmark, for its card.")
    licence: str = option("unknown", "Licence of the captions, for the card.")
    layouts: tuple[str, ...] = option((), "Also write files for: label-studio, potato.", parts=True)
    embedder: str = option("hashing", "Sentence embedder that finds near-duplicates.", shows_default=True)
    kinds: bool = option(False, "Also write the kind of each caption, static or dynamic, into its line (branch).")
    overwrite: bool = option(
        False, "Replace a benchmark even if its files were changed, and delete files added to its folder."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}", self.split):
            raise SpecError(f"--split {self.split!r} becomes a file's name; letters, digits, - and _ will do")


def export(options: ExportOptions) -> JsonDict:
    """The benchmark of a store as files; returns what its card tells."""
    for layout in options.layouts:
        if layout not in LAYOUTS:
            raise SpecError(f"no layout is called {layout!r}; there are: {', '.join(LAYOUTS)}")
    layouts = tuple(dict.fromkeys(("huggingface", *options.layouts)))
    settings = Export(
        options.split, options.name, options.licence, layouts, embedder=options.embedder, kinds=options.kinds
    )
    embed = count.load_embedder(options.embedder)()
    with Store(options.store) as store:
        recipe = store.find_recipe(options.recipe)
        return write_benchmark(store, recipe, options.out, settings, embed, options.overwrite)
