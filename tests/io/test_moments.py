"""Readers of moments: each format, and what each says of a fault."""

import contextlib
import json

import numpy as np
import pytest

from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.core.notes import Notes
from fabula.data.moments import Moment, Ranking, Rankings, VideoNumbers
from fabula.io import moments
from tests.moment_toys import VIDEOS, lines, tvr_predictions, tvr_queries


def queries(path, **options):
    return moments.read_queries([path], Notes(), **options)


def answers(path, numbers=None, **options):
    """(list, ranking) pairs, one by one."""
    stream, _ = moments.read_rankings(path, VideoNumbers() if numbers is None else numbers, Notes(), **options)
    return [(name, one) for name, some in stream for one in (some if isinstance(some, Rankings) else [some])]


def test_tvr_queries(tmp_path):
    found = queries(tvr_queries(tmp_path / "gt.jsonl", {5: ("a", [0, 2.5]), "x": ("b", [[0, 5], [5, 10]])}))
    assert found[5].windows == ((0.0, 2.5),)
    assert found["x"].windows == ((0.0, 5.0), (5.0, 10.0))
    assert (found[5].video, found[5].duration, found[5].text) == ("a", 90.0, "x")


def test_a_test_set_without_answers(tmp_path):
    with pytest.raises(InputError, match=r"gt.jsonl: query 7: line 1: no 'vid_name'; a test set without its answers"):
        queries(lines(tmp_path / "gt.jsonl", [{"desc_id": 7, "desc": "x"}]))


def test_tvr_predictions(tmp_path, kernels):
    rows = [[1, 0.5, 2, 0.9], [0, 3, 4, 0.8]]
    path = tvr_predictions(tmp_path / "p.json", VCMR={5: rows, 6: []}, VR={5: [[0, 0, 0, 1]]})
    numbers = VideoNumbers({"garden": 40})
    (a, five), (b, six), (c, vr) = answers(path, numbers)
    assert (a, b, c) == ("VCMR", "VCMR", "VR")
    assert five.spans.tolist() == [[0.5, 2], [3, 4]]
    assert five.scores.tolist() == [0.9, 0.8]
    assert five.videos.tolist() == [40, numbers["kitchen"]]
    assert (six.id, len(six), len(vr)) == (6, 0, 1)


def test_video2idx_may_come_last_and_numbers_may_have_gaps(tmp_path, kernels):
    path = tmp_path / "p.json"
    entry = {"predictions": [[900, 0, 2]], "desc_id": 1}
    path.write_text(json.dumps({"VCMR": [entry], "video2idx": {"a": 900, "b": -3, "c": 5}}))
    ((_, ranking),) = answers(path, numbers := VideoNumbers())
    assert ranking.videos.tolist() == [numbers["a"]]
    assert ranking.scores is None


def test_videos_by_name(tmp_path, kernels):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"VCMR": [{"desc_id": 1, "predictions": [["a", 0, 2, 0.5], ["b", 1, 2, 0.4]]}]}))
    ((_, ranking),) = answers(path, numbers := VideoNumbers())
    assert ranking.videos.tolist() == [numbers["a"], numbers["b"]]


