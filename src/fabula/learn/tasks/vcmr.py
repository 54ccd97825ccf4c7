"""Video corpus moment retrieval (VCMR; Lei et al., ECCV 2020): which stretch of which video a sentence speaks of.

Units are queries. A corpus is encoded once and searched by all of them; predictions are TVR's or QVHighlights' files,
which `fabula score` reads. Validated by VCMR, SVMR and VR over the videos of the validation queries, the best
checkpoint by VCMR r1@0.5 + r1@0.7, as TVR chooses its own; QD-DETR, which looks into one video, by SVMR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, Progress, name_id, silent
from fabula.core.options import MUST, option, same_as
from fabula.data.moments import Id, Query
from fabula.documents.fields import JsonDict, JsonObject
from fabula.learn import options as shared
from fabula.learn.options import Scores, Share
from fabula.learn.tasks import base

if TYPE_CHECKING:
    from torch import nn

    from fabula.learn.retrieval.answers import Answer, Form
    from fabula.learn.retrieval.bpe import Tokens
    from fabula.learn.retrieval.data import Clips, Moments, Words
    from fabula.learn.retrieval.highlights import Highlights
    from fabula.learn.retrieval.parts import PartedPredictions
    from fabula.learn.retrieval.queries import CorpusQueries
    from fabula.media.stores.features import Features

Granularity = Literal["fig", "cog"]
Protocol = Literal["tvr", "reloclnet", "hero", "qvhighlights"]
SEARCH = ("xml", "reloclnet", "hero")  # models that search a corpus
LENGTHS: dict[str, JsonDict] = {  # VERIFIED's: longest and shortest prediction, context, NMS
    "charades-fig": {"max_length": 12, "min_length": 2, "max_clips": 48, "nms": 0.6, "clip": 1.0},
    "didemo-fig": {"max_length": 30, "min_length": 5, "max_clips": 30, "nms": 0.6, "clip": 1.0},
    "activitynet-fig": {"max_length": 180, "min_length": 1, "max_clips": 240, "nms": 0.5, "clip": 1.0},
}
# TVR: clips of 1.5 s, moments of up to 16 of them
TVR: JsonDict = {"max_length": 16, "min_length": 2, "max_clips": 100, "nms": 0.5, "clip": 1.5}
# HERO's weights by its own settings: of video-only DiDeMo, which VERIFIED's data are like, and of TVR
HERO: JsonDict = {"weight_videos": 10.0, "weight_queries": 10.0, "hard_pool": 80}
HERO_TVR: JsonDict = {"weight_videos": 8.0, "weight_queries": 8.0, "hard_pool": 20}
# QVHighlights: clips of 2 s, videos of 150 s, SlowFast and CLIP
QVHIGHLIGHTS: JsonDict = {"clip": 2.0, "max_clips": 75, "overlap": 37, "max_words": 32, "ends": True}
SKIP_BAD = "Leave out queries whose moment lies behind the end of its video or features."
SHOWN = ("VCMR(k=1/10)", "SVMR(k=1)", "VR(k=1/10)")  # between epochs
PUBLISHED: dict[str, JsonDict] = {  # what the published programs do, by the names of their protocols
    "tvr": {"labels": "ceil", "end": "inside", "pads": "seen", "rivals": "all", "long": "cut"},
    "reloclnet": {"labels": "ceil", "end": "past", "pads": "seen", "rivals": "all", "long": "mean"},
    "hero": {"labels": "hero", "end": "inside", "pads": "seen", "rivals": "all", "long": "cut"},
    "qvhighlights": {
        "compat_mixed_masks": True, "compat_duration": True, "rounding": "published", "rivals": "all",
        "most_windows": 5,
    },
}  # fmt: skip


def corpus_preset(about: str, sizes: JsonDict, hero: JsonDict) -> base.Preset:
    """Lengths of a data set, and the rules of each model's published program."""
    positions = max(100, sizes["max_clips"])  # HERO's published table has 100 rows
    rules = {
        "xml": PUBLISHED["tvr"],
        "reloclnet": PUBLISHED["reloclnet"],
        "hero": {**PUBLISHED["hero"], **hero, "frame_positions": positions},
    }
    return base.Preset(about=about, model=SEARCH, config=sizes, by_model=rules)


