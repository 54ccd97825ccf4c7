"""Extraction: the store equals what one video gives, is resumed after any stop, and is whole or not there."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.jobs.processes import Processes
from fabula.media import extract, extract_one, extractor, rebuild
from fabula.media.base import cut_clips
from fabula.media.extract import Plan, find_videos
from fabula.media.stores.features import Features, must_match
from tests.media.conftest import grey, noise, write_sound, write_video
from tests.toys import notes_of

pytest.importorskip("safetensors", reason="feature stores need fabula[learn]")
pytest.importorskip("h5py", reason="feature stores need fabula[learn]")

ENDINGS = ["", ".h5", ".safetensors"]


@pytest.fixture
def run(command_line):
    return lambda *arguments: command_line("features", *arguments)


def run_apart(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fabula", "features", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


def contents(path: Path) -> dict[str, bytes]:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return {file.name: file.read_bytes() for file in files}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_features_from_the_file_are_features_from_the_video(films, tmp_path, ending, dtype):
    """What a model is trained on is what it is given when it is used: bit for bit."""
    store = tmp_path / f"store{ending}"
    done = extract([films], extractor("thumbnail", fps=5, dtype=dtype), Plan(out=store))
    assert (done.videos, done.frames) == (5, 120) and done.left_out == {}
    assert not (tmp_path / f"store{ending}.work").exists()
    features = Features(store)
    again = rebuild(features.recipe)
    for video in "abcde":
        array, duration = extract_one(films / f"{video}.mkv", again)
        assert array.dtype == np.float32
        np.testing.assert_array_equal(features[video], array)
        assert features.metadata["durations"][video] == duration
    must_match(again.recipe(), features)


def test_the_manifest_tells_how_to_make_it_again(films, tmp_path):
    extract([films], "thumbnail(fps=2)", Plan(out=tmp_path / "s"))
    told = json.loads((tmp_path / "s" / "metadata.json").read_text())
    assert told["recipe"] == {
        "extractor": "thumbnail", "dim": 192, "weights": None, "rules": 1, "fps": 2.0, "clip": 1, "stride": 1,
        "resize": 64, "size": 64, "mean": [0.0, 0.0, 0.0], "std": [1.0, 1.0, 1.0], "dtype": "float32",
    }  # fmt: skip
    assert told["spec"] == "thumbnail(fps=2)" and told["licence"].startswith("none")
    assert {"fabula", "av", "numpy", "python"} <= set(told["versions"])
    about = told["videos"]["a"]
    assert about["file"] == "a.mkv" and about["frames"] == 20 and len(about["sha256"]) == 64
    assert (about["width"], about["height"]) == (64, 48)
    extract([films], "thumbnail", Plan(out=tmp_path / "t", licence="CC BY 4.0"))
    assert Features(tmp_path / "t").metadata["licence"] == "CC BY 4.0"
    assert str(tmp_path) not in json.dumps(told)  # no place, no time: the same videos give the same bytes


@pytest.mark.parametrize("ending", ENDINGS)
def test_processes_give_the_bytes_of_one(films, tmp_path, ending):
    extract([films], "thumbnail", Plan(out=tmp_path / f"one{ending}"))
    extract([films], "thumbnail", Plan(out=tmp_path / f"two{ending}", runner=Processes(2)))
    one, two = contents(tmp_path / f"one{ending}"), contents(tmp_path / f"two{ending}")
    assert list(one.values()) == list(two.values())


@pytest.mark.slow  # Ray takes a minute to start
def test_ray_gives_the_bytes_of_one(films, tmp_path):
    pytest.importorskip("ray", reason="needs fabula[ray]")
    extract([films], "thumbnail", Plan(out=tmp_path / "one.h5"))
    done = run_apart("extract", films, "--with", "thumbnail", "-o", tmp_path / "ray.h5", "--engine", "ray")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "one.h5").read_bytes() == (tmp_path / "ray.h5").read_bytes()


def kill_and_resume(videos: Path, folder: Path, kills: int, seed: int) -> tuple[Path, list[int]]:
    """Start, kill at a random moment once some more are done, resume, and again; how many were done each time."""
    rng = random.Random(seed)
    store, met = folder / "killed", list[int]()
    command = [sys.executable, "-m", "fabula", "features", "extract", str(videos), "--with", "thumbnail(fps=10)",
               "-o", str(store), "--processes", "2", "--resume"]  # fmt: skip

    def done() -> int:
        return len(list((folder / "killed.work" / "videos").glob("*.json")))

    for _ in range(kills):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
        until = done() + rng.randint(0, 2)
        while process.poll() is None and done() < until:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.1))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            met.append(done())
        process.communicate()
        assert not store.exists() or Features(store)  # whole, or not there
    return store, met


@pytest.mark.slow  # twelve films and five processes; a damaged part and a full disk are tried below
def test_killed_and_resumed_it_is_the_same_store(films, tmp_path):
    many = tmp_path / "many"
    many.mkdir()
    for i in range(12):
        write_video(many / f"v{i:02d}.mkv", noise(i, 150))
    store, met = kill_and_resume(many, tmp_path, 4, seed=1)
    assert len(met) >= 3 and 0 < met[-1] < 12, met
    last = run_apart("extract", many, "--with", "thumbnail(fps=10)", "-o", store, "--processes", "2", "--resume")
    assert last.returncode == 0, last.stderr
    extract([many], "thumbnail(fps=10)", Plan(out=tmp_path / "straight"))
    assert contents(store) == contents(tmp_path / "straight")
    assert not list(tmp_path.glob("*.work")) and not list(tmp_path.glob(".*"))


def test_a_damaged_part_is_made_again(films, tmp_path):
    plan = Plan(out=tmp_path / "s", work=tmp_path / "w")
    extract([films], "thumbnail", plan)
    first = contents(tmp_path / "s")
    part = next((tmp_path / "w" / "videos").glob("*.npy"))
    part.write_bytes(part.read_bytes()[:-4] + b"\x00\x00\x80\x3f")
    again = Plan(out=tmp_path / "s2", work=tmp_path / "w", resume=True)
    extract([films], "thumbnail", again)
    assert contents(tmp_path / "s2") == first


def test_a_kept_folder_serves_more_videos_and_no_other_recipe(films, tmp_path, monkeypatch):
    extract([films / "a.mkv", films / "b.mkv"], "thumbnail", Plan(out=tmp_path / "s", work=tmp_path / "w"))
    with pytest.raises(InputError, match="holds an earlier run; use --resume"):
        extract([films], "thumbnail", Plan(out=tmp_path / "t", work=tmp_path / "w"))
    with pytest.raises(InputError, match="holds a run that differs in: recipe"):
        extract([films], "thumbnail(fps=2)", Plan(out=tmp_path / "t", work=tmp_path / "w", resume=True))
    from fabula.media import extract as module  # the function; its module is asked for below

    looked: list[str] = []
    home = sys.modules[module.__module__]
    look = home.extract_video
    monkeypatch.setattr(home, "extract_video", lambda path, *more: looked.append(path.stem) or look(path, *more))
    extract([films], "thumbnail", Plan(out=tmp_path / "t", work=tmp_path / "w", resume=True))
    assert sorted(looked) == ["c", "d", "e"] and len(Features(tmp_path / "t")) == 5


# ── what is refused ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def bad(films, tmp_path) -> Path:
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "good.mkv").write_bytes((films / "a.mkv").read_bytes())
    (folder / "broken.mp4").write_bytes(b"no video")
    write_sound(folder / "sound.mkv")
    return folder


@pytest.mark.parametrize("processes", [1, 2])
def test_a_bad_video_costs_one_line_and_leaves_no_store(bad, tmp_path, processes, run):
    store = tmp_path / "s.h5"
    done = run("extract", bad, "--with", "thumbnail", "-o", store, "--processes", processes)
    assert done.returncode == 2 and not store.exists()
    assert len(notes_of(done.stderr)) == 1 and "broken.mp4: cannot be read as a video" in done.stderr
    (bad / "broken.mp4").unlink()
    (bad / "sound.mkv").unlink()
    done = run("extract", bad, "--with", "thumbnail", "-o", store, "--resume")
    assert done.returncode == 0 and list(Features(store)) == ["good"], done.stderr


def test_bad_videos_left_out_when_told(bad, tmp_path, run):
    done = run("extract", bad, "--with", "thumbnail", "-o", tmp_path / "s", "--skip-bad")
    assert done.returncode == 0 and "2 videos were left out" in done.stderr
    store = Features(tmp_path / "s")
    assert list(store) == ["good"]
    assert set(store.metadata["left_out"]) == {"broken", "sound"}
    assert str(tmp_path) not in json.dumps(store.metadata)
    (bad / "good.mkv").unlink()
    done = run("extract", bad, "--with", "thumbnail", "-o", tmp_path / "t", "--skip-bad")
    assert done.returncode == 2 and "not one of 2 videos can be used" in done.stderr


FULL = """
import resource, signal, sys
from fabula.verbs.command_line import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.argv[1:] = sys.argv[2:]
main()
"""


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("room", [5_000, 30_000])
def test_a_full_disk(films, tmp_path, ending, room, run):
    """Files may grow to so many bytes: first a video's own part does not fit, then the store of all."""
    store = tmp_path / f"store{ending}"
    command = [sys.executable, "-c", FULL, str(room), "features", "extract", str(films), "--with", "thumbnail(fps=10)",
               "-o", str(store), "--processes", "1"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if not ending and room == 30_000:
        assert done.returncode == 0  # a folder's files are small enough
        return
    assert done.returncode == 2 and "cannot be written" in done.stderr, done.stderr
    assert len(notes_of(done.stderr)) == 1
    assert not store.exists()
    assert not [f for f in tmp_path.rglob("*") if ".tmp" in f.name]
    done = run("extract", films, "--with", "thumbnail(fps=10)", "-o", store, "--resume", "--processes", 1)
    assert done.returncode == 0 and len(Features(store)) == 5


def test_no_space_in_a_worker_keeps_what_was_done(films, tmp_path, monkeypatch):
    from fabula.jobs import folder as folders

    put, count = folders.Folder.put_large, [0]

    def full(self, pieces, *parts):
        count[0] += 1
        if count[0] == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return put(self, pieces, *parts)

    monkeypatch.setattr(folders.Folder, "put_large", full)
    with pytest.raises((FabulaError, OSError), match="No space left"):
        extract([films], "thumbnail", Plan(out=tmp_path / "s"))
    monkeypatch.undo()
    assert len(list((tmp_path / "s.work" / "videos").glob("*.json"))) == 2
    extract([films], "thumbnail", Plan(out=tmp_path / "s", resume=True))
    assert len(Features(tmp_path / "s")) == 5


def test_what_is_asked_wrongly_is_said_before_any_work(films, tmp_path):
    plan = Plan(out=tmp_path / "s")
    with pytest.raises(InputError, match="no such video"):
        extract([tmp_path / "nowhere.mp4"], "thumbnail", plan)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="a folder without videos"):
        extract([tmp_path / "empty"], "thumbnail", plan)
    with pytest.raises(SpecError, match="no extractor is called 'thumbnails'; did you mean 'thumbnail'"):
        extract([films], "thumbnails", plan)
    with pytest.raises(SpecError, match="thumbnail has no parameter 'colour'"):
        extract([films], "thumbnail(colour=1)", plan)
    for wrong in ("fps=0", "fps=2000", "clip=0", "size=0", "size=300", "std=0", "mean=1/2"):
        with pytest.raises(SpecError, match="thumbnail: "):
            extractor(f"thumbnail({wrong})")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "thesis.tex").touch()
    with pytest.raises(InputError, match="exists already"):
        extract([films], "thumbnail", plan)
    with pytest.raises(InputError, match="which is no features"):
        extract([films], "thumbnail", Plan(out=tmp_path / "s", overwrite=True))
    assert not (tmp_path / "s.work").exists()


