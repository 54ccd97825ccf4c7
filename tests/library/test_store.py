"""A store: rows of a video appear and go whole, whoever is killed; what is no store, or another's, costs one line."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fabula.core.errors import InputError
from fabula.library import store as stores
from fabula.library.store import Entry, Store, Video

RECIPE = {"embedder": "toy", "dims": 4, "weights": {}, "clips": {"fps": 1.0}}
SCRIPT = "it's <script>alert('x')</script> \"; DROP TABLE clips; --.mp4"


def entry(name: str, count: int, value: float = 1.0) -> Entry:
    row = Video(name, 0, 10, 20, "digest", 2.0 * count, 25.0, count)
    start = 2.0 * np.arange(count)
    vectors = np.full((count, 4), value, np.float32)
    return Entry(row, start, start + 2, vectors, [b"jpeg %d" % k for k in range(count)])


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store.create(tmp_path / "store", RECIPE, tmp_path)
    with made.writing() as writer:
        writer.put([entry("a.mp4", 3), entry(SCRIPT, 2, 2.0)])
    return made


def test_what_was_written_is_read(store, tmp_path):
    again = Store.open(tmp_path / "store", RECIPE)
    assert again.recipe == RECIPE and again.dims == 4 and len(again) == 5
    assert [v.video for v in again.videos()] == ["a.mp4", SCRIPT]
    ids, matrix, video, start, end = again.vectors()
    assert ids.dtype == np.int64 and video.dtype == np.int32 and matrix.shape == (5, 4)
    assert len(set(ids.tolist())) == 5 and (np.diff(ids) > 0).all() and ids.max() < 2**53
    for i, known in enumerate(again.videos()):
        mine = video == i
        assert mine.sum() == known.clips and (start[mine] == [0, 2, 4][: known.clips]).all()
        assert (end[mine] == start[mine] + 2).all() and len(set(np.flatnonzero(np.diff(mine)))) <= 2
    assert (matrix[video == 1] == 2).all()
    assert again.thumb(int(ids[video == 0][2])) == b"jpeg 2" and again.thumb(7) is None
    assert again.clips([SCRIPT]).num_rows == 2 and again.clips([]).num_rows == 0
    assert again.clips(columns=("start",)).column_names == ["start"]


def test_rows_are_replaced_and_go_whole_and_the_version_tells(store):
    reader = Store.open(store.where)
    before, kept = reader.version, reader.vectors()
    assert reader.vectors() is kept
    with store.writing() as writer:
        writer.put([entry("a.mp4", 1, 5.0), entry("new.mp4", 2)])
    assert reader.version != before and len(reader) == 5
    assert {v.video: v.clips for v in reader.videos()} == {"a.mp4": 1, SCRIPT: 2, "new.mp4": 2}
    assert reader.clips(["a.mp4"], ("vector",))["vector"].to_pylist() == [[5.0] * 4]
    with store.writing() as writer:
        writer.remove([SCRIPT])
        writer.put([entry("new.mp4", 0)])
    assert reader.clips().num_rows == 1 and store.clips_table.count_rows() == 1
    with store.writing() as writer:
        writer.tidy()
    assert reader.clips().num_rows == 1 and len(reader.vectors().clip) == 1


def test_what_is_tidied_is_a_minute_old_and_in_a_folder_also_what_nobody_finished(store, monkeypatch):
    asked = []
    table = SimpleNamespace(optimize=lambda **how: asked.append(how), checkout_latest=lambda: None)
    with store.writing() as writer, monkeypatch.context() as patch:
        patch.setattr(writer.store, "clips_table", table)
        patch.setattr(writer.store, "videos_table", table)
        writer.tidy()
    assert asked == [{"cleanup_older_than": timedelta(minutes=1), "delete_unverified": True}] * 2


@pytest.mark.parametrize("replaced", [False, True])
def test_who_dies_between_the_two_commits_leaves_nothing_doubled(store, monkeypatch, replaced):
    """Clips are there and `videos` does not know: a reader sees none of them, the next run does them again."""

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    name = "a.mp4" if replaced else "new.mp4"
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt), store.writing() as writer:
        patched.setattr(stores, "video_rows", die)
        writer.put([entry(name, 4, 9.0)])
    reader = Store.open(store.where)
    seen = reader.snapshot()[1]
    assert len(seen.clip) == len(set(seen.clip.tolist())) == (6 if replaced else 5)
    with Store.open(store.where).writing() as writer:
        assert set(writer.there) == {SCRIPT} | ({"a.mp4"} - {name})  # it counts as not done
        writer.put([entry(name, 4, 9.0)])
    assert store.clips_table.count_rows() == (6 if replaced else 9)
    assert (reader.clips([name], ("vector",))["vector"].combine_chunks().flatten().to_numpy() == 9).all()


def test_who_dies_while_removing_leaves_a_video_that_is_done_again(store, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt), store.writing() as writer:
        patched.setattr(store.videos_table, "delete", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        writer.remove(["a.mp4"])
    with Store.open(store.where).writing() as writer:
        assert set(writer.there) == {SCRIPT}


def test_two_names_with_one_number_have_clips_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "number_of", lambda name: 2**32 - 1)
    store = Store.create(tmp_path / "store", RECIPE, tmp_path)
    with store.writing() as writer:
        writer.put([entry("a", 2), entry("b", 2)])
        writer.put([entry("c", 2)])
        writer.put([entry("a", 1)])
    assert sorted(v.number for v in store.videos()) == [0, 1, 2**32 - 1]
    assert len(set(store.vectors().clip.tolist())) == 5 and store.vectors().clip.max() < 2**53


def test_a_path_lies_below_the_root_or_is_refused(store, tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"x")
    assert store.path_of("a.mp4") == (tmp_path / "a.mp4").resolve()
    for name in ("../a.mp4", "/etc/passwd", "no such", ""):
        with pytest.raises(InputError, match="no video of this store"):
            store.path_of(name)
    with pytest.raises(InputError, match="is not there"):
        store.path_of(SCRIPT)
    with store.writing() as writer:
        writer.put([entry("../outside.mp4", 1)])  # as a forged store might have it
    (tmp_path.parent / "outside.mp4").write_bytes(b"x")
    with pytest.raises(InputError, match="outside of the root"):
        store.path_of("../outside.mp4")


def change(store: Store, **changes: object) -> None:
    path = Path(store.where) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_what_is_no_store_or_anothers_costs_a_line(store, tmp_path):
    with pytest.raises(InputError, match="embedder toy, not of other"):
        Store.open(store.where, {**RECIPE, "embedder": "other"})
    with pytest.raises(InputError, match=r"toy with another recipe: clips fps \(1.0 there, 2.0 asked\)"):
        Store.open(store.where, {**RECIPE, "clips": {"fps": 2.0}})
    with pytest.raises(InputError, match="a store already"):
        Store.create(store.where, RECIPE, tmp_path)
    with pytest.raises(InputError, match="no such store"):
        Store.open(tmp_path / "nothing")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match=r"not empty and no store of clips: 'letter.txt'"):
        Store.create(tmp_path / "full", RECIPE, tmp_path)
    with pytest.raises(InputError, match="has no manifest"):
        Store.open(tmp_path / "full")
    change(store, tables={"clips": "clips"})
    with pytest.raises(InputError, match="manifest is damaged"):
        Store.open(store.where)
    change(store, **{"fabula-store": 99})
    with pytest.raises(InputError, match="a store of version 99; this fabula reads version 1"):
        Store.open(store.where)
    (Path(store.where) / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="JSON"):
        Store.open(store.where)


def test_a_table_that_went_away_costs_a_line(store):
    for file in Path(store.where, "clips.lance", "data").iterdir():
        file.unlink()
    with pytest.raises(InputError, match="cannot be used"):
        Store.open(store.where).vectors()


def test_a_store_at_an_address_keeps_its_manifest_in_a_table(tmp_path):
    """The way of object stores, over lancedb's addresses; one that reads the disk as objects stands for a bucket."""
    where = f"file-object-store://{tmp_path}/bucket"
    store = Store.create(where, RECIPE, tmp_path)
    with store.writing() as writer:
        writer.put([entry("a", 2)])
    assert len(Store.open(where, RECIPE)) == 2
    with pytest.raises(InputError, match="no such store"):
        Store.open(f"file-object-store://{tmp_path}/other")
