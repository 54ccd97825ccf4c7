"""What a run leaves behind and takes up again: work folders, feature stores, checkpoints; whole, and then damaged.

And files that unpack to a thousand times their size."""

from __future__ import annotations

import contextlib
import gzip
import io as streams
import json
import struct
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tools.fuzz import draw
from tools.fuzz.mutate import Doc, bend, change_bytes, straight
from tools.fuzz.odd import HEADERS, UNITS
from tools.fuzz.readers import BY, read_sniff, run_lint
from tools.fuzz.verbs import expect_same, read_numbers
from tools.fuzz.watch import Case, Said, Target, plain

import fabula

# ── work folders ────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def finished_run() -> tuple[dict[str, bytes], dict[str, float]]:
    """The files of a small run, work folder and all, and its numbers."""
    rng = Random(5)
    truth = draw.draw_videos(rng)
    files = dict([straight(draw.as_fabula(draw.predict(rng, truth), "pred")), straight(draw.as_fabula(truth, "ref"))])
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, data in files.items():
            (folder / name).write_bytes(data)
        numbers = read_numbers(
            fabula.score(folder / "pred.jsonl", folder / "ref.jsonl", metrics="SODA_c,CIDEr", work=folder / "work")
        )
        for path in (folder / "work").rglob("*"):
            if path.is_file():
                files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return files, numbers


def damage(rng: Random, name: str, data: bytes) -> bytes:
    """JSON by its tree, anything else, and what is no JSON any more, by its bytes."""
    if name.endswith(".json") and rng.random() < 0.8:
        with contextlib.suppress(ValueError, RecursionError):
            return bend(rng, Doc(name, "json", json.loads(data)), [])[1]
    for _ in range(rng.randint(1, 3)):
        data = change_bytes(rng, data, [])
    return data


def make_work(rng: Random) -> Case:
    files = dict(finished_run()[0])
    for _ in range(rng.choice((1, 1, 2))):
        part = rng.choice(("manifest", "facts", "pieces", "statistics", "rows", "survey"))
        name = rng.choice([name for name in files if name.startswith(f"work/{part}")] or ["pred.jsonl"])
        if rng.random() < 0.15:
            del files[name]
        else:
            files[name] = damage(rng, name, files[name])
    return Case("work", files, {"metrics": rng.choice(("SODA_c", "SODA_c,CIDEr", "SODA_c,mIoU"))})


def resume_work(case: Case, folder: Path, said: Said) -> Any:
    """Refused, or done again where it was damaged, with the numbers of the whole run."""
    result = fabula.score(
        folder / "pred.jsonl", folder / "ref.jsonl", metrics=case.options["metrics"], work=folder / "work", resume=True
    )
    said += result.warnings
    numbers = read_numbers(result)
    known = finished_run()[1]
    expect_same(
        "resumed",
        {k: v for k, v in numbers.items() if k in known},
        {k: v for k, v in known.items() if k in numbers},
        {},
    )
    return numbers


# ── features ────────────────────────────────────────────────────────────────────────────────────────────────────────


def npy(array: Any) -> bytes:
    out = streams.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def header_npy(text: str, body: bytes = b"") -> bytes:
    """An .npy file with any header."""
    head = text.encode("latin-1", "replace") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head) & 0xFFFF) + head + body


ARRAYS = (
    np.ones((3, 4), np.float32),
    np.zeros((0, 4)),
    np.ones(4),
    np.ones((2, 2, 2)),
    np.full((2, 4), np.nan),
    np.ones((2, 4), bool),
    np.ones((2, 4), np.int8),
    np.ones((2, 4), complex),
    np.array([["a", "b"]]),
    np.full((2, 4), 1e300),
    np.ones((2, 0)),
    np.ones((1, 4), np.float16),
)


def make_features(rng: Random) -> Case:
    kind = rng.choice(("folder", "folder", "h5", "safetensors"))
    if kind == "folder":
        files = {}
        for name in rng.sample(("v_kite", "soup", "a b", "metadata"), rng.randint(1, 3)):
            data = (
                npy(rng.choice(ARRAYS))
                if rng.random() < 0.7
                else header_npy(rng.choice(HEADERS), b"\x00" * rng.choice((0, 8, 32)))
            )
            files[f"store/{name}.npy"] = change_bytes(rng, data, []) if rng.random() < 0.5 else data
        if rng.random() < 0.3:
            files["store/metadata.json"] = bend(rng, Doc("m.json", "json", {"fps": 2, "note": "x"}), [])[1]
        return Case("features", files, {"path": "store"})
    data = h5_file() if kind == "h5" else safetensors_file(rng)
    for _ in range(rng.randint(0, 3)):
        data = change_bytes(rng, data, [])
    return Case("features", {f"f.{kind}": data}, {"path": f"f.{kind}"})


