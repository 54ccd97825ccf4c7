"""Scoring bundles of challenge servers: references, metrics and a program of a few lines that calls `grade`.

codabench   competition.yaml, scoring_program.zip (metadata.yaml, score.py, fabula.json), reference_data.zip; the
            detailed page is our report. (codalab/codabench, Yaml-Structure.md: version 2)
evalai      challenge_config.yaml, evaluation_script.zip (main.py: evaluate(…)), annotations/references.zip; the report
            goes with the submission's result. (Cloud-CV/EvalAI-Starters)

The server needs Fabula: an image that has it, a wheel put into the bundle, or an index from which pip may take it.
"""

from __future__ import annotations

import html
import io
import json
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TypedDict

from fabula import __version__
from fabula.core.errors import FabulaError, InputError, SpecError, shown
from fabula.core.options import Options, option
from fabula.data.result import Result
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.request import choose_metrics, find_protocol, score
from fabula.evaluate.tasks import find_task
from fabula.metrics import default
from fabula.report.pages import check_page, make_page

KINDS = ("codabench", "evalai")
CONFIG = "fabula.json"
LARGEST = 512 << 20  # bytes of a submission, unpacked
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same bundle is the same file

INSTALL = '''\
"""Fabula where the server has none: a wheel beside this file, else from pip's index."""

import importlib.util
import subprocess
import sys
from pathlib import Path


def ensure():
    if importlib.util.find_spec("fabula") is None:
        wheels = sorted(map(str, Path(__file__).parent.glob("*.whl"))) or ["fabula=={version}"]
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *wheels], check=True)
'''
CODABENCH = '''\
"""Codabench runs this: score.py INPUT OUTPUT; INPUT has ref/ and res/."""

import sys
from pathlib import Path

import install

install.ensure()
from fabula.hosts.bundles import grade_folder  # noqa: E402

if __name__ == "__main__":
    sys.exit(grade_folder(Path(__file__).with_name("fabula.json"), Path(sys.argv[1]), Path(sys.argv[2])))
'''
EVALAI = '''\
"""EvalAI calls `evaluate`; metric names are those of the leaderboard in challenge_config.yaml."""

from pathlib import Path

from . import install

install.ensure()
from fabula.hosts.bundles import grade_files  # noqa: E402


def evaluate(test_annotation_file, user_submission_file, phase_codename, **kwargs):
    return grade_files(Path(__file__).with_name("fabula.json"), test_annotation_file, user_submission_file)
'''


@dataclass(frozen=True, kw_only=True)
class HostOptions(Options):
    """What the challenge is, and how it is scored."""

    title: str = option("A challenge scored by Fabula", "Title of the challenge.")
    task: str = option("dense", "The task (fabula list tasks). Default: dense.")
    protocol: str | None = option(None, "A published evaluator to score with (fabula list protocols).", "-p")
    metrics: str | None = option(None, "Metrics of the leaderboard, comma separated. Default: all of the task.", "-m")
    start: str | None = option(None, "First day, as 2027-01-31. Default: today.")
    end: str | None = option(None, "Last day. Default: in ten years.")
    private: bool = option(False, "Show participants numbers only; a report would show the references.")
    wheel: tuple[Path, ...] = option((), "Wheels to put into the bundle, for servers without an index.", parts=True)


class Column(TypedDict):
    """A column of the leaderboard: the primary number of a metric."""

    key: str
    field: str
    scale: float


class Config(TypedDict):
    """fabula.json of a bundle: how a submission is scored."""

    fabula: str
    task: str
    protocol: str | None
    metrics: str | None
    refs: list[str]
    columns: list[Column]
    private: bool


# ── making ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def make_bundle(kind: str, refs: Sequence[Path], options: HostOptions) -> dict[str, bytes]:
    """The files of a bundle by name."""
    if kind not in KINDS:
        raise SpecError(f"no server is called {kind!r}; there are: {', '.join(KINDS)}")
    if not refs:
        raise SpecError("a challenge has references; name them with --refs")
    config = make_config(refs, options)
    program = {CONFIG: dump(config), "install.py": INSTALL.replace("{version}", __version__).encode()}
    program |= {wheel.name: read_file(wheel) for wheel in options.wheel}
    truth = pack({name: read_file(path) for name, path in zip(config["refs"], refs, strict=True)})
    days = read_days(options)
    return (codabench if kind == "codabench" else evalai)(config, program, truth, days, options.title)


def make_config(refs: Sequence[Path], options: HostOptions) -> Config:
    """How it is scored, and the columns of the leaderboard: the primary number of each metric."""
    name = find_task(options.task).name
    protocol = find_protocol(options.protocol)
    if protocol is not None and protocol.task != name:
        raise SpecError(f"the protocol {protocol.name} is for the task {protocol.task}, not {name}; say --task")
    chosen = choose_metrics(options.metrics, protocol, name) or default(name)
    titles = [m.title for m in chosen]
    keys = [m.title if titles.count(m.title) == 1 else str(m) for m in chosen]  # as a result calls them
    columns: list[Column] = [
        {"key": key, "field": m.primary, "scale": m.scale} for key, m in zip(keys, chosen, strict=True)
    ]
    names = [f"{k:02}_{path.name}" for k, path in enumerate(refs)]  # two may be called alike
    return {
        "fabula": __version__,
        "task": name,
        "protocol": options.protocol,
        "metrics": options.metrics,
        "refs": names,
        "columns": columns,
        "private": options.private,
    }


