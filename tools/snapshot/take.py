"""One run → its parts: exit code, output, numbers and words of messages, files; without version, times, folders."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Parts = dict[str, str]  # name → text
DIGITS = 10  # significant digits of a number in JSON: other machines differ in the last ones
VERSION = re.compile(r"((?:fabula|version)[:=\" {]+)\d+\.\d+\.\d+\w*")
TIMES = re.compile(r"\b\d+(?:\.\d+)? ?(?:s|ms|min|seconds)\b(?: of processor)?")
STAMPS = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
SECONDS = re.compile(r'("seconds": )[-+.\de]+(?=}}$)')  # of an answer in a record
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?%?")
TEXTS = (".json", ".jsonl", ".csv", ".tsv", ".md", ".tex", ".html", ".svg", ".txt", ".toml", ".srt", ".yaml", ".py")


@dataclass(frozen=True, slots=True)
class Run:
    """A command line, or a call that returns parts."""

    name: str  # "group: what", unique
    words: tuple[str, ...] = ()
    call: Callable[[], Parts] | None = None
    kernel: str = "native"
    columns: int | None = None  # of a terminal; None: a pipe
    inputs: Mapping[str, Path] | None = None  # name in the folder → the file or folder that is copied there
    group: str = ""


class Terminal(io.TextIOWrapper):
    """Standard output or error; a terminal, or not."""

    def __init__(self, columns: int | None) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self.columns = columns

    def isatty(self) -> bool:
        return self.columns is not None

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode(errors="replace")  # type: ignore[attr-defined]


@contextlib.contextmanager
def standing_in(folder: Path, columns: int | None) -> Iterator[tuple[Terminal, Terminal]]:
    """Inside a folder, with streams and an environment of their own."""
    before = Path.cwd(), sys.stdout, sys.stderr, dict(os.environ), sys.argv
    out, err = Terminal(columns), Terminal(None)
    os.environ |= {"NO_COLOR": "1", "TERM": "xterm", "COLUMNS": str(columns or 80), "LINES": "50"}
    os.chdir(folder)
    sys.stdout, sys.stderr = out, err
    try:
        yield out, err
    finally:
        os.chdir(before[0])
        sys.stdout, sys.stderr, sys.argv = before[1], before[2], before[4]
        os.environ.clear()
        os.environ.update(before[3])


def take(run: Run) -> Parts:
    """The parts of a run, as text."""
    from fabula import _kernels

    with _kernels.using(run.kernel):
        if run.call is not None:
            try:
                return {name: clean(text) for name, text in run.call().items()}
            except Exception as error:
                return {"raised": f"{type(error).__name__}: {clean(str(error))}"}
        with tempfile.TemporaryDirectory(prefix="fabula-snapshot-") as place:
            folder = Path(place)
            for name, source in (run.inputs or {}).items():
                copy(source, folder / name)
            known = set(folder.rglob("*"))
            code, out, err = command(run.words, folder, run.columns)
            parts = {"exit": str(code), "out": clean(out, place), **messages(clean(err, place))}
            if run.columns is None:
                parts |= {f"file {n}": t for n, t in written(folder, known, place)}
            return parts


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


def command(words: tuple[str, ...], folder: Path, columns: int | None) -> tuple[int, str, str]:
    from fabula.verbs.command_line import main

    with standing_in(folder, columns) as (out, err):
        sys.argv = ["fabula", *words]
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0) if not isinstance(ended.code, str) else 1
        except BaseException:
            code = -1
            err.write(traceback.format_exc(limit=-1))
        return code, out.text(), err.text()


def messages(text: str) -> Parts:
    """Numbers of messages count, their words are apart."""
    return {"message numbers": " ".join(NUMBER.findall(text)), "words": text}


def written(folder: Path, known: set[Path], place: str) -> Iterator[tuple[str, str]]:
    """Files that were not there before: text as it is, of others their names alone (their bytes hold times)."""
    for path in sorted(set(folder.rglob("*")) - known):
        name = path.relative_to(folder).as_posix()
        if path.is_dir():
            continue
        if path.suffix in TEXTS and path.stat().st_size < 5_000_000:
            yield name, clean(path.read_text(encoding="utf-8", errors="replace"), place, path.suffix)
        elif path.suffix == ".parquet":
            yield name, clean(read_parquet(path), place)
        else:
            yield name, "a file"


def read_parquet(path: Path) -> str:
    from pyarrow import parquet

    return "\n".join(json.dumps(row, default=str) for row in parquet.read_table(path).to_pylist())


def clean(text: str, place: str = "", suffix: str = "") -> str:
    """Without version, times, dates and folders; numbers of JSON to ten digits."""
    if suffix == ".json":
        with contextlib.suppress(ValueError):
            text = json.dumps(rounded(json.loads(text)), ensure_ascii=False, indent=1)
    elif suffix == ".jsonl":
        with contextlib.suppress(ValueError):
            lines = [json.dumps(rounded(json.loads(line)), ensure_ascii=False) for line in text.splitlines()]
            lines = [SECONDS.sub(r"\1TIME", line) for line in lines]
            asked = all(line.startswith('{"key": ') for line in lines)  # answers come in the order of threads
            text = "\n".join(sorted(lines) if asked else lines)
    for hidden in {place, os.path.realpath(place) if place else ""} - {""}:
        text = text.replace(hidden, "FOLDER")
    import fabula

    root = Path(__file__).resolve().parents[2]
    shared = root.parent / "shared" / "data"
    for path, name in ((Path(fabula.__file__).parent, "PACKAGE"), (shared, "DATA"), (root, "ROOT")):
        text = text.replace(str(path), name)
    text = VERSION.sub(r"\1VERSION", text)
    return TIMES.sub("TIME", STAMPS.sub("DATE", text))


def rounded(value: Any, digits: int = DIGITS) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {key: rounded(held, digits) for key, held in value.items()}
    return [rounded(held, digits) for held in value] if isinstance(value, list) else value


def digest(text: str) -> str:
    """Short texts stand for themselves, so that a difference can be read at once."""
    return text if len(text) <= 24 and "\n" not in text else hashlib.sha256(text.encode()).hexdigest()[:16]
