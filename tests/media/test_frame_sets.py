"""Frames of films for a recipe: the time beside a frame is the time of that very frame, on odd films too."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fabula.core.errors import InputError, SpecError
from fabula.media.coded.code import PictureCode, UnreadablePictureError, draw_code, read_code
from fabula.media.coded.server import decode_picture
from fabula.media.decode import ENDINGS, Video
from fabula.media.film_times import measure_times
from fabula.media.frame_sets import (
    FrameSample,
    PictureFormat,
    TimesDifferError,
    label_times,
    sign_record,
    stream_frames,
    stream_sets,
    take_frames_for,
)
from fabula.media.sampling import recipe, resizer
from fabula.media.sampling.base import RecipeError
from tests.media.conftest import grey, noise, write_video
from tests.media.odd_films import ODD, STEADY, VARIABLE, write_film

SLIP = 1.5  # ms: containers count in ticks of their own
LATE = {"sound first": 500}  # ms that the pictures begin after the sound


@pytest.fixture(scope="module", params=sorted(ODD))
def odd(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    return request.param, ODD[request.param](folder)


def picture_time(sample: FrameSample, name: str) -> int:
    """When the picture itself says that it appears, in ms."""
    picture = decode_picture(sample.data)
    if name == "turned":
        assert picture.shape[0] > picture.shape[1]
        picture = np.rot90(picture)  # back: the code was drawn lying
    return read_code(np.ascontiguousarray(picture)).time + LATE.get(name, 0)


@pytest.mark.parametrize("text", ["fabula/rate(fps=5)", "fabula/even(n=7)", "fabula/rate(fps=25)"])
@pytest.mark.parametrize("exact", [False, True])
def test_the_time_beside_a_frame_is_its_own(odd, text, exact):
    name, path = odd
    film = measure_times(path, exact)
    frames = take_frames_for(path, text, PictureFormat(side=0), exact)
    assert frames.samples
    for sample, label in zip(frames.samples, frames.labels(), strict=True):
        assert abs(picture_time(sample, name) - sample.time * 1000) <= SLIP
        assert sample.time <= float(label) < sample.until
        assert film.frame_at(Fraction(label)) == sample.index  # what is on the screen then is this very frame


def test_packets_and_pictures_agree(odd):
    _, path = odd
    quick, whole = measure_times(path), measure_times(path, exact=True)
    assert quick.times == whole.times and abs(quick.end - whole.end) <= Fraction(1, 500)
    assert (quick.height, quick.width) == (whole.height, whole.width)


def test_other_harnesses_go_by_the_average_rate(tmp_path):
    """What a harness says of a film of variable rate is off by up to a second; the film's own time is beside it."""
    path = write_film(tmp_path / "v.mp4", VARIABLE)
    frames = take_frames_for(path, "lmms-eval/llava_vid(max_frames_num=5,force_sample=true)")
    assert [sample.index for sample in frames.samples] == [0, 2, 5, 7, 10]
    assert [round(sample.time, 3) for sample in frames.samples] == [VARIABLE[i] / 1000 for i in (0, 2, 5, 7, 10)]
    wrong = [abs(float(sample.harness_label[:-1]) - sample.time) for sample in frames.samples]
    assert max(wrong) > 0.3


def test_frames_of_an_index_in_the_recipes_order(tmp_path):
    path = write_film(tmp_path / "c.mp4", STEADY)
    frames = take_frames_for(path, "internvl/segment-mid(num_segments=4,bound=3/1)", PictureFormat(side=0))
    indices = [sample.index for sample in frames.samples]
    assert indices == [68, 56, 43, 30]  # from 75 back to 25: 68.75 + round(0, −12.5, −25, −37.5)
    assert [picture_time(sample, "") for sample in frames.samples] == [40 * i for i in indices]
    with pytest.raises(RecipeError, match=r"asks for frame \d+ of 100"):
        take_frames_for(path, "internvl/segment-mid(num_segments=4,bound=9/12)")


