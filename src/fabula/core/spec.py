"""Specs: a dataclass that prints itself as `Name(param=value)@x` and is parsed back from that string.

    SODA_c(text=meteor,refs=best)     PRF(top=15)@0.5     mIoU

One string makes it, prints it and is filed with the score. Only what differs from the default is printed;
`full` prints every choice. What follows a `|` (the rest of a signature) is not read.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from fabula.core.errors import SpecError
from fabula.core.registry import close_to

WANTED: dict[object, str] = {
    tuple: "a number, or several with / between them",
    float: "a number",
    int: "a whole number",
    bool: "true or false",
}
HINTS: dict[type, dict[str, Any]] = {}  # resolving annotations is slow: once per class
DEFAULTS: dict[type, Mapping[str, object]] = {}
GRAMMAR = r"\s*([A-Za-z][\w-]*)\s*(?:\(([^()|]*)\))?\s*(?:@\s*([^\s|]+))?\s*(?:\|.*)?"  # compiled when it is used


def split(text: str) -> list[str]:
    """`A(x=1,y=2),B@0.5` → [A(x=1,y=2), B@0.5]: commas inside brackets belong to the bracket."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def parse(text: str) -> tuple[str, dict[str, str]]:
    """`Name(a=1)@x` → (Name, {"a": "1", "@": "x"}); values are still text."""
    match = re.fullmatch(GRAMMAR, text)
    if match is None:
        raise SpecError(f"cannot read {text!r}; write Name, Name(param=value,…) or Name@value")
    name, inside, at = match.groups()
    params = {"@": at} if at else {}
    for item in filter(None, (s.strip() for s in (inside or "").split(","))):
        field, equals, value = (s.strip() for s in item.partition("="))
        if not equals or not value:
            raise SpecError(f"{text!r}: {item!r} is not of the form param=value")
        if field in params:
            raise SpecError(f"{text!r}: {field!r} is given twice")
        params[field] = value
    return name, params


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec:
    """Base of every value that prints itself. Fields: str, Literal, int, float, bool, tuple[float, …], | None."""

    name: ClassVar[str] = ""
    at: ClassVar[str | None] = None  # the field that `@` fills
    late: ClassVar[frozenset[str]] = frozenset()  # fields younger than published signatures: printed when they depart

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            hint, value = hints(type(self))[field.name], getattr(self, field.name)
            if typing.get_origin(hint) is tuple and not isinstance(value, tuple):  # tau=0.3, tau=[0.3, 0.5]
                object.__setattr__(self, field.name, tuple(value) if isinstance(value, list) else (value,))
            allowed = choices(hint)
            if allowed and getattr(self, field.name) not in allowed:
                seen = getattr(self, field.name)
                raise SpecError(
                    f"{self.name}: {field.name}={seen!r}; {field.name} may be {', '.join(map(show, allowed))}"
                )

    @classmethod
    def defaults(cls) -> Mapping[str, object]:
        """Every field, and what it is unless told otherwise; asked for once a video, so made once a class."""
        if cls not in DEFAULTS:
            DEFAULTS[cls] = types.MappingProxyType({f.name: f.default for f in dataclasses.fields(cls)})
        return DEFAULTS[cls]

    def with_params(self, params: dict[str, str]) -> Self:
        """A copy in which these fields, given as text, are set."""
        fields, changes = self.defaults(), {}
        for given, text in params.items():
            name = self.at if given == "@" else given
            if name is None or name not in fields:
                raise SpecError(
                    f"{self.name} has no parameter {given!r}; {close_to(given, list(fields))}"
                    if name is not None
                    else f"{self.name} takes no '@'"
                )
            if name in changes:
                raise SpecError(f"{self.name}: {name!r} is given twice")
            changes[name] = convert(self.name, name, hints(type(self))[name], text)
        return dataclasses.replace(self, **changes)

    def _print(self, fields: dict[str, object]) -> str:
        at = f"@{show(fields.pop(self.at))}" if self.at in fields else ""
        inside = ",".join(f"{k}={show(v)}" for k, v in fields.items())
        return self.name + (f"({inside})" if inside else "") + at

    def __str__(self) -> str:
        defaults = self.defaults()
        set_fields = {k: getattr(self, k) for k in defaults}
        return self._print({k: v for k, v in set_fields.items() if v != defaults[k] or k == self.at})

    def brief(self) -> str:
        """What departs from the defaults, and nothing else."""
        return self._print({k: getattr(self, k) for k, v in self.defaults().items() if getattr(self, k) != v})

    def full(self) -> str:
        """Every choice, defaults too; of late fields only what departs, so that older signatures stay as they were."""
        kept = {k: v for k, v in self.defaults().items() if k not in self.late or getattr(self, k) != v}
        return self._print({k: getattr(self, k) for k in kept})


def hints(cls: type) -> dict[str, Any]:
    if cls not in HINTS:
        HINTS[cls] = typing.get_type_hints(cls)
    return HINTS[cls]


def choices(hint: object) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) is Literal else ()


def show(value: object) -> str:
    if isinstance(value, tuple):
        return "/".join(map(show, value))
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def convert(owner: str, name: str, hint: Any, text: str) -> Any:
    """The text of a parameter as its field's type."""
    if isinstance(hint, types.UnionType):
        options = typing.get_args(hint)
        if text.lower() == "none" and type(None) in options:
            return None
        hint = next(o for o in options if o is not type(None))
    if choices(hint):
        return text  # __post_init__ checks it
    try:
        if typing.get_origin(hint) is tuple:
            return tuple(finite(t) for t in text.split("/"))
        if hint is bool:
            return {"true": True, "false": False}[text.lower()]
        return finite(text) if hint is float else hint(text)
    except (ValueError, KeyError):
        want = WANTED[typing.get_origin(hint) or hint]
        raise SpecError(f"{owner}: {name}={text!r} is not {want}") from None


def finite(text: str) -> float:
    value = float(text)
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(text)
    return value