def test_two_videos_of_one_name(films, tmp_path):
    (tmp_path / "a.mp4").touch()
    with pytest.raises(InputError, match=r"two videos have the id 'a': a\.mkv and a\.mp4"):
        find_videos([films, tmp_path / "a.mp4"])
    told: list[str] = []
    (tmp_path / "README").touch()
    assert list(find_videos([tmp_path], told.append)) == ["a"]
    assert told == ["1 file is not named like a video and skipped: README"]


# ── clips ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def cut_slowly(frames: list[int], clip: int, stride: int) -> list[list[int]]:
    """The rule read literally: feature k stands for stride frames from k·stride on, in the middle of its clip."""
    n = len(frames)
    count = max(1, -(-(2 * n - stride) // (2 * stride)))
    first = [k * stride - (clip - stride) // 2 for k in range(count)]
    return [[frames[min(max(f + j, 0), n - 1)] for j in range(clip)] for f in first]


@pytest.mark.parametrize("clip, stride", [(1, 1), (4, 4), (8, 4), (5, 2), (2, 6), (16, 1), (1, 5), (7, 7)])
def test_clips_are_cut_by_the_rule(clip, stride):
    for n in range(1, 30):
        frames = [np.full((1, 1, 3), i, np.uint8) for i in range(n)]
        made = [c[:, 0, 0, 0].tolist() for c in cut_clips(iter(frames), clip, stride)]
        assert made == cut_slowly(list(range(n)), clip, stride), n


def test_a_long_video_is_not_held_in_memory():
    seen: list[weakref.ref] = []

    def frames():
        for i in range(500):
            frame = np.full((1, 1, 3), i % 256, np.uint8)
            seen.append(weakref.ref(frame))
            yield frame

    most = max(sum(ref() is not None for ref in seen) for _ in cut_clips(frames(), 8, 4))
    assert len(seen) == 500 and most <= 8 + 4


def test_recipes_that_cannot_be_followed(films, tmp_path):
    recipe = extractor("thumbnail").recipe()
    assert rebuild(recipe) == extractor("thumbnail")
    with pytest.raises(SpecError, match="names no extractor"):
        rebuild({"simulated": True})
    with pytest.raises(SpecError, match="rules 2"):
        rebuild({**recipe, "rules": 2})
    with pytest.raises(SpecError, match="no setting 'colour'"):
        rebuild({**recipe, "colour": 1})
    with pytest.raises(InputError, match="other weights"):
        (tmp_path / "w").write_bytes(b"x")
        rebuild(recipe, weights=str(tmp_path / "w"))


def test_another_film_of_the_same_name_is_another(tmp_path):
    path = write_video(tmp_path / "a.mkv", [grey(10)] * 10)
    extract([path], "thumbnail", Plan(out=tmp_path / "s", work=tmp_path / "w"))
    write_video(path, [grey(200)] * 10)
    extract([path], "thumbnail", Plan(out=tmp_path / "t", work=tmp_path / "w", resume=True))
    assert Features(tmp_path / "s")["a"].max() < 0.1 and Features(tmp_path / "t")["a"].min() > 0.7
