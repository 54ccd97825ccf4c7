"""Cut and wrongly packed files are named whoever reads them, and nothing takes more memory than there is."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabula import io
from fabula.checks import CheckRequest, kind_of
from fabula.core.errors import InputError
from fabula.core.notes import Notes
from fabula.data.moments import VideoNumbers
from fabula.documents import safe_open as door
from fabula.documents.document import open_document
from fabula.documents.files import load_json, read_elements, read_lines, read_root
from fabula.documents.records import BEGINS, Shape, read_line_objects, read_line_pieces, read_line_records, read_members
from fabula.io import captions, identity, moments, pieces, regions
from fabula.text.cider import Idf

LINES = "".join(json.dumps({"id": f"v{i}", "events": [{"start": 0, "end": i + 1}]}) + "\n" for i in range(500)).encode()
PACKED = gzip.compress(LINES)
HALF = len(PACKED) // 2
BROKEN = {
    "cut": (PACKED[:HALF], "broken gzip"),
    "cut in its trailer": (PACKED[:-3], "broken gzip"),
    "cut in its header": (PACKED[:6], "broken gzip"),
    "a wrong checksum": (PACKED[:-8] + b"\1\2\3\4" + PACKED[-4:], "broken gzip"),
    "a wrong length": (PACKED[:-4] + b"\1\2\3\4", "broken gzip"),
    "a wrong block": (PACKED[:10] + b"\xff" * 9 + PACKED[19:], "broken gzip"),
    "rubbish behind it": (PACKED + b"rubbish", "not gzip follows"),
    "rubbish behind two": (PACKED + gzip.compress(b"") + b"\x1f", "gzip"),
    "nothing": (b"", "is empty, not gzip"),
    "no gzip": (LINES, "is not gzip"),
}
SHAPE = Shape((("id", "id"),), others=True)


def drain(stream: Iterator[object]) -> None:
    for _ in stream:
        pass


READERS: dict[str, Callable[[Path], object]] = {
    "whole": door.read_bytes,
    "stories": io.read,
    "pieces": lambda p: drain(pieces.cut_file(p)[0][0].objects()),
    "lines": lambda p: drain(read_lines(p)),
    "objects": lambda p: drain(read_line_objects(p)),
    "records": lambda p: drain(read_line_records(p, SHAPE)),
    "tables": lambda p: drain(read_line_pieces(p, "events")),
    "elements": lambda p: drain(read_elements(p)),
    "members": lambda p: drain(read_members(p, ["a"], SHAPE)),
    "items": captions.read_items,
    "sets": lambda p: identity.read_sets(p, Notes()),
    "queries": lambda p: moments.read_queries([p], Notes(), "moment-lines"),
    "rankings": lambda p: drain(moments.read_rankings(p, VideoNumbers(), Notes(), "moment-lines")[0]),
    "pictures": lambda p: regions.read_references([p], Notes(), "lines"),
    "lint": lambda p: kind_of(CheckRequest(p)).look(CheckRequest(p)),
    "idf": Idf.load,
}


@pytest.mark.parametrize("how", READERS)
@pytest.mark.parametrize("what", BROKEN)
def test_a_file_that_is_cut_or_packed_wrongly_is_named_whoever_reads_it(tmp_path: Path, what: str, how: str) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(BROKEN[what][0])
    with pytest.raises(InputError) as caught:
        READERS[how](path)
    assert str(caught.value).startswith(f"{path}: ")
    if how in ("whole", "stories", "lines", "objects"):
        assert BROKEN[what][1] in str(caught.value)


@pytest.mark.parametrize("name", ["a.json.gz", "a.jsonl.gz"])
def test_a_folder_with_the_name_of_a_packed_file_is_no_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="is a directory"):
        door.read_bytes(tmp_path / name)
    with pytest.raises(InputError, match="is a directory"):
        drain(read_lines(tmp_path / name))


def test_packed_parts_end_to_end_are_one_file_and_zeros_behind_them_are_padding(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(LINES[:1000]) + gzip.compress(LINES[1000:]) + b"\0" * 512)
    assert door.read_bytes(path) == LINES
    assert len(io.read(path)[0]) == 500


def test_a_long_line_is_read_whole_and_seeking_works(tmp_path: Path) -> None:
    line = b"x" * (2 * door.STEP + 5)
    (tmp_path / "a").write_bytes(line + b"\nab\n")
    with door.open_bytes(tmp_path / "a") as stream:
        assert [stream.readline(), stream.readline(), stream.readline()] == [line + b"\n", b"ab\n", b""]
        stream.seek(len(line))
        assert (stream.read(), stream.readline(1)) == (b"\nab\n", b"")


# How much ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 60 MB of memory left, as long as nobody takes any."""
    monkeypatch.setattr(door, "available", lambda: 60_000_000)


