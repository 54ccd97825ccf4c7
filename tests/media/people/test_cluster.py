"""Faces into people: DBSCAN against scikit-learn, linking against brute force, and what must never happen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.core.errors import InputError, SpecError
from fabula.media.people.base import unit
from fabula.media.people.cluster import (
    Dbscan,
    Linked,
    clusterer,
    count_people,
    dbscan,
    impossible_merges,
    link,
    list_frames,
    number,
)
from fabula.media.people.measures import agree
from fabula.media.people.simulate import Recipe, simulate

SMALL = Recipe(people=5, shots=25, dim=48)


def blobs(seed: int, n: int = 150, dim: int = 6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((8, dim))
    return unit(centres[rng.integers(8, size=n)] + 0.35 * rng.standard_normal((n, dim)))


@pytest.mark.parametrize("min_samples", [1, 2, 4, 9])
@pytest.mark.parametrize("eps", [0.02, 0.1, 0.25, 0.75])
def test_dbscan_is_scikit_learns(monkeypatch, eps, min_samples):
    cluster = pytest.importorskip("sklearn.cluster", reason="scikit-learn is not installed")
    monkeypatch.setattr("fabula.media.people.cluster.CELLS", 1000)  # many blocks
    for seed in range(4):
        x = blobs(seed)
        theirs = cluster.DBSCAN(eps=eps, min_samples=min_samples, metric="cosine").fit(x).labels_
        mine = dbscan(x, eps, min_samples)
        np.testing.assert_array_equal(mine, number(theirs, by_label=True))


def test_min_samples_one_is_chains():
    """What learn/identity does with faces of unknown people."""
    clips = pytest.importorskip("fabula.learn.identity.clips", reason="needs fabula[learn]")
    x = blobs(5)
    np.testing.assert_array_equal(Dbscan(eps=0.1).group(x, *[np.arange(150)] * 2, 0.6).person, clips.link_faces(x, 0.1))


def brute(means: np.ndarray, frames: list[set[int]], eps: float) -> list[list[int]]:
    """Average linkage over all pairs, from its definition."""
    groups = [[t] for t in range(len(means))]
    seen = [set(f) for f in frames]
    while True:
        best = None
        for a, b in itertools.combinations(range(len(groups)), 2):
            if seen[a] & seen[b]:
                continue
            d = np.mean([1 - means[i] @ means[j] for i in groups[a] for j in groups[b]])
            if d <= eps and (best is None or d < best[0]):
                best = d, a, b
        if best is None:
            return sorted(map(sorted, groups))
        _, a, b = best
        groups[a] += groups.pop(b)
        seen[a] |= seen.pop(b)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("eps", [0.1, 0.4, 0.8])
def test_linking_is_average_linkage_with_links(seed, eps):
    rng = np.random.default_rng(seed)
    means = blobs(seed, 30).astype(np.float64)
    frames = [set(rng.integers(20, size=3).tolist()) for _ in means]
    made = link(means.astype(np.float32), [set(f) for f in frames], eps, neighbours=30)
    found = sorted(sorted(np.flatnonzero(made == p).tolist()) for p in np.unique(made))
    assert found == brute(means, frames, eps)


@settings(max_examples=25)
@given(st.data())
def test_nobody_is_in_a_picture_twice(data):
    """Whatever the faces: tracks stay whole, and no two faces of one picture are one person."""
    n = data.draw(st.integers(1, 40))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**20)))
    frame = np.sort(rng.integers(0, max(1, n // 3), n))
    track = np.arange(n)
    for f in np.unique(frame)[1:]:  # some faces go on with a track of the picture before
        before, here = np.flatnonzero(frame == f - 1), np.flatnonzero(frame == f)
        for i, j in zip(before, here, strict=False):
            if rng.random() < 0.5:
                track[j] = track[i]
    x = unit(rng.standard_normal((1, 4)) + data.draw(st.sampled_from([0.0, 0.3, 2.0])) * rng.standard_normal((n, 4)))
    for noise in ("own", "nearest", "drop"):
        for eps in (None, 0.0, 0.5, 2.0):
            made = Linked(eps=eps, noise=noise, smallest=3, neighbours=4).group(x, track, frame, 0.6)
            assert impossible_merges(made.person, frame) == 0
            assert all(len(np.unique(made.person[track == t])) == 1 for t in np.unique(track))
            real = made.person[made.person >= 0]
            first = [int(p) for k, p in enumerate(real) if p not in real[:k]]
            assert first == list(range(count_people(made.person)))  # by first appearance
            assert noise == "drop" or (made.person >= 0).all()


def test_tracks_with_two_faces_in_a_picture_are_refused():
    with pytest.raises(InputError, match="two faces in one picture"):
        Linked().group(blobs(0, 4), np.zeros(4, int), np.array([0, 0, 1, 2]), 0.6)


def test_noise_rules():
    """Three faces of one person, one of another who is seen beside him, one like the first who is not."""
    x = unit(np.array([[1, 0], [1, 0.1], [1, 0], [0, 1], [0.3, 1]]))
    frame, track = np.array([0, 1, 2, 2, 3]), np.arange(5)
    group = lambda **more: Linked(eps=0.02, smallest=2, **more).group(x, track, frame, 0.6)  # noqa: E731
    assert group().person.tolist() == [0, 0, 0, 1, 2] and group().counts["noise"] == 2
    assert group(noise="drop").person.tolist() == [0, 0, 0, -1, -1]
    near = group(noise="nearest")  # the fourth is seen with person 0 and stays alone
    assert near.person.tolist() == [0, 0, 0, 1, 0] and near.counts["noise_alone"] == 1


def test_no_face_and_one_face():
    none = np.zeros((0, 4), np.float32)
    for how in ("linked", "dbscan", "dbscan(min_samples=3)", "linked(noise=nearest)"):
        assert len(clusterer(how).group(none, *[np.zeros(0, int)] * 2, 0.6).person) == 0
        assert clusterer(how).group(np.ones((1, 4), np.float32), *[np.zeros(1, int)] * 2, 0.6).person.tolist() == [0]


def test_links_beat_plain_dbscan_and_never_break():
    for seed in (20, 21):
        s = simulate(SMALL, seed)
        linked = Linked().group(s.embedding, s.track, s.frame, 0.65)
        plain = Dbscan().group(s.embedding, s.track, s.frame, 0.65)
        assert agree(s.truth, linked.person).b3_f > 0.9 > agree(s.truth, plain.person).b3_f
        assert impossible_merges(linked.person, s.frame) == 0 < impossible_merges(plain.person, s.frame)


def test_eps_follows_the_embedder():
    """Where strangers are near one another, as with another embedder, eps is smaller by itself."""
    eps = [Linked().group(s.embedding, s.track, s.frame, 0.65).eps for s in (simulate(SMALL, 1), simulate(Recipe(people=5, shots=25, dim=48, bias=1.5), 1))]  # fmt: skip  # noqa: E501
    assert eps[1] < 0.7 * eps[0]


def test_one_picture_of_very_many_faces():
    """10,000 faces, all at once: as many people, in no time and without a list of all pairs."""
    x = unit(np.random.default_rng(0).standard_normal((10_000, 16)))
    made = Linked(eps=0.5).group(x, np.arange(10_000), np.zeros(10_000, int), 0.6)
    assert count_people(made.person) == 10_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dbscan(eps=3)", "cosine distances lie between 0 and 2"),
        ("dbscan(min_samples=0)", "at least the face itself"),
        ("linkd", "did you mean 'linked'"),
        ("linked(noise=gone)", "noise may be own, nearest, drop"),
        ("linked(smallest=0)", "at least 1"),
    ],
)
def test_words_for_what_does_not_fit(text, said):
    with pytest.raises(SpecError, match=said):
        clusterer(text)


def test_it_prints_itself():
    assert str(clusterer("linked(eps=0.6, noise=drop)")) == "linked(noise=drop,eps=0.6)"
    assert str(clusterer("dbscan")) == "dbscan"


def test_frames_of_one_face_forbid_nothing():
    assert list_frames(np.array([0, 1, 1]), np.array([7, 7, 8]), 2) == [{7}, {7}]
