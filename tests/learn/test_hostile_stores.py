"""Stores and checkpoints that are damaged or ill meant: one line that names the video or file, and nothing is read."""

from __future__ import annotations

import errno
import json
import os
import resource
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabula.core.errors import FabulaError, InputError
from fabula.media.stores import features
from fabula.media.stores.features import Features, check_features, write_features
from tests.toys import notes_of

pytest.importorskip("safetensors", reason="feature stores need fabula[learn]")
h5py = pytest.importorskip("h5py", reason="feature stores need fabula[learn]")

GOOD = np.arange(12, dtype=np.float32).reshape(3, 4)


def said(path: Path, video: str = "a") -> str:
    """What is said of a store and of one video in it; one line, not too long, and nothing but a FabulaError."""
    with pytest.raises(FabulaError) as error:
        Features(path)[video]
    line = str(error.value)
    assert "\n" not in line and len(line) <= 500, line
    return line


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode().ljust(117) + b"\n"
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + version + size + text + data


HEAD = "{{'descr': {}, 'fortran_order': False, 'shape': {}, }}"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the file is empty"),
        (b"\x93NUMPY", "unreadable"),
        (npy(HEAD.format("'<f4'", (10**12, 512))), "speaks of 2048000000000000 bytes"),
        (npy(HEAD.format("'<f4'", (2**63, 2**63))), "unreadable"),
        (npy(HEAD.format("'<f4'", (3, 4)), b"\0" * 47), "47 follow"),
        (npy(HEAD.format("'<f4'", (3, 4)), b"\0" * 49), "49 follow"),
        (npy(HEAD.format("'<f4'", (-3, -4)), b"\0" * 48), "shape"),
        (npy(HEAD.format("'|O'", (3, 4)), b"cos\nsystem\n"), "type object"),
        (npy(HEAD.format("'<c8'", (3, 4)), b"\0" * 96), "type complex64"),
        (npy(HEAD.format("'<U1'", (3, 4)), b"\0" * 48), "type <U1"),
        (npy(HEAD.format("[('x', '<f4')]", (3, 4)), b"\0" * 48), "type"),
        (npy(HEAD.format("'?'", (3, 4)), b"\0" * 12), "type bool"),
        (npy(HEAD.format("'<f4'", "()"), b"\0" * 4), "shape ()"),
        (npy(HEAD.format("'<f4'", (2, 3, 4)), b"\0" * 96), "shape (2, 3, 4)"),
        (npy(HEAD.format("'<f4'", (0, 4))), "length 0"),
        (npy(HEAD.format("'<f4'", (4, 0))), "0 channels"),
        (npy("(" * 90), "unreadable"),
        (npy("{'descr': '\\d', 'x': 1if 1else 2}"), "unreadable"),
        (npy(HEAD.format("'<f4'", (3, 4)), b"\0" * 48, b"\x09\x00"), "version"),
        (npy(HEAD.format("'<f4'", (1, 1)), struct.pack("<f", float("nan"))), "nan at frame 0"),
        (npy(HEAD.format("'<f8'", (1, 1)), struct.pack("<d", 1e300)), "beyond what float32 holds"),
    ],
)
def test_a_npy_that_is_none(tmp_path, data, why, recwarn):
    (tmp_path / "a.npy").write_bytes(data)
    assert why in said(tmp_path)
    assert not recwarn.list


def test_columns_first_and_other_byte_orders_are_read_right(tmp_path):
    np.save(tmp_path / "a.npy", np.asfortranarray(GOOD))
    np.save(tmp_path / "b.npy", GOOD.astype(">f8"))
    store = Features(tmp_path)
    np.testing.assert_array_equal(store["a"], GOOD)
    np.testing.assert_array_equal(store["b"], GOOD)
    assert store["a"].flags.c_contiguous


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.npy")
    assert "it is no file" in said(tmp_path)
    os.mkfifo(tmp_path / "x.h5")
    assert "not a feature store" in said(tmp_path / "x.h5")


def test_features_larger_than_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(features, "available", lambda: 100)
    monkeypatch.setattr(features, "LITTLE", 0)
    np.save(tmp_path / "a.npy", GOOD)
    assert "take 0.0 GB of memory, 0.0 GB are free" in said(tmp_path)


def test_a_sparse_npy_of_terabytes(tmp_path):
    with (tmp_path / "a.npy").open("wb") as file:
        file.write(npy(HEAD.format("'<f4'", (10**9, 1000))))
        try:
            file.truncate(128 + 4 * 10**12)
        except OSError:
            pytest.skip("this disk has no such files")
    assert "GB of memory" in said(tmp_path)


SECONDS = [f'{{"durations": {{"a": {said}}}}}' for said in ('"x"', "1e999", "-1", "1" + "0" * 400)]


