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
    sets: str | Path | Iterable[object] | None
    people: str | None
    fps: float | None
    frames: int | None


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
    raw_duration: bool
    refs_format: str | None


class ConvertKeywords(TypedDict, total=False):
    to: str | None
    from_: str | None


class ParseKeywords(TypedDict, total=False):
    to: str
    audit: str | Path | None
    unit: str | None
    refs_format: str | None


class LintKeywords(TypedDict, total=False):
    format: str | None
    refs_format: str | None
    fix: str | Path | None
    task: str | None


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


class ExtractKeywords(VideoKeywords, total=False):
    with_: str
    out: str | Path
    fps: float | None
    weights: str | Path | None
    licence: str | None
    work: str | Path | None
    resume: bool
    overwrite: bool


class FindKeywords(VideoKeywords, total=False):
    out: str | Path
    detector: str
    embedder: str
    cluster: str
    fps: float
    shots: Literal["content", "transnetv2"]
    side: int
    licence: str | None
    work: str | Path | None
    resume: bool
    overwrite: bool


class CutKeywords(TypedDict, total=False):
    out: str | Path
    clips: str | Path | None
    longest: float | None
    kind: Literal["safetensors", "h5", "folder"]
    overwrite: bool


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
