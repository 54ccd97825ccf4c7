"""fabula tell, as a user types it."""

import json

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")
pytest.importorskip("av", reason="the extra features is not installed")
pytest.importorskip("cv2", reason="the extra features is not installed")

from fabula.llm.fake import Server, serving
from fabula.media.coded.server import SeeingReply
from tests.narration.casts import build_cast
from tests.narration.toys import captions, small_films, write_films

SMALL = ("--shots", "none", "--side", "80", "--window", "20", "--overlap", "5")


@pytest.fixture
def films(tmp_path):
    return write_films(tmp_path / "films", small_films(2, 24.0))


def test_from_the_plan_to_the_page(fabula, films, tmp_path):
    server = Server(reply=SeeingReply())
    with serving(server):
        asked = ("tell", "films", "--url", server.url, "-m", "qwen2.5-vl", *SMALL)
        planned = fabula(*asked, "--plan", "--price", "1/2", "--json", "-")
        document = json.loads(planned.out)
        assert planned.code == 0 and document["total"]["calls"] == 6 and document["cost"] > 0 and not server.log
        shown = fabula(*asked, "--plan", "--price", "1/2")
        assert "film00" in shown.out and "cost about" in shown.out and "qwen2.5" in shown.out
        ran = fabula(*asked, "--price", "1/2", "--budget", "10", "-o", "out", "--to", "submission,srt,page")
        assert ran.code == 0 and "2 films" in ran.err and "6 calls answered now, 0.0" in ran.err
        again = fabula(*asked, "--price", "1/2", "--budget", "10", "-o", "out", "--to", "submission,srt,page")
        assert again.code == 0 and "0 calls answered now" in again.err and len(server.log) == 6
        few = fabula(*asked, "--price", "1/2", "--budget", "0", "-o", "few.json")
        assert few.code == 3 and "does not reach" in few.err and not (tmp_path / "few.json").exists()
        printed = fabula("tell", "films/film00.mp4", "--url", server.url, "-m", "m", *SMALL, "--untitled")
    assert [line.split("  ")[-1] for line in printed.out.splitlines()] == [c for _, _, c in captions(films["film00"])]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "film00.srt",
        "film01.srt",
        "index.html",
        "submission.json",
    ]


def test_without_a_server_one_line_says_what_is_real(fabula, films):
    bare = fabula("tell", "films")
    assert bare.code == 2 and len(bare.err.splitlines()) == 1
    assert "no server is named" in bare.err and "--offline" in bare.err
    gone = fabula(
        "tell", "films", "--url", "http://127.0.0.1:9/v1", "-m", "m", "--retries", "0", "-o", "a.json", *SMALL
    )
    assert gone.code == 2 and "is a server running there?" in gone.err
    unnamed = fabula("tell", "films", "--url", "http://127.0.0.1:9/v1", "-o", "a.json", *SMALL)
    assert unnamed.code == 2 and "no model is named" in unnamed.err


def test_offline(fabula, films, tmp_path):
    lines = {"video": "film00", "lines": [{"start": 1, "end": 2, "text": "Good morning."}]}
    signs = {"video": "film00", "signs": [{"start": 3, "end": 9, "text": "EXIT", "confidence": 0.9}]}
    (tmp_path / "l.json").write_text(json.dumps(lines))
    (tmp_path / "s.json").write_text(json.dumps(signs))
    build_cast(films, {p: p - 1 for p in range(1, 9)}).save(tmp_path / "people.npz")
    stores = ("--lines", "l.json", "--signs", "s.json", "--people", "people.npz", "--shots", "none")
    found = fabula("tell", "films/film00.mp4", "--offline", *stores, "-o", "p.html", "p.json", "--json", "-")
    assert found.code == 0, found.err
    document = json.loads(found.out)
    assert document == json.loads((tmp_path / "p.json").read_text())
    film = document["films"]["film00"]
    assert film["lines"][0]["text"] == "Good morning." and film["signs"][0]["text"] == "EXIT"
    assert film["people"] and not document["missing"]
    assert "no story" in document["note"] and "No model was asked" in (tmp_path / "p.html").read_text()
    assert fabula("tell", "films", "--offline", "--url", "fake:").code == 2
    assert fabula("tell", "films", "--offline", "-o", "x.srt").code == 2


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (("--window", "0"), "--window 0"),
        (("--overlap", "90"), "half of --window"),
        (("--frames", "vllm/nothing"), "vllm/nothing"),
        (("--frames", "qwen-vl-utils/smart_resize"), "chooses none"),
        (("--layout", "video"), "choose pairs"),
        (("--budget", "-1"), "--budget -1"),
        (("--budget", "1"), "a budget without prices"),
        (("--lines", "nowhere.srt"), "nowhere.srt"),
        (("--people", "nowhere.npz"), "nowhere.npz"),
        (("--prompts", "nowhere"), "no such folder"),
        (("--plan", "--offline"), "say one of them"),
        (("--json", "-"), "--json only applies"),
        (("--pace", "0"), "--pace 0"),
    ],
)
def test_slips_cost_one_line(fabula, films, flags, problem):
    ran = fabula("tell", "films", "--url", "fake:", "-o", "o.json", *flags)
    assert ran.code == 2 and problem in ran.err and len(ran.err.strip().splitlines()) == 1, ran.err
