"""The noise evaluator of VERIFIED (Chen et al., NeurIPS 2024): how well a caption fits its moment.

Units are moments. Learnt from true captions and from disturbed ones, of a file of rewrites or by rule; validated by how
often the true caption stands above the disturbed ones, static and dynamic apart. Predictions are scores c of captions,
the one that is chosen, and, with a calibration, probabilities.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, Progress, name_id
from fabula.core.options import MUST, option, same_as
from fabula.data.moments import Id, Query
from fabula.documents.fields import JsonDict, JsonObject
from fabula.documents.files import words_of_name
from fabula.learn import options as shared
from fabula.learn.options import Scores
from fabula.learn.tasks import base
from fabula.learn.tasks.vcmr import (
    SKIP_BAD,
    granularity_of,
    must_agree,
    only_inside,
    only_shown,
    open_stores,
    read_split,
)

if TYPE_CHECKING:
    from fabula.learn.models.noise_scorer import Config, Model
    from fabula.learn.noise.calibrate import CaptionCalibration
    from fabula.learn.noise.data import Judged, Pairs, Shown
    from fabula.learn.noise.texts import Texts, Wrong
    from fabula.learn.text_features import TextVectors
    from fabula.media.stores.features import Features
    from fabula.stats.calibration import Bin

Granularity = Literal["fig", "cog"]
MODELS = ("noise_scorer", "noise_head")


@dataclass(frozen=True, kw_only=True)
class TrainOptions(shared.TrainOptions):
    """Options of training."""

    data: Path = option(MUST, "Moments with captions: a file, or a folder of splits.")
    features: tuple[str, ...] = option(MUST, "Stores of video features, side by side.", parts=True, metavar="A,B")
    val: Path | None = option(None, "Validation moments. Default: the split val in --data, if there is one.")
    captions: Granularity = option(
        "fig", "VERIFIED: take fine or coarse captions as the true ones.", shows_default=True
    )
    rewrites: Path | None = option(None, "Rewritten and disturbed captions by id. Default: disturbed by rule.")
    text: str | None = option(
        None,
        "Text features: a store of fabula features text, or an encoder. Default: words are hashed.",
    )
    rate: float | None = option(None, "Features per second. Default: the store's, or one a clip.")
    skip_bad: bool = option(False, SKIP_BAD)
    format: str | None = option(
        None, "Format of the moments (fabula list formats). Default: detected from the content."
    )


@dataclass(frozen=True, kw_only=True)
class Shape(shared.Changes):
    """The settings of the evaluator that have flags."""

    hard: int | None = option(None, "Disturbed captions of each kind a step; 0: in-batch negatives alone.", at_least=0)


@dataclass(frozen=True, kw_only=True)
class PredictOptions(shared.PredictOptions):
    """What is scored, and how scores become probabilities."""

    features: tuple[str, ...] = same_as(TrainOptions, "features")
    data: Path = option(MUST, "Moments; a folder of splits.")
    split: str = option("test", "Which split of --data: train, val, test.", shows_default=True)
    captions: Granularity | None = option(None, "VERIFIED: fine or coarse captions are scored. Default: the run's.")
    candidates: Path | None = option(None, "Captions to choose from, by id. Default: the moments' own.")
    disturbed: int = option(
        0, "Also score this many wrong captions of each kind, made by rule.", at_least=0, at_most=20
    )
    rewrites: Path | None = option(None, "Wrong captions from this file instead (with --disturbed).")
    fit: Path | None = option(None, "Write a calibration fitted on these (needs --disturbed).", writes=True)
    fit_kind: Literal["platt", "temperature"] = option("platt", "Which calibration is fitted.", shows_default=True)
    calibration: Path | None = option(None, "Calibration that gives probabilities.")
    diagram: Path | None = option(None, "Write the reliability diagram, SVG (needs --disturbed).", writes=True)
    summary: Path | None = option(None, "Write accuracies and ECE as JSON (needs --disturbed).", writes=True)
    text: str | None = same_as(TrainOptions, "text")
    rate: float | None = same_as(TrainOptions, "rate")
    skip_bad: bool = same_as(TrainOptions, "skip_bad")
    format: str | None = same_as(TrainOptions, "format")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("fit", "diagram", "summary", "rewrites"):
            if getattr(self, name) is not None and not self.disturbed:
                raise SpecError(f"--{name} compares true captions with wrong ones; add --disturbed 3")


@dataclass(frozen=True)
class Source:
    """The data of a run."""

    options: TrainOptions
    stores: Sequence[Features]
    train: Mapping[Id, Query]
    val: Mapping[Id, Query] | None
    texts: Mapping[Id, Texts]
    val_texts: Mapping[Id, Texts]
    notes: Notes
    text: TextVectors | None = None


@dataclass(frozen=True)
class Judgement:
    """The scores of one moment: of the captions to choose from, and of wrong ones."""

    query: Query
    captions: tuple[JsonObject, ...]  # {"text", …}
    scores: tuple[float, ...]
    wrong: tuple[Wrong, ...] = ()
    wrong_scores: tuple[float, ...] = ()

    @property
    def best(self) -> int:
        return max(range(len(self.scores)), key=lambda i: (self.scores[i], -i))


@dataclass(frozen=True)
class Scored:
    """All scores, and how they become probabilities."""

    rows: Sequence[Judgement]
    calibration: CaptionCalibration | None = None
    weights: str = ""
    simulated: bool = False

    def pairs(self) -> tuple[list[float], list[bool]]:
        """Every caption's score, and whether it is true."""
        every = [(c, True) for r in self.rows for c in r.scores] + [
            (c, False) for r in self.rows for c in r.wrong_scores
        ]
        return [c for c, _ in every], [y for _, y in every]

    def ranks(self) -> list[dict[str, float]]:
        """A row for each moment: shares of the wrong captions below the (first) true one."""
        from fabula.learn.noise.ranks import rank_row

        return [rank_row(r.scores[0], r.wrong_scores, r.wrong) for r in self.rows]

    def reliability(self) -> dict[str, list[Bin]]:
        """Bins of the probabilities without and with the calibration."""
        from fabula.learn.noise.calibrate import BINNING, CaptionCalibration

        scores, true = self.pairs()
        kinds = {"σ(c)": CaptionCalibration()} | ({self.calibration.kind: self.calibration} if self.calibration else {})
        return {name: BINNING.split(probability_of(scores), true) for name, probability_of in kinds.items()}

    def summary(self) -> JsonDict:
        from fabula.learn.noise.ranks import fold
        from fabula.stats.calibration import expected_calibration_error

        return {
            "moments": len(self.rows),
            "true above disturbed": fold(self.ranks()),
            "ECE": {name: expected_calibration_error(bins) for name, bins in self.reliability().items()},
            "calibration": None if self.calibration is None else asdict(self.calibration),
            "simulated": self.simulated,
        }


