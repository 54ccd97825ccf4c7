"""Large sets of queries: encoded, searched and written in parts, here, in processes or on Ray; a run can be resumed.

    videos/NNNNN.{search,spans,mask}.npy, .json     the encodings of some videos
    corpus/{search,spans,mask}.npy, .json           all of them, joined once; every worker maps these files
    queries/NNNNN.{VCMR,SVMR,VR,lines}, .json       the answers to some queries, as text of the output file

A part does not depend on the worker or the time, so a resumed run writes the same bytes as one that never stopped.
The whole result is never in memory: a worker holds one part, and the pages of the corpus that it reads.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fabula.core.errors import InputError
from fabula.core.notes import Notes, Progress
from fabula.data.moments import Query
from fabula.documents.fields import JsonObject
from fabula.documents.files import write_bytes
from fabula.jobs.folder import Folder, begin, read_chunks, taken_away_if_refused
from fabula.jobs.runner import run_pass, runner_named
from fabula.learn import checkpoint
from fabula.learn.config import configure_inference
from fabula.learn.loop.processes import find_device, reduce_precision
from fabula.learn.retrieval.answers import LISTS, fragments, tvr_head
from fabula.learn.retrieval.contract import Videos
from fabula.learn.retrieval.queries import CorpusQueries, search_queries
from fabula.learn.retrieval.search import Corpus, encode_corpus
from fabula.media.base import Array
from fabula.media.stores.features import Features

if TYPE_CHECKING:
    from fabula.learn.retrieval.highlights import Highlights
    from fabula.learn.tasks.vcmr import PredictOptions, Task

VIDEOS = 1024  # of a part, to be encoded; a multiple of every batch size that is a power of 2
# what changes no answer; `precision` does, and is named where it is not 32, so that earlier runs go on
WHERE = ("processes", "engine", "address", "work", "resume", "device", "no_cache", "precision")


@dataclass(frozen=True)
class PartedPredictions:
    """The predictions of a run, as parts in its folder."""

    folder: Folder
    form: str
    names: Sequence[str]
    queries: int
    parts: int
    note: str = ""

    def write(self, path: Path) -> None:
        """Write the file of all parts atomically."""
        write_bytes(path, self.pieces())

    def pieces(self) -> Iterator[bytes]:
        """TVR's document, or lines."""
        if self.form != "tvr":
            for i in range(self.parts):
                yield from self.read(i, "lines")
            return
        yield tvr_head(self.names, self.note).encode()
        for name in LISTS:
            there = [i for i in range(self.parts) if name in self.folder.get("queries", f"{i:05d}.json")["lists"]]
            for k, i in enumerate(there):
                yield b",\n" if k else f',\n"{name}": [\n'.encode()
                yield from self.read(i, name)
            yield b"\n]" if there else b""
        yield b"}\n"

    def read(self, part: int, name: str) -> Iterator[bytes]:
        return read_chunks(self.folder.at("queries", f"{part:05d}.{name}"))


@dataclass(frozen=True)
class PartJob:
    """What every worker needs; it can be pickled."""

    folder: Folder
    run: Path
    options: PredictOptions
    task: Task


class Tools(NamedTuple):
    """The model and the stores of a worker."""

    model: Any
    metadata: JsonObject
    stores: Sequence[Features]
    words: Features | None


class EncodeVideos(PartJob):
    """Encode some videos of the corpus."""

    def __call__(self, job: tuple[int, list[tuple[str, float | None]]]) -> None:
        number, videos = job
        model, _, stores, _ = open_tools(self)
        clips, pad_to = self.task.clips_of(model, self.options, stores)
        read = ((name, clips[name], seconds) for name, seconds in videos)
        every = ((name, frames, seconds or len(frames) * model.config.clip) for name, frames, seconds in read)
        with reduce_precision(self.options.precision, next(model.parameters()).device):
            corpus = encode_corpus(model, every, max(self.options.batch_size, 32), pad_to)
        put_arrays(self.folder, ("videos", f"{number:05d}"), to_arrays(corpus.rows), {
            "durations": corpus.durations.tolist(), "owner": corpus.owner.tolist(), "offset": corpus.offset.tolist(),
            "clips": corpus.rows.mask.shape[1], "width": corpus.rows.search.shape[2],
        })  # fmt: skip


