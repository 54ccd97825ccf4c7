"""Procedure segmentation and summarisation (PSS; Batra et al., BMVC 2022), and dense captions as PDVC tells them.

Units are videos, answers are stories, and predictions are a corpus that `fabula.score` reads. Segments are validated by
SODA-D; where a captioner is trained, captions are too, and the best checkpoint is that of METEOR + SODA_c, as PDVC
(Wang et al., ICCV 2021) chooses its own: METEOR of the pairs that overlap by .3, .5, .7, .9, and SODA_c's F.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, Progress, silent
from fabula.core.options import MUST, option, same_as
from fabula.data.stories import Corpus, Story
from fabula.documents.fields import JsonObject
from fabula.learn import options as shared
from fabula.learn.options import Scores, Share
from fabula.learn.tasks import base

if TYPE_CHECKING:
    from torch import nn

    from fabula.learn.data import Steps
    from fabula.media.stores.features import Features

SEGMENTS = ("SODA_d", "mIoU")
CAPTIONS = ("METEOR", "SODA_c")  # of PDVC's evaluator
ORDERED_LOSS = {  # as github.com/anilbatra2185/pss_soda_matching computes it; the cost is PDVC's class + GIoU
    "matcher": "soft",
    "soft_class": True,
    "compat_independent_sort": True,
    "cost": "class+giou",
}


@dataclass(frozen=True, kw_only=True)
class TrainOptions(shared.TrainOptions):
    """Options of training."""

    data: Path = option(MUST, "Annotations: a file, or a folder of splits.")
    features: Path = option(MUST, ".npy folder, .h5 or .safetensors; several stores, joined, as a,b.")
    val: Path | None = option(None, "Validation annotations. Default: the split in --data.")  # or no validation
    min_count: int | None = option(None, "Minimum count of a word in the vocabulary. Default: 1.", at_least=1)
    words_from: Literal["train", "train+val"] | None = option(None, "Where words are counted. Default: train.")
    max_events: int | None = option(
        None, "Train on at most this many random steps per video (10 in PDVC's code). Default: all.", at_least=1
    )  # data.py
    skip_missing: bool = option(False, "Leave out videos that have no features.")
    skip_bad: bool = option(False, "Leave out videos without a duration or steps, or with a step behind their end.")
    format: str | None = option(
        None, "Format of the annotations (fabula list formats). Default: detected from the content."
    )


@dataclass(frozen=True, kw_only=True)
class Shape(shared.Changes):
    """The settings of PDVC that have flags."""

    matcher: str | None = option(None, "PDVC: how queries are matched to steps: hungarian, ordered, soft, marginal.")
    captioner: Literal["standard", "light", "none"] | None = option(None, "PDVC: which captioner.")


@dataclass(frozen=True, kw_only=True)
class PredictOptions(shared.PredictOptions):
    """Options of prediction."""

    videos: tuple[Path, ...] = option((), "Raw videos; features are extracted like the run's.", argument=True)
    features: Path | None = option(
        None, "Features of the videos, in place of raw videos: .npy folder, .h5, .safetensors."
    )
    data: Path | None = option(None, "Videos and durations: annotations, or a folder of splits.")
    split: str = option("val", "Which split of --data: train, val, test.", shows_default=True)
    rate: float | None = option(None, "Features per second, where neither --data nor the store knows durations.")
    format: str | None = option(None, "Format of --data (fabula list formats). Default: detected from the content.")
    skip_bad: bool = same_as(TrainOptions, "skip_bad")
    weights: Path | None = option(None, "Weights of the extractor, if it has none of its own.")
    other_features: bool = option(False, "Accept features from another extractor than the run's.")
    page: Path | None = option(
        None, "Also write an HTML page with each video and the timeline of its steps.", writes=True
    )

    def __post_init__(self) -> None:
        videos = [self.videos] if isinstance(self.videos, str | Path) else self.videos
        object.__setattr__(self, "videos", tuple(Path(video) for video in videos))
        super().__post_init__()


@dataclass(frozen=True)
class Source:
    """The data of a run."""

    options: TrainOptions
    features: Features
    train: Corpus
    val: Corpus | None


class Task(base.Task):
    name: ClassVar[str] = "pss"
    about: ClassVar[str] = "Procedure segmentation and summarisation (Batra et al., BMVC 2022); dense captions."
    usage: ClassVar[tuple[str, ...]] = (
        "fabula train pss --data yc2/ --features s3d/ --matcher soft --out runs/soft",
        "fabula train pss --data yc2/ --features s3d/ --matcher soft --out runs/soft --resume",
        "torchrun --nproc-per-node 2 -m fabula train pss --data … --features … --out …",
        "fabula predict pss runs/soft --features s3d/ --data yc2/ --split test -o submission.json",
        "fabula predict pss runs/soft film.mp4 -o steps.json --page film.html",
        "fabula score submission.json --refs yc2/yc2_my_test.json --protocol pss-2022",
    )
    models: ClassVar[tuple[str, ...]] = ("pdvc", "procnets")
    Train: ClassVar[type[shared.TrainOptions]] = TrainOptions
    Shape: ClassVar[type[shared.Changes]] = Shape
    Predict: ClassVar[type[shared.PredictOptions]] = PredictOptions
    derived: ClassVar[tuple[str, ...]] = ("feature_dim", "vocabulary")
    presets: ClassVar[Mapping[str, base.Preset]] = {
        "youcook2": base.Preset(
            about="PDVC on YouCook2, as published",
            model="pdvc",
            config={"frames": 200, "queries": 100, "max_count": 20, "ec_alpha": 1.0},
            options={"min_count": 2, "words_from": "train+val"},
        ),
        "activitynet": base.Preset(
            about="PDVC on ActivityNet Captions, as published (with captioner=light its ec_alpha was 0.3)",
            model="pdvc",
            config={"frames": 100, "queries": 10, "max_count": 10, "ec_alpha": 1.0},
            options={"min_count": 4, "words_from": "train+val", "max_events": 30},
        ),
        "tasty": base.Preset(
            about="PDVC on Tasty, as PSS trained it",
            model="pdvc",
            config={"frames": 150, "queries": 100, "max_count": 20, "ec_alpha": 1.0},
        ),
        "pss-youcook2": base.Preset(
            about="PSS's own model on YouCook2: PDVC with the ordered soft loss of the authors' code",
            model="pdvc",
            config={"frames": 200, "queries": 100, "max_count": 20, "ec_alpha": 1.0, **ORDERED_LOSS},
            options={"min_count": 2, "words_from": "train+val"},
        ),
        "pss-tasty": base.Preset(
            about="PSS's own model on Tasty: PDVC with the ordered soft loss of the authors' code",
            model="pdvc",
            config={"frames": 150, "queries": 100, "max_count": 20, "ec_alpha": 1.0, **ORDERED_LOSS},
        ),
    }

    # -- training -----------------------------------------------------------------------------------------------------

    def read(self, options: TrainOptions, notes: Notes) -> Source:
        from fabula.learn.splits import compare_durations, only_sound, only_with, read_split
        from fabula.media.stores.features import Features

        features = Features(options.features)
        train, read_notes = read_split(options.data, "train", options.format)
        notes.extend(read_notes)
        train = only_sound(train, True, options.skip_bad, notes)
        val = read_validation(options, notes)
        val = only_sound(val, False, options.skip_bad, notes) if val else None
        if options.skip_missing:
            train = only_with(train, features, notes)
            val = only_with(val, features, notes) if val else None
        compare_durations(train, features, notes)
        warn_simulated(features, notes)
        return Source(options, features, train, val)

    def config(self, config: Any, source: Source, start: base.Start | None) -> Any:
        config = replace(config, feature_dim=source.features.dim)
        if not has_captions(config):
            return config
        known_words = getattr(start.config, "vocabulary", ()) if start is not None and start.whole else ()
        return replace(config, vocabulary=known_words or words_of(source))

    def training_data(self, source: Source, config: Any) -> Steps:
        from fabula.learn.data import Steps
        from fabula.learn.words import Vocabulary

        vocabulary = Vocabulary(config.vocabulary) if has_captions(config) else None
        words = getattr(config, "max_words", 2)
        return Steps(source.train, source.features, config.frames, vocabulary, words, source.options.max_events)

    def validation_data(self, source: Source, config: Any) -> Steps | None:
        from fabula.learn.data import Steps

        if source.val is None:
            return None
        return Steps(source.val, source.features, config.frames, targets=needs_steps(config))

    def answer(
        self, model: nn.Module, data: Steps, share: Share, batch_size: int = 8, watch: Progress = silent
    ) -> list[Story]:
        """Videos that keep their length one by one: PDVC's norms see padding, so that batches would change answers."""
        return super().answer(model, data, share, 1 if data.frames is None else batch_size, watch)

    def score(self, answers: list[Story], source: Source, config: Any) -> Scores:
        assert source.val is not None
        return score_predictions(as_corpus(answers), source.val, has_captions(config))

    def best_by(self, config: Any) -> tuple[str, ...]:
        return ("METEOR+SODA_c", "SODA_d") if has_captions(config) else ("SODA_d",)

    def metadata(self, source: Source) -> dict[str, object]:
        return {
            "data": str(source.options.data),
            "features": source.features.path.name,
            "simulated": bool(source.features.metadata.get("simulated")),
            "recipe": source.features.recipe,
        }

    # -- predicting ---------------------------------------------------------------------------------------------------

    def prediction_data(
        self, model: nn.Module, metadata: JsonObject, options: PredictOptions, notes: Notes, watch: Progress
    ) -> Steps:
        """Raw videos; or every video of `data`, or else of the store; durations from `data`, the store, or `rate`."""
        from fabula.learn.data import Steps
        from fabula.learn.splits import compare_durations, durations_as_corpus, only_sound, read_split
        from fabula.media.stores.features import Features, must_match

        config: Any = model.config
        recipe = metadata.get("recipe")
        if bool(options.videos) == (options.features is not None):
            raise SpecError("name raw videos, or --features: one of the two")
        if needs_steps(config) and (options.features is None or options.data is None):
            raise SpecError("the run captions true segments (proposals=gt): name --features, and --data that has them")
        if options.videos:
            return self.video_data(config, recipe, options, watch)
        assert options.features is not None
        store = Features(options.features)
        if store.dim != config.feature_dim:
            raise InputError(
                f"features of {store.dim} channels; the checkpoint takes {config.feature_dim}",
                file=options.features,
                hint="use the features the model was trained on",
            )
        must_match(recipe, store, allowed=options.other_features, warn=notes.add)
        warn_simulated(store, notes)
        if options.data is not None:
            if options.rate is not None:
                raise SpecError("--rate has no effect with --data, which says how long the videos are; leave one out")
            corpus, read_notes = read_split(options.data, options.split, options.format)
            notes.extend(read_notes)
            corpus = only_sound(corpus, needs_steps(config), options.skip_bad, notes)
            compare_durations(corpus, store, notes)
        elif options.rate is not None:
            if options.rate <= 0:
                raise SpecError(f"a rate of {options.rate} features per second; it must be positive")
            corpus = durations_as_corpus({v: len(store[v]) / options.rate for v in store}, store)
        else:
            corpus = durations_as_corpus(dict(store.metadata.get("durations", {})), store)
        return Steps(corpus, store, config.frames, targets=needs_steps(config))

    def video_data(self, config: Any, recipe: JsonObject | None, options: PredictOptions, watch: Progress) -> Steps:
        """Raw videos, with features made like those that the model was trained on."""
        from fabula.learn.data import Steps
        from fabula.learn.raw import RawVideos

        for name in ("data", "rate", "format"):
            if getattr(options, name) is not None:
                raise SpecError(f"--{name} has no effect for raw videos: their duration is known")
        raw = RawVideos(options.videos, recipe, options.weights, watch)
        return Steps(raw.corpus, raw, config.frames, targets=False)

    def postprocess(self, answers: list[Story], data: Steps) -> Corpus:
        return as_corpus(answers)

    def captions(self, result: Corpus, data: Steps) -> Iterable[str | None]:
        return (event.caption for story in result.values() for event in story.events)

    def write(self, result: Corpus, path: Path) -> None:
        """A submission whose events carry `proposal_score`: the confidence that ranks them."""
        from fabula import io

        io.write(as_corpus([replace(story, duration=None) for story in result.values()]), path, "pdvc")

    def count(self, result: Corpus) -> str:
        return f"{len(result):,} videos, {result.events:,} segments"

    def write_page(self, result: Corpus, options: PredictOptions) -> None:
        if options.page is None:
            return
        from fabula.documents.files import write_text
        from fabula.report.watch import watch_page

        videos = {path.stem: path for path in options.videos}
        page = watch_page(result, "Steps, predicted", videos=videos, folder=options.page.parent)
        write_text(options.page, [page])


