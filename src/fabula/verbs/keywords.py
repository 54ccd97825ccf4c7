"""Types of the keywords of public calls: a line for each option, in a class for each verb.

An option is declared once, in its options class (core/options.py). Its line here is what type checkers and editors
read; tests/api/test_typed.py compares the two field by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict

from fabula.documents.document import Document

if TYPE_CHECKING:
    from fabula.jobs.runner import Runner
    from fabula.metrics import Metric, Wanted


class ArrowTable(Protocol):
    """A frame of any library that speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


Data = (
    str | Path | Document | Iterable[object] | ArrowTable
)  # a file or folder, or dicts, lists, iterators, frames, a Corpus
Systems = Mapping[str, Data] | Sequence[Data]
Names = tuple[str, ...] | list[str]
Paths = tuple[Path, ...] | tuple[str, ...] | list[Path] | list[str]


class AskKeywords(TypedDict, total=False):
    judge_url: str | None
    judge_model: str | None
    judge_key_env: str
    judge_concurrency: int
    judge_rpm: float | None
    judge_timeout: float
    judge_retries: int
    judge_record: str | Path | None
    judge_replay: str | Path | None
    judge_prompts: str | Path | None


class JudgeKeywords(AskKeywords, total=False):
    judge_failed: Literal["zero", "drop", "raise"]


class ResamplingKeywords(TypedDict, total=False):
    resamples: int
    seed: int
    level: float
    method: Literal["bca", "percentile"]


class PairedTestKeywords(ResamplingKeywords, total=False):
    test: Literal["randomisation", "bootstrap"]
    alpha: float


class ClusterKeywords(TypedDict, total=False):
    cluster: str | Path | Mapping[str, str] | None


class ReadKeywords(TypedDict, total=False):
    repair: str | Names
    spice: str | None
    format: str | None
    refs_format: str | None


class TaskKeywords(ReadKeywords, JudgeKeywords, total=False):
    task: str | None
    tok: str | None
    ids: str | Path | Iterable[str | int] | None
    sets: str | Path | Iterable[object] | None
    people: str | None
    fps: float | None
    frames: int | None
    scale: float | None
    image_sizes: str | Path | None


class MetricKeywords(TaskKeywords, total=False):
    protocol: str | None
    metrics: Wanted | None
    strict: bool


class EngineKeywords(TypedDict, total=False):
    engine: Literal["local", "ray"] | Runner
    address: str | None


class ScoreKeywords(MetricKeywords, EngineKeywords, ClusterKeywords, total=False):
    work: str | Path | None
    resume: bool


class CompareKeywords(MetricKeywords, EngineKeywords, PairedTestKeywords, ClusterKeywords, total=False):
    pass


class PowerKeywords(MetricKeywords, ClusterKeywords, total=False):
    difference: float | None
    power: float
    alpha: float
    correlation: float | None


class ProtocolsKeywords(TaskKeywords, total=False):
    explain: tuple[str, str] | None
    only: Names
    judges: Paths


class DiagnoseKeywords(ReadKeywords, ResamplingKeywords, total=False):
    task: Literal["stories", "moments"]
    metric: str | Metric | None
    near: float
    right: float
    inside: float
    words: float
    matching: Literal["greedy", "ordered"]
    k: int
    iou: float


class StressKeywords(AskKeywords, total=False):
    sets: str | Path | None
    ways: Names
    copies: int
    seed: int
    resamples: int
    spice: str | None


class MetaKeywords(PairedTestKeywords, JudgeKeywords, total=False):
    statistic: str
    measure: str | None
    metrics: Names
    average: bool


class AttackKeywords(JudgeKeywords, ResamplingKeywords, total=False):
    judge: str
    against: Names
    ways: Names
    most: int


class CheckKeywords(AttackKeywords, total=False):
    records: Paths
    again: int


class UniformKeywords(TypedDict, total=False):
    count: int | None
    duration: float | None
    reference_count: bool
    average: Literal["count", "duration"] | None
    train: str | Path | None
    raw_duration: bool
    refs_format: str | None


