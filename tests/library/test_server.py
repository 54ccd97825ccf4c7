"""The server of a store: what it answers, and what it refuses, whoever asks."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import socket
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the server needs fabula[web]")
pytest.importorskip("uvicorn", reason="the server needs fabula[web]")
pytest.importorskip("httpx", reason="asking needs fabula[llm]")
pytest.importorskip("lancedb", reason="a store needs fabula[search]")
pytest.importorskip("av", reason="films are made with fabula[features]")

import fabula
from fabula.library.calibrate import FILE
from fabula.library.page import desk, server
from fabula.library.page.catalogue import make_key
from fabula.library.scan import no_clips
from fabula.library.store import Store
from fabula.verbs.searching.index import index
from fabula.web.binding import Binding
from fabula.web.tokens import make_token
from tests.library.served import (
    EVIL,
    make_cast,
    make_film,
    make_films,
    make_store,
    open_client,
    open_searcher,
    serving,
)

SECRET = "the moon is a secret"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Four films and their store; a file beside them that is nobody's business."""
    folder = tmp_path_factory.mktemp("library")
    root = make_films(folder / "films")
    (folder / "secret.txt").write_text(SECRET)
    (root / "notes.txt").write_text(SECRET)  # among the films, but none
    return make_store(folder / "store", root)


@pytest.fixture(scope="module")
def address(library):
    with serving(lambda: open_searcher(library)) as found:
        yield found


@pytest.fixture
def ask(address):
    return open_client(address)


@pytest.fixture
def own(library, tmp_path, monkeypatch):
    """A library of one's own, to be changed while it is served; looked at anew by every call."""
    monkeypatch.setattr(desk, "LOOKED", 0.0)
    shutil.copytree(library.parent / "films", tmp_path / "films")
    return make_store(tmp_path / "store", tmp_path / "films")


# what it answers ------------------------------------------------------------------------------------------------------


def test_what_there_is(ask):
    told = ask.get("/api/store").json()
    assert (told["clips"], told["videos"], told["name"], told["problems"]) == (22, 4, "store", 0)
    assert told["embedder"] == {"name": "colours", "weak": "it knows eleven colour words and nothing else"}
    assert told["seconds"] == pytest.approx(44, abs=0.5) and told["cuts"] and told["people"] == []
    listed = ask.get("/api/videos").json()
    assert listed["of"] == 4 and listed["videos"][0]["name"] == "deep/lawn.mp4"
    assert [v["name"] for v in ask.get("/api/videos?q=LAWN").json()["videos"]] == ["deep/lawn.mp4"]
    assert len(ask.get("/api/videos?limit=2").json()["videos"]) == 2


def test_moments_with_pictures_and_times(ask):
    told = ask.get("/api/search?q=yellow&min_probability=0.5").json()
    assert not told["nothing"] and told["guesses"] == [] and told["stage"] == "exact" and told["clips"] == 22
    assert {m["video"] for m in told["moments"]} == set(told["videos"])
    lawn = [m for m in told["moments"] if m["video"] == "deep/lawn.mp4"]
    assert all(8 <= m["start"] < m["end"] <= 12.1 for m in lawn) and lawn
    for moment in told["moments"]:
        picture = ask.get(f"/thumb/{moment['clips'][0]}.jpg?v={told['version']}")
        assert picture.status_code == 200 and picture.headers["content-type"] == "image/jpeg"
        assert picture.content.startswith(b"\xff\xd8\xff") and "max-age=86400" in picture.headers["cache-control"]
    about = ask.get(f"/api/video/{told['videos']['deep/lawn.mp4']['key']}").json()
    assert about["name"] == "deep/lawn.mp4" and not about["gone"] and about["plays"]
    assert [row[1] for row in about["strip"]] == [2.0 * k for k in range(8)]


def test_nothing_is_said_with_its_probability(ask):
    told = ask.get("/api/search?q=black&min_probability=0.5").json()
    assert told["nothing"] and told["moments"] == [] and told["probability"] < 0.5
    assert 0 < len(told["guesses"]) <= desk.GUESSES
    assert {m["video"] for m in told["guesses"]} == set(told["videos"])
    told = ask.get("/api/search?q=zebra&min_probability=0.5").json()
    assert told["nothing"] and told["guesses"] == [] and any("knows nothing of 'zebra'" in n for n in told["notes"])