@dataclass(frozen=True, kw_only=True)
class TrainOptions(shared.TrainOptions):
    """Options of training."""

    data: Path = option(MUST, "Queries: a file, or a folder of splits.")
    features: tuple[str, ...] = option(MUST, "Stores of video features, side by side.", parts=True, metavar="A,B")
    words: Path | None = option(None, "Store of word features by query id. Default: words are hashed.")
    tokenizer: Path | None = option(None, "HERO: folder of RoBERTa's vocab.json and merges.txt. Default: words.")
    val: Path | None = option(None, "Validation queries. Default: the split in --data.")  # or no validation
    train: Granularity = option("fig", "VERIFIED: train on fine or coarse captions.", shows_default=True)
    test: Granularity = option("fig", "VERIFIED: validate on fine or coarse captions.", shows_default=True)
    rate: float | None = option(None, "Features per second. Default: the store's, or one a clip.")
    skip_missing: bool = option(False, "Leave out queries whose video has no features.")
    skip_bad: bool = option(False, SKIP_BAD)
    format: str | None = option(
        None, "Format of the queries (fabula list formats). Default: detected from the content."
    )


@dataclass(frozen=True, kw_only=True)
class Shape(shared.Changes):
    """The settings of retrievers that have flags."""

    protocol: Protocol | None = option(None, "Labels, pads, negatives as the published program.")

    def config(self) -> JsonDict:
        return {**PUBLISHED.get(self.protocol or "", {}), **super().config()}

    def flagged(self) -> set[str]:
        return super().flagged() - {"protocol"}


