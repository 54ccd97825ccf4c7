"""What is said on the way: remarks, each kind once, counted, the first places named; how far a long run is; and what
takes long this once, told to whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fabula.core.errors import shown

NAMED = 3  # how many examples a warning names


@dataclass(slots=True)
class Notes:
    """Collects remarks by text. `{n}` in the text stands for the count."""

    kinds: dict[str, list[str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    tally: dict[str, int] = field(default_factory=dict)  # numbers that a result's counts take over: "unparsed"

    def add(self, text: str, example: str | None = None, count: int = 1) -> None:
        names = self.kinds.setdefault(text, [])
        self.counts[text] = self.counts.get(text, 0) + count
        if example is not None and len(names) < NAMED and example not in names:
            names.append(example)

    def extend(self, other: Notes) -> None:
        for text, names in other.kinds.items():
            self.add(text, count=other.counts[text])
            self.kinds[text] += [n for n in names if n not in self.kinds[text]][: NAMED - len(self.kinds[text])]
        for what, count in other.tally.items():
            self.tally[what] = self.tally.get(what, 0) + count

    def lines(self) -> list[str]:
        """One line a kind: `12 predicted events match nothing …: 'v_a' event 3, …`."""
        out = []
        for text, names in self.kinds.items():
            more = ", …" if self.counts[text] > len(names) else ""
            out.append(text.replace("{n}", str(self.counts[text])) + (f": {', '.join(names)}{more}" if names else ""))
        return out


def name_id(video: object, event: int | None = None) -> str:
    """How a warning names a place."""
    return shown(video) + (f" event {event}" if event is not None else "")


Progress = Callable[[str, int, int], None]  # what is being done, how far, of how many


def silent(what: str, done: int, total: int) -> None:
    """The progress of a library call: none."""


def ignore(line: str) -> None:
    """The warnings of a library call that nobody wants to hear."""


listeners: list[Callable[[str], None]] = []  # the command line puts itself here


def announce(line: str) -> None:
    """Something that takes long this once; where nobody listens, to the log, which shows it on standard error."""
    if listeners:
        listeners[-1](line)
        return
    import logging

    logging.getLogger("fabula").warning(line)