def test_filters(ask):
    def names(more):
        return {m["video"] for m in ask.get(f"/api/search?q=red&limit=100&{more}").json()["moments"]}

    assert {"flag.mp4", "old.avi"} <= names("")
    assert names("video=flag.mp4") == {"flag.mp4"}
    assert names("video=flag.mp4&video=old.avi") == {"flag.mp4", "old.avi"}
    assert names("max_length=0.5") == set() and names("min_length=0.5&max_length=60")
    for bad in (
        *("min_length=x", "max_length=-1", "min_length=nan", "min_length=inf", "min_length=3&max_length=2", "limit=0"),
        *(
            "limit=1e3",
            "limit=101",
            "limit=0000050000000",
            "limit=-1",
            "limit=٣",
            "min_probability=2",
            "min_probability=-0.1",
        ),
        "&".join(f"video={k}" for k in range(30)),
    ):
        reply = ask.get(f"/api/search?q=red&{bad}")
        assert reply.status_code == 422 and isinstance(reply.json()["detail"], str), bad


@pytest.mark.parametrize("query", ["", "  ", "− red", "red then", "pool.jpg", "red + /etc/hostname.png", "0:red", "\0"])
def test_queries_that_cannot_be_asked(ask, query):
    reply = ask.get("/api/search", params={"q": query})
    assert reply.status_code == 422 and len(reply.json()["detail"]) < 500


def test_films_in_parts(ask, library):
    path = library.parent / "films" / "flag.mp4"
    whole, key = path.read_bytes(), make_key("flag.mp4")
    assert ask.get(f"/video/{key}").content == whole
    for asked, part in (("0-9", whole[:10]), ("5-", whole[5:]), ("-7", whole[-7:])):
        reply = ask.get(f"/video/{key}", headers={"Range": f"bytes={asked}"})
        assert reply.status_code == 206 and reply.content == part and reply.headers["content-type"] == "video/mp4"
    assert ask.get(f"/video/{key}", headers={"Range": f"bytes={len(whole)}-"}).status_code == 416


def test_a_film_that_no_browser_plays_as_a_clip(ask):
    import av

    key = make_key("old.avi")
    assert ask.get(f"/api/video/{key}").json()["plays"] is False
    for _ in range(2):  # made once, then at hand
        made = ask.get(f"/clip/{key}?start=4.5&end=6.5")
        assert made.status_code == 200 and made.headers["content-type"] == "video/mp4"
    with av.open(io.BytesIO(made.content)) as container:
        frames = [f.to_ndarray(format="rgb24") for f in container.decode(video=0)]
    assert len(frames) == 20 and all(f[10, 10, 0] > 200 > 60 > f[10, 10, 1] for f in frames)  # red, the second half
    for bad in ("start=2&end=1", "start=0", "start=x&end=2", "start=-1&end=2", "start=nan&end=2", ""):
        assert ask.get(f"/clip/{key}?{bad}").status_code == 422, bad
    late = ask.get(f"/clip/{key}?start=100&end=101")  # after its end
    assert late.status_code == 422 and late.json()["detail"].startswith("old.avi: has no picture")  # and no folder
    assert ask.get(f"/clip/{'0' * 20}?start=0&end=1").status_code == 404


# what it refuses ------------------------------------------------------------------------------------------------------