class ConvertKeywords(TypedDict, total=False):
    to: str | None
    from_: str | None
    sets: str | Path | None
    overlapping: bool


class ParseKeywords(TypedDict, total=False):
    to: str
    audit: str | Path | None
    unit: str | None
    refs_format: str | None


class LintKeywords(TypedDict, total=False):
    format: str | None
    refs_format: str | None
    ids: str | Path | Iterable[str | int] | None
    fix: str | Path | None
    task: str | None
    stats: bool


class PlotKeywords(TypedDict, total=False):
    metrics: str | None
    names: Names
    width: Literal["column", "page"]


class HostKeywords(TypedDict, total=False):
    title: str
    task: str
    protocol: str | None
    metrics: str | None
    start: str | None
    end: str | None
    private: bool
    wheel: tuple[Path, ...]


class VideoKeywords(TypedDict, total=False):
    """Where videos are worked on."""

    device: str
    processes: int | None
    engine: Literal["local", "ray"]
    address: str | None
    skip_bad: bool


class IndexKeywords(VideoKeywords, total=False):
    store: str | Path
    with_: str | None
    fps: float | None
    clip: float | None
    stride: float | None
    weights: str | Path | None
    reembed: bool
    moved: bool
    retry: bool
    no_thumbs: bool


class SearchKeywords(TypedDict, total=False):
    limit: int
    video: Names
    person: Names
    people: str | Path | None
    min_length: float | None
    max_length: float | None
    min_probability: float | None
    model: str | Path | None
    extract: str | None
    other_features: bool
    weights: str | Path | None
    device: str


class SearcherKeywords(SearchKeywords, total=False):
    store: str | Path


class SimulateKeywords(TypedDict, total=False):
    embedder: str
    seed: int
    rate: float
    format: str | None
    out: Path
    overwrite: bool


# ── tasks: the options of every task of ours; those of a plug-in are handed over as an options object ───────────────

Changed = str | Sequence[str] | Mapping[str, object]  # NAME=VALUE
Captions = Literal["fig", "cog"]
Evaluator = Literal["tvr", "reloclnet", "hero", "qvhighlights"]


class SettingKeywords(TypedDict, total=False):
    epochs: int
    steps: int | None
    batch_size: int
    accumulate: int
    pass_steps: Literal["each", "together"]
    optimizer: Literal["adam", "adamw", "bert", "bertadam"]
    lr: float
    weight_decay: float
    no_decay: bool
    betas: tuple[float, float]
    eps: float
    schedule: Literal["staircase", "constant", "linear", "cosine"]
    warmup: float
    decay: float
    decay_from: int
    decay_every: int
    decay_times: int | None
    clip_norm: float | None
    clip_value: float | None
    precision: Literal["32", "bf16", "16-mixed"]
    seed: int
    validate_every: int
    validate_steps: int | None
    patience: int | None
    best_by: str | Names
    save_minutes: float | None
    save_every: int | None
    log_every: int
    workers: int
    device: str
    threads: int | None


class TaskDataKeywords(TypedDict, total=False):
    """What training and prediction read."""

    data: str | Path | None
    features: str | Path | Paths | None
    format: str | None
    rate: float | None
    skip_bad: bool
    skip_missing: bool
    words: str | Path | None
    tokenizer: str | Path | None
    captions: Captions | None
    rewrites: str | Path | None
    protocol: Evaluator | None
    set_: Changed


class TrainKeywords(SettingKeywords, TaskDataKeywords, total=False):
    model: str | None
    tiny: bool
    preset: str | None
    config: str | Path | None
    from_: str | Path | None
    from_part: str
    from_words: str | Path | None
    out: str | Path
    resume: bool
    overwrite: bool
    tensorboard: bool
    wandb: str | None
    mlflow: str | None
    val: str | Path | None
    sets: str | Path | None
    val_sets: str | Path | None
    min_count: int | None
    words_from: Literal["train", "train+val"] | None
    max_events: int | None
    wordpiece: str | Path | None
    pieces: int
    slow_scores: bool
    train: Captions
    test: Captions
    matcher: str | None
    captioner: Literal["standard", "light", "none"] | None
    streams: str | None
    encoder: bool | None
    hard: int | None
    text: str | None


