"""The work of tables: their command lines with names filled in, each known by a hash of all that it depends on.

Two rows, or two tables, that say the same command line about the same data share its work.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from fabula.core.errors import SpecError
from fabula.papers.sources import Inputs, sources
from fabula.papers.table import Row, Table

NAME = re.compile(r"\{([\w-]+)((?:[/.])[^{}]*)?\}")
OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
OUTPUTS = {  # what a verb is told of its output, where the line itself says nothing of {out}
    "train": "--out {out}",
    "predict": "-o {out.json}",
    "baseline": "-o {out.json}",
    "convert": "-o {out.json}",
    "score": "--json {out.json}",
    "stress": "--json {out.json}",
}
OWN = ("world", "check")  # steps that are functions of this package: papers/own.py
SEEDED = ("train",)  # verbs that get --seed
FIRST_SEED = 777


@dataclass(frozen=True, slots=True)
class Step:
    """One command line."""

    key: str
    words: tuple[str, ...]  # with paths below the work folder, which stand as {KEY…}
    output: str  # the name of what it writes, in the folder of the step
    after: tuple[str, ...]  # keys of the steps that it reads
    is_source: bool = False  # it makes a simulated copy of a source

    @property
    def verb(self) -> str:
        return self.words[0]


class Value(NamedTuple):
    """What a {name} of a command line stands for."""

    text: str
    mark: str
    after: tuple[str, ...] = ()


@dataclass(slots=True)
class Missing:
    """Sources that no option names."""

    names: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "needs " + ", ".join(f"{sources()[n].need} ({sources()[n].about})" for n in self.names)


@dataclass(slots=True)
class Plan:
    """Steps of tables, each after those that it reads."""

    inputs: Inputs
    simulate: bool
    steps: dict[str, Step] = field(default_factory=dict)

    def add_row(self, table: Table, row: Row, part: str, seed: int) -> dict[str, str] | str:
        """The keys of the row's steps by their names; or why it cannot be run."""
        missing = Missing()
        lines = [self.complete(line, table, row, part) for line in row.steps]
        values = {"seed": Value(str(seed), str(seed))}
        for name in wanted_sources(lines):
            found = self.find_source(name, table)
            if found is None:
                missing.names.append(name)
            else:
                values[name] = found
        if missing.names:
            return str(missing)
        keys: dict[str, str] = {}
        for line in lines:
            step = self.add(line, values)
            name = name_step(step.verb, keys)
            keys[name] = step.key
            values[name] = Value(f"{{{step.key}}}/{step.output}", step.key, (step.key,))
        return keys

    def complete(self, line: str, table: Table, row: Row, part: str) -> str:
        """A line with the variables of its row and part, and what is added to it: seed, options, output."""
        verb = line.split(maxsplit=1)[0]
        if verb in SEEDED:
            line += " --seed {seed}"
        if self.simulate:
            line += " " + {**table.simulate, **row.simulate}.get(verb, "")
        if "{out" not in line and verb not in OWN:
            line += f" {OUTPUTS[verb]}"
        line = fill_variables(line, table, row, part)
        return OPTIONAL.sub(lambda m: m[1] if self.has_all(m[1]) else "", line)

    def has_all(self, text: str) -> bool:
        """Whether the words in brackets are used: always on real data; on a simulated copy where it has the source."""
        return not self.simulate or all(
            sources()[n].simulate or self.inputs.find(n, False) for n in wanted_sources([text])
        )

    def find_source(self, name: str, table: Table) -> Value | None:
        option = sources()[name].option
        alone = [n for n in needed_sources(table) if sources()[n].option == option] == [name]
        if (found := self.inputs.find(name, alone)) is not None:
            return Value(str(found.path), found.mark)
        line = sources()[name].simulate
        if not self.simulate or not line:
            return None
        values = {n: v for n in wanted_sources([line]) if (v := self.find_source(n, table)) is not None}
        step = self.add(line, values, is_source=True)
        return Value(f"{{{step.key}}}/{step.output}", step.key, (step.key,))

    def add(self, line: str, values: Mapping[str, Value], is_source: bool = False) -> Step:
        """The step of a command line; known already where another row has said the same."""
        output, after = "out.json", list[str]()
        words, marks = list[str](), list[str]()
        for word in shlex.split(line):
            shown, mark = word, word
            for found in NAME.finditer(word):
                name, rest = found[1], found[2] or ""
                if name == "out":
                    output = f"out{rest}"
                    shown = shown.replace(found[0], "{out}")
                    continue
                if name not in values:
                    raise SpecError(f"no step, source or variable is called {name!r}: {line}")
                value = values[name]
                shown = shown.replace(found[0], value.text + rest)
                mark = mark.replace(found[0], f"{{{value.mark}{rest}}}")
                after += [key for key in value.after if key not in after]
            words.append(shown)
            marks.append(mark)
        text = json.dumps([marks, output])
        key = hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
        return self.steps.setdefault(key, Step(key, tuple(words), output, tuple(after), is_source))

    def chains(self, of_sources: bool) -> list[list[Step]]:
        """Steps that read each other, in order; two chains share nothing but sources."""
        chosen = {key: step for key, step in self.steps.items() if step.is_source == of_sources}
        root = {key: key for key in chosen}

        def find(key: str) -> str:
            while root[key] != key:
                key = root[key]
            return key

        for key, step in chosen.items():
            for other in step.after:
                if other in chosen:
                    root[find(key)] = find(other)
        grouped: dict[str, list[Step]] = {}
        for key, step in chosen.items():
            grouped.setdefault(find(key), []).append(step)
        return list(grouped.values())


def fill_variables(line: str, table: Table, row: Row, part: str) -> str:
    """A line with the variables of its row and part; sources and steps stay names."""
    variables = {**table.parts.get(part, {}), **row.variables, "part": part}
    while True:  # a variable may name others
        filled = NAME.sub(lambda m: variables[m[1]] + (m[2] or "") if m[1] in variables else m[0], line)
        if filled == line:
            return line
        line = filled


def wanted_sources(lines: Sequence[str]) -> list[str]:
    """The sources that lines name, each once."""
    return list(dict.fromkeys(m[1] for line in lines for m in NAME.finditer(line) if m[1] in sources()))


def needed_sources(table: Table) -> list[str]:
    """The sources that a table names, each once."""
    rows = [(row, part) for row in table.rows for part in table.parts_of(row)]
    return wanted_sources([fill_variables(line, table, row, part) for row, part in rows for line in row.steps])


def name_step(verb: str, before: Mapping[str, str]) -> str:
    """train, train2, …"""
    count = sum(re.fullmatch(rf"{verb}\d*", name) is not None for name in before)
    return verb if not count else f"{verb}{count + 1}"


def place_words(step: Step, root: Path) -> Iterator[str]:
    """The words with the paths of this work folder."""
    for word in step.words:
        word = word.replace("{out}", str(root / step.key / step.output))
        yield re.sub(r"\{([0-9a-f]{20})\}", lambda m: str(root / m[1]), word)
