"""A call is a value, and its key never changes: stores of answers outlive versions."""

import hashlib
import json

import pytest

from fabula.llm import Call, Image
from fabula.llm.call import count_tokens


def test_keys_that_must_never_change():
    """Whoever changes one of these makes every recorded answer worthless."""
    plain = Call("m", "a kite rises")
    told = '{"call":1,"images":[],"model":"m","parameters":{},"prompt":"a kite rises","schema":null,"system":""}'
    assert plain.key == "684e0cd9d8776e6bb5d9123bc8b4fb63"
    full = Call("m", "p", (Image.of(b"1"),), "s", {"seed": 1}, {"type": "object"})
    assert full.key == "a07c1312abc3b51e635fac84ef1e3280"
    assert plain.key == hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


def test_what_the_key_depends_on():
    base = Call("m", "p", (Image.of(b"1"),), "s", {"seed": 1}, {"type": "object"})
    others = [
        Call("n", "p", (Image.of(b"1"),), "s", {"seed": 1}, {"type": "object"}),
        Call("m", "q", (Image.of(b"1"),), "s", {"seed": 1}, {"type": "object"}),
        Call("m", "p", (Image.of(b"2"),), "s", {"seed": 1}, {"type": "object"}),
        Call("m", "p", (), "s", {"seed": 1}, {"type": "object"}),
        Call("m", "p", (Image.of(b"1"),), "t", {"seed": 1}, {"type": "object"}),
        Call("m", "p", (Image.of(b"1"),), "s", {"seed": 2}, {"type": "object"}),
        Call("m", "p", (Image.of(b"1"),), "s", {"seed": 1}, None),
    ]
    assert len({base.key, *(c.key for c in others)}) == 8
    assert Call("m", "p", parameters={"a": 1, "b": 2}).key == Call("m", "p", parameters={"b": 2, "a": 1}).key


def test_an_image_counts_by_its_bytes_and_need_not_be_loaded():
    loaded = Image.of(b"pixels")
    assert loaded.digest == hashlib.sha256(b"pixels").hexdigest()
    assert Call("m", "p", (loaded,)).key == Call("m", "p", (Image(loaded.digest),)).key
    assert loaded.url == "data:image/jpeg;base64,cGl4ZWxz"


def test_the_body():
    call = Call("m", "look", (Image.of(b"x"),), "be brief", {"temperature": 0}, {"type": "object"})
    body = call.body()
    assert json.loads(json.dumps(body)) == body
    assert body["messages"][0] == {"role": "system", "content": "be brief"}
    assert [part["type"] for part in body["messages"][1]["content"]] == ["text", "image_url"]
    assert body["temperature"] == 0 and body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert "response_format" not in call.body(with_schema=False)
    assert Call("m", "words").body()["messages"] == [{"role": "user", "content": "words"}]


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 2), ("风筝", 2), ("a风筝", 3)])
def test_tokens_are_counted_on_the_long_side(text, tokens):
    assert count_tokens(text) == tokens
