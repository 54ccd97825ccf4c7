"""Options as dataclasses: a field carries its flag, its help text and the tasks that read it. A new option is one line.

    class ScoreOptions(Options):
        people: str | None = option(None, "Pattern of people in captions.", tasks=("identity",))

The command line makes its flags of the fields, a library call its keywords, and the checks what a task may be told.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from fabula.core.errors import SpecError
from fabula.core.registry import close_to
from fabula.core.spec import choices, hints

F = TypeVar("F", bound=Callable[..., Any])
MUST: Any = dataclasses.MISSING  # the default of an option that must be given


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is said of an option besides its name, type and default."""

    help: str
    flags: tuple[str, ...] = ()  # further flags: -m
    tasks: tuple[str, ...] | None = None  # those that read it; None: all
    choices: tuple[str, ...] = ()  # where the type does not say them
    several: bool = False  # takes every following word: --refs a b c
    parts: bool = False  # names, comma separated; said again, it adds to them
    joined: bool = False  # one text; said again, the texts are joined by a comma
    shows_default: bool = False
    metavar: str | None = None
    at_least: int | None = None  # of a whole number
    at_most: int | None = None
    writes: bool = False  # names a file to be written
    ending: str = ""  # a file with this ending may follow the flag; alone, it means standard output
    library_only: bool = False  # no flag
    argument: bool = False  # named without a flag


def option(default: Any, help: str, *flags: str, **about: Any) -> Any:
    """A field of an options object."""
    made = About(help=help, flags=flags, **about)
    if default is MUST:
        return dataclasses.field(metadata={"option": made})
    return dataclasses.field(default=default, metadata={"option": made})


def same_as(kind: type[Options], name: str) -> Any:
    """A field that says what a field of another options object says."""
    return dataclasses.field(
        **{
            key: getattr(found, key)
            for found in dataclasses.fields(kind)
            if found.name == name
            for key in ("default", "metadata")
        }
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """A field of an options object with all that is known of it."""

    name: str
    hint: Any
    default: Any  # MUST where one must be given
    about: About

    @property
    def flag(self) -> str:
        return f"--{self.name.rstrip('_').replace('_', '-')}"

    @property
    def kind(self) -> Any:
        """Its type without None; of several a path, which text can name."""
        if typing.get_origin(self.hint) not in (typing.Union, types.UnionType):
            return self.hint
        some = [hint for hint in typing.get_args(self.hint) if hint is not types.NoneType]
        return Path if Path in some else some[0]

    @property
    def choices(self) -> tuple[str, ...]:
        return self.about.choices or choices(self.kind)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Base of options objects. Fields made by `option` are options; others are for code alone."""

    @classmethod
    def options(cls) -> list[Option]:
        found = hints(cls)
        return [
            Option(f.name, found[f.name], f.default, f.metadata["option"])
            for f in dataclasses.fields(cls)
            if "option" in f.metadata
        ]

    @classmethod
    def of(cls, given: Mapping[str, Any], whose: str) -> Self:
        """From keywords; one that there is not names its nearest neighbour. `whose` is the call that got them."""
        made: Self = deal(whose, given, cls)[0]
        return made

    def set_paths(self, *names: str) -> None:
        """Text where a path is meant; for __post_init__."""
        for name in names:
            if isinstance(path := getattr(self, name), str):
                object.__setattr__(self, name, Path(path))

    def given(self) -> Iterator[Option]:
        """The options that are not as they come."""
        for o in self.options():
            if getattr(self, o.name) != o.default and getattr(self, o.name) not in (None, (), [], False):
                yield o

    def check_task(self, task: str, tasks: Callable[[], Iterable[str]]) -> None:
        """Refuse an option that the task does not read: whoever says it believes that it was heeded."""
        for o in self.given():
            if o.about.tasks is not None and task not in o.about.tasks:
                known = ", ".join(name for name in tasks() if name in o.about.tasks)
                raise SpecError(f"{o.flag} says nothing to the task {task}; it is for {known}")


def takes(*kinds: type[Options], without: Collection[str] = ()) -> Callable[[F], F]:
    """A function whose `**given` are the options of these classes: help() and editors then show them one by one."""

    def decorate(function: F) -> F:
        own = inspect.signature(function)
        plain = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        taken = {
            o.name: o
            for kind in kinds
            for o in kind.options()
            if o.name not in own.parameters and o.name not in without
        }
        more = [
            inspect.Parameter(
                o.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if o.default is MUST else o.default,
                annotation=o.hint,
            )
            for o in taken.values()
        ]
        function.__signature__ = own.replace(parameters=[*plain, *more])  # type: ignore[attr-defined]
        lines = "\n".join(f"    {o.name}: {o.about.help}" for o in taken.values())
        function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\nOptions:\n{lines}"
        return function

    return decorate


def deal(
    whose: str, given: Mapping[str, Any], *hands: type[Options] | Options, without: Collection[str] = ()
) -> list[Any]:
    """Options objects with the keywords given, each to the first hand (a class, or an object) that has it.

    A keyword that none has names its nearest neighbour. `whose` is the call that got them.
    """
    known: list[set[str]] = []
    for hand in hands:
        known.append({f.name for f in dataclasses.fields(hand)}.difference(without, *known))
    for name in given:
        if not any(name in names for names in known):
            every = [o.name for hand in hands for o in hand.options() if o.name not in without]
            raise TypeError(f"{whose}() got an unexpected keyword argument {name!r}; {close_to(name, every)}")
    made = []
    for hand, names in zip(hands, known, strict=True):
        own = {name: value for name, value in given.items() if name in names}
        if not isinstance(hand, type):
            made.append(dataclasses.replace(hand, **own) if own else hand)
            continue
        lacking = [o.name for o in hand.options() if o.default is MUST and o.name not in own]
        if lacking:
            raise TypeError(f"{whose}() needs the keyword argument {lacking[0]!r}")
        made.append(hand(**own))
    return made