@dataclass(frozen=True, kw_only=True)
class PredictOptions(shared.PredictOptions):
    """Options of prediction."""

    features: tuple[str, ...] = same_as(TrainOptions, "features")
    data: Path = option(MUST, "Queries; a folder of splits.")
    words: Path | None = same_as(TrainOptions, "words")
    tokenizer: Path | None = same_as(TrainOptions, "tokenizer")
    split: str = option("val", "Which split of --data: train, val, test.", shows_default=True)
    granularity: Granularity | None = option(None, "VERIFIED: fine or coarse captions. Default: the run's --test.")
    corpus: Literal["asked", "store"] = option(
        "asked", "Which videos are searched: those that queries are about, or all of the store."
    )
    form: Literal["tvr", "qvhighlights", "lines"] | None = option(
        None, "Format of the predictions. Default: tvr; qvhighlights with --protocol qvhighlights."
    )
    protocol: Protocol | None = option(None, "Decode as the published program.")
    top: int = option(100, "Answers per query.", at_least=1, shows_default=True)
    rate: float | None = same_as(TrainOptions, "rate")
    format: str | None = same_as(TrainOptions, "format")
    other_features: bool = option(False, "Accept features from another extractor than the run's.")
    precision: Literal["32", "bf16"] = option(
        "32", "Precision of the encoders; bf16 where the processor or the GPU computes in it.", shows_default=True
    )
    no_cache: bool = option(False, "Encode the corpus anew, and leave nothing in the cache folder.")
    work: Path | None = option(None, "Predict in parts in this folder, by several workers; --resume continues it.")
    resume: bool = option(False, "Resume the run of --work.")
    part: int = option(1000, "Queries per part, with --work.", at_least=1, shows_default=True)
    processes: int = option(1, "Number of parallel processes, with --work.", at_least=1, shows_default=True)
    engine: Literal["local", "ray"] = option("local", "Where workers run, with --work.", shows_default=True)
    address: str | None = option(
        None, "Address of a running Ray cluster, for --engine ray. Default: start one on this machine."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form is None:
            object.__setattr__(self, "form", "qvhighlights" if self.protocol == "qvhighlights" else "tvr")
        if self.engine != "ray" and self.address is not None:
            raise SpecError("--address names a Ray cluster; add --engine ray")
        if self.engine == "ray" and self.processes > 1:
            raise SpecError("--processes has no effect with --engine ray; leave it out")
        if self.work is None and (self.resume or self.processes > 1 or self.engine == "ray"):
            raise SpecError("--resume, --processes and --engine ray need a folder for the parts; add --work FOLDER")


@dataclass(frozen=True)
class Source:
    """The data of a run."""

    options: TrainOptions
    stores: Sequence[Features]
    words: Features | None
    train: Mapping[Id, Query]
    val: Mapping[Id, Query] | None
    notes: Notes
    tokens: Tokens | None = None


@dataclass(frozen=True)
class MomentPredictions:
    """Predicted moments, which can be written and scored."""

    answers: list[Answer]
    queries: Mapping[Id, Query]
    names: Sequence[str]  # of the videos, by number
    form: Form = "tvr"
    note: str = ""  # of captions that the run was not trained for; TVR's file holds it

    def scores(self) -> dict[str, float]:
        """VCMR, SVMR and VR by the windows of the queries."""
        from fabula.learn.retrieval.answers import score_answers

        return score_answers(self.answers, self.queries, self.names)


class Task(base.Task):
    name: ClassVar[str] = "vcmr"
    about: ClassVar[str] = "Moments found by a sentence in a corpus of videos (Lei et al., ECCV 2020)."
    usage: ClassVar[tuple[str, ...]] = (
        "fabula train vcmr --data charades_fig/ --features resnet152.h5 --words roberta.h5 --out runs/xml",
        "fabula train vcmr --model reloclnet --data … --features … --train cog --test fig --out runs/cog",
        "fabula predict vcmr runs/xml --features resnet152.h5 --words roberta.h5 --data charades_fig/ -o found.json",
        "fabula score found.json --refs charades_fig/charades_fig_test.jsonl --protocol tvr",
    )
    models: ClassVar[tuple[str, ...]] = (*SEARCH, "qd_detr")
    Train: ClassVar[type[shared.TrainOptions]] = TrainOptions
    Shape: ClassVar[type[shared.Changes]] = Shape
    Predict: ClassVar[type[shared.PredictOptions]] = PredictOptions
    derived: ClassVar[tuple[str, ...]] = ("feature_dim", "vocabulary")
    presets: ClassVar[Mapping[str, base.Preset]] = {
        **{name: corpus_preset(f"VERIFIED on {name}", sizes, HERO) for name, sizes in LENGTHS.items()},
        "tvr": corpus_preset("TVR, clips of 1.5 s", TVR, HERO_TVR),
        "qvhighlights": base.Preset(about="QD-DETR on QVHighlights", model="qd_detr", config=QVHIGHLIGHTS),
    }

    # -- training -----------------------------------------------------------------------------------------------------

    def read(self, options: TrainOptions, notes: Notes) -> Source:
        stores = open_stores(options.features, notes)
        words = None if options.words is None else open_stores((str(options.words),), notes)[0]
        train = read_split(options.data, "train", options.train, options.format, notes)
        train = only_inside(train, options.data, options.skip_bad, notes)
        val = read_validation(options, notes)
        if options.skip_missing:
            train = only_with(train, stores, notes)
            val = None if val is None else only_with(val, stores, notes)
        return Source(options, stores, words, train, val, notes, open_tokens(options.tokenizer))

    def config(self, config: Any, source: Source, start: base.Start | None) -> Any:
        if getattr(config, "scope", None) not in ("corpus", "video"):
            raise SpecError(f"this model finds no moments; there are: {', '.join(self.models)}")
        config = replace(config, feature_dim=sum(store.dim for store in source.stores))
        if source.tokens is not None:
            if not hasattr(config, "vocabulary"):
                raise SpecError("--tokenizer is for a model that reads ids of tokens: hero")
            return replace(config, vocabulary=(), vocab_size=max(config.vocab_size, source.tokens.size))
        if hasattr(config, "vocabulary"):
            known_words = getattr(start.config, "vocabulary", ()) if start is not None and start.whole else ()
            return replace(config, vocabulary=known_words or words_of(source.train))
        if source.words is not None:
            return replace(config, words="store", query_dim=source.words.dim)
        return replace(config, words="hashing")

    def training_data(self, source: Source, config: Any) -> Moments | Highlights:
        from fabula.learn.retrieval.data import Moments

        clips, words = readers_of(source, config)
        words.check(source.train.values(), source.notes)
        slack = 0 if is_single(config) else 2 * config.clip  # the others read a late moment off the last clip
        train = only_shown(source.train, clips, source.options.skip_bad, source.notes, slack)
        if is_single(config):
            from fabula.learn.retrieval.highlights import Highlights

            return Highlights(train.values(), clips, words, notes=source.notes)
        return Moments(list(train.values()), clips, words)

    def validation_data(self, source: Source, config: Any) -> CorpusQueries | Highlights | None:
        return None if source.val is None else make_query_data(source.val, *readers_of(source, config))

    def answer(
        self,
        model: nn.Module,
        data: CorpusQueries | Highlights,
        share: Share,
        batch_size: int = 64,
        watch: Progress = silent,
    ) -> list[Answer]:
        from fabula.learn.retrieval.queries import CorpusQueries, answer_queries

        if isinstance(data, CorpusQueries):
            return answer_queries(model, data, share.of(len(data)), max(batch_size, 32), watch)  # type: ignore[arg-type]
        return answer_single(model, data, share, batch_size, watch)

    def score(self, answers: list[Answer], source: Source, config: Any) -> Scores:
        from fabula.learn.retrieval.answers import score_answers

        assert source.val is not None
        names = list(dict.fromkeys(q.video for q in source.val.values()))
        return score_answers(answers, source.val, names, SHOWN)

    def best_by(self, config: Any) -> tuple[str, ...]:
        name = "SVMR" if is_single(config) else "VCMR"
        return (f"{name}_r1@0.5+{name}_r1@0.7",)

    def metadata(self, source: Source) -> dict[str, object]:
        return {
            "data": str(source.options.data),
            "features": [store.path.name for store in source.stores],
            "train": source.options.train,
            "test": source.options.test,
            "simulated": any(bool(store.metadata.get("simulated")) for store in source.stores),
            "recipe": recipe_of(source.stores),
            "tokenizer": None if source.tokens is None else source.tokens.mark,
        }

    # -- predicting ---------------------------------------------------------------------------------------------------

    def prediction_data(
        self, model: nn.Module, metadata: JsonObject, options: PredictOptions, notes: Notes, watch: Progress
    ) -> CorpusQueries | Highlights:
        from fabula.media.stores.features import must_match

        stores, words = self.open_all(options, notes)
        self.clips_of(model, options, stores)  # refuses features of another width
        if "recipe" in metadata:  # runs of earlier versions do not say
            here = stores[0] if len(stores) == 1 and hasattr(stores[0], "recipe") else recipe_of(stores)
            must_match(metadata["recipe"], here, allowed=options.other_features, warn=notes.add)
        chosen = must_agree(options.granularity, "--granularity", options.format)
        granularity, note = granularity_of(metadata, "test", chosen, "--granularity", notes)
        queries = read_split(options.data, options.split, granularity, options.format, notes)
        data = self.prepare_queries(model, metadata, stores, words, options, queries, notes)
        data.note = note
        return data

    def open_all(self, options: PredictOptions, notes: Notes) -> tuple[Sequence[Features], Features | None]:
        """The stores of clips, and that of words."""
        stores = open_stores(options.features, notes)
        return stores, None if options.words is None else open_stores((str(options.words),), notes)[0]

    def clips_of(self, model: Any, options: PredictOptions, stores: Sequence[Features]) -> tuple[Clips, int | None]:
        """The clips of a corpus, and how many each row is padded to; None: no more than its batch needs."""
        from fabula.learn.retrieval.data import Clips

        pad_to = model.config.max_clips if options.protocol == "reloclnet" else None
        return Clips(stores, model.config, options.rate, keep=False), pad_to

    def prepare_queries(
        self, model: Any, metadata: JsonObject, stores: Sequence[Features], words: Features | None,
        options: PredictOptions, queries: Mapping[Id, Query], notes: Notes,
    ) -> CorpusQueries | Highlights:  # fmt: skip
        """The data set of these queries for this model."""
        from fabula.learn.loop.processes import reduce_precision
        from fabula.learn.retrieval.data import Words
        from fabula.learn.retrieval.decode import PUBLISHED as DECODED
        from fabula.learn.retrieval.decode import Decoding
        from fabula.learn.retrieval.queries import CorpusQueries

        if is_single(model.config) and options.protocol is not None:
            if options.protocol != "qvhighlights":
                raise SpecError(f"--protocol {options.protocol} is of programs that search a corpus, not {model.name}")
            model.config = replace(model.config, rounding="published", compat_duration=True)
        config: Any = model.config
        clips, pad_to = self.clips_of(model, options, stores)
        tokens = open_tokens(options.tokenizer)
        if tokens is not None and metadata.get("tokenizer") not in (None, tokens.mark):
            raise InputError(
                "other tokens than the run's",
                file=options.tokenizer,
                hint="name the files that the run was trained with",
            )
        reader, form = Words(config, words, notes, tokens), options.form or "tvr"
        if is_single(config):
            from fabula.learn.retrieval.highlights import Highlights

            if options.precision != "32":
                raise SpecError(f"--precision {options.precision} is for models that search a corpus, not {model.name}")
            return Highlights(queries.values(), clips, reader, learn=False, form=form)
        reduce_precision(options.precision, next(model.parameters()).device)  # an error before any work
        changes = DECODED[options.protocol] if options.protocol else {}
        decoding = Decoding.of(config, **{"after_nms": options.top, **changes})
        named = (q.video for q in queries.values())
        names = list(dict.fromkeys([*named, *clips])) if options.corpus == "store" else None
        data = CorpusQueries(queries, clips, reader, decoding, names, pad_to, form)
        data.cache, data.precision = None if options.no_cache else notes, options.precision
        return data

    def predict_in_parts(
        self, path: Path, data: CorpusQueries | Highlights, options: PredictOptions, notes: Notes, watch: Progress
    ) -> PartedPredictions | None:
        """Predict in parts, if the options name a folder for them."""
        if options.work is None:
            return None
        from fabula.learn.retrieval.data import durations_of
        from fabula.learn.retrieval.parts import predict_in_parts

        seconds = durations_of({q.id: q for q in data.queries}, data.clips)
        return predict_in_parts(Task(), path, options, data, seconds, notes, watch)

    def answer_own(self, model: nn.Module, data: Highlights, names: Sequence[str], batch_size: int) -> list[Answer]:
        """Windows of each query's own video."""
        return answer_single(model, data, Share(), batch_size, silent, names)

    def postprocess(self, answers: list[Answer], data: CorpusQueries | Highlights) -> MomentPredictions:
        queries = {q.id: q for q in data.queries}
        return MomentPredictions(answers, queries, data.names, data.form, data.note)

    def write(self, result: MomentPredictions | PartedPredictions, path: Path) -> None:
        if not isinstance(result, MomentPredictions):
            result.write(path)
            return
        from fabula.learn.retrieval.answers import write_answers

        write_answers(path, result.form, result.answers, result.queries, result.names, result.note)

    def count(self, result: MomentPredictions | PartedPredictions) -> str:
        queries = len(result.answers) if isinstance(result, MomentPredictions) else result.queries
        return f"{queries:,} queries, {len(result.names):,} videos"


def must_agree(chosen: Granularity | None, flag: str, format: str | None) -> Granularity | None:
    """The captions that the user names, by the flag or by a format that reads the coarse ones."""
    from fabula.io.moments import formats

    if format is None or not any(f.coarse == format for f in formats()):
        return chosen
    if chosen == "fig":
        raise SpecError(f"--format {format} reads coarse captions, {flag} fig asks for fine ones; leave one out")
    return "cog"


def granularity_of(
    about: JsonObject, name: str, chosen: Granularity | None, flag: str, notes: Notes
) -> tuple[Granularity, str]:
    """Which captions of VERIFIED are read: those that the run was trained for. Others get a note, which is returned."""
    run = about.get(name)
    known: Granularity | None = run if run in ("fig", "cog") else None  # runs of other programs do not say
    note = ""
    if chosen is not None and known is not None and chosen != known:
        note = f"{flag} {chosen}: the run was trained for {known} captions"
        notes.add(note)
    return chosen or known or "fig", note


def is_single(config: Any) -> bool:
    """Whether the model searches only the query's own video."""
    return bool(config.scope == "video")


def open_stores(paths: Sequence[str], notes: Notes) -> list[Features]:
    """Stores side by side; a folder of .npz is one, as QVHighlights publishes them."""
    from fabula.learn.retrieval.npz import open_store

    stores: list[Any] = [open_store(path) for path in paths]
    for store in stores:
        if store.metadata.get("simulated"):
            notes.add(f"{store.path.name} holds simulated features: scores say nothing about real videos")
    return stores


def recipe_of(stores: Sequence[Features]) -> JsonDict | None:
    """The recipe of the features, if the stores have one; of several stores one by one."""
    recipes = [getattr(store, "recipe", None) for store in stores]
    if len(recipes) == 1 or not any(recipes):
        return recipes[0]
    return {f"store {i + 1}": recipe for i, recipe in enumerate(recipes)}


def readers_of(source: Source, config: Any) -> tuple[Clips, Words]:
    """Clips and words for training."""
    from fabula.learn.retrieval.data import Clips, Words

    clips = Clips(source.stores, config, source.options.rate)
    return clips, Words(config, source.words, Notes(), source.tokens)


def open_tokens(folder: Path | None) -> Tokens | None:
    """RoBERTa's, where a folder is named."""
    if folder is None:
        return None
    from fabula.learn.retrieval.bpe import Tokens

    return Tokens(folder)


def make_query_data(queries: Mapping[Id, Query], clips: Clips, words: Words) -> CorpusQueries | Highlights:
    """The data set of queries: all over all their videos, or each in its own video."""
    from fabula.learn.retrieval.queries import CorpusQueries

    if is_single(clips.config):
        from fabula.learn.retrieval.highlights import Highlights

        return Highlights(queries.values(), clips, words, learn=False)
    return CorpusQueries(queries, clips, words)


def answer_single(
    model: nn.Module,
    data: Highlights,
    share: Share,
    batch_size: int,
    watch: Progress,
    names: Sequence[str] | None = None,
) -> list[Answer]:
    """Windows of each query's own video, by QD-DETR; numbers of videos are those of all queries."""
    from fabula.learn.retrieval.answers import Answer, place_ranking
    from fabula.learn.retrieval.highlights import Highlights, find_highlights

    number = {name: i for i, name in enumerate(names or data.names)}
    mine = [data.queries[i] for i in share.of(len(data))]
    part = Highlights(mine, data.clips, data.words, learn=False)
    rankings = find_highlights(model, part, batch_size, lambda done: watch("predicting", done, len(part)))  # type: ignore[arg-type]
    return [Answer(q.id, svmr=place_ranking(r, number[q.video])) for q, r in zip(mine, rankings, strict=True)]


def read_split(path: Path, split: str, granularity: Granularity, format: str | None, notes: Notes) -> dict[Id, Query]:
    """The queries of a split: of a folder with a file per split, or of a file."""
    from fabula.learn.retrieval.data import read_moments
    from fabula.learn.splits import pick_split

    if path.is_dir():
        path = pick_split(path, split, (f for f in path.iterdir() if f.suffix in (".jsonl", ".json", ".txt")))
    return read_moments(path, notes, granularity, format)


def read_validation(options: TrainOptions, notes: Notes) -> dict[Id, Query] | None:
    """The validation queries: named, or of the folder, or none; of Charades and its kind, which have no val, none."""
    if options.val is not None:
        return read_split(options.val, "val", options.test, options.format, notes)
    if not options.data.is_dir():
        return None
    try:
        return read_split(options.data, "val", options.test, options.format, notes)
    except InputError:
        return None


def only_with(queries: Mapping[Id, Query], stores: Sequence[Features], notes: Notes) -> dict[Id, Query]:
    covered = {}
    for id, query in queries.items():
        if all(query.video in store for store in stores):
            covered[id] = query
        else:
            notes.add("{n} queries are left out, as --skip-missing says: their videos have no features", name_id(id))
    if not covered:
        raise SpecError(f"none of the {len(queries)} queries is about a video with features")
    return covered


def only_inside(queries: Mapping[Id, Query], file: Path, skip_bad: bool, notes: Notes) -> dict[Id, Query]:
    """The queries that have a moment inside their video; others are refused, all at once, or left out."""
    from fabula.learn.splits import leave_out

    bad = {
        id: f"a window begins at {query.windows[0][0]:g} s, the video ends at {query.duration:g} s"
        for id, query in queries.items()
        if query.duration is not None and query.windows and all(start >= query.duration for start, _ in query.windows)
    }
    return leave_out(queries, bad, "query", "queries", file, skip_bad, notes)


def only_shown(
    queries: Mapping[Id, Query], clips: Clips, skip_bad: bool | None, notes: Notes, slack: float = 0
) -> dict[Id, Query]:
    """The queries that have a moment before their features end, `slack` seconds later at most; others as above."""
    from fabula.learn.splits import leave_out

    clips.check([query for query in queries.values() if query.video in clips], Notes())  # noted by the data set
    bad = {}
    for id, query in queries.items():
        if query.video in clips and query.windows:
            end = clips.seconds(query.video)
            if end and all(start >= end + slack for start, _ in query.windows):
                bad[id] = f"its moment begins at {query.windows[0][0]:g} s, after its features end, at {end:g} s"
    return leave_out(queries, bad, "query", "queries", clips.stores[0].path, skip_bad, notes)


def words_of(queries: Mapping[Id, Query]) -> tuple[str, ...]:
    """The words of the training queries by frequency; 0 begins, 1 pads, the last is any other."""
    from collections import Counter

    from fabula.learn.retrieval.data import split_words

    counts = Counter(word for id, query in queries.items() for word in split_words(query.text, id))
    return ("<s>", "<pad>", *(word for word, _ in sorted(counts.items(), key=lambda c: (-c[1], c[0]))), "<unk>")