class AnswerQueries(PartJob):
    """Answer some queries from the corpus, or each from its own video."""

    def __call__(self, job: tuple[int, list[Query]]) -> None:
        number, queries = job
        tools, notes = open_tools(self), Notes()
        by_id = {q.id: q for q in queries}
        data = self.task.prepare_queries(*tools, self.options, by_id, notes)
        if isinstance(data, CorpusQueries):
            corpus = open_corpus(self.folder, next(tools.model.parameters()).device)
            precision = self.options.precision
            answers = search_queries(tools.model, queries, corpus, data.words, data.decoding, precision=precision)
        else:
            answers = self.task.answer_own(tools.model, data, names_of(self.folder), self.options.batch_size)
        lists = {}
        for name, text in fragments(answers, by_id, names_of(self.folder), data.form).items():
            lists[name] = self.folder.put_large([text.encode()], "queries", f"{number:05d}.{name}")
        record = {"lists": lists, "notes": notes.kinds, "counts": notes.counts}
        self.folder.put(record, "queries", f"{number:05d}.json")


# ---------------------------------------------------------------------------------------------------------------------
# The run


def predict_in_parts(
    task: Task, run: Path, options: PredictOptions, data: CorpusQueries | Highlights, seconds: Mapping[str, float],
    notes: Notes, watch: Progress,
) -> PartedPredictions:  # fmt: skip
    """Predict in parts; `seconds` has the videos whose duration is known."""
    assert options.work is not None
    queries, names = data.queries, data.names
    inputs = inputs_of(run, options, queries)
    plan = {"queries_a_part": options.part, "videos_a_part": VIDEOS}
    folder, plan = begin(options.work, inputs, plan, options.resume)
    runner = runner_named(options.engine, options.address, options.processes)
    if not folder.holds("names.json"):
        folder.put({"names": list(names)}, "names.json")
    with taken_away_if_refused(folder), runner.ready():
        if open_tools(PartJob(folder, run, options, task)).model.config.scope == "corpus":
            step = plan["videos_a_part"]
            cut = [[(v, seconds.get(v)) for v in names[i : i + step]] for i in range(0, len(names), step)]
            if not has_part(folder, "corpus", "corpus"):
                run_pass(
                    EncodeVideos(folder, run, options, task), "encoding videos", enumerate(cut), runner, watch,
                    lambda job: has_part(folder, "videos", f"{job[0]:05d}"),
                )  # fmt: skip
                join_parts(folder, len(cut))
        step = plan["queries_a_part"]
        query_parts = [list(queries[i : i + step]) for i in range(0, len(queries), step)]
        run_pass(
            AnswerQueries(folder, run, options, task), "asking", enumerate(query_parts), runner, watch,
            lambda job: has_part(folder, "queries", f"{job[0]:05d}"),
        )  # fmt: skip
    for i in range(len(query_parts)):
        record = folder.get("queries", f"{i:05d}.json")
        notes.extend(Notes(record["notes"], record["counts"]))
    return PartedPredictions(folder, data.form, names, len(queries), len(query_parts), data.note)


def has_part(folder: Folder, kind: str, name: str) -> bool:
    """Whether an earlier run has made this part, and what it left is as it was."""
    record = folder.find(kind, f"{name}.json")
    if record is None:
        return False
    files = {f"{one}.npy": seal for one, seal in record.get("seals", {}).items()} | record.get("lists", {})
    return all(folder.seal_of(kind, f"{name}.{one}") == seal for one, seal in files.items())


@dataclass
class OpenTools:
    """What this process has opened for its last run."""

    mark: str = ""
    tools: Tools | None = None
    corpus: Corpus | None = None
    names: list[str] | None = None


OPEN_TOOLS = OpenTools()


def names_of(folder: Folder) -> list[str]:
    """Of the videos, by number."""
    if OPEN_TOOLS.names is None:
        OPEN_TOOLS.names = folder.get("names.json")["names"]
    return OPEN_TOOLS.names


def open_tools(job: PartJob) -> Tools:
    """The model and the stores, opened once."""
    if OPEN_TOOLS.mark != job.folder.mark or OPEN_TOOLS.tools is None:
        if "FABULA_THREADS" in os.environ:  # one of several workers
            torch.set_num_threads(int(os.environ["FABULA_THREADS"]))
        model, header = checkpoint.load_model(job.run)
        configure_inference(model, job.options.changes())
        ready = model.to(find_device(job.options.device)).eval()
        OPEN_TOOLS.mark, OPEN_TOOLS.corpus, OPEN_TOOLS.names = job.folder.mark, None, None
        OPEN_TOOLS.tools = Tools(ready, checkpoint.metadata_of(header), *job.task.open_all(job.options, Notes()))
    return OPEN_TOOLS.tools


# ---------------------------------------------------------------------------------------------------------------------
# Encodings in files


def to_arrays(rows: Videos) -> dict[str, Array]:
    arrays = {"search": rows.search, "mask": rows.mask}
    if rows.spans is not rows.search:
        arrays["spans"] = rows.spans
    return {name: t.cpu().numpy() for name, t in arrays.items()}


