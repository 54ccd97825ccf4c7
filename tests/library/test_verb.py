"""fabula search as a user runs it: answers, pages, files of queries, calibration; bad input costs one line."""

import json
import re

import numpy as np
import pytest

import fabula as house
from fabula.library.find import Moment, SearchResult
from fabula.library.query import parse
from fabula.library.sheet import clock, search_page
from fabula.library.terminal import show, way_of
from tests.cli.conftest import fabula  # noqa: F401
from tests.library.conftest import GREEN, RED, film


@pytest.fixture
def store(videos, fabula, tmp_path):  # noqa: F811
    where = tmp_path / "store"
    said = ("--store", where, "--with", "colours", "--clip", "1", "--processes", "1")
    assert fabula("index", videos, *said).code == 0
    return where


def test_lines_json_and_page(store, fabula, tmp_path):  # noqa: F811
    ran = fabula("search", "blue", "--store", store, "--html", "found.html")
    first = ran.out.splitlines()[0].split("\t")
    assert ran.code == 0 and first[:4] == ["1", "b.mkv", "0.000", "2.000"]
    assert "exact: 10 clips" in ran.err and "eleven colour words" in ran.err
    page = (tmp_path / "found.html").read_text()
    assert "data:image/jpeg;base64," in page and "<script" not in page and "http" not in page.split("</head>")[1]
    told = json.loads(fabula("search", "blue", "--store", store, "--json", "-").out)
    assert told["moments"][0]["video"] == "b.mkv" and told["nothing"] is False and told["stage"] == "exact"


def test_the_library_call_says_the_same(store):
    found = house.search("red then green", store=store, limit=3)
    assert found.moments[0].video == "a.mkv" and found.moments[0].start <= 1 and found.moments[0].end >= 3
    assert house.search("blue", store=str(store), video="a.mkv").moments[0].video == "a.mkv"


def test_a_picture_is_asked_with(store, fabula, tmp_path):  # noqa: F811
    from fabula.library.pictures import make_jpeg

    (tmp_path / "grass.jpg").write_bytes(make_jpeg(np.full((48, 64, 3), GREEN, np.uint8)))
    assert fabula("search", "grass.jpg", "--store", store).out.split("\t")[1] in ("a.mkv", "inner/c.mkv")


@pytest.mark.parametrize(
    "given",
    [
        [""],
        ["word " * 10000],
        ["missing.jpg"],
        ["red", "--video", "z"],
        ["red", "--person", "Anna"],
        [],
        ["red", "--min-probability", ".5"],
        ["red", "--limit", "0"],
        ["red", "--queries", "q.jsonl"],
        ["--queries", "nowhere.jsonl", "-o", "a.jsonl"],
        ["red", "--people", "nowhere.npz", "--person", "A"],
        ["--build-index"],
        ["red", "-o", "x"],
        ["red", "--min-length", "5", "--max-length", "2"],
        ["red", "--extract", "thumbnail"],
    ],
)
def test_bad_input_costs_one_line(store, fabula, given):  # noqa: F811
    ran = fabula("search", *given, "--store", store)
    said = [line for line in ran.err.splitlines() if "rror:" in line]
    assert ran.code == 2 and len(said) == 1 and "Traceback" not in ran.err and len(said[0]) < 700


@pytest.mark.parametrize("store_name", ["nowhere", "refs.json"])
def test_no_store(fabula, store_name):  # noqa: F811
    assert fabula("search", "red", "--store", store_name).code == 2


def test_queries_become_a_submission(store, fabula, tmp_path):  # noqa: F811
    asked = [
        {"id": 1, "text": "blue", "video": "b.mkv", "windows": [[0, 2]]},
        {"id": 2, "text": "green", "video": "a.mkv", "windows": [[2, 4]]},
        {"id": 3, "text": "whale", "video": "a.mkv", "windows": [[0, 1]]},
    ]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked))
    ran = fabula("search", "--queries", "q.jsonl", "-o", "answers.jsonl", "--store", store)
    assert ran.code == 0 and "3 queries, 1 answered with nothing" in ran.err
    ran = fabula(
        "score", "answers.jsonl", "--refs", "q.jsonl", "--task", "moments", "-m", "VCMR,KnownItem", "--json", "-"
    )
    assert ran.code == 0
    scores = json.loads(ran.out)["scores"]
    assert "KnownItem" in json.dumps(scores) and "VCMR" in json.dumps(scores)
    assert fabula("search", "--queries", "q.jsonl", "-o", "answers.jsonl", "--store", store).code == 2  # it is there
    (tmp_path / "q.jsonl").write_text('{"id": 1, "text": "a then"}\n')
    ran = fabula("search", "--queries", "q.jsonl", "-o", "other.jsonl", "--store", store)
    assert ran.code == 2 and "query 1" in ran.err and not (tmp_path / "other.jsonl").exists()


