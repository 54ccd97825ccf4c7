"""Work folders that were damaged: a run that goes on tells what an undamaged one tells, or says how to begin anew.

Every value at every place of every JSON file is replaced, every key deleted, every file cut, flipped, emptied, put in
another's place or turned into a folder. Nothing but a FabulaError may come out, and no other number.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fabula
from fabula.core.errors import FabulaError
from fabula.data.stories import Corpus
from tests.toys import corpus

METRICS = "SODA_d,DVC_CIDEr(tok=none)"
WRONG: list[Any] = [None, -1, 1e308, "x", [], {}, True, 10**400]
ANEW = ("start again with another", "name another folder with --work", "run it again with --resume", "check the folder")
CAPTIONS = ["a dog runs", "a cat looks at it", "the green grass", "far over the hill"]


def told(n: int, step: int) -> Corpus:
    return corpus({f"v_{i}": [(k, k + 9 + i, CAPTIONS[(i + k) % 4]) for k in range(0, 30, step)] for i in range(n)})


REFS, PREDS = told(9, 10), told(8, 7)


def score(work: Path, resume: bool = True) -> dict[str, Any]:
    return fabula.score(PREDS, REFS, metrics=METRICS, work=work, resume=resume).to_dict()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A finished run, and what it told."""
    work = tmp_path_factory.mktemp("sound") / "work"
    found = score(work, resume=False)
    assert found == fabula.score(PREDS, REFS, metrics=METRICS).to_dict()
    return work, found


@pytest.fixture
def work(sound: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound[0], tmp_path / "work"))


