"""Decoding: which picture is on the screen when, upright and square; and what is refused."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from fabula.core.errors import InputError
from fabula.media.decode import Video
from tests.media.conftest import grey, write_sound, write_video


def values(video: Video) -> list[int]:
    return [round(float(picture.mean())) for _, picture in video]


def test_every_picture_at_its_own_time(tmp_path):
    seen = Video(write_video(tmp_path / "a.mkv", [grey(10 * i) for i in range(8)], fps=4))
    assert [t for t, _ in seen] == [i / 4 for i in range(8)]
    assert values(seen) == [10 * i for i in range(8)]
    assert seen.duration == 2.0 and seen.shape == (64, 48)


def test_frames_at_a_rate_by_hand(tmp_path):
    path = write_video(tmp_path / "a.mkv", [grey(10 * i) for i in range(10)], fps=10)  # 1 s
    # 5 per second: at .1, .3, .5, .7, .9 s; picture i appears at i/10 s
    assert values(Video(path, fps=5)) == [10, 30, 50, 70, 90]
    # 4 per second: at .125, .375, .625, .875
    assert values(Video(path, fps=4)) == [10, 30, 60, 80]
    # more than there are: at .025, .075, .125 … each picture twice
    assert values(Video(path, fps=20)) == [10 * (i // 2) for i in range(20)]
    # fewer than one: the time ½/fps lies behind the end, and the last picture stands for the whole
    assert values(Video(path, fps=0.1)) == [90]


def test_variable_rates_keep_their_times(tmp_path):
    # pictures at 0, .1, 1.0 and 1.5 s: at .25 the second is on the screen, until 1.0
    path = write_video(tmp_path / "a.mkv", [grey(v) for v in (0, 50, 100, 150)], fps=10, pts=[0, 1, 10, 15])
    assert values(Video(path, fps=2)) == [50, 50, 100]  # at .25, .75, 1.25; the end is at 1.6
    assert Video(path, fps=2).duration == 0.0
    seen = Video(path, fps=2)
    list(seen)
    assert seen.duration == pytest.approx(1.6, abs=0.002)


@pytest.mark.parametrize("fps", ["30000/1001", "24000/1001", "25"])
def test_rates_that_are_no_whole_number(tmp_path, fps):
    path = write_video(tmp_path / "a.mp4", [grey(i) for i in range(90)], fps=fps, codec="mpeg4", pix_fmt="yuv420p")
    seen = Video(path, fps=1)
    from fractions import Fraction

    count = len(list(seen))
    assert seen.duration == pytest.approx(float(90 / Fraction(fps)), abs=1e-3)
    assert count == sum((k + 0.5) < seen.duration for k in range(10))


def test_square_in_the_middle(tmp_path):
    picture = np.zeros((60, 100, 3), np.uint8)
    picture[:, 20:80] = (200, 100, 50)  # the middle square
    seen = list(Video(write_video(tmp_path / "a.mkv", [picture]), resize=60, size=60))
    assert seen[0][1].shape == (60, 60, 3)
    np.testing.assert_array_equal(seen[0][1], np.broadcast_to(np.uint8([200, 100, 50]), (60, 60, 3)))


def test_pictures_of_phones_stand_upright(tmp_path):
    """The matrix of a phone held upright, a quarter to the right, put into the file's head by hand."""
    picture = grey(0, 48, 64)
    picture[:, :32] = 255  # left half white: above, once it is turned to the right
    path = write_video(tmp_path / "a.mp4", [picture] * 5, codec="mpeg4", pix_fmt="yuv420p")
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40  # version 0: the matrix follows 40 bytes
    one = (1 << 16).to_bytes(4, "big")
    minus = (-(1 << 16)).to_bytes(4, "big", signed=True)
    zero = bytes(4)
    data[at : at + 36] = b"".join(
        [zero, one, zero, minus, zero, zero, (48 << 16).to_bytes(4, "big"), zero, (1 << 30).to_bytes(4, "big")]
    )
    path.write_bytes(data)
    (_, seen), *_ = video = list(Video(path))
    assert seen.shape == (64, 48, 3) and len(video) == 5
    assert seen[:28].mean() > 240 and seen[36:].mean() < 15


def test_pixels_that_are_not_square(tmp_path):
    import av

    with av.open(str(tmp_path / "a.mp4"), "w") as out:
        stream = out.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 32, 48, "yuv420p"
        stream.codec_context.sample_aspect_ratio = 2
        frame = av.VideoFrame.from_ndarray(grey(9, 48, 32), "rgb24")
        frame.pts = 0
        out.mux(stream.encode(frame))
        out.mux(stream.encode())
    seen = Video(tmp_path / "a.mp4")
    ((_, picture),) = seen
    assert picture.shape == (48, 64, 3) and seen.shape == (64, 48)


@pytest.mark.parametrize("pix_fmt", ["gray", "yuv422p10le", "bgra", "yuv444p", "gbrp16le", "yuv410p", "gray16le"])
def test_odd_pixel_formats(tmp_path, pix_fmt):
    path = write_video(tmp_path / "a.mkv", [grey(120)] * 3, pix_fmt=pix_fmt)
    seen = values(Video(path, resize=32, size=32))
    assert len(seen) == 3 and all(abs(v - 120) <= 2 for v in seen)


@pytest.mark.parametrize("shape", [(35, 51), (2, 200), (200, 2), (16, 16)])
def test_odd_sizes(tmp_path, shape):
    path = write_video(tmp_path / "a.mkv", [grey(120, *shape)])
    ((_, picture),) = Video(path, resize=32, size=32)
    assert picture.shape == (32, 32, 3) and abs(picture.mean() - 120) <= 1


