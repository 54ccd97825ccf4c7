"""The page of lines and signs: in a real browser, with a film that really plays; clicked, searched, driven by keys."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabula.core.errors import InputError
from fabula.data.transcripts import Sign, SignList, SpokenLine, Transcript
from fabula.report.lines import FilmText, lines_page, pair_up
from tests.report.test_browser import EVIL, Page
from tests.report.test_watch import make_film

LINES = Transcript(
    "kite #1",
    (
        SpokenLine(0.5, 1.5, "Look, a kite!", 0.93, "S1"),
        SpokenLine(1.4, 2.0, "Où çà ?\nOver there.", 0.5),
        SpokenLine(3.0, 3.5, "It falls."),
    ),
    4.0,
    "en",
    "subtitles kite.srt",
)
SIGNS = SignList(
    "kite #1",
    (
        Sign(0.0, 4.0, "TV", 0.7, "logo", (0.8, 0.0, 1.0, 0.2)),
        Sign(1.0, 2.5, "KITE SHOP", 0.98, "sign", (0.25, 0.5, 0.75, 0.75)),
        Sign(3.0, 3.5, "it falls", 0.9, "subtitle"),
    ),
    4.0,
    "rapidocr",
)
NOW = "return [...document.querySelectorAll('.entries .now .words')].map((n) => n.textContent).join('|')"
SHOWN = "return [...document.querySelectorAll('.entries .words')].map((n) => n.textContent).join('|')"
TIME = "return document.querySelector('video').currentTime"
DOWN, UP, LEFT, RIGHT, ENTER, ESCAPE = "\ue015", "\ue013", "\ue012", "\ue014", "\ue007", "\ue00c"


@pytest.fixture
def browser(chromium: Any, tmp_path: Path, screenshots: Path) -> Iterator[Page]:
    opened = Page(chromium, tmp_path, screenshots)
    yield opened
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    opened.quiet()


def resize(page: Page, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def open_film(browser: Page, folder: Path) -> None:
    film = make_film(folder / "kite #1.webm")
    browser.open(lines_page([FilmText(LINES, SIGNS, film)], "Kites", folder=folder))
    browser.until("return document.querySelector('video').readyState >= 2")


def send(browser: Page, keys: str) -> None:
    browser.one("body").send_keys(keys)


def test_a_click_goes_there_and_what_is_there_is_marked(browser: Page, tmp_path: Path) -> None:
    open_film(browser, tmp_path)
    assert browser.one(".lead").text == "1 film, 3 lines, 3 signs"
    assert browser.js(SHOWN) == "TV|Look, a kite!|KITE SHOP|Où çà ?\nOver there.|It falls.|it falls"
    browser.js("document.querySelectorAll('.entries button')[3].click()")
    browser.until(f"{TIME} === 1.4")
    assert browser.js(NOW) == "TV|Look, a kite!|KITE SHOP|Où çà ?\nOver there."
    marked = browser.all("[aria-current=true]")
    assert marked[1].get_attribute("aria-label") == "0:00.5 to 0:01.5, line of S1: Look, a kite!"
    # frames lie over the picture where the signs are
    film = browser.js(
        "const r = document.querySelector('video').getBoundingClientRect(); return [r.x, r.y, r.width, r.height]"
    )
    boxes = browser.js(
        "return [...document.querySelectorAll('.frame i')].map((i) => { const r = i.getBoundingClientRect();"
        " return [i.className, r.x, r.y, r.width, r.height]; })"
    )
    assert [box[0] for box in boxes] == ["logo", "sign"]
    wanted = [film[0] + film[2] / 4, film[1] + film[3] / 2, film[2] / 2, film[3] / 4]
    assert boxes[1][1:] == pytest.approx(wanted, abs=1.5)
    # an end is no longer inside, a start is
    browser.js("document.querySelectorAll('.entries button')[5].click()")
    browser.until(f"{TIME} === 3")
    assert browser.js(NOW) == "TV|It falls.|it falls"
    # the middle of a lane is the middle of the film
    browser.js(
        "const s = document.querySelector('.lanes svg'), r = s.getBoundingClientRect();"
        "s.dispatchEvent(new MouseEvent('click', {clientX: r.left + r.width / 2, clientY: r.top + 5, bubbles: true}))"
    )
    browser.until("return Math.abs(document.querySelector('video').currentTime - 2) < 0.05")
    browser.picture("lines")


def test_it_plays_and_the_mark_goes_along(browser: Page, tmp_path: Path) -> None:
    open_film(browser, tmp_path)
    browser.js("document.querySelector('video').muted = true")
    assert browser.js(NOW) == ""
    send(browser, " ")
    browser.until("return !document.querySelector('video').paused")
    assert browser.one(".play").text == "Pause"
    browser.until(NOW + ".includes('Look, a kite!')")
    browser.until(NOW + ".includes('Over there.')")
    send(browser, " ")
    browser.until("return document.querySelector('video').paused")
    now = browser.js(TIME)
    assert browser.js("return Number(document.querySelector('.player input').value)") == pytest.approx(now, abs=0.3)
    assert browser.one(".play").text == "Play"


def test_keys_and_search(browser: Page, tmp_path: Path) -> None:
    open_film(browser, tmp_path)
    for key, at in ((DOWN, 0.5), ("j", 1.0), (UP, 0.5), ("k", 0.0), (RIGHT, 4.0), (LEFT, 0.0)):
        send(browser, key)
        browser.until(f"return Math.abs(document.querySelector('video').currentTime - {at}) < 0.06")
    send(browser, "/")
    browser.until("return document.activeElement.type === 'search'")
    browser.keys("OU CA")  # without case and accents
    assert browser.js(SHOWN) == "Où çà ?\nOver there."
    assert browser.js("return document.querySelector('.entries mark').textContent") == "Où çà"
    assert browser.one(".find [role=status]").text == "1 found"
    browser.keys(ENTER)
    browser.until(f"{TIME} === 1.4")
    browser.keys(ESCAPE)
    assert browser.js(SHOWN).count("|") == 5 and browser.all(".entries mark") == []
    send(browser, "b")
    assert browser.all(".frame i") == []
    kinds = browser.all(".kinds input")
    assert [label.text for label in browser.all(".kinds label")] == ["Lines", "Signs", "Logos", "Burnt-in"]
    for box in kinds[1:]:
        box.click()
    assert browser.js(SHOWN) == "Look, a kite!|Où çà ?\nOver there.|It falls."


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (400, 800)])
def test_it_fits(browser: Page, tmp_path: Path, width: int, height: int) -> None:
    resize(browser, width, height)
    open_film(browser, tmp_path)
    browser.js("document.querySelectorAll('.entries button')[2].click()")
    browser.until("return document.querySelectorAll('.frame i').length === 2")
    assert browser.js("return document.documentElement.scrollWidth") <= width
    film, entries = (
        browser.js(f"const r = document.querySelector('{s}').getBoundingClientRect(); return [r.left, r.top, r.right]")
        for s in ("video", ".entries")
    )
    beside = entries[0] > film[2]
    assert beside == (width == 1280)
    unnamed = browser.js(
        "return [...document.querySelectorAll('button, input, select, video, svg[role=img]')].filter((e) =>"
        " !(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label')?.textContent.trim())).length"
    )
    assert unnamed == 0
    browser.picture(f"lines-{width}")


def test_strings_of_users_stay_words(browser: Page, tmp_path: Path) -> None:
    film = Transcript(EVIL, (SpokenLine(0, 1, EVIL, None, EVIL),), None, EVIL, EVIL)
    signs = SignList(EVIL, (Sign(0, 1, EVIL, 0.5),), None, EVIL)
    other = Transcript("plain & <b>", ())
    browser.open(lines_page([FilmText(film, signs), FilmText(other)], EVIL, notes=[EVIL]))
    assert browser.js("return window.hacked") is None
    assert browser.js(SHOWN) == f"{EVIL}|{EVIL}"
    assert "stand alone" in browser.one(".stage [role=status]").text and browser.all("video") == []
    send(browser, DOWN)
    browser.js("const s = document.querySelector('select'); s.value = 1; s.dispatchEvent(new Event('change'))")
    assert "Nothing is spoken or written" in browser.one("section").text
    browser.js("location.hash = '#video=' + encodeURIComponent(document.querySelector('option').textContent)")
    browser.until(f"{SHOWN} !== ''")


def test_a_film_that_cannot_be_played_is_said(chromium: Any, tmp_path: Path, screenshots: Path) -> None:
    page = Page(chromium, tmp_path, screenshots)
    (tmp_path / "broken.webm").write_bytes(b"no film")
    page.open(lines_page([FilmText(LINES, SIGNS, tmp_path / "broken.webm")], "x", folder=tmp_path))
    page.until("return document.querySelector('.stage [role=status]').classList.contains('fault')")
    assert "cannot be played from broken.webm" in page.one(".stage [role=status]").text
    page.js("document.querySelectorAll('.entries button')[5].click()")
    assert page.js(NOW) == "TV|It falls.|it falls"


def test_a_hundred_thousand_entries(browser: Page) -> None:
    lines = tuple(SpokenLine(i * 0.5, i * 0.5 + 0.4, f"word {i}") for i in range(100_000))
    took = browser.open(lines_page([FilmText(Transcript("long", lines))], "long"))
    assert took < 60 and browser.js("return document.querySelectorAll('.entries li').length") == 601
    assert browser.js("return document.querySelector('.entries li:last-child').textContent") == "99,400 after these"
    send(browser, "/")
    browser.keys("word 99999")
    assert browser.one(".find [role=status]").text == "1 found"
    browser.keys(ENTER, ESCAPE)
    browser.until(f"{NOW} === 'word 99999'")
    browser.js("document.querySelector('.entries .more').click()")
    assert browser.js("return document.querySelector('.entries .words').textContent").startswith("word ")


def test_a_real_film(browser: Page, tmp_path: Path, shared_data: Path) -> None:
    film = tmp_path / "v_GGSY1Qvo990.mp4"
    shutil.copy(shared_data / "videos" / film.name, film)
    signs = SignList("v_GGSY1Qvo990", (Sign(0, 17.5, "tel. 647-92-24", 0.95, "sign", (0.1, 0.497, 0.33, 0.555)),))
    browser.open(lines_page([FilmText(None, signs, film)], "lifting", folder=tmp_path))
    browser.until("return document.querySelector('video').readyState >= 2")
    browser.js("document.querySelector('video').currentTime = 10")
    browser.until("return document.querySelectorAll('.frame i').length === 1")
    browser.until("return !document.querySelector('video').seeking")
    browser.picture("lines-real")


def test_films_and_their_texts_meet_by_id(tmp_path: Path) -> None:
    films = pair_up([LINES], [SIGNS, SignList("other", ())], {"other": tmp_path / "o.mp4"})
    assert films == [FilmText(LINES, SIGNS), FilmText(None, SignList("other", ()), tmp_path / "o.mp4")]
    assert [film.id for film in films] == ["kite #1", "other"]
    page = lines_page(films, "t", folder=tmp_path)
    assert str(tmp_path) not in page and page == lines_page(films, "t", folder=tmp_path)
    for nothing in ([], [FilmText()]):
        with pytest.raises(InputError, match="no lines and no signs to show"):
            lines_page(nothing, "t")
