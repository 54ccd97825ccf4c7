"""fabula ask, as a user types it."""

import json

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")
pytest.importorskip("av", reason="the extra features is not installed")
pytest.importorskip("cv2", reason="the extra features is not installed")

from fabula.llm.fake import Server, serving
from fabula.media.coded.server import SeeingReply
from tests.asking.toys import write_bench, write_films

SMALL = ("--side", "80", "--frames", "fabula/rate(fps=0.5)", "--server", "seeing")


@pytest.fixture
def bench(tmp_path):
    return write_bench(tmp_path / "bench.json", write_films(tmp_path / "films", range(2), seconds=25.0))


def test_from_the_plan_to_the_score(fabula, bench, tmp_path):
    server = Server(reply=SeeingReply())
    with serving(server):
        asked = ("ask", "bench.json", "--videos", "films", "--url", server.url, "-m", "m", *SMALL)
        planned = fabula(*asked, "--plan", "--price", "1/2", "--json", "-")
        document = json.loads(planned.out)
        assert planned.code == 0 and document["films"] == 2 and document["cost"] > 0 and not server.log
        assert "tokens in" in fabula(*asked, "--plan").out
        ran = fabula(*asked, "-o", "a.jsonl")
        assert ran.code == 0 and f"{document['calls']} of {document['calls']} questions answered" in ran.err
        assert "prompt:grounding#" in ran.err and "|server:seeing|" in ran.err
        again = fabula(*asked, "-o", "a.jsonl")
        assert again.code == 0 and "0 calls answered now" in again.err
        few = fabula(*asked, "-o", "few.jsonl", "--price", "1/2", "--budget", "0")
        assert few.code == 3 and "does not reach" in few.err and not (tmp_path / "few.jsonl").exists()
        printed = fabula(*asked, "--limit", "1")
        assert json.loads(printed.out)["id"] == 1
        grid = fabula(*asked, "-o", "grid", "--vary", "frames=2,4", "prompt=default,phrase")
        assert grid.code == 0 and "frames × prompt" in grid.out and "4 cells" in grid.err
    again = fabula("ask", "bench.json", "--replay", "a.record.jsonl", *SMALL, "-o", "b.jsonl")
    assert again.code == 0 and (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()
    scored = fabula("score", "a.jsonl", "--refs", "bench.json", "--task", "grounding")
    assert scored.code == 0 and "100.0" in scored.out and "not used" not in scored.err


def test_one_clear_line(fabula, bench):
    for words, problem in (
        (("ask", "bench.json", "--videos", "films"), "no server is named"),
        (("ask", "bench.json", "--url", "fake:"), "no films are named"),
        (("ask", "gone.json", "--videos", "films", "--url", "fake:"), "gone.json"),
        (("ask", "bench.json", "--videos", "films", "--url", "http://127.0.0.1:9/v1"), "no model is named"),
        (("ask", "bench.json", "--videos", "films", "--url", "fake:", "--prompt", "frase"), "no prompt for grounding"),
        (("ask", "bench.json", "--videos", "films", "--url", "fake:", "--vary", "side=64,80"), "name a folder"),
        (("ask", "bench.json", "--videos", "films", "--url", "fake:", "-o", "bench.json"), "exists already"),
    ):
        ran = fabula(*words)
        assert ran.code == 2 and problem in ran.err and len(ran.err.strip().splitlines()) == 1, ran.err