@pytest.mark.parametrize("text", ["5", "[]", "null", '"x"', "{", "", '{"durations": 5}', "[" * 100_000, *SECONDS])
def test_metadata_that_is_none(tmp_path, text):
    write_features(tmp_path / "folder", [("a", GOOD)], {})
    (tmp_path / "folder" / "metadata.json").write_text(text)
    said(tmp_path / "folder")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"] = GOOD
        file.attrs["fabula"] = text[:60_000]  # more does not fit into an attribute
    assert "metadata" in said(tmp_path / "x.h5")
    from safetensors.numpy import save_file

    save_file({"a": GOOD}, tmp_path / "x.safetensors", metadata={"fabula": text})
    assert "metadata" in said(tmp_path / "x.safetensors")


@pytest.mark.parametrize(
    "value", [5, np.arange(3), h5py.Empty("f"), b"\xff\xfe"], ids=["number", "list", "empty", "bytes"]
)
def test_an_attribute_that_is_no_text(tmp_path, value):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"] = GOOD
        file.attrs["fabula"] = value
    assert "metadata" in said(tmp_path / "x.h5")


def test_hdf5_leads_into_no_other_file(tmp_path):
    """What lies elsewhere is never opened, whichever way leads there."""
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["a"] = GOOD
        file.create_group("inner")["a"] = GOOD
    (tmp_path / "secret.bin").write_bytes(GOOD.tobytes())
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/a")
        file["door"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/inner")
        file["b"] = h5py.SoftLink("/door/a")
        file["c"] = h5py.SoftLink("b")
        file.create_dataset("d", (3, 4), "f4", external=[(str(tmp_path / "secret.bin"), 0, 48)])
        layout = h5py.VirtualLayout((3, 4), "f4")
        layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "a", (3, 4))
        file.create_virtual_dataset("e", layout)
    for video in "abc":
        assert "a link into another file, which is not followed" in said(tmp_path / "x.h5", video)
    assert "lie elsewhere (external)" in said(tmp_path / "x.h5", "d")
    assert "lie elsewhere (virtual)" in said(tmp_path / "x.h5", "e")


