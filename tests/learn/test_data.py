"""Vocabulary, data set, batches: hand values, and errors that name the video."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.data.stories import Corpus, Event, Segment, Story  # noqa: E402
from fabula.learn.data import Steps  # noqa: E402
from fabula.learn.splits import durations_as_corpus, only_with, read_split  # noqa: E402
from fabula.learn.words import Vocabulary, words_of  # noqa: E402
from fabula.media.stores.features import Features  # noqa: E402


def story(id: str, *steps: tuple[float, float, str], duration: float | None = 100.0) -> Story:
    return Story(id, tuple(Event(Segment(s, e), c) for s, e, c in steps), duration)


def test_words():
    """Twelve marks are blanks, as in PDVC's loader; all others stay in their words."""
    told = words_of('Stir, don\'t (shake): 1/2 of flour_mix; 50% "hot"?\\n-A&B.')
    assert told == ["stir", "don't", "(shake)", "1", "2", "of", "flour", "mix", "50%", "hot", "a&b"]


def test_vocabulary(tmp_path):
    v = Vocabulary.build(["stir the pot", "stir the soup", "pour"], min_count=1)
    assert v.words == ("stir", "the", "pot", "pour", "soup", "<unk>") and len(v) == 6
    assert v.encode("Stir the broth!", 30) == [0, 1, 2, 6, 0]  # broth is unknown: index V
    assert v.encode("stir the pot pour soup", 4) == [0, 1, 2, 0]  # max_words − 2
    assert v.decode([1, 2, 3, 0, 5]) == "stir the pot." and v.decode([0]) == "" and v.decode([6]) == "<unk>."
    assert Vocabulary.build(["a a b"], min_count=2).words == ("a", "<unk>")
    v.save(tmp_path / "v.json")
    assert Vocabulary.load(tmp_path / "v.json") == v


def test_vocabulary_errors(tmp_path):
    (tmp_path / "v.json").write_text('["a"]')
    with pytest.raises(InputError, match="not a vocabulary"):
        Vocabulary.load(tmp_path / "v.json")
    with pytest.raises(InputError, match="distinct"):
        Vocabulary(("a", "a", "<unk>"))


def test_batch_by_hand(small):
    corpus = Corpus({v: small.corpus[v] for v in ("demo_bread", "demo_tomatoes")})
    vocabulary = Vocabulary.build(c for s in corpus.values() for c in s.captions)
    data = Steps(corpus, Features(small.features), 50, vocabulary, 12)
    batch = data.collate([data[0], data[1]])
    assert batch.videos == ["demo_bread", "demo_tomatoes"]
    assert batch.features.shape == (2, 50, 128) and batch.mask.all()
    assert batch.duration.tolist() == pytest.approx([214.0, 168.4])
    assert batch.span_mask.sum(1).tolist() == [7, 5] and batch.spans.shape == (2, 7, 2)
    assert batch.spans[0, 1].tolist() == pytest.approx([24 / 214, 48 / 214])
    assert batch.spans[1, 5:].abs().sum() == 0
    assert batch.tokens.shape == batch.token_mask.shape == (2, 7, 12)
    first = batch.tokens[0, 0][batch.token_mask[0, 0]].tolist()
    assert (
        first[0] == first[-1] == 0 and vocabulary.decode(first[1:]) == "a woman weighs 500 grams of flour into a large."
    )


def test_lengths_are_kept_and_padded(small):
    data = Steps(small.corpus, Features(small.features), None)
    batch = data.collate([data[0], data[1]])
    assert batch.features.shape[:2] == (2, 214) and batch.mask.sum(1).tolist() == [214, 168]
    assert batch.features[1, 168:].abs().sum() == 0 and batch.to("cpu").videos == batch.videos


def test_steps_are_told_in_order_of_start(small):
    shuffled = story("demo_bread", (60, 80, "b"), (10, 20, "a"), (60, 70, "c"))
    data = Steps(Corpus({"demo_bread": shuffled}), Features(small.features), 10, Vocabulary(("a", "b", "c", "<unk>")))
    assert data[0].spans[:, 0].tolist() == pytest.approx([0.1, 0.6, 0.6])
    assert [t[1] for t in data[0].tokens] == [1, 2, 3]


