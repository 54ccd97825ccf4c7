"""A metric as a reward of a trainer: reads what the model wrote, never raises, counts what it could not read.

    soda = RewardFunction("SODA_c", refs="events")                    TRL: GRPOTrainer(reward_funcs=[soda], …)
    orms["soda_c"] = swift_reward("SODA_c", refs="events")            ms-swift: in a file of --external_plugins

`refs` is the column of the data set that holds the truth, `duration` the one with the length of the video, if there is
one. A completion is text, or a list of messages of which the last one's text counts; what stands within <think> is not
the answer, what stands within <answer> is.

    metrics of stories    the answer is read as events (docs/answers.md); truth: {"timestamps": …, "sentences": …},
                          [{"start", "end", "caption"}, …] or [[start, end, caption], …]; several of these; as JSON text
    metrics of captions   the answer is the caption; truth: a text, or several
    Grounding             the first window of the answer; truth: [start, end], or several; the reward is the IoU

An answer that gives nothing to score has the reward `unread` (0). Where the truth is at fault, or the metric fails, the
reward is None, which trainers leave out; `counts` has both, and the first of each kind is said once.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fabula.core.notes import announce
from fabula.core.patterns import read_python_literal
from fabula.data.moments import Id, Query, Ranking
from fabula.evaluate.rankings import moment_rows
from fabula.evaluate.rewards import reward
from fabula.io.answers import Options, parse
from fabula.metrics import Metric
from fabula.metrics import metric as make_metric

ANSWER = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", flags=re.S | re.I)
Rewards = list[float | None]
Unchecked = Any  # what a trainer or a data set hands over; what is wrong with it costs one reward


class RewardFunction:
    """Called as TRL calls rewards, by keyword; completions may also come first, as ms-swift hands them over."""

    def __init__(
        self, metric: str | Metric, *, refs: str = "refs", duration: str = "duration", unread: float = 0.0
    ) -> None:
        self.metric = make_metric(metric, "grounding") if isinstance(metric, str) else metric
        self.refs, self.duration, self.unread = refs, duration, unread
        self.__name__ = f"fabula_{self.metric.name}"  # what trainers log it under
        self.counts = {"seen": 0, "unread": 0, "no_truth": 0, "failed": 0}
        if self.metric.reads == "moments":
            self.read_answer, self.read_truth, self.score = read_window, read_windows, self.score_windows
        else:
            scorer = reward(self.metric)
            self.read_answer = read_caption if self.metric.reads == "captions" else read_events
            self.read_truth = read_captions if self.metric.reads == "captions" else read_stories
            self.score = lambda answers, truths: [float(x) for x in scorer(answers, truths)]

    read_answer: Callable[[str, float | None], object]  # None: nothing to score in it
    read_truth: Callable[[Unchecked], object]  # ValueError where there is none
    score: Callable[[list[Unchecked], list[Unchecked]], list[float]]

    def __call__(self, completions: Sequence[object] = (), **columns: Unchecked) -> Rewards:
        before = dict(self.counts)
        made = self.rewards(completions, columns)
        self.log({k: self.counts[k] - before[k] for k in self.counts}, columns.get("log_metric"))
        return made

    def rewards(self, completions: Sequence[object], columns: dict[str, Unchecked]) -> Rewards:
        made: Rewards = [None] * len(completions)
        ready: list[tuple[int, object, object]] = []
        for i, completion in enumerate(completions):
            self.counts["seen"] += 1
            try:
                truth = self.read_truth(decode(column_value(columns, self.refs, i)))
            except Exception as error:  # the data set is at fault, and the training goes on
                self.note("no_truth", f"the column {self.refs!r} holds no truth for {self.metric.name} ({error})")
                continue
            answer = self.attempt(completion, column_value(columns, self.duration, i, None))
            if answer is None:
                made[i] = self.unread
                self.note("unread", f"a completion gives nothing to score: {completion!r:.120}")
            else:
                ready.append((i, answer, truth))
        for (i, _, _), value in zip(ready, self.scored(ready), strict=True):
            made[i] = value
        return made

    def attempt(self, completion: object, duration: object) -> object:
        """What the completion says, or None."""
        try:
            seconds = float(duration) if isinstance(duration, int | float) and 0 < duration < math.inf else None
            text = answer_text(completion)
            return None if text is None else self.read_answer(text, seconds)
        except Exception:  # whatever a model wrote must not end a training
            return None

    def scored(self, ready: list[tuple[int, object, object]]) -> Rewards:
        """All at once; where that fails, one by one, so that one item costs one reward."""
        try:
            return self.finite(self.score([a for _, a, _ in ready], [t for _, _, t in ready])) if ready else []
        except Exception:
            found: Rewards = []
            for _, answer, truth in ready:
                try:
                    found += self.finite(self.score([answer], [truth]))
                except Exception as error:
                    self.note("failed", f"{self.metric.name} failed ({type(error).__name__}: {error})")
                    found.append(None)
            return found

    def finite(self, values: list[float]) -> Rewards:
        bad = sum(not math.isfinite(v) for v in values)
        if bad:
            self.note("failed", f"{self.metric.name} gave no number", bad)
        return [v if math.isfinite(v) else None for v in values]

    def note(self, what: str, line: str, count: int = 1) -> None:
        """Counted; the first of its kind is said."""
        if not self.counts[what]:
            announce(f"{self.__name__}: {line}; from now on such cases are only counted")
        self.counts[what] += count

    def log(self, new: dict[str, int], log_metric: object) -> None:
        """Shares of this batch, where the trainer has a place for them."""
        if callable(log_metric) and new["seen"]:
            for what in ("unread", "no_truth", "failed"):
                log_metric(f"{self.__name__}/{what}", new[what] / new["seen"])

    def score_windows(self, answers: list[Unchecked], truths: list[Unchecked]) -> list[float]:
        queries: dict[Id, Query] = {i: Query(i, "v", windows) for i, windows in enumerate(truths)}
        rankings = (("", Ranking(i, np.array([window], np.float64))) for i, window in enumerate(answers))
        (rows,) = moment_rows([self.metric], queries, rankings).rows.values()  # type: ignore[list-item]
        field = "miou" if "miou" in rows.columns else self.metric.primary
        by_id = dict(zip(rows.keys, rows[field].tolist(), strict=True))
        return [float(by_id[i]) for i in queries]


def swift_reward(metric: str | Metric, **settings: Any) -> type:
    """The same as a class, as ms-swift makes rewards: `Class(args)`, then `reward(completions, **columns)`."""

    class Reward(RewardFunction):
        def __init__(self, args: object = None, **more: object) -> None:
            super().__init__(metric, **settings)

    name = (make_metric(metric) if isinstance(metric, str) else metric).name
    Reward.__name__ = Reward.__qualname__ = f"Fabula_{name}"
    return Reward


# ── what a completion says ───────────────────────────────────────────────────────────────────────────────────────────


def answer_text(completion: Unchecked) -> str | None:
    """The text of a completion: of messages the last one's, of parts all of them; without thoughts and tags."""
    if isinstance(completion, list) and completion and isinstance(completion[-1], dict):
        said = completion[-1].get("content") if "content" in completion[-1] else completion
        if isinstance(said, list):
            said = "".join(part.get("text") or "" for part in said if isinstance(part, dict))
        completion = said
    if not isinstance(completion, str):
        return None
    _, closed, text = completion.rpartition("</think>")
    if not closed and "<think>" in text:
        return None  # it never stopped thinking
    found = ANSWER.search(text)
    return (found.group(1) if found else text).strip() or None


