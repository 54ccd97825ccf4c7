"""Stretches of films as clips: the pictures asked for and no others, upright, with their sound."""

from __future__ import annotations

import struct

import numpy as np
import pytest

pytest.importorskip("av", reason="films are made with fabula[features]")

import av

from fabula.core.errors import InputError
from fabula.library.page import cut as cutting
from fabula.library.page.cut import cut
from tests.media.conftest import write_video

RATE = 8_000  # of sound


def make_film(path, seconds=6.0, fps=10, sound=True, key=50):
    """Grey that tells the time: picture i has the value 10 + i; a tone whose loudness grows with time."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream(
            "libx264", rate=fps, options={"crf": "1", "g": str(key), "bf": "2", "sc_threshold": "0"}
        )
        stream.width, stream.height, stream.pix_fmt = 64, 32, "yuv420p"
        voice = out.add_stream("aac", rate=RATE) if sound else None
        for i in range(round(seconds * fps)):
            picture = np.full((32, 64, 3), 10 + i, np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
            if voice is not None:
                t = i / fps + np.arange(RATE // fps) / RATE
                tone = (t / seconds * np.sin(2000 * t)).astype(np.float32)
                frame = av.AudioFrame.from_ndarray(tone[None], "fltp", "mono")
                frame.sample_rate, frame.pts = RATE, i * (RATE // fps)
                out.mux(voice.encode(frame))
        out.mux(stream.encode())
        if voice is not None:
            out.mux(voice.encode())
    return path


def read(path):
    """Values of pictures, their times, and the sound."""
    with av.open(str(path)) as made:
        frames = list(made.decode(video=0))
        values = [round(float(f.to_ndarray(format="rgb24").mean())) for f in frames]
    with av.open(str(path)) as made:
        heard = [f.to_ndarray()[0] for f in made.decode(audio=0)] if made.streams.audio else []
    return values, [float(f.time) for f in frames], np.concatenate(heard) if heard else None


@pytest.mark.parametrize(("start", "end"), [(0.0, 1.0), (2.0, 3.5), (3.75, 4.05), (5.5, 9.0), (4.9, 5.1)])
def test_exactly_the_pictures_asked_for(tmp_path, start, end):
    made = cut(make_film(tmp_path / "film.mp4"), start, end, tmp_path / "clip.mp4")
    values, times, heard = read(tmp_path / "clip.mp4")
    first, last = int(start * 10 + 1e-9), min(60, int(np.ceil(end * 10 - 1e-9)))
    assert values == pytest.approx([10 + i for i in range(first, last)], abs=2) and len(values) == last - first
    assert made.how == "anew" and (made.start, made.end) == (start, pytest.approx(min(end, 6.0)))
    assert times[0] == 0 and np.all(np.diff(times) > 0)
    assert heard is not None and len(heard) / RATE == pytest.approx(min(end, 6) - start, abs=0.3)


def test_sound_is_that_of_the_stretch(tmp_path):
    cut(make_film(tmp_path / "film.mp4"), 4.0, 5.0, tmp_path / "clip.mp4")
    loud = np.abs(read(tmp_path / "clip.mp4")[2]).max()
    assert 4 / 6 * 0.8 < loud < 5.2 / 6 * 1.25  # it grows from 0 to 1 over six seconds


def test_a_film_without_sound(tmp_path):
    cut(make_film(tmp_path / "film.mp4", sound=False), 1.0, 2.0, tmp_path / "clip.mp4")
    values, _, heard = read(tmp_path / "clip.mp4")
    assert len(values) == 10 and heard is None


def test_a_film_that_is_held_sideways_comes_upright(tmp_path):
    """Phones turn pictures by a matrix in the file's head; a clip has none, so its pictures are turned."""
    picture = np.zeros((48, 64, 3), np.uint8)
    picture[:, :32] = 255  # left half white: above, once it is turned to the right
    film = write_video(tmp_path / "film.mp4", [picture] * 5, codec="mpeg4", pix_fmt="yuv420p")
    data = bytearray(film.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    zero, one, minus = (struct.pack(">i", v << 16) for v in (0, 1, -1))
    wide = struct.pack(">i", 48 << 16)
    data[at : at + 36] = b"".join([zero, one, zero, minus, zero, zero, wide, zero, b"\x40\0\0\0"])
    film.write_bytes(data)
    cut(film, 0.0, 0.3, tmp_path / "clip.mp4")
    with av.open(str(tmp_path / "clip.mp4")) as made:
        seen = next(made.decode(video=0)).to_ndarray(format="rgb24")
    assert seen.shape == (64, 48, 3) and seen[:28].mean() > 230 and seen[36:].mean() < 25


def test_long_stretches_are_copied_from_the_key_picture_before(tmp_path, monkeypatch):
    monkeypatch.setattr(cutting, "LONG", 1.0)
    made = cut(make_film(tmp_path / "film.mp4", key=20), 3.0, 5.0, tmp_path / "clip.mp4")
    values, times, heard = read(tmp_path / "clip.mp4")
    assert made.how == "copied" and made.start == pytest.approx(2.0, abs=0.01)  # a key picture every two seconds; said
    assert values[0] == pytest.approx(30, abs=2) and times[0] == pytest.approx(0, abs=0.25)
    assert 58 <= values[-1] <= 64 and heard is not None


def test_what_cannot_be_cut_costs_one_line(tmp_path):
    film = make_film(tmp_path / "film.mp4", sound=False)
    with pytest.raises(InputError, match="no picture between 50"):
        cut(film, 50.0, 51.0, tmp_path / "clip.mp4")
    (tmp_path / "bad.mp4").write_bytes(b"no film" * 100)
    with pytest.raises(InputError, match="cannot be read as a video"):
        cut(tmp_path / "bad.mp4", 0.0, 1.0, tmp_path / "clip.mp4")
    (tmp_path / "list.mp4").write_text("#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n")  # a playlist leads elsewhere
    with pytest.raises(InputError):
        cut(tmp_path / "list.mp4", 0.0, 1.0, tmp_path / "clip.mp4")


def test_a_copy_shorter_than_a_second_says_where_it_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(cutting, "LONG", 0.1)
    made = cut(make_film(tmp_path / "film.mp4", key=20), 0.0, 0.5, tmp_path / "clip.mp4")
    assert made.how == "copied" and made.start == 0 and made.end == pytest.approx(0.4, abs=0.1)