def test_hdf5_with_links_of_its_own(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["good"] = GOOD
        file.create_group("inner")["deep"] = GOOD
        for name, to in [("a", "/good"), ("b", "inner/deep"), ("c", "a"), ("gone", "/nowhere"), ("x", "y"), ("y", "x")]:
            file[name] = h5py.SoftLink(to)
        file["twin"] = file["good"]
        file["type"] = np.dtype("f4")
    store = Features(tmp_path / "x.h5")
    for video in ("a", "b", "c", "twin"):
        np.testing.assert_array_equal(store[video], GOOD)
    assert "a link that leads nowhere" in said(tmp_path / "x.h5", "gone")
    assert "more than 16 links" in said(tmp_path / "x.h5", "x")
    np.testing.assert_array_equal(store["inner"], GOOD)  # the only dataset of its group
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["inner/deep"], file["inner/more"] = GOOD, GOOD
    assert "its group holds 'deep', 'more'; say which: FILE.h5/{id}/NAME" in said(tmp_path / "two.h5", "inner")
    assert "a group or a type where a dataset should be" in said(tmp_path / "x.h5", "type")


def test_hdf5_datasets_that_are_no_features(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("huge", (10**10, 1000), "f4", chunks=(1000, 1000))  # 40 TB, and a few kB on the disk
        file.create_dataset("chunk", (3, 4), "f4", chunks=(30_000, 10_000), maxshape=(None, None))
        file["text"] = "a"
        file["words"] = ["a", "b"]
        file["empty"] = h5py.Empty("f")
        file["one"] = 5.0
        file["flags"] = np.ones((3, 4), bool)
        file["both"] = np.zeros((3, 4), [("x", "f4"), ("y", "i4")])
        file["complex"] = np.zeros((3, 4), complex)
    assert "GB of memory" in said(tmp_path / "x.h5", "huge")
    assert "chunks of (30000, 10000) numbers" in said(tmp_path / "x.h5", "chunk")
    for video in ("text", "words", "empty", "one", "flags", "both", "complex"):
        assert "expected numbers [frames, channels]" in said(tmp_path / "x.h5", video)


@pytest.mark.parametrize("ending", ["h5", "safetensors"])
def test_files_cut_anywhere(tmp_path, ending):
    """What is left is read right, or refused."""
    write_features(tmp_path / f"whole.{ending}", [("a", GOOD), ("b", GOOD)], {"durations": {"a": 3.0}})
    data = (tmp_path / f"whole.{ending}").read_bytes()
    path = tmp_path / f"x.{ending}"
    for size in {0, 1, 7, 8, 9, 100, *range(0, len(data), len(data) // 40)}:
        path.write_bytes(data[:size])
        said(path)


def safetensors(header: Any, data: bytes = b"", size: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def tensor(begin: int = 0, end: int = 48, shape: tuple[int, ...] = (3, 4), dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


HOSTILE = {
    "huge header": safetensors({}, size=2**62),
    "no JSON": safetensors(b"{{{{"),
    "deep": safetensors(b"[" * 50_000),
    "out of range": safetensors({"a": tensor(0, 4800)}, b"\0" * 48),
    "overlapping": safetensors({"a": tensor(), "b": tensor(24, 72)}, b"\0" * 72),
    "a hole": safetensors({"a": tensor(8, 56)}, b"\0" * 56),
    "backwards": safetensors({"a": tensor(48, 0)}, b"\0" * 48),
    "wrong size": safetensors({"a": tensor(shape=(3, 5))}, b"\0" * 48),
    "overflow": safetensors({"a": tensor(shape=(2**62, 2**62))}, b"\0" * 48),
    "no such type": safetensors({"a": tensor(dtype="F31")}, b"\0" * 48),
    "negative": safetensors({"a": tensor(shape=(-3, -4))}, b"\0" * 48),
    "odd metadata": safetensors({"a": tensor(), "__metadata__": {"fabula": 5}}, b"\0" * 48),
    "too long": safetensors({"a": tensor()}, b"\0" * 50),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_safetensors_that_are_none(tmp_path, kind):
    (tmp_path / "x.safetensors").write_bytes(HOSTILE[kind])
    assert "not a safetensors file" in said(tmp_path / "x.safetensors")


def test_tensors_that_are_no_features(tmp_path):
    for dtype, end in (("BF16", 24), ("BOOL", 12)):
        (tmp_path / "x.safetensors").write_bytes(safetensors({"a": tensor(end=end, dtype=dtype)}, b"\0" * end))
        assert f"type {dtype}; expected numbers" in said(tmp_path / "x.safetensors")


# -- writing ----------------------------------------------------------------------------------------------------------

ENDINGS = ["", ".h5", ".safetensors"]
SIMULATE = """
import sys, resource
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
from fabula.cli import main
sys.argv = ["fabula", *sys.argv[2:]]
main()
"""


@pytest.mark.parametrize("ending", ENDINGS)
def test_simulate_on_a_full_disk(small, tmp_path, ending):
    """The limit of a file's size stands for it: writes fail just so. One line, exit code 2, nothing is left."""
    out = tmp_path / f"store{ending}"
    command = ["simulate", str(small.annotations), "-o", str(out)]
    run = subprocess.run(
        [sys.executable, "-c", SIMULATE, "3000", *command], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 2 and "cannot be written" in run.stderr and "Traceback" not in run.stderr, run.stderr
    assert len(notes_of(run.stderr)) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_breaks_off_leaves_what_was_there(tmp_path, ending):
    out = tmp_path / f"store{ending}"
    write_features(out, [("a", GOOD)], {})

    def breaks():
        yield "b", GOOD
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\); make room"):
        write_features(out, breaks(), {}, overwrite=True)
    assert list(tmp_path.iterdir()) == [out] and list(Features(out)) == ["a"]
    write_features(out, [("b", GOOD)], {}, overwrite=True)
    assert list(Features(out)) == ["b"]  # replaced, not mixed


def test_only_a_folder_of_features_is_replaced(tmp_path):
    out = tmp_path / "store"
    write_features(out, [("a", GOOD)], {})
    (out / "thesis.tex").touch()
    with pytest.raises(InputError, match=r"holds 'thesis.tex', which is no features; nothing was replaced"):
        write_features(out, [("b", GOOD)], {}, overwrite=True)
    assert (out / "thesis.tex").exists() and "a" in Features(out)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        write_features(tmp_path / "file", [("b", GOOD)], {}, overwrite=True)


@pytest.mark.parametrize(
    ("ending", "video"),
    [("", "a/b"), ("", "a\0"), ("", "\ud800"), (".h5", "a/b"), (".h5", ""), (".h5", "."), (".h5", "\ud800"),
     (".safetensors", "__metadata__"), (".safetensors", "\ud800")],
)  # fmt: skip
def test_ids_that_a_store_cannot_hold(tmp_path, ending, video):
    with pytest.raises(InputError, match="id"):
        write_features(tmp_path / f"store{ending}", [(video, GOOD)], {})
    assert list(tmp_path.iterdir()) == []


def test_features_given_by_hand():
    with pytest.raises(InputError, match="expected numbers"):
        check_features(np.zeros((3, 4), complex), "a")


def test_the_limit_is_this_processs_own():
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] in (resource.RLIM_INFINITY, -1)
