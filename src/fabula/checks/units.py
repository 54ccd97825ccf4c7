"""Checks of the file as a whole: are these numbers seconds? Looks at all videos together, for one proves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from fabula.checks._check import Check, Facts, Place

ENOUGH = 3  # events before the numbers say anything
MOST = 0.95


def ends(facts: Facts) -> list[float]:
    return [max(e.segment.start, e.segment.end) for _, _, e in facts.events()]


def ratios(facts: Facts) -> list[float]:
    """How far each video's last event reaches, in durations."""
    return [max(max(e.segment.start, e.segment.end) for e in s.events) / long for _, s, long in facts.timed() if len(s)]


def whole(facts: Facts) -> bool:
    return all(t == int(t) for _, _, e in facts.events() for t in (e.segment.start, e.segment.end))


def normalise_text(facts: Facts) -> Iterator[Place]:
    all_ends = ends(facts)
    if len(all_ends) < ENOUGH or whole(facts) or (facts.durations and median(facts.durations.values()) < 5):
        return
    share = sum(0 <= e <= 1 for e in all_ends) / len(all_ends)
    if share >= MOST:
        yield Place(None, None, f"{share:.0%} of {len(all_ends):,} events end between 0 and 1")


def too_large(facts: Facts, low: float, high: float, what: str) -> Iterator[Place]:
    reach = ratios(facts)
    if len(ends(facts)) >= ENOUGH and reach and low <= median(reach) < high:
        yield Place(
            None,
            None,
            f"the last event ends at {median(reach):.1f} durations (median of {len(reach):,} videos): {what}?",
        )


def frames(facts: Facts) -> Iterator[Place]:
    return too_large(facts, 2, 200, "frame numbers")


def milliseconds(facts: Facts) -> Iterator[Place]:
    return too_large(facts, 200, float("inf"), "milliseconds")


def hundredths(facts: Facts) -> Iterator[Place]:
    """Everything ends by 100, some near it, while the videos last longer, and differently."""
    reach = [max(max(e.segment.start, e.segment.end) for e in s.events) for _, s, _ in facts.timed() if len(s)]
    if len(reach) < ENOUGH or max(reach) > 100 or median(reach) < 75:
        return
    if median(facts.durations.values()) > 130:
        yield Place(None, None, f"nothing ends after {max(reach):g}, yet half of the videos last over 130 s: percent?")


def indices(facts: Facts) -> Iterator[Place]:
    """Whole numbers that only count the events of a much longer video."""
    stories = [(s, long) for _, s, long in facts.timed() if len(s) >= ENOUGH]
    if not stories or not whole(facts):
        return
    odd = [s for s, long in stories if (last := max(e.segment.end for e in s.events)) <= 2 * len(s) and last * 4 < long]
    if len(odd) >= 0.9 * len(stories):
        yield Place(
            None, None, f"in {len(odd):,} of {len(stories):,} videos the times hardly exceed the number of events"
        )


CHECKS = (
    Check("normalised", "error", "Times between 0 and 1: parts of the video rather than seconds.", normalise_text),
    Check("frames", "error", "Times far past the durations: frame numbers rather than seconds.", frames),
    Check("milliseconds", "error", "Times hundreds of durations long: milliseconds rather than seconds.", milliseconds),
    Check("indices", "warning", "Times that look like counted events or clips rather than seconds.", indices),
    Check("hundredths", "warning", "Times that look like percent of the video rather than seconds.", hundredths),
)
