"""Regular expressions compiled when they are first asked, not when their module is imported; literals of Python.

A room of formats is imported whole to know a file by its shape, and most of its expressions are then never used.
"""

from __future__ import annotations

import re
from typing import Any, cast


class Lazy:
    """Stands in for a compiled expression: the first use compiles it."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:  # asked only for what is not yet here
        found = getattr(re.compile(*self._source), name)
        self.__dict__[name] = found
        return found


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile`, later. For module constants that are used through their methods."""
    return cast("re.Pattern[str]", Lazy(pattern, flags))


def read_python_literal(text: str) -> Any:
    """`ast.literal_eval`; whatever is none is a ValueError.

    Its warnings are not passed on: a stray backslash in a cell (`'\\d'`) is no concern of the user's.
    """
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(text)
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from None
