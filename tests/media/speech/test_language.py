"""The language gate: evidence by hand, the posterior against brute force, what becomes a line."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fabula.media.speech.language import CHANGE, SLIPS, WEIGHTS, Heard, choose_english, find_posterior


def heard(text: str = "good morning", log: float = -0.1, tokens: int = 8, start: float = 0.0, **more) -> Heard:
    ids = more.pop("ids", tuple(range(100, 100 + tokens)))
    return Heard(start, start + 2.0, text, (*[log] * len(ids), -0.01), ids, 0.9, **more)


def test_the_evidence_is_that_of_its_equation():
    a, b, c, d, e = WEIGHTS
    ln = math.log(8)
    assert heard(log=-0.2).weigh() == pytest.approx(a + b * -0.2 + c * ln + d * -0.2 * ln)
    assert heard(log=-1.5).weigh() == pytest.approx(a + b * -1.5 + c * ln + d * -1.5 * ln + e * ln)
    assert heard(log=-9).weigh() == heard(log=-9, text="other").weigh() < heard(log=-2.9).weigh()
    assert heard(log=-0.1).weigh() > 3 and heard(log=-1.0).weigh() < -1
    assert abs(heard(log=-0.4, tokens=1).weigh()) < 1, "one token says little"


def test_what_a_decoder_repeats_is_no_evidence():
    loop = heard(ids=(5, 6, 7) * 6, log=-0.05)
    assert loop.fresh().sum() == 4  # (-1, 5), (5, 6), (6, 7) and (7, 5)
    assert not loop.is_usable() and heard().is_usable()
    sure = Heard(0, 9, "the time, the time", (-2.0, -2.0, -2.0, -2.0, *[0.0] * 14, 0.0), (5, 6, 7) * 6, 0.9)
    assert sure.weigh() == pytest.approx(heard(ids=tuple(range(18)), log=-2.0).weigh())


@pytest.mark.parametrize("text", ["…", "♪", "ไม่", "это", "好"])
def test_no_line_without_letters_of_english(text):
    assert not heard(text=text).is_usable()
    assert heard(text="Café, naïve: £5!").is_usable()


def test_the_posterior_is_that_of_all_paths():
    rng = np.random.default_rng(1)
    for n in range(1, 9):
        z = rng.normal(0, 3, n)
        total, english = 0.0, np.zeros(n)
        for path in itertools.product((1, 0), repeat=n):
            p = 0.5
            for i, state in enumerate(path):
                slip = SLIPS[1 - state]
                p *= slip / 2 + (1 - slip) / (1 + math.exp(-z[i] if state else z[i]))
                if i:
                    p *= 1 - CHANGE if state == path[i - 1] else CHANGE
            total += p
            english += p * np.array(path)
        np.testing.assert_allclose(find_posterior(z), english / total, atol=1e-12)
    assert find_posterior([]).shape == (0,)


def test_neighbours_decide_where_a_line_says_little():
    short = {"tokens": 1, "log": -0.2, "text": "Yes."}
    among_english = [heard(start=0), heard(start=3, **short), heard(start=6)]
    lines, language, about = choose_english(among_english)
    assert [line.text for line in lines] == ["good morning", "Yes.", "good morning"] and language == "en"
    assert about == {} and all(0 < line.confidence <= 1 for line in lines)
    among_others = [heard(start=0, log=-1.2), heard(start=3, **short), heard(start=6, log=-1.2)]
    assert choose_english(among_others) == (
        [],
        None,
        {"not heard as English": {"segments": 3, "seconds": 6.0}},
    )
    lines, _, about = choose_english([heard(start=0), heard(start=3, log=-1.2), heard(start=6)])
    assert [line.start for line in lines] == [0, 6], "a bad line among good ones is left out"
    assert about["not heard as English"]["segments"] == 1
    assert choose_english([]) == ([], None, {}) == choose_english([heard(ids=(), log=0.0)])


def test_both_languages_in_one_film():
    film = [heard(start=3.0 * i, log=-0.1 if i < 5 or i >= 10 else -1.2) for i in range(15)]
    lines, language, _ = choose_english(film)
    assert [line.start / 3 for line in lines] == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14] and language == "en"
