"""Raters in real browsers, all at once, while their server is killed again and again: is an answer lost, or doubled?

    python bench/study_kills.py --clips ../shared/data/videos [--raters 3] [--questions 30] [--kills 10]
                                 [--pictures DIR]

Each rater is a Chromium of its own that plays every clip and answers by clicking, at 1,280 or 400 pixels. What was
clicked is kept here; at the end it must be what the store holds: one answer a place, the same values, none more.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio"),
    *("--force-device-scale-factor=1",),
]
PLAYS = ("R6llTwEh07w", "SOX5yA1l24A", "WUzgd7C1pWA", "charades")
PATIENCE = 120  # seconds for one step


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def make_plan(folder: Path, clips: Path, questions: int, raters: int, length: float = 1.0) -> Path:
    lines = [
        {
            "id": f"item {i}",
            "video": PLAYS[i % len(PLAYS)],
            "time": [0.5 + i % 3, 0.5 + i % 3 + length],
            "kind": ("static", "dynamic")[i % 2],
            "descriptions": {
                "coarse": f"Somebody does something, number {i}.",
                "fine": f"Somebody in a dark coat turns to the left, lifts a hand and puts it down again, number {i}.",
            },
        }
        for i in range(questions)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    plan = folder / "PLAN.toml"
    plan.write_text(
        f'title = "Kills"\nclips = "{clips.resolve()}"\nitems = "items.jsonl"\nquestions = {questions}\n'
        f"raters_per_question = {raters}\nchecks = 0\n"
    )
    return plan


class Server:
    """fabula study serve as a process that is killed and begun again on the same port."""

    def __init__(self, study: Path, port: int) -> None:
        self.command = [sys.executable, "-m", "fabula", "study", "serve", str(study), "--port", str(port)]
        self.address, self.port = f"http://127.0.0.1:{port}", port
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None:
                raise SystemExit(f"the server ended with {self.process.returncode}")
            time.sleep(0.05)
        raise SystemExit("the server does not come up")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)


class Rater:
    """A person at a browser, by script."""

    def __init__(self, number: int, address: str, token: str, width: int, pictures: Path | None) -> None:
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        self.profile = tempfile.mkdtemp()
        for flag in (*FLAGS, f"--user-data-dir={self.profile}", f"--window-size={width},1000"):
            options.add_argument(flag)
        service = webdriver.ChromeService(executable_path=shutil.which("chromedriver") or "")
        self.driver: Any = webdriver.Chrome(options=options, service=service)
        if width < 500:  # a headless window is no narrower than 500: the device is told otherwise
            told = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": True}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", told)
        self.rng = random.Random(number)
        self.number, self.address, self.token, self.width, self.pictures = number, address, token, width, pictures
        self.clicked: dict[int, dict[str, int]] = {}
        self.code = ""

    def js(self, code: str, *given: Any) -> Any:
        return self.driver.execute_script(code, *given)

    def until(self, code: str) -> Any:
        begun = time.monotonic()
        while time.monotonic() - begun < PATIENCE:
            if found := self.js(code):
                return found
            time.sleep(0.05)
        raise TimeoutError(f"rater {self.number}: {code}: {self.js('return document.body.innerText')[:500]}")

    def picture(self, name: str) -> None:
        if self.pictures:
            height = self.js("return document.documentElement.scrollHeight")
            where = {"format": "png", "captureBeyondViewport": True}
            clip = {"x": 0, "y": 0, "width": self.width, "height": height, "scale": 1}
            shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {**where, "clip": clip})
            import base64

            (self.pictures / f"study-{name}-{self.width}.png").write_bytes(base64.b64decode(shot["data"]))

    def open(self) -> None:
        while True:  # a navigation meets a dead server as any browser does: try again
            self.driver.get(f"{self.address}/start?token={self.token}")
            if self.js("return !!document.getElementById('main')"):
                break
            time.sleep(0.3)
        self.until("return !!document.querySelector('#main button, #main video')")

    def run(self, questions: int) -> None:
        self.open()
        self.picture("consent")
        self.js("document.querySelector('button.main').click()")
        for place in range(questions):
            self.until(f"return document.querySelector('#main h1').textContent.startsWith('Question {place + 1} ')")
            if place == 0:
                self.picture("closed")
            assert self.js(
                "return document.querySelector('fieldset').disabled && document.getElementById('next').disabled"
            )
            self.play()
            self.answer(place)
            if place == 0:
                self.picture("open")
            if place == 4:  # a changed mind: back, another answer, on
                self.go_back(place)
            self.js("document.getElementById('next').click()")
        self.until("return !!document.getElementById('code')")
        self.code = self.js("return document.getElementById('code').textContent")
        self.picture("end")

    def play(self) -> None:
        begun = time.monotonic()
        while time.monotonic() - begun < PATIENCE:
            self.js(
                "const v = document.querySelector('video'); v.muted = true; if (v.paused) v.play().catch(() => {});"
            )
            for _ in range(40):
                if self.js("return !document.querySelector('fieldset').disabled"):
                    return
                time.sleep(0.05)
        raise TimeoutError(f"rater {self.number}: the clip did not open the answers")

    def answer(self, place: int) -> None:
        names = self.js("return [...new Set([...document.querySelectorAll('input')].map((i) => i.name))]")
        chosen = {}
        for name in names:
            values = self.js(
                "return [...document.querySelectorAll(`input[name='${arguments[0]}']`)].map((i) => i.value)", name
            )
            value = self.rng.choice(values)
            self.js(
                "document.querySelector(`input[name='${arguments[0]}'][value='${arguments[1]}']`).click()", name, value
            )
            chosen[name] = int(value)
        self.clicked[place] = chosen

    def go_back(self, place: int) -> None:
        self.js("document.getElementById('back').click()")
        self.until(f"return document.querySelector('#main h1').textContent.startsWith('Question {place} ')")
        kept = self.js(
            "return Object.fromEntries([...document.querySelectorAll('input:checked')].map((i) => [i.name, +i.value]))"
        )
        assert kept == self.clicked[place - 1], (kept, self.clicked[place - 1])
        self.answer(place - 1)
        self.js("document.getElementById('next').click()")
        self.until(f"return document.querySelector('#main h1').textContent.startsWith('Question {place + 1} ')")
        self.until("return !document.querySelector('fieldset').disabled")  # it was played before
        self.answer(place)

    def close(self) -> None:
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)


def compare(study: Path, raters: list[Rater]) -> dict[str, int]:
    """What was clicked against what is stored."""
    db = sqlite3.connect(study / "study.sqlite")
    assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    rows = db.execute("SELECT rater, place, answer FROM answers ORDER BY row").fetchall()
    last = {(r, p): json.loads(a) for r, p, a in rows}
    lost = sum((rater.number, p) not in last for rater in raters for p in rater.clicked)
    other = sum(last.get((rater.number, p)) != a for rater in raters for p, a in rater.clicked.items())
    more = len(last) - sum(len(rater.clicked) for rater in raters)
    same = sum(rows[i][:2] == rows[j][:2] and rows[i][2] == rows[j][2] for i in range(len(rows)) for j in range(i))
    return {"rows": len(rows), "places": len(last), "lost": lost, "changed": other, "beyond": more, "doubled": same}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=Path, default=Path("../shared/data/videos"))
    parser.add_argument("--raters", type=int, default=3)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--pictures", type=Path)
    args = parser.parse_args()
    if not shutil.which("chromium") or not shutil.which("chromedriver") or not args.clips.is_dir():
        print(f"needs chromium, chromedriver and clips in {args.clips}; nothing was measured")
        return
    print(json.dumps(run(args), indent=2))


def run(args: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        plan = make_plan(folder, args.clips, args.questions, args.raters)
        study = folder / "study"
        subprocess.run([sys.executable, "-m", "fabula", "study", "new", str(plan), "-o", str(study)], check=True)
        tokens = [line.partition("token=")[2] for line in (study / "links.csv").read_text().splitlines()[1:]]
        server = Server(study, free_port())
        widths = [1280, 400, 1280]
        people = [
            Rater(n, server.address, token, widths[n % 3], args.pictures if n < 2 else None)
            for n, token in enumerate(tokens)
        ]
        faults: list[str] = []

        def work_on(rater: Rater) -> None:
            try:
                rater.run(args.questions)
            except Exception as error:
                faults.append(f"{type(error).__name__}: {error}")

        begun = time.monotonic()
        threads = [threading.Thread(target=work_on, args=[rater]) for rater in people]
        for thread in threads:
            thread.start()
        rng, kills = random.Random(0), 0
        while any(thread.is_alive() for thread in threads) and not faults:
            time.sleep(rng.uniform(2, 6))
            if kills < args.kills and any(thread.is_alive() for thread in threads):
                server.kill()
                kills += 1
                time.sleep(rng.uniform(0, 1))
                server.start()
        for thread in threads:
            thread.join(PATIENCE)
        seconds = time.monotonic() - begun
        found = compare(study, people)
        codes = len({rater.code for rater in people if rater.code})
        for rater in people:
            rater.close()
        server.stop()
    return {
        "raters": len(people),
        "kills": kills,
        "seconds": round(seconds, 1),
        "codes": codes,
        "faults": faults,
        **found,
    }


if __name__ == "__main__":
    main()