def read_caption(text: str, duration: float | None) -> str:
    return text


def read_events(text: str, duration: float | None) -> list[tuple[float, float, str]] | None:
    events = parse(text, Options(duration=duration)).events
    return [(e.segment.start, e.segment.end, e.caption or "") for e in events] or None


def read_window(text: str, duration: float | None) -> tuple[float, float] | None:
    events = read_events(text, duration)
    return events[0][:2] if events else None


# ── what the data set says ───────────────────────────────────────────────────────────────────────────────────────────


def column_value(columns: dict[str, Unchecked], name: str, i: int, default: Unchecked = ...) -> Unchecked:
    """The value of item i; TRL and ms-swift repeat columns for each generation."""
    column = columns.get(name, default)
    if column is ...:
        raise LookupError(f"there is none; there are {', '.join(map(repr, columns)) or 'no columns'}")
    if column is default or column is None:
        return default
    return column[i]


def decode(value: Unchecked) -> Unchecked:
    """Truth as JSON, or as Python prints it, where it came as such text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return read_python_literal(value)
    return value


def read_captions(truth: Unchecked) -> list[str]:
    several = [truth] if isinstance(truth, str) else list(truth)
    if not several or not all(isinstance(t, str) and t.strip() for t in several):
        raise ValueError(f"a caption or several, saw {truth!r:.80}")
    return several


def read_stories(truth: Unchecked) -> list[list[tuple[float, float, str]]]:
    """One story or several, each with an event."""
    several = truth if is_several(truth) else [truth]
    made = [[(float(start), float(end), str(said)) for start, end, said in story_rows(story)] for story in several]
    if not made or not all(made) or not all(math.isfinite(x) for story in made for e in story for x in e[:2]):
        raise ValueError(f"[[start, end, caption], …], saw {truth!r:.80}")
    return made


def is_several(truth: Unchecked) -> bool:
    """True for a list of stories: of objects with times, or of lists of events."""
    if not isinstance(truth, list | tuple) or not truth:
        return False
    return "timestamps" in truth[0] if isinstance(truth[0], dict) else isinstance(truth[0][0], list | tuple | dict)


def story_rows(story: Unchecked) -> list[Unchecked]:
    """A story's events as (start, end, caption)."""
    if isinstance(story, dict):
        return [(*t, said) for t, said in zip(story["timestamps"], story["sentences"], strict=True)]
    return [(e["start"], e["end"], e["caption"]) if isinstance(e, dict) else e for e in story]


def read_windows(truth: Unchecked) -> tuple[tuple[float, float], ...]:
    several = [truth] if isinstance(truth[0], int | float) else truth
    made = tuple((float(start), float(end)) for start, end in several)
    if not made or not all(0 <= start < end < math.inf for start, end in made):
        raise ValueError(f"[start, end] or several, saw {truth!r:.80}")
    return made
