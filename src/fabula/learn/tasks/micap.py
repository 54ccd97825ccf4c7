"""Identity-aware captions (MICap; Raajesh et al., CVPR 2024): fill in blanks, write captions, name people by ids.

Units are videosets; predictions are captionsets that `fabula score --task identity` reads. Blanks are validated by
FITB's class accuracy, captions by METEOR and CIDEr (with --slow-scores by SPICE and iSPICE, too); each has its best
checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, Progress, silent
from fabula.core.options import MUST, Options, option, same_as
from fabula.documents.fields import JsonObject
from fabula.learn import options as shared
from fabula.learn.identity.presets import PRESETS
from fabula.learn.options import Scores, Share
from fabula.learn.tasks import base

if TYPE_CHECKING:
    from fabula.data.result import Result
    from fabula.evaluate.captionsets import People
    from fabula.evaluate.identity import Gathered
    from fabula.io.identity.captionsets import Sets, SetText
    from fabula.learn.identity.blanks import BlankSets
    from fabula.learn.identity.clips import FilmSets, Streams, Videosets
    from fabula.learn.models import fillin
    from fabula.learn.models.micap import Config, Model
    from fabula.report.analysis import Analysis

    AnyConfig = Config | fillin.Config
    AnySets = Videosets | BlankSets

FITB = ("class", "instance", "same", "different")
EPS = (0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 1.05)  # cosine distances of Fig. 6
QUICK, SLOW = ("METEOR", "CIDEr"), ("iSPICE", "SPICE(tok=none)")


@dataclass(frozen=True, kw_only=True)
class TrainOptions(shared.TrainOptions):
    """Options of training."""

    data: Path = option(
        MUST, "Captionsets that name their clips (.jsonl), captions of clips (.csv), or a folder of splits."
    )
    sets: Path | None = option(
        None, "Captions of clips: the file of sets (valSets.csv). Default: five consecutive clips of a film."
    )
    features: Path | None = option(
        None, "Folder with a store per stream: frame, action, face, box, maybe text. Default: where --data lies."
    )
    val: Path | None = option(None, "Validation captionsets. Default: the split in --data.")
    val_sets: Path | None = option(None, "The file of sets of --val.", needs="val")
    wordpiece: Path | None = option(None, "BERT's vocab.txt. Default: a vocabulary trained on the captions.")
    pieces: int = option(4000, "Size of the vocabulary trained on the captions.", shows_default=True)
    min_count: int = option(2, "Minimum count of a word piece in the vocabulary.", shows_default=True)
    skip_missing: bool = option(False, "Leave out captionsets with clips that have no features.")
    slow_scores: bool = option(False, "Also validate with SPICE and iSPICE.")


@dataclass(frozen=True, kw_only=True)
class Shape(shared.Changes):
    """The settings of MICap that have flags."""

    task: Literal["joint", "fitb", "caption"] | None = option(None, "Both tasks with one set of weights, or one.")
    streams: str | None = option(
        None, "Input streams, of text,action,face,frame; text alone is the paper's text-only row."
    )
    encoder: bool | None = option(None, "--set encoder=false: projected tokens are the memory.", library_only=True)


@dataclass(frozen=True, kw_only=True)
class PredictOptions(shared.PredictOptions):
    """Options of prediction."""

    videos: tuple[Path, ...] = option((), "Raw films; features are extracted like the run's.", argument=True)
    task: Literal["fitb", "caption"] | None = option(
        None, "Fill in the blanks of captions, or write captions (the default for films)."
    )
    data: Path | None = option(
        None, "Captionsets that name their clips (captions for fitb alone), captions of clips, or a folder of splits."
    )
    sets: Path | None = same_as(TrainOptions, "sets")
    split: str = option("val", "Which split of --data: train, val, test.", shows_default=True)
    features: Path | None = same_as(TrainOptions, "features")
    skip_missing: bool = same_as(TrainOptions, "skip_missing")
    people: Literal["model", "same", "different"] = option(
        "model", "People in captions: the model's; always P1; a new one each time (Table 5's baselines)."
    )
    then: Path | None = option(
        None, "Two stages: hide the people of the captions, and fill them in with this run or checkpoint of FITB."
    )
    bert: Path | None = option(
        None, "With --then: the folder of the BERT that made the store text, to describe the new blanks.", needs="then"
    )
    cast: Path | None = option(None, "Films: the people found by fabula people. Default: find them now.")
    longest: float = option(6.0, "Films: split a shot that is longer than this, in seconds.", shows_default=True)
    weights: tuple[str, ...] = option((), "Films: your own weights of an extractor, as frame=FILE.", parts=True)
    page: Path | None = option(
        None, "Films: also write an HTML page with each film, its captions and its people.", writes=True
    )

    def __post_init__(self) -> None:
        videos = [self.videos] if isinstance(self.videos, str | Path) else self.videos
        object.__setattr__(self, "videos", tuple(Path(video) for video in videos))
        super().__post_init__()
        if self.then is not None and (self.task != "caption" or self.videos or self.people != "model"):
            raise SpecError("--then fills in captions that are written now: --task caption --data …, without --people")
        if not self.longest > 0:
            raise SpecError(f"longest is {self.longest}; it is a number of seconds above 0")


@dataclass(frozen=True, kw_only=True)
class AnalyseOptions(shared.PredictOptions):
    """Options of the analysis."""

    data: Path = option(MUST, "Captionsets that name their clips, captions of clips, or a folder of splits.")
    grouping: Path | None = same_as(TrainOptions, "sets")
    split: str = same_as(PredictOptions, "split")
    features: Path | None = same_as(TrainOptions, "features")
    skip_missing: bool = same_as(TrainOptions, "skip_missing")
    sets: tuple[str, ...] = option((), "Videosets of Fig. 5, by id. Default: those with the most blanks.", parts=True)
    films: Path | None = option(
        None, "Folder with a film or picture per clip (CLIP.mp4, CLIP.jpg): frames of sets.html."
    )
    most: int = option(3, "Number of videosets in Fig. 5 and sets.html.", shows_default=True, at_least=0)
    who: Path | None = option(
        None, 'Whom ids mean, to measure grounding: lines of {"id": set, "people": {"P1": 3, "P2": "Anna"}}.'
    )
    truth: Path | None = option(
        None, "Boxes whose sixth column says whose face each is. Default: the box store of --features.", needs="who"
    )
    cast: Path | None = option(None, "People found by fabula people, for names in --who.", needs="who")
    eps: tuple[float, ...] = option((), "Cosine distances of Fig. 6. Default: .15, .3, … 1.05.", parts=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, kind in (("sets", str), ("eps", float)):
            value = getattr(self, name)
            values = [value] if isinstance(value, str | float | int) else value
            try:
                object.__setattr__(self, name, tuple(kind(one) for one in values))
            except (TypeError, ValueError):
                raise SpecError(f"{name} is {value!r}; write numbers with commas") from None
        if not self.eps:
            object.__setattr__(self, "eps", EPS)
        if not all(0 <= e <= 2 for e in self.eps):
            raise SpecError(f"eps is {self.eps}; a cosine distance is between 0 and 2")


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(Options):
    """Options of simulated films. A number replaces the value of the difficulty."""

    difficulty: Literal["default", "easy", "hard", "faces"] = option(
        "default", "How hard people are to identify; faces: only faces in other clips identify them."
    )
    seed: int = option(0, "Random seed.", shows_default=True)
    train_films: int | None = option(None, "Films to train on. Default: 60.", at_least=1)
    val_films: int | None = option(None, "Films to validate on. Default: 10.", at_least=1)
    test_films: int | None = option(None, "Films to test on. Default: 20.", at_least=1)
    clips: int | None = option(None, "Clips per film. Default: 40.", at_least=1)
    set_clips: int | None = option(None, "Clips per captionset. Default: 5.", at_least=1)
    cast: int | None = option(None, "People per film. Default: 4.", at_least=2)
    stay: float | None = option(None, "Probability that the same person acts again. Default: .4.")
    told: float | None = option(None, "Probability that a caption hints at who acts. Default: .2.")
    absent: float | None = option(None, "Probability that a named person has no face. Default: .15.")
    bystanders: float | None = option(None, "Probability of the face of another person. Default: .2.")
    pose: float | None = option(None, "Distance of a clip's face from the person's own. Default: .7.")
    noise: float | None = option(None, "Noise of frame and action features. Default: .7.")


@dataclass(frozen=True)
class Source:
    """The data of a run."""

    options: TrainOptions
    streams: Streams
    train: Sets
    val: Sets | None


@dataclass(frozen=True)
class SetAnswer:
    """The answer for one videoset; None for a task that was not run."""

    name: str
    filled: tuple[str, ...] | None = None  # an id a blank
    captions: tuple[str, ...] | None = None  # one a clip
    faces: Mapping[int, Mapping[int, float]] | None = None  # of a film: number of a P → person of the cast → attention


class Task(base.Task):
    name: ClassVar[str] = "micap"
    about: ClassVar[str] = "Identity-aware captions of film clips: who did what (Raajesh et al., CVPR 2024)."
    usage: ClassVar[tuple[str, ...]] = (
        "fabula simulate micap -o world/ && fabula train micap --data world/ --tiny --out runs/simulated",
        "fabula train micap --data sets/ --features streams/ --out runs/joint",
        "fabula train micap --data sets/ --features streams/ --preset text-only --out runs/text-only",
        "fabula train micap --data sets/ --features streams/ --model fillin --out runs/fillin",
        "fabula train micap --data sets/ --features streams/ --from joint.pth --wordpiece vocab.txt --out runs/tuned",
        "fabula predict micap runs/joint --task fitb --data sets/ --split test --features streams/ -o filled.jsonl",
        "fabula predict micap runs/joint --task caption --data sets/ --split test --features streams/ -o out.jsonl",
        "fabula score out.jsonl --refs sets/test.jsonl --task identity",
        "fabula predict micap runs/joint --task caption --data sets/ --split test --then runs/fillin -o out.jsonl",
        "fabula predict micap runs/joint film.mp4 --page film.html",
        "fabula analyse micap runs/joint --data sets/ --features streams/ -o figures/",
    )
    models: ClassVar[tuple[str, ...]] = ("micap", "fillin", "lm")
    presets: ClassVar[Mapping[str, base.Preset]] = PRESETS
    Train: ClassVar[type[shared.TrainOptions]] = TrainOptions
    Shape: ClassVar[type[shared.Changes]] = Shape
    Predict: ClassVar[type[shared.PredictOptions]] = PredictOptions
    Analyse: ClassVar[type[shared.PredictOptions] | None] = AnalyseOptions
    Simulate: ClassVar[type[Options] | None] = SimulateOptions
    derived: ClassVar[tuple[str, ...]] = (
        "text_dim", "action_dim", "face_dim", "frame_dim", "vocabulary", "words", "sep", "architecture", "tokenizer",
    )  # fmt: skip

    # -- training -----------------------------------------------------------------------------------------------------

    def read(self, options: TrainOptions, notes: Notes) -> Source:
        from fabula.learn.identity.clips import Streams, only_complete, read_sets_of
        from fabula.learn.identity.split_sets import check_filled

        streams = Streams(find_streams(options))
        train = read_sets_of(options.data, "train", notes, options.sets)
        check_filled(train, Path(options.data))
        train = only_complete(train, streams, options.skip_missing, notes)
        val: Sets | None = None
        if options.val is not None or Path(options.data).is_dir():
            val = read_sets_of(options.val or options.data, "val", notes, options.val_sets)
            val = only_complete(val, streams, options.skip_missing, notes)
        warn_simulated(streams, notes)
        return Source(options, streams, train, val)

    def config(self, config: AnyConfig, source: Source, start: base.Start | None) -> AnyConfig:
        from fabula.learn.identity.clips import texts_of
        from fabula.learn.identity.wordpiece import read_pieces, train_pieces
        from fabula.learn.models import fillin, lm

        streams, options = source.streams, source.options
        missing = [s for s in config.stream_names if s != "text" and streams.dim(s) is None]
        if missing:
            there = ",".join(s for s in config.stream_names if s == "text" or streams.dim(s) is not None)
            raise InputError(
                f"no store of the stream {missing[0]}",
                file=streams.path,
                hint=f"use --streams {there}, or write that store",
            )
        known_words = getattr(start.config, "vocabulary", ()) if start is not None and start.whole else ()
        face_eps, default = streams.metadata.get("face_eps"), type(config)().face_eps
        eps = float(face_eps) if isinstance(face_eps, int | float) and config.face_eps == default else config.face_eps
        config = replace(
            config,
            text_dim=streams.dim("text") or TEXT_DIM,
            action_dim=streams.dim("action") or 1,
            face_dim=streams.dim("face") or 1,
            face_eps=eps,
        )
        if isinstance(config, fillin.Config):
            if config.gender and "gender" not in streams.files:
                raise InputError("no store of the stream gender", file=streams.path, hint="write it, or gender=false")
            words = (known_words or words_of(source)) if config.reads_words else ()
            return replace(config, vocabulary=words)
        if isinstance(config, lm.Config) and (config.tokenizer or not options.tiny):
            if not config.tokenizer:
                raise SpecError("name the folder of T5's or GPT-2's weights: --from t5-base/ (or --tiny, at random)")
            return replace(config, frame_dim=streams.dim("frame") or 1)
        words = known_words or (
            read_pieces(options.wordpiece)
            if options.wordpiece
            else train_pieces(texts_of(source.train), options.pieces, options.min_count)
        )
        if start is not None and start.whole and start.config.words != len(words):
            raise InputError(
                f"weights for {start.config.words:,} word pieces; the vocabulary has {len(words):,}",
                file=options.from_,
                hint="give theirs (BERT's vocab.txt): --wordpiece vocab.txt",
            )
        return replace(
            config,
            frame_dim=streams.dim("frame") or 1,
            vocabulary=words,
            words=len(words),
            sep=words.index("[SEP]"),
        )

    def training_data(self, source: Source, config: AnyConfig) -> AnySets:
        return open_sets(source.train, source.streams, config, "train")

    def validation_data(self, source: Source, config: AnyConfig) -> AnySets | None:
        return None if source.val is None else open_sets(source.val, source.streams, config, "both")

    def answer(
        self, model: Model | fillin.Model, data: AnySets, share: Share, batch_size: int = 8, watch: Progress = silent
    ) -> list[SetAnswer]:
        from fabula.learn.identity.clips import Videosets
        from fabula.learn.identity.windows import answer_sets, caption_film
        from fabula.learn.models import micap

        if not (isinstance(data, Videosets) and isinstance(model, micap.Model)):
            blanks = super().answer(model, data, share, batch_size, watch)
            return [SetAnswer(one.name, tuple(f"P{k}" for k in one.filled)) for one in blanks]
        if data.films is not None:
            answers = []
            for name in data.sets:
                captions, people = caption_film(model, data, name, watch)
                faces = {k + 1: people.numbers_of(k) for k in range(len(people.votes))}
                answers.append(SetAnswer(name, None, captions, faces))
            return answers
        return [SetAnswer(*one) for one in answer_sets(model, data, list(share.of(len(data))), batch_size, watch)]

    def score(self, answers: list[SetAnswer], source: Source, config: AnyConfig) -> Scores:
        assert source.val is not None
        scores: dict[str, float] = {}
        if any(answer.filled is not None for answer in answers):
            scores |= score_blanks(answers, source.val)
        if any(answer.captions is not None for answer in answers):
            names = (*QUICK, *SLOW) if source.options.slow_scores else QUICK
            scores |= score_captions({answer.name: answer.captions or () for answer in answers}, source.val, names)
        return scores

    def best_by(self, config: AnyConfig) -> tuple[str, ...]:
        """As in Tables 2 and 4: blanks by class accuracy, captions by CIDEr and METEOR; a best checkpoint for each."""
        blanks = ("class",) if config.task != "caption" else ()
        return (*blanks, *(("CIDEr", "METEOR") if config.task != "fitb" else ()))

    def metadata(self, source: Source) -> dict[str, object]:
        return {
            "data": str(source.options.data),
            "features": source.streams.path.name,
            "simulated": source.streams.simulated,
            "recipes": {name: store.recipe for name, store in source.streams.stores.items() if name != "box"},
        }

    # -- predicting ---------------------------------------------------------------------------------------------------

    def prediction_data(
        self,
        model: Model | fillin.Model,
        metadata: JsonObject,
        options: PredictOptions,
        notes: Notes,
        watch: Progress,
    ) -> AnySets:
        config: AnyConfig = model.config
        if bool(options.videos) == (options.data is not None):
            raise SpecError("name raw films, or --data: one of the two")
        task = options.task or ("caption" if options.videos else None)
        if task is None:
            raise SpecError("add --task fitb or --task caption")
        if task not in model.passes:
            raise SpecError(f"the model was trained for {config.task} alone; --task {task} needs another")
        if options.videos:
            return self.film_data(model, metadata, options, notes, watch)
        for name in ("cast", "page"):
            if getattr(options, name) is not None:
                raise SpecError(f"--{name} is for raw films")
        return self.open(config, options, task, notes, options.people)

    def film_data(
        self, model: Model | fillin.Model, metadata: JsonObject, options: PredictOptions, notes: Notes, watch: Progress
    ) -> Videosets:
        """Raw films, with features made like those that the model was trained on."""
        from fabula.learn.identity.clips import Videosets
        from fabula.learn.identity.film import read_films
        from fabula.learn.models.micap import Config

        if options.task == "fitb":
            raise SpecError("a raw film has no captions with blanks to fill; use --task caption")
        assert isinstance(model.config, Config)  # whoever captions
        if options.features is not None:
            raise SpecError("--features has no effect for raw films: their features are extracted now")
        config: Config = model.config
        films = read_films(
            options.videos,
            metadata.get("recipes") or {},
            config.stream_names,
            people=options.cast,
            longest=options.longest,
            weights=read_weights(options.weights),
            notes=notes,
            watch=watch,
        )
        return Videosets(films.sets(), films.streams, config, "caption", options.people, films)

    def open(
        self,
        config: AnyConfig,
        options: PredictOptions | AnalyseOptions,
        use: str,
        notes: Notes,
        people: People = "model",
    ) -> AnySets:
        """Open videosets for prediction, with features that fit the model."""
        from fabula.learn.identity.clips import Streams, only_complete, read_sets_of

        assert options.data is not None  # raw films are opened elsewhere
        streams = Streams(find_streams(options))
        check_widths(config, streams, use)
        grouping = options.grouping if isinstance(options, AnalyseOptions) else options.sets
        sets = read_sets_of(options.data, options.split, notes, grouping)
        sets = only_complete(sets, streams, options.skip_missing, notes)
        warn_simulated(streams, notes)
        return open_sets(sets, streams, config, use, people)

    def analyse(self, model: Model | fillin.Model, options: AnalyseOptions, notes: Notes, watch: Progress) -> Analysis:
        """Fig. 4, 5 and 6."""
        from fabula.learn.identity.analysis import analyse
        from fabula.learn.identity.clips import Videosets
        from fabula.learn.models import micap

        if not isinstance(model, micap.Model) or model.name != "micap":
            raise SpecError(f"the figures are of the model micap; the run is of {model.name}")
        use = {"joint": "both", "fitb": "fitb", "caption": "caption"}[model.config.task]
        data = self.open(model.config, options, use, notes)
        assert isinstance(data, Videosets)
        return analyse(model, data, options, watch)

    def simulate(self, options: SimulateOptions, folder: Path, overwrite: bool) -> str:
        from fabula.learn.worlds.films import DIFFICULTIES, Recipe, write_world

        values = {o.name: getattr(options, o.name) for o in options.options() if o.name != "difficulty"}
        changes = {name: value for name, value in values.items() if value is not None}
        count = write_world(folder, Recipe(**{**DIFFICULTIES[options.difficulty], **changes}), overwrite)
        return f"{count:,} captionsets of simulated films"

    def postprocess(self, answers: list[SetAnswer], data: AnySets) -> Sets:
        """Captionsets with filled blanks or new captions; for films also what the page shows."""
        sets = {answer.name: as_set(answer, data.sets[answer.name], data.people) for answer in answers}
        if data.films is None:
            return sets
        from fabula.learn.identity.clips import FilmSets

        return FilmSets(sets, data.films, {answer.name: answer.faces or {} for answer in answers})

    def refine(self, result: Sets, options: PredictOptions, notes: Notes, watch: Progress) -> Sets:
        """The second stage of two: people are hidden in the captions, and filled in by another model."""
        if options.then is None:
            return result
        from fabula.io.identity.captionsets import SetText
        from fabula.learn.identity.clips import Streams
        from fabula.learn.models import fillin, micap
        from fabula.learn.run import open_model
        from fabula.text.identity import ID

        model, _ = open_model(self, options.then, replace(options, set_=()))
        assert isinstance(model, fillin.Model | micap.Model)
        if "fitb" not in model.passes:
            raise SpecError(f"--then {options.then}: a model that fills no blanks; name one trained for fitb or joint")
        streams = Streams(find_streams(options))
        check_widths(model.config, streams, "fitb")
        hidden = {name: SetText(tuple(ID.sub("SOMEONE", c) for c in one.captions or ()), None, one.clips)
                  for name, one in result.items()}  # fmt: skip
        if "text" in streams.files and getattr(model.config, "reads_features", "text" in model.config.stream_names):
            describe_blanks(hidden, streams, options.bert)
        data = open_sets(hidden, streams, model.config, "fitb")
        for line in data.notes.lines():
            notes.add(line)
        answers = self.answer(model, data, Share(), options.batch_size, watch)
        filled = self.postprocess(answers, data)
        return {name: replace(one, blanks=None) for name, one in filled.items()}  # blanks of these captions alone

    def captions(self, result: Sets, data: AnySets) -> Iterable[str | None]:
        """Only captions that the model wrote; blanks are filled into given ones."""
        return (text for one in result.values() for text in one.captions or ()) if data.use == "caption" else ()

    def check_output(self, path: Path) -> None:
        from fabula.evaluate.captionsets import check_ending

        check_ending(path)

    def write(self, result: Sets, path: Path) -> None:
        """The ending chooses: captionsets, or a line a clip."""
        from fabula.evaluate.captionsets import write_captionsets

        write_captionsets(result, path)

    def count(self, result: Sets) -> str:
        return f"{len(result):,} captionsets"

    def write_page(self, result: FilmSets, options: PredictOptions) -> None:
        if options.page is None:
            return
        from fabula.documents.files import write_text
        from fabula.learn.identity.film import describe_films, people_of_film
        from fabula.report.film import Film, Person, film_page

        shown = []
        for name, one in result.items():
            cast_people, _ = people_of_film(result.films, name, result.faces[name] if options.people == "model" else {})
            people = [
                Person(who["who"], who["name"], who["number"], who["pictures"], who["spans"]) for who in cast_people
            ]
            clips = result.films.clips[name]
            captions = [(c.start, c.end, text) for c, text in zip(clips, one.captions or (), strict=True)]
            cast = result.films.cast
            duration = clips[-1].end if cast is None else cast.videos[cast.video_index(name)].duration
            shown.append(Film(name, duration, captions, people, result.films.paths[name]))
        title = "A film, told with its people" if len(shown) == 1 else "Films, told with their people"
        notes = describe_films(result.films, result.recipes)
        write_text(options.page, [film_page(shown, title, folder=options.page.parent, notes=notes)])


TEXT_DIM = 256  # of blanks that are described by the words around them: learn/identity/clips.py


def read_weights(texts: tuple[str, ...]) -> dict[str, str]:
    """frame=FILE, action=FILE."""
    files = shared.read_pairs(texts)
    unknown = [name for name in files if name not in ("frame", "action")]
    if unknown:
        raise SpecError(f"--weights {unknown[0]}=…: weights are of frame or action")
    return files


def find_streams(options: TrainOptions | PredictOptions | AnalyseOptions) -> Path:
    """The folder of the stores: named, or where the captionsets lie."""
    if options.features is not None:
        return Path(options.features)
    assert options.data is not None  # raw films need no stores
    return Path(options.data) if Path(options.data).is_dir() else Path(options.data).parent


def check_widths(config: AnyConfig, streams: Streams, use: str) -> None:
    """Features are as wide as the model takes them."""
    for stream in config.stream_names:
        have, want = streams.dim(stream), getattr(config, f"{stream}_dim")
        if stream == "text":
            have = have or TEXT_DIM
        if have != want and not (stream == "text" and use == "caption"):
            raise InputError(
                f"{stream} features of {have or 'no'} channels; the checkpoint takes {want}",
                file=streams.path,
                hint="use the features the model was trained on",
            )


def describe_blanks(sets: Sets, streams: Streams, bert: Path | None) -> None:
    """Put the blanks of captions that were written now in the place of those that the store text describes."""
    from fabula.learn.identity.blank_features import BlankReader, captions_of
    from fabula.learn.identity.film import ClipArrays
    from fabula.text.neural.model import digest

    store = streams.stores["text"]
    if bert is None:
        raise InputError(
            "the store describes the blanks of other captions than those written now",
            file=streams.files["text"],
            hint="name the BERT that made it: --bert FOLDER",
        )
    reader, made_by = BlankReader(str(bert)), (store.recipe or {}).get("weights")
    if made_by not in (None, digest(str(bert))) or reader.width != store.dim:
        raise InputError("not the BERT that made the store text", file=bert, hint="name the folder it was made with")
    vectors = {name: reader.vectors([reader.paragraph(captions_of(name, sets), name)])[0] for name in sets}
    streams.__dict__["stores"] = {**streams.stores, "text": ClipArrays(vectors, reader.width)}


def open_sets(sets: Sets, streams: Streams, config: AnyConfig, use: str, people: People = "model") -> AnySets:
    """Captionsets as the data set of the model that has this config."""
    from fabula.learn.identity.blanks import BlankSets
    from fabula.learn.identity.clips import Videosets
    from fabula.learn.models import fillin

    if isinstance(config, fillin.Config):
        return BlankSets(sets, streams, config, use, people)
    return Videosets(sets, streams, config, use, people)


def words_of(source: Source) -> tuple[str, ...]:
    """FillIn's vocabulary: of every clip of the data once, for training sets overlap."""
    from fabula.learn.identity.blanks import count_words

    sets = [*source.train.values(), *(source.val or {}).values()]
    captions = {clip: text for one in sets for clip, text in zip(one.clips or (), one.captions or (), strict=False)}
    return count_words(captions.values(), source.options.min_count)


