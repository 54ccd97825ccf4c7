"""`fabula predict micap RUN film.mp4 --page`: a raw film to captions with ids and a page; what is wrong is said."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch", reason="models need fabula[learn]")
for module in ("lightning_fabric", "safetensors", "tokenizers"):
    pytest.importorskip(module, reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import FabulaError, InputError, SpecError  # noqa: E402
from fabula.media.cut import cut_features  # noqa: E402
from fabula.media.stores.features import Features, write_features  # noqa: E402
from fabula.report.film import Film, Person, film_page, put_names, row_of  # noqa: E402
from fabula.verbs.command_line import fabula as command  # noqa: E402
from tests.learn.test_micap_task import FAST, SHAPE, run, world  # noqa: E402, F401

VIDEOS = [f for above in Path(__file__).resolve().parents for f in (above / "shared/data/videos").glob("xukun.mp4")]


def test_features_of_a_clip() -> None:
    x = np.arange(10, dtype=np.float32)[:, None]  # feature k is of [k/2, (k + 1)/2)
    assert cut_features(x, 2, 1.0, 2.0)[:, 0].tolist() == [2, 3]
    assert cut_features(x, 2, 1.0, 1.1)[:, 0].tolist() == [2]  # no middle in it: the stretch that it lies in
    assert cut_features(x, 2, 0.0, 99)[:, 0].tolist() == list(range(10))
    assert cut_features(x, 2, 7.0, 8.0)[:, 0].tolist() == [9]  # behind the end


def test_a_store_of_films_is_cut(tmp_path: Path) -> None:
    x = np.arange(10, dtype=np.float32)[:, None]
    told = {"recipe": {"extractor": "toy", "fps": 4.0, "stride": 2}, "durations": {"film": 5.0}}
    write_features(tmp_path / "films.safetensors", [("film", x)], told)
    lines = [{"id": "a", "video": "film", "start": 0, "end": 1}, {"id": "b", "video": "film", "start": 1, "end": 4.5}]
    (tmp_path / "clips.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["features", "cut", str(tmp_path / "films.safetensors"), "--clips", str(tmp_path / "clips.jsonl"), "-o"]
    done = CliRunner().invoke(command, [*words, str(tmp_path / "frame.safetensors")])
    assert done.exit_code == 0, done.output
    store = Features(tmp_path / "frame.safetensors")
    assert store["a"][:, 0].tolist() == [0, 1] and store["b"][:, 0].tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert store.recipe == told["recipe"] and store.metadata["durations"] == {"a": 1.0, "b": 3.5}
    (tmp_path / "clips.jsonl").write_text('{"id": "c", "video": "film", "start": 5, "end": 6}\n')
    late = CliRunner().invoke(command, [*words, str(tmp_path / "late.safetensors")])
    assert isinstance(late.exception, InputError) and "its film has 5 s" in str(late.exception)
    assert not (tmp_path / "late.safetensors").exists()


def test_names_stand_in_captions() -> None:
    assert put_names("P1 sees P12 and P2.", {1: "Anna", 2: "Bo"}) == "Anna sees P12 and Bo."


def test_a_page_of_people() -> None:
    people = [Person(3, "Anna", 1, (b"\xff\xd8",), ((0.0, 1.5),)), Person(0, None, 2), Person(5, None, None)]
    film = Film("f", 4.0, [(0, 2, "P1 sees <b>P2</b>."), (2, 4, "P7 waits.")], people)
    row = row_of(film, Path())
    assert row[2] == [[0, 2, "Anna sees <b>P2</b>.", [0, 1]], [2, 4, "P7 waits.", []]]
    assert [one[0] for one in row[4]] == ["Anna · P1", "person 0 · P2", "person 5"]
    page = film_page([film], "A film")
    assert "<b>P2" not in page and "1 film, 2 clips told, 3 people seen" in page and "img-src data:" in page
    with pytest.raises(InputError, match="no film"):
        film_page([], "none")


def test_what_cannot_be_told(run: Path, world: Path, tmp_path: Path) -> None:  # noqa: F811
    film = tmp_path / "film.mp4"
    film.write_bytes(b"no video")
    with pytest.raises(SpecError, match=r"does not say how its .* features were made|names no extractor|no extractor"):
        fabula.predict("micap", run, videos=film)  # simulated features
    with pytest.raises(SpecError, match="one of the two"):
        fabula.predict("micap", run, videos=film, data=world)
    with pytest.raises(SpecError, match="one of the two"):
        fabula.predict("micap", run)
    with pytest.raises(SpecError, match="--task fitb or --task caption"):
        fabula.predict("micap", run, data=world)
    with pytest.raises(SpecError, match="no captions with blanks"):
        fabula.predict("micap", run, videos=film, task="fitb")
    with pytest.raises(SpecError, match="--page is for raw films"):
        fabula.predict("micap", run, data=world, task="fitb", page=tmp_path / "p.html")


def cut_video(source: Path, target: Path, begin: float, end: float) -> None:
    av = pytest.importorskip("av", reason="films need fabula[features]")
    with av.open(str(source)) as read, av.open(str(target), "w") as written:
        stream = read.streams.video[0]
        out = written.add_stream("mpeg4", rate=stream.average_rate)
        out.width, out.height, out.pix_fmt = stream.width, stream.height, "yuv420p"
        out.bit_rate = 4_000_000
        n = 0
        for frame in read.decode(stream):
            if begin <= frame.time < end:
                small = frame.reformat(out.width, out.height, "yuv420p")
                small.pts, small.time_base, n = n, Fraction(1) / stream.average_rate, n + 1
                written.mux(out.encode(small))
        written.mux(out.encode())


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not VIDEOS:
        pytest.skip("no videos in ../shared/data/videos")
    path = tmp_path_factory.mktemp("film") / "dance.mp4"
    cut_video(VIDEOS[0], path, 20, 23)
    return path


def make_run(film: Path, folder: Path, streams: str) -> tuple[Path, Any]:
    """A tiny run, trained on the film's own streams with captions made up."""
    people = pytest.importorskip("fabula.media.people")
    features = pytest.importorskip("fabula.media")
    try:
        cast = people.Cast.of(film)
        maker = features.extractor("efficientnet_lite0(fps=5)")
        x, _ = features.extract_one(film, maker)
    except FabulaError as error:
        pytest.skip(str(error))
    clips = people.shots_as_clips(cast, 0.5)
    people.write_streams(cast, clips, folder / "streams")
    made = {clip.id: cut_features(x, maker.rate, clip.start, clip.end) for clip in clips}
    write_features(folder / "streams" / "frame.safetensors", made.items(), {"recipe": maker.recipe()})
    lines = [{"id": "a", "captions": ["P1 dances."] * len(clips), "clips": [clip.id for clip in clips]}]
    (folder / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    fabula.train("micap", data=folder / "train.jsonl", features=folder / "streams", tiny=True, min_count=1, set_=SHAPE,
                 settings={**FAST, "epochs": 40, "lr": 1e-2}, streams=streams, out=folder / "run")  # fmt: skip
    return folder / "run", cast


@pytest.mark.slow
def test_from_a_film_to_a_page(film: Path, tmp_path: Path) -> None:
    run, cast = make_run(film, tmp_path, "text,face,frame")  # noqa: F811
    told = fabula.predict("micap", run, tmp_path / "told.jsonl", videos=film, longest=0.5, page=tmp_path / "film.html")
    (captions,) = (one.captions for one in told.values())
    assert captions == ("P1 dances.",) * len(captions) and len(captions) >= 6  # as it was taught
    assert json.loads((tmp_path / "told.jsonl").read_text())["captions"] == list(captions)
    page = (tmp_path / "film.html").read_text()
    assert f"1 film, {len(captions)} clips told" in page and "licence of the weights" in page
    assert re.search(r"https?://", page.replace("http://www.w3.org/2000/svg", "")) is None  # nothing from elsewhere
    cast.save(tmp_path / "people.npz")
    named = fabula.predict("micap", run, videos=film, longest=0.5, cast=tmp_path / "people.npz")
    assert {name: one.captions for name, one in named.items()} == {"dance": captions}  # the same people


@pytest.mark.slow
def test_a_run_that_sees_no_faces(film: Path, tmp_path: Path) -> None:
    run, _ = make_run(film, tmp_path, "text,frame")  # noqa: F811
    told = fabula.predict("micap", run, videos=film, longest=0.5, page=tmp_path / "film.html")
    assert told["dance"].captions and "0 people seen" in (tmp_path / "film.html").read_text()
