"""The server killed while raters answer: whatever it acknowledged is there, once. In browsers: bench/study_kills.py."""

from __future__ import annotations

import json
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("fastapi", reason="the server needs fabula[web]")
pytest.importorskip("uvicorn", reason="the server needs fabula[web]")
httpx = pytest.importorskip("httpx", reason="scripted raters need fabula[llm]")

from tests.studies.made import make_study  # noqa: E402

KILLS = 3
PATIENCE = 60


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(study, port):
    command = [sys.executable, "-m", "fabula", "study", "serve", str(study), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.05)
    process.kill()
    process.wait()
    pytest.fail("the server does not come up")


class Patient:
    """A rater whose page sends again until it is answered."""

    def __init__(self, number, address, token, over):
        self.number, self.address, self.token, self.over = number, address, token, over
        self.sent: dict[int, dict[str, int]] = {}
        self.acknowledged: dict[int, dict[str, int]] = {}
        self.fault: Exception | None = None

    def run(self):
        try:
            with httpx.Client(base_url=self.address, headers={"Origin": self.address}, timeout=5) as self.http:
                self.work()
        except Exception as error:
            self.fault = error

    def call(self, method, path, **more):
        while not self.over.is_set():
            try:
                reply = self.http.request(method, path, **more)
            except httpx.TransportError:
                time.sleep(0.1)
                continue
            if reply.status_code not in (425, 429):
                return reply
            time.sleep(0.1)
        raise TimeoutError

    def work(self):
        rng = random.Random(self.number)
        self.call("GET", f"/start?token={self.token}")
        of = self.call("POST", "/api/consent", json={}).json()["of"]
        for place in range(of):
            told = self.call("GET", f"/api/question/{place}").json()
            self.call("GET", told["clip"]["src"], headers={"Range": "bytes=0-9"})
            self.call("POST", "/api/played", json={"place": place})
            answer = {f["name"]: rng.choice(f["options"])[0] for f in told["fields"]}
            self.sent[place] = answer
            body = {"place": place, "nonce": f"{rng.getrandbits(128):032x}", "answer": answer}
            assert self.call("POST", "/api/answer", json=body).json()["saved"]
            self.acknowledged[place] = answer


@pytest.mark.slow
def test_no_answer_is_lost_and_none_doubled(tmp_path):
    study, tokens = make_study(tmp_path, count=8, questions=8)
    items = study.parent / "items.jsonl"
    assert items.is_file()
    port, over = free_port(), threading.Event()
    people = [Patient(n, f"http://127.0.0.1:{port}", token, over) for n, token in enumerate(tokens)]
    server = start(study, port)
    threads = [threading.Thread(target=p.run, daemon=True) for p in people]
    try:
        for thread in threads:
            thread.start()
        rng, kills = random.Random(1), 0
        begun = time.monotonic()
        while any(t.is_alive() for t in threads) and time.monotonic() - begun < PATIENCE:
            time.sleep(rng.uniform(0.5, 1.5))
            if kills < KILLS:
                server.send_signal(signal.SIGKILL)
                server.wait()
                kills += 1
                server = start(study, port)
    finally:
        over.set()
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0  # Ctrl-C is a good end
    for thread in threads:
        thread.join(10)
    assert [p.fault for p in people] == [None] * 3 and kills == KILLS
    db = sqlite3.connect(study / "study.sqlite")
    assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    rows = db.execute("SELECT rater, place, answer FROM answers").fetchall()
    db.close()
    assert len(rows) == 24  # one a place, none more
    assert {(r, p): json.loads(a) for r, p, a in rows} == {
        (x.number, p): a for x in people for p, a in x.acknowledged.items()
    }