def put_arrays(folder: Folder, parts: tuple[str, str], arrays: Mapping[str, Array], header: dict[str, object]) -> None:
    kind, name = parts
    seals = {
        one: folder.put_large(npy_pieces(array.shape, array.dtype, [array]), kind, f"{name}.{one}.npy")
        for one, array in arrays.items()
    }
    folder.put({**header, "seals": seals}, kind, f"{name}.json")


def npy_pieces(shape: Sequence[int], dtype: Any, blocks: Any) -> Iterator[bytes]:
    """A .npy of blocks that come one after the other."""
    head = io.BytesIO()
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": tuple(shape)}
    np.lib.format.write_array_header_1_0(head, header)
    yield head.getvalue()
    for block in blocks:
        yield np.ascontiguousarray(block).tobytes()


def join_parts(folder: Folder, count: int) -> None:
    """The corpus of all parts, 0 behind the ends of the shorter ones; one part in memory at a time."""
    records = [folder.get("videos", f"{i:05d}.json") for i in range(count)]
    T, R = max(t["clips"] for t in records), sum(len(t["owner"]) for t in records)

    def blocks(name: str) -> Iterator[Array]:
        for i in range(count):
            part = np.load(folder.at("videos", f"{i:05d}.{name}.npy"), mmap_mode="r", allow_pickle=False)
            yield np.pad(part, [(0, 0), (0, T - part.shape[1]), *[(0, 0)] * (part.ndim - 2)])

    seals = {}
    for name in records[0]["seals"]:
        kind, tail = (np.bool_, ()) if name == "mask" else (np.float32, (records[0]["width"],))
        pieces = npy_pieces((R, T, *tail), kind, blocks(name))
        seals[name] = folder.put_large(pieces, "corpus", f"corpus.{name}.npy")
    firsts = np.cumsum([0, *(len(t["durations"]) for t in records)]).tolist()
    joined = {
        "durations": [s for t in records for s in t["durations"]],
        "owner": [first + k for first, t in zip(firsts, records, strict=False) for k in t["owner"]],
        "offset": [k for t in records for k in t["offset"]],
        "seals": seals,
    }
    folder.put(joined, "corpus", "corpus.json")


def open_corpus(folder: Folder, device: torch.device) -> Corpus:
    """The joined corpus; on a CPU its encodings are mapped, not read."""
    if OPEN_TOOLS.corpus is None:
        record = folder.get("corpus", "corpus.json")

        def load(name: str) -> Tensor:
            return torch.from_numpy(np.load(folder.at("corpus", f"corpus.{name}.npy"), mmap_mode="c")).to(device)

        search = load("search")
        rows = Videos(search, load("spans") if "spans" in record["seals"] else search, load("mask"))
        OPEN_TOOLS.corpus = Corpus(
            names_of(folder), torch.tensor(record["durations"]), rows, torch.tensor(record["owner"]),
            torch.tensor(record["offset"]),
        )  # fmt: skip
    return OPEN_TOOLS.corpus


# ---------------------------------------------------------------------------------------------------------------------
# What a run is


def inputs_of(run: Path, options: PredictOptions, queries: Sequence[Query]) -> dict[str, object]:
    """The fingerprint: weights, queries, stores, and options that change an answer."""
    import hashlib

    file = checkpoint.find_checkpoint(Path(run))
    hasher = hashlib.blake2b(digest_size=16)
    for query in queries:
        hasher.update(json.dumps([query.id, query.video, query.text, query.duration]).encode())
    stores: list[str | Path] = [*options.features, *([options.words] if options.words is not None else [])]
    inputs: dict[str, object] = {"weights": hash_of(file), "queries": hasher.hexdigest()}
    for path in stores:
        inputs[f"store {path}"] = stamp_of(Path(path))
    if options.precision != "32":
        inputs["precision"] = options.precision
    names = [f.name for f in fields(options) if f.name not in (*WHERE, "features", "words", "data", "part")]
    return inputs | {name: json.loads(json.dumps(getattr(options, name), default=str)) for name in names}


def hash_of(path: Path) -> str:
    import hashlib

    hasher = hashlib.blake2b(digest_size=16)
    try:
        for piece in read_chunks(path):
            hasher.update(piece)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path, hint="name a run, or a checkpoint") from None
    return hasher.hexdigest()


def stamp_of(path: Path) -> list[int]:
    """How large a store is and when it was changed; of a folder, of its files together."""
    if path.is_dir():
        every = [f.stat() for f in path.iterdir() if f.is_file()]
        return [len(every), sum(s.st_size for s in every), max((s.st_mtime_ns for s in every), default=0)]
    return [path.stat().st_size, path.stat().st_mtime_ns] if path.is_file() else []