def codabench(
    config: Config, program: dict[str, bytes], truth: bytes, days: tuple[str, str], title: str
) -> dict[str, bytes]:
    program |= {"score.py": CODABENCH.encode(), "metadata.yaml": b"command: python3 $program/score.py $input $output\n"}
    columns = [
        {"title": c["key"], "key": c["key"], "index": i, "sorting": "desc", "precision": 2}
        for i, c in enumerate(config["columns"])
    ]
    competition = {
        "version": 2,
        "title": title,
        "image": "logo.png",
        "terms": "terms.md",
        "enable_detailed_results": True,
        "tasks": [
            {"index": 0, "name": config["task"], "scoring_program": "scoring_program.zip",
             "reference_data": "reference_data.zip"},
        ],
        "phases": [
            {"index": 0, "name": "Results", "start": f"{days[0]} 00:00:00", "end": f"{days[1]} 00:00:00",
             "accepts_only_result_submissions": True, "tasks": [0]},
        ],
        "leaderboards": [{"title": "Results", "key": "main", "columns": columns}],
        "pages": [{"title": "How it is scored", "file": "scoring.md"}],
    }  # fmt: skip
    return {
        "competition.yaml": dump(competition),
        "scoring_program.zip": pack(program),
        "reference_data.zip": truth,
        "scoring.md": describe(config).encode(),
        "terms.md": b"Terms are the organisers' to write.\n",
        "logo.png": make_png(),
    }


def evalai(
    config: Config, program: dict[str, bytes], truth: bytes, days: tuple[str, str], title: str
) -> dict[str, bytes]:
    program |= {"main.py": EVALAI.encode(), "__init__.py": b"from .main import evaluate\n"}
    labels = [c["key"] for c in config["columns"]]
    page = f"<pre>{html.escape(describe(config))}</pre>\n".encode()
    challenge = {
        "title": title,
        "short_description": title,
        "description": "templates/scoring.html",
        "evaluation_details": "templates/scoring.html",
        "terms_and_conditions": "templates/terms.html",
        "submission_guidelines": "templates/scoring.html",
        "image": "logo.png",
        "evaluation_script": "evaluation_script.zip",
        "remote_evaluation": False,
        "start_date": f"{days[0]} 00:00:00",
        "end_date": f"{days[1]} 00:00:00",
        "published": False,
        "leaderboard": [{"id": 1, "schema": {"labels": labels, "default_order_by": labels[0]}}],
        "challenge_phases": [
            {"id": 1, "name": "Results", "description": "templates/scoring.html", "leaderboard_public": True,
             "is_public": True, "start_date": f"{days[0]} 00:00:00", "end_date": f"{days[1]} 00:00:00",
             "test_annotation_file": "annotations/references.zip", "codename": "results",
             "max_submissions_per_day": 5, "max_submissions": 50},
        ],
        "dataset_splits": [{"id": 1, "name": "Test", "codename": SPLIT}],
        "challenge_phase_splits": [
            {"challenge_phase_id": 1, "leaderboard_id": 1, "dataset_split_id": 1, "visibility": 3,
             "leaderboard_decimal_precision": 2, "is_leaderboard_order_descending": True},
        ],
    }  # fmt: skip
    return {
        "challenge_config.yaml": dump(challenge),
        "evaluation_script.zip": pack(program),
        "annotations/references.zip": truth,
        "templates/scoring.html": page,
        "templates/terms.html": b"<p>Terms are the organisers' to write.</p>\n",
        "logo.png": make_png(),
    }


SPLIT = "test_split"


def describe(config: Config) -> str:
    rule = f"the protocol {config['protocol']}" if config["protocol"] else "Fabula's default rules"
    lines = [f"- {c['key']} ({c['field']}, times {c['scale']:g})" for c in config["columns"]]
    return (
        f"Scored by Fabula {config['fabula']}, task {config['task']}, under {rule}, against {len(config['refs'])} "
        "reference file(s). A submission is one file (or a .zip of one) in any format of `fabula list formats`; try it "
        "with `fabula lint` first.\n\n" + "\n".join(lines) + "\n"
    )


def read_days(options: HostOptions) -> tuple[str, str]:
    try:
        start = date.fromisoformat(options.start) if options.start else date.today()
        end = date.fromisoformat(options.end) if options.end else date(start.year + 10, start.month, 1)
    except ValueError as error:
        raise SpecError(f"--start and --end are days as 2027-01-31 ({error})") from None
    if end <= start:
        raise SpecError(f"--end {end} is not after --start {start}")
    return str(start), str(end)


