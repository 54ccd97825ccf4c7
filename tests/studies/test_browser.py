"""The rater's page in a real browser: the clip opens the answers, keys work, scripts in descriptions are words."""

from __future__ import annotations

import base64
import importlib.util
import time

import pytest

pytest.importorskip("fastapi", reason="the server needs fabula[web]")
pytest.importorskip("uvicorn", reason="the server needs fabula[web]")
pytest.importorskip("httpx", reason="scripted raters need fabula[llm]")

from tests.studies.made import EVIL, make_study, serving

pytestmark = pytest.mark.skipif(importlib.util.find_spec("av") is None, reason="clips are made with fabula[features]")


class Page:
    """One rater's browser."""

    def __init__(self, driver, address, token, screenshots, width=1280):
        self.driver, self.screenshots, self.width = driver, screenshots, width
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.delete_all_cookies()
        driver.get(f"{address}/start?token={token}")

    def js(self, code, *given):
        return self.driver.execute_script(code, *given)

    def until(self, code, patience=30):
        begun = time.monotonic()
        while time.monotonic() - begun < patience:
            if found := self.js(code):
                return found
            time.sleep(0.05)
        raise AssertionError(f"{code}: {self.js('return document.body.innerText')[:400]}")

    def at(self, number):
        self.until(
            f"const h = document.querySelector('#main h1'); return h && h.textContent.startsWith('Question {number} ')"
        )

    def begin(self):
        self.until("return !!document.querySelector('button.main')")
        self.js("document.querySelector('button.main').click()")
        self.at(1)
        return self

    def keys(self, text):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(text).perform()

    def play(self):
        """By the key, as a person would; a headless machine has no sound."""
        self.js("document.querySelector('video').muted = true")
        self.until("return document.querySelector('video').readyState >= 2")
        self.keys("p")
        self.until("return !document.querySelector('fieldset').disabled")

    def click_all(self):
        """A different option for every field."""
        self.js(
            "[...new Set([...document.querySelectorAll('input')].map((i) => i.name))].forEach((name, k) => {"
            "const own = document.querySelectorAll(`input[name='${name}']`); own[k % own.length].click(); })"
        )

    def picture(self, name):
        assert self.js("return document.documentElement.scrollWidth") <= self.width  # nothing sticks out
        height = self.js("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": self.width, "height": height, "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        (self.screenshots / f"study-{name}-{self.width}.png").write_bytes(base64.b64decode(shot["data"]))


def test_a_rater_at_her_page(chromium, tmp_path, screenshots):
    study, tokens = make_study(tmp_path, count=3, questions=3, text=EVIL, title=f"Kitchen {EVIL}", contact="a@b.org")
    with serving(study) as (address, store):
        page = Page(chromium, address, tokens[0], screenshots).begin()
        assert page.js("return document.querySelector('fieldset').disabled && document.getElementById('next').disabled")
        texts = page.js("return [...document.querySelectorAll('.texts p')].map((p) => p.textContent)")
        assert len(texts) == 2 and all(EVIL in text for text in texts)  # as words
        assert page.js("return window.bad === undefined && document.querySelectorAll('img, main script').length === 0")
        # not played: the server refuses whoever presses on
        page.js("document.querySelectorAll('fieldset').forEach((f) => { f.querySelector('input').checked = true; })")
        page.js("const n = document.getElementById('next'); n.disabled = false; n.click()")
        page.until("return document.getElementById('status').textContent.includes('not played')")
        assert store.answers() == []
        page.play()
        page.keys("1254")  # static 1, dynamic 2, accuracy 5 and 4
        assert page.js("return !document.getElementById('next').disabled")
        page.picture("open")
        page.keys("\ue007")
        page.at(2)
        assert store.answers()[0].answer == {"static": 1, "dynamic": 2, "accuracy_1": 5, "accuracy_2": 4}
        page.js("document.getElementById('back').click()")
        page.at(1)  # back, and all of it is there
        assert page.js("return document.querySelectorAll('input:checked').length") == 4
        page.js("document.getElementById('next').click()")
        page.at(2)
        assert len(store.answers()) == 1  # nothing changed, nothing written
        labels = page.js(
            "return [...document.querySelectorAll('input')].every((i) => i.closest('label') && i.closest('fieldset')"
            ".querySelector('legend').textContent) && !!document.querySelector('label[for=bar]')"
            " && !!document.querySelector('[role=status][aria-live]') && !!document.querySelector('video[aria-label]')"
        )
        assert labels  # for who listens
        again = Page(chromium, address, tokens[0], screenshots, 400)  # another device, the same link: where she was
        again.at(2)
        for number in (2, 3):
            again.at(number)
            again.play()
            again.click_all()
            if number == 2:
                again.picture("open")
            again.js("document.getElementById('next').click()")
        again.until("return !!document.getElementById('code')")
        assert again.js("return document.getElementById('code').textContent") == store.code(0)
        assert len(store.answers()) == 3
        again.picture("end")


@pytest.mark.parametrize(("form", "systems"), [("rank", ("a", "b", "c")), ("true", ("a", "b"))])
def test_other_forms(chromium, tmp_path, screenshots, form, systems):
    study, tokens = make_study(tmp_path, count=3, systems=systems, form=form, questions=3)
    with serving(study) as (address, store):
        page = Page(chromium, address, tokens[0], screenshots, 400).begin()
        page.play()
        if form == "rank":  # two with the same place: not an answer
            page.js("document.querySelectorAll(\"input[value='1']\").forEach((i) => i.click())")
            assert page.js("return document.getElementById('next').disabled")
        page.click_all()
        page.picture(form)
        page.js("document.getElementById('next').click()")
        page.at(2)
        told = store.answers()[0].answer
        assert sorted(told.values()) == [1, 2, 3] if form == "rank" else told == {"true_1": 1}


def test_the_clip_is_gone(chromium, tmp_path, screenshots):
    """What cannot be played is said, and can be passed over."""
    study, tokens = make_study(tmp_path, count=3, questions=3)
    with serving(study) as (address, store):
        for clip in (tmp_path / "clips").iterdir():
            clip.write_bytes(b"no video")
        page = Page(chromium, address, tokens[0], screenshots).begin()
        page.until("return !document.getElementById('skip').hidden")
        assert "cannot be played" in page.js("return document.getElementById('status').textContent")
        page.js("document.getElementById('skip').click()")
        page.at(2)
        assert store.answers() == [] and list(store.events("skipped")) == [(0, 0)]


def test_chromium_plays_the_films_at_hand(chromium, tmp_path, screenshots, shared_data):
    """H.264 with AAC, as data sets come; what browsers do not play is refused when the study is made."""
    import json

    from fabula.core.errors import InputError
    from fabula.studies import steps as api
    from tests.studies.made import make_plan

    plan = make_plan(tmp_path, count=1, questions=1, raters_per_question=1, clips=str(shared_data / "videos"))
    told = {"coarse": "a man rides", "fine": "a man rides past a wall"}
    line = {"id": 1, "video": "R6llTwEh07w.mp4", "time": [1, 2], "descriptions": told}
    (tmp_path / "items.jsonl").write_text(json.dumps(line) + "\n")
    made, _ = api.new(plan, out=tmp_path / "study")
    with serving(tmp_path / "study") as (address, _):
        page = Page(chromium, address, made.tokens[0], screenshots).begin()
        page.play()
        assert page.js("return document.querySelector('video').currentTime") < 2.6  # the span, not the film
    (tmp_path / "items.jsonl").write_text(json.dumps({**line, "video": "v_SoccerJuggling_g23_c01.avi"}) + "\n")
    with pytest.raises(InputError, match=r"browsers do not play .avi"):
        api.new(plan, out=tmp_path / "other")