def send(address: str, *lines: str, body: bytes = b"") -> bytes:
    """What no browser sends, byte for byte."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        line.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body)
        got = b""
        while piece := line.recv(1 << 16):
            got += piece
    return got


@pytest.mark.parametrize(
    "path",
    [
        *("/../secret.txt", "/../../etc/passwd", "/video/../secret.txt", "/video/..%2fsecret.txt", "//etc/passwd"),
        *("/video/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/video//etc/passwd", "/video/%2fetc%2fpasswd", "/etc/passwd"),
        *("/video/notes.txt", "/video/flag.mp4", "/video/deep/lawn.mp4", "/video/..\\secret.txt", "/video/flag.mp4%00"),
        *("/thumb/../secret.txt", "/thumb/..%2f..%2fsecret.jpg", "/thumb/0.jpg", "/thumb/-1.jpg", "/thumb/1e3.jpg"),
        *(f"/thumb/{10**30}.jpg", "/thumb/1 OR 1=1.jpg".replace(" ", "%20"), "/clip/..%2fsecret.txt?start=0&end=1"),
        *("/page.css/../../server.py", "/server.py", "/manifest.json", "/store/manifest.json", "/page.html", "/docs"),
        *(
            "/openapi.json",
            "/redoc",
            "/api",
            "/api/export",
            "/video/" + "0" * 20,
            "/video/" + "a" * 5000,
            "/.git/config",
        ),
        "file:///etc/passwd",
        *(
            f"/video/{hashlib.sha256(name.encode()).hexdigest()[:20]}"
            for name in ("notes.txt", "../secret.txt", "/etc/passwd")
        ),
    ],
)
def test_no_other_file_is_read(address, path):
    host = address.removeprefix("http://")
    got = send(address, f"GET {path} HTTP/1.1", f"Host: {host}")
    assert got.split()[1] in (b"400", b"404", b"405", b"422"), got[:200]
    assert SECRET.encode() not in got and b"root:" not in got and b"ftyp" not in got


def test_a_film_that_became_a_link(own, tmp_path):
    """What was a film when it was indexed may lead elsewhere now."""
    (tmp_path / "secret.txt").write_text(SECRET)
    with serving(lambda: open_searcher(own)) as address:
        ask, key = open_client(address), make_key("flag.mp4")
        assert ask.get(f"/video/{key}").status_code == 200
        film = tmp_path / "films" / "flag.mp4"
        film.unlink()
        assert ask.get(f"/video/{key}").status_code == 404 and ask.get(f"/api/video/{key}").json()["gone"]
        film.symlink_to(tmp_path / "secret.txt")
        reply = ask.get(f"/video/{key}")
        assert reply.status_code == 404 and SECRET not in reply.text
        kept = {"query": "red", "video": key, "start": 0, "end": 1}
        made = ask.post("/api/export", json={"as": "clips", "moments": [kept]})
        assert SECRET.encode() not in made.content
        listed = zipfile.ZipFile(io.BytesIO(made.content)).read("list.jsonl")
        assert json.loads(listed)["clip"] is None and "no longer" in json.loads(listed)["problem"]


def test_other_hosts(address):
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "0.0.0.0", "[::2]"):
        got = send(address, "GET /api/store HTTP/1.1", f"Host: {host}")
        assert got.split()[1] in (b"421", b"400"), host
        assert b"clips" not in got
    assert send(address, "GET /api/store HTTP/1.1").split()[1] in (b"400", b"421")


def test_other_sites(ask, address):
    body = {"as": "submission", "moments": []}
    for headers in (
        *({"Origin": o} for o in ("https://evil.example", "null", address.replace("127.0.0.1", "localhost"))),
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert ask.post("/api/export", json=body, headers=headers).status_code == 403
    for path in ("/api/search?q=red", "/api/store", f"/video/{make_key('flag.mp4')}", "/page.js"):
        assert ask.get(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert ask.get("/?q=red", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200  # a link may lead here
    form = {"Content-Type": "text/plain"}
    assert ask.post("/api/export", content=json.dumps(body), headers=form).status_code == 415
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert ask.request(method, "/api/export").status_code == 405
    page = ask.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    assert page.headers["x-frame-options"] == "DENY" and page.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in page.headers


def test_huge_queries(ask, address):
    for query in (" ".join(["dog"] * 10_000), "x" * 30_000, "red + " * 500 + "red", "red then " * 300 + "red"):
        reply = ask.get("/api/search", params={"q": query})
        assert reply.status_code in (400, 414, 422, 431) and len(reply.content) < 1000
    host = address.removeprefix("http://")
    got = b""
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):  # it hangs up before all was sent
        got = send(address, f"GET /api/search?q={'a' * (10 << 20)} HTTP/1.1", f"Host: {host}")
    assert not got or got.split()[1] in (b"400", b"414", b"431")
    assert (
        ask.post("/api/export", content=b"x" * (10 << 20), headers={"Content-Type": "application/json"}).status_code
        == 413
    )
    names = "&".join(f"person={'p' * 900}{k}" for k in range(19))
    assert ask.get(f"/api/search?q=red&{names}").status_code in (200, 422)
    assert ask.get("/api/search?q=red").status_code == 200  # and goes on


def test_scripts_are_words(ask):
    told = ask.get("/api/search", params={"q": f"blue {EVIL}", "limit": 100})
    assert told.status_code == 200 and told.headers["content-type"] == "application/json"
    assert any(name.startswith("evil <script>") for name in told.json()["videos"])
    reply = ask.get("/api/search", params={"q": "red", "video": EVIL, "min_length": EVIL})
    assert reply.status_code == 422 and reply.headers["content-type"] == "application/json"
    quotes = ask.get("/api/search", params={"q": "red", "video": "x' OR '1'='1"})
    assert quotes.status_code in (200, 422) and not quotes.json().get("moments")


def test_bound_elsewhere_only_with_a_token(library):
    from fabula.core.errors import SpecError

    with pytest.raises(SpecError, match="--origin"):
        Binding(host="0.0.0.0")
    with pytest.raises(ValueError, match="without a token"):
        server.make_app(lambda: open_searcher(library), Binding(host="0.0.0.0", origin="https://films.example.org"))
    token = make_token()
    with serving(lambda: open_searcher(library), token, origin="https://films.example.org") as address:
        proxied = {"Host": "films.example.org", "Origin": "https://films.example.org"}
        ask = open_client(address)
        ask.headers.update(proxied)
        paths = ("/api/store", "/api/search?q=red", "/api/videos", f"/video/{make_key('flag.mp4')}", "/thumb/1.jpg")
        assert {ask.get(path).status_code for path in paths} == {401}
        assert ask.post("/api/export", json={"as": "submission", "moments": []}).status_code == 401
        assert ask.get("/start?token=wrong").status_code == 401
        begun = ask.get(f"/start?token={token}")
        cookie = begun.headers["set-cookie"]
        assert begun.status_code == 303 and cookie.startswith("__Host-") and "HttpOnly" in cookie and "Secure" in cookie
        ask.headers["Cookie"] = cookie.partition(";")[0]
        assert ask.get("/api/search?q=red").json()["moments"]
        other = open_client(address)
        other.headers.update({**proxied, "Cookie": cookie.partition("=")[0] + "=" + make_token()})
        codes = [other.get("/api/store").status_code for _ in range(40)]
        assert set(codes) == {401, 429} and codes[-1] == 429


# what is exported -----------------------------------------------------------------------------------------------------


def kept(name: str, start: float, end: float, query: object = "red", score: float | None = 0.5) -> dict[str, object]:
    return {"query": query, "video": make_key(name), "start": start, "end": end, "score": score}


def test_a_submission_is_scored(ask, tmp_path):
    rows = [
        kept("deep/lawn.mp4", 0, 4, 1, 0.3),
        kept("flag.mp4", 0, 4, 1, 0.9),  # better, though kept later
        kept("deep/lawn.mp4", 8, 12, 2, 0.8),
    ]
    reply = ask.post("/api/export", json={"as": "submission", "moments": rows})
    assert reply.status_code == 200 and "submission.jsonl" in reply.headers["content-disposition"]
    lines = [json.loads(line) for line in reply.text.splitlines()]
    assert lines[0] == {"id": 1, "windows": [[0, 4, 0.9], [0, 4, 0.3]], "videos": ["flag.mp4", "deep/lawn.mp4"]}
    (tmp_path / "submission.jsonl").write_text(reply.text)
    refs = [
        {"id": 1, "video": "flag.mp4", "windows": [[0, 4]], "duration": 12, "text": "red"},
        {"id": 2, "video": "deep/lawn.mp4", "windows": [[8, 12]], "duration": 16, "text": "yellow"},
    ]
    (tmp_path / "refs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in refs))
    result = fabula.score(tmp_path / "submission.jsonl", tmp_path / "refs.jsonl", task="moments")
    assert result["VCMR"].values["r1@0.7"] == 1 and result["VR"].values["r1"] == 1


def test_clips_are_what_was_kept(ask):
    import av

    rows = [kept("flag.mp4", 8.5, 10), kept("old.avi", 0, 1.5), kept(f"evil {EVIL.replace('/', '⁄')}.mp4", 1, 2)]
    reply = ask.post("/api/export", json={"as": "clips", "moments": rows})
    assert reply.status_code == 200 and reply.headers["content-type"] == "application/zip"
    held = zipfile.ZipFile(io.BytesIO(reply.content))
    assert held.testzip() is None
    told = [json.loads(line) for line in held.read("list.jsonl").decode().splitlines()]
    assert [one["how"] for one in told] == ["anew"] * 3 and "submission.jsonl" in held.namelist()
    for one, colour, count in zip(told, (2, 0, 2), (15, 15, 10), strict=True):
        assert "/" not in one["clip"] and "<" not in one["clip"]
        with av.open(io.BytesIO(held.read(one["clip"]))) as container:
            frames = [f.to_ndarray(format="rgb24")[10, 10] for f in container.decode(video=0)]
        assert len(frames) == count and all(f[colour] > 200 for f in frames)


def test_forged_lists(ask):
    good = kept("flag.mp4", 0, 1)
    bad = [
        *({**good, "video": v} for v in ("../secret.txt", "flag.mp4", "0" * 20, None, 5, ["x"], make_key("notes.txt"))),
        *({**good, "start": s} for s in (-1, 2, None, "0", float("1e300"), True, [])),
        *({**good, "end": e} for e in (0, 99, None, "1")),
        *({**good, "query": q} for q in ("", "  ", None, [], True, "x" * 501)),
        *("moment", None, []),
    ]
    for row in bad:
        for way in ("submission", "clips"):
            reply = ask.post("/api/export", json={"as": way, "moments": [good, row]})
            assert reply.status_code == 422 and "moment 2" in reply.json()["detail"], row
    for body in ({"as": "clips"}, {"as": "clips", "moments": []}, {"as": "clips", "moments": [good] * 201}, {}):
        assert ask.post("/api/export", json=body).status_code == 422
    assert ask.post("/api/export", json={"as": "exe", "moments": [good]}).status_code == 422
    assert ask.post("/api/export", json=[1]).status_code == 422
    for body in (b"{", b"[" * 20_000, b"\xff", b'{"moments": NaN'):
        assert ask.post("/api/export", content=body, headers={"Content-Type": "application/json"}).status_code == 400


def test_a_store_of_somebody_else_shows_no_other_file(own, tmp_path):
    """Rows that name files which were never indexed: their maker cannot know what is in them."""
    films = tmp_path / "films"
    make_film(films / "private.mp4", ["red"])
    (films / "words.mp4").write_text(SECRET)
    store = Store.open(own)
    rows = {v.video: v for v in store.videos()}
    sizes = {name: (films / name).stat().st_size for name in ("private.mp4", "words.mp4", "notes.txt")}
    made = [replace(rows["flag.mp4"], video=name, size=size, clips=0) for name, size in sizes.items()]
    with store.writing() as writer:
        writer.put([no_clips(row, store.dims) for row in made])
    touched = films / "old.avi"
    os.utime(touched, ns=(1, 1))  # the same bytes at another time
    with serving(lambda: open_searcher(own)) as address:
        ask = open_client(address)
        for name in sizes:
            key = make_key(name)
            assert ask.get(f"/api/video/{key}").json()["name"] == name  # it is in the table
            assert ask.get(f"/video/{key}").status_code == 404
            assert ask.get(f"/clip/{key}?start=0&end=1").status_code == 404
        assert ask.get(f"/clip/{make_key('old.avi')}?start=0&end=1").status_code == 200
        assert ask.get(f"/video/{make_key('old.avi')}").status_code == 404  # nothing that a browser plays
        assert ask.get(f"/video/{make_key('flag.mp4')}").status_code == 200


# what changes, and who comes at once ----------------------------------------------------------------------------------


def test_a_store_that_is_indexed_again_while_it_is_served(own, tmp_path):
    films = tmp_path / "films"
    with serving(lambda: open_searcher(own)) as address:
        ask = open_client(address)
        before = ask.get("/api/search?q=white&limit=100&video=snow.mp4")
        version = ask.get("/api/store").json()["version"]
        assert not before.json().get("moments")
        make_film(films / "snow.mp4", ["white"])
        (films / "flag.mp4").unlink()
        index(films, store=str(own), processes=1)
        after = ask.get("/api/search?q=white&limit=100").json()
        assert after["version"] != version and after["clips"] == 22 - 6 + 2
        names = {m["video"] for m in after["moments"]}
        assert "snow.mp4" in names and "flag.mp4" not in names
        assert ask.get(f"/video/{make_key('snow.mp4')}").status_code == 200
        assert ask.get(f"/video/{make_key('flag.mp4')}").status_code == 404
        assert ask.get("/api/store").json()["videos"] == 4


def test_a_store_whose_vectors_are_made_anew(own, tmp_path):
    with serving(lambda: open_searcher(own)) as address:
        ask = open_client(address)
        version = ask.get("/api/store").json()["version"]
        index(tmp_path / "films", store=str(own), processes=1, reembed=True, clip=4.0)
        refused = ask.get("/api/search?q=yellow&limit=100")
        assert refused.status_code == 422 and "calibrat" in refused.json()["detail"]  # of other scores: said
        (own / FILE).unlink()
        told = ask.get("/api/search?q=yellow&limit=100").json()
        assert told["version"] != version and told["clips"] == 11
        assert ask.get(f"/thumb/{told['moments'][0]['clips'][0]}.jpg").status_code == 200
        shutil.rmtree(own)
        assert ask.get("/api/search?q=yellow").status_code == 422  # said, and the server stands
        assert os.getpid() and ask.get("/").status_code == 200


@pytest.mark.slow
def test_many_at_once(ask, address):
    """Forty threads, each its own connection: every answer is that of its own question."""
    wrong: list[object] = []

    def work(k: int) -> None:
        import httpx

        colour, film = (("green", "deep/lawn.mp4"), ("white", "flag.mp4"))[k % 2]
        with httpx.Client(base_url=address, timeout=60) as client:
            for _ in range(5):
                told = client.get("/api/search", params={"q": colour, "video": film, "limit": 1})
                if told.status_code != 200 or told.json()["query"].split()[0] != colour:
                    wrong.append(told.text)
                elif told.json()["moments"][0]["video"] != film:
                    wrong.append(told.json())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not wrong, wrong[:2]


def test_too_many_are_told_to_wait(ask, monkeypatch):
    monkeypatch.setattr(server, "WAITING", 0)
    reply = ask.get("/api/search?q=red")
    assert reply.status_code == 503 and reply.headers["retry-after"] == "1"


def test_who_is_seen_when(library):
    """People of features/people: listed, and when each is seen in a film."""
    cast = make_cast(f"Anna {EVIL}")
    with serving(lambda: open_searcher(library, cast)) as address:
        ask = open_client(address)
        assert [p["name"] for p in ask.get("/api/store").json()["people"]] == [f"Anna {EVIL}", "person 1"]
        people = ask.get(f"/api/video/{make_key('flag.mp4')}").json()["people"]
        spans = {p["name"].split()[0]: p["spans"] for p in people}
        assert spans == {"Anna": [[0.0, 1.5], [5.0, 6.0]], "person": [[6.0, 8.0]]}
        assert ask.get(f"/api/video/{make_key('old.avi')}").json()["people"] == []
        found = ask.get("/api/search", params={"q": "white", "person": "person 1"}).json()["moments"]
        assert {m["video"] for m in found} == {"flag.mp4"} and all(6 <= m["start"] < m["end"] <= 8 for m in found)
        assert "no person is called" in ask.get("/api/search?q=red&person=Otto").json()["detail"]


def test_the_page_asks_nobody_else():
    """Its files name no address but its own."""
    folder = Path(server.__file__).parent
    for name in ("page.html", "page.css", "page.js", "player.js", "kept.js", "icon.svg"):
        text = (folder / name).read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "innerHTML" not in text and "eval(" not in text, name
        assert "style=" not in text and " onclick=" not in text, name
