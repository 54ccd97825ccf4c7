"""A scoring killed while it asks a judge: its record goes on, no call is lost or asked again, results are alike."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")

from fabula.llm.fake import Server, serving
from fabula.text.judges.fake import reply

CALLS, KILLS, WIDTH = 90, 3, 4


def keys(path):
    return [json.loads(line)["key"] for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_killed_while_it_asks(tmp_path):
    pairs, record, out = tmp_path / "pairs.jsonl", tmp_path / "judge.jsonl", tmp_path / "out.json"
    lines = [{"id": k, "cand": f"a man {k}", "refs": ["a man runs"]} for k in range(CALLS)]
    pairs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    server = Server(reply=reply, seconds=0.01, keep=lambda body, head: head["x-call"])

    def command(*options):
        metric = ("--task", "captions", "-m", "TextScore(text=judge:fabula)", "--json", out)
        return [sys.executable, "-m", "fabula", "score", *map(str, (pairs, *metric, *options))]

    with serving(server):
        asks = ("--judge-url", server.url, "--judge-model", "m", "--judge-concurrency", WIDTH, "--judge-record", record)
        again = 0
        for kill in range(KILLS):
            stored, before, limit = set(keys(record)), len(server.log), time.monotonic() + 60
            process = subprocess.Popen(command(*asks), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while len(server.log) < before + 10 * (kill + 1) and process.poll() is None and time.monotonic() < limit:
                time.sleep(0.002)
            assert process.poll() is None, "it ended before it could be killed"
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            again += len(stored & {key for _, key in server.log[before:]})
            assert not out.exists()
        stored, before = set(keys(record)), len(server.log)
        subprocess.run(command(*asks), check=True, capture_output=True, timeout=120)
        again += len(stored & {key for _, key in server.log[before:]})
    found = keys(record)
    assert len(found) == len(set(found)) == CALLS and again == 0 and stored
    assert sum(Counter(key for _, key in server.log).values()) - CALLS <= KILLS * WIDTH
    live = out.read_bytes()
    out.unlink()
    subprocess.run(command("--judge-replay", record), check=True, capture_output=True, timeout=120)
    assert out.read_bytes() == live
