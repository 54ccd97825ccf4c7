"""The search: the right clips by pencil, plus and minus, order, filters, people; and what it says of itself."""

import numpy as np
import pytest

from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.library.calibrate import Calibration
from fabula.library.find import Searcher
from fabula.library.query import parse
from fabula.library.spans import Smooth, hills, in_order, smooth
from fabula.library.stage import Track
from tests.library.made import Axes, make_store

VIDEOS = {
    "a.mp4": ["tree", "tree", "dog", "dog", "dog", "tree", "tree", "cat", "tree", "tree"],
    "b.mp4": ["car", "car", "man door", "car", "dog sea", "dog sea", "dog", "car", "car"],
    "sub/c.mp4": ["sea", "sea", "dog fruit", "sea", "sea", "sea"],
    "d.mp4": ["car"] * 6,
}


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    return Searcher(make_store(tmp_path_factory.mktemp("s") / "store", VIDEOS), Axes())


def spans(found):
    return [(m.video, m.start, m.end) for m in found.moments]


def test_the_hill_of_a_query(searcher):
    found = searcher.find("dog")
    assert spans(found)[0] == ("a.mp4", 4.0, 10.0)  # three clips of two seconds
    assert found.stage == "exact" and found.why == "31 clips: all are compared" and not found.nothing
    assert {v for v, _, _ in spans(found)[:4]} == {"a.mp4", "b.mp4", "sub/c.mp4"}
    best = found.moments[0]
    assert best.probability is None and len(best.clips) == 3
    assert best.score == pytest.approx(1.0)  # ŝ at the middle of three equal clips


def test_minus_ranks_lower_and_says_so(searcher):
    plain = [v for v, _, _ in spans(searcher.find("dog"))]
    less = searcher.find("dog − fruit")
    assert plain.index("sub/c.mp4") < 4
    assert any("minus 'fruit'" in note for note in less.notes)
    score = {m.video: m.score for m in less.moments}
    assert score["sub/c.mp4"] < score["a.mp4"]


def test_weights_change_the_order(searcher):
    assert searcher.find("3:dog + sea").moments[0].video == "a.mp4"
    assert searcher.find("dog + sea").moments[0].video == "b.mp4"  # the one clip that has both


def test_a_picture_is_asked_with(searcher, tmp_path):
    (tmp_path / "pool.png").write_bytes(b"cat")
    found = searcher.find(parse(str(tmp_path / "pool.png")))
    assert spans(found)[0][0] == "a.mp4" and found.moments[0].start <= 14.0 < found.moments[0].end
    with pytest.raises(InputError, match="no such picture"):
        searcher.find(parse("missing.png"))
    with pytest.raises(SpecError, match="names a file"):
        searcher.find("missing.png")


def test_a_then_b_is_in_order(searcher):
    found = searcher.find("man door then dog")
    assert spans(found)[0] == ("b.mp4", 4.0, 14.0)  # the clip of dogs alone
    forward, backward = (searcher.find(q, videos=["a.mp4"]).moments[0] for q in ("dog then cat", "cat then dog"))
    assert forward.score > backward.score
    assert (forward.start, forward.end) in [(4.0, 16.0), (6.0, 16.0), (8.0, 16.0)]


def test_a_then_b_within_a_length(searcher):
    for m in searcher.find("dog then tree", length=(None, 6)).moments:
        assert m.end - m.start <= 6


def test_length_filters(searcher):
    assert all(m.end - m.start >= 5 for m in searcher.find("dog", length=(5, None)).moments)
    assert all(m.end - m.start <= 4 for m in searcher.find("dog", length=(None, 4)).moments)


def test_within_videos(searcher):
    found = searcher.find("dog", videos=["c"])  # by the name without folder and ending
    assert {m.video for m in found.moments} == {"sub/c.mp4"} and "1 videos" in found.why
    assert spans(searcher.find("dog video:sub/c.mp4")) == spans(found)
    with pytest.raises(InputError, match=r"z\.mp4"):
        searcher.find("dog", videos=["z.mp4"])


def test_what_the_embedder_does_not_know_is_nothing(searcher):
    found = searcher.find("whale")
    assert found.nothing and "knows nothing of 'whale'" in found.notes[-1]


