"""Python's own notation as data: what programs print where JSON was meant."""

from __future__ import annotations

import ast
import warnings
from typing import Any


def read_python_literal(text: str) -> Any:
    """`ast.literal_eval`; whatever is none is a ValueError.

    Its warnings are not passed on: a stray backslash in a cell (`'\\d'`) is no concern of the user's.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(text)
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from None
