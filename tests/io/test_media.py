"""Films and images of a folder meet rows by their ids, as everything else does."""

import pytest

from fabula.io.media import IMAGES, VIDEOS, find_media


@pytest.mark.parametrize(
    ("id", "file"),
    [
        ("kite", "kite.mp4"),
        ("kite.mp4", "kite.mp4"),
        ("kite.mp4", "kite.webm"),
        ("v_kite", "kite.mkv"),
        ("kite", "v_kite.mp4"),
        ("v_kite.mp4", "kite.webm"),
        ("folder/kite.mp4", "kite.mp4"),
        ("NUsG9BgSes0_210.0_360.0", "NUsG9BgSes0_210.0_360.0.mp4"),  # a dot that is no ending
        ("v_v_kite", "v_kite.mp4"),
    ],
)
def test_spellings(tmp_path, id, file):
    (tmp_path / file).write_bytes(b"")
    (tmp_path / "other.mp4").write_bytes(b"")
    assert find_media(tmp_path, [id, "nobody"], VIDEOS) == {id: tmp_path / file}


def test_folders_in_folders_and_what_browsers_play_first(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    for name in ("1.avi", "1.mp4", "1.txt"):
        (inner / name).write_bytes(b"")
    assert find_media(tmp_path, [1], VIDEOS) == {"1": inner / "1.mp4"}
    (inner / "1.PNG").write_bytes(b"")
    assert find_media(tmp_path, ["1.jpg"], IMAGES) == {"1.jpg": inner / "1.PNG"}