def test_every_step_is_kept_unless_capped(small):
    many = story("demo_bread", *((4.0 * i, 4.0 * i + 2, "a") for i in range(20)))
    corpus, features = Corpus({"demo_bread": many}), Features(small.features)
    assert len(Steps(corpus, features, 10)[0].spans) == 20
    torch.manual_seed(0)
    capped = [Steps(corpus, features, 10, max_events=10)[0].spans for _ in range(2)]
    assert all(len(s) == 10 and (s[1:, 0] > s[:-1, 0]).all() for s in capped)
    assert not torch.equal(*capped)


def test_a_step_that_ends_after_its_video_is_cut(small):
    data = Steps(Corpus({"demo_bread": story("demo_bread", (90, 120, "a"))}), Features(small.features), 10)
    assert data[0].spans.tolist() == [pytest.approx([0.9, 1.0])]


def test_bad_videos_are_named(small):
    features = Features(small.features)
    cases = {
        "a video without annotation": story("demo_bread"),
        "no duration": story("demo_bread", (1, 2, "a"), duration=None),
        "starts at 150 s": story("demo_bread", (150, 160, "a")),
    }
    for said, bad in cases.items():
        with pytest.raises(InputError, match=f"'demo_bread': .*{said}"):
            Steps(Corpus({"demo_bread": bad}), features)
    with pytest.raises(InputError, match="'nowhere': no features of this video"):
        Steps(Corpus({"nowhere": story("nowhere", (1, 2, "a"))}), features)
    Steps(Corpus({"demo_bread": story("demo_bread")}), features, targets=False)  # to predict, no step is needed


def test_splits(small, tmp_path):
    fabula.write(small.corpus, tmp_path / "my_train.json", "activitynet")
    fabula.write(small.corpus, tmp_path / "my_val.json", "activitynet")
    (tmp_path / "my_metadata.json").write_text("{}")
    assert len(read_split(tmp_path, "train")[0]) == 8
    with pytest.raises(InputError, match="expected one file of the split 'test', saw none"):
        read_split(tmp_path, "test")
    assert len(read_split(tmp_path / "my_val.json", "train")[0]) == 8  # a file is taken as it is


def test_youcook2_file_holds_its_splits(tmp_path):
    entry = {"duration": 100, "annotations": [{"segment": [1, 5], "id": 0, "sentence": "stir"}]}
    database = {"a": {**entry, "subset": "training"}, "b": {**entry, "subset": "validation"}}
    (tmp_path / "yc2.json").write_text(json.dumps({"database": database}))
    assert list(read_split(tmp_path / "yc2.json", "train")[0]) == ["a"]
    assert list(read_split(tmp_path / "yc2.json", "val")[0]) == ["b"]
    with pytest.raises(SpecError, match="no split called 'vall'; did you mean 'val'"):
        read_split(tmp_path / "yc2.json", "vall")
    with pytest.raises(SpecError, match="no subset 'testing'"):
        read_split(tmp_path / "yc2.json", "test")


def test_notes_of_a_split(small, tmp_path):
    fabula.write(Corpus({"a": story("a", (90, 120, "x"))}), tmp_path / "a.json", "activitynet")
    assert any("end after their video" in line for line in read_split(tmp_path / "a.json", "train")[1].lines())


def test_videos_without_features_are_left_out_when_told(small):
    from fabula.core.notes import Notes

    notes = Notes()
    corpus = Corpus({**small.corpus, "nowhere": story("nowhere", (1, 2, "a"))})
    assert list(only_with(corpus, Features(small.features), notes)) == list(small.corpus)
    assert "1 videos have no features" in notes.lines()[0]
    with pytest.raises(SpecError, match="none of the 1 videos"):
        only_with(Corpus({"nowhere": story("nowhere")}), Features(small.features), notes)


def test_durations(small):
    store = Features(small.features)
    assert durations_as_corpus(dict(store.metadata["durations"]), store)["demo_bread"].duration == 214.0
    with pytest.raises(InputError, match="its duration is not known"):
        durations_as_corpus({}, store)
