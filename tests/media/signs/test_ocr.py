"""One picture read by PP-OCRv6, beside rapidocr's own program; nothing from the network; lines that are turned."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np
import pytest

from fabula.core.errors import MissingExtra
from fabula.media.signs import base, ocr
from fabula.media.signs.base import SignModel
from fabula.media.signs.ocr import Found, fold, read_picture
from tests.media.signs.conftest import Painted, ground, paint

TEXTS = [
    Painted("BAKER STREET", x=0.1, y=0.1, height=30),
    Painted("tel. 647-92-24", x=0.5, y=0.5, height=22, font="sans", colour=(250, 220, 40)),
    Painted("Ausgang links", x=0.1, y=0.8, height=24, font="serif"),
]


def scene(texts: list[Painted], size: tuple[int, int] = (360, 640)) -> Any:
    return paint(ground(size, 0, 3), 0.0, texts)


def texts(found: Found) -> list[str]:
    """The lines of two letters or more: a circle is read as O, which gates leave out."""
    return [line.text for line in found.lines if len(line.letters) > 1]


@pytest.mark.usefixtures("weights")
def test_lines_and_their_places(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nothing is downloaded")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    found = read_picture(scene(TEXTS), SignModel())
    assert texts(found) == ["BAKER STREET", "tel. 647-92-24", "Ausgang links"]
    assert found.turned == found.surplus == 0
    for line, painted in zip([line for line in found.lines if len(line.letters) > 1], TEXTS, strict=True):
        assert line.confidence > 0.9
        assert abs(line.box[0] - painted.x) < 0.03 and painted.y - 0.03 < line.box[1] < painted.y + 0.08
        assert len(line.sure) == len(line.space) == len(line.letters)


@pytest.mark.slow
@pytest.mark.usefixtures("weights")
def test_as_rapidocr_itself_reads():
    """Theirs: det, no angle, rec, with their defaults; 3.10.0 of PyPI. Single letters differ: theirs have grey behind
    them up to 320 pixels, by which circles are read as O with .9."""
    import logging
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from rapidocr import RapidOCR
    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    theirs = RapidOCR(params={"Global.log_level": "error", "EngineConfig.onnxruntime.intra_op_num_threads": 1})
    for seed in range(3):
        picture = paint(ground((736, 960), 0, seed), 0.0, TEXTS)
        own = texts(read_picture(picture, SignModel()))
        result = theirs(picture[..., ::-1].copy(), use_cls=False)
        assert own == [text for text in result.txts if len(text) > 1]


@pytest.mark.usefixtures("weights")
def test_what_is_turned_is_counted_and_not_read():
    up = Painted("BAKER STREET", x=0.3, y=0.9, height=30, turned=90)
    found = read_picture(scene([up]), SignModel())
    assert texts(found) == [] and found.turned == 1
    leaning = Painted("BAKER STREET", x=0.3, y=0.5, height=30, turned=8)
    found = read_picture(scene([leaning]), SignModel())
    assert texts(found) == ["BAKER STREET"]


@pytest.mark.usefixtures("weights")
@pytest.mark.parametrize("size", [(1, 1), (1, 700), (700, 1), (16, 16), (90, 1400)])
def test_pictures_of_any_shape(size):
    assert read_picture(np.full((*size, 3), 90, np.uint8), SignModel()).lines == []


@pytest.mark.usefixtures("weights")
def test_more_lines_than_are_read_are_counted(monkeypatch):
    monkeypatch.setattr(ocr, "MOST_LINES", 2)
    found = read_picture(scene(TEXTS), SignModel())
    assert len(found.lines) == 2 and found.surplus == 2


def test_ctc():
    letters = ("", "a", "b", " ")
    best = [0, 1, 1, 0, 1, 3, 0, 2, 3]  # -aa-a_-b_
    likely = np.full((len(best), 4), 0.05, np.float32)
    likely[range(len(best)), best] = [0.9, 0.6, 0.8, 0.9, 0.7, 0.5, 0.9, 0.95, 0.9]
    text, sure, space = fold(likely, letters)
    assert text == "aab" and sure == pytest.approx((0.8, 0.7, 0.95)) and space == pytest.approx((0, 0.05, 0.5))


def test_sides_where_the_detector_looks():
    model = SignModel(small=480, large=736)
    assert ocr.fit_sides(240, 320, model) == (480, 640)
    assert ocr.fit_sides(1080, 1920, model) == (736, 1312)
    assert ocr.fit_sides(600, 800, model) == (608, 800)
    assert ocr.fit_sides(10, 10, model) == (32, 32)


def test_without_the_wheel(monkeypatch):
    monkeypatch.setattr(base, "find_in_wheel", lambda *_: None)
    with pytest.raises(MissingExtra, match=r"\[ocr\]"):
        base.find_weights()