@pytest.mark.parametrize(
    "settings",
    [
        {"limit": 0},
        {"limit": 5000},
        {"length": (5, 2)},
        {"length": (-1, None)},
        {"min_probability": 0.5},
        {"people": ["Anna"]},
    ],
)
def test_what_cannot_be_answered_costs_one_line(searcher, settings):
    with pytest.raises(FabulaError) as error:
        searcher.find("dog", **settings)
    assert "\n" not in str(error.value)


def test_a_probability_can_say_nothing(searcher):
    sure = Calibration("sigmoid", "score", weights=(20.0, -14.0))  # p = .5 at .7
    asked = Searcher(searcher.store, Axes(), calibration=sure)
    assert not asked.find("dog", min_probability=0.5).nothing
    both = asked.find("dog + cat", min_probability=0.5)  # nowhere in one clip
    assert any("a guess" in note for note in both.notes)
    found = asked.find("man fruit", min_probability=0.9)
    assert found.nothing and 0 < found.probability < 0.9
    assert asked.find("whale").probability == 0.0


def test_rows_that_are_added_are_seen(tmp_path):
    store = make_store(tmp_path / "store", {"a.mp4": ["dog"]})
    searcher = Searcher(store, Axes())
    assert searcher.find("sea").moments[0].score < 0.5
    with store.writing() as writer:
        from tests.library.made import entry_of

        writer.put([entry_of("b.mp4", ["sea", "sea"])])
    assert searcher.find("sea").moments[0].video == "b.mp4"


def test_an_empty_store_has_nothing(tmp_path):
    found = Searcher(make_store(tmp_path / "store", {}), Axes()).find("dog")
    assert found.nothing and found.stage == "exact"


class Seen:
    def __init__(self, id, file):
        self.id, self.about = id, {"file": file}


class Faces:
    video = np.array([0, 0, 1])
    time = np.array([5.0, 5.2, 8.5])


class FakeCast:
    """The shape of features/people's: Anna in a.mp4 at 5 s, Bea in b.mp4 at 8.5 s."""

    videos = (Seen("a", "a.mp4"), Seen("b", "b.mp4"))
    faces, person = Faces(), np.array([0, 0, 1])

    def people(self):
        return [0, 1]

    def name(self, person):
        return ["Anna", "person 1"][person]


def test_within_a_person(searcher):
    asked = Searcher(searcher.store, Axes(), cast=FakeCast())
    (only,) = asked.find("dog person:anna").moments
    assert (only.video, only.start, only.end) == ("a.mp4", 4.0, 6.0)  # the clip in which she is seen
    assert [m.video for m in asked.find("dog", people=["1"]).moments] == ["b.mp4"]
    assert asked.find("dog", people=["Anna", "person 1"]).nothing
    with pytest.raises(InputError, match="no person is called 'Cleo'"):
        asked.find("dog", people=["Cleo"])


def track(n):
    t = np.arange(n) * 2.0
    return Track("v", np.arange(n), np.zeros((n, 1), np.float32), t, t + 2)


def test_smoothing_by_pencil():
    assert smooth(np.array([0.0, 4.0, 0.0, 0.0]), 0.5).tolist() == [1.0, 2.0, 1.0, 0.0]
    assert smooth(np.array([3.0]), 0.5).tolist() == [3.0]


def test_hills_stop_at_the_level():
    s = np.array([0, 0, 1, 1, 1, 0, 0, 0, 0.6, 0.6, 0.0])
    first, second, *_ = hills(track(11), s, 0.0, Smooth())
    assert (first.start, first.end, first.score) == (4.0, 10.0, 1.0)
    assert (second.start, second.end) == (16.0, 20.0)


def test_a_hill_leaves_its_neighbour_free():
    found = list(hills(track(3), np.array([1.0, 0.6, 0.0]), 0.0, Smooth(centre=1.0)))
    assert [(span.start, span.end) for span in found] == [(0.0, 2.0), (2.0, 4.0), (4.0, 6.0)]


def test_in_order_agrees_with_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(50):
        K, T = int(rng.integers(2, 4)), int(rng.integers(3, 8))
        C = rng.normal(size=(K, T))
        (found,) = in_order(track(T), C, None)
        from itertools import combinations

        best = max(np.mean([C[i, t] for i, t in enumerate(at)]) for at in combinations(range(T), K))
        assert found.score == pytest.approx(best) and len(found.steps) == K