def test_tvr_lines(tmp_path, kernels):
    entries = [
        {"video2idx": {"a": 1}},
        {"desc_id": 5, "predictions": [[1, 0, 2, 0.9]]},
        {"desc_id": 5, "predictions": [[1, 0, 3]], "task": "SVMR"},
        {"desc_id": 6, "predictions": [["b", 0, 3]]},
    ]
    found = answers(lines(tmp_path / "p.jsonl", entries))
    assert sorted((name, r.id, r.spans.tolist()) for name, r in found) == [
        ("SVMR", 5, [[0, 3]]),
        ("VCMR", 5, [[0, 2]]),
        ("VCMR", 6, [[0, 3]]),
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[9, 0, 1, 0.5]], r"query 5: predictions\[0\]\[0\]: no video has the number 9; video2idx numbers 2 videos"),
        ([[0, 0, 1, 1], [0.5, 0, 1, 1]], r"query 5: predictions\[1\]\[0\]: no video has the number 0.5"),
        ([[0, 0]], r"query 5: predictions\[0\]: a row of 2; a row is \[video, start, end, score\]"),
        ([[0, 0, "7"]], r"query 5: predictions\[0\]\[2\]: expected a number, saw the string '7'"),
        ([[0, 0, True]], r"query 5: predictions\[0\]\[2\]: expected a number, saw true"),
        ([[0, 0, float("nan")]], r"query 5: predictions\[0\]\[2\]: expected a finite number, saw nan"),
        ([0, 0, 1], r"query 5: predictions\[0\]: expected a list, saw the number 0"),
        ("none", r"query 5: predictions: expected a list, saw the string 'none'"),
    ],
)
def test_what_is_wrong_with_a_row(tmp_path, rows, message, kernels):
    with pytest.raises(InputError, match=message):
        answers(tvr_predictions(tmp_path / "p.json", VCMR={5: rows}))


def test_rows_of_different_lengths_lose_what_is_beyond_the_shortest(tmp_path, kernels):
    ((_, ranking),) = answers(tvr_predictions(tmp_path / "p.json", VCMR={5: [[0, 1, 2, 0.5], [1, 3, 4]]}))
    assert (ranking.spans.tolist(), ranking.scores) == ([[1, 2], [3, 4]], None)


def test_documents_that_are_none(tmp_path):
    path = tmp_path / "p.json"
    for text, message in [
        ('{"VCMR": [{"desc_id": 1, "predictions": [[0, 1, 2]]}]}', "the file has no 'video2idx'"),
        ('{"video2idx": {"a": 0, "b": 0}, "VCMR": []}', "the number 0 is given to two videos"),
        ('{"video2idx": {"a": "0"}, "VCMR": []}', "expected a whole number, saw the string '0'"),
        ('{"video2idx": {"a": 0}}', "no list of predictions"),
        ('{"VCMR": [{"predictions": []}]}', "the key 'desc_id' is missing"),
        ('{"VCMR": [{"desc_id": 1}]}', "the key 'predictions' is missing"),
        ('{"VCMR": [[0, 1, 2]]}', "expected an object, saw a list of 3"),
        ('{"VCMR": [\n{"desc_id": 1, "predictions": [[0, 1, 2', "line 2 column .*the JSON ends too early"),
        ('{"VCMR": [], "VCMR": []}', "the key 'VCMR' stands twice"),
        ("{}", "no known format of predictions"),
    ]:
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            answers(path)


def test_qvhighlights(tmp_path):
    entry = {
        "qid": 1,
        "query": "x",
        "vid": "a",
        "duration": 10,
        "relevant_windows": [[0, 4]],
        "relevant_clip_ids": [0, 1],
        "saliency_scores": [[1, 2, 3], [4, 4, 4]],
    }
    query = queries(lines(tmp_path / "gt.jsonl", [entry]))[1]
    assert query.saliency.clips == (0, 1)
    assert query.saliency.marks == ((1, 2, 3), (4, 4, 4))
    for change, message in [
        ({"relevant_clip_ids": [0]}, "2 rows for 1 relevant clips"),
        ({"relevant_clip_ids": [0, -1]}, "expected a clip's number, saw -1"),
        ({"saliency_scores": [[1, 2, 3], [4]]}, "1 marks where the first clip has 3"),
        ({"relevant_windows": []}, "no window; a query without an answer"),
        ({"relevant_windows": [[4, 0]]}, "a reversed window"),
    ]:
        with pytest.raises(InputError, match=message):
            queries(lines(tmp_path / "gt.jsonl", [entry | change]))


