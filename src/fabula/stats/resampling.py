"""How intervals and tests are made: all that is needed to make them again; options of several verbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fabula.core.errors import SpecError, shown
from fabula.core.options import Options, option

MOST = 1_000_000  # resamples
Method = Literal["bca", "percentile"]
METHODS: tuple[Method, ...] = ("bca", "percentile")
Test = Literal["randomisation", "bootstrap"]
TESTS: tuple[Test, ...] = ("randomisation", "bootstrap")


@dataclass(frozen=True, kw_only=True)
class Resampling(Options):
    """How an interval is made."""

    resamples: int = option(10_000, "Number of resamples of videos.", shows_default=True, at_least=1)
    seed: int = option(0, "Random seed.", shows_default=True)
    level: float = option(0.95, "Confidence level of the intervals.", shows_default=True)
    method: Method = option("bca", "Kind of interval.", shows_default=True)

    def __post_init__(self) -> None:
        check_level(self.level, self.method)
        if not 1 <= self.resamples <= MOST:
            what = (
                "there must be at least 1"
                if self.resamples < 1
                else f"say at most {MOST:,}: more move no printed digit"
            )
            raise SpecError(f"{self.resamples:,} resamples; {what}")
        check_seed(self.seed)

    def __str__(self) -> str:
        return self.named(self.method)

    def named(self, method: str) -> str:
        """As a signature has it, for an interval of that kind."""
        return f"{method}-{self.level:g}-{self.resamples}-seed{self.seed}"


@dataclass(frozen=True, kw_only=True)
class PairedTest(Resampling):
    """How systems are compared."""

    test: Test = option("randomisation", "The paired test.", shows_default=True)
    alpha: float = option(0.05, "Level of significance: a smaller corrected p-value is marked.", shows_default=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.test not in TESTS:
            raise SpecError(f"no test is called {self.test!r}; there are: {', '.join(TESTS)}")
        if not 0 < self.alpha < 1:
            raise SpecError(f"alpha {self.alpha:g}; it must lie between 0 and 1, such as 0.05")


@dataclass(frozen=True, kw_only=True)
class Clusters(Options):
    """What is drawn together, where that is more than a video."""

    cluster: object = option(
        None,
        "Resample groups of videos: a field of the references, a file of ids and groups, or a /pattern/ of ids.",
        metavar="FIELD",
    )


def check_seed(seed: int) -> None:
    if seed < 0:
        raise SpecError(f"seed {seed}; it is a whole number from 0 on")
    if seed >= 2**63:
        raise SpecError(f"seed {shown(seed)}; it must be below 2^63")


def check_level(level: float, method: str) -> None:
    if not 0 < level < 1:
        raise SpecError(f"level {level:g}; it must lie between 0 and 1, such as 0.95")
    if method not in METHODS:
        raise SpecError(f"no interval is called {method!r}; there are: {', '.join(METHODS)}")
