"""The study's server: what it takes, what it refuses, and that one rater's token opens nothing of another's."""

from __future__ import annotations

import json
import sqlite3

import pytest

pytest.importorskip("fastapi", reason="the server needs fabula[web]")
pytest.importorskip("uvicorn", reason="the server needs fabula[web]")
httpx = pytest.importorskip("httpx", reason="scripted raters need fabula[llm]")

from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.studies import steps as api  # noqa: E402
from fabula.studies.store import Store  # noqa: E402
from fabula.web.binding import Binding  # noqa: E402
from tests.studies.made import EVIL, Clock, Rater, first_options, make_study, open_client, serving  # noqa: E402

GOOD = {"static": 1, "dynamic": 2, "accuracy_1": 5, "accuracy_2": 3}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def place(tmp_path, clock):
    """A study of three raters and four questions, served."""
    study, tokens = make_study(tmp_path, count=4, questions=4)
    with serving(study, clock) as (address, store):
        yield address, tokens, store


def test_a_rater_from_consent_to_code(place, clock):
    address, tokens, store = place
    rater = Rater(address, tokens[0], clock)
    state = rater.get("/api/state").json()
    assert (state["agreed"], state["next"], state["of"], state["done"]) == (False, 0, 4, False) and "code" not in state
    assert rater.get("/api/question/0").status_code == 409  # consent first
    rater.agree()
    for p in range(4):
        told = rater.watch(p)
        assert len(told["descriptions"]) == 2 and told["answer"] is None
        saved = rater.answer(p, GOOD).json()
        assert saved["saved"] and saved["new"] and saved["next"] == p + 1
    state = rater.get("/api/state").json()
    assert state["done"] and state["code"] == store.code(0) and len(state["code"]) == 8
    again = Rater(address, tokens[0])  # another browser, the same link
    assert again.get("/api/state").json()["done"]
    assert again.get("/api/question/2").json()["answer"] == GOOD  # back


def test_the_answer_opens_after_the_clip(place, clock):
    address, tokens, store = place
    rater = Rater(address, tokens[0], clock).agree()
    assert rater.get("/media/0").status_code == 200
    assert rater.post("/api/played", {"place": 0}).status_code == 409  # fetched, but never shown
    rater.get("/api/question/0")
    assert rater.answer(0, GOOD).status_code == 409
    assert rater.post("/api/played", {"place": 0}).status_code == 409  # shown, but not fetched since
    rater.get("/media/0", headers={"Range": "bytes=0-"})
    early = rater.post("/api/played", {"place": 0})
    assert early.status_code == 425 and 0.8 < float(early.headers["Retry-After"]) < 0.95
    assert rater.answer(0, GOOD).status_code == 409 and store.answers() == []
    clock.now += 1
    assert rater.post("/api/played", {"place": 0}).status_code == 200
    assert rater.answer(0, GOOD).status_code == 200
    assert rater.get("/api/question/2").status_code == 409  # no looking ahead
    assert rater.get("/media/2").status_code == 409


def test_replays_and_changes_of_mind(place, clock):
    address, tokens, store = place
    rater = Rater(address, tokens[0], clock).agree()
    rater.watch(0)
    nonce = "a" * 32
    assert rater.answer(0, GOOD, nonce).json()["new"] is True
    assert rater.answer(0, GOOD, nonce).json()["new"] is False  # sent twice
    assert rater.answer(0, GOOD, "b" * 32).json()["new"] is False  # a page opened again, nothing changed
    assert rater.answer(0, {**GOOD, "static": 0}, nonce).status_code == 409  # a nonce is one answer's
    assert rater.answer(0, {**GOOD, "static": 0}, "c" * 32).json()["new"] is True
    assert [row.answer["static"] for row in store.answers()] == [1, 0]  # both are kept, the last one counts
    assert store.latest(0, 0)["static"] == 0
    other = Rater(address, tokens[1], clock).agree()
    other.watch(0)
    assert other.answer(0, GOOD, nonce).json()["new"] is True  # another rater's nonces are her own