def has_captions(config: Any) -> bool:
    return getattr(config, "captioner", "none") != "none"


def needs_steps(config: Any) -> bool:
    """Whether the true steps are what is captioned."""
    return getattr(config, "proposals", "learned") == "gt"


def warn_simulated(features: Features, notes: Notes) -> None:
    if features.metadata.get("simulated"):
        notes.add(f"{features.path.name} holds simulated features: scores say nothing about real videos")


def words_of(source: Source) -> tuple[str, ...]:
    """The vocabulary of the captions."""
    from fabula.learn.words import Vocabulary

    corpora = [source.train]
    if source.options.words_from == "train+val" and source.val is not None:
        corpora.append(source.val)
    captions = (c for corpus in corpora for story in corpus.values() for c in story.captions)
    return Vocabulary.build(captions, source.options.min_count or 1).words


def read_validation(options: TrainOptions, notes: Notes) -> Corpus | None:
    """The validation split: named, or part of the data, or none."""
    from fabula.learn.splits import read_split

    if options.val is not None:
        corpus, read_notes = read_split(options.val, "val", options.format)
    else:
        try:
            corpus, read_notes = read_split(options.data, "val", options.format)
        except (InputError, SpecError):
            return None
        if corpus.name == str(options.data) and ":" not in corpus.format:
            return None  # one plain file is all training
    notes.extend(read_notes)
    return corpus


def as_corpus(stories: list[Story]) -> Corpus:
    return Corpus({story.id: story for story in stories}, name="predictions")


def score_predictions(predicted: Corpus, refs: Corpus, captions: bool = False) -> dict[str, float]:
    """SODA-D (F1, precision, recall) and mIoU, by `fabula.score`; METEOR and SODA_c as PDVC's evaluator has them."""
    from fabula.benchmarks import protocol
    from fabula.evaluate.options import ScoreOptions
    from fabula.evaluate.request import score

    words = [m for m in protocol("pdvc-2021").metrics if m.name in ("DVC_METEOR", "SODA_c")] if captions else []
    options = ScoreOptions(task="dense" if captions else "procedure", metrics=[*SEGMENTS, *words])
    result = score(predicted, refs, options)
    d = result["SODA_d"].values
    scores = {"SODA_d": d["f1"], "precision": d["precision"], "recall": d["recall"], "mIoU": result["mIoU"].value}
    return scores | {name: result[name].value for name in CAPTIONS if captions}