def pack(path: Path, unit: bytes, times: int, head: bytes = b"", tail: bytes = b"") -> Path:
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.write(head)
        for _ in range(times):
            out.write(unit)
        out.write(tail)
    return path


MB = b" " * 1_000_000


@pytest.mark.parametrize("unit", [MB, MB.replace(b" ", b"a")])
def test_a_document_that_unpacks_to_more_than_fits_is_refused_on_the_way(
    little: None, tmp_path: Path, unit: bytes
) -> None:
    path = pack(tmp_path / "a.json.gz", unit, 200, b'["')
    with pytest.raises(InputError, match=r"a\.json\.gz: unpacks to [34]\d\.\d MB or more .*memory.*--work"):
        door.read_bytes(path)


def test_a_plain_document_is_refused_before_it_is_read(little: None, tmp_path: Path) -> None:
    with (tmp_path / "a.json").open("wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(InputError, match=r"1,099\.5 GB in one document, too much for the 60\.0 MB"):
        door.read_bytes(tmp_path / "a.json")


@pytest.mark.parametrize(("text", "seen"), [(b"[],", "take some 701"), (b"{},", "take some 1.2 GB")])
def test_objects_that_would_not_fit_are_refused_by_counting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: bytes, seen: str
) -> None:
    monkeypatch.setattr(door, "available", lambda: 600_000_000)
    (tmp_path / "a.json").write_bytes(b"[" + text * 5_700_000 + b"0]")
    with pytest.raises(InputError, match=seen):
        io.read(tmp_path / "a.json")


@pytest.mark.parametrize(("sign", "seen"), [("a", None), ("é", "54.0 MB"), ("😀", "90.0 MB")])
def test_one_wide_character_makes_the_whole_text_wide(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sign: str, seen: str | None
) -> None:
    monkeypatch.setattr(door, "available", lambda: 50_000_000)
    monkeypatch.setattr(door, "WHOLE", 1)  # the bytes are let in
    (tmp_path / "a.json").write_text('"' + sign + '"' + " " * 17_999_990, encoding="utf-8")
    if seen is None:
        assert load_json(tmp_path / "a.json") == sign
        return
    with pytest.raises(InputError, match=rf"its text would take {seen}, more than the 50\.0 MB of memory left"):
        load_json(tmp_path / "a.json")


@pytest.mark.parametrize("how", ["lines", "objects", "records", "tables", "stories", "pieces"])
def test_a_line_without_end_is_refused(little: None, tmp_path: Path, how: str) -> None:
    path = pack(tmp_path / "a.jsonl.gz", MB.replace(b" ", b"a"), 60, b'{"id": "')
    with pytest.raises(InputError, match=r"a line of more than 7\.5 MB; a line holds one object"):
        READERS[how](path)


def test_a_line_has_a_bound_of_its_own_where_memory_is_plenty() -> None:
    with pytest.raises(InputError, match=r"a line of more than 268\.4 MB"):
        door.check_held(Path("a"), 1 << 29, "line")


@pytest.mark.parametrize("how", ["elements", "members", "root"])
def test_a_value_without_end_is_refused(little: None, tmp_path: Path, how: str) -> None:
    path = pack(tmp_path / "a.json.gz", MB.replace(b" ", b"a"), 60, b'{"a": [{"id": "' if how == "members" else b'["')
    with pytest.raises(InputError, match=r"a\.json\.gz: .*(a value of more than|too much)"):
        read_root(path) if how == "root" else READERS[how](path)


