"""Gates: a verb that ends with exit code 3 where a number is too low, or a system worse; for a script to heed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabula.core.errors import GateError, SpecError
from fabula.core.registry import close_to, key

if TYPE_CHECKING:
    from fabula.data.result import Result
    from fabula.stats.compare import Comparison


def read_floors(said: Sequence[str]) -> list[tuple[str, str | None, float]]:
    """`SODA_c=.27`, `PRF/recall=.3` → metric, number or None for the primary one, floor."""
    found = []
    for text in said:
        left, equals, right = text.partition("=") if "(" not in text else text.rpartition("=")
        name, _, part = left.partition("/")
        try:
            floor = float(right)
        except ValueError:
            floor = float("nan")
        if not equals or not name or floor != floor:
            raise SpecError(f"--fail-under {text}; write METRIC=NUMBER, as SODA_c=.27, or PRF/recall=.3")
        check_fraction(name.strip(), floor)
        found.append((name.strip(), part.strip() or None, floor))
    return found


def check_fraction(name: str, floor: float) -> None:
    """Refuse a floor in points before anything is scored; what is no metric of ours is looked at afterwards."""
    from fabula.metrics import room

    metric = room.find_own(name.partition("(")[0].partition("@")[0])
    if metric is not None and metric.scale == 100 and floor > metric.highest:
        raise SpecError(f"--fail-under {name}={floor:g}: scores are fractions, write {floor / 100:g}")


def check_floors(result: Result, floors: Sequence[tuple[str, str | None, float]]) -> None:
    """Every number that is too low, in one line."""
    low = []
    for name, part, floor in floors:
        label = next((n for n in result.scores if key(n) == key(name)), None)
        if label is None:
            raise SpecError(f"--fail-under: no score is called {name!r}; {close_to(name, list(result.scores))}")
        score = result[label]
        if part is not None and part not in score.values:
            raise SpecError(f"--fail-under: {label} has no {part!r}; {close_to(part, list(score.values))}")
        value = score.values[part or score.primary]
        if floor > 1 >= value and score.scale == 100:
            raise SpecError(f"--fail-under {name}={floor:g}: scores are fractions, write {floor / 100:g}")
        if not value >= floor:  # NaN is not
            shown = f"{label}/{part or score.primary}" if (part or score.primary) != "value" else label
            low.append(f"{shown} is {value:.4f}, below {floor:g}")
    if low:
        raise GateError(f"not passed: {'; '.join(low)}")


def check_worse(seen: Comparison) -> None:
    """Systems that are worse than the first, beyond luck, in one line."""
    first, alpha = seen.systems[0], seen.testing.alpha
    worse = [
        f"{duel.b} − {first} = {duel.delta * line.scale:+.2f} on {line.metric}"
        + (" [{:+.2f}, {:+.2f}]".format(*(x * line.scale for x in duel.interval)) if duel.interval else "")
        + f", p = {duel.p_holm:.4f}"
        for line in seen.lines.values()
        for duel in line.duels
        if duel.a == first and duel.delta < 0 and duel.p_holm < alpha
    ]
    if worse:
        raise GateError(f"worse than {first} (p < {alpha:g}): {'; '.join(worse)}")
