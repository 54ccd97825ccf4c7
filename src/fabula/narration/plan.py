"""Calls, pictures, tokens and cost of a run, before anything is sent.

Films are opened, and not decoded: times are those of their packets, and windows are cut without the camera's cuts, so
that a run may have a window more or less. Tokens are estimated on the long side, by the model's family for pictures
(media/token_costs.py); answers are counted at the length that such answers have, and at the most that they may have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fabula.core.notes import Progress, silent
from fabula.documents.fields import JsonDict
from fabula.llm.call import count_tokens
from fabula.llm.prices import Prices
from fabula.media.film_times import measure_times
from fabula.narration.calls import Asking, WindowContext
from fabula.narration.companions import Library
from fabula.narration.windows import cut_windows

ANSWER, TITLE = 30, 30  # tokens of an event in an answer, of a title
PAUSE = 8.0  # seconds of film for an event, about
SECONDS = 5.0  # that a call takes, about
MARK = 12  # tokens of a time


@dataclass(frozen=True)
class FilmPlan:
    """What one film takes."""

    seconds: float
    calls: int
    pictures: int
    tokens_in: int
    tokens_out: int  # as answers are, about
    longest_out: int  # as long as they may be

    def to_dict(self) -> JsonDict:
        names = ("seconds", "calls", "pictures", "tokens_in", "tokens_out", "longest_out")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class TellPlan:
    """What a run over films takes."""

    model: str
    family: str  # whose picture tokens are reckoned with
    films: Mapping[str, FilmPlan]
    cost: float | None  # None: no price is known
    most: float | None
    minutes: float  # at the set concurrency, at 5 s a call
    budget: float | None = None
    notes: tuple[str, ...] = ()
    settings: JsonDict = field(default_factory=dict)

    def total(self) -> FilmPlan:
        parts = list(self.films.values())
        sums = (sum(getattr(p, n) for p in parts) for n in ("calls", "pictures", "tokens_in", "tokens_out"))
        calls, pictures, tokens_in, tokens_out = sums
        longest = sum(p.longest_out for p in parts)
        return FilmPlan(sum(p.seconds for p in parts), calls, pictures, tokens_in, tokens_out, longest)

    def to_dict(self) -> JsonDict:
        return {
            "model": self.model,
            "family": self.family,
            "films": {id: plan.to_dict() for id, plan in self.films.items()},
            "total": self.total().to_dict(),
            "cost": self.cost,
            "cost at most": self.most,
            "minutes": self.minutes,
            "settings": self.settings,
        }

    def lines(self) -> list[str]:
        """For a terminal."""
        t = self.total()
        rows = [f"{'film':<24} {'seconds':>9} {'calls':>6} {'pictures':>9} {'tokens in':>11} {'out':>8}"]
        for id, plan in [*self.films.items(), *([("all", t)] if len(self.films) > 1 else [])]:
            name = id if len(id) <= 24 else id[:23] + "…"
            rows.append(
                f"{name:<24} {plan.seconds:>9,.1f} {plan.calls:>6,} {plan.pictures:>9,} {plan.tokens_in:>11,} "
                f"{plan.tokens_out:>8,}"
            )
        rows.append(f"picture tokens as of {self.family}; about {self.minutes:,.1f} minutes at {SECONDS:g} s a call")
        if self.cost is None:
            rows.append("no price was said: --price IN/OUT for a million tokens")
        else:
            rows.append(f"cost about {self.cost:,.4f}, at most {self.most:,.4f}")
        if self.budget is not None and self.most is not None and self.most > self.budget:
            rows.append(f"the budget of {self.budget:g} may end before the last film")
        return [*rows, *self.notes]


def plan_films(films: Mapping[str, Path], asking: Asking, library: Library, progress: Progress = silent) -> TellPlan:
    """What a run over these films takes."""
    plans = {}
    for n, (id, path) in enumerate(films.items()):
        progress("looking at films", n, len(films))
        plans[id] = plan_film(id, path, asking, library)
    o = asking.options
    prices = Prices.parse(o.price)
    known = prices.known(o.model)
    calls = sum(plan.calls for plan in plans.values())
    tokens_in = sum(plan.tokens_in for plan in plans.values())
    out, most = (sum(getattr(p, name) for p in plans.values()) for name in ("tokens_out", "longest_out"))
    return TellPlan(
        o.model,
        asking.cost.name,
        plans,
        prices.cost(o.model, tokens_in, out) if known else None,
        prices.cost(o.model, tokens_in, most) if known else None,
        calls * SECONDS / o.concurrency / 60,
        o.budget,
        tuple(library.notes.lines()),
        asking.describe(),
    )


def plan_film(id: str, path: Path, asking: Asking, library: Library) -> FilmPlan:
    o, source = asking.options, asking.source
    film = measure_times(path)
    companions = library.of_film(id)
    windows = cut_windows(film.duration, o.window, o.overlap)
    pictures = tokens = 0
    for window in windows:
        count = source.count(film, window)
        height, width = source.pictures.size(film.height, film.width, max(1, count))
        people = companions.people_of(window)
        prompt = asking.write_prompt(window, WindowContext(film.duration, companions), people)
        pictures += count + sum(p.portrait is not None for p in people)
        tokens += count * (asking.cost.of_pictures(height, width) + MARK) + count_tokens(prompt)
        tokens += asking.cost.of_pictures(96, 96) * len(people) + o.carry * ANSWER
    events = round(sum(w.length for w in windows) / PAUSE) + len(windows)
    calls, out = len(windows), min(events * ANSWER, len(windows) * o.max_tokens)
    if not o.untitled:
        calls, tokens, out = calls + 1, tokens + events * ANSWER + 200, out + TITLE
    return FilmPlan(film.duration, calls, pictures, tokens, out, calls * o.max_tokens)
