"""METEOR 1.5: values to redo on paper, the official jar's own output, the compiled kernel against its readable twin."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula import _kernels
from fabula.core.errors import InputError
from fabula.text import meteor
from fabula.text.meteor.align import Sentence, align_pair, java_hash
from fabula.text.meteor.index import open_index
from fabula.text.meteor.norm import normalise
from fabula.text.meteor.search import align_many
from fabula.text.meteor.stem import stem

GOLDEN = Path(__file__).parents[3] / "shared" / "data" / "golden"


def penalty(chunks: int, matches: float) -> float:
    return 0.6 * (chunks / matches) ** 0.2


def test_values_to_redo_on_paper(kernel: str) -> None:
    # "a" is a function word, "dog", "runs", "park" are not: P = (¾ + ¼)/(¾ + ¼), R = (¾ + ¼)/(3·¾ + 3·¼)
    F = 1 / (0.15 / 1 + 0.85 / (1 / 3))
    assert meteor.score("a dog", ["a dog runs in the park"]).score == pytest.approx(F * (1 - penalty(1, 2)), abs=1e-15)
    # a word by its stem, weight 0.6, or by a synset, weight 0.8; all words matched in one chunk: no penalty
    assert meteor.score("blorgs", ["blorging"]).score == pytest.approx(0.6, abs=1e-15)
    assert meteor.score("sofa", ["couch"]).score == pytest.approx(0.8, abs=1e-15)
    # two modules find the same match, so it is not fixed beforehand; it adds ⌊½⌋ = 0 words and a chunk: not taken
    assert meteor.score("goose", ["geese"]).score == 0.0
    # two words out of order: everything matches, in two chunks
    assert meteor.score("dogs cats", ["cats dogs"]).score == pytest.approx(1 - penalty(2, 2), abs=1e-15)


@pytest.mark.parametrize(
    ("x", "y", "x_as_candidate", "y_as_candidate"),
    [  # the official jar
        ("a man is playing a guitar", "a man plays the guitar on stage", 0.298613, 0.365330),
        ("add oil to the pan", "add oil and chopped onion to the hot pan and stir", 0.220131, 0.384808),
        ("chop lettuce and place it in a bowl", "chop the lettuce", 0.287425, 0.163823),
        ("a dog", "a dog runs in the park", 0.176915, 0.367438),
    ],
)
def test_both_directions(kernel: str, x: str, y: str, x_as_candidate: float, y_as_candidate: float) -> None:
    assert meteor.score(x, [y]).score == pytest.approx(x_as_candidate, abs=5e-7)
    assert meteor.score(y, [x]).score == pytest.approx(y_as_candidate, abs=5e-7)


def test_ends_of_the_scale(kernel: str) -> None:
    assert meteor.score("dog", ["dog"]).score == 1.0
    assert meteor.score("A dog runs.", ["a dog runs ."]).score == 1.0
    assert meteor.score("", ["a dog"]).score == meteor.score("a dog", [""]).score == meteor.score("", [""]).score == 0.0
    assert meteor.score("dog", ["xylophone"]).score == 0.0


def test_the_first_of_the_best_references_counts(kernel: str) -> None:
    low, high = meteor.score("a dog runs", ["a cat"]), meteor.score("a dog runs", ["a dog ran"])
    assert meteor.score("a dog runs", ["a cat", "a dog ran", "a dog ran"]) == high
    assert meteor.score("a dog runs", ["a cat"]) == low
    assert meteor.score("", ["one", "one two"]).stats[1] == 1.0


def test_the_corpus_is_scored_on_sums(kernel: str) -> None:
    rows = meteor.segments(["a dog runs", "dog"], [["a dog runs fast"], ["dog"]])
    sums = [a + b for a, b in zip(rows[0].stats, rows[1].stats, strict=True)]
    sums[20] -= 1  # the second is perfect and adds no chunk
    assert meteor.aggregate(rows) == meteor.score_of(tuple(sums))
    assert meteor.aggregate([rows[1]]) == 1.0
    assert meteor.aggregate([]) == 0.0


def test_pairs_are_segments(kernel: str) -> None:
    C, R = ["a dog runs", "", "two men cook", "a dog runs"], ["the dog ran", "men are cooking", "A dog runs!"]
    expected = [[meteor.score(c, [r]).score for r in R] for c in C]
    assert meteor.pairs(C, R).tolist() == expected
    many = meteor.pairs_many([(C, R), ([], R), (C, []), (R, C), ([], [])], threads=3)
    assert [matrix.shape for matrix in many] == [(4, 3), (0, 3), (4, 0), (3, 4), (0, 0)]
    assert many[0].tolist() == expected
    assert meteor.pairs_many([]) == []


@pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
def test_tiles_batches_and_threads_do_not_show() -> None:
    rng = np.random.default_rng(3)
    words = WORDS
    texts = [" ".join(rng.choice(words, rng.integers(1, 15))) for _ in range(150)]
    whole = meteor.pairs(texts, texts, threads=4)
    assert np.array_equal(whole, meteor.pairs(texts, texts, threads=1))
    alone = meteor.segments([c for c in texts for _ in texts], [[r] for _ in texts for r in texts])
    assert whole.ravel().tolist() == [segment.score for segment in alone]
    many = [f"{text} {k}" for k, text in enumerate(texts * 60)]  # more than one batch, more than the cache holds
    first = meteor.pairs_many([([text], [text, "a dog"]) for text in many])
    assert all(matrix[0, 0] == 1.0 for matrix in first)


@pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
def test_words_are_aligned_alike() -> None:
    rng = np.random.default_rng(4)
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 15))) for _ in range(200)] + ["", "Café … déjà vu!", "it's  ok"]
    pairs = texts, [texts[k] for k in rng.permutation(len(texts))]
    fast = meteor.align_all(*pairs)
    with _kernels.using("python"):
        assert meteor.align_all(*pairs) == fast
    assert sum(len(found.matches) for found in fast) > 150
    assert meteor.align_words("the dogs ran", "a dog ran").matches == [(1, 1, 1, 1, 1), (2, 2, 1, 1, 0)]


# --- against the official jar ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="the recorded output of the official tools is not beside the project")
@pytest.mark.parametrize("kind", ["raw", "tok"])
def test_the_jars_statistics_and_scores(kernel: str, kind: str) -> None:
    pairs = read_lines(GOLDEN / ("pairs.jsonl.gz" if kind == "raw" else "pairs_tok.jsonl.gz"))
    *rows, last = read_lines(GOLDEN / f"meteor_{kind}.jsonl.gz")
    step = 1 if kernel == "native" else 10
    texts = {pair["id"]: meteor.as_pycocoevalcap(pair["cand"], pair["refs"]) for pair in pairs}
    rows = rows[::step]
    found = meteor.segments([texts[row["id"]][0] for row in rows], [texts[row["id"]][1] for row in rows])
    for row, segment in zip(rows, found, strict=True):
        assert segment.stats == tuple(map(float, row["stats"].split())), row["id"]
        assert segment.score == pytest.approx(float(row["score"]), abs=1e-12), row["id"]
    if step == 1:
        assert meteor.aggregate(found) == pytest.approx(float(last["aggregate"]), abs=1e-12)


def read_lines(path: Path) -> list[dict[str, object]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The U.S. team won.", "the us team won ."),
        ("Mr. Smith met Dr. Who at 5 p.m. sharp", "mr. smith met dr. who at 5 pm sharp"),
        ("See No. 5. No. Then", "see no. 5 . no . then"),
        ("It ended. Then we left. we did", "it ended . then we left. we did"),
        ("well-known x-y-z", "well known x y-z"),
        ("don't 'quote' 1990's dogs'", "don 't ' quote ' 1990 's dogs '"),
        ("1,000 men, women,children", "1,000 men , women , children"),
        ("wait... what..? ``so''", 'wait ... what .. ? " so "'),
        ("a_b #1 (x) 50% [PERSON1]", "a _ b # 1 ( x ) 50 % [ person1 ]"),
        (
            "caf\u00e9 \u2018a\u2019 \u201cb\u201d \u2013 \u2014 \u65e5\u672c",
            "caf\u00e9 ' a ' \" b \" - \u2014 \u65e5 \u672c",
        ),
        ("", ""),
        (" \t\n ", ""),
    ],
)
def test_normalised(text: str, words: str) -> None:
    assert normalise(text, *open_index().prefix_words) == words
    if _kernels.NATIVE is not None:
        assert meteor._compiled(open_index()).normalise(text) == words


@pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from([*" .,'`-\"\t\n", "..", "...", "'s", "Mr", "No", "DOT", "DOTMULTI", "5", "e"]),
            st.characters(),
        )
    )
)
def test_the_compiled_normaliser_is_the_readable_one(parts: list[str]) -> None:
    text = "".join(parts)
    assert meteor._compiled(open_index()).normalise(text) == normalise(text, *open_index().prefix_words)


@pytest.mark.parametrize("step", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_stems_are_those_of_snowball_2(step: int) -> None:
    snowball = pytest.importorskip("snowballstemmer")
    if getattr(snowball, "__version__", "2.2.0") != "2.2.0":
        pytest.skip("only snowballstemmer 2.2.0 has the rules of METEOR's jar")
    official = snowball.stemmer("english")
    endings = [
        "s",
        "es",
        "ed",
        "ing",
        "ly",
        "edly",
        "ness",
        "ational",
        "ization",
        "ative",
        "ement",
        "ion",
        "'s",
        "y",
        "eed",
    ]
    words = list(open_index().words)[::step]
    for word in [*words, *(word + ending for word in words[::9] for ending in endings)]:
        assert stem(word) == official.stemWord(word), word
        if _kernels.NATIVE is not None:
            assert _kernels.NATIVE.meteor_stem(word) == stem(word), word


def test_words_are_compared_by_their_java_hash(kernel: str) -> None:
    assert java_hash("hello") == 99162322
    assert java_hash("a\u00ff") == java_hash("b\u00e0")  # 97·31 + 255 = 98·31 + 224
    assert meteor.score("a\u00ff", ["b\u00e0"]).stats[4] == 1.0


# --- kernel against twin ---------------------------------------------------------------------------------------------

VOCABULARY = (
    "a the of in is are man men person people woman dog dogs puppy runs running ran run walks car auto automobile many "
    "lot plenty quickly fast in a hurry in order to so as to begins to starts to kitchen cooking cook , . ' 's not "
    "is seen speaking to the camera talks shown geese goose better good was were xyzzy 5 1,000"
)
WORDS = VOCABULARY.split()
SALAD = st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join)


@pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SALAD, st.lists(SALAD, min_size=1, max_size=3))
def test_the_compiled_aligner_is_the_readable_one(candidate: str, references: list[str]) -> None:
    with _kernels.using("native"):
        fast = meteor.score(candidate, references)
        pairs = meteor.pairs([candidate], references)
    with _kernels.using("python"):
        assert meteor.score(candidate, references) == fast
        assert np.array_equal(meteor.pairs([candidate], references), pairs)


@pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
def test_long_sentences_are_the_same_on_both() -> None:
    rng = np.random.default_rng(5)
    candidate, reference = (" ".join(rng.choice(WORDS, 150)) for _ in range(2))
    with _kernels.using("native"):
        fast = meteor.score(candidate, [reference])
    with _kernels.using("python"):
        assert meteor.score(candidate, [reference]) == fast


# --- whatever people pass --------------------------------------------------------------------------------------------


def test_odd_characters_shift_nothing(kernel: str) -> None:
    odd = [
        "a\nb",
        "a\tb",
        "a\0b",
        "a\u2028b",
        "\ud800",
        "\U0001f600 dog",
        "a ||| b",
        "\x0b",
        "\x85",
        "DOTMULTI..",
        "\ufeffdog",
        "İ",
    ]
    found = meteor.segments(["dog", *odd, "dog"], [["dog"], *([text] for text in odd), ["dog"]])
    assert found[0].score == found[-1].score == 1.0
    assert [segment.score for segment in found[1:-1]] == [1.0] * 7 + [0.0] + [1.0] * 4  # a lone VT is trimmed away
    assert meteor.pairs(odd, odd).shape == (12, 12)


def test_bars_split_a_reference_only_on_request(kernel: str) -> None:
    assert meteor.score("dog", ["cat ||| dog"]).score < 1.0
    candidate, references = meteor.as_pycocoevalcap("a ||| dog", ["a cat ||| a dog", "x"])
    assert (candidate, references) == ("a dog", ["a cat ", " a dog", "x"])
    assert meteor.score(candidate, references).score == 1.0


def test_pairs_without_a_flag_are_not_scored(kernel: str) -> None:
    blocks = [(["a dog runs", "a cat"], ["a dog", "the cat sat", "a dog runs"]), ([], ["x"]), (["a dog"], ["dogs"])]
    whole = [scores.tolist() for scores in meteor.pairs_many(blocks)]
    flags = np.array([1, 0, 0, 0, 1, 0, 1], bool)
    assert [scores.tolist() for scores in meteor.pairs_many(blocks, flags)] == [
        [[whole[0][0][0], 0, 0], [0, whole[0][1][1], 0]],
        [],
        whole[2],
    ]
    assert meteor.pairs_many(blocks, np.zeros(7, bool))[0].tolist() == [[0, 0, 0], [0, 0, 0]]
    huge = "dog " * 3000  # too much for the aligner, and not asked for
    assert meteor.pairs_many([([huge], [huge, "dog"])], np.array([False, True]))[0][0, 1] > 0
    with pytest.raises(InputError, match="more pairs than flags"):
        meteor.pairs_many(blocks, flags[:-1])
    with pytest.raises(InputError, match="more flags than pairs"):
        meteor.pairs_many(blocks, np.ones(8, bool))


@pytest.mark.parametrize("bad", [None, 3, 0.5, b"dog", ["dog"]])
def test_what_is_no_text_is_named(kernel: str, bad: object) -> None:
    with pytest.raises(InputError, match="item 1: candidate"):
        meteor.segments(["dog", bad], [["dog"], ["dog"]])  # type: ignore[list-item]
    with pytest.raises(InputError, match="item 0: reference 1"):
        meteor.segments(["dog"], [["dog", bad]])  # type: ignore[list-item]
    with pytest.raises(InputError, match="block 1: reference 0"):
        meteor.pairs_many([(["a"], ["a"]), (["a"], [bad])])  # type: ignore[list-item]


def test_what_is_no_list_is_named(kernel: str) -> None:
    with pytest.raises(InputError, match="item 0"):
        meteor.segments(["dog"], ["dog"])
    with pytest.raises(InputError, match="item 0"):
        meteor.segments(["dog"], [[]])
    with pytest.raises(InputError, match="2 candidates, but 1"):
        meteor.segments(["dog", "cat"], [["dog"]])
    with pytest.raises(InputError, match="block 0"):
        meteor.pairs("dog", ["dog"])
    with pytest.raises(InputError, match="block 0"):
        meteor.pairs_many([["dog"]])  # type: ignore[list-item]


def test_too_much_is_refused_and_named(kernel: str) -> None:
    started = time.monotonic()
    with pytest.raises(InputError, match=r"item 1: candidate 0, reference 0: more than 1000000 ways"):
        meteor.segments(["dog", "dog " * 3000], [["dog"], ["dog " * 3000]])
    with pytest.raises(InputError, match=r"6000 × 6000 words"):
        meteor.pairs(["dog cat " * 3000], ["cat dog " * 3000])
    assert time.monotonic() - started < 30


def test_long_text_ends_in_time(kernel: str) -> None:
    started = time.monotonic()
    text = "a man is running in the park . " * (30_000 if kernel == "native" else 300)  # about 1 MB
    assert 0.0 <= meteor.score("a man runs", [text]).score < 1.0
    assert 0.0 <= meteor.score(text, ["a man runs"]).score < 1.0
    for sign in (".", "'", ",", "-", "`", "\u00e9", "a."):
        meteor.score(sign * 100_000, ["a"])
    if kernel == "native":
        assert meteor.score("dog " * 900, ["dog " * 900 + "cat"]).score > 0.8
        with pytest.raises(InputError, match="500000 words in one text"):
            meteor.score("'" * 1_000_000, ["a"])
    assert time.monotonic() - started < 60


@pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
def test_a_process_ends_quietly() -> None:
    program = "from fabula.text import meteor; print(meteor.score('dog', ['dog']).score)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.stderr) == ("1.0\n", "")


def test_many_pairs_are_aligned_as_one_by_one() -> None:
    # Few words, so that matches have rivals and the beam is full; a text of more words than an int64 has bits.
    draw, index = random.Random(5), open_index()
    words = [
        "a",
        "the",
        "man",
        "men",
        "dogs",
        "dog",
        "runs",
        "running",
        "is",
        "in",
        "of",
        "big",
        "large",
        "water",
        ",",
        "hashashin",
        "his",
        "her",
        "and",
    ]
    texts = [
        "",
        "a",
        " ".join(["the dog"] * 40),
        *(" ".join(draw.choices(words, k=draw.randint(1, 24))) for _ in range(80)),
    ]
    read = [Sentence(text, index) for text in texts]
    pairs = [(draw.choice(read), draw.choice(read)) for _ in range(400)] + [(one, one) for one in read]
    assert align_many(pairs) == [align_pair(*pair) for pair in pairs]
