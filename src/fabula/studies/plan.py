"""PLAN.toml: questions, raters, exclusion rule and analysis, fixed before the first answer."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.registry import close_to
from fabula.documents.fields import JsonDict
from fabula.documents.toml import read_toml
from fabula.studies.forms import Form, make_form

T = TypeVar("T")
CONSENT = (
    "You will watch short video clips and answer questions about descriptions of them. Your answers are kept without "
    "your name, under a number. You may stop at any time by closing the page. By going on you agree that your answers "
    "are used for research and may be published without anything that tells who you are."
)


def check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise SpecError(f"{name} is {value:g}; it is a share, from 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclude:
    """The rule by which raters are left out, written before the first answer."""

    checks: float = 0.75  # at least this share of checks and gold questions passed
    hurried: float = 0.2  # at most this share of answers sooner than `shortest`
    same: float = 0.95  # at most this share of choices on one side, or of rankings that are the same, over 10 or more

    def __post_init__(self) -> None:
        for name in ("checks", "hurried", "same"):
            check_share(f"exclude.{name}", getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """How the answers will be analysed."""

    level: float = 0.95  # of intervals
    alpha: float = 0.05  # of tests, corrected (Holm) over pairs of systems
    resamples: int = 1000  # draws of items for the interval of α
    primary: str = ""  # the measure that decides; default: the form's first

    def __post_init__(self) -> None:
        for name in ("level", "alpha"):
            if not 0 < getattr(self, name) < 1:
                raise SpecError(f"analysis.{name} is {getattr(self, name):g}; it lies between 0 and 1")
        if not 1 <= self.resamples <= 100_000:
            raise SpecError(f"analysis.resamples is {self.resamples}; say 1 to 100,000")


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What `fabula study power` supposes of raters and items: which share of the variance is theirs."""

    rater: float = 0.05
    item: float = 0.2

    def __post_init__(self) -> None:
        for name in ("rater", "item"):
            check_share(f"power.{name}", getattr(self, name))
        if self.rater + self.item > 1:
            raise SpecError("power.rater and power.item are shares of one variance; together they are at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A study as it was planned."""

    title: str
    form: str = "richer"
    clips: str = "."  # folder of the videos
    items: str = ""  # lines of clips with their descriptions …
    benchmark: str = ""  # … or VERIFIED's lines: coarse against fine …
    systems: dict[str, str] = field(default_factory=dict)  # … or a file a system
    target: str = ""  # the system in question; default: the last
    sample: int = 0  # items drawn; 0: all
    questions: int = 30  # of one rater
    raters_per_question: int = 3
    raters: int = 0  # 0: as many as are needed
    balance: bool = True  # positions counter-balanced; else systems stand as the plan names them
    checks: int = 4  # attention checks of one rater, besides the questions
    gold: str = ""  # lines of items with known answers
    golds: int = 2  # of one rater, where there are some
    shortest: float = 2.0  # seconds from the clip's end to the answer, below which it counts as hurried
    ties: bool = True  # of the form preference: "equally good" may be said
    scales: tuple[str, ...] = ()  # of the forms scale and richer
    consent: str = CONSENT
    contact: str = ""
    intro: str = ""
    rater_id: str = ""  # asked of raters at the end: "Your student id"; nothing: they stay numbers
    return_code: str = ""  # one for all; default: each rater's own
    return_url: str = ""  # where raters go at the end; {code} stands for the code
    seed: int = 0
    exclude: Exclude = Exclude()
    analysis: Analysis = Analysis()
    power: Power = Power()

    def __post_init__(self) -> None:
        self.make_form()
        for name, least in (("questions", 1), ("raters_per_question", 1), ("raters", 0), ("checks", 0), ("golds", 0)):
            if not least <= getattr(self, name) <= 100_000:
                raise SpecError(f"{name} is {getattr(self, name)}; say {least} or more")
        if not 0 <= self.shortest <= 600:
            raise SpecError(f"shortest is {self.shortest:g}; say seconds, from 0 to 600")
        if self.seed < 0 or self.sample < 0:
            raise SpecError("seed and sample are whole numbers from 0 on")
        if not self.title.strip():
            raise SpecError("title is empty; raters see it")
        if self.return_url and not self.return_url.startswith("https://"):
            raise SpecError(f"return_url {shown(self.return_url)}; it begins with https://")
        if len(self.rater_id) > 200:
            raise SpecError(f"rater_id has {len(self.rater_id)} characters; it is the question for an id, 200 at most")
        sources = [name for name in ("items", "benchmark", "systems") if getattr(self, name)]
        if len(sources) != 1:
            named = " and ".join(sources) or "none of them"
            raise SpecError(f"a plan names one of items, benchmark and [systems]; this one names {named}")
        primary = self.analysis.primary
        if primary and primary not in self.make_form().measures:
            known = ", ".join(self.make_form().measures)
            raise SpecError(f"analysis.primary {shown(primary)}: the form {self.form} measures {known}")

    def make_form(self) -> Form:
        return make_form(self.form, self.scales, self.ties)

    @property
    def primary(self) -> str:
        return self.analysis.primary or self.make_form().measures[0]

    def to_dict(self) -> JsonDict:
        return dataclasses.asdict(self)

    @classmethod
    def of(cls, document: JsonDict) -> Plan:
        """The inverse of `to_dict`."""
        return build(cls, document, "")


def read_plan(path: Path) -> Plan:
    """The plan of a file; what is wrong with it is said with its place."""
    document = read_toml(path)
    try:
        return Plan.of(document)
    except SpecError as error:
        raise InputError(str(error), file=path) from None


def build(kind: type[T], document: JsonDict, where: str) -> T:
    """A dataclass from a table: no unknown key, every value of its type."""
    hints = typing.get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in document:
        if key not in fields:
            raise SpecError(f"no setting is called {shown(where + key)}; {close_to(key, list(fields))}")
    values = {key: read_value(value, hints[key], where + key) for key, value in document.items()}
    for f in fields.values():
        if f.name not in values and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
            raise SpecError(f"{where}{f.name} is missing; it must be given")
    return kind(**values)


def read_value(value: Any, hint: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise SpecError(f"{where} is {shown(value)}; it is a table: [{where}]")
        return build(hint, value, f"{where}.")  # type: ignore[arg-type]
    if hint is float and type(value) in (int, float):
        if not abs(value) < 1e12:
            raise SpecError(f"{where} is {shown(value)}; a plain number is needed")
        return float(value)
    if typing.get_origin(hint) is tuple and isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
        return tuple(value)
    if typing.get_origin(hint) is dict and isinstance(value, dict):
        for name, file in value.items():
            if not name.strip() or not isinstance(file, str):
                raise SpecError(f"{where}.{name} is {shown(file)}; a system is a name and its file")
        return dict(value)
    if type(value) is hint and hint in (str, int, bool):
        return value
    names = {str: "text", int: "a whole number", bool: "true or false", float: "a number"}
    raise SpecError(f"{where} is {shown(value)}; it should be {names.get(hint, 'a list of text')}")
