"""Small pictures by PyAV: brought to a size, made JPEG, and an image file of a query read. Nothing else is needed."""

from __future__ import annotations

import io
from fractions import Fraction
from typing import Any

import numpy as np

from fabula.core.errors import InputError
from fabula.media.base import Pictures
from fabula.media.decode import explain, import_av

WIDTH = 160  # pixels of a thumbnail's longer side
QUALITY = 5  # of JPEG as FFmpeg counts it: 2 is the best, 31 the worst
LARGEST = 32 << 20  # bytes of an image that is asked with
MOST_PIXELS = 1 << 26


def scale(picture: Pictures, width: int, height: int) -> Pictures:
    """By swscale's bicubic filter, the one that decoding uses."""
    if picture.shape[:2] == (height, width):
        return picture
    frame = import_av().VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
    scaled: Pictures = frame.to_ndarray(format="rgb24", width=width, height=height, interpolation="BICUBIC")
    return scaled


def cut_square(picture: Pictures, resize: int, size: int) -> Pictures:
    """The shorter side brought to `resize`, of which the middle square of `size` is kept."""
    height, width = picture.shape[:2]
    short = min(width, height)
    if short != resize:
        width, height = (max(resize, round(side * resize / short)) for side in (width, height))
        picture = scale(picture, width, height)
    y, x = ((side - size) // 2 for side in picture.shape[:2])
    return picture[y : y + size, x : x + size]


def make_jpeg(picture: Pictures, side: int = WIDTH) -> bytes:
    """A thumbnail whose longer side has so many pixels; sides are even, as the format of colours wants."""
    av = import_av()
    height, width = picture.shape[:2]
    share = min(1.0, side / max(width, height))
    width, height = (max(2, 2 * round(n * share / 2)) for n in (width, height))
    codec = av.CodecContext.create("mjpeg", "w")
    codec.width, codec.height, codec.pix_fmt = width, height, "yuvj420p"
    codec.time_base, codec.color_range = Fraction(1, 25), 2  # full range
    codec.thread_count = 1
    codec.options = {"qmin": str(QUALITY), "qmax": str(QUALITY), "huffman": "optimal"}
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
    frame = frame.reformat(width, height, "yuvj420p", interpolation="BICUBIC", dst_color_range="JPEG")
    frame.pts = 0
    return b"".join(bytes(packet) for packet in (*codec.encode(frame), *codec.encode(None)))


def read_image(data: bytes, name: object = "the image") -> Pictures:
    """The first picture of an image file's bytes (JPEG, PNG, WebP, GIF, BMP), as [H, W, 3]."""
    av = import_av()
    if len(data) > LARGEST:
        raise InputError(f"an image of {len(data) >> 20} MB", file=name, hint=f"at most {LARGEST >> 20} MB")
    options = {"format_whitelist": FORMATS}
    try:
        with av.open(io.BytesIO(data), options=options) as container:
            stream = container.streams.video[0]
            stream.codec_context.options = {"max_pixels": str(MOST_PIXELS)}
            return turned(next(container.decode(stream)))
    except (av.FFmpegError, IndexError, StopIteration, ValueError) as error:
        raise InputError(f"no image that can be read ({explain(error)})", file=name, hint="JPEG, PNG, WebP") from None


FORMATS = "image2,jpeg_pipe,png_pipe,webp_pipe,gif,bmp_pipe,tiff_pipe,mjpeg"


def turned(frame: Any) -> Pictures:
    """Upright, as cameras mean it."""
    picture = frame.to_ndarray(format="rgb24")
    turns = round((frame.rotation or 0) / 90) % 4
    rotated: Pictures = np.ascontiguousarray(np.rot90(picture, turns))
    return rotated
