"""Flags made from options objects: `@flags(ScoreOptions, into="options")` hands a verb one object.

A field of an options object is all there is to say of an option (core/options.py); its flag, its type and its help
text are read off it here.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fabula.core.errors import SpecError, shown
from fabula.core.options import Option, Options
from fabula.verbs.terminal.console import MaybeFile, Repeatable

if TYPE_CHECKING:
    from fabula.documents.document import Document

Verb = Callable[..., Any]
Decorator = Callable[[Verb], Verb]
MOST = 2**63 - 1  # of a whole number without a bound of its own: what arrays hold
PATH = click.Path(path_type=Path)


def flags(
    kind: type[Options],
    into: str,
    *,
    only: Collection[str] = (),
    without: Collection[str] = (),
    defaults: Mapping[str, object] | None = None,
    help: Mapping[str, str] | None = None,
    as_typed: bool = False,
) -> Decorator:
    """The options of a class (all, or those named), handed to the verb as one object under the name `into`.

    `defaults` and `help` are what this verb says otherwise. With `as_typed` a mapping of what was typed is handed on,
    where what was not depends on something else.
    """
    chosen = [
        restate(o, defaults or {}, help or {}, as_typed)
        for o in kind.options()
        if not o.about.library_only and o.name not in without and (not only or o.name in only)
    ]
    chosen.sort(key=lambda o: o.default is not MISSING)  # those that must be given come first

    def decorate(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def called(**values: Any) -> object:
            own = {o.name: read_value(o, values.pop(o.name)) for o in chosen}
            if as_typed:
                return verb(**{into: {n: v for n, v in own.items() if v not in (None, ())}}, **values)
            return verb(**{into: kind(**own)}, **values)

        flagged: Verb = called
        for o in reversed(chosen):
            flagged = make_flag(o)(flagged)
        return flagged

    return decorate


def restate(o: Option, defaults: Mapping[str, object], help: Mapping[str, str], as_typed: bool) -> Option:
    """An option as a verb says it."""
    default = None if as_typed and o.default is not MISSING else defaults.get(o.name, o.default)
    return replace(o, default=default, about=replace(o.about, help=help.get(o.name, o.about.help)))


def make_flag(o: Option) -> Decorator:
    """--name, of the type that the field has."""
    if o.about.argument:
        return make_argument(o)
    names = [*o.about.flags, o.flag]
    if o.kind is bool:
        return click.option(*names, o.name, is_flag=True, help=o.about.help, default=o.default)
    if o.about.ending:
        shape = {"type": PATH, "metavar": f"[FILE{o.about.ending}]", "ending": o.about.ending}
        return click.option(*names, o.name, cls=MaybeFile, help=o.about.help, **shape)
    settings: dict[str, Any] = {"type": click_type(o), "help": o.about.help, "metavar": o.about.metavar}
    if o.default is MISSING:
        settings["required"] = True
    elif not (o.about.several or o.about.parts or o.about.joined):
        settings |= {"default": o.default, "show_default": o.about.shows_default}
    if o.about.parts or o.about.joined:
        settings |= {"multiple": True, "cls": Repeatable}
    elif o.about.several:
        settings["multiple"] = True
    elif count := word_count(o):
        settings["nargs"] = count
    return click.option(*names, o.name, **settings)


def make_argument(o: Option) -> Decorator:
    """NAME, or NAME… where the field is a tuple."""
    if typing.get_origin(o.kind) is tuple:
        kind = PATH if Path in typing.get_args(o.kind) else str
        return click.argument(o.name, nargs=-1, type=kind, required=o.default is MISSING)
    return click.argument(o.name, type=click_type(o), required=o.default is MISSING)


def click_type(o: Option) -> Any:
    if o.choices:
        return click.Choice(list(o.choices))
    if o.kind is int and (o.about.at_least, o.about.at_most) != (None, None):
        return click.IntRange(o.about.at_least, o.about.at_most)
    if o.kind is Path or (o.about.several and Path in typing.get_args(o.kind)):
        return PATH
    kind = typing.get_args(o.kind)[0] if word_count(o) else o.kind
    return kind if kind in (int, float) else str


def word_count(o: Option) -> int:
    """How many words follow a flag whose type says it: `tuple[str, str]`; 0 where one does."""
    parts = typing.get_args(o.kind) if typing.get_origin(o.kind) is tuple else ()
    return 0 if o.about.parts or ... in parts else len(parts)


def read_value(o: Option, value: Any) -> Any:
    """As the options object takes it. An option with nothing behind it is refused."""
    if o.about.joined:
        return ",".join(value) if value else None
    if o.about.parts:
        for text in value or ():
            check_filled(o.flag, text)
        return tuple(part.strip() for text in value or () for part in text.split(","))
    if isinstance(value, str) and o.kind is not Any:
        check_filled(o.flag, value)
    if isinstance(value, int) and abs(value) > MOST:
        raise SpecError(f"{o.flag} {shown(value)}; a whole number lies between -2^63 and 2^63")
    return value


def check_filled(option: str, value: str | None) -> None:
    """Refuse an option with nothing behind it, such as a "$VARIABLE" that is not set."""
    if value is not None and not value.strip():
        raise SpecError(f"nothing follows {option}; name something, or leave it out")


def refs_option(required: bool = False, help: str = "Reference files or folders.", several: bool = True) -> Decorator:
    """--refs, -r: what every verb compares with."""
    return click.option("-r", "--refs", type=PATH, multiple=several, required=required, help=help)


def path_argument(name: str, *, stdin: bool = False, **more: Any) -> Decorator:
    """A file that is named without a flag; with `stdin`, - is standard input."""
    if stdin:
        more["callback"] = lambda ctx, parameter, path: read_stdin() if str(path) == "-" else path
    return click.argument(name, type=PATH, **more)


def read_stdin() -> Document:
    """Standard input, which readers may look at twice; lines or one document, by how it begins."""
    import json
    import sys

    from fabula.documents.document import BytesDocument

    data = sys.stdin.buffer.read()
    first, _, rest = data.lstrip(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    try:
        lines = bool(rest.strip()) and isinstance(json.loads(first), dict)
    except ValueError:
        lines = False
    return BytesDocument(data, "standard input", ".jsonl" if lines else ".json")


def typed(kind: type[Options]) -> list[str]:
    """The flags of a class that stand on the command line."""
    source = click.get_current_context().get_parameter_source
    return [o.flag for o in kind.options() if source(o.name) not in (None, ParameterSource.DEFAULT)]