def test_forged_answers(place, clock):
    address, tokens, store = place
    rater = Rater(address, tokens[0], clock).agree()
    rater.watch(0)
    others = [
        *({}, None, [], "x"),
        *({**GOOD, "static": value} for value in (3, True, 1.0, "1", None, 10**30)),
        {**GOOD, "accuracy_1": 0},
        {**GOOD, "accuracy_3": 1},
        {k: v for k, v in GOOD.items() if k != "dynamic"},
    ]
    for answer in others:
        assert rater.answer(0, answer).status_code == 422, answer
    assert store.answers() == []


def test_forged_ids(place, clock):
    address, tokens, store = place
    rater = Rater(address, tokens[0], clock).agree()
    rater.watch(0)
    for id in (-1, 4, 10**30, "0", 0.0, True, None, [], {"a": 1}):
        for path in ("answer", "played", "skip"):
            body = {"place": id, "answer": GOOD, "nonce": "d" * 32}
            assert rater.post(f"/api/{path}", body).status_code == 404, (path, id)
    for nonce in ("", "x" * 32, 5, None, "A" * 32):
        assert rater.post("/api/answer", {"place": 0, "answer": GOOD, "nonce": nonce}).status_code == 422
    for path in ("99", "-1", "../study.sqlite", "%2e%2e%2fstudy.sqlite", "0/../../PLAN.toml"):
        assert rater.get(f"/media/{path}").status_code in (404, 422), path
    for path in ("study.sqlite", "links.csv", "docs", "redoc", "openapi.json", "api/answers", "api/results"):
        assert rater.get(f"/{path}").status_code == 404, path
    assert store.answers() == []


def test_a_token_is_one_raters(place, clock):
    address, tokens, store = place
    first = Rater(address, tokens[0], clock).agree()
    first.watch(0)
    first.answer(0, GOOD)
    second = Rater(address, tokens[1], clock).agree()
    assert second.get("/api/state").json()["next"] == 0
    assert second.get("/api/question/0").json()["answer"] is None
    assert second.answer(0, GOOD).status_code == 409  # what the first played, the second did not
    second.watch(0)
    second.answer(0, {**GOOD, "static": 2})
    assert first.get("/api/question/0").json()["answer"] == GOOD
    assert {(row.rater, row.answer["static"]) for row in store.answers()} == {(0, 1), (1, 2)}
    nobody = Rater(address, "")
    for path in ("/api/state", "/api/question/0", "/media/0"):
        assert nobody.get(path).status_code == 401
    assert nobody.post("/api/answer", {"place": 0, "answer": GOOD, "nonce": "e" * 32}).status_code == 401
    for rater in (*range(3), "code", "rater"):  # there is no field by which to name another
        body = {"place": 0, "answer": GOOD, "nonce": "f" * 32, "rater": rater}
        first.post("/api/answer", body)
    assert len(store.answers()) == 2


def test_tokens_are_hashed_and_guesses_few(place):
    address, tokens, store = place
    held = "".join(map(str, store.rows("SELECT * FROM raters")))
    assert not any(token in held for token in tokens)
    guess = Rater(address, "")
    codes = [guess.get(f"/start?token={'x' * 22}").status_code for _ in range(30)]
    assert codes[0] == 401 and codes[-1] == 429
    assert Rater(address, tokens[2]).get("/api/state").status_code == 200  # whoever has a right one gets in still


