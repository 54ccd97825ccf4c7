"""Encoded corpora in the user's cache folder: a corpus is encoded once for a model, features and settings.

    CACHE/corpora/FINGERPRINT.corpus     one file (core/cachefile.py): encodings, masks, whose rows they are

The fingerprint is a hash of the weights, of the settings that change an encoding, of the videos' names in their order,
and of what identifies the files of features: path, size, times of change, inode. A store that was touched, moved or
written again is another one. A file that is damaged, was made from other things or is open to other users is not used:
the corpus is encoded again. LEAST and MOST bound what is kept of one corpus, ALL and COUNT of all: the oldest go first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fabula.core import cachefile
from fabula.core.cachefile import Array, Seal, cache_folder, find_distrust, make_folder
from fabula.core.notes import Notes
from fabula.learn.retrieval.contract import Retriever, Videos
from fabula.learn.retrieval.data import Clips
from fabula.learn.retrieval.search import Corpus, encode_corpus, overlap_of

MAGIC, VERSION = b"fabula corpus\0\0\0", 1  # another version where encodings or their layout change
LEAST = 1 << 20  # numbers of a corpus that is worth a file; a smaller one is encoded sooner than it is found
MOST = 1 << 30  # bytes of one corpus; larger ones are for --work
ALL, COUNT = 4 << 30, 64  # bytes and files of all corpora


def encode_clips(
    model: Retriever,
    clips: Clips,
    names: Sequence[str],
    durations: Mapping[str, float],
    batch_size: int,
    pad_to: int | None = None,
    watch: Callable[[int], None] = lambda done: None,
    cache: Notes | None = None,
) -> Corpus:
    """The corpus of these videos, from the cache folder if it is there; `durations` has those that are known.

    `cache` takes notes of what goes wrong with the folder; None: the folder is neither read nor written.
    """
    clip = clips.config.clip
    place = None if cache is None else find_place(model, clips, names, batch_size, pad_to, cache)
    corpus = None if place is None else load_corpus(*place, names, next(model.parameters()).device)
    if corpus is None:
        corpus = encode_corpus(model, ((v, clips[v], 0.0) for v in names), batch_size, pad_to, watch)
        if place is not None and cache is not None:
            save_corpus(*place, corpus, cache)
    else:
        watch(len(names))
    lengths = corpus.offset + corpus.rows.mask.sum(1).cpu()
    counts = torch.zeros(len(names), dtype=torch.int64).scatter_reduce_(0, corpus.owner, lengths, "amax")
    seconds = [durations.get(v) or n * clip for v, n in zip(names, counts.tolist(), strict=True)]
    corpus.durations = torch.tensor(seconds)
    return corpus


# ---------------------------------------------------------------------------------------------------------------------
# What a corpus is


def find_place(
    model: Retriever, clips: Clips, names: Sequence[str], batch_size: int, pad_to: int | None, notes: Notes
) -> tuple[Path, Seal] | None:
    """The file of a corpus and its seal; None where none may be kept."""
    files = [file for store in clips.stores for file in files_of(store)]
    if not files:
        return None
    mark = fingerprint(model, clips, names, batch_size, pad_to, files)
    try:
        path = cache_folder() / "corpora" / f"{mark.hex()[:32]}.corpus"
    except RuntimeError:  # nobody's home
        return None
    if why := find_distrust(path):
        notes.add(f"{why}: the encoded corpus is neither read from there nor left there")
        return None
    return path, Seal(MAGIC, VERSION, mark)


def fingerprint(
    model: Retriever, clips: Clips, names: Sequence[str], batch_size: int, pad_to: int | None, files: Sequence[Path]
) -> bytes:
    """A hash of all that an encoding depends on. Batches matter only to a model that sees pads."""
    hasher = hashlib.sha256()
    config = asdict(model.config)
    for name in getattr(model, "inference", ()):  # read by the decoder, not by the encoder
        config.pop(name, None)
    sees = config.get("pads") != "hidden"
    settings = {
        "model": getattr(model, "name", type(model).__name__), "config": config, "rates": clips.rates,
        "overlap": overlap_of(model.config),
        "batches": [batch_size, pad_to] if sees else None, "device": next(model.parameters()).device.type,
        "precision": str(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else "32",
        "torch": torch.__version__, "stores": [str(store.path) for store in clips.stores],
        "files": [stamp(file) for file in files], "names": list(names),
    }  # fmt: skip
    hasher.update(json.dumps(settings, sort_keys=True, default=str).encode())
    module: Any = model
    for name, tensor in module.state_dict().items():
        hasher.update(f"\0{name} {tensor.dtype} {tuple(tensor.shape)}\0".encode())
        hasher.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return hasher.digest()


def files_of(store: Any) -> list[Path]:
    """The files of a store, a folder's one by one; none where the store has none on this machine."""
    sources = [source.path for source in getattr(store, "sources", ())] or [Path(store.path)]
    files: list[Path] = []
    for path in sources:
        if path.is_dir():
            files += sorted(file for file in path.iterdir() if file.is_file())
        elif path.is_file():
            files.append(path)
        else:
            return []
    return files