class Task(base.Task):
    name: ClassVar[str] = "noise"
    about: ClassVar[str] = (
        "How well captions fit their moments: VERIFIED's noise evaluator (Chen et al., NeurIPS 2024)."
    )
    usage: ClassVar[tuple[str, ...]] = (
        "fabula train noise --data charades_fig/ --features clips.safetensors --out runs/noise",
        "fabula train noise --model noise_head --features clip.h5 --text texts.h5 --data charades_fig/ --out runs/head",
        "fabula predict noise runs/noise --data held.jsonl --features F --disturbed 3 --fit platt.json -o held.scores",
        "fabula predict noise runs/noise --data test.jsonl --features F --calibration platt.json -o scores.jsonl",
        "fabula annotate run moments.jsonl -s run.sqlite --scorer noise:runs/noise --scorer-features F …",
    )
    models: ClassVar[tuple[str, ...]] = MODELS
    Train: ClassVar[type[shared.TrainOptions]] = TrainOptions
    Shape: ClassVar[type[shared.Changes]] = Shape
    Predict: ClassVar[type[shared.PredictOptions]] = PredictOptions
    derived: ClassVar[tuple[str, ...]] = ("feature_dim",)

    # -- training -----------------------------------------------------------------------------------------------------

    def read(self, options: TrainOptions, notes: Notes) -> Source:
        from fabula.learn.noise.texts import read_rewrites, texts_of
        from fabula.learn.text_features import open_texts

        stores = open_stores(options.features, notes)
        train = with_words(read_split(options.data, "train", options.captions, options.format, notes), notes)
        train = only_inside(train, options.data, options.skip_bad, notes)
        val = read_validation(options, notes)
        rewrites = None if options.rewrites is None else read_rewrites(options.rewrites)
        texts = texts_of(train.values(), rewrites, notes)
        validation_texts = {} if val is None else texts_of(val.values(), rewrites, Notes())
        text = None if options.text is None else open_texts(options.text)
        return Source(options, stores, train, val, texts, validation_texts, notes, text)

    def config(self, config: Config, source: Source, start: base.Start | None) -> Config:
        if not hasattr(config, "hard"):
            raise SpecError(f"this model judges no captions; there are: {', '.join(self.models)}")
        if source.text is not None:
            config = replace(config, words="store", query_dim=source.text.dim)
        return replace(config, feature_dim=sum(store.dim for store in source.stores))

    def training_data(self, source: Source, config: Config) -> Pairs:
        from fabula.learn.noise.data import Pairs

        shown = shown_by(source.stores, config, source.options.rate, texts=source.text)
        train = only_shown(source.train, shown.clips, source.options.skip_bad, source.notes)
        for every in (source.texts, source.val_texts):
            shown.check((text, id) for id, t in every.items() for text in (*t.true, *(w.text for w in t.wrong)))
        return Pairs(list(train.values()), source.texts, shown)

    def validation_data(self, source: Source, config: Config) -> Judged | None:
        if source.val is None:
            return None
        from fabula.learn.noise.data import Judged

        captions = [[t.true[0], *(w.text for w in t.wrong)] for t in (source.val_texts[id] for id in source.val)]
        shown = shown_by(source.stores, config, source.options.rate, texts=source.text)
        only_shown(source.val, shown.clips, None, source.notes)
        return Judged(list(source.val.values()), captions, shown)

    def score(self, answers: list[list[float]], source: Source, config: Config) -> Scores:
        from fabula.learn.noise.ranks import fold, rank_row

        assert source.val is not None
        rows = [
            rank_row(scores[0], scores[1:], source.val_texts[id].wrong)
            for id, scores in zip(source.val, answers, strict=True)
        ]
        return fold(rows)

    def best_by(self, config: Config) -> tuple[str, ...]:
        return ("static+dynamic",)

    def metadata(self, source: Source) -> dict[str, object]:
        o = source.options
        return {
            "data": str(o.data),
            "features": [store.path.name for store in source.stores],
            "captions": o.captions,
            "negatives": "by rule" if o.rewrites is None else o.rewrites.name,
            "simulated": any(bool(store.metadata.get("simulated")) for store in source.stores),
            **({"text": source.text.recipe} if source.text is not None else {}),
        }

    # -- predicting ---------------------------------------------------------------------------------------------------

    def prediction_data(
        self, model: Model, metadata: JsonObject, options: PredictOptions, notes: Notes, watch: Progress
    ) -> Judged:
        from fabula.learn.noise.calibrate import read_calibration
        from fabula.learn.noise.data import Judged
        from fabula.learn.noise.scorer import digest_weights
        from fabula.learn.noise.texts import CANDIDATES, make_texts, read_candidates, read_rewrites

        chosen = must_agree(options.captions, "--captions", options.format)
        granularity, _ = granularity_of(metadata, "captions", chosen, "--captions", notes)
        queries = read_split(options.data, options.split, granularity, options.format, notes)
        queries = only_inside(queries, options.data, options.skip_bad, notes)
        texts = open_run_texts(options.text, metadata, model.config)
        shown = shown_by(open_stores(options.features, notes), model.config, options.rate, notes, texts)
        queries = only_shown(queries, shown.clips, options.skip_bad, notes)
        listed = None if options.candidates is None else read_candidates(options.candidates)
        if listed is None:
            queries = with_words(queries, notes)
        rewrites = read_rewrites(options.rewrites) if options.rewrites is not None else {}
        units, examples = [], []
        for id, query in queries.items():
            captions = ({"text": query.text},) if listed is None else listed.get(id, ())
            if not captions:
                notes.add("{n} moments have no candidates and are left out", name_id(id))
                continue
            wrong: tuple[Wrong, ...] = ()
            if options.disturbed:
                wrong = make_texts(str(captions[0]["text"]), rewrites.get(id), options.disturbed).wrong
            units.append(Judgement(query, captions, (), wrong))
            examples.append([*(str(c["text"]) for c in captions), *(w.text for w in wrong)])
        if not units:
            raise InputError("no moment has candidates", file=options.candidates, hint=CANDIDATES)
        shown.check((text, u.query.id) for u, captions in zip(units, examples, strict=True) for text in captions)
        weights = digest_weights(model)
        known = None if options.calibration is None else read_calibration(options.calibration, weights)
        simulated = bool(metadata.get("simulated")) or shown.clips.simulated
        return Judged([u.query for u in units], examples, shown, Scored(units, known, weights, simulated))

    def postprocess(self, answers: list[list[float]], data: Judged) -> Scored:
        unscored = data.unscored
        assert unscored is not None
        rows = [
            replace(u, scores=tuple(scores[: len(u.captions)]), wrong_scores=tuple(scores[len(u.captions) :]))
            for u, scores in zip(unscored.rows, answers, strict=True)
        ]
        return replace(unscored, rows=rows)

    def write(self, result: Scored, path: Path) -> None:
        from fabula.documents.files import write_text

        write_text(path, (json.dumps(line, ensure_ascii=False) + "\n" for line in as_lines(result)))

    def count(self, result: Scored) -> str:
        return f"{len(result.rows):,} moments, {sum(len(r.scores) for r in result.rows):,} captions"

    def write_page(self, result: Scored, options: PredictOptions) -> None:
        from fabula.documents.files import dump_json, write_text
        from fabula.learn.noise.calibrate import BINNING, fit, write_calibration
        from fabula.report.drawing.charts import draw_reliability

        if options.fit is not None:
            scores, true = result.pairs()
            calibration = replace(fit(scores, true, options.fit_kind), weights=result.weights)
            write_calibration(options.fit, calibration)
            result = replace(result, calibration=result.calibration or calibration)
        if options.diagram is not None:
            title = "Captions that are true, by probability" + (" (simulated features)" if result.simulated else "")
            write_text(options.diagram, [draw_reliability(result.reliability(), title, str(BINNING), "captions")])
        if options.summary is not None:
            dump_json(options.summary, result.summary(), indent=2)


