"""Addresses of films and images, relative to the page that shows them: both may move together."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote


def link_file(path: str | Path | None, place: Path) -> str | None:
    """The address of a file, relative to the page where both lie on one disk."""
    if path is None:
        return None
    real = Path(os.path.realpath(path))
    try:
        return quote(os.path.relpath(real, os.path.realpath(place)).replace(os.sep, "/"))
    except ValueError:  # another drive
        return real.as_uri()