class AnalyseKeywords(TaskDataKeywords, total=False):
    batch_size: int
    device: str
    split: str
    sets: str | Names
    grouping: str | Path | None
    most: int
    films: str | Path | None
    who: str | Path | None
    truth: str | Path | None
    cast: str | Path | None
    eps: tuple[float, ...] | list[float]


class PredictKeywords(TaskDataKeywords, total=False):
    batch_size: int
    device: str
    videos: Paths
    sets: str | Path | None
    split: str
    weights: str | Path | Names | None
    other_features: bool
    page: str | Path | None
    task: Literal["fitb", "caption"] | None
    people: Literal["model", "same", "different"]
    then: str | Path | None
    bert: str | Path | None
    cast: str | Path | None
    longest: float
    granularity: Captions | None
    corpus: Literal["asked", "store"]
    form: Literal["tvr", "qvhighlights", "lines"] | None
    top: int
    precision: Literal["32", "bf16"]
    no_cache: bool
    work: str | Path | None
    resume: bool
    part: int
    processes: int
    engine: Literal["local", "ray"]
    address: str | None
    text: str | None
    candidates: str | Path | None
    disturbed: int
    fit: str | Path | None
    fit_kind: Literal["platt", "temperature"]
    calibration: str | Path | None
    diagram: str | Path | None
    summary: str | Path | None


class WorldKeywords(TypedDict, total=False):
    difficulty: Literal["default", "easy", "hard", "faces"]
    seed: int
    train_films: int | None
    val_films: int | None
    test_films: int | None
    clips: int | None
    set_clips: int | None
    cast: int | None
    stay: float | None
    told: float | None
    absent: float | None
    bystanders: float | None
    pose: float | None
    noise: float | None


class ReadSignsKeywords(TypedDict, total=False):
    out: str | Path | None
    processes: int | None
    engine: Literal["local", "ray"]
    address: str | None
    work: str | Path | None
    resume: bool
    skip_bad: bool
    overwrite: bool
    kind: Literal["json", "srt", "vtt", "txt"] | None
    fps: float
    still: float
    least: float


class TranscribeKeywords(TypedDict, total=False):
    out: str | Path | None
    processes: int | None
    engine: Literal["local", "ray"]
    address: str | None
    work: str | Path | None
    resume: bool
    skip_bad: bool
    overwrite: bool
    kind: Literal["srt", "vtt", "txt", "json"] | None
    track: int | None
    language: str | None
    ignore_subtitles: bool
    url: str | None
    model: str
    key_env: str
    rpm: float | None
    timeout: float
    retries: int


class EndpointKeywords(TypedDict, total=False):
    url: str
    model: str
    key_env: str
    concurrency: int
    rpm: float | None
    tpm: float | None
    timeout: float
    retries: int
    context: int | None
    price: Names
    schema: Literal["auto", "always", "never"]
    record: str | Path | None
    replay: str | Path | None


class TellKeywords(EndpointKeywords, total=False):
    out: Paths
    to: Names
    style: Literal["dense", "steps", "chapters", "descriptions"]
    language: str | None
    frames: str
    side: int
    quality: int
    picture_tokens: int | None
    layout: str
    window: float
    overlap: float
    carry: int
    shots: Literal["content", "transnetv2", "none"]
    lines: str | Path | None
    signs: str | Path | None
    people: str | Path | None
    untitled: bool
    pace: float
    prompts: str | Path | None
    temperature: float
    max_tokens: int
    seed: int
    tries: int
    budget: float | None
    work: str | Path | None
    skip_bad: bool
    overwrite: bool


class BenchKeywords(EndpointKeywords, total=False):
    videos: Paths
    out: str | Path | None
    task: Literal["grounding", "highlights", "questions", "dense"] | None
    format: str | None
    prompt: str | None
    frames: str
    side: int
    quality: int
    layout: str
    times: Literal["film", "recipe"]
    server: str | None
    temperature: float
    max_tokens: int
    seed: int
    limit: int | None
    budget: float | None
    skip_bad: bool
    overwrite: bool
