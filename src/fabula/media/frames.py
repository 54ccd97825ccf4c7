"""Single frames as JPEG: of a film at given times, or of a clip at its middle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabula.core.errors import import_extra
from fabula.media.decode import Video

SIDE = 336  # pixels of a frame's shorter side
QUALITY = 85  # of JPEG


def take_frames(path: Path, times: Sequence[float], side: int = SIDE) -> dict[float, bytes]:
    """The picture on the screen at each of these times, in rising order, as JPEG."""
    video = Video(path, resize=side)
    found: dict[float, bytes] = {}
    rest = list(times)
    shown = None
    for t, frame in video.walk():
        while rest and shown is not None and rest[0] < t:
            found[rest[0]] = encode_jpeg(video, shown)
            rest.pop(0)
        if not rest:
            break
        shown = frame
    for late in rest:
        found[late] = encode_jpeg(video, shown)
    return found


def take_middle(path: Path, side: int = SIDE) -> bytes:
    """The picture in the middle of a clip."""
    video = Video(path)
    for _ in video.walk():
        pass  # only then its end is known
    middle = video.duration / 2
    return take_frames(path, [middle], side)[middle]


def encode_jpeg(video: Video, frame: object) -> bytes:
    cv2 = import_extra("cv2", "writing frames", "features")
    picture = video.convert(frame)
    fine, data = cv2.imencode(".jpg", picture[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    assert fine
    return bytes(data)
