"""What a table needs on disk: annotations and features by name (sources.toml), and where a user has them.

`--data NAME=PATH` says where one is; `--data FOLDER` takes FOLDER/NAME, or FOLDER itself for the one source that is
wanted. On a simulated copy a source that no option names is made by the command line that sources.toml has for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from fabula.core.errors import InputError, SpecError
from fabula.core.registry import close_to
from fabula.documents.toml import read_toml

FILE = Path(__file__).with_suffix(".toml")
Option = Literal["data", "features"]


@dataclass(frozen=True, slots=True)
class Source:
    """A folder or a file that a user must have."""

    name: str
    option: Option  # by which it is named
    about: str
    simulate: str = ""  # the command line that makes a simulated copy; "": there is none

    @property
    def need(self) -> str:
        return f"--{self.option} {self.name}=PATH"


@cache
def sources() -> dict[str, Source]:
    found = {name: Source(name, **fields) for name, fields in read_toml(FILE).items()}
    for source in found.values():
        if source.option not in ("data", "features"):
            raise ValueError(f"{source.name}: --{source.option}")
    return found


class Found(NamedTuple):
    """A source on this disk."""

    path: Path
    mark: str  # changes when its files do


class Inputs:
    """The sources that a user named."""

    def __init__(self, data: Sequence[str], features: Sequence[str]) -> None:
        self.named: dict[str, Path] = {}
        self.marks: dict[Path, str] = {}
        self.folders: dict[Option, list[Path]] = {"data": [], "features": []}
        for option, texts in (("data", data), ("features", features)):
            for text in texts:
                name, equals, path = text.partition("=")
                if equals and "/" not in name:
                    known = [s.name for s in sources().values() if s.option == option]
                    if name not in known:
                        raise SpecError(f"--{option} {text}: nothing is called {name!r}; {close_to(name, known)}")
                    self.named[name] = check_there(Path(path), option)
                else:
                    self.folders["data" if option == "data" else "features"].append(check_there(Path(text), option))

    def find(self, name: str, alone: bool) -> Found | None:
        """Where the source is; None: no option names it. `alone`: the table wants no other source of its option."""
        source = sources()[name]
        if name in self.named:
            return self.mark(self.named[name])
        for folder in self.folders[source.option]:
            inside = sorted(folder.glob(f"{name}*")) if folder.is_dir() else []
            exact = [path for path in inside if path.name == name or path.stem == name]
            if exact:
                return self.mark(exact[0])
            if alone:
                return self.mark(folder)
        return None

    def mark(self, path: Path) -> Found:
        """The source with its mark; its files are looked at once."""
        if path not in self.marks:
            self.marks[path] = mark_files(path)
        return Found(path, self.marks[path])


def check_there(path: Path, option: str) -> Path:
    if not path.exists():
        raise InputError("is not there", file=path, hint=f"check --{option}")
    return path.resolve()


def mark_files(path: Path) -> str:
    """A hash of the names, sizes and times of the files: features are too large to be read for that."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    lines = [str(path), *(f"{f.relative_to(path)}\0{f.stat().st_size}\0{f.stat().st_mtime_ns}" for f in files)]
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
