"""Films beside their timelines, in a real browser: they play, an event jumps to its start, what is missing is told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fabula
from fabula.core.errors import InputError, SpecError
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.report.pages import make_page
from fabula.verbs.command_line import main
from fabula.verbs.terminal.beside import find_beside
from tests.moment_toys import lines
from tests.report.test_browser import Page
from tests.report.test_watch import make_film

SPANS = [(0.5, 1.2, "crack two eggs"), (1.0, 2.0, "whisk them"), (2.5, 3.5, "pour into the pan")]


@pytest.fixture
def browser(chromium: Any, tmp_path: Path, screenshots: Path) -> Iterator[Page]:
    opened = Page(chromium, tmp_path, screenshots)
    yield opened
    opened.driver.get_log("browser")


def corpus(*ids: str) -> Corpus:
    events = tuple(Event(Segment(a, b), c) for a, b, c in SPANS)
    return Corpus({id: Story(id, events, 4.0) for id in ids}, name="told.json")


def draw(result: Any, videos: Path, folder: Path) -> str:
    beside = find_beside(result, videos=videos)
    return make_page([result], [Path("told.json")], beside=beside, folder=folder)


VIDEO = "document.querySelector('video')"


def test_an_event_jumps_to_its_start(browser, tmp_path):
    (tmp_path / "clips").mkdir()
    make_film(tmp_path / "clips" / "omelette #1.webm")
    told = corpus("v_omelette #1.mp4")  # prefix and ending are the id's, not the file's
    browser.open(draw(fabula.score(told, told, metrics="SODA_d"), tmp_path / "clips", tmp_path))
    assert browser.js(f"return {VIDEO}.getAttribute('src')") == "clips/omelette%20%231.webm"
    browser.until(f"return {VIDEO}.readyState >= 1")
    browser.js("document.querySelectorAll('.event')[2].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    browser.until(f"return {VIDEO}.currentTime === 2.5")
    browser.until("return document.querySelector('.timeline .head').getAttribute('x1') === '62.500%'")
    browser.js("document.querySelectorAll('.event')[0].focus()")
    browser.keys("\ue014")  # walks to the next
    browser.keys("\ue007")  # Enter
    browser.until(f"return {VIDEO}.currentTime === 1")
    assert "whisk them" in browser.texts(".card")[0]
    browser.js(  # between events: the middle of the line is the middle of the film
        "const s = document.querySelector('.timeline'), r = s.getBoundingClientRect();"
        "const at = {clientX: r.left + r.width / 2, clientY: r.bottom - 4, bubbles: true};"
        "s.dispatchEvent(new MouseEvent('click', at))"
    )
    browser.until(f"return Math.abs({VIDEO}.currentTime - 2) < 0.05")
    assert all(bar.accessible_name for bar in browser.all(".event[role=button]"))
    assert browser.one("video").rect["y"] < browser.one(".timeline").rect["y"]
    browser.quiet()


def test_a_real_film_plays_beside_its_timeline(browser, tmp_path, shared_data):
    told = Corpus(
        {"GGSY1Qvo990": Story("GGSY1Qvo990", tuple(Event(Segment(a, b), c) for a, b, c in
         [(0.0, 6.0, "a woman bends down"), (6.0, 12.0, "she lifts the weight"), (12.0, 17.5, "she drops it")]), 18.0)},
        name="told.json",
    )  # fmt: skip
    browser.open(draw(fabula.score(told, told, metrics="SODA_d"), shared_data / "videos", tmp_path))
    browser.until(f"return {VIDEO}.readyState >= 2 || {VIDEO}.error")
    if browser.js(f"return {VIDEO}.error !== null"):
        pytest.skip("this browser does not play H.264")
    assert browser.js(f"return {VIDEO}.duration") == pytest.approx(18.16, abs=0.1)
    browser.js("document.querySelectorAll('.event')[1].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    browser.until(f"return {VIDEO}.currentTime === 6")
    browser.js(f"{VIDEO}.muted = true; {VIDEO}.play()")
    browser.until(f"return {VIDEO}.currentTime > 6.4")
    at = browser.js("return parseFloat(document.querySelector('.timeline .head').getAttribute('x1'))")
    assert at > 100 * 6 / 18
    browser.picture("film", "#open")
    browser.js(f"{VIDEO}.pause()")
    size = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        assert browser.js("return document.documentElement.scrollWidth") <= 400
        browser.picture("film-400", "#open")
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.quiet()


def test_moments_jump_from_their_table(browser, tmp_path):
    (tmp_path / "clips").mkdir()
    make_film(tmp_path / "clips" / "pan.webm")
    query = {"desc_id": 1, "vid_name": "pan", "ts": [1, 2], "duration": 4, "desc": "whisk"}
    answers = [{"desc_id": 1, "desc": "", "predictions": [[0, 1.5, 2.5, 1], [1, 0, 1, 0.5]]}]
    (tmp_path / "p.json").write_text(json.dumps({"video2idx": {"pan": 0, "elsewhere": 1}, "VCMR": answers}))
    files = tmp_path / "p.json", lines(tmp_path / "q.jsonl", [query])
    browser.open(draw(fabula.score(*files, task="moments", metrics="VCMR"), tmp_path / "clips", tmp_path))
    browser.until(f"return {VIDEO}.readyState >= 1")
    (button,) = browser.all("button.time")  # the answer elsewhere cannot be played here
    button.click()
    browser.until(f"return {VIDEO}.currentTime === 1.5")
    browser.quiet()


def test_what_cannot_be_played_is_said_and_what_is_missing_told_once(browser, tmp_path, monkeypatch, capfd):
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips" / "a.mp4").write_bytes(b"no film")
    told = {id: {"duration": 4, "timestamps": [[0, 2]], "sentences": ["x"]} for id in ("v_a", "v_b", "v_c")}
    (tmp_path / "r.json").write_text(json.dumps(told))
    results = {id: [{"timestamp": [0, 2], "sentence": "x"}] for id in told}
    (tmp_path / "p.json").write_text(json.dumps({"results": results}))
    monkeypatch.chdir(tmp_path)
    typed = "fabula score p.json --refs r.json -m SODA_d --html page.html --videos clips"
    monkeypatch.setattr("sys.argv", typed.split())
    main()
    note = "2 of 3 videos are not in clips: 'v_b', 'v_c'"
    assert capfd.readouterr().err.count(note) == 1
    html = (tmp_path / "page.html").read_text()
    assert html.count("2 of 3 videos") == 1 and str(tmp_path) not in html
    browser.open(html, "#video=v_a")
    browser.until("return document.querySelector('#open [role=status]').classList.contains('fault')")
    assert "cannot be played from clips/a.mp4" in browser.one("#open [role=status]").text
    assert len(browser.all(".event")) == 2
    browser.js("location.hash = '#video=v_b'")
    browser.until("return document.querySelector('#open h3').firstChild.data === 'v_b'")
    assert browser.all("video") == []


def test_folders_are_judged(tmp_path):
    result = fabula.score(corpus("a"), corpus("a"), metrics="SODA_d")
    with pytest.raises(InputError, match="no folder"):
        find_beside(result, videos=tmp_path / "nothing")
    with pytest.raises(InputError, match="without such files"):
        find_beside(result, videos=tmp_path)
    (tmp_path / "b.mp4").write_bytes(b"")
    with pytest.raises(InputError, match=r"there is 'b.mp4', and the rows have 'a'"):
        find_beside(result, videos=tmp_path)
    with pytest.raises(SpecError, match="--images belongs to regions"):
        find_beside(result, images=tmp_path)
    shutil.copy(tmp_path / "b.mp4", tmp_path / "a.MP4")
    assert find_beside(result, videos=tmp_path).files == {"a": tmp_path / "a.MP4"}


@pytest.mark.parametrize("flag", ["--videos", "--images"])
def test_without_a_page_they_are_refused(flag, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr("sys.argv", ["fabula", "score", "p.json", "--refs", "r.json", flag, str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2 and "only applies with --html" in capfd.readouterr().err