def test_calibrated_nothing_is_said(fabula, tmp_path):  # noqa: F811
    """Reds and greens are there; blues, whites and pinks are not."""
    (tmp_path / "films").mkdir()
    for n in range(4):
        film(tmp_path / "films" / f"{n}.mkv", RED, GREEN, RED, RED)
    store = tmp_path / "store"
    assert fabula("index", "films", "--store", store, "--with", "colours", "--clip", "1", "--processes", "1").code == 0
    there, absent = ("red", "green", "a red thing", "green grass"), ("blue", "white", "pink", "purple")
    said = [(word, True) for word in there] + [(word, False) for word in absent]
    rows = [
        {"id": f"{word}{n}", "text": f"{word} {'very ' * n}", "present": yes} for word, yes in said for n in range(6)
    ]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = fabula("search", "--store", store, "--calibrate", "q.jsonl", "--plot", "c.svg")
    assert ran.code == 0, ran.err
    told = dict(line.split("\t") for line in ran.out.splitlines())
    assert (
        float(told["nothing said at .5, without an answer"]) == 1
        and float(told["nothing said at .5, with an answer"]) == 0
    )
    assert (tmp_path / "c.svg").read_text().startswith("<svg") and (store / "calibration.json").is_file()
    ran = fabula("search", "blue", "--store", store, "--min-probability", ".5")
    assert ran.code == 0 and ran.out == "" and "nothing found" in ran.err
    ran = fabula("search", "red", "--store", store, "--min-probability", ".5")
    assert ran.code == 0 and ran.out.startswith("1\t")
    (tmp_path / "bad.jsonl").write_text('{"id": 1, "text": "red"}\n')
    ran = fabula("search", "--store", store, "--calibrate", "bad.jsonl")
    assert ran.code == 2 and "does not say if it has an answer" in ran.err


def test_a_page_is_inert_whatever_things_are_called():
    evil = '<img src=x onerror="alert(1)">'
    found = SearchResult(parse(f'"{evil.replace(chr(34), "")}"'), (Moment(evil, 0, 1, 0.5, 0.7, (1,)),), notes=(evil,))
    page = search_page(found, lambda clip: b"\xff\xd8\xff not quite")
    assert "<img src=x" not in page and "&lt;img src=x" in page and "Content-Security-Policy" in page
    assert re.search(r'<img alt="" src="data:image/jpeg', page)
    assert "<img" not in search_page(found, lambda clip: b"<svg>").split("<main>")[1].split('<ul class="sheet">')[1]


def test_clocks():
    assert [clock(s) for s in (0, 5.25, 59.97, 61, 3725.5)] == ["0:00.0", "0:05.2", "1:00.0", "1:01.0", "1:02:05.5"]


@pytest.mark.parametrize(
    ("environment", "way"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "foot"}, "sixel"),
        ({"TERM": "xterm-256color"}, None),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, None),
        ({"TERM": "dumb"}, None),
        ({}, None),
    ],
)
def test_which_terminals_show_pictures(environment, way):
    assert way_of(environment, True) == way
    assert way_of(environment, False) is None


def test_pictures_for_terminals():
    from fabula.library.pictures import make_jpeg

    jpeg = make_jpeg(np.full((12, 16, 3), RED, np.uint8))
    assert show(jpeg, "iterm").startswith("\033]1337;File=inline=1") and show(jpeg, "iterm").endswith("\a")
    kitty = show(jpeg, "kitty")
    assert kitty.startswith("\033_Ga=T,f=24,s=16,v=12,r=6,m=0;") and kitty.endswith("\033\\")
    sixel = show(jpeg, "sixel")
    assert sixel.startswith('\033Pq"1;1;16;12#') and sixel.count("~" * 16) == 2  # two bands of six full rows