# ── what is refused ─────────────────────────────────────────────────────────────────────────────────────────────────


def said(path) -> str:
    with pytest.raises(InputError) as error:
        list(Video(path, fps=1, resize=32, size=32))
    text = str(error.value)
    assert text.startswith(str(path)) and "\n" not in text
    return text


def test_what_is_no_video(tmp_path):
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "text.mp4").write_text("no video\n" * 100)
    (tmp_path / "random.mp4").write_bytes(np.random.default_rng(0).bytes(5000))
    for name in ("empty.mp4", "text.mp4", "random.mp4"):
        assert "cannot be read as a video (" in said(tmp_path / name)
    assert "no such file" in said(tmp_path / "nowhere.mp4")
    assert "is a folder" in said(tmp_path)


def test_sound_alone(tmp_path):
    assert "has no pictures (streams: audio)" in said(write_sound(tmp_path / "a.mkv"))


def test_a_cover_is_no_film(tmp_path):
    import av

    path = tmp_path / "a.mkv"
    write_sound(path)
    song = tmp_path / "a.flac"
    with av.open(str(song), "w") as out:
        sound = out.add_stream("flac", rate=8000)
        sound.layout = "mono"
        cover = out.add_stream("png")
        cover.width = cover.height = 16
        cover.pix_fmt = "rgb24"
        cover.disposition = av.stream.Disposition.attached_pic
        out.mux(cover.encode(av.VideoFrame.from_ndarray(grey(3, 16, 16), "rgb24")))
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.int16), format="s16", layout="mono")
        frame.sample_rate, frame.pts = 8000, 0
        out.mux(sound.encode(frame))
        out.mux(sound.encode())
    assert "has no pictures" in said(song)


def test_a_head_without_frames(tmp_path):
    import av

    path = tmp_path / "a.mkv"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("ffv1", rate=10)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "bgr0"
        out.start_encoding()
    assert "not one picture can be decoded" in said(path) or "cannot be read as a video" in said(path)


def test_a_file_that_breaks_off(tmp_path):
    """An AVI tells its length at the head; cut in the middle it plays to the cut and ends without an error."""
    path = write_video(tmp_path / "a.avi", [grey(i) for i in range(100)], codec="mjpeg", pix_fmt="yuvj420p")
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"00dc", len(whole) // 2)])  # between two pictures
    assert "breaks off at" in said(path) and "its header tells of 10.0 s" in said(path)
    mp4 = write_video(tmp_path / "a.mp4", [grey(i) for i in range(100)], codec="mpeg4", pix_fmt="yuv420p")
    mp4.write_bytes(mp4.read_bytes()[:-400])  # the index stands at the end
    assert "cannot be read as a video" in said(mp4)


@pytest.mark.parametrize("codec", ["mpeg4", "libx264"])
def test_damage_is_not_painted_over(tmp_path, codec):
    """FFmpeg would show the neighbours' pixels and say nothing."""
    import av

    if codec not in av.codecs_available:
        pytest.skip(f"this PyAV does not write {codec}")
    slope = np.add.outer(np.arange(120), np.arange(160))
    pictures = [np.repeat(((slope + 3 * i) % 256).astype(np.uint8)[..., None], 3, 2) for i in range(60)]
    path = write_video(tmp_path / "a.mkv", pictures, codec=codec, pix_fmt="yuv420p")
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for at in rng.integers(len(data) // 3, 2 * len(data) // 3, 100):
        data[at] ^= 0xFF
    path.write_bytes(data)
    assert "cannot be decoded at" in said(path) or "is damaged at" in said(path)


def patched(path: Path, box: bytes, at: int, value: int) -> Path:
    """The .mp4 with four bytes behind a box's name set to another number."""
    data = bytearray(path.read_bytes())
    start = data.index(box) + at
    data[start : start + 4] = struct.pack(">I", value)
    other = path.with_name("patched.mp4")
    other.write_bytes(data)
    return other


def test_a_small_file_that_speaks_of_years(tmp_path):
    """Work is bounded by what is there: a picture of a day is no picture of a film."""
    path = write_video(tmp_path / "a.mp4", [grey(10 * i) for i in range(20)], codec="mpeg4", pix_fmt="yuv420p")
    with pytest.raises(InputError, match=r"one picture lasts 2.* s, at 0\.0 s; its times are damaged"):
        list(Video(patched(path, b"stts", 16, 2**31 - 1), fps=1))
    for scale in (0, 1):
        with pytest.raises(InputError, match=r"1 of 20 pictures can be decoded, and they last .* its header tells"):
            list(Video(patched(path, b"mdhd", 16, scale), fps=1))


def test_a_gap_of_an_hour_is_none_of_minutes(tmp_path):
    path = write_video(tmp_path / "a.mkv", [grey(0), grey(90)], fps=1, pts=[0, 300])
    assert len(values(Video(path, fps=1))) == 301
    with pytest.raises(InputError, match="one picture lasts"):
        list(Video(write_video(tmp_path / "b.mkv", [grey(0), grey(90)], fps=1, pts=[0, 4000]), fps=1))


def test_playlists_lead_nowhere(tmp_path):
    """A list that names other files is no video, whatever it is called."""
    other = write_video(tmp_path / "secret.mkv", [grey(1)])
    for name, text in {
        "list.mp4": f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{other}\n#EXT-X-ENDLIST\n",
        "concat.mp4": f"ffconcat version 1.0\nfile {other}\n",
    }.items():
        (tmp_path / name).write_text(text)
        assert "cannot be read as a video" in said(tmp_path / name)
    odd = write_video(tmp_path / "http:x.mkv", [grey(7)])  # a name that looks like an address
    assert values(Video(odd)) == [7]
