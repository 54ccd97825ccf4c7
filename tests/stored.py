"""Texts that must stay as they are: each is a file beside its test, and a module that has them writes them anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

Texts = Mapping[str, Callable[[], str]]


def as_text(document: object) -> str:
    """JSON, a line a value; numbers with eight digits, so that another machine writes the same."""
    return json.dumps(shorten(document), indent=1, ensure_ascii=False)


def as_lines(document: Mapping[str, object]) -> str:
    """JSON, a line for each part of a document."""
    return (
        "{\n"
        + ",\n".join(f"{json.dumps(n)}: {json.dumps(shorten(v), ensure_ascii=False)}" for n, v in document.items())
        + "\n}"
    )


def shorten(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.8g}") if value == value else "nan"
    if isinstance(value, Mapping):
        return {str(name): shorten(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set):
        return [shorten(part) for part in value]
    return value if isinstance(value, str | int | bool | None) else str(value)


def keep_known(now: object, stored: object) -> object:
    """Of objects the entries that were there before: what is new may stand beside them."""
    if not isinstance(now, dict) or not isinstance(stored, dict):
        return now
    return {key: keep_known(now[key], value) for key, value in stored.items() if key in now}


def differences(now: object, stored: object, at: str = "", share: float = 2e-3, least: float = 2e-4) -> list[str]:
    """Where two documents differ, at most ten places; numbers by more than a share of them, or than the least."""
    if isinstance(now, Mapping) and isinstance(stored, Mapping) and now.keys() == stored.keys():
        pairs = [(f"{at}/{name}", part, stored[name]) for name, part in now.items()]
    elif isinstance(now, list) and isinstance(stored, list) and len(now) == len(stored):
        pairs = [(f"{at}/{n}", *both) for n, both in enumerate(zip(now, stored, strict=True))]
    else:
        numbers = [x for x in (now, stored) if isinstance(x, int | float) and not isinstance(x, bool)]
        near = len(numbers) == 2 and abs(numbers[0] - numbers[1]) <= max(least, share * abs(numbers[1]))
        return [] if near or now == stored else [f"{at}: {now!r}, was {stored!r}"[:300]]
    return [one for pair in pairs for one in differences(pair[1], pair[2], pair[0], share, least)][:10]


def read_stored(folder: Path, name: str) -> str:
    return (folder / f"{name}.txt").read_text("utf-8")


def write_stored(folder: Path, texts: Texts) -> None:
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, write in texts.items():
        (folder / f"{name}.txt").write_text(write() + "\n", "utf-8")
