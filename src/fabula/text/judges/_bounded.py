"""Text built by somebody else's function, with a longest length: sums, joins and replacements are measured first.

A function that passed the check of installed.py has no loop and calls nothing but methods of text. What is left to
take all memory are widths (`f"{x:>30000000000}"`) and doublings (`x = x + x`, 45 times): the first are refused, the
second end at LONGEST.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
Text = TypeVar("Text", str, list[object])
LONGEST = 8 << 20  # characters of a text, entries of a list
FORMAT = re.compile(r"[<>^]?\d{0,2}(?:\.\d{1,2})?[sdfg]?")  # widths of two digits
CONVERSIONS: dict[str, Callable[[object], object]] = {"": lambda value: value, "s": str, "r": repr, "a": ascii}
PLAIN = (str, int, float, type(None))  # bool is an int


class TooLongError(ValueError):
    """A text grows beyond what a prompt can be."""


def measured(length: int) -> None:
    if length > LONGEST:
        raise TooLongError(f"more than {LONGEST:,} characters")


def is_plain_format(part: ast.FormattedValue) -> bool:
    """`{x}`, or `{x:.2f}`: a format that is written out, with a small width."""
    if part.format_spec is None:
        return True
    parts = part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else [part.format_spec]
    texts = [p.value for p in parts if isinstance(p, ast.Constant)]
    return len(texts) == len(parts) and FORMAT.fullmatch("".join(map(str, texts))) is not None


class Bounded(ast.NodeTransformer):
    """The same function, its operations by the helpers below."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return helper("__add", node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        node.left = helper("__plain", node.left)
        node.comparators = [helper("__plain", part) for part in node.comparators]
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return helper("__text", *(self.show(part) for part in node.values))

    def show(self, part: ast.expr) -> ast.expr:
        if not isinstance(part, ast.FormattedValue):
            return part
        spec = "" if part.format_spec is None else ast.literal_eval(part.format_spec.values[0])  # type: ignore[attr-defined]
        value = self.visit(part.value)
        return helper(
            "__show", value, ast.Constant(chr(part.conversion) if part.conversion > 0 else ""), ast.Constant(spec)
        )

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        assert isinstance(node.func, ast.Attribute), "check_pure lets only methods through"
        call = helper("__method", node.func.value, ast.Constant(node.func.attr), *node.args)
        call.keywords = node.keywords
        return call


def helper(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def bound_parts(node: ast.FunctionDef) -> ast.FunctionDef:
    """A copy of the function that cannot grow without bound."""
    import copy

    bounded: ast.FunctionDef = Bounded().visit(copy.deepcopy(node))
    return bounded


def add(left: Text, right: Text) -> Text:
    if type(left) is not type(right) or not isinstance(left, str | list):
        raise TypeError("only texts and lists are added")
    measured(len(left) + len(right))
    return left + right


def plain(value: T) -> T:
    """What may be compared: nothing that holds other things."""
    if not isinstance(value, PLAIN):
        raise TypeError("only texts and numbers are compared")
    return value


def show(value: object, conversion: str = "", spec: str = "") -> str:
    """As an f-string shows it; of lists and dicts only those that hold texts and numbers."""
    if isinstance(value, list | tuple | dict):
        inside = [*value, *value.values()] if isinstance(value, dict) else list(value)
        measured(sum(len(part) if isinstance(part, str) else 8 for part in map(plain, inside)))
    else:
        plain(value)
    return format(CONVERSIONS[conversion](value), spec)


def join_parts(*parts: str) -> str:
    measured(sum(map(len, parts)))
    return "".join(parts)


def call_method(owner: object, name: str, /, *args: Any, **named: object) -> object:
    if isinstance(owner, list) and name == "append":
        return getattr(owner, name)(*args, **named)
    if not isinstance(owner, str):
        raise TypeError(f"{name} of something that is no text")
    if name == "format":
        return fill_in(owner, *args, **named)
    if name == "join" and len(args) == 1:
        args = (list(args[0]),)
        measured(sum(map(len, args[0])) + len(owner) * len(args[0]))
    if name == "replace" and len(args) >= 2:
        measured(len(owner) + owner.count(args[0]) * len(args[1]))
    return getattr(owner, name)(*args, **named)


def fill_in(text: str, /, *args: object, **named: object) -> str:
    """`text.format(…)`, of plain names and numbers alone."""
    parts, length, place = list[str](), 0, 0
    for literal, name, spec, conversion in string.Formatter().parse(text):
        parts.append(literal)
        if name is not None:
            if not FORMAT.fullmatch(spec or "") or not re.fullmatch(r"\w*", name):
                raise ValueError(f"the field {name[:40]!r} has a format of its own")
            value = args[place] if not name else args[int(name)] if name.isdecimal() else named[name]
            place += not name
            parts.append(show(value, conversion or "", spec or ""))
        length += sum(map(len, parts[-2:]))
        measured(length)
    return "".join(parts)


HELPERS = {"__add": add, "__plain": plain, "__show": show, "__text": join_parts, "__method": call_method}