def dump(document: object) -> bytes:
    """JSON, which is YAML too."""
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def pack(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in sorted(files.items()):
            packed.writestr(zipfile.ZipInfo(name, EPOCH), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path, hint="name a file") from None


def make_png(size: int = 64) -> bytes:
    """A plain square, which both servers want as a logo."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\x00" + b"\x2f\x5d\x8a" * size) * size
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows, 9)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


# ── grading, on the server ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Graded:
    """A submission scored: the numbers of the leaderboard, the whole result, the report."""

    columns: dict[str, float]
    result: Result
    page: str | None


def grade(config: Config, submission: Path, refs: Path) -> Graded:
    """Score a submission against the references of a folder, as the bundle says."""
    options = ScoreOptions(task=config["task"], protocol=config["protocol"], metrics=config["metrics"])
    result = score(submission, [refs / name for name in config["refs"]], options)
    columns = {}
    for column in config["columns"]:
        value = result.scores[column["key"]].values[column["field"]] * column["scale"]
        columns[column["key"]] = 0.0 if value != value else float(value)  # no NaN on a leaderboard
    if config["private"]:
        return Graded(columns, result, None)
    try:
        check_page(result)
    except SpecError:
        return Graded(columns, result, None)
    return Graded(columns, result, make_page([result], [submission]))


def numbers_page(columns: Mapping[str, float]) -> str:
    """Where there is no report: the numbers."""
    rows = "".join(f"<tr><td>{html.escape(key)}</td><td>{value:.2f}</td></tr>" for key, value in columns.items())
    return f"<!DOCTYPE html><meta charset=utf-8><title>scored</title><table>{rows}</table>\n"


def grade_folder(config: Path, given: Path, out: Path) -> int:
    """Codabench: INPUT/ref, INPUT/res → OUTPUT/scores.json, detailed_results.html; 1 where it cannot be scored."""
    out.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            submission = open_submission(find_submission(given / "res"), Path(folder))
            graded = grade(json.loads(config.read_text(encoding="utf-8")), submission, given / "ref")
    except FabulaError as error:
        words = hide_folder(str(error), given)
        write(out / "detailed_results.html", f"<!DOCTYPE html><title>not scored</title><p>{html.escape(words)}</p>\n")
        write(out / "error.txt", f"{words}\n")
        return 1
    write(out / "detailed_results.html", graded.page or numbers_page(graded.columns))
    write(out / "result.json", json.dumps(graded.result.to_dict(), indent=2))
    write(out / "scores.json", json.dumps(graded.columns))
    return 0


def grade_files(config: Path, truth: str | Path, submission: str | Path) -> dict[str, object]:
    """EvalAI: the result by split; the report stands beside it in what participants can download."""
    with tempfile.TemporaryDirectory() as folder:
        refs, given = Path(folder) / "ref", Path(folder) / "res"
        unpack(Path(truth), refs)
        submitted = open_submission(Path(submission), given)
        graded = grade(json.loads(config.read_text(encoding="utf-8")), submitted, refs)
    numbers = {SPLIT: graded.columns}
    told = {"scores": graded.columns, "result": graded.result.to_dict(), "report.html": graded.page}
    return {"result": [numbers], "submission_result": told}


def hide_folder(words: str, folder: Path) -> str:
    """A message without the server's folder: where it begins a path, and nowhere else."""
    return re.sub(rf"(?<![\w./-]){re.escape(str(folder))}/", "", words).strip()


def open_submission(path: Path, folder: Path) -> Path:
    """The file that was submitted; of a .zip the one in it, unpacked into the folder."""
    if not zipfile.is_zipfile(path):
        return path
    unpack(path, folder)
    return find_submission(folder)


def find_submission(folder: Path) -> Path:
    """The one file that was submitted; what archivers and servers put beside it does not count."""
    found = [p for p in sorted(folder.rglob("*")) if p.is_file() and not is_aside(p.relative_to(folder).parts)]
    if len(found) != 1:
        names = ", ".join(p.name for p in found[:4]) or "nothing"
        raise SpecError(f"a submission is one file, and this one holds {names}; pack that file alone")
    return found[0]


def is_aside(parts: Iterable[str]) -> bool:
    return any(p.startswith((".", "__MACOSX")) or p in ("metadata", "metadata.yaml") for p in parts)


def unpack(path: Path, folder: Path) -> None:
    """The files of an archive, flat, as far as they fit."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(path) as packed:
            entries = [e for e in packed.infolist() if e.filename and not e.is_dir()]
            if sum(e.file_size for e in entries) > LARGEST:
                raise SpecError(f"{path.name} unpacks to more than {LARGEST >> 20} MB; submit less")
            for entry in entries:
                name = Path(entry.filename).name
                if not is_aside(entry.filename.split("/")):
                    if name in ("", "..") or (folder / name).exists():
                        raise SpecError(
                            f"{path.name} holds {shown(entry.filename)} twice, or as no file; pack it again"
                        )
                    (folder / name).write_bytes(packed.read(entry))
    except FabulaError:
        raise
    except Exception as error:  # zipfile and its unpackers raise what they like where bytes are bad
        why = " ".join(str(error).split())[:120] or type(error).__name__
        raise SpecError(f"{path.name} cannot be unpacked ({why}); pack it again") from None


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
