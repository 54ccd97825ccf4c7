"""Pickles of numpy arrays in lists and dictionaries, read without executing anything: any other name is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from fabula.core.errors import InputError
from fabula.core.memory import available
from fabula.documents.files import check_path

# what unpickling raises when it is given nonsense
BROKEN = (pickle.UnpicklingError, KeyError, TypeError, AttributeError, ValueError, EOFError, IndexError, ImportError)
MULTIARRAY = ("numpy.core.multiarray", "numpy._core.multiarray")
NUMERIC = ("numpy.core.numeric", "numpy._core.numeric")


class Arrays(pickle.Unpickler):
    """A pickle of numpy arrays in dictionaries; a name of anything else is refused, so that nothing is executed."""

    def find_class(self, module: str, name: str) -> Any:
        if module in MULTIARRAY and name == "_reconstruct":
            return np.zeros(0).__reduce__()[0]
        if module in NUMERIC and name == "_frombuffer":
            return from_buffer
        if module == "numpy" and name in ("ndarray", "dtype"):
            return getattr(np, name)
        if (module, name) == ("_codecs", "encode"):  # how the bytes of an array stand in old pickles
            return encode_latin
        raise pickle.UnpicklingError(f"names {module}.{name}")


def from_buffer(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...], order: str) -> np.ndarray[Any, Any]:
    """An array of plain numbers, as newer pickles hold it."""
    if dtype.hasobject or order not in ("C", "F"):
        raise pickle.UnpicklingError("an array of objects")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if order == "F" else "C")


def encode_latin(text: str, encoding: str = "") -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"encodes by {encoding!r:.40}")
    return text.encode("latin1")


def load_arrays(path: str | Path, hint: str) -> Any:
    """What a pickle holds; refused where it would not fit into memory."""
    path = check_path(path)
    if (size := path.stat().st_size) > available():
        raise InputError(f"{size / 1e9:.1f} GB, more than the memory left", file=path, hint="use a larger machine")
    try:
        with path.open("rb") as raw:
            return Arrays(raw).load()
    except (*BROKEN, MemoryError, OverflowError) as error:
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise InputError(f"no pickle of arrays ({reason})", file=path, hint=hint) from None
