"""Captions too long for METEOR: named, counted, 0 by a rule that the signature names, and refused with --strict."""

import json

import numpy as np
import pytest

import fabula
from fabula import _kernels
from fabula.core.errors import InputError
from fabula.core.rows import CROWDED, Rows
from fabula.pair.captions import Captions
from fabula.text import meteor
from fabula.text.meteor import align
from tests.toys import story

CROWD = "\u0301 " * 1001  # 1,001 × 1,001 ways to match
LONG = " ".join(f"w{k}" for k in range(5001))  # 5,001 × 5,001 words


@pytest.fixture(params=["native", "python"])
def crowd(request, monkeypatch):
    """A crowded text; for the twin, which takes its time, a shorter one by a lower limit."""
    if request.param == "native" and _kernels.NATIVE is None:
        pytest.skip("this install has no compiled kernels")
    monkeypatch.setattr(align, "MOST_MATCHES", 400)
    with _kernels.using(request.param):
        yield CROWD if request.param == "native" else CROWD[:42]


def corpus_file(path, sentence):
    times = [[0, 10], [20, 30]]
    told = {"v_a": ["a dog runs", "a man walks"], "v_b": [sentence, "a man walks"]}
    path.write_text(
        json.dumps({v: {"duration": 60, "timestamps": times, "sentences": said} for v, said in told.items()})
    )
    return path


@pytest.fixture
def files(tmp_path):
    return corpus_file(tmp_path / "preds.json", CROWD), corpus_file(tmp_path / "refs.json", CROWD)


def test_only_the_crowded_pair_is_lost(crowd):
    texts = [crowd, "a dog runs"]
    found = meteor.SCORER.pairs_many([(texts, texts), (["a dog"], ["a dog"])])
    assert np.isnan(found[0]).tolist() == [[True, False], [False, False]]
    assert found[0][1, 1] == meteor.score("a dog runs", ["a dog runs"]).score and found[1].tolist() == [[1.0]]
    with pytest.raises(InputError, match="block 0: candidate 0, reference 0: "):
        meteor.pairs(texts, texts)


@pytest.mark.skipif(_kernels.NATIVE is None, reason="the twin would take minutes")
def test_texts_too_long_are_crowded_too():
    found = meteor.SCORER.pairs_many([([LONG, "a dog"], [LONG, "a dog"])])
    assert np.isnan(found[0]).tolist() == [[True, False], [False, False]]


def test_a_crowded_reference_counts_as_unmatched(crowd):
    words = float(len(crowd) // 2)
    (found,) = meteor.segments([crowd], [[crowd, "a dog", crowd]], crowded="zero")
    assert (found.score, found.crowded) == (0.0, 2)
    assert found.stats[:4] == (words, words, 0.0, 0.0) and not any(found.stats[4:])
    (other,) = meteor.segments(["a dog"], [["a dog", crowd]], crowded="zero")
    assert (other.score, other.crowded) == (1.0, 0)
    with pytest.raises(InputError, match="item 0: candidate 0, reference 0: more than "):
        meteor.segments([crowd], [[crowd]])


def test_caption_scores_never_hold_a_nan(monkeypatch):
    monkeypatch.setattr(align, "MOST_MATCHES", 400)
    captions = Captions("meteor", "prediction-as-hypothesis", "none", False)
    some = story((0, 1, CROWD), (1, 2, "a dog"))
    assert captions.matrix(some, some).tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert meteor.align_words(CROWD, CROWD).matches == []


@pytest.mark.parametrize("asked", ["SODA_a", "SODA_b", "SODA_c", "DVC_METEOR", "SODA_c(tok=none)"])
def test_the_rest_of_the_corpus_is_scored(files, asked):
    result = fabula.score(*files, metrics=asked)
    (name,) = result.scores
    assert 0.5 < result[name].value < 1
    assert "|crowded=zero:1|" in result[name].signature and result.counts["crowded"] == 1
    (line,) = result.warnings
    assert line.startswith(f"{name}: 1 pairs of captions are too long") and line.endswith("(crowded=zero): 'v_b'")
    with pytest.raises(InputError, match=rf"video 'v_b': {name.split('(')[0]}.*--strict"):
        fabula.score(*files, metrics=asked, strict=True)


def test_a_run_in_shards_tells_it_too(files, tmp_path):
    here, there = (fabula.score(*files, metrics="SODA_c", **more) for more in ({}, {"work": tmp_path / "work"}))
    assert there.scores == here.scores and there.warnings == here.warnings and there.counts == here.counts


def test_no_word_of_it_where_nothing_is_crowded(tmp_path):
    result = fabula.score(
        corpus_file(tmp_path / "preds.json", "a cat"), corpus_file(tmp_path / "refs.json", "a cat"), metrics="SODA_c"
    )
    assert "crowded" not in result["SODA_c"].signature and "crowded" not in result.counts and not result.warnings
    assert CROWDED not in result.rows["SODA_c"].columns


def test_single_captions_and_regions(tmp_path):
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(
        "".join(json.dumps({"id": k, "cand": c, "refs": [c]}) + "\n" for k, c in enumerate([CROWD, "a dog"]))
    )
    result = fabula.score(pairs, task="captions", metrics="METEOR")
    assert result.counts["crowded"] == 1 and "|crowded=zero:1|" in result["METEOR"].signature
    with pytest.raises(InputError, match="id 0: METEOR: 1 pairs"):
        fabula.score(pairs, task="captions", metrics="METEOR", strict=True)
    image = {"image_id": 1, "boxes": [[0, 0, 5, 5], [50, 50, 5, 5]], "captions": [CROWD, "a dog"], "scores": [0.5, 0.4]}
    for name in ("refs.jsonl", "preds.jsonl"):
        (tmp_path / name).write_text(json.dumps(image) + "\n")
    result = fabula.score(tmp_path / "preds.jsonl", tmp_path / "refs.jsonl", task="regions")
    assert result.counts["crowded"] == 1 and 0 < result["DenseCap_mAP"].value < 1


def test_rows_with_and_without_it_are_joined():
    plain, crowded = (
        Rows.of([{"video": "a", "S": 1}]),
        Rows.of([{"video": "b", "S": 2}, {"video": "c", "S": 3, CROWDED: 4}]),
    )
    assert (
        Rows.joined([plain, crowded]).crowded.tolist() == [0, 0, 4] == Rows.joined([plain, crowded])[CROWDED].tolist()
    )
    assert CROWDED not in plain.columns and plain.crowded.tolist() == [0]
