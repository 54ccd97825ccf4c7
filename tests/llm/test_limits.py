"""Rates: when the next request may begin, to the second; and prices, to the millionth."""

from __future__ import annotations

import asyncio
import time

import pytest

from fabula.core.errors import SpecError
from fabula.llm import limits
from fabula.llm.call import Call, Image
from fabula.llm.limits import Limits, Pace
from fabula.llm.prices import Prices


def test_requests_are_spread_over_the_minute():
    pace = Pace(30)
    assert [pace.reserve(1, 100.0) for _ in range(3)] == [100.0, 102.0, 104.0]
    assert pace.reserve(3, 200.0) == 200.0 and pace.free == 206.0
    pace.give_back(2)
    assert pace.reserve(1, 201.0) == 202.0


@pytest.mark.parametrize("rate", [None, 0])
def test_without_a_rate_nothing_waits(rate):
    pace = Pace(rate)
    assert [pace.reserve(1000, now) for now in (5.0, 5.0, 6.0)] == [5.0, 5.0, 6.0] and pace.seconds == 0


@pytest.fixture
def clock(monkeypatch):
    """Seconds pass only while somebody sleeps."""

    class Clock:
        now, slept = 1000.0, []

        async def sleep(self, seconds):
            self.slept.append(round(seconds, 6))
            self.now += seconds

    clock = Clock()
    clock.slept = []
    monkeypatch.setattr(limits.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(limits.asyncio, "sleep", clock.sleep)
    return clock


async def take(gate: Limits, *tokens: int) -> None:
    for n in tokens:
        async with gate.slot(n):
            pass


def test_the_slower_of_two_rates_counts(clock):
    asyncio.run(take(Limits(1, rpm=60, tpm=600), 5, 20, 1))  # a second each; a token is a tenth
    assert clock.slept == [1.0, 1.5]


def test_one_slot_is_one_at_a_time_and_a_rate_is_no_default(clock):
    gate = Limits(2)
    assert (gate.requests.seconds, gate.tokens.seconds, gate.closed_until, gate.slots._value) == (0, 0, 0, 2)
    asyncio.run(take(gate, 1, 1))
    assert clock.slept == []


def test_an_endpoint_that_is_closed_is_left_alone_until_the_last_of_its_hours(clock):
    gate = Limits(1)
    gate.hold(5)
    gate.hold(3)
    assert gate.closed_until == 1005.0
    asyncio.run(take(gate, 1, 1))
    assert clock.slept == [5.0]


def test_time_is_monotonic():
    gate = Limits(1)
    gate.hold(0.5)
    assert 0 < gate.closed_until - time.monotonic() <= 0.5


# prices


def test_a_price_is_of_a_million_tokens():
    prices = Prices.parse(["small=1/2", "0.5/4"])
    assert prices.table == {"small": (1.0, 2.0), "": (0.5, 4.0)}
    assert prices.cost("small", 3_000_000, 500_000) == 4.0 and prices.cost("large", 2_000_000, 250_000) == 2.0
    assert prices.cost("small", None, 1_000_000) == 2.0 and prices.cost("small", 1_000_000, None) == 1.0
    assert prices.known("small") and prices.known("large")


def test_without_a_price_a_call_costs_nothing_and_that_is_known():
    none, one = Prices.parse([]), Prices.parse(["a=b=0/0"])
    assert none.cost("m", 10**6, 10**6) == 0 and not none.known("m")
    assert one.table == {"a=b": (0.0, 0.0)} and one.known("a=b") and not one.known("m")


@pytest.mark.parametrize("wrong", ["1/-1", "1/inf", "inf/1", "1/2/3", "m=x/1", "1/nan"])
def test_a_price_that_is_none(wrong):
    with pytest.raises(SpecError, match="say IN/OUT for a million tokens, or MODEL=IN/OUT"):
        Prices.parse([wrong])


# how many tokens


def test_tokens_of_a_call_are_bounded_from_above():
    call = Call("m", "abcdefg", (Image("a"), Image("b")), "abcd", {"max_tokens": 50})
    assert call.tokens == 3 + 2 + 2 * 1200 + 16 and call.longest == 50
    assert Call("m", "").tokens == 16 and Call("m", "").longest == 0
    assert Call("m", "", parameters={"max_completion_tokens": "9"}).longest == 9
    assert Call("m", "", parameters={"max_tokens": 5, "max_completion_tokens": 9}).longest == 5


def test_an_image_is_a_jpeg_unless_it_is_not():
    assert (Image("d").kind, Image("d").data, Image.of(b"x").kind) == ("image/jpeg", None, "image/jpeg")
    assert Image.of(b"x", "image/png").url == "data:image/png;base64,eA=="
    assert "data=" not in repr(Image.of(b"x")) and Image.of(b"x") == Image(Image.of(b"x").digest)
    with pytest.raises(AssertionError, match="was not loaded"):
        Image("d").url  # noqa: B018


def test_the_whole_body_of_a_call():
    call = Call("m", "look", (Image.of(b"x"),), "be brief", {"temperature": 0}, {"type": "object"})
    picture = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,eA=="}}
    schema = {"name": "answer", "schema": {"type": "object"}, "strict": True}
    assert call.body() == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
        ],
        "temperature": 0,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }
    assert call.to_dict() == {
        "model": "m",
        "system": "be brief",
        "prompt": "look",
        "images": [["image/jpeg", Image.of(b"x").digest]],
        "parameters": {"temperature": 0},
        "schema": {"type": "object"},
    }