def test_a_fault_in_a_value_is_named_without_reading_to_the_end(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.json.gz", MB.replace(b" ", b"a"), 3, b'[{"id" 7, "' + b"b" * 99)
    with pytest.raises(InputError, match=r"line 1 and on: not JSON \(Expecting ':' delimiter\)"):
        drain(read_elements(path))


def test_blanks_without_end_pass_quickly(tmp_path: Path) -> None:
    assert list(read_elements(pack(tmp_path / "a.json.gz", MB, 60, tail=b"[1]"))) == [1]


def test_whoever_holds_what_passes_by_is_stopped_before_the_memory_is_full(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    left = iter(range(900_000_000, 0, -100_000_000))
    monkeypatch.setattr(door, "available", lambda: next(left))
    path = pack(tmp_path / "a.jsonl.gz", (b" " * 99_999 + b"\n") * 10, 100)
    with pytest.raises(InputError, match=r"memory runs out: 100\.0 MB are left when \d\d\.\d MB of it"):
        drain(read_lines(path))


def test_what_nobody_holds_may_be_longer_than_the_memory(little: None, tmp_path: Path) -> None:
    drain(read_lines(pack(tmp_path / "a.jsonl.gz", (b" " * 99_999 + b"\n") * 10, 100)))


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_without_end_is_refused_at_its_beginning(device: str) -> None:
    for read in (door.read_bytes, io.read, lambda p: kind_of(CheckRequest(p)).look(CheckRequest(p))):
        with pytest.raises(InputError, match=f"{device}: "):
            read(Path(device))


def test_a_device_is_not_cut_into_pieces() -> None:
    with pytest.raises(InputError, match="is a device or a pipe; copy it"):
        pieces.cut_file(Path("/dev/zero"))


def test_a_pipe_without_end_is_refused(little: None, tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "a.json")

    def pour() -> None:
        with path.open("wb", buffering=0) as out, pytest.raises(BrokenPipeError):
            out.write(b'["')
            while True:
                out.write(b"a" * 65536)

    writer = threading.Thread(target=pour)
    writer.start()
    with pytest.raises(InputError, match="too much for"):
        door.read_bytes(path)
    writer.join(10)


def test_memory_that_ends_in_the_middle_is_an_error_of_the_file(tmp_path: Path) -> None:
    """With a limit that cannot be foreseen: the process's own, reached by what is made of the text."""
    (tmp_path / "a.json").write_text(json.dumps([{"a": [float(i)]} for i in range(400_000)]))
    code = (
        "import resource, sys\nfrom fabula.core.errors import InputError\n"
        "from fabula.documents import files, safe_open\nsafe_open.available = lambda: 1 << 40\n"
        "from pathlib import Path\n"
        "now = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "resource.setrlimit(resource.RLIMIT_AS, (now + (60 << 20),) * 2)\n"
        "try:\n    files.load_json(Path(sys.argv[1]))\nexcept InputError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "a.json"], capture_output=True, text=True)
    assert "a.json: does not fit into memory" in done.stdout, done.stderr


def test_the_head_of_a_long_file_is_all_that_is_looked_at(little: None, tmp_path: Path) -> None:
    path = pack(tmp_path / "a.json.gz", MB.replace(b" ", b"a"), 100, b'["')
    assert captions.is_items(path)
    assert len(open_document(path).text) == 1 << 16
    assert BEGINS.n == 0


def test_parquet_that_holds_no_text_or_more_than_fits_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    words = pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())
    parquet.write_table(pa.table({"id": words, "events": pa.array([[]], pa.list_(pa.float64()))}), path)
    with pytest.raises(InputError, match=r"a\.parquet: not Parquet that can be read"):
        io.read(path)
    ids = [f"{i}" + "x" * 5000 for i in range(4000)]
    parquet.write_table(pa.table({"id": ids, "events": [[] for _ in ids]}), path)
    left = iter((10**9, 10**6, 10**6, 10**6))
    monkeypatch.setattr(door, "available", lambda: next(left))
    with pytest.raises(InputError, match=r"a\.parquet: memory runs out"):
        io.read(path)
