"""Rewards of metrics that count document frequencies: where they come from decides the number."""

import warnings

import numpy as np
import pytest

import fabula
from fabula.core.errors import InputError, SpecError

WORDS = ["a red kite rises", "a dog runs fast", "the cat sits down here", "two men cook rice", "she opens the old door"]
CORPUS = [[f"{w} {i}", w] for i in range(40) for w in WORDS]


def test_a_small_batch_is_warned_of_once_and_told_what_to_do():
    reward = fabula.reward("CIDEr")
    with pytest.warns(UserWarning, match=r"in a batch of 1; .*corpus=references.*idf=file:PATH"):
        assert reward(["a red kite rises"], [["a red kite rises"]]).tolist() == [0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reward(["a dog"], [["a dog"]])
        fabula.reward("CIDEr")([c[1] for c in CORPUS], CORPUS)
        fabula.reward("METEOR")(["a dog"], [["a dog"]])


def test_a_corpus_gives_the_numbers_of_scoring_it_whole():
    candidates = [c[0] for c in CORPUS]
    whole = fabula.reward("CIDEr")(candidates, CORPUS)
    reward = fabula.reward("CIDEr", corpus=CORPUS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts = np.concatenate([reward(candidates[i : i + 3], CORPUS[i : i + 3]) for i in range(0, len(CORPUS), 3)])
    assert parts == pytest.approx(whole)


def test_what_counts_nothing_takes_no_corpus():
    with pytest.raises(SpecError, match="METEOR counts no document frequencies"):
        fabula.reward("METEOR", corpus=CORPUS)
    with pytest.raises(InputError, match="no references"):
        fabula.reward("CIDEr", corpus=[])
    with pytest.raises(InputError, match="expected text"):
        fabula.reward("CIDEr", corpus=[[3]])
