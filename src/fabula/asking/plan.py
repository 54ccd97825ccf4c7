"""Calls, pictures and tokens of a run, before anything is sent.

Films are opened and not decoded: times are those of their packets. Tokens of pictures are estimated by the model's
family (media/token_costs.py), words on the long side; an answer is counted at the length that such answers have, and at
the most that it may have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fabula.asking.bench import group_films, read_bench
from fabula.asking.options import AskOptions
from fabula.asking.run import limit_bench
from fabula.asking.settings import Settings
from fabula.asking.sources import name_film
from fabula.core.errors import FabulaError
from fabula.core.notes import Notes, Progress, ignore, silent
from fabula.documents.fields import JsonDict
from fabula.llm.call import count_tokens
from fabula.llm.prices import Prices
from fabula.media.extract import find_videos
from fabula.media.film_times import measure_times
from fabula.media.frame_sets import select_frames

MARK = 12  # tokens of a time
USUAL = {"grounding": 20, "highlights": 60, "options": 5, "free": 60, "dense": 400}  # tokens of an answer, about
SECONDS = 5.0  # that a call takes, about


@dataclass(frozen=True)
class AskPlan:
    """What a run takes."""

    model: str
    family: str  # whose picture tokens are reckoned with
    films: int
    seconds: float  # of film
    calls: int
    pictures: int
    tokens_in: int
    tokens_out: int  # as answers are, about
    longest_out: int
    cost: float | None  # None: no price is known
    most: float | None
    minutes: float  # at the set concurrency, at 5 s a call
    budget: float | None
    settings: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonDict:
        names = ("model", "family", "films", "seconds", "calls", "pictures", "tokens_in", "tokens_out", "longest_out")
        return {
            **{name: getattr(self, name) for name in names},
            "cost": self.cost,
            "cost at most": self.most,
            "minutes": self.minutes,
            "settings": self.settings,
        }

    def lines(self) -> list[str]:
        """For a terminal."""
        rows = [
            f"films\t{self.films:,}\t{self.seconds:,.1f} s",
            f"calls\t{self.calls:,}\tabout {self.minutes:,.1f} minutes at {SECONDS:g} s a call",
            f"pictures\t{self.pictures:,}\ttokens as of {self.family}",
            f"tokens in\t{self.tokens_in:,}\tabout",
            f"tokens out\t{self.tokens_out:,}\tat most {self.longest_out:,}",
        ]
        if self.cost is None:
            rows.append("cost\tunknown\tsay --price IN/OUT for a million tokens")
        else:
            rows.append(f"cost\t{self.cost:,.4f}\tat most {self.most:,.4f}")
        if self.budget is not None and self.most is not None and self.most > self.budget:
            rows.append(f"budget\t{self.budget:g}\tit may end before the last question")
        return [*rows, f"settings\t{self.settings}", *self.notes]


def plan_bench(
    path: str | Path,
    options: AskOptions,
    progress: Progress = silent,
    warn: Callable[[str], None] = ignore,
) -> AskPlan:
    """What a run over this benchmark takes; nothing is sent."""
    options.check_videos()
    bench = limit_bench(read_bench(path, options.task, options.format), options.limit)
    settings, notes = Settings(options, bench.kinds), Notes()
    settings.check()
    films = find_videos(options.videos, warn)
    groups = group_films(bench, films, options.skip_bad, notes)
    seconds, calls, pictures, tokens, out = 0.0, 0, 0, 0, 0
    for n, (id, jobs) in enumerate(groups.items()):
        progress("looking at films", n, len(groups))
        try:
            film = measure_times(films[id])
            count = 0 if settings.layout.needs_film else len(select_frames(film, settings.recipe).indices)
        except FabulaError as error:
            if not options.skip_bad:
                raise name_film(error, films[id]) from None
            notes.add("{n} questions are left out, for their films cannot be read", f"{id}: {error}", len(jobs))
            continue
        height, width = settings.pictures.size(film.height, film.width, max(1, count))
        shown = count * (settings.cost.of_pictures(height, width) + MARK)
        seconds += film.duration
        calls += len(jobs)
        pictures += count * len(jobs)
        tokens += sum(shown + count_tokens(settings.write_prompt(one, film.duration)) for _, one in jobs)
        out += sum(min(USUAL[one.kind], options.max_tokens) for _, one in jobs)
    prices, longest = Prices.parse(options.price), calls * options.max_tokens
    known = prices.known(options.model)
    if settings.layout.needs_film:
        notes.add("the server takes the frames of each film itself: their tokens are not counted")
    return AskPlan(
        options.model,
        settings.cost.name,
        len(groups),
        seconds,
        calls,
        pictures,
        tokens,
        out,
        longest,
        prices.cost(options.model, tokens, out) if known else None,
        prices.cost(options.model, tokens, longest) if known else None,
        calls * SECONDS / options.concurrency / 60,
        options.budget,
        settings.line(),
        tuple(notes.lines()),
    )
