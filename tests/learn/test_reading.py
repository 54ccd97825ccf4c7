"""What data sets read: spans of clips, words, pooled features, videosets, masks; each by pencil, each bound twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

from fabula.core.errors import InputError, MatrixError, SpecError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.data.moments import Query  # noqa: E402
from fabula.learn import _batch  # noqa: E402
from fabula.learn.identity import videosets  # noqa: E402
from fabula.learn.retrieval import data  # noqa: E402

# spans and words


@pytest.mark.parametrize(
    ("window", "clip", "rule", "span"),
    [
        ((2.0, 5.0), 1.0, "inside", (2, 4)),
        ((2.0, 5.1), 1.0, "inside", (2, 5)),
        ((1.9999999, 5.0000001), 1.0, "inside", (2, 4)),
        ((2.2, 2.4), 1.0, "inside", (2, 2)),
        ((3.0, 3.0), 1.0, "inside", (3, 3)),
        ((2.0, 5.0), 2.0, "inside", (1, 2)),
        ((2.0, 5.0), 1.0, "ceil", (2, 5)),
        ((2.5, 5.5), 1.0, "ceil", (2, 6)),
        ((2.0, 5.0), 1.0, "hero", (2, 4)),
        ((2.0, 2.5), 1.0, "hero", (2, 3)),
        ((9.5, 30.0), 1.0, "inside", (9, 9)),
        ((20.0, 30.0), 1.0, "ceil", (9, 9)),
    ],
)
def test_clips_of_a_window(window, clip, rule, span):
    assert data.label_spans(window, clip, 10, rule) == span


def test_rules_of_labels():
    with pytest.raises(SpecError, match="labels is 'x'; it may be inside, ceil or hero"):
        data.label_spans((0, 1), 1.0, 10, "x")


def query(*windows: tuple[float, float], duration: float | None = 10.0, text: str = "A dog, runs!") -> Query:
    return Query(7, "v", windows or ((1.0, 3.0),), duration, text)


def test_windows_inside_their_video():
    assert data.cut_windows_of(query((1, 3), (8, 12), (10, 11))) == ((1, 3), (8, 10.0))
    assert data.cut_windows_of(query((8, 12), duration=None)) == ((8, 12),)
    with pytest.raises(InputError, match="a window begins at 10 s, the video ends at 10 s; correct the annotation"):
        data.cut_windows_of(query((10, 12)))


def test_words_of_a_query():
    assert data.split_words("A dog, RUNS!", 1) == ["a", "dog", "runs"]
    for text, told in (
        (None, "a query without words"),
        ("  ", "a query without words"),
        ("?!", "a query without words: '[?]!'"),
    ):
        with pytest.raises(InputError, match=told):
            data.split_words(text, 1)
    one = data.hash_word("dog", 8)
    assert np.linalg.norm(one) == pytest.approx(1) and np.array_equal(one, data.hash_word("dog", 8))
    assert not np.array_equal(one, data.hash_word("cat", 8)) and one.dtype == np.float32


def config(**more: Any) -> Any:
    return SimpleNamespace(
        **{"max_words": 3, "query_dim": 4, "normalize": False, "words": "hashing", "feature_dim": 0, "clip": 1.0}
        | {"long": "windows", "max_clips": 4}
        | more
    )


def test_words_as_vectors_and_as_ids():
    notes = Notes()
    words = data.Words(config(), notes=notes)
    found = words(query(text="a dog runs away"))
    assert found.shape == (3, 4) and torch.equal(found[1], torch.from_numpy(data.hash_word("dog", 4)))
    assert notes.lines()[0].startswith("1 queries have more than 3 words; the first 3 are read")
    scaled = data.Words(config(normalize=True))(query(text="dog"))
    assert torch.allclose(scaled, torch.from_numpy(data.hash_word("dog", 4)) / (1 + 1e-5))
    ids = SimpleNamespace(max_words=3, vocabulary=("a", "dog", "<unk>"), normalize=False)
    assert data.Words(ids)(query(text="a dog runs")).tolist() == [0, 1, 2]
    for wrong, options, told in [
        (SimpleNamespace(vocabulary=()), {}, "the model reads RoBERTa's tokens"),
        (ids, {"tokens": lambda text: [1]}, "the model reads words of its own vocabulary; leave the tokenizer out"),
        (config(words="store"), {}, "the model reads words from a store; name it"),
    ]:
        with pytest.raises(SpecError, match=told):
            data.Words(wrong, **options)
    with pytest.raises(InputError, match="words of 5 channels; the model takes 4"):
        data.Words(config(words="store"), SimpleNamespace(dim=5, path=Path("w.h5")))


def test_rows_are_scaled():
    assert data.scale_rows(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist() == [
        pytest.approx([3 / 5.00001, 4 / 5.00001]),
        [0, 0],
    ]


# clips


def test_frames_become_clips():
    frames = np.arange(10, dtype=np.float32)[:, None]
    assert data.pool_clips(frames, 1.0) is frames and data.pool_clips(frames, 1 + 1e-7) is frames
    assert data.pool_clips(frames, 4)[:, 0].tolist() == [3, 7, 9] and data.pool_clips(frames, 2.5)[:, 0].tolist() == [
        1,
        4,
        6,
        9,
    ]
    assert data.pool_clips(frames, 4, "mean")[:, 0].tolist() == [1.5, 5.5, 8.5] and data.pool_clips(frames, 5)[
        :, 0
    ].tolist() == [4, 9]
    assert data.pool_clips(frames[:1], 4)[:, 0].tolist() == [0]
    with pytest.raises(SpecError, match=r"0.5 frames a clip; clips cannot be shorter than frames are apart"):
        data.pool_clips(frames, 0.5)


def test_long_videos_are_averaged():
    clips = np.arange(8, dtype=np.float32)[:, None]
    assert data.average_down(clips, 8) is clips and data.average_down(clips, 4)[:, 0].tolist() == [0.5, 2.5, 4.5, 6.0]
    assert data.average_down(clips, 1)[:, 0].tolist() == [3.0] and len(data.average_down(clips, 7)) == 7


class Store(dict):
    def __init__(self, dim: int = 2, metadata: Any = None, name: str = "s.h5", **videos: int) -> None:
        super().__init__({v: np.full((n, dim), float(i), np.float32) for i, (v, n) in enumerate(videos.items())})
        self.dim, self.metadata, self.path = dim, metadata or {}, Path(name)


def test_features_side_by_side():
    both = [Store(2, v=6, w=5), Store(3, v=4, w=5)]
    clips = data.Clips(both, config(feature_dim=5))
    assert clips["v"].shape == (4, 5) and list(clips) == ["v", "w"] and len(clips) == 2 and "x" not in clips
    assert (
        data.Clips(both, config(long="cut", max_clips=3))["w"].shape
        == (3, 5)
        == data.Clips(both, config(long="mean", max_clips=3))["w"].shape
    )
    assert (
        data.Clips([Store(2, v=8)], config(), rate=2.0)["v"].shape == (4, 2)
        and clips.rates == [1.0, 1.0]
        and clips.assumed == [True, True]
    )
    with pytest.raises(InputError, match="its features are 7 and 4 clips long; extract them from the same video"):
        data.Clips([Store(2, v=7), Store(3, v=4)], config())["v"]
    with pytest.raises(
        InputError, match="features of 5 channels; the model takes 4; use the features the model was trained on"
    ):
        data.Clips(both, config(feature_dim=4))
    with pytest.raises(SpecError, match="no features"):
        data.Clips([], config())
    assert data.Clips([Store(2, {"simulated": True}, v=1)], config()).simulated and not clips.simulated


def test_what_is_kept_in_memory(monkeypatch):
    store = Store(2, v=4, w=4, x=4)
    clips = data.Clips([store], config())
    monkeypatch.setattr(data, "KEPT", 2 * clips["v"].untyped_storage().nbytes())
    clips["w"]
    clips["v"]
    clips["x"]
    assert list(clips.cache) == ["v", "x"] and clips.size == data.KEPT
    plain = data.Clips([store], config(), keep=False)
    assert plain["v"] is plain["v"] and plain.cache is None and plain.last[0] == "v"


@pytest.mark.parametrize(
    ("metadata", "rate"),
    [
        ({"rate": 2}, 2.0),
        ({"recipe": {"rate": 4.0}}, 4.0),
        ({"rate": 0}, None),
        ({"rate": True}, None),
        ({"rate": "2"}, None),
        ({}, None),
        ({"recipe": 3}, None),
    ],
)
def test_the_rate_of_a_store(metadata, rate):
    assert data.rate_of(Store(2, metadata)) == rate


def test_rates_that_fit():
    assert (
        data.round_rate([3.9, 4.1, 4.0]) == 4 and data.round_rate([0.51]) == 0.5 and data.round_rate([1.4567]) == 1.46
    )
    assert data.round_rate([0.34]) == pytest.approx(1 / 3) and data.round_rate([29.97]) == 30
    assert (
        data.lasts_otherwise(103, 100, 1.0) is False
        and data.lasts_otherwise(106, 100, 1.0)
        and not data.lasts_otherwise(12, 10, 1.0)
    )
    assert data.lasts_otherwise(12.1, 10, 1.0) and not data.lasts_otherwise(105, 100, 1.0)


def test_features_that_last_otherwise():
    asked = [Query(1, "v", ((0, 1),), 10.0, "a"), Query(2, "w", ((0, 1),), 10.0, "a")]
    notes = Notes()
    data.Clips([Store(2, v=10, w=11)], config()).check(asked, notes)
    assert notes.lines() == []
    with pytest.raises(
        InputError, match=r"features last 40 s, the annotation says 10 s \(so it is with 2 of 2 videos\); give --rate 4"
    ):
        data.Clips([Store(2, v=40, w=40)], config()).check(asked, notes)
    with pytest.raises(
        InputError, match=r"features last 5 s, the annotation says 10 s; extract more of them than 0.5 a second"
    ):
        data.Clips([Store(2, v=5, w=10)], config()).check(asked, notes)
    data.Clips([Store(2, v=40, w=10)], config(), rate=1.0).check(asked, notes)
    assert notes.lines()[0].startswith("features of 1 videos last longer or shorter than the annotation says")
    bare = Notes()
    data.Clips([Store(2, v=4)], config()).check([query(duration=None)], bare)
    assert bare.lines()[0].startswith(
        "s.h5 has no rate, and the queries have no durations: features are taken as one a clip of 1 s"
    )
    assert data.Clips([Store(2, v=8)], config(), rate=2.0).seconds("v") == 4.0


def test_durations_of_videos():
    clips = data.Clips([Store(2, {"durations": {"v": 9, "w": 7, "x": True}}, v=4)], config())
    asked = {
        k: Query(k, v, ((0, 1),), d, "a")
        for k, (v, d) in enumerate([("v", 10.0), ("w", None), ("x", None), ("v", 12.0)])
    }
    assert data.durations_of(asked, clips) == {"v": 10.0, "w": 7.0}


def test_the_window_that_shows_most():
    places = [(0, 5), (3, 8), (5, 10)]
    assert data.best_window(0, 1, places) == (0, 5) and data.best_window(8, 9, places) == (5, 10)
    assert data.best_window(4, 6, places) == (3, 8) and data.best_window(3, 4, places) == (0, 5)


def test_examples_of_moments():
    c = config(labels="inside", max_length=3, feature_dim=2)
    moments = data.Moments([query((6.0, 8.0), duration=9.0)], data.Clips([Store(2, v=9)], c), data.Words(c))
    one = moments[0]
    assert (one.name, one.video, one.span, one.duration, len(one.clips)) == ("7", "v", (2, 3), 4.0, 4)
    assert one.windows.tolist() == [[2.0, 4.0]] and one.saliency is None and len(moments) == 1
    rated = query((0.0, 2.0), duration=3.0)._replace(
        saliency=SimpleNamespace(clips=(0, 2, 9), marks=((1, 2), (4, 4), (1, 1)))
    )
    both = data.Moments([rated, query((0.0, 2.0), duration=3.0)], data.Clips([Store(2, v=3)], c), data.Words(c))
    batch = both.collate([both[0], both[1]])
    assert batch.saliency.tolist() == [[1.5, 0.0, 4.0], [-1.0] * 3] and batch.spans.tolist() == [[0, 1], [0, 1]]
    assert batch.videos == ["v", "v"] and batch.durations.tolist() == [3.0, 3.0]


# videosets


def test_segments():
    x = np.arange(7, dtype=np.float32)[:, None]
    assert videosets.pool_segments(x, 3)[:, 0].tolist() == [0.5, 2.5, 5.0] and videosets.pool_segments(x[:2], 3)[
        :, 0
    ].tolist() == [0, 1, 0]
    assert videosets.frame_segments(7, 3).tolist() == [0, 0, 0, 1, 1, 2, 2] and videosets.frame_segments(
        3, 3
    ).tolist() == [0, 1, 2]
    assert videosets.face_segments(np.array([0.0, 4.0, 5.0, 9.0, 99.0]), 2, 4).tolist() == [0, 1, 2, 3, 3]
    assert videosets.face_segments(np.array([3.0]), 0, 4).tolist() == [2]


def test_boxes_as_fractions():
    box = np.array([[10, -20, 50, 40], [50, 10, 200, 300]], np.float32)
    assert videosets.scale_boxes(box, 100, 200).tolist() == [
        pytest.approx([0.1, 0.1, 0.5, 0.2]),
        pytest.approx([0.25, 1 / 30, 1, 1]),
    ]


def test_numbers_of_people():
    clips = [np.array([5, 3, 5]), np.array([3, 9])]
    numbers = lambda within: [n.tolist() for n in videosets.number_people(clips, within)]  # noqa: E731
    assert (
        numbers("set") == [[0, 1, 0], [1, 2]]
        and numbers("clip") == [[0, 1, 0], [0, 1]]
        and numbers("none") == [[0, 0, 0], [0, 0]]
    )


def test_one_face_for_each_person():
    clip = videosets.ClipFeatures(
        "c", np.zeros((1, 1), np.float32), np.zeros((1, 1), np.float32), np.array([[1.0], [3.0], [5.0]], np.float32),
        np.array([[0, 0, 2, 2], [0, 0, 1, 1], [0, 0, 4, 4]], np.float32),
        np.array([0.0, 1.0, 4.0]), np.array([7, 2, 7]),
    )  # fmt: skip
    one = videosets.pool_people(clip)
    assert (
        one.face[:, 0].tolist() == [3, 3]
        and one.person.tolist() == [7, 2]
        and one.at.tolist() == [2, 1]
        and one.box[0].tolist() == [0, 0, 3, 3]
    )


def test_what_a_model_has_room_for():
    room = SimpleNamespace(clips=2, tokens=3, blanks=1)
    one = videosets.Videoset("s", (1, 2), (1, 2, 3), np.zeros((1, 1)))
    videosets.check_videoset(one, room)
    for change, told in [
        ({"clips": ()}, "a videoset without clips"),
        ({"clips": (1, 2, 3)}, "3 clips; the model takes 2 at a time; cut it into windows"),
        ({"tokens": (1, 2, 3, 4)}, "captions of 4 tokens; the model takes 3"),
        ({"text": np.zeros((2, 1))}, "2 blanks; the model takes 1"),
    ]:
        with pytest.raises(InputError, match=told):
            videosets.check_videoset(replace(one, **change), room)


# masks


COST = torch.zeros(2, 3, 4)


def test_lengths_of_a_batch():
    n, m = _batch.lengths(None, COST)
    assert n.tolist() == [3, 3] and m.tolist() == [4, 4]
    n, m = _batch.lengths(([1, 2], torch.tensor([[True, True, False, False], [True, False, True, False]])), COST)
    assert n.tolist() == [1, 2] and m.tolist() == [2, -1]
    for wrong, told in [
        ([1, 2], "mask is a pair"),
        ((None,), "mask is a pair"),
        (
            (torch.ones(2, 4, dtype=torch.bool), None),
            r"mask of queries has shape \(2, 4\); booleans are \[B, 3\] here, B = 2",
        ),
        ((None, [1]), r"mask of targets has shape \(1,\) and torch.int64; give 2 whole lengths"),
        ((None, [1.0, 2.0]), "give 2 whole lengths"),
    ]:
        with pytest.raises(MatrixError, match=told):
            _batch.lengths(wrong, COST)


def test_costs_that_are_no_numbers():
    n, m = torch.tensor([3, 2]), torch.tensor([4, 1])
    _batch.check(COST, n, m)
    bad = COST.clone()
    bad[1, 2, 0] = float("nan")
    _batch.check(bad, n, m)  # in the padding
    bad[1, 1, 0] = float("inf")
    with pytest.raises(
        MatrixError,
        match=r"cost of item 1, query 1, target 0 is inf \(1 of 2 costs of this item are not finite, 1 of 2 items",
    ):
        _batch.check(bad, n, m)
    with pytest.raises(MatrixError, match="mask of queries, item 0: length 4, but the costs have 3 queries"):
        _batch.check(COST, torch.tensor([4, 0]), m)
    with pytest.raises(MatrixError, match="mask of targets, item 1: True after False; padding must come last"):
        _batch.check(COST, n, torch.tensor([4, -1]))
    assert _batch.inside(COST, n, m).sum((1, 2)).tolist() == [12, 2]
    for wrong in (torch.zeros(3, 4), torch.zeros(1, 3, 4, dtype=torch.int64)):
        with pytest.raises(MatrixError, match="a batch of real costs is"):
            _batch.batch(wrong)
    assert _batch.batch(COST.half()).dtype == torch.float32 and _batch.batch(COST.double()).dtype == torch.float64


def test_the_shift_that_completes_matchings():
    cost = torch.tensor([[[1.0, 2.0], [3.0, 9.0]]])
    n = m = torch.tensor([2])
    assert _batch.completing_shift(cost, n, m).tolist() == [9 + 2 * 8 + 1]
    assert _batch.completing_shift(cost, n, m, 0.5).tolist() == pytest.approx([26 + 0.5 * (4.4 + 40)])
    assert _batch.completing_shift(cost, torch.tensor([1]), m).tolist() == [2 + 1 + 1] and _batch.completing_shift(
        cost, torch.tensor([0]), m
    ).tolist() == [0]
