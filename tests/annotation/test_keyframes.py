"""Which frames are shown: by pencil, and of real videos where they are at hand."""

from __future__ import annotations

import pytest

from fabula.annotation.keyframes import Videos, even_times, key_times, keyframes
from fabula.annotation.moments import Moment
from fabula.core.errors import InputError


def test_times_on_paper():
    shots = [(0.0, 4.0), (4.0, 6.0), (6.0, 20.0)]
    assert key_times(shots, 1.0, 10.0, 8) == [2.5, 5.0, 8.0]
    assert key_times(shots, 4.5, 5.5, 8) == [5.0]
    assert key_times([(float(i), i + 1.0) for i in range(10)], 0.0, 10.0, 2) == [2.5, 7.5]
    assert even_times(2.0, 6.0, 4) == [2.5, 3.5, 4.5, 5.5]


def test_videos_that_are_not_there(tmp_path):
    pytest.importorskip("av", reason="the extra features is not installed")
    with pytest.raises(InputError, match="no such folder"):
        Videos(tmp_path / "none")
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.mp4").write_bytes(b"x")
    for name in ("none", "../secret", "/etc/passwd", "", "a\0b"):
        with pytest.raises(InputError):
            Videos(tmp_path / "in").find(name)


def test_real_videos(shared_data):
    pytest.importorskip("av", reason="the extra features is not installed")
    pytest.importorskip("scenedetect", reason="the extra features is not installed")
    place = Videos(shared_data / "videos")
    cut = place.sample(Moment(1, "Bfyp0C02sko_000248_000258", 0.5, 6.0, "x"), 8, 4)
    assert len(cut["keys"]) > 1 and len(cut["even"]) == 4
    assert all(data.startswith(b"\xff\xd8") for some in cut.values() for _, data in some)
    assert place.sample(Moment(1, "Bfyp0C02sko_000248_000258", 0.5, 6.0, "x"), 8, 4) == cut
    beyond = place.sample(Moment(2, "RATRACE_wave_f_nm_np1_fr_goo_37.avi", 1.0, 60.0, "x"), 8, 2)
    assert beyond["even"][-1][0] < 2.5  # the video's end
    with pytest.raises(InputError, match="after the video's end"):
        place.sample(Moment(3, "RATRACE_wave_f_nm_np1_fr_goo_37.avi", 10.0, 12.0, "x"), 8, 2)
    assert len(keyframes(shared_data / "videos" / "v_SoccerJuggling_g23_c01.avi", 0.0, 4.0)) == 1


def test_the_middle_of_a_real_clip(shared_data):
    pytest.importorskip("av", reason="the extra features is not installed")
    cv2 = pytest.importorskip("cv2", reason="the extra features is not installed")
    np = pytest.importorskip("numpy")
    from fabula.media.frames import take_frames, take_middle

    path = shared_data / "videos" / "RATRACE_wave_f_nm_np1_fr_goo_37.avi"
    picture = cv2.imdecode(np.frombuffer(take_middle(path, 120), np.uint8), cv2.IMREAD_COLOR)
    assert min(picture.shape[:2]) == 120
    first, last = (take_frames(path, [t], 120)[t] for t in (0.0, 60.0))
    assert take_middle(path, 120) not in (first, last)
