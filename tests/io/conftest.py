"""Files made on the spot, and refusals looked at closely."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabula import io
from fabula.core.errors import InputError


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """A file with this content: bytes and text as they are, everything else as JSON."""

    def make(content: Any, name: str = "file.json") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else text_of(content).encode())
        return path

    return make


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content)


@pytest.fixture
def refused(put: Callable[..., Path]) -> Callable[..., InputError]:
    """The error that reading this content gives; it names the file, and says what to do."""

    def look(content: Any, format: str | None = None, name: str = "file.json") -> InputError:
        path = put(content, name)
        with pytest.raises(InputError) as caught:
            io.read(path, format)
        assert str(caught.value).startswith(f"{path}: ")
        assert caught.value.hint and str(caught.value).endswith(f"; {caught.value.hint}")
        assert "\n" not in str(caught.value)
        return caught.value

    return look