def test_other_sites(place, clock):
    address, tokens, store = place
    rater = Rater(address, tokens[0], clock).agree()
    rater.watch(0)
    body = {"place": 0, "answer": GOOD, "nonce": "a" * 32}
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": address.replace("127.0.0.1", "localhost")},
        {"Origin": address + ".evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert rater.post("/api/answer", body, headers=headers).status_code == 403
    raw = open_client(address, cookies=dict(rater.http.cookies))
    assert raw.post("/api/answer", json=body).status_code == 403  # no Origin at all
    form = {"Origin": address, "Content-Type": "text/plain"}
    assert rater.http.post("/api/answer", content=json.dumps(body), headers=form).status_code == 415
    assert rater.get("/api/question/0", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert rater.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200  # a link may lead here
    assert rater.get("/api/state", headers={"Host": "evil.example"}).status_code == 421
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        assert rater.http.request(method, "/api/answer").status_code == 405
    assert store.answers() == []
    page = rater.get("/")
    assert (
        "script-src 'self'" in page.headers["content-security-policy"]
        and "unsafe" not in page.headers["content-security-policy"]
    )
    for name, value in {
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }.items():
        assert page.headers[name] == value
    cookie = httpx.get(f"{address}/start?token={tokens[0]}").headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie
    assert "access-control-allow-origin" not in page.headers


def test_too_much(place, clock):
    address, tokens, _store = place
    rater = Rater(address, tokens[0], clock).agree()
    assert rater.post("/api/answer", {"place": 0, "x": "y" * 70_000}).status_code == 413

    def pieces():
        for _ in range(10):
            yield b"x" * 10_000

    chunked = {"Origin": address, "Content-Type": "application/json"}
    assert rater.http.post("/api/answer", content=pieces(), headers=chunked).status_code == 413
    assert rater.http.post("/api/answer", content=b"[" * 30_000, headers=chunked).status_code == 400
    assert rater.http.post("/api/answer", content=b"\xff", headers=chunked).status_code == 400
    assert rater.post("/api/answer", [1]).status_code == 400
    codes = [rater.get("/api/state").status_code for _ in range(61)]
    assert codes[0] == 200 and codes[-1] == 429  # one rater's calls are counted
    clock.now += 1
    assert rater.get("/api/state").status_code == 200
    assert Rater(address, tokens[1]).get("/api/state").status_code == 200  # and nobody else's


def test_nothing_tells_a_system_or_a_check(tmp_path, clock):
    study, tokens = make_study(tmp_path, count=4, systems=("alpha_net", "beta_net"), questions=4, checks=3, text=EVIL)
    clips = tmp_path / "clips"
    assert clips.is_dir()
    with serving(study, clock) as (address, store):
        rater = Rater(address, tokens[0], clock).agree()
        roles = [s.role for s in store.slots(0)]
        assert sorted(roles) == ["check"] * 3 + ["question"] * 4 and roles[0] == "question"
        for p, role in enumerate(roles):
            told = rater.watch(p)
            keys = {"place", "of", "lead", "clip", "descriptions", "fields", "distinct", "played", "answer"}
            assert set(told) == keys and set(told["clip"]) == {"src", "start", "end"}
            assert told["clip"]["src"] == f"/media/{p}"  # no file's name
            shown = " ".join(told["descriptions"])
            assert ("This is a check" in shown) == (role == "check")
            if role == "question":
                assert EVIL in shown
            rater.answer(p, first_options(told))
        assert rater.get("/api/state").json()["done"]


def test_a_clip_that_does_not_play(place, clock):
    address, tokens, store = place
    rater = Rater(address, tokens[0], clock).agree()
    for p in range(3):
        assert rater.post("/api/skip", {"place": p}).json()["next"] == p + 1
    assert rater.post("/api/skip", {"place": 3}).status_code == 409  # not all of them
    assert len(store.events("skipped")) == 3 and store.answers() == []


def test_parts_of_a_file(place, clock):
    address, tokens, store = place
    rater = Rater(address, tokens[0], clock).agree()
    whole = rater.get("/media/0")
    size = len(whole.content)
    assert whole.status_code == 200 and whole.headers["accept-ranges"] == "bytes"
    assert whole.content == (store.clips / store.items[store.slots(0)[0].item].clip).read_bytes()
    for asked, first, last in (
        ("0-9", 0, 9),
        ("5-", 5, size - 1),
        ("-7", size - 7, size - 1),
        (f"3-{10**15}", 3, size - 1),
    ):
        part = rater.get("/media/0", headers={"Range": f"bytes={asked}"})
        assert part.status_code == 206 and part.content == whole.content[first : last + 1]
        assert part.headers["content-range"] == f"bytes {first}-{last}/{size}"
    for asked in (f"{size}-", "9-3", "-0"):
        assert rater.get("/media/0", headers={"Range": f"bytes={asked}"}).status_code == 416
    for asked in ("bytes=0-1,4-5", "lines=1-2", "bytes=x-y", "bytes=-"):
        assert rater.get("/media/0", headers={"Range": asked}).status_code == 200


def test_the_store_only_grows(place, clock, tmp_path):
    address, tokens, store = place
    rater = Rater(address, tokens[0], clock).agree()
    rater.watch(0)
    rater.answer(0, GOOD)
    db = sqlite3.connect(tmp_path / "study" / "study.sqlite")
    for table in ("answers", "events", "study", "raters", "slots"):
        for change in (
            f"DELETE FROM {table}",
            f"UPDATE {table} SET rowid = rowid" if table in ("answers", "events") else "",
        ):
            if change:
                with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
                    db.execute(change)
    db.close()
    with pytest.raises(InputError, match="another server is using it"):
        Store(tmp_path / "study", work=True)
    copy = tmp_path / "copy.sqlite"
    api.backup(tmp_path / "study", copy)  # while it is served
    with Store(copy) as kept:
        assert [row.answer for row in kept.answers()] == [GOOD] and kept.id == store.id
    assert copy.stat().st_mode & 0o077 == 0 and (tmp_path / "study" / "links.csv").stat().st_mode & 0o077 == 0


class FullDisk:
    """A database on a disk that is full: it reads, and fails at the end of whatever writes."""

    def __init__(self, db):
        self.db = db

    def __getattr__(self, name):
        return getattr(self.db, name)

    def execute(self, statement, *values):
        if statement == "COMMIT":
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return self.db.execute(statement, *values)


def test_a_full_disk_is_said_and_costs_no_answer(place, clock, caplog):
    """What cannot be written is refused, and can be sent again once there is room."""
    address, tokens, store = place
    rater = Rater(address, tokens[0], clock).agree()
    rater.watch(0)
    whole, store.db = store.db, FullDisk(store.db)
    refused = [rater.answer(0, GOOD, "e" * 32) for _ in range(3)]
    assert {r.status_code for r in refused} == {507} and refused[0].headers["Retry-After"] == "5"
    assert "no room left" in refused[0].json()["detail"] and store.answers() == [] and store.next_place(0) == 0
    store.db = whole
    assert rater.answer(0, GOOD, "e" * 32).json()["new"] is True and len(store.answers()) == 1
    said = [r for r in caplog.records if r.name == "uvicorn.error"]
    assert len(said) == 1 and said[0].exc_info is None and "Traceback" not in caplog.text


def test_what_a_request_tells_of_its_sender_is_not_believed(place):
    address, *_ = place
    guesser = open_client(address)
    codes = [
        guesser.get("/start?token=" + "x" * 22, headers={"X-Forwarded-For": f"10.0.0.{k}"}).status_code
        for k in range(25)
    ]
    assert codes[:20] == [401] * 20 and codes[-1] == 429


def test_elsewhere_only_under_a_stated_origin(tmp_path, clock):
    with pytest.raises(SpecError, match="say --origin"):
        Binding(host="0.0.0.0")
    for origin in (
        "http://study.example.org",
        "study.example.org",
        "https://",
        "https://a.b/c",
        "https://u:p@a.b",
        "https://a:x",
    ):
        with pytest.raises(SpecError, match="--origin"):
            Binding(host="0.0.0.0", origin=origin)
    study, tokens = make_study(tmp_path, count=3, questions=3)
    with serving(study, clock, origin="https://Study.example.org/") as (address, _):
        proxied = {"Host": "study.example.org", "Origin": "https://study.example.org"}
        rater = open_client(address, headers=proxied)
        begun = rater.get(f"/start?token={tokens[0]}")
        assert begun.status_code == 303 and "secure" in begun.headers["set-cookie"].lower()
        assert begun.headers["set-cookie"].startswith("__Host-") and "strict-transport-security" in begun.headers
        assert httpx.get(f"{address}/").status_code == 421  # under any other name
        cookie = {"Cookie": begun.headers["set-cookie"].partition(";")[0]}
        assert rater.post("/api/consent", json={}, headers=cookie).status_code == 200
        wrong = {**cookie, "Origin": address}
        assert rater.post("/api/consent", json={}, headers=wrong).status_code == 403