def test_qvhighlights_predictions(tmp_path):
    entries = [
        {"qid": 1, "pred_relevant_windows": [[0, 2, 0.5]], "pred_saliency_scores": [1, 2.5]},
        {"qid": 2, "pred_relevant_windows": []},
    ]
    (_, one), (_, two) = answers(lines(tmp_path / "p.jsonl", entries))
    assert (one.spans.tolist(), one.scores.tolist(), one.saliency.tolist()) == ([[0, 2]], [0.5], [1, 2.5])
    assert (len(two), two.saliency) == (0, None)
    with pytest.raises(InputError, match=r"query 1: pred_saliency_scores.*expected a number, saw null"):
        answers(lines(tmp_path / "p.jsonl", [{"qid": 1, "pred_saliency_scores": [None]}]))


def test_charades(tmp_path):
    path = tmp_path / "sta.txt"
    path.write_text("AB12C 0.5 4.0##a person sits.\n\nZZZZZ 1 2##x ## y\n")
    found = queries(path)
    assert [(q.id, q.video, q.windows, q.text) for q in found.values()] == [
        (0, "AB12C", ((0.5, 4.0),), "a person sits."),
        (1, "ZZZZZ", ((1.0, 2.0),), "x ## y"),
    ]
    path.write_text("AB12C 0.5 4.0##fine\nAB12C 0.5 4.0 no marks\n")
    with pytest.raises(InputError, match=r"line 2: saw 'AB12C 0.5 4.0 no marks'; a line is `video start"):
        queries(path)


def test_reversed_references_are_refused_or_repaired(tmp_path):
    path = tmp_path / "sta.txt"
    path.write_text("AB12C 4.0 0.5##a person sits.\n")
    with pytest.raises(InputError, match=r"query 0: window 0: a reversed window \[4, 0.5\]; mend the file, or say how"):
        queries(path)
    notes = Notes()
    assert moments.read_queries([path], notes, repair=["swap"])[0].windows == ((0.5, 4.0),)
    assert "1 reference windows were repaired (swap" in notes.lines()[0]
    assert queries(path, judged=False)[0].windows == ((4.0, 0.5),)
    with pytest.raises(InputError, match="no window is left"):
        queries(path, repair=["drop"])
    with pytest.raises(SpecError, match="no repair is called 'guess'"):
        queries(path, repair=["guess"])


def test_didemo_pieces_are_5_seconds(tmp_path):
    path = tmp_path / "val.json"
    entry = {"annotation_id": 3, "video": "a.mov", "times": [[1, 2], [0, 0]], "description": "x", "num_segments": 6}
    path.write_text(json.dumps([entry]))
    assert queries(path)[3].windows == ((5.0, 15.0), (0.0, 5.0))
    path.write_text(json.dumps([entry | {"times": [[2, 1]]}]))
    with pytest.raises(InputError, match=r"query 3: times\[0\]: expected the numbers of pieces, saw \[2, 1\]"):
        queries(path)


def test_verified_fig(tmp_path):
    entry = {"desc_id": 3, "video": "a", "duration": 9.5, "time": [1, 10], "cog_desc": "x", "fig_desc": "fine x"}
    notes = Notes()
    query = moments.read_queries([lines(tmp_path / "fig.jsonl", [entry])], notes)[3]
    assert (query.windows, query.text) == (((1.0, 10.0),), "fine x")
    assert notes.lines() == ["1 reference windows end after their video's duration and are kept as they are: 3"]


def test_timechat(tmp_path):
    gt, pred = tmp_path / "gt.json", tmp_path / "p.json"
    gt.write_text(json.dumps({"annotations": [{"id": 0, "image_id": "a.mp4", "caption": "x", "timestamp": [1, 2]}]}))
    pred.write_text(json.dumps({"0": {"timestamp": [[1, 2], [3, 4]], "query": "x", "vid": "a.mp4"}}))
    assert queries(gt)[0].windows == ((1.0, 2.0),)
    ((_, ranking),) = answers(pred)
    assert (ranking.id, ranking.spans.tolist()) == ("0", [[1, 2], [3, 4]])


