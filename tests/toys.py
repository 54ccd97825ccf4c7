"""Small stories, written so that a reader can redo the arithmetic."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

from fabula import text
from fabula.core.rows import Rows
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.diagnosis.finding import Found, Limits, find_many
from fabula.metrics import Metric, metric
from fabula.metrics.stories import Stories
from fabula.pair.grid import Grid
from fabula.text._scorer import OneByOne

PROGRESS = re.compile(r"fabula: .*: \d+( so far| of \d+ \(\d+ %\))")  # printed every ten seconds: by a slow machine


def notes_of(stderr: str) -> list[str]:
    """The lines of standard error without those that say how far a slow run is."""
    return [line for line in stderr.strip().splitlines() if not PROGRESS.fullmatch(line)]


Told = tuple[float, float] | tuple[float, float, str]


def story(*events: Told, id: str = "v", duration: float | None = None) -> Story:
    """story((0, 10, "a dog runs"), (12, 20, "it stops")); without words: story((0, 10), (12, 20))."""
    made = tuple(Event(Segment(float(e[0]), float(e[1])), e[2] if len(e) == 3 else None) for e in events)
    return Story(id, made, duration)


def corpus(stories: dict[str, Sequence[Told]], name: str = "", duration: float | None = None) -> Corpus:
    """corpus({"v1": [(0, 10, "a dog runs")], "v2": []})"""
    return Corpus({v: story(*events, id=v, duration=duration) for v, events in stories.items()}, name=name)


class Share(OneByOne):
    """A caption scorer that is not symmetric: the share of the candidate's words that the reference has."""

    name, version = "share", "0"

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> np.ndarray:
        words = [(set(c.split()), set(r.split())) for c in candidates for r in references]
        return np.array([len(c & r) / max(len(c), 1) for c, r in words]).reshape(len(candidates), len(references))


@pytest.fixture
def share(monkeypatch: pytest.MonkeyPatch) -> None:
    """`text=share` is understood while a test runs. Import it where it is wanted."""
    found = text.room.get
    monkeypatch.setattr(text.room, "get", lambda name: Share() if name == "share" else found(name))


def rows(asked: str | Metric, refs: Corpus | Sequence[Corpus], pred: Corpus) -> Rows:
    sets = [refs] if isinstance(refs, Corpus) else refs
    made = metric(asked) if isinstance(asked, str) else asked
    return made.table(Stories(sets, pred))


def fold(asked: str | Metric, refs: Corpus | Sequence[Corpus], pred: Corpus) -> dict[str, float]:
    """The numbers of a metric: no file read, no segment judged beforehand."""
    made = metric(asked) if isinstance(asked, str) else asked
    return made.fold(rows(made, refs, pred))


def one(asked: str | Metric, ref: Story, pred: Story) -> dict[str, float]:
    """The row of one video."""
    table = rows(asked, Corpus({"v": ref}), Corpus({"v": pred}))
    assert len(table) == 1
    return {name: float(column[0]) for name, column in table.columns.items()}


# The toy of Batra et al. (BMVC 2022), notebook of the official repository: 3 references, 6 proposals.
GOLD = np.array([(5, 10), (11, 19), (28, 32)], dtype=float)
PROPOSALS = np.array([(3, 7), (4, 14), (15, 33), (24, 30), (25, 33), (37, 45)], dtype=float)

# Its Fig. 3: 3 references, 4 proposals; what the figure does not state is 0.
FIG3 = np.array([(0.26, 0.32, 0, 0), (0, 0.49, 0, 0), (0, 0, 0, 0.75)])

# End-to-end toy, measured with SODA's published evaluator; predictions unsorted, v_c not predicted.
GOLD_STORIES = {
    "v_a": [
        (0, 10, "a man is playing a guitar"),
        (12, 30, "he sings a song on the stage"),
        (35, 58, "the crowd claps and cheers"),
    ],
    "v_b": [(5, 20, "add oil to the hot pan"), (22, 40, "chop the onion and stir it")],
    "v_c": [(0, 4, "a dog runs")],
}
PREDICTED_STORIES = {
    "v_a": [
        (40, 60, "the crowd is cheering."),
        (1, 11, "a man plays the guitar on stage."),
        (10, 28, "he sings a song"),
        (11, 33, "a man sings"),
    ],
    "v_b": [(21, 24, "add oil to a pan"), (6, 19, "chop an onion")],
}


def find(ref: Story, pred: Story, captions, limits: Limits, in_time: bool = True) -> Found:
    """The errors of one story. captions [G, P], None where there are no words."""
    return find_many(Grid.of([(ref, pred)]), None if captions is None else captions.ravel(), limits, in_time)[0]
