"""Options as dataclasses: a field carries its flag, its help text and the tasks that read it. A new option is one line.

    class ScoreOptions(Options):
        people: str | None = option(None, "Pattern of people in captions.", tasks=("identity",))

The command line makes its flags of the fields, a library call its keywords, and the checks which options a task reads.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, overload

from fabula.core.errors import SpecError
from fabula.core.registry import close_to
from fabula.core.spec import choices, hints

F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", bound="Options")
B = TypeVar("B", bound="Options")
C = TypeVar("C", bound="Options")
D = TypeVar("D", bound="Options")
E = TypeVar("E", bound="Options")
MUST: Any = dataclasses.MISSING  # the default of an option that must be given
UNSET: tuple[object, ...] = (None, (), [], False)  # values of an option that nobody set


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
    needs: str = ""  # the option without which this one has no effect


def option(default: object, help: str, *flags: str, **about: Any) -> Any:
    """A field of an options object."""
    return dataclasses.field(default=default, metadata={"option": About(help=help, flags=flags, **about)})


def same_as(kind: type[Options], name: str, **about: Any) -> Any:
    """A field that says what a field of another options object says, and what is said of it otherwise."""
    found = next(field for field in dataclasses.fields(kind) if field.name == name)
    return dataclasses.field(
        default=found.default, metadata={"option": dataclasses.replace(found.metadata["option"], **about)}
    )


def flag_of(name: str) -> str:
    return f"--{name.rstrip('_').replace('_', '-')}"


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """A field of an options object with all that is known of it."""

    name: str
    hint: Any  # its type
    default: Any  # MUST where one must be given
    about: About

    @property
    def flag(self) -> str:
        return flag_of(self.name)

    @property
    def kind(self) -> Any:
        """Its type without None; of several a path, which text can name."""
        if typing.get_origin(self.hint) not in (typing.Union, types.UnionType):
            return self.hint
        members = [hint for hint in typing.get_args(self.hint) if hint is not types.NoneType]
        return Path if Path in members else members[0]

    @property
    def choices(self) -> tuple[str, ...]:
        return self.about.choices or choices(self.kind)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Base of options objects. Fields made by `option` are options; others are for code alone."""

    @classmethod
    @functools.cache
    def options(cls) -> list[Option]:
        found = hints(cls)
        return [
            Option(f.name, found[f.name], f.default, f.metadata["option"])
            for f in dataclasses.fields(cls)
            if "option" in f.metadata
        ]

    def __post_init__(self) -> None:
        """Text becomes a path or a list where one is meant; an option that lacks the one it needs is refused."""
        for o in self.options():
            value = getattr(self, o.name)
            if o.about.parts and o.hint == tuple[str, ...] and value:
                parts = value.split(",") if isinstance(value, str) else [value] if isinstance(value, Path) else value
                value = tuple(part.strip() if isinstance(part, str) else part for part in parts)
                object.__setattr__(self, o.name, value)
            if isinstance(value, str) and o.hint in (Path, Path | None):
                object.__setattr__(self, o.name, Path(value))
            if o.about.needs and value not in UNSET and getattr(self, o.about.needs) in UNSET:
                raise SpecError(f"{o.flag} only applies with {flag_of(o.about.needs)}")

    def changed(self) -> Iterator[Option]:
        """The options that differ from their defaults."""
        for o in self.options():
            if getattr(self, o.name) != o.default and getattr(self, o.name) not in UNSET:
                yield o

    def check_task(self, task: str, tasks: Callable[[], Iterable[str]]) -> None:
        """Refuse an option that the task does not read."""
        for o in self.changed():
            if o.about.tasks is not None and task not in o.about.tasks:
                known = ", ".join(name for name in tasks() if name in o.about.tasks)
                raise SpecError(f"{o.flag} has no effect for task {task}; it applies to {known}")


def with_options(*kinds: type[Options], without: Collection[str] = ()) -> Callable[[F], F]:
    """A function whose `**keywords` are the options of these classes: its signature and help() list them one by one."""

    def decorate(function: F) -> F:
        own = inspect.signature(function)
        plain = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        keywords: dict[str, Option] = {}
        for o in (o for kind in kinds for o in kind.options()):
            if o.name not in own.parameters and o.name not in without:
                keywords.setdefault(o.name, o)
        more = [
            inspect.Parameter(
                o.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if o.default is MUST else o.default,
                annotation=o.hint,
            )
            for o in keywords.values()
        ]
        function.__signature__ = own.replace(parameters=[*plain, *more])  # type: ignore[attr-defined]
        lines = "\n".join(f"    {o.name}: {o.about.help}" for o in keywords.values())
        function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\nOptions:\n{lines}"
        return function

    return decorate


def read_keywords(verb: str, keywords: Mapping[str, object], kind: type[A] | A) -> A:
    """An options object with these keywords: a new one of a class, or a changed copy.

    An unknown keyword names its nearest neighbour. `verb` is the call that got them.
    """
    (options,) = split_keywords(verb, keywords, kind)
    return options


@overload
def split_keywords(
    verb: str, keywords: Mapping[str, object], a: type[A] | A, /, *, without: Collection[str] = ()
) -> tuple[A]: ...
@overload
def split_keywords(
    verb: str, keywords: Mapping[str, object], a: type[A] | A, b: type[B] | B, /, *, without: Collection[str] = ()
) -> tuple[A, B]: ...
@overload
def split_keywords(
    verb: str,
    keywords: Mapping[str, object],
    a: type[A] | A,
    b: type[B] | B,
    c: type[C] | C,
    /,
    *,
    without: Collection[str] = (),
) -> tuple[A, B, C]: ...
@overload
def split_keywords(
    verb: str,
    keywords: Mapping[str, object],
    a: type[A] | A,
    b: type[B] | B,
    c: type[C] | C,
    d: type[D] | D,
    /,
    *,
    without: Collection[str] = (),
) -> tuple[A, B, C, D]: ...
@overload
def split_keywords(
    verb: str,
    keywords: Mapping[str, object],
    a: type[A] | A,
    b: type[B] | B,
    c: type[C] | C,
    d: type[D] | D,
    e: type[E] | E,
    /,
    *,
    without: Collection[str] = (),
) -> tuple[A, B, C, D, E]: ...
def split_keywords(
    verb: str, keywords: Mapping[str, object], *kinds: type[Options] | Options, without: Collection[str] = ()
) -> tuple[Options, ...]:
    """An options object for each of `kinds` (a class, or an object to copy); a keyword goes to the first that has it.

    An unknown keyword names its nearest neighbour. `verb` is the call that got them.
    """
    known: list[set[str]] = []
    for kind in kinds:
        known.append({f.name for f in dataclasses.fields(kind)}.difference(without, *known))
    for name in keywords:
        if not any(name in names for names in known):
            every = [o.name for kind in kinds for o in kind.options() if o.name not in without]
            raise TypeError(f"{verb}() got an unexpected keyword argument {name!r}; {close_to(name, every)}")
    objects: list[Options] = []
    for kind, names in zip(kinds, known, strict=True):
        own: dict[str, Any] = {name: value for name, value in keywords.items() if name in names}
        if not isinstance(kind, type):
            objects.append(dataclasses.replace(kind, **own) if own else kind)
            continue
        missing = [o.name for o in kind.options() if o.default is MUST and o.name not in own]
        if missing:
            raise TypeError(f"{verb}() needs the keyword argument {missing[0]!r}")
        objects.append(kind(**own))
    return tuple(objects)
