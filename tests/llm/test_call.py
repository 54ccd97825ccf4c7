"""A call is a value, and its key never changes: stores of answers outlive versions."""

import hashlib
import json
from dataclasses import replace

import pytest

from fabula.llm import Call, Image, Text, VideoPart
from fabula.llm.call import count_tokens, hash_call


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


OLD = [  # computed before calls had parts (aaad679e)
    (Call("m", "a kite rises"), "684e0cd9d8776e6bb5d9123bc8b4fb63"),
    (
        Call(
            "qwen3-vl",
            "Beschreibe: «Ré»\n风筝",
            system="Be brief.",
            parameters={"temperature": 0.0, "seed": 7, "max_tokens": 256},
        ),
        "7adfcc5391df40a52ae04c4f4853904e",
    ),
    (
        Call("m", "p", (Image.of(b"1"), Image.of(b"2", "image/png")), "s", {"seed": 1}, {"type": "object"}),
        "e617e910001785e642cb14b67f86edf7",
    ),
    (Call("m", "", (Image.of(b"x"),)), "431a3bbc54d8bdd1b8a9486e3c757f0d"),
    (Call("gpt", "look", (Image.of(b"a"), Image.of(b"a"))), "e6d01dd2565dc0de769f3b00e05d889e"),
]


@pytest.mark.parametrize(("call", "key"), OLD)
def test_a_sequence_of_parts_leaves_old_keys_as_they_were(call, key):
    assert call.key == key == hash_call(call.to_dict())
    assert "parts" not in call.to_dict()
    same = Call(call.model, parts=call.sequence, system=call.system, parameters=call.parameters, schema=call.schema)
    assert same == call and same.key == key and same.body() == call.body()  # the same request, the same key
    assert replace(call, provenance={"film": "a"}).key == key


def test_parts_in_any_order():
    a, b = Image.of(b"a"), Image.of(b"b")
    call = Call("m", parts=(Text("⟨0.0 s⟩"), a, Text("⟨1.0 s⟩"), b, Text("When?")), system="s")
    content = call.body()["messages"][1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url", "text", "image_url", "text"]
    assert content[0]["text"] == "⟨0.0 s⟩" and content[3]["image_url"]["url"] == b.url
    assert call.pictures == (a, b) and not call.images and call.prompt == ""
    orders = [call.parts, call.parts[::-1], (a, b, Text("When?")), (Text("When?"), a, b), (a, Text("When?"), b)]
    assert len({Call("m", parts=parts, system="s").key for parts in orders}) == 5
    stored = json.loads(json.dumps(call.to_dict()))
    assert stored["parts"][1] == ["image", "image/jpeg", a.digest] and hash_call(stored) == call.key


def test_parts_are_loaded_by_digest():
    film = VideoPart.of(b"film")
    parts = (Text("?"), Image.of(b"a"), film, VideoPart.of_images([Image.of(b"b"), Image.of(b"c")]))
    call = Call("m", parts=parts)
    bare = (
        Text("?"),
        Image(parts[1].digest),
        VideoPart(film.digest),
        VideoPart.of_images([Image(i.digest) for i in parts[3].images]),
    )
    assert Call("m", parts=bare).key == call.key
    data = {hashlib.sha256(one).hexdigest(): one for one in (b"a", b"b", b"c", b"film")}
    assert Call("m", parts=bare).load(data).body() == call.body()
    assert call.body()["messages"][0]["content"][3]["video_url"]["url"] == "data:video/jpeg;base64,Yg==,Yw=="
    with pytest.raises(KeyError):
        Call("m", parts=bare).load({})


def test_tokens_of_parts():
    call = Call("m", parts=(Text("abc"), Image.of(b"a", tokens=500), Text("abcdef")))
    assert call.tokens == 1 + 500 + 2 + 16
    assert Call("m", "abc", (Image.of(b"a"),)).tokens == 1 + 1200 + 16  # where nobody says
