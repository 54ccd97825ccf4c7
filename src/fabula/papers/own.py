"""Steps that no verb has: simulated annotations (`world`), and checks of printed definitions (`check`).

world steps OUT seed=1 steps=8 seconds=20 train.json=24 val.json=8      learn/worlds/annotations.py
check algorithm OUT seed=0 matrices=200 levels=0                        papers/checks.py
check regions OUT PREDICTIONS REFERENCES
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabula.core.errors import SpecError
from fabula.documents.files import dump_json, load_json


@dataclass(frozen=True)
class Words:
    """What follows the name of such a step."""

    out: Path
    paths: list[Path]
    numbers: dict[str, float]

    def whole(self, name: str) -> int:
        return int(self.numbers[name])

    @property
    def files(self) -> dict[str, int]:
        """Files to be written, and how many videos each has."""
        return {name: int(count) for name, count in self.numbers.items() if "." in name}


def run_own(words: Sequence[str]) -> None:
    """One such step."""
    verb, name, out, *rest = words
    found = STEPS.get(f"{verb} {name}")
    if found is None:
        raise SpecError(f"no step is called {verb} {name}; there are: {', '.join(STEPS)}")
    pairs = (word.partition("=") for word in rest if "=" in word)
    numbers = {key: float(value) for key, _, value in pairs}
    found(Words(Path(out), [Path(word) for word in rest if "=" not in word], numbers))


def world_steps(words: Words) -> None:
    from fabula.learn.worlds.annotations import write_steps

    words.out.mkdir(parents=True)
    write_steps(words.out, words.files, words.whole("seed"), words.numbers["steps"], words.numbers["seconds"])


def world_moments(words: Words) -> None:
    from fabula.learn.worlds.annotations import write_moments

    words.out.mkdir(parents=True)
    write_moments(words.out, words.files, words.whole("seed"), words.numbers["duration"], words.numbers["seconds"])


def world_regions(words: Words) -> None:
    from fabula.learn.worlds.annotations import write_regions

    words.out.mkdir(parents=True)
    write_regions(words.out, words.whole("seed"), words.whole("images"))


def world_plan(words: Words) -> None:
    from fabula.learn.worlds.annotations import write_plan

    words.out.mkdir(parents=True)
    write_plan(words.out, words.paths[0], words.whole("items"))


def world_join(words: Words) -> None:
    """The stories of several files as one."""
    dump_json(words.out, {video: story for path in words.paths for video, story in load_json(path).items()})


def check_algorithm(words: Words) -> None:
    from fabula.papers.checks import compare_algorithm

    dump_json(words.out, compare_algorithm(words.whole("seed"), words.whole("matrices"), words.whole("levels")))


def check_regions(words: Words) -> None:
    from fabula.papers.checks import mean_precision

    dump_json(words.out, mean_precision(*words.paths))


STEPS: dict[str, Callable[[Words], None]] = {
    "world steps": world_steps,
    "world moments": world_moments,
    "world regions": world_regions,
    "world plan": world_plan,
    "world join": world_join,
    "check algorithm": check_algorithm,
    "check regions": check_regions,
}