def warn_simulated(streams: Streams, notes: Notes) -> None:
    if streams.simulated:
        notes.add(f"{streams.path.name} holds simulated features: scores say nothing about real films")


def as_set(answer: SetAnswer, truth: SetText, people: People) -> SetText:
    from fabula.evaluate.captionsets import overwrite_people
    from fabula.io.identity.captionsets import SetText
    from fabula.learn.identity.wordpiece import fill_blanks

    if answer.filled is not None and answer.captions is None:
        captions, blanks = fill_blanks(truth.captions or (), rename(answer.filled, people))
        return SetText(tuple(captions), tuple(map(tuple, blanks)), truth.clips)
    return SetText(overwrite_people(answer.captions or (), people), None, truth.clips)


def rename(ids: tuple[str, ...], people: People) -> tuple[str, ...]:
    """Ids as they are, all the same, or all different: the baselines of FITB."""
    if people == "model":
        return ids
    return tuple(f"P{1 if people == 'same' else k + 1}" for k in range(len(ids)))


# --- scores ----------------------------------------------------------------------------------------------------------


def score_blanks(answers: list[SetAnswer], truth: Sets) -> dict[str, float]:
    """FITB of filled blanks; 0 where no set has two blanks to compare."""
    from fabula.io.identity.captionsets import SetText
    from fabula.learn.identity.wordpiece import fill_blanks

    filled: Sets = {}
    for answer in answers:
        captions, blanks = fill_blanks(truth[answer.name].captions or (), answer.filled or ())
        filled[answer.name] = SetText(tuple(captions), tuple(map(tuple, blanks)))
    paired = pair_sets(filled, truth)
    if all(s.blanks < 2 for s in paired.sets):
        return dict.fromkeys(FITB, 0.0)
    result = score_sets(paired, ("FITB",))
    return {name: result["FITB"].values[name] for name in FITB}


