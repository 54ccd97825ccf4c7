"""One pass over a stream of rankings: blocks, lists, ids, and what does not fit."""

import pytest

from fabula.core.errors import InputError
from fabula.core.notes import Notes
from fabula.data.moments import Moment, Query, Ranking, VideoNumbers
from fabula.evaluate import rankings
from fabula.evaluate.rankings import Reading, moment_rows
from fabula.metrics.moments import grounding, mr, svmr, vcmr, vr


def queries(n: int) -> dict:
    return {i: Query(i, f"v{i % 3}", ((0.0, 10.0),)) for i in range(n)}


def stream(n: int, numbers: VideoNumbers):
    for i in range(n):
        yield "", Ranking.of(i, [Moment(0, i % 11, f"v{i % 4 % 3}"), Moment(0, 10, "v1")], numbers)


@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_the_size_of_blocks_does_not_matter(size, monkeypatch):
    metrics = [vcmr.Metric(), svmr.Metric(), vr.Metric()]
    numbers = VideoNumbers()
    whole = moment_rows(metrics, queries(50), stream(50, numbers), Reading(numbers))
    monkeypatch.setattr(rankings, "ANSWERS", size)
    again = moment_rows(metrics, queries(50), stream(50, numbers), Reading(numbers))
    for metric in metrics:
        assert metric.fold(again.rows[metric]) == metric.fold(whole.rows[metric])
        assert again.rows[metric].keys == tuple(range(50))
    assert (whole.answers, whole.missing) == (100, 0)


def test_rows_stand_in_the_order_of_the_references():
    metric = grounding.Metric()
    found = moment_rows([metric], queries(4), [("", Ranking.of(i, [Moment(0, 10)])) for i in (3, 1)])
    rows = found.rows[metric]
    assert rows.keys == (0, 1, 2, 3)
    assert rows["r1@0.5"].tolist() == [0, 1, 0, 1]
    assert (rows.unit, found.missing) == ("query", 2)


def test_rankings_are_read_once_and_not_kept():
    alive = []

    def watched():
        for i in range(3000):
            ranking = Ranking.of(i, [Moment(0, 10)] * 100)
            alive.append(i)
            yield "", ranking

    moment_rows([grounding.Metric()], queries(3000), watched())
    assert len(alive) == 3000


def test_ids_as_text_and_as_numbers():
    notes = Notes()
    found = moment_rows(
        [grounding.Metric()], queries(2), [("", Ranking.of("1", [Moment(0, 10)]))], Reading(notes=notes)
    )
    assert found.missing == 1
    assert "1 query ids were matched" in notes.lines()[0]
    for wrong in ("01", "1.0", "x", "-1", "²"):
        assert (
            moment_rows([grounding.Metric()], queries(2), [("", Ranking.of(wrong, []))], Reading(notes=notes)).unknown
            == 1
        )
    as_text = {"1": Query("1", "v", ((0.0, 10.0),))}
    assert moment_rows([grounding.Metric()], as_text, [("", Ranking.of(1, [Moment(0, 10)]))]).missing == 0


def test_a_query_is_answered_once_in_a_list():
    twice = [("", Ranking.of(1, [])), ("", Ranking.of("1", []))]
    with pytest.raises(InputError, match="this query is answered twice"):
        moment_rows([grounding.Metric()], queries(2), twice)
    numbers = VideoNumbers()
    two_lists = [("VCMR", Ranking.of(1, [])), ("SVMR", Ranking.of(1, []))]
    assert len(moment_rows([vcmr.Metric(), svmr.Metric()], queries(2), two_lists, Reading(numbers)).rows) == 2


def test_no_ranking_at_all():
    metric = vcmr.Metric()
    assert set(metric.fold(moment_rows([metric], queries(2), []).rows[metric]).values()) == {0.0}


def test_rankings_without_a_video_are_said_where_a_search_is_judged():
    answers = [("", Ranking.of(0, [Moment(0, 10)])), ("", Ranking.of(1, []))]
    for metric, lines in ((vcmr.Metric(), 1), (vr.Metric(), 1), (svmr.Metric(), 0), (grounding.Metric(), 0)):
        notes = Notes()
        moment_rows([metric], queries(2), answers, Reading(notes=notes))
        said = [line for line in notes.lines() if "name no video" in line]
        assert len(said) == lines, metric.name
        assert not lines or said[0].startswith("1 rankings")  # the empty one claims nothing


# A query that is answered again ---------------------------------------------------------------------------------------


def test_of_two_answers_the_last_counts_where_a_metric_says_so():
    first, last = Ranking.of(1, [Moment(50, 60)]), Ranking.of(1, [Moment(0, 10)])
    asked = queries(2)
    metric = grounding.Metric(repeated="last", missing="drop")
    for order, hit in (([first, last], 1.0), ([last, first], 0.0)):
        notes = Notes()
        found = moment_rows([metric], asked, [("", r) for r in order], Reading(notes=notes))
        assert found.rows[metric].keys == (1,) and found.rows[metric]["r1@0.5"].tolist() == [hit]
        assert notes.lines() == ["1 answers repeat a query of their list (see repeated=… in each signature): 1"]


def test_answers_to_a_query_are_laid_end_to_end_each_cut_first():
    """As QVHighlights' mAP gathers them; R1 in the same list keeps the last."""
    wrong = [Moment(50 + k, 60 + k, score=0.1) for k in range(10)]
    answers = [Ranking.of(0, [*wrong, Moment(0, 10, score=0.9)]), Ranking.of(0, [Moment(0, 10, score=0.5)])]
    joined, last = mr.MeanPrecision(repeated="join", order="file"), mr.MeanPrecision(repeated="last", order="file")
    found = moment_rows([joined, last], queries(1), [("", r) for r in answers])
    assert found.rows[joined]["map"].tolist() == [1.0]  # the right one has the best score of the eleven
    assert found.rows[last]["map"].tolist() == [1.0]
    found = moment_rows([joined, last], queries(1), [("", r) for r in reversed(answers)])
    assert found.rows[joined]["map"].tolist() == [1.0] and found.rows[last]["map"].tolist() == [0.0]


def test_one_metric_without_a_rule_refuses_for_all():
    twice = [("", Ranking.of(1, [])), ("", Ranking.of(1, []))]
    with pytest.raises(InputError, match="this query is answered twice"):
        moment_rows([grounding.Metric(repeated="last"), grounding.Metric()], queries(2), twice)
