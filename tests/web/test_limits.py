"""Buckets, ranges, origins and tokens, without a server."""

import socket

import pytest

from fabula.core.errors import SpecError
from fabula.web import limits
from fabula.web.binding import Binding, check_origin, open_socket
from fabula.web.limits import Buckets
from fabula.web.media import Part, find_part, is_inside, read_part
from fabula.web.tokens import hash_token, looks_right, make_code, make_token


def test_a_bucket_fills_with_time():
    now = [0.0]
    buckets = Buckets(2.0, 3, lambda: now[0])
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 0]
    assert buckets.take("a") == pytest.approx(0.5) and buckets.take("b") == 0
    now[0] = 0.5
    assert buckets.take("a") == 0 and buckets.take("a") > 0
    now[0] = -100.0  # a clock set back locks nobody out for long
    assert 0 < buckets.take("a") <= 0.5


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(limits, "MOST_BUCKETS", 10)
    buckets = Buckets(1.0, 1, lambda: 0.0)
    for k in range(50):
        buckets.take(k)
    assert len(buckets.buckets) == 10


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        (None, Part(0, 9, 10, True)),
        ("bytes=0-3", Part(0, 3, 10, False)),
        ("bytes=4-", Part(4, 9, 10, False)),
        ("bytes=-4", Part(6, 9, 10, False)),
        ("bytes=-400", Part(0, 9, 10, False)),
        ("bytes=4-400", Part(4, 9, 10, False)),
        ("bytes=10-", None),
        ("bytes=5-4", None),
        ("bytes=-0", None),
        ("bytes=0-1,3-4", Part(0, 9, 10, True)),
        ("bytes=" + "9" * 50 + "-", Part(0, 9, 10, True)),
    ],
)
def test_ranges(asked, part, tmp_path):
    (tmp_path / "f").write_bytes(b"0123456789")
    assert find_part(asked, 10) == part
    if part:
        assert b"".join(read_part(tmp_path / "f", part)) == b"0123456789"[part.first : part.last + 1]


def test_inside(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path)
    assert is_inside(tmp_path / "in" / "x", tmp_path / "in")
    assert not is_inside(tmp_path / "in" / ".." / "x", tmp_path / "in")
    assert not is_inside(tmp_path / "in" / "link" / "x", tmp_path / "in")


def test_origins():
    assert check_origin("HTTPS://Study.Example.org:443/") == "https://study.example.org"
    assert check_origin("http://localhost:8000") == "http://localhost:8000"
    here = Binding()
    assert (
        here.allows_host("localhost:9") and here.allows_host("127.0.0.1") and not here.allows_host("127.0.0.1.evil.org")
    )
    assert here.allows_origin("http://127.0.0.1:9", "127.0.0.1:9") and not here.allows_origin(
        "http://localhost:9", "127.0.0.1:9"
    )
    with pytest.raises(SpecError, match="unencrypted"):
        check_origin("http://study.example.org")


def test_tokens():
    some = {make_token() for _ in range(100)}
    assert len(some) == 100 and all(map(looks_right, some))
    assert not looks_right("short") and not looks_right("x" * 23) and not looks_right("ä" * 22)
    assert len(hash_token("a")) == 64 and set(make_code(100)) <= set("23456789ABCDEFGHJKLMNPQRSTUVWXYZ")


def test_answers_do_not_wait_for_an_acknowledgement():
    """asyncio turns Nagle's algorithm off for sockets whose protocol is named, and for no other."""
    with open_socket(Binding(port=0)) as bound:
        assert bound.proto == socket.IPPROTO_TCP
