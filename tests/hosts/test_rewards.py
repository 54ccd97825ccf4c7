"""Rewards by the contracts of TRL and ms-swift: called by keyword, one number or None each, never an error."""

from __future__ import annotations

import json
import math
import random

import pytest

import fabula
from fabula.hosts import where
from fabula.hosts.rewards import RewardFunction, answer_text, swift_reward

TRUTH = [[0, 10, "a dog runs"], [10, 20, "it sleeps"]]
SAID = "0 - 10 seconds: a dog runs. 10 - 20 seconds: it sleeps."


def as_trl(reward: RewardFunction, completions: list[object], **columns: object) -> list[float | None]:
    """What GRPOTrainer hands over."""
    ids = [[1, 2]] * len(completions)
    logged: dict[str, float] = {}
    made = reward(prompts=["p"] * len(completions), completions=completions, completion_ids=ids, **columns,
                  trainer_state=object(), log_extra=lambda *_: None, log_metric=logged.__setitem__)  # fmt: skip
    assert len(made) == len(completions)
    assert all(x is None or (isinstance(x, float) and math.isfinite(x)) for x in made)
    assert all(0 <= x <= 1 for x in logged.values())
    return made


def test_stories_in_every_shape():
    reward = RewardFunction("SODA_d", refs="events")
    assert reward.__name__ == "fabula_SODA_d"
    shapes = [
        TRUTH,
        json.dumps(TRUTH),
        repr(TRUTH),
        {"timestamps": [[0, 10], [10, 20]], "sentences": ["a", "b"]},
        [{"start": 0, "end": 10, "caption": "a"}, {"start": 10, "end": 20, "caption": "b"}],
        [TRUTH, TRUTH],
    ]
    assert as_trl(reward, [SAID] * 6, events=shapes) == [1.0] * 6
    half = [[{"role": "assistant", "content": "<think>1 to 2 s</think><answer>0 - 10 seconds: a</answer>"}]]
    assert as_trl(reward, half, events=[TRUTH]) == [pytest.approx(2 / 3)]  # P 1, R 1/2
    assert reward.counts == {"seen": 7, "unread": 0, "no_truth": 0, "failed": 0}


def test_it_is_the_number_of_the_verb():
    reward, plain = RewardFunction("SODA_c", refs="events"), fabula.reward("SODA_c")
    told = [(0.0, 10.0, "a dog runs"), (10.0, 20.0, "it sleeps")]
    other = [(0.0, 12.0, "the dog is running"), (12.0, 20.0, "it naps")]
    (made,) = as_trl(reward, ["From 0 to 12 seconds, the dog is running. From 12 to 20 seconds, it naps."],
                     events=[TRUTH])  # fmt: skip
    assert made == pytest.approx(plain([other], [told])[0]) and 0 < made < 1


def test_captions_and_windows():
    meteor = RewardFunction("METEOR", refs="said")
    said = ["a dog runs", "<answer>a dog runs</answer>", "<think>well"]
    made = as_trl(meteor, said, said=["a dog runs", ["a dog runs"], "a"])
    assert made == [pytest.approx(1.0), pytest.approx(1.0), 0.0] and meteor.counts["unread"] == 1
    iou = RewardFunction("Grounding", refs="w")
    made = as_trl(
        iou, ["happens in 5.0 - 10.0 seconds", "00:00 to 00:10", "never"], w=[[0, 10], [[0, 10], [5, 6]], [0, 1]]
    )
    assert made == [0.5, 1.0, 0.0]


def test_what_is_wrong_is_counted_and_said_once(caplog):
    reward = RewardFunction("SODA_d", refs="events", unread=-1.0)
    bad = [None, 7, "text", [], [[]], {"timestamps": [[0, 1]]}, [[0, "x", "y"]], [[0, math.nan, "a"]], "[broken"]
    with caplog.at_level("WARNING", "fabula"):
        assert as_trl(reward, [SAID] * len(bad), events=bad) == [None] * len(bad)
        assert as_trl(reward, ["no times", "", None, 3, [], [{}], {"a": 1}], events=[TRUTH] * 7) == [-1.0] * 7
    assert reward.counts == {"seen": len(bad) + 7, "unread": 7, "no_truth": len(bad), "failed": 0}
    assert len(caplog.records) == 2
    assert as_trl(reward, [SAID]) == [None]  # no such column
    assert as_trl(reward, []) == []


def test_a_metric_that_fails_costs_its_item(monkeypatch):
    reward = RewardFunction("SODA_d", refs="events")
    real = reward.score

    def score(answers, truths):
        if any(a[0][0] == 5 for a in answers):
            raise RuntimeError("boom")
        return real(answers, truths)

    monkeypatch.setattr(reward, "score", score)
    made = as_trl(reward, [SAID, "5 - 6 seconds: x", SAID], events=[TRUTH] * 3)
    assert made == [1.0, None, 1.0] and reward.counts["failed"] == 1


@pytest.mark.parametrize("name", ["SODA_d", "METEOR", "Grounding", "SODA_c(text=exact)"])
def test_whatever_a_model_writes(name):
    rng, reward = random.Random(3), RewardFunction(name, refs="t")
    truth = {"METEOR": "a dog", "Grounding": [0, 10]}.get(name, TRUTH)
    pieces = [*'<>[]{}":,-\n\\0123456789', "<think>", "</think>", "<answer>", "</answer>", "00:01", "-5 s", "1e400",
              "seconds", "frame 3", "\ud800", "\x00", "null", "NaN", '{"start":', "é", "40%", "dog"]  # fmt: skip
    completions = ["".join(rng.choice(pieces) for _ in range(rng.randrange(60))) for _ in range(300)]
    made = as_trl(reward, completions, t=[truth] * 300)
    assert None not in made and reward.counts["seen"] == 300 and not reward.counts["failed"]


def test_ms_swift_makes_a_class_and_calls_it_with_completions_first():
    cls = swift_reward("SODA_d", refs="events")
    assert isinstance(cls, type)
    reward = cls(args=object())
    assert reward([SAID, "nothing"], events=[TRUTH, TRUTH], trainer_state=None) == [1.0, 0.0]
    assert reward.counts["unread"] == 1 and cls(args=None).counts["seen"] == 0
    text = where("ms-swift").read_text()
    assert 'orms["fabula_soda_c"]' in text and "from swift.rewards import orms" in text


def test_the_answer_within_a_completion():
    assert answer_text("<think>a</think> b ") == "b"
    parts = [{"type": "text", "text": "x"}]
    assert answer_text([{"role": "user", "content": "q"}, {"role": "assistant", "content": parts}]) == "x"
    assert answer_text("<answer>cut off") == "cut off"
    assert answer_text("<think>for ever") is None