def places(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document, the whole of it first."""
    yield at
    if isinstance(document, dict | list):
        for key, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from places(value, (*at, key))


def changed(document: Any, at: tuple[Any, ...], value: Any, delete: bool = False) -> Any:
    """The document with another value there, or without that key."""
    if not at:
        return value
    copy = json.loads(json.dumps(document))
    inner = copy
    for key in at[:-1]:
        inner = inner[key]
    if delete:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return copy


def judged(work: Path, whole: dict[str, Any]) -> str:
    """ "again" where it tells the same, or the line that says why it does not."""
    try:
        assert score(work) == whole
    except FabulaError as error:
        said = str(error)
        assert "\n" not in said and len(said) <= 500 and any(hint in said for hint in ANEW), said
        return said
    assert not [f for f in work.rglob("*") if f.name.endswith(".tmp")]
    return "again"


def spoil(document: Any) -> Iterator[Any]:
    for at in places(document):
        yield from (changed(document, at, wrong) for wrong in WRONG)
        if at:
            yield changed(document, at, None, delete=True)


def test_every_value_of_the_manifest(work, sound):
    manifest = work / "manifest.json"
    kept = json.loads(manifest.read_text())
    assert {"inputs", "shards", "seal"} <= set(kept)
    for document in spoil(kept):
        manifest.write_text(json.dumps(document))
        said = judged(work, sound[1])
        assert "manifest.json: is damaged" in said or "differs in" in said or document == kept, document
    manifest.write_text(json.dumps(kept))
    assert judged(work, sound[1]) == "again"


@pytest.mark.parametrize("bytes_", [b"", b"{}", b"5", b"[]", b"null", b'""', b"\xff\xfe{", b"[" * 100_000, b"{" * 9])
def test_a_manifest_that_is_none(work, sound, bytes_):
    (work / "manifest.json").write_bytes(bytes_)
    said = judged(work, sound[1])
    assert "manifest.json: is damaged" in said and "another folder (--work)" in said


def test_a_manifest_that_is_a_folder_or_leads_nowhere(work, sound):
    (work / "manifest.json").unlink()
    (work / "manifest.json").mkdir()
    assert "is damaged" in judged(work, sound[1])
    (work / "manifest.json").rmdir()
    (work / "manifest.json").symlink_to("nowhere")
    assert "is damaged" in judged(work, sound[1])


def damage(data: bytes, rng: random.Random) -> Iterator[bytes | None]:
    """The file cut, flipped in one bit, longer, empty, gone."""
    bent = bytearray(data)
    if bent:
        bent[rng.randrange(len(bent))] ^= 1 << rng.randrange(8)
    yield from (data[: rng.randrange(len(data) + 1)], bytes(bent), data + b" ", b"", None)


@pytest.mark.parametrize("seed", range(4))
def test_every_value_of_every_other_json(work, sound, seed):
    """A few files at a time, so that what was made from them is sound, or is not; all of them in turn."""
    rng = random.Random(seed)
    files = sorted(f for f in work.rglob("*.json") if f.name != "manifest.json")
    assert len(files) >= 20
    rng.shuffle(files)
    for some in (files[k::4] for k in range(4)):
        kept = {path: path.read_bytes() for path in some}
        for path in some:
            path.write_text(json.dumps(rng.choice(list(spoil(json.loads(kept[path]))))))
        assert judged(work, sound[1]) == "again"
        assert {path: path.read_bytes() for path in some} == kept  # as before


@pytest.mark.parametrize("seed", range(4))
def test_every_file_cut_flipped_emptied_or_gone(work, sound, seed):
    rng = random.Random(seed)
    files = sorted(f for f in work.rglob("*") if f.is_file() and f.name != "manifest.json")
    assert {f.suffix for f in files} == {".json", ".jsonl", ".npy", ".npz"}
    rng.shuffle(files)
    for some in (files[k::4] for k in range(4)):
        kept = {path: path.read_bytes() for path in some}
        for path in some:
            data = rng.choice(list(damage(kept[path], rng)))
            path.unlink()
            if data is not None:
                path.write_bytes(data)
        assert judged(work, sound[1]) == "again"
        assert {path: path.read_bytes() for path in some} == kept


def test_files_in_each_others_place(work, sound):
    for ending in ("json", "jsonl", "npy", "npz"):
        files = sorted(f for f in work.rglob(f"*.{ending}") if f.name != "manifest.json")
        kept = [f.read_bytes() for f in files]
        for path, other in zip(files, [*kept[1:], kept[0]], strict=True):
            path.write_bytes(other)
        assert judged(work, sound[1]) == "again"
        assert [f.read_bytes() for f in files] == kept


def test_files_of_another_run(work, sound, tmp_path):
    fabula.score(told(8, 5), REFS, metrics=METRICS, work=tmp_path / "other")
    for path in (tmp_path / "other").rglob("*"):
        if path.is_file() and path.name != "manifest.json":
            shutil.copy(path, work / path.relative_to(tmp_path / "other"))
    assert judged(work, sound[1]) == "again"
    shutil.copy(tmp_path / "other" / "manifest.json", work)
    assert "differs in: predictions" in judged(work, sound[1])


def test_a_folder_where_a_file_should_be(work, sound):
    for path in sorted(f for f in work.rglob("*") if f.is_file() and f.name != "manifest.json")[::5]:
        kept = path.read_bytes()
        path.unlink()
        path.mkdir()
        assert "cannot be written" in judged(work, sound[1])
        path.rmdir()
        path.write_bytes(kept)
    for room in ("pieces", "rows", "survey", "statistics"):
        shutil.rmtree(work / room)
        (work / room).touch()
        assert "cannot be written" in judged(work, sound[1])
        (work / room).unlink()
        assert judged(work, sound[1]) == "again"


def test_what_dies_while_it_writes_is_taken_away(work, sound):
    left = work / "rows" / ".00001.npz.abcd_123.tmp"
    left.mkdir()
    (left / "file").write_text("half")
    assert judged(work, sound[1]) == "again"  # which looks for leftovers


@pytest.mark.parametrize("there", [False, True], ids=["made for the run", "there, and empty"])
def test_a_refused_input_leaves_no_work_behind(tmp_path: Path, there: bool) -> None:
    """Mended, it is another input, which the folder would not take."""
    work, refs, preds = tmp_path / "work", tmp_path / "refs.jsonl", tmp_path / "preds.jsonl"
    refs.write_text('{"id": "v_0", "duration": 20, "events": [{"start": 0, "end": 9}]}\n')
    preds.write_text('{"id": "v_0", "events": [{"start": 0, "end": "nine"}]}\n')
    if there:
        work.mkdir()
    with pytest.raises(FabulaError, match="nine"):
        fabula.score(preds, refs, metrics="SODA_d", work=work)
    assert (list(work.iterdir()) == []) if there else not work.exists()
    preds.write_text('{"id": "v_0", "events": [{"start": 0, "end": 9}]}\n')
    assert fabula.score(preds, refs, metrics="SODA_d", work=work)["SODA_d"].value == 1
    preds.write_text('{"id": "v_0", "events": [{"start": 0, "end": "nine"}]}\n')
    with pytest.raises(FabulaError, match="differs in: predictions"):
        fabula.score(preds, refs, metrics="SODA_d", work=work, resume=True)
    assert (work / "manifest.json").exists()  # an earlier run is not lost to a later mistake


def test_a_folder_that_cannot_be_written_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fabula.core.errors import InputError
    from fabula.evaluate import shards

    def full(folder: Any, *rest: Any) -> None:
        raise InputError("cannot be written (No space left on device)", file=folder.path / "rows", hint="make room")

    monkeypatch.setattr(shards, "score_all", full)
    with pytest.raises(FabulaError, match="No space left"):
        score(tmp_path / "work", resume=False)
    monkeypatch.undo()
    assert score(tmp_path / "work") == fabula.score(PREDS, REFS, metrics=METRICS).to_dict()
