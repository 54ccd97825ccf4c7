"""The page of predictions beside their videos: in a real browser, clicked, and with a video that really plays."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabula.core.errors import InputError
from fabula.data.stories import Event, Segment, Story
from fabula.report.links import link_file
from fabula.report.watch import watch_page
from tests.report.test_browser import EVIL, Page

SPANS = [(0.5, 1.2, "crack two eggs"), (1.0, 2.0, "whisk them"), (2.5, 3.5, "pour into the pan")]
STORY = Story("omelette", tuple(Event(Segment(a, b), c) for a, b, c in SPANS), 4.0)


@pytest.fixture
def browser(chromium: Any, tmp_path: Path, screenshots: Path) -> Iterator[Page]:
    opened = Page(chromium, tmp_path, screenshots)
    yield opened
    opened.quiet()


def make_film(path: Path) -> Path:
    """Four seconds whose brightness tells the time."""
    if importlib.util.find_spec("av") is None:
        pytest.skip("needs fabula[features]")
    import av

    codec = "libvpx" if "libvpx" in av.codecs_available else "libx264"
    with av.open(str(path), "w") as out:
        stream = out.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 160, 90, "yuv420p"
        for i in range(40):
            frame = av.VideoFrame.from_ndarray(np.full((90, 160, 3), 40 + 4 * i, np.uint8), "rgb24")
            out.mux(stream.encode(frame))
        out.mux(stream.encode())
    return path


def test_a_click_seeks_in_the_video(browser, tmp_path):
    film = make_film(tmp_path / "omelette #1.webm")  # a name that an address must spell otherwise
    browser.open(watch_page({"omelette": STORY}, "Predictions", videos={"omelette": film}, folder=tmp_path))
    browser.until("return document.querySelector('video').readyState >= 1")
    assert browser.js("return document.querySelector('video').error") is None
    assert browser.js("return document.querySelector('video').duration") == pytest.approx(4.0, abs=0.2)
    assert browser.texts(".steps span") == [caption for _, _, caption in SPANS]
    browser.js("document.querySelectorAll('.steps button')[2].click()")
    browser.until("return document.querySelector('video').currentTime === 2.5")
    browser.until("return [...document.querySelectorAll('.steps .now span')].map((n) => n.textContent).join() "
                  "=== 'pour into the pan'")  # fmt: skip
    browser.js("document.querySelectorAll('.bar')[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    browser.until("return document.querySelector('video').currentTime === 0.5")
    # the line itself: in the middle of the strip stands the middle of the video
    browser.js(
        "const s = document.querySelector('.strip'), r = s.getBoundingClientRect();"
        "const at = {clientX: r.left + r.width / 2, clientY: r.bottom - 5, bubbles: true};"
        "s.dispatchEvent(new MouseEvent('click', at))"
    )
    browser.until("return Math.abs(document.querySelector('video').currentTime - 2) < 0.05")
    browser.js("document.querySelectorAll('.bar')[1].focus()")
    browser.keys("\ue007")  # Enter
    browser.until("return document.querySelector('video').currentTime === 1")
    browser.until("return document.querySelectorAll('.bar.now').length === 2")  # two events overlap there
    browser.picture("watch")


def test_without_a_video_and_with_several(browser):
    other = Story("b & <b>", (), 9.0)
    evil = Story(EVIL, (Event(Segment(1, 2), EVIL), Event(Segment(5, 2), "backwards")), 3.0)
    browser.open(watch_page({"omelette": STORY, "b & <b>": other, EVIL: evil}, EVIL, notes=[EVIL]))
    assert browser.all("video") == [] and "stands alone" in browser.one("[role=status]").text
    assert [o.text for o in browser.all("option")][:2] == ["omelette", "b & <b>"]
    browser.js("const s = document.querySelector('select'); s.value = 1; s.dispatchEvent(new Event('change'))")
    assert "No event was predicted" in browser.one("section").text
    browser.js("const s = document.querySelector('select'); s.value = 2; s.dispatchEvent(new Event('change'))")
    assert browser.texts(".steps span") == [EVIL]
    assert "1 predicted: no stretch of time" in browser.one("section").text


def test_a_video_that_cannot_be_played_is_said(chromium, tmp_path, screenshots):
    page = Page(chromium, tmp_path, screenshots)
    (tmp_path / "broken.webm").write_bytes(b"no video")
    page.open(watch_page({"omelette": STORY}, "x", videos={"omelette": tmp_path / "broken.webm"}, folder=tmp_path))
    page.until("return document.querySelector('[role=status]').classList.contains('fault')")
    assert "cannot be played from broken.webm" in page.one("[role=status]").text
    assert len(page.all(".bar")) == 3


def test_addresses_are_relative_to_the_page(tmp_path):
    assert link_file(None, tmp_path) is None
    (tmp_path / "pages").mkdir()
    assert link_file(tmp_path / "a b#c?.mp4", tmp_path / "pages") == "../a%20b%23c%3F.mp4"
    page = watch_page({"omelette": STORY}, "t", videos={"omelette": tmp_path / "v.mp4"}, folder=tmp_path)
    assert str(tmp_path) not in page
    with pytest.raises(InputError, match="no story to show"):
        watch_page({}, "t")