def test_record_and_signature(tmp_path):
    path = write_film(tmp_path / "c.mp4", STEADY)
    frames = take_frames_for(path, "fabula/rate(fps=1)", PictureFormat(side=96, quality=90))
    again = take_frames_for(str(path), recipe("fabula/rate"), PictureFormat(side=96, quality=90))
    assert frames.record == again.record == json.loads(json.dumps(frames.record))
    assert frames.signature == again.signature == sign_record(frames.record) and len(frames.signature) == 16
    assert {"av", "libavcodec", "opencv", "rules"} <= set(frames.record["decoder"])
    assert [s["time"] for s in frames.record["sent"]] == [0.0, 1.0, 2.0, 3.0]
    for sample, sent in zip(frames.samples, frames.record["sent"], strict=True):
        assert sent["digest"] == hashlib.sha256(sample.data).hexdigest()
        assert decode_picture(sample.data).shape[:2] == (sent["height"], sent["width"]) == (80, 96)
    others = [
        take_frames_for(path, "fabula/rate(fps=1)", PictureFormat(side=96, quality=91)),
        take_frames_for(path, "fabula/rate(fps=1)", PictureFormat(side=128, quality=90)),
        take_frames_for(path, "fabula/rate(fps=2)", PictureFormat(side=96, quality=90)),
        take_frames_for(path, "fabula/rate(fps=1)", PictureFormat(side=96, kind="png")),
    ]
    assert len({frames.signature, *(other.signature for other in others)}) == 5


def test_sizes(tmp_path):
    path = write_video(tmp_path / "a.mkv", [grey(9, 90, 120)] * 4)

    def size(**settings):
        (sample,) = take_frames_for(path, "fabula/even(n=1)", PictureFormat(**settings)).samples
        return sample.height, sample.width

    assert size() == size(side=0) == (90, 120)  # smaller films stay as they are
    assert size(side=60) == (45, 60)
    assert size(resizer=resizer("qwen-vl-utils/smart_resize")) == (84, 112)  # 90/28 = 3.2, 120/28 = 4.3
    for settings in ({"side": 3}, {"quality": 0}):
        with pytest.raises(SpecError):
            PictureFormat(**settings)


def test_frames_that_are_alike_are_sent_once(tmp_path):
    pictures = [grey(v) for v in (10, 12, 60, 61, 60, 200, 10)]
    path = write_video(tmp_path / "a.mkv", pictures, fps=1)
    frames = take_frames_for(path, "fabula/rate(fps=1,distinct=5)")
    assert [sample.index for sample in frames.samples] == [0, 2, 5, 6]  # a frame differs from the last one sent
    assert frames.record["alike"] == 3
    assert len(take_frames_for(path, "fabula/rate(fps=1)").samples) == 7


def test_labels_have_the_digits_that_they_need():
    def at(time, until):
        return FrameSample(0, time, until, 1, 1, b"", "")

    assert label_times([at(0.0, 0.04), at(12.0, 12.04)]) == ["0.0", "12.0"]
    assert label_times([at(0.0, 0.033), at(1.001, 1.034)]) == ["0.00", "1.01"]  # neither 1.0 nor 1.1
    assert label_times([at(0.9676, 1.001)]) == ["1.0"]
    assert label_times([at(1.25, 2.0)], digits=3) == ["1.250"]


def test_packets_that_tell_other_times(tmp_path):
    """Whatever the packets say, the pictures decide; and a stream of frames says so before it gives a wrong one."""
    film = measure_times(write_film(tmp_path / "c.mp4", STEADY))
    moved = replace(film, times=tuple(t + Fraction(1, 50) for t in film.times))
    with pytest.raises(TimesDifferError, match=r"picture 0 appears at 0\.000 s"):
        list(stream_frames(moved, [5]))
    longer = replace(film, times=(*film.times, Fraction(5)))
    with pytest.raises(TimesDifferError, match="100 pictures where its packets are 101"):
        list(stream_frames(longer, [5]))
    assert [sample.index for sample in stream_frames(film, [7, 5, 5])] == [5, 7]