def score_captions(captions_of: Mapping[str, tuple[str, ...]], truth: Sets, names: tuple[str, ...]) -> dict[str, float]:
    """Scores of captions by the metrics named."""
    from fabula.io.identity.captionsets import SetText

    result = score_sets(pair_sets({name: SetText(texts) for name, texts in captions_of.items()}, truth), names)
    return {name: result[name].value for name in (spec.partition("(")[0] for spec in names)}


def pair_sets(predictions: Sets, truth: Sets) -> Gathered:
    """Predicted captionsets with their references, in memory."""
    from fabula.evaluate.identity import Gathered, join_sets

    name = Path("predictions")  # what an error calls them
    return Gathered(join_sets(truth, predictions, None, name, Notes()), 0, name, name)


def score_sets(paired: Gathered, names: tuple[str, ...]) -> Result:
    """Score captionsets as `fabula.score` does with those of two files."""
    from fabula.evaluate.identity import compare_sets
    from fabula.evaluate.options import ScoreOptions
    from fabula.evaluate.request import Request
    from fabula.evaluate.score import score
    from fabula.metrics import metric

    chosen = [metric(name, "identity") for name in names]
    request = Request(predictions=paired.predictions, options=ScoreOptions(task="identity"), metrics=chosen)
    return score(*compare_sets(request, paired, Notes()))