def shown_by(
    stores: Sequence[Features],
    config: Config,
    rate: float | None,
    notes: Notes | None = None,
    texts: TextVectors | None = None,
) -> Shown:
    from fabula.learn.noise.data import Shown
    from fabula.learn.retrieval.data import Clips

    return Shown(Clips(stores, config, rate), notes, texts)


def open_run_texts(name: str | None, metadata: JsonObject, config: Config) -> TextVectors | None:
    """The text features that a run is asked with; those of other weights than its own are refused."""
    from fabula.learn.text_features import open_texts

    if config.words != "store":
        if name is not None:
            raise SpecError("the run hashes words; leave the text features out (--text)")
        return None
    if name is None:
        raise SpecError("the run reads features of texts; name a store of them, or an encoder (--text)")
    texts, trained = open_texts(name), metadata.get("text")
    if trained and texts.recipe and trained != texts.recipe:
        hint = "use the encoder that the run was trained with"
        raise InputError(f"text features of {texts.recipe}, the run's are of {trained}", file=name, hint=hint)
    return texts


def with_words(queries: Mapping[Id, Query], notes: Notes) -> dict[Id, Query]:
    """The moments whose caption has words; the others are counted."""
    worded = {}
    for id, query in queries.items():
        if query.text and any(c.isalnum() for c in query.text):
            worded[id] = query
        else:
            notes.add("{n} moments have no words and are left out", name_id(id))
    if not worded:
        raise SpecError("no moment has a caption")
    return worded


def read_validation(options: TrainOptions, notes: Notes) -> dict[Id, Query] | None:
    path = options.val or options.data
    if options.val is None and not (path.is_dir() and any("val" in words_of_name(f.name) for f in path.iterdir())):
        return None
    queries = with_words(read_split(path, "val", options.captions, options.format, notes), notes)
    return only_inside(queries, path, options.skip_bad, notes)


def as_lines(result: Scored) -> Iterable[JsonDict]:
    """A line for each moment: what is chosen, and every score."""
    p = result.calibration

    def score_fields(score: float) -> dict[str, float]:
        return {"score": score, **({"probability": float(p(score))} if p else {})}

    for r in result.rows:
        captions = [{**c, **score_fields(s)} for c, s in zip(r.captions, r.scores, strict=True)]
        line: JsonDict = {"desc_id": r.query.id, "video": r.query.video, "time": list(r.query.windows[0])}
        line |= {"chosen": captions[r.best], "candidates": captions}
        if r.wrong:
            wrong = zip(r.wrong, r.wrong_scores, strict=True)
            line["disturbed"] = [{"text": w.text, "kind": w.kind, "rule": w.rule, **score_fields(s)} for w, s in wrong]
        yield line