@cache
def h5_file() -> bytes:
    import h5py

    out = streams.BytesIO()
    with h5py.File(out, "w") as file:
        file.create_dataset("v_kite", data=np.ones((3, 4), np.float32))
        file.create_dataset("soup", data=np.ones((2, 4), np.float32))
        file["dangling"] = h5py.SoftLink("/nowhere")
        file["outside"] = h5py.ExternalLink("/etc/passwd", "/x")
        file.create_group("group")
        file.create_dataset("sparse", shape=(10**10, 1024), dtype="f4", chunks=(1024, 1024))
        file.attrs["fabula"] = '{"fps": 2}'
    return out.getvalue()


def safetensors_file(rng: Random) -> bytes:
    head: Any = {
        "v_kite": {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 32]},
        "__metadata__": {"fabula": rng.choice(('{"fps": 2}', "{", "5", "[]", "null", '"x"'))},
    }
    text = bend(rng, Doc("h", "json", head), [])[1] if rng.random() < 0.6 else json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + b"\x00" * 32


def read_features(case: Case, folder: Path, said: Said) -> Any:
    from fabula.core.errors import FabulaError
    from fabula.media.stores.features import Features

    store = Features(folder / case.options["path"])
    out: dict[str, Any] = {
        "metadata": plain(dict(store.metadata)) if isinstance(store.metadata, dict) else repr(store.metadata)
    }
    for video in [*list(store)[:5], "kite", "no"]:
        try:
            out[video] = plain(store[video])
        except FabulaError as error:
            said.append(str(error))
            out[video] = type(error).__name__
    return out


# ── checkpoints ─────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def checkpoint_file() -> bytes:
    """A checkpoint as small as the model can be made."""
    from fabula.learn import checkpoint
    from fabula.learn.models import room

    cls = room.get("procnets")
    model = cls(cls.config_class())
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "c.safetensors"
        few = dict(list(model.state_dict().items())[:3])
        checkpoint.write(path, {f"model.{n}": t.reshape(-1)[:4] for n, t in few.items()}, checkpoint.header_of(model))
        return path.read_bytes()


def make_checkpoint(rng: Random) -> Case:
    data = checkpoint_file()
    (n,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + n])
    if rng.random() < 0.7:
        inner = bend(rng, Doc("h", "json", json.loads(head["__metadata__"]["fabula"])), [])[1]
        head["__metadata__"]["fabula"] = inner.decode("utf-8", "replace")
        text = json.dumps(head).encode()
    else:
        text = bend(rng, Doc("h", "json", head), [])[1]
    data = struct.pack("<Q", len(text)) + text + data[8 + n :]
    if rng.random() < 0.2:
        data = change_bytes(rng, data, [])
    return Case("checkpoint", {"c.safetensors": data}, {})


def read_checkpoint(case: Case, folder: Path, said: Said) -> Any:
    from fabula.learn import checkpoint

    header = checkpoint.read(folder / "c.safetensors")[1]
    checkpoint.load_model(folder / "c.safetensors")
    return repr(header)[:2000]


# ── bombs ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def make_bomb(rng: Random) -> Case:
    """A few kilobytes of gzip that unpack to megabytes of the same, often cut, or with another checksum or length."""
    unit, times = rng.choice(UNITS), rng.choice((100_000, 1_000_000, 8_000_000, 20_000_000))
    head, tail = rng.choice(
        ((b"", b""), (b"[", b"0]"), (b'{"a": "', b'"}'), (b'{"results": {"v": [', b"0]}}"), (b'"', b""))
    )
    data = gzip.compress(head + unit * (times // len(unit)) + tail, 1, mtime=0)
    how = rng.random()
    if how < 0.2:
        data = data[: rng.randint(0, len(data))]
    elif how < 0.4:
        at = len(data) - rng.randint(1, 8)  # the checksum, or the length
        data = data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    elif how < 0.5:
        data += rng.choice((data, b"\x1f\x8b", b"x", b"\0" * 99))
    name = rng.choice(("f.json.gz", "f.jsonl.gz", "f.csv.gz", "f.gz"))
    return Case("bomb", {name: data}, {"path": name, "by": rng.choice((*BY, "lint"))})


def read_bomb(case: Case, folder: Path, said: Said) -> Any:
    if case.options["by"] == "lint":
        run_lint(Case("lint", case.files, {**case.options, "refs": [], "fix": None, "task": None}), folder, said)
    else:
        read_sniff(case, folder, said)
    return None  # what was read may be large


TARGETS = (
    Target("bomb", make_bomb, read_bomb, 0.3, both=0.0, seconds=30),
    Target("work", make_work, resume_work, 2, both=0.1, seconds=20),
    Target("features", make_features, read_features, 4, both=0.0),
    Target("checkpoint", make_checkpoint, read_checkpoint, 1, both=0.0, seconds=20),
)