def test_a_film_without_pictures(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        take_frames_for(tmp_path / "no.mp4", "fabula/rate")
    (tmp_path / "text.mp4").write_text("no film")
    with pytest.raises(InputError, match="cannot be read as a video"):
        take_frames_for(tmp_path / "text.mp4", "vllm/opencv")


@pytest.mark.parametrize("size", [(240, 320), (120, 160), (84, 112), (364, 644), (336, 336)])
@pytest.mark.parametrize("quality", [60, 85])
def test_codes_outlive_jpeg_and_resizing(size, quality):
    import cv2

    codes = [
        PictureCode(0),
        PictureCode((1 << 24) - 1, 255, (1 << 20) - 1, 0, 255, 255),
        PictureCode(86_400, 17, 5, 6, 3),
    ]
    for code in codes:
        small = cv2.resize(draw_code(code, 240, 320), size[::-1], interpolation=cv2.INTER_AREA)
        data = PictureFormat(side=0, quality=quality).write(small)
        assert read_code(decode_picture(data)) == code


def test_a_picture_that_holds_no_code():
    code = draw_code(PictureCode(5000, 3), 240, 320)
    for picture in (noise(1)[0], grey(0), np.rot90(code), code[:, 40:], code[::-1]):
        with pytest.raises(UnreadablePictureError):
            read_code(np.ascontiguousarray(picture))
    other = code.copy()
    other[24:48, 27:54] ^= 255  # one block: its bits no longer agree with their check
    with pytest.raises(UnreadablePictureError):
        read_code(other)


def test_windows_that_overlap_in_one_walk(tmp_path):
    path = write_film(tmp_path / "c.mp4", STEADY)  # 4 s
    film = measure_times(path)
    windows = [recipe(f"fabula/rate(fps=5,start={a},end={a + 2})") for a in (0, 1, 2)]
    sets = list(stream_sets(film, windows, PictureFormat(side=96)))
    alone = [take_frames_for(path, window, PictureFormat(side=96)) for window in windows]
    assert [one.samples for one in sets] == [one.samples for one in alone]
    assert [one.record for one in sets] == [one.record for one in alone]
    assert [s.time for s in sets[1].samples] == [1 + k / 5 for k in range(10)]
    exact = PictureFormat(resizer=resizer("qwen-vl-utils/fetch_video-size(min_pixels=784,total_pixels=80000)"))
    counts = [recipe("fabula/even(n=4)"), recipe("fabula/even(n=8)")]  # a frame of more is smaller
    sets = list(stream_sets(film, counts, exact))
    assert [one.samples for one in sets] == [take_frames_for(path, one, exact).samples for one in counts]
    assert sets[0].samples[0].height > sets[1].samples[0].height
    empty = list(stream_sets(film, [recipe("fabula/rate(start=9)"), windows[0]]))
    assert not empty[0].samples and empty[1].samples


@pytest.mark.slow
def test_real_films(shared_data):
    """Each frame is the picture that decoding gives at that index, and its time the one at which that appears."""
    for path in sorted((shared_data / "videos").glob("*.*")):
        if path.suffix not in ENDINGS:
            continue
        frames = take_frames_for(path, "fabula/rate(fps=2)", PictureFormat(side=0, kind="png"))
        wanted = {sample.index: sample for sample in frames.samples}
        film = list(Video(path))
        times = sorted(t for t, _ in film)  # an old AVI numbers its pictures out of order
        for index, sample in wanted.items():
            assert sample.time == times[index] < sample.until, path.name
            assert np.array_equal(decode_picture(sample.data), film[index][1]), path.name
        assert len(frames.samples) > 3