def stamp(file: Path) -> list[object]:
    """What identifies a file without reading it."""
    found = file.stat()
    changed = found.st_ctime_ns if os.name != "nt" else 0
    return [str(file.resolve()), found.st_size, found.st_mtime_ns, changed, found.st_ino]


# ---------------------------------------------------------------------------------------------------------------------
# The file


def load_corpus(path: Path, seal: Seal, names: Sequence[str], device: torch.device) -> Corpus | None:
    """The corpus in this file, mapped; None if it is not there, damaged, or of another one."""
    sections = cachefile.load(path, seal)
    if sections is None:
        return None
    with contextlib.suppress(KeyError, ValueError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the file is mapped read-only, and nobody writes to a corpus
        R, T, H = (int(n) for n in sections["shape"])
        search = read_floats(sections["search"], (R, T, H)).to(device)
        spans = read_floats(sections["spans"], (R, T, H)).to(device) if "spans" in sections else search
        mask = torch.from_numpy(sections["mask"].view(np.bool_).reshape(R, T)).to(device)
        owner, offset, extent = (
            torch.from_numpy(sections[name].view(np.int64).copy()) for name in ("owner", "offset", "extent")
        )
        if not len(owner) == len(offset) == len(extent) == R:
            return None
        os.utime(path)  # the last to go
        return Corpus(list(names), torch.zeros(len(names)), Videos(search, spans, mask), owner, offset, extent)
    return None


def read_floats(section: Array, shape: tuple[int, int, int]) -> Tensor:
    return torch.from_numpy(section.view(np.float32).reshape(shape))


def save_corpus(path: Path, seal: Seal, corpus: Corpus, notes: Notes) -> None:
    """Write the file, whole or not at all; where that fails there is a note, and nothing else."""
    rows = corpus.rows
    assert corpus.extent is not None
    size = rows.search.numel() * (1 if rows.spans is rows.search else 2)
    if rows.search.dtype != torch.float32 or size < LEAST or size * 4 + rows.mask.numel() > MOST - (1 << 20):
        return
    numbers = {"owner": corpus.owner, "offset": corpus.offset, "extent": corpus.extent}
    sections: dict[str, Array] = {
        "shape": np.array(rows.search.shape, np.int64).view(np.uint64),
        **{name: np.ascontiguousarray(t.numpy()).view(np.uint64) for name, t in numbers.items()},
        "mask": rows.mask.cpu().contiguous().numpy().view(np.uint8).reshape(-1),
        "search": rows.search.cpu().contiguous().numpy().view(np.uint32).reshape(-1),
    }
    if rows.spans is not rows.search:
        sections["spans"] = rows.spans.cpu().contiguous().numpy().view(np.uint32).reshape(-1)
    try:
        make_folder(path.parent)
        make_room(path, sum(array.nbytes for array in sections.values()))
        cachefile.write(path, seal, sections)
    except OSError as error:
        notes.add(f"the encoded corpus cannot be left in {path.parent} ({error.strerror or error})")


def make_room(path: Path, size: int) -> None:
    """Remove the corpora that were not used for longest, until another one fits."""
    found = []
    for file in path.parent.glob("*.corpus"):
        with contextlib.suppress(OSError):
            found.append((file.stat().st_mtime, file.stat().st_size, file))
    found.sort()
    total = sum(bytes for _, bytes, _ in found)
    while found and (total + size > ALL or len(found) >= COUNT):
        _, bytes, oldest = found.pop(0)
        total -= bytes
        with contextlib.suppress(OSError):
            oldest.unlink()