def test_our_own_lines_go_round(tmp_path, kernels):
    numbers = VideoNumbers()
    rankings = [
        Ranking.of(1, [Moment(0, 1.5, "a", 0.25), Moment(2, 3, "b", 0.125)], numbers),
        Ranking.of("two", [Moment(0, 1)], saliency=[0.5, 1]),
    ]
    moments.write_rankings(rankings, numbers, tmp_path / "p.jsonl")
    (_, one), (_, two) = answers(tmp_path / "p.jsonl", again := VideoNumbers())
    assert (one.id, one.spans.tolist(), one.scores.tolist()) == (1, [[0, 1.5], [2, 3]], [0.25, 0.125])
    assert one.videos.tolist() == [again["a"], again["b"]]
    assert (two.id, two.videos, two.scores, two.saliency.tolist()) == ("two", None, None, [0.5, 1])
    with pytest.raises(InputError, match="1 videos for 2 windows"):
        answers(lines(tmp_path / "p.jsonl", [{"id": 1, "windows": [[0, 1], [1, 2]], "videos": ["a"]}]))


def test_our_own_references(tmp_path):
    entry = {"id": 1, "video": "a", "windows": [[0, 4]], "duration": 8, "clips": [1], "marks": [[3, 4]]}
    query = queries(lines(tmp_path / "gt.jsonl", [entry]))[1]
    assert (query.windows, query.saliency.clips, query.saliency.marks) == (((0.0, 4.0),), (1,), ((3, 4),))


def test_ids_that_stand_twice(tmp_path):
    path = lines(tmp_path / "gt.jsonl", [{"id": 1, "video": "a", "windows": [[0, 1]]}] * 2)
    with pytest.raises(InputError, match="query 1: this query id stands twice"):
        queries(path)


def test_formats_by_name(tmp_path):
    path = lines(tmp_path / "gt.jsonl", [{"id": 1, "video": "a", "windows": [[0, 1]]}])
    assert len(queries(path, format="moment_lines")) == 1
    with pytest.raises(SpecError, match="no format of moments is called 'moment-line'; did you mean 'moment-lines'"):
        queries(path, format="moment-line")
    with pytest.raises(SpecError, match="holds predictions, not references"):
        queries(path, format="tvr-lines")
    with pytest.raises(InputError, match="the key 'desc_id' is missing"):
        queries(path, format="tvr")


def test_a_first_line_longer_than_what_is_looked_at(tmp_path):
    entry = {"id": 1, "windows": [[0.0, 1.0, 0.5]] * 20_000}
    assert len(answers(lines(tmp_path / "p.jsonl", [entry]))[0][1]) == 20_000


@pytest.mark.parametrize("seed", range(60))
def test_broken_files_raise_nothing_but_our_errors(tmp_path, seed):
    rng = np.random.default_rng(seed)
    good = tvr_predictions(tmp_path / "p.json", VCMR={5: [[1, 0.5, 2, 0.9]], 6: []}).read_bytes()
    broken = bytearray(good)
    for _ in range(int(rng.integers(1, 4))):
        broken[int(rng.integers(len(broken)))] = int(rng.integers(256))
    (tmp_path / "p.json").write_bytes(bytes(broken[: int(rng.integers(1, len(broken) + 1))]))
    with contextlib.suppress(FabulaError):
        answers(tmp_path / "p.json")


def test_an_empty_file_is_called_empty(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text("\n")
    with pytest.raises(InputError, match="the file is empty; it should hold predictions"):
        moments.read_rankings(path, VideoNumbers(), Notes())


def test_lists_that_there_are_not_are_named_where_they_stand(tmp_path, kernels):
    rows = {"predictions": [[0, 0, 1, 1]]}
    entries = [{"desc_id": 1, **rows}, {"desc_id": 2, "task": "XYZ", **rows}]
    with pytest.raises(InputError, match=r"a list called 'XYZ'") as caught:
        answers(lines(tmp_path / "p.jsonl", [{"video2idx": VIDEOS}, *entries]))
    assert "2" in str(caught.value) and "task" in str(caught.value)
