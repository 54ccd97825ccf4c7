"""fabula index: what is new, changed and deleted; killed, doubled, moved, full; and the arithmetic of clips."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fabula
from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.library import index as indexing
from fabula.library.embedders import embedder
from fabula.library.generations import move
from fabula.library.scan import Cut, Job, Scanner
from fabula.library.store import COLUMNS, Store
from tests.library.conftest import BLUE, GREEN, RED, film
from tests.toys import notes_of


@pytest.fixture
def run(command_line):
    return lambda videos, store, *more: command_line("index", videos, "--store", store, *more)


def run_apart(videos: Path, store: object, *more: str, **how: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fabula", "index", str(videos), "--store", str(store), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **how)  # type: ignore[call-overload]


def bring(videos: Path, store: Path, **more: object) -> indexing.Indexed:
    settings = {"processes": 1, **({} if (store / "manifest.json").exists() else {"with_": "colours"}), **more}
    return fabula.index(videos, store=store, **settings)


def contents(store: Path) -> list[dict[str, object]]:
    rows = Store.open(store).clips(columns=(*COLUMNS, "vector", "thumb")).to_pylist()
    assert len({row["clip"] for row in rows}) == len(rows)
    return rows


def names(store: Path) -> dict[str, int]:
    return {video.video: video.clips for video in Store.open(store).videos()}


# ── clips ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cut", "frames", "count"),
    [
        (Cut(1, 2, 2), 1, 1),
        (Cut(1, 2, 2), 2, 1),
        (Cut(1, 2, 2), 3, 2),
        (Cut(1, 2, 2), 4, 2),
        (Cut(2, 2, 1), 4, 1),
        (Cut(2, 2, 1), 5, 2),  # frames 0–3, 2–4
        (Cut(2, 2, 1), 7, 3),  # 0–3, 2–5, 4–6
    ],
)
def test_as_many_clips_as_there_are_frames_for(cut, frames, count):
    assert cut.count(frames) == count


def test_the_clips_of_a_film_by_pencil(videos):
    seen = Scanner(embedder("colours"), Cut(1, 2, 2))(Job("b", videos / "b.mkv"))
    assert seen is not None
    row = seen.entry.video
    assert (row.clips, row.duration, row.fps, row.problem) == (3, 5.0, 4.0, None) and seen.frames == 20
    assert seen.entry.start.tolist() == [0, 2, 4] and seen.entry.end.tolist() == [2, 4, 5]
    words = embedder("colours").texts(["blue", "white", "red"])
    np.testing.assert_allclose(seen.entry.vectors @ words.T, np.eye(3), atol=1e-6)
    assert all(thumb is not None and thumb.startswith(b"\xff\xd8\xff") for thumb in seen.entry.thumbs)
    mixed = Scanner(embedder("colours"), Cut(1, 2, 1), thumbs=False)(Job("a", videos / "a.mkv"))
    assert mixed is not None and mixed.entry.start.tolist() == [0, 1, 2] and mixed.entry.thumbs == [None] * 3
    half = embedder("colours").texts(["red", "green"])
    np.testing.assert_allclose(mixed.entry.vectors @ half.T, [[1, 0], [0.5**0.5] * 2, [0, 1]], atol=1e-6)


@pytest.mark.parametrize("given", [(0, 2, 2), (1, 2.5, 2), (1, 2, 3), (1, 0, 0), (1, 5000, 1), (float("nan"), 2, 2)])
def test_a_cut_that_is_none(given):
    with pytest.raises(SpecError):
        Cut(*given)


# ── what has changed ────────────────────────────────────────────────────────────────────────────────────────────────


def test_new_changed_deleted_and_the_same(videos, tmp_path):
    store = tmp_path / "store"
    done = bring(videos, store)
    assert (done.videos, done.new, done.changed, done.removed) == (3, 3, 0, 0)
    assert names(store) == {"a.mkv": 2, "b.mkv": 3, "inner/c.mkv": 1}
    before, version = contents(store), Store.open(store).version
    done = bring(videos, store)
    assert (done.new, done.changed, done.removed, done.same) == (0, 0, 0, 3) and done.frames == 0
    assert Store.open(store).version == version  # nothing was written
    os.utime(videos / "a.mkv", (1, 1))  # touched: the bytes tell
    done = bring(videos, store)
    assert (done.changed, done.same, done.frames) == (0, 3, 0) and contents(store) == before
    assert next(v for v in Store.open(store).videos() if v.video == "a.mkv").mtime_ns == 10**9
    film(videos / "a.mkv", BLUE)
    (videos / "b.mkv").unlink()
    film(videos / "new.mkv", GREEN, GREEN, GREEN)
    done = bring(videos, store)
    assert (done.new, done.changed, done.removed, done.same) == (1, 1, 1, 1)
    assert names(store) == {"a.mkv": 1, "inner/c.mkv": 1, "new.mkv": 2}
    assert Store.open(store).clips_table.count_rows() == 4  # a deleted file leaves no row
    whole = tmp_path / "whole"
    bring(videos, whole)
    assert contents(store) == contents(whole)


def test_a_name_is_data_whatever_stands_in_it(videos, tmp_path, run):
    odd = ["it's.mkv", '"><script>alert(1)<|script>.mkv', "'; DROP TABLE clips; --.mkv", "日本 é%s{0}.mkv", "a\nb.mkv"]
    for i, name in enumerate(odd):
        film(videos / name, *[RED] * (i + 1))
    done = run(videos, tmp_path / "store", "--with", "colours")
    assert done.returncode == 0 and len(notes_of(done.stderr)) == 1, done.stderr
    assert set(odd) < set(names(tmp_path / "store"))
    (videos / odd[2]).unlink()
    film(videos / odd[0], GREEN)
    assert bring(videos, tmp_path / "store").removed == 1
    assert odd[2] not in names(tmp_path / "store") and len(names(tmp_path / "store")) == 7


def test_what_is_passed_over_is_told(videos, tmp_path):
    outside = film(tmp_path / "outside.mkv", RED)
    (videos / "link.mkv").symlink_to(outside)
    (videos / "inside.mkv").symlink_to(videos / "a.mkv")
    film(videos / ".hidden.mkv", RED)
    shutil.copy(videos / "a.mkv", os.fsencode(videos) + b"/\xff.mkv")
    told: list[str] = []
    done = fabula.index(videos, store=tmp_path / "store", with_="colours", processes=1, warn=told.append)
    assert done.videos == 4 and "inside.mkv" in names(tmp_path / "store")
    assert len(told) == 1 and told[0].startswith("2 skipped") and "link.mkv" in told[0] and "UTF-8" in told[0]


# ── stopped and at once ─────────────────────────────────────────────────────────────────────────────────────────────


def many(folder: Path, count: int = 8) -> Path:
    folder.mkdir()
    for i in range(count):
        film(folder / f"{i:02}.mkv", *[(i * 14, 30, 250 - i * 14)] * (1 + i % 5))
    return folder


def start(videos: Path, store: Path, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "fabula", "index", str(videos), "--store", str(store), *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_killed_at_random_moments_it_is_the_unbroken_one(tmp_path, kills):
    videos, store = many(tmp_path / "videos"), tmp_path / "store"
    began = time.monotonic()
    bring(videos, tmp_path / "whole")
    assert run_apart(videos, tmp_path / "timed", "--with", "colours", "--processes", "1").returncode == 0
    took, rng = time.monotonic() - began, random.Random(3)
    for _ in range(kills):
        process = start(videos, store, "--with", "colours", "--processes", "1")
        time.sleep(rng.uniform(0.3, 0.9) * took)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (store / "manifest.json").exists():  # what is there is whole
            clips = Store.open(store).snapshot()[1].clip
            assert len(set(clips.tolist())) == len(clips)
    assert run_apart(videos, store, "--with", "colours", "--processes", "2").returncode == 0
    assert contents(store) == contents(tmp_path / "whole")


@pytest.mark.slow
def test_two_at_once_share_the_work_and_double_nothing(tmp_path):
    videos, store = many(tmp_path / "videos"), tmp_path / "store"
    bring(videos, tmp_path / "whole")
    command = [sys.executable, "-m", "fabula", "index", str(videos), "--store", str(store), "--with", "colours"]
    both = [
        subprocess.Popen([*command, "--processes", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    told = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert contents(store) == contents(tmp_path / "whole") and len(names(store)) == 8


def test_a_store_that_another_run_makes_in_this_moment_is_opened(tmp_path, monkeypatch):
    from fabula.library import generations

    videos, store, check = many(tmp_path / "videos"), tmp_path / "store", generations.check_new

    def late(folder):  # between the look whether there is a store and the look whether the folder is free
        monkeypatch.setattr(generations, "check_new", check)
        bring(videos, store)
        check(folder)

    monkeypatch.setattr(generations, "check_new", late)
    assert bring(videos, store).same == 8
    with pytest.raises(InputError, match="no store of clips"):
        bring(videos, tmp_path)


def test_who_comes_second_takes_what_the_other_does_not_have(videos, tmp_path, monkeypatch):
    """While a video is claimed it is left to the other; what the other has written meanwhile is not written again."""
    store, look, others = tmp_path / "store", Scanner.__call__, []
    bring(videos, store)
    film(videos / "a.mkv", GREEN, BLUE, RED)
    film(videos / "b.mkv", RED)

    def busy(self: Scanner, job: Job) -> object:
        assert job.video == "a.mkv"  # and b.mkv is the other's
        others.append(start(videos, store, "--processes", "1"))
        for _ in range(600):
            if names(store)["b.mkv"] == 1:
                break
            time.sleep(0.1)
        time.sleep(0.5)
        assert others[0].poll() is None  # it waits for what is ours
        return look(self, job)

    monkeypatch.setattr(Scanner, "__call__", busy)
    done = bring(videos, store)
    assert (done.changed, done.others) == (1, 1) and names(store) == {"a.mkv": 2, "b.mkv": 1, "inner/c.mkv": 1}
    assert others[0].wait(60) == 0


def test_processes_give_what_one_gives(videos, tmp_path):
    bring(videos, tmp_path / "one")
    done = bring(videos, tmp_path / "two", processes=2)
    assert done.new == 3 and contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.slow
def test_ray_gives_what_one_gives(videos, tmp_path):
    pytest.importorskip("ray")
    bring(videos, tmp_path / "one")
    done = run_apart(videos, tmp_path / "two", "--with", "colours", "--engine", "ray")
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


# ── made anew ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_another_recipe_is_refused_and_made_anew_beside_the_old(videos, tmp_path, monkeypatch):
    store = tmp_path / "store"
    bring(videos, store)
    old = contents(store)
    with pytest.raises(InputError, match=r"clips clip \(2.0 there, 1.0 asked\)"):
        bring(videos, store, clip=1)
    reader, look, seen = Store.open(store), Scanner.__call__, []

    def killed(self: Scanner, job: Job) -> object:
        seen.append(job.video)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return look(self, job)

    monkeypatch.setattr(indexing, "FIRST", 0.0)  # a commit after every video
    monkeypatch.setattr(Scanner, "__call__", killed)
    with pytest.raises(KeyboardInterrupt):
        bring(videos, store, clip=1, stride=1, reembed=True)
    assert contents(store) == old and reader.vectors().vector.shape == (6, 11)  # searched all the while
    with pytest.raises(InputError, match="being made anew with colours; use --reembed"):
        bring(videos, store, clip=1, stride=1)
    assert bring(videos, store).new == 0  # the old one is kept up to date
    seen[:] = seen[:0] + ["done"] * 10
    done = bring(videos, store, reembed=True)  # goes on, with the recipe it began with
    assert len(seen) == 11 and done.new == 1
    bring(videos, tmp_path / "whole", clip=1, stride=1)
    assert contents(store) == contents(tmp_path / "whole")
    assert sorted(p.name for p in store.glob("*.lance")) == ["clips_2.lance", "videos_2.lance"]
    with pytest.raises(InputError, match="made anew by colours meanwhile; open the store again"):
        reader.vectors()
    assert bring(videos, store).same == 3


# ── bad input ───────────────────────────────────────────────────────────────────────────────────────────────────────


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2 and len(notes_of(done.stderr)) == 1 and "Traceback" not in done.stderr, done.stderr
    for word in words:
        assert word in done.stderr


def test_a_video_that_cannot_be_read_costs_a_line_and_no_other(videos, tmp_path, run):
    store = tmp_path / "store"
    (videos / "bad.mkv").write_bytes(b"junk" * 100)
    refused(run(videos, store, "--with", "colours", "--processes", "1"), "bad.mkv", "1 of 4 videos cannot be used")
    assert names(store) == {"a.mkv": 2, "b.mkv": 3, "bad.mkv": 0, "inner/c.mkv": 1}
    assert Store.open(store).by_name()["bad.mkv"].problem
    done = bring(videos, store, skip_bad=True)
    assert list(done.bad) == ["bad.mkv"] and done.frames == 0
    film(videos / "bad.mkv", RED)
    assert bring(videos, store).changed == 1 and names(store)["bad.mkv"] == 1


def test_nothing_but_bad_videos_makes_a_store_without_clips(tmp_path, run):
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / "x.mp4").write_bytes(b"")
    refused(run(tmp_path / "videos", tmp_path / "store", "--with", "colours"), "the only video cannot be used")
    assert len(Store.open(tmp_path / "store")) == 0 and Store.open(tmp_path / "store").vectors().vector.shape == (0, 11)


def test_a_folder_without_videos_changes_nothing(videos, tmp_path, run):
    store = tmp_path / "store"
    (tmp_path / "empty").mkdir()
    refused(run(tmp_path / "empty", store), "a folder without videos")
    assert not store.exists()
    bring(videos, store)
    before = contents(store)
    refused(run(tmp_path / "nothing", store), "no such folder")
    refused(run(videos / "a.mkv", store), "is no folder")
    for file in videos.rglob("*.mkv"):
        file.rename(tmp_path / "empty" / file.name)
    refused(run(videos, store), "a folder without videos")  # a disk that is not mounted deletes nothing
    assert contents(store) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_not_one_that_was_deleted(videos, tmp_path):
    bring(videos, tmp_path / "store")
    (videos / "inner").chmod(0)
    try:
        with pytest.raises(InputError, match="would pass for deleted"):
            bring(videos, tmp_path / "store")
    finally:
        (videos / "inner").chmod(0o755)


def test_a_root_that_moved_says_so(videos, tmp_path, run):
    store = tmp_path / "store"
    bring(videos, store)
    before = contents(store)
    new = videos.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"nor is the root of the videos.*--moved"):
        Store.open(store).path_of("a.mkv")
    refused(run(new, store), "a store of the videos in", "--moved")
    shutil.move(store, tmp_path / "moved")  # a store may lie anywhere
    done = bring(new, tmp_path / "moved", moved=True)
    assert (done.same, done.new) == (3, 0) and contents(tmp_path / "moved") == before
    assert Store.open(tmp_path / "moved").path_of("a.mkv") == new / "a.mkv"
    assert bring(new, tmp_path / "moved").same == 3


def test_an_open_store_knows_where_its_videos_lie_now(videos, tmp_path):
    bring(videos, tmp_path / "store")
    store = Store.open(tmp_path / "store")
    new = videos.rename(tmp_path / "elsewhere")
    move(store, new)
    assert store.manifest.root == str(new) and store.path_of("a.mkv") == new / "a.mkv"


def test_a_full_disk_costs_a_line_and_the_store_is_as_it_was(videos, tmp_path):
    store = tmp_path / "store"
    bring(videos, store)
    before = contents(store)
    for i in range(8):
        film(videos / f"more {i}.mkv", *[RED, GREEN, BLUE] * 3)

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))

    refused(run_apart(videos, store, "--processes", "1", preexec_fn=small), str(store), "File too large")
    assert contents(store)[:0] == [] and all(row in contents(store) for row in before)
    assert all(len([r for r in contents(store) if r["video"] == name]) == n for name, n in names(store).items())
    assert bring(videos, store).videos == 11
    bring(videos, tmp_path / "whole")
    assert contents(store) == contents(tmp_path / "whole")


def test_what_is_no_video_is_not_read_to_its_end(videos, tmp_path, monkeypatch):
    """A file of nothing, however long, costs no more than its head."""
    hashed = []
    monkeypatch.setattr("fabula.library.scan.hash_file", lambda path, *more: hashed.append(path.name) or "0" * 64)
    with (videos / "hole.mp4").open("wb") as out:
        out.truncate(1 << 30)
    done = bring(videos, tmp_path / "store", skip_bad=True)
    assert done.videos == 4 and "hole.mp4" not in hashed and "a.mkv" in hashed


def test_a_file_that_changes_while_it_is_read_waits_for_the_next_run(videos, tmp_path, monkeypatch):
    decode = Scanner.decode

    def changing(self: Scanner, job: Job, size: int, mtime_ns: int) -> object:
        made = decode(self, job, size, mtime_ns)
        if job.video == "a.mkv":
            film(job.path, BLUE)
        return made

    monkeypatch.setattr(Scanner, "decode", changing)
    done = bring(videos, tmp_path / "store")
    assert done.left == 1 and set(names(tmp_path / "store")) == {"b.mkv", "inner/c.mkv"}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"with_": "nothing"}, "no embedder is called 'nothing'"),
        ({"with_": "openclip"}, "needs weights"),
        ({"with_": "onnx-clip:/no/such"}, "no such folder"),
        ({"with_": "colours", "stride": 9}, "longer than"),
        ({"with_": "colours", "fps": -1}, "between 0 and 1000"),
        ({"with_": "colours", "clip": 1.3}, "a whole number of frames"),
        ({"with_": "colours", "address": "x:1"}, "--engine ray"),
    ],
)
def test_options_that_do_not_fit_make_no_store(videos, tmp_path, more, told):
    with pytest.raises(FabulaError, match=told):
        fabula.index(videos, store=tmp_path / "store", **more)
    assert not (tmp_path / "store").exists()


def test_a_film_that_joins_leaves_the_files_of_the_others_alone(videos, tmp_path, monkeypatch):
    """Clips are written together when they lie in many files, or when rows have gone."""
    where = tmp_path / "store"
    fabula.index(videos, store=str(where), with_="colours", processes=1)
    before = {path.name for path in (where / "clips.lance" / "data").iterdir()}
    film(videos / "d.mkv", RED, BLUE)
    fabula.index(videos, store=str(where), processes=1)
    joined = {path.name for path in (where / "clips.lance" / "data").iterdir()}
    assert before < joined
    monkeypatch.setattr("fabula.library.store.LOOSE", 0)
    film(videos / "e.mkv", GREEN)
    fabula.index(videos, store=str(where), processes=1)
    together = Store.open(where)
    assert together.clips_table.stats()["fragment_stats"]["num_fragments"] == 1 and len(together.videos()) == 5
