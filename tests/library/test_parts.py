"""Parts of a search one by one: queries as values, hills, steps in order, maps, stages, cuts, recipes; by pencil."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fabula.core.errors import InputError, SpecError
from fabula.library import ann, calibrate, find, manifest, queries, scan, sheet, spans, stage, terminal, walk
from fabula.library.calibrate import Calibration, Sample
from fabula.library.embedders.base import unit
from fabula.library.find import Moment, Searcher, SearchResult
from fabula.library.generations import choose_cut, generation
from fabula.library.lock import Claims, writer_lock
from fabula.library.manifest import Manifest
from fabula.library.options import IndexOptions, SearchOptions
from fabula.library.page import catalogue, desk
from fabula.library.people import People, seen_in
from fabula.library.query import Part, Query, parse
from fabula.library.spans import Smooth, Span
from fabula.library.stage import Exact, Hits, Track
from fabula.library.store import Vectors, Video
from fabula.stats.calibration import Bin
from tests.library.made import Axes, make_store
from tests.library.served import make_cast
from tests.stored import as_text, read_stored, write_stored

FOLDER = Path(__file__).parent / "frozen"
QUERIES = [
    "a dog",
    "2:golden retriever + pool.jpg − fruit",
    "a man opens a door and then a dog runs out person:Anna",
    ".5:dog -1.5:cat",
    'dog + "then + minus" video:"my film.mp4" video:b.mp4',
    "x-ray at 10:30",
    '"two" words "" here',
    'he said "no',
    "then-and-there − not this",
    "cat+dog",
    "− cars + street",
    "1:dog",
    "2:10 men",
    '"pool.jpg"',
    'at "pool.jpg"',
    "dog THEN cat Then sea",
    "nobody without a person:x",
    'dog person:"a ""b"" c"',
    "10000:dog",
    "and then dog",
    "rock and then sea",
]


def describe_query(text: str) -> Any:
    try:
        query = parse(text)
    except SpecError as error:
        return [text, str(error)]
    steps = [[[p.what, p.weight, p.picture, str(p)] for p in step] for step in query.steps]
    return [text, str(query), steps, query.videos, query.people, query.plain, query.remarks]


FOUND = SearchResult(
    parse("a dog"),
    (Moment("a<b.mp4", 0.0, 3661.25, 0.51234, 0.25, (7, 8)), Moment("c.mp4", 59.96, 61.0, -1.0)),
    0.625,
    "index",
    0.0123,
    ("be <careful>",),
    "because",
)
THUMBS = {7: b"\xff\xd8\xffjpeg", 8: b"png"}


def cut_style(page: str) -> str:
    head, _, rest = page.partition("<style>")
    return head.partition("style-src")[0] + rest.partition("</style>")[2]


PICTURE = (np.arange(7 * 3 * 3).reshape(7, 3, 3) * 4).astype(np.uint8)
TEXTS = {
    "queries": lambda: as_text([describe_query(text) for text in QUERIES]),
    "answer": lambda: as_text(FOUND.document()),
    "sheet": lambda: cut_style(sheet.search_page(FOUND, THUMBS.get)),
    "sheet-of-nothing": lambda: cut_style(sheet.search_page(SearchResult(parse("a dog"), ()), THUMBS.get, "T")),
    "lines": lambda: "\n".join(sheet.lines(FOUND)),
    "sixel": lambda: terminal.sixel(PICTURE).replace("\033", "~"),
    "kitty": lambda: "\n".join(terminal.kitty(np.zeros((40, 30, 3), np.uint8), 5)).replace("\033", "~"),
    "texts": lambda: "\n".join(ann.test_texts()),
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_as_it_was(name):
    assert TEXTS[name]() + "\n" == read_stored(FOLDER, name)


def test_nothing_is_left_over():
    assert {path.stem for path in FOLDER.iterdir()} == set(TEXTS)


# queries


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "an empty query; say what to look for"),
        (3, "an empty query"),
        ("a\0b", "a query with a zero byte"),
        ("w " * 201, "a query of 201 words; at most 200 are read: shorten it"),
        ("w" * 4001, "a query of 4,001 characters; at most 4,000 are read"),
        ("dog then", "nothing stands before or after a 'then'"),
        ("video:a", 'an empty query; say what to look for, or write "then" in quotes'),
        ("dog + + cat", "a sign with nothing behind it"),
        ("dog −", "a sign with nothing behind it"),
        ("− dog", "nothing is looked for, only kept away"),
        ("2: ", "nothing follows the weight 2:; write what it weighs"),
        ("0:dog", "a weight of 0 has no effect; leave the part out"),
        ('""', 'an empty part ""; say what to look for'),
        (" then ".join("a" * 9), "9 steps joined by 'then'; at most 8 are looked for in order"),
        (" + ".join("a" * 17), "17 parts in one query; at most 16 are added up"),
    ],
)
def test_queries_that_cannot_be(text, told):
    with pytest.raises(SpecError) as error:
        parse(text)
    assert told in str(error.value)


def test_queries_at_the_ends():
    assert len(parse(" ".join(["w"] * 200)).steps) == 1 and parse("w" * 4000)
    assert len(parse(" then ".join("a" * 8)).steps) == 8 and len(parse(" + ".join("a" * 16)).steps[0]) == 16
    with pytest.raises(SpecError, match=r"'a.png' names a file, and none is read here"):
        parse("a.png", pictures=False)
    assert parse('"big a.png"', pictures=True).steps[0][0].picture and Part("x").data is None
    assert not parse("dog + cat").plain and not parse("dog then cat").plain and not parse("a.jpg").plain
    assert Query(((Part("dog"),),), ("a b", "c"), ("x",)).__str__() == 'dog video:"a b" video:c person:x'


# hills


def track(n: int, step: float = 2.0, video: str = "v") -> Track:
    at = np.arange(n) * step
    return Track(video, np.arange(n) + 100, np.zeros((n, 1), np.float32), at, at + step)


def test_a_clip_counts_beside_its_neighbours():
    assert spans.smooth(np.array([4.0, 0.0, 2.0]), 0.75).tolist() == [3.5, 0.75, 1.75]
    assert spans.smooth(np.array([3.0]), 0.5).tolist() == [3.0]


def test_hills_from_the_highest_down():
    s = np.array([0.0, 0.0, 8.0, 7.0, 0.0, 0.0, 4.0, 0.0])
    found = list(spans.hills(track(8), s, 0.0, Smooth(centre=1.0)))
    assert [(h.start, h.end, h.score, h.clips) for h in found[:2]] == [(4, 8, 8, (102, 103)), (12, 14, 4, (106,))]
    assert found[0].video == "v" and found[0].steps == () and len(found) == 5
    assert found[2].clips == (100, 101) and found[2].score == 0.0


def test_a_hill_ends_at_its_level_and_its_length():
    s = np.array([5.0, 7.0, 10.0, 6.9, 9.0])
    (first, *_) = spans.hills(track(5), s, 0.0, Smooth(centre=1.0, level=0.7))
    assert (first.start, first.end, first.clips) == (2.0, 6.0, (102, 101))
    (first, *_) = spans.hills(track(5), s, 0.0, Smooth(centre=1.0, level=0.5))
    assert (first.start, first.end, first.clips) == (0.0, 10.0, (102, 104, 101, 103, 100))
    (first, *_) = spans.hills(track(5), s, 0.0, Smooth(centre=1.0, level=0.5, longest=4.0))
    assert (first.start, first.end) == (2.0, 6.0)
    (first, *_) = spans.hills(track(5), s, 4.0, Smooth(centre=1.0, level=0.5))
    assert (first.start, first.end) == (2.0, 6.0)  # down to 4 + 3


def test_clips_that_do_not_count():
    s = np.array([-np.inf, 5.0, -np.inf, 9.0])
    found = list(spans.hills(track(4), s, 0.0, Smooth(centre=1.0)))
    assert [(h.start, h.end, h.clips) for h in found] == [(6.0, 8.0, (103,)), (2.0, 4.0, (101,))]
    assert list(spans.hills(track(2), np.full(2, -np.inf), 0.0, Smooth())) == []


@pytest.mark.parametrize("wrong", [{"level": -0.1}, {"level": 1.1}, {"centre": 1.1}, {"longest": 0.0}])
def test_smoothing_that_cannot_be(wrong):
    with pytest.raises(SpecError, match="smooth: "):
        Smooth(**wrong)


def test_smoothing_by_default_and_at_the_ends():
    assert (Smooth().level, Smooth().centre, Smooth().longest) == (0.7, 0.75, 120.0)
    assert Smooth(level=0, centre=1).level == 0 and Smooth(level=1, centre=0).centre == 0


def test_steps_in_order():
    steps = np.array([[0.0, 9.0, 0.0, 1.0], [8.0, 0.0, 1.0, 4.0]])
    (found,) = spans.in_order(track(4), steps, None)
    assert (found.start, found.end, found.score, found.clips, found.steps) == (2.0, 8.0, 6.5, (101, 103), (9.0, 4.0))
    low = steps - 100.0
    (found,) = spans.in_order(track(4), low, None)
    assert found.steps == (-91.0, -96.0) and found.score == -93.5
    gone = steps.copy()
    gone[:, 1] = -np.inf
    (found,) = spans.in_order(track(4), gone, None)
    assert found.steps == (0.0, 4.0) and found.clips[0] == 103
    assert list(spans.in_order(track(1), steps[:, :1], None)) == []


def test_windows_overlap_by_half():
    assert list(spans.windows(track(5), None)) == [slice(0, 5)] == list(spans.windows(track(5), 10.0))
    assert list(spans.windows(track(5), 4.0)) == [slice(0, 2), slice(1, 3), slice(2, 4), slice(3, 5)]
    assert list(spans.windows(track(0), 4.0)) == [slice(0, 0)]
    assert list(spans.windows(track(5), 9.0)) == [slice(0, 4), slice(3, 5)]


def test_the_best_moments_of_all_videos():
    some = [
        Span("a", 0, 10, 1.0, (1,)),
        Span("a", 1, 10, 2.0, (2,)),
        Span("b", 1, 10, 1.5, (3,)),
        Span("a", 20, 22, 0.5, (4,)),
    ]
    assert [s.clips[0] for s in spans.best_spans(some, 9, None)] == [2, 3, 4]
    assert [s.clips[0] for s in spans.best_spans(some, 2, None)] == [2, 3]
    assert [s.clips[0] for s in spans.best_spans(some, 9, (None, 2.0))] == [4]
    assert [s.clips[0] for s in spans.best_spans(some, 9, (9.5, None))] == [1]
    assert [s.clips[0] for s in spans.best_spans(some, 9, (9.0, 9.0))] == [2, 3]
    assert spans.best_spans(some, 9, (30.0, None)) == []


# maps


def test_a_map_of_each_kind():
    on = {"score": (2.0, -1.0), "lift": (4.0, 0.5)}
    for name, weights in on.items():
        z = weights[0] * {"score": 0.25, "lift": 0.5}[name] + weights[1]
        assert Calibration("sigmoid", name, weights)(0.25, 0.5) == pytest.approx(1 / (1 + np.exp(-z)))
    assert Calibration("sigmoid", "both", (1.0, 2.0, 3.0))(0.25, 0.5) == pytest.approx(1 / (1 + np.exp(-4.25)))
    steps = Calibration("isotonic", "lift", knots=((0.0, 0.25), (1.0, 0.75)))
    assert [steps(9.0, x) for x in (-1, 0, 0.5, 2)] == [0.25, 0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    ("knots", "fine"),
    [
        (((0.0, 0.2), (1.0, 0.8)), True),
        (((0.0, 0.2), (1.0, 0.8), (2.0, 0.5)), False),
        (((0.0, 0.2), (2.0, 0.5), (1.0, 0.8)), False),
        (((0.0, 0.2), (0.0, 0.2)), True),
        (((0.0, -0.1), (1.0, 0.5)), False),
        (((0.0, 0.0), (1.0, 1.0)), True),
        (((0.0, 0.5), (1.0, 1.1)), False),
        ((), False),
    ],
)
def test_steps_of_a_map(knots, fine):
    assert calibrate.are_steps(knots) is fine


def make_sample(n: int, noise: float = 1.0) -> Sample:
    rng = np.random.default_rng(1)
    present = np.arange(n) % 2 == 0
    lift = present * 2.0 + noise * rng.normal(size=n)
    return Sample(0.1 * lift + rng.normal(size=n), lift, present)


def test_the_map_is_chosen_by_what_was_left_out():
    found = calibrate.fit(make_sample(80), {"embedder": "x", "t": (1, 2)})
    losses = found.about["log loss, cross-validated"]
    assert list(losses) == [
        "sigmoid on score",
        "sigmoid on lift",
        "sigmoid on both",
        "isotonic on score",
        "isotonic on lift",
    ]
    best = min(losses, key=losses.__getitem__)
    assert f"{found.kind} on {found.on}" == best and found.recipe == {"embedder": "x", "t": [1, 2]}
    assert (found.about["present"], found.about["absent"]) == (40, 40) and losses["sigmoid on lift"] < losses[
        "sigmoid on score"
    ]
    assert calibrate.fit(make_sample(80), seed=1).about != found.about
    with pytest.raises(SpecError, match="9 queries with an answer and 9 without; a calibration needs 10 of each"):
        calibrate.fit(make_sample(18))
    assert calibrate.fit(make_sample(20)).about["present"] == 10


def test_losses():
    p = np.array([0.5, 0.25, 0.0, 1.0])
    found = calibrate.log_loss(p, np.array([True, False, True, True]))
    assert found == pytest.approx([np.log(2), -np.log(0.75), -np.log(1e-6), -np.log(1 - 1e-6)])


def test_thresholds():
    p, present = np.array([0.1, 0.5, 0.9, 0.5]), np.array([False, False, True, True])
    assert calibrate.trade_off(p, present, [0.5, 0.6]) == [(0.5, 0.5, 0.0), (0.6, 1.0, 0.5)]
    every = calibrate.trade_off(p, present)
    assert len(every) == 41 and every[0].threshold == 0 and every[-1].threshold == 1 and every[20].threshold == 0.5
    assert calibrate.trade_off(p[:2], present[:2], [0.5]) == [(0.5, 0.5, 0.0)]
    assert calibrate.calibration_error(p, present) == pytest.approx((0.1 + 0.1) / 4)
    figure = calibrate.draw(p, present, "T")
    assert figure.words == "ECE (10 equal-width bins) 0.050, 2 queries with an answer, 2 without"
    reliability, cost = figure.panels
    assert reliability.lines == {
        "as it should be": ((0.0, 0.0), (1.0, 1.0)),
        "measured": ((pytest.approx(0.1), 0.0), (0.5, 0.5), (pytest.approx(0.9), 1.0)),
    }
    assert (
        reliability.marked and not cost.marked and cost.lines["with an answer: lost"][24] == (pytest.approx(0.6), 0.5)
    )
    assert calibrate.reliability(p, present)[1] == Bin(0.5, 0.5, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "x"},
        {"on": "x"},
        {"weights": [1.0]},
        {"weights": [1.0, 2.0, 3.0]},
        {"weights": [1.0, float("inf")]},
        {"kind": "isotonic"},
        {"recipe": 3},
        {"knots": [[1]]},
    ],
)
def test_files_that_are_no_maps(tmp_path, change):
    path = tmp_path / "c.json"
    document = {
        "fabula-calibration": 1,
        "kind": "sigmoid",
        "on": "score",
        "weights": [1.0, 2.0],
        "knots": [],
        "recipe": {},
        "about": {},
    }
    path.write_text(json.dumps(document))
    assert Calibration.load(path) == Calibration("sigmoid", "score", (1.0, 2.0))
    path.write_text(json.dumps(document | change))
    with pytest.raises(InputError, match="is not a calibration; calibrate the store again"):
        Calibration.load(path)
    path.write_text(json.dumps(document | {"fabula-calibration": 2}))
    with pytest.raises(InputError, match="a calibration of version 2, not 1"):
        Calibration.load(path)


# stages


def exact() -> Exact:
    vector = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], np.float32)
    at = np.arange(4.0)
    return Exact("abc", Vectors(np.array([10, 11, 30, 31]), vector, np.array([0, 0, 2, 2], np.int32), at, at + 1))


def test_an_exact_stage():
    one = exact()
    hits = one.top(np.array([1, 0], np.float32), 3)
    assert (
        hits.clip.tolist() == [10, 30, 11]
        and hits.video == ["a", "c", "a"]
        and hits.score.tolist() == pytest.approx([1, 0.6, 0])
    )
    some = one.top(np.array([1, 0], np.float32), 3, np.array([False, True, False, True]))
    assert some.clip.tolist() == [11, 31] and some.video == ["a", "c"]
    assert len(one) == 4 and one.bounds == {0: (0, 2), 2: (2, 4)} and one.in_order_of_clips() == ["a", "c"]
    tracks = list(one.tracks(["c", "b"]))
    assert tracks[0].clip.tolist() == [30, 31] and tracks[0].start.tolist() == [2, 3] and len(tracks[1].clip) == 0
    assert (
        one.sample(2).tolist() == one.clips.vector[[0, 2]].tolist()
        and len(one.sample(9)) == 4
        and len(one.sample(3)) == 3
    )
    empty = Exact([], Vectors(*(np.zeros(0, int),), np.zeros((0, 2), np.float32), *(np.zeros(0),) * 3))
    assert empty.top(np.array([1, 0], np.float32), 3).video == []


def named(*names: str) -> Any:
    return SimpleNamespace(videos=lambda: [SimpleNamespace(video=n, clips=0 if n == "empty.mp4" else 1) for n in names])


def test_names_of_videos():
    store = named("x/a.mp4", "y/a.mp4", "y/b.mp4", "empty.mp4", "c.mp4")
    assert stage.check_videos(store, ["x/a.mp4", "b.mp4", "c", "b"]) == ["x/a.mp4", "y/b.mp4", "c.mp4"]
    with pytest.raises(InputError, match=r"2 videos are called so; write the whole name, as x/a.mp4"):
        stage.check_videos(store, ["a.mp4"])
    for gone in ("empty.mp4", "d"):
        with pytest.raises(InputError, match="no video of this store has clips under this name"):
            stage.check_videos(store, [gone])


def test_an_index_is_asked_as_it_was_built(tmp_path, monkeypatch):
    """One whose probes somebody named, whatever it finds; one of an earlier version where it finds enough."""
    tried = ({"probes": 80, "recall": 0.99, "seconds": 0.1},)
    plan = ann.Plan("clips", "IVF_FLAT", 1600, 80, 0.99, 128, 200_000, tried)
    assert plan.good and not replace(plan, recall=0.9899).good and replace(plan, recall=0.5, tried=()).good
    assert str(plan) == "an index of 1,600 lists, 80 of them read; recall@100 0.9900 with 128 texts"
    store = SimpleNamespace(folder=tmp_path, manifest=SimpleNamespace(tables={"clips": "clips"}))
    monkeypatch.setattr(ann, "has_index", lambda store: True)
    assert ann.open_plan(store) == ann.open_plan(SimpleNamespace(folder=None)) == (None, "")

    def write(**change):
        return (tmp_path / "index.json").write_text(json.dumps({"fabula-index": 1, **asdict(plan), **change}))

    write()
    assert ann.open_plan(store) == (plan, "")
    for change, why in [
        ({"fabula-index": 2}, "its index is of another version of Fabula"),
        ({"table": "clips_2"}, "its index is of vectors made before (build it again)"),
        ({"recall": 0.5}, "its index finds 0.500 of what is nearest to texts"),
    ]:
        write(**change)
        assert ann.open_plan(store) == (None, why)
    write(more=1)
    with pytest.raises(InputError, match="is not a plan of an index; build the index again"):
        ann.open_plan(store)
    write()
    monkeypatch.setattr(ann, "has_index", lambda store: False)
    assert ann.open_plan(store)[0] is None


def test_texts_that_measure_an_index():
    embed = Axes()
    assert len(ann.embed_tests(embed, ["dog"] * 40 + ["nothing"] * 5)) == 40
    with pytest.raises(SpecError, match="axes knows 39 of the texts; an index is measured with 40: --queries FILE"):
        ann.embed_tests(embed, ["dog"] * 39 + ["nothing"])
    with pytest.raises(SpecError, match="an index is built over a store in a folder"):
        ann.build(SimpleNamespace(folder=None), embed)


def test_a_small_store_needs_no_index(store):
    with pytest.raises(SpecError, match="8 clips; up to 100,000 all are compared, and no index is quicker"):
        ann.build(store, Axes())


# cuts of a video


@pytest.mark.parametrize(
    ("cut", "told"),
    [
        ({"fps": 0}, "--fps 0; frames per second lie between 0 and 1000"),
        ({"fps": 1001}, "--fps 1001"),
        ({"clip": 0.5}, "--clip 0.5 at 1 frames per second; it is a whole number of frames, from 1 to 4096"),
        ({"clip": 4097}, "--clip 4097"),
        ({"clip": 2.5}, "--clip 2.5"),
        ({"stride": -1}, "--stride -1"),
        ({"stride": 3}, "--stride 3 is longer than --clip 2; frames would be lost between"),
        ({"clip": 1e6}, "--clip 1e"),
    ],
)
def test_cuts_that_cannot_be(cut, told):
    with pytest.raises(SpecError, match=told):
        scan.Cut(**cut)


def test_clips_of_so_many_frames():
    cut = scan.Cut(2, 3, 1)
    assert (cut.n, cut.s) == (6, 2) and [cut.count(f) for f in (1, 6, 7, 8, 9)] == [1, 1, 2, 2, 3]
    assert cut.recipe() == {"fps": 2.0, "clip": 3.0, "stride": 1.0, "frames": 6, "pool": "mean"}
    assert asdict(scan.Cut()) == {"fps": 1.0, "clip": 2.0, "stride": 2.0} and scan.Cut(1000, 4.096, 0.001).n == 4096


def test_a_clip_is_the_mean_of_its_frames():
    scanner = scan.Scanner(SimpleNamespace(dims=2), scan.Cut(1, 2, 1))
    frames = np.array([[1, 0], [0, 1], [0, 1]], np.float32)
    row = Video("v", 0, 1, 1, "d", 2.5, 1.0, 2)
    entry = scanner.join(row, frames, {1: b"x"}.get)
    assert entry.vectors.tolist() == [pytest.approx([0.5**0.5, 0.5**0.5]), pytest.approx([0, 1])]
    assert entry.start.tolist() == [0, 1] and entry.end.tolist() == [2, 2.5] and list(entry.thumbs) == [None, b"x"]
    none = scan.no_clips(row, 3)
    assert none.vectors.shape == (0, 3) and len(none.start) == 0 and scanner.thumbs


# files and rows


def test_what_is_to_be_looked_at():
    def row(**more):
        return Video(
            **{
                "video": "v",
                "number": 0,
                "size": 5,
                "mtime_ns": 7,
                "digest": "d",
                "duration": 1.0,
                "fps": 1.0,
                "clips": 1,
                "problem": None,
            }
            | more
        )

    file = walk.VideoFile(Path("/v"), 5, 7)
    todo = lambda there, retry=False: walk.compare({"v": there} if there else {}, {"v": file}, retry)[0]  # noqa: E731
    assert todo(None) == [scan.Job("v", Path("/v"))] and todo(row()) == []
    assert todo(row(size=6)) == [scan.Job("v", Path("/v"))]
    assert (
        todo(row(mtime_ns=8)) == [scan.Job("v", Path("/v"), "d")] and todo(row(mtime_ns=8, digest=""))[0].known is None
    )
    assert todo(row(problem="bad")) == [] and todo(row(problem="bad"), True) == [scan.Job("v", Path("/v"))]
    assert walk.compare({"w": row()}, {"v": file}, False)[1] == ["w"]


def test_videos_below_a_folder(tmp_path):
    for name in ("b.mp4", "a/c.MKV", ".hidden.mp4", ".cache/d.mp4", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * len(name))
    (tmp_path / "out.mp4").symlink_to("/etc/hostname")
    (tmp_path / "in.mp4").symlink_to(tmp_path / "b.mp4")
    warned: list[str] = []
    root = walk.find_root(tmp_path)
    found = walk.walk(root, warned.append)
    assert list(found) == ["a/c.MKV", "b.mp4", "in.mp4"] and found["b.mp4"].size == 5
    assert warned == ["1 skipped: 'out.mp4' (a link out of the folder)"]
    with pytest.raises(InputError, match="no such folder; name the folder of the videos"):
        walk.find_root(tmp_path / "none")
    with pytest.raises(InputError, match="is no folder"):
        walk.find_root(tmp_path / "b.mp4")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="a folder without videos; their names end in"):
        walk.walk(tmp_path / "empty")


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ({"id": 1, "text": "dog"}, (1, "dog", None)),
        ({"qid": "a", "query": "dog", "relevant_windows": [[1, 2]]}, ("a", "dog", True)),
        ({"desc_id": 2, "desc": "dog", "ts": []}, (2, "dog", False)),
        ({"desc_id": 2, "fig_desc": "dog", "time": [1, 2], "present": False}, (2, "dog", False)),
        ({"id": 1, "text": "dog", "windows": None}, (1, "dog", None)),
        ([1], "a list, not an object"),
        ({"text": "dog"}, "no id"),
        ({"id": True, "text": "dog"}, "no id"),
        ({"id": 1.5, "text": "dog"}, "no id"),
        ({"id": 1, "text": 3}, "no text"),
        ({"id": 1, "text": "dog", "present": 1}, "present is 1; it is true or false"),
    ],
)
def test_lines_of_queries(line, read):
    if isinstance(read, str):
        with pytest.raises(InputError, match=read) as error:
            queries.read_line(line, Path("q.jsonl"), 7)
        assert "line 7" in str(error.value)
    else:
        found = queries.read_line(line, Path("q.jsonl"), 7)
        assert (found.id, found.text, found.present) == read


def test_files_of_queries(tmp_path):
    path = tmp_path / "q.jsonl"
    write = lambda *lines: path.write_text("".join(json.dumps(line) + "\n" for line in lines))  # noqa: E731
    write({"id": 1, "text": "dog"}, {"id": 2, "text": "a.jpg"})
    assert [q.id for q in queries.read_queries_file(path)] == [1, 2]
    with pytest.raises(InputError, match="names a file, and none is read here"):
        queries.read_queries_file(path, pictures=False)
    write({"id": 1, "text": "dog"}, {"id": 1, "text": "cat"})
    with pytest.raises(InputError, match="stands twice; give each its own id"):
        queries.read_queries_file(path)
    write()
    with pytest.raises(InputError, match="no query in it"):
        queries.read_queries_file(path)


# manifests


def test_a_manifest_is_read_as_it_was_written(tmp_path):
    one = Manifest({"dims": 3, "embedder": "x"}, "/films")
    manifest.write_file(tmp_path, one)
    document = json.loads((tmp_path / "manifest.json").read_text())
    assert document == {
        **{"fabula-store": 1, "recipe": {"dims": 3, "embedder": "x"}, "root": "/films", "weights": None, "next": None},
        "tables": {"clips": "clips", "videos": "videos"},
    }
    assert manifest.read_file(tmp_path) == one and one.dims == 3 and one.begun() is None
    coming = {"recipe": {"dims": 5}, "weights": "w", "tables": {"clips": "clips_2", "videos": "videos_2"}}
    begun = replace(one, next=coming).begun()
    assert (begun.dims, begun.weights, begun.root, begun.next) == (5, "w", "/films", None)
    assert (generation(one), generation(begun)) == (1, 2)
    for change in (
        {"recipe": {"dims": 0}},
        {"recipe": {"dims": 65_537}},
        {"recipe": {"dims": "3"}},
        {"recipe": {}},
        {"root": 3},
        {"weights": 3},
        {"tables": {"clips": "clips"}},
        {"next": {"recipe": {"dims": 5}}},
        {"next": coming | {"recipe": {"dims": 0}}},
        {"more": 1},
    ):
        with pytest.raises(InputError, match="its manifest is damaged"):
            manifest.parse(document | change, tmp_path)
    assert manifest.parse(document | {"recipe": {"dims": 65_536}, "next": coming}, tmp_path).dims == 65_536
    with pytest.raises(InputError, match="a store of version 2; this fabula reads version 1"):
        manifest.parse(document | {"fabula-store": 2}, tmp_path)
    for other in ([], {}):
        with pytest.raises(InputError, match="is no store of clips"):
            manifest.parse(other, tmp_path)
    with pytest.raises(InputError, match="no such store; fabula index VIDEOS --store DIR makes one"):
        manifest.read_file(tmp_path / "none")
    (tmp_path / "manifest.json").write_text(" " * (1 << 20) + "{}")
    with pytest.raises(InputError, match="is too long for a manifest"):
        manifest.read_file(tmp_path)


def test_values_of_a_recipe():
    assert (
        manifest.brief("a" * 64) == "aaaaaaaa…"
        and manifest.brief("a" * 63).startswith("'aaa")
        and manifest.brief(3) == "3"
    )
    assert manifest.flatten({"a": 1, "clips": {"fps": 2, "n": 3}}) == {"a": 1, "clips fps": 2, "clips n": 3}
    with pytest.raises(
        InputError, match=r"a store of x with another recipe: a \(1 there, 2 asked\), b \(None there, 3 asked\)"
    ):
        manifest.check_recipe({"embedder": "x", "a": 1}, {"embedder": "x", "a": 2, "b": 3}, "s")


def test_the_cut_of_a_store_and_what_is_said_otherwise():
    there = Manifest({"dims": 3, "clips": {"fps": 2.0, "clip": 4.0, "stride": 2.0}}, "/")
    even = Manifest({"dims": 3, "clips": {"fps": 2.0, "clip": 4.0, "stride": 4.0}}, "/")
    cut = lambda there, **said: choose_cut(IndexOptions(store="s", **said), there)  # noqa: E731
    assert cut(None) == scan.Cut() and cut(there) == scan.Cut(2, 4, 2) and cut(there, clip=6) == scan.Cut(2, 6, 2)
    assert (
        cut(even, clip=6) == scan.Cut(2, 6, 6)
        and cut(even, clip=6, stride=3) == scan.Cut(2, 6, 3)
        and cut(there, fps=1) == scan.Cut(1, 4, 2)
    )
    assert cut(None, clip=4) == scan.Cut(1, 4, 4)


# options


def test_options_of_indexing_and_searching():
    index = asdict(IndexOptions(store=Path("s")))
    assert index == {
        **{"store": "s", "with_": None, "fps": None, "clip": None, "stride": None, "weights": None, "device": "auto"},
        **{"processes": None, "engine": "local", "address": None, "reembed": False, "moved": False, "skip_bad": False},
        **{"retry": False, "no_thumbs": False},
    }
    search = SearchOptions(store="s", video="a.mp4", person="Anna")
    assert (search.video, search.person, search.limit, search.length) == (("a.mp4",), ("Anna",), 20, None)
    assert SearchOptions(store="s", min_length=2).length == (2, None) and SearchOptions(
        store="s", max_length=3
    ).length == (None, 3)
    assert not search.other_features and search.device == "auto" and search.min_probability is None
    bounds = {o.name: (o.about.at_least, o.about.at_most) for o in (*IndexOptions.options(), *SearchOptions.options())}
    assert {k: v for k, v in bounds.items() if v != (None, None)} == {"processes": (1, None), "limit": (1, 1000)}


# a searcher


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    videos = {"a.mp4": ["dog", "dog dog cat", "sea", "sea"], "b.mp4": ["cat", "car", "dog sea", "tree"]}
    return make_store(tmp_path_factory.mktemp("library") / "store", videos)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"limit": 0}, "a limit of 0; between 1 and 1,000 moments can be asked for"),
        ({"limit": 1001}, "a limit of 1001"),
        ({"length": (-1.0, None)}, "a length of -1 s; it is a number of seconds"),
        ({"length": (None, float("inf"))}, "a length of inf s"),
        ({"length": (3.0, 2.0)}, "a length from 3 to 2 s; the first is the smaller"),
        ({"min_probability": 1.5}, "a probability of 1.5; it lies between 0 and 1"),
        ({"min_probability": 0.5}, "the store is not calibrated, so nothing has a probability"),
        ({"people": ["Anna"]}, "people are searched for in a store of people; name one: --people people.npz"),
    ],
)
def test_what_cannot_be_asked(store, asked, told):
    with pytest.raises(SpecError, match=told):
        Searcher(store, Axes()).find("dog", **asked)


def test_an_answer_says_how_it_was_come_by(store):
    found = Searcher(store, Axes()).find("dog", 1000, length=(2.0, 2.0))
    assert found.stage == "exact" and found.why == "8 clips: all are compared" and found.probability is None
    assert found.seconds > 0 and found.notes == () and not found.nothing
    part = Searcher(store, Axes()).find("dog", videos=["b"])
    assert part.why == "4 clips of 1 videos: all are compared" and {m.video for m in part.moments} == {"b.mp4"}
    weak = Axes()
    weak.weak = "it sees words alone"
    assert Searcher(store, weak).find("dog").notes == ("axes: it sees words alone",)
    assert Searcher(store, Axes()).find("whale").notes == ("axes knows nothing of 'whale'",)
    assert Searcher(store, Axes()).find("whale").nothing


def test_probabilities(store):
    sure = Calibration("sigmoid", "score", (4.0, -2.0))
    searcher = Searcher(store, Axes(), calibration=sure)
    found = searcher.find("dog", 3)
    assert (
        found.probability == found.moments[0].probability == pytest.approx(sure(found.moments[0].score, 0))
        and found.notes == ()
    )
    edge = found.moments[1].probability
    assert len(searcher.find("dog", 3, min_probability=edge).moments) == 2
    assert searcher.find("whale").probability == 0.0
    both = searcher.find("dog + cat")
    assert both.notes == ("calibrated on queries of one text: the probability of this one is a guess",)
    lift = Searcher(store, Axes(), calibration=Calibration("sigmoid", "lift", (1.0, 0.0)))
    steps = lift.find("dog then sea", 1)
    assert steps.probability == pytest.approx(min(1 / (1 + np.exp(-z)) for z in lift_of(lift, "dog then sea")))
    score, z = lift.best_score(parse("dog"))
    assert score == found.moments[0].score and lift.find("dog", 1).probability == pytest.approx(1 / (1 + np.exp(-z)))
    assert lift.best_score(parse("whale")) is None


def lift_of(searcher: Searcher, text: str) -> list[float]:
    query = parse(text)
    place = searcher.place([], [])
    aims = [searcher.aim(step, place.stage, []) for step in query.steps]
    best = spans.best_spans(list(searcher.spans(query, aims, place, 1, None)), 1, None)
    return list(best[0].steps)


def test_a_step_of_several_parts_is_weighed_by_their_spreads(store):
    searcher = Searcher(store, Axes())
    sample = searcher.stage()[0].sample(4096)
    dog, cat = Axes().texts(["dog", "cat"])
    aim = searcher.aim(parse("2:dog − cat").steps[0], searcher.stage()[0], [])
    q = 2 * dog / (sample @ dog).std() - cat / (sample @ cat).std()
    assert aim.q == pytest.approx(q / np.linalg.norm(q), abs=1e-6)
    assert aim.mean == pytest.approx(float((sample @ aim.q).mean())) and aim.spread == pytest.approx(
        float((sample @ aim.q).std())
    )
    assert aim.lift(aim.mean + aim.spread) == pytest.approx(1.0)
    assert searcher.aim(parse("whale − dog").steps[0], searcher.stage()[0], []) is None
    assert find.spread_of(np.zeros(3, np.float32)) == 1.0 == find.spread_of(np.zeros(0, np.float32))
    assert find.spread_of(np.array([0.0, 2.0], np.float32)) == 1.0 and find.spread_of(np.array([0.0, 4.0])) == 2.0


def test_vectors_are_kept(store, monkeypatch):
    asked = []
    embed = Axes()
    real = embed.texts
    embed.texts = lambda texts: asked.extend(texts) or real(texts)  # type: ignore[method-assign]
    searcher = Searcher(store, embed)
    for text in ("dog", "dog", "cat", "dog"):
        searcher.vector(Part(text))
    assert asked == ["dog", "cat"]
    monkeypatch.setattr(find, "KEPT", 2)
    searcher.vector(Part("sea"))
    assert list(searcher.vectors) == [Part("sea")]


def test_pictures_of_a_query(tmp_path, monkeypatch):
    path = tmp_path / "a.jpg"
    path.write_bytes(b"dog")
    assert (
        find.read_picture(Part(str(path), picture=True)) == b"dog" and find.read_picture(Part("x", data=b"y")) == b"y"
    )
    with pytest.raises(InputError, match="no such picture; check the path"):
        find.read_picture(Part(str(tmp_path / "b.jpg")))
    monkeypatch.setattr("fabula.library.pictures.LARGEST", 3)
    assert find.read_picture(Part(str(path))) == b"dog"
    monkeypatch.setattr("fabula.library.pictures.LARGEST", 2)
    with pytest.raises(InputError, match="a picture of 3 bytes; make it smaller"):
        find.read_picture(Part(str(path)))


# the terminal and the sheet


@pytest.mark.parametrize(
    ("environment", "way"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm", "TERM_PROGRAM": "Ghostty"}, "kitty"),
        ({"TERM": "xterm", "TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "xterm", "TERM_PROGRAM": "WezTerm"}, "iterm"),
        ({"TERM": "xterm", "LC_TERMINAL": "iTerm2"}, "iterm"),
        ({"TERM": "foot-extra"}, "sixel"),
        ({"TERM": "xterm"}, None),
        ({"TERM": "dumb", "KITTY_WINDOW_ID": "1"}, None),
        ({"KITTY_WINDOW_ID": "1"}, None),
        ({"TERM": "xterm-kitty", "TMUX": "x"}, None),
        ({"TERM": "xterm-kitty", "STY": "x"}, None),
    ],
)
def test_how_a_terminal_shows_pictures(environment, way):
    assert terminal.way_of(environment, True) == way and terminal.way_of(environment, False) is None


def test_pictures_for_terminals():
    encoded = base64.b64encode(b"jpeg").decode()
    assert (
        terminal.show(b"jpeg", "iterm") == f"\033]1337;File=inline=1;size=4;height=6;preserveAspectRatio=1:{encoded}\a"
    )
    chunks = list(terminal.kitty(np.zeros((40, 30, 3), np.uint8), 5))
    assert [len(c.partition(";")[2]) - 2 for c in chunks] == [4096, 704] and "m=0" in chunks[1] and "m=1" in chunks[0]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0:00.0"), (59.96, "1:00.0"), (61.25, "1:01.2"), (3599.95, "1:00:00.0"), (3661.5, "1:01:01.5")],
)
def test_clock(seconds, shown):
    assert sheet.clock(seconds) == shown


def test_one_line_on_an_answer():
    assert sheet.describe(FOUND) == "2 moments, probability 62 %, 12 ms" and sheet.percent(None) == ""
    assert sheet.describe(SearchResult(parse("x"), ())) == "nothing found"
    assert sheet.describe(SearchResult(parse("x"), (), 0.125)) == "nothing found, probability 12 %"
    assert [cell.plain for cell in sheet.table(FOUND).rows[0]] == ["1. a<b.mp4", "0:00.0", "1:01:01.2", "0.512", "25 %"]


# people


def test_videos_of_people():
    videos = ["x/flag.mp4", "y/sea.mp4", "y/flag.avi"]
    assert People.match("y/sea.mp4", "", videos) == "y/sea.mp4" and People.match("?", "sea.mp4", videos) == "y/sea.mp4"
    assert People.match("sea", "", videos) == "y/sea.mp4" and People.match("none", "", videos) is None
    with pytest.raises(InputError, match=r"2 videos of the store are called so, as x/flag.mp4 and y/flag.avi"):
        People.match("flag", "", videos)


def test_who_is_seen_when():
    cast = make_cast("Anna")
    people = People(cast, ["deep/flag.mp4", "other.mp4"])
    assert people.of == {"deep/flag.mp4": 0} and people.number(" anna ") == 0 and people.number("1") == 1
    with pytest.raises(InputError, match="no person is called 'Bob' in the store of people"):
        people.number("Bob")
    (times,) = people.times(["Anna"])["deep/flag.mp4"]
    assert times.tolist() == [0.0, 0.5, 1.0, 5.0, 5.5]
    assert seen_in(track(4, 2.0), [times]).tolist() == [True, False, True, False]
    assert seen_in(track(4, 2.0), people.times(["Anna", "1"])["deep/flag.mp4"]).tolist() == [False, False, False, False]
    assert seen_in(track(4, 2.0), []).tolist() == [True] * 4
    assert catalogue.people_of(cast) == [{"name": "Anna", "faces": 5}, {"name": cast.name(1), "faces": 4}]
    assert catalogue.people_of(None) == [] == catalogue.seen_in(None, "flag.mp4") == catalogue.seen_in(cast, "sea.mp4")
    assert catalogue.seen_in(cast, "flag.mp4") == [
        {"name": "Anna", "spans": [[0.0, 1.5], [5.0, 6.0]]},
        {"name": cast.name(1), "spans": [[6.0, 8.0]]},
    ]


# pages


def test_keys_and_names(store):
    key = catalogue.make_key("a.mp4")
    now = catalogue.Catalogue(store)
    assert (
        len(key) == 20
        and now.find(key).video == "a.mp4"
        and now.find(key.upper()) is None
        and now.find("0" * 20) is None
    )
    assert (now.clips, now.seconds, now.problems, len(now.videos)) == (8, 16.0, 0, 2)
    assert now.describe(now.by_name["a.mp4"]) == {
        **{"key": key, "name": "a.mp4", "duration": 8.0, "clips": 4, "problem": None, "kind": "mp4", "plays": True}
    }
    assert [row["name"] for row in now.search("B", 9)] == ["b.mp4"] and len(now.search("", 1)) == 1
    first = now.by_name["a.mp4"]
    assert now.cover(first) == (first.number << catalogue.SHIFT) + 2 and now.cover(replace(first, clips=0)) is None
    assert [row[1:] for row in now.strip(first)] == [[0.0, 2.0], [2.0, 4.0], [4.0, 6.0], [6.0, 8.0]]
    assert now.path(first) is None


def test_a_strip_is_spread_over_a_long_video(store, monkeypatch):
    monkeypatch.setattr(catalogue, "STRIP", 3)
    now = catalogue.Catalogue(store)
    assert [row[1] for row in now.strip(now.by_name["a.mp4"])] == [0.0, 4.0, 6.0]
    monkeypatch.setattr(catalogue, "IN_MEMORY", 1)
    assert [row[1] for row in now.strip(now.by_name["b.mp4"])] == [0.0, 4.0, 6.0]


def test_pictures_that_were_asked_for_last_are_at_hand(store, monkeypatch):
    now, asked = catalogue.Catalogue(store), []
    monkeypatch.setattr(now, "read_thumb", lambda clip: asked.append(clip) or b"x")
    monkeypatch.setattr(catalogue, "THUMBS", 2)
    for clip in (1, 2, 1, 3, 1, 2):
        now.thumb(clip)
    assert asked == [1, 2, 3, 2] and list(now.thumbs) == [1, 2]


def test_what_a_page_is_told():
    moment = Moment("v", 1.0, 2.0, float("-inf"), 0.5, tuple(range(20)))
    assert desk.tell(moment) == {
        "video": "v",
        "start": 1.0,
        "end": 2.0,
        "clips": list(range(8)),
        "score": 0.0,
        "probability": 0.5,
    }
    assert [desk.name_of(w) for w in ("/a/b/", "s3://x/store", "C:\\films\\s", "/", "..")] == [
        "b",
        "store",
        "s",
        "store",
        "store",
    ]


# locks


def test_claims(tmp_path):
    with Claims(tmp_path) as ours:
        assert ours.take(3) and ours.take(3) and ours.ours == {3}
        ours.give_back(3)
        ours.give_back(4)
        assert ours.ours == set()
    assert ours.file is None
    with Claims(None) as nobody:
        assert nobody.take(1) and nobody.ours == set()
    with writer_lock(None):
        pass
    with writer_lock(tmp_path):
        assert (tmp_path / "writer.lock").is_file()


def test_units():
    assert unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [pytest.approx([0.6, 0.8]), [0.0, 0.0]]
    assert Hits(np.zeros(0, int), [], np.zeros(0)).video == []


if __name__ == "__main__":
    write_stored(FOLDER, TEXTS)
