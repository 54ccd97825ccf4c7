"""Which pairs of a story get their scene graphs, and where these stand in the page's rows."""

from __future__ import annotations

from types import SimpleNamespace

from fabula.report import _graphs


def test_every_pair_of_every_system_gets_a_place(monkeypatch):
    drawn = []
    monkeypatch.setattr(_graphs, "draw_slots", lambda result, name, slots: drawn.append((result.name, name, slots)))
    metrics = {"SPICE": SimpleNamespace(draws="graphs"), "METEOR": SimpleNamespace(draws="")}
    results = [SimpleNamespace(name=name, metrics=metrics) for name in ("a", "b")]
    pairs = [[[0, 0], [1, 2]], [[0, 1]]]  # of two reference sets
    rows = [["v1", 0, 0, 0, [("told", pairs), None]], ["v2", 0, 0, 0, [None, ("told", pairs[1:])]]]
    assert _graphs.add_story_graphs(results, rows) == ["SPICE"]
    assert [row[5] for row in rows] == [[[[None, None], [None]], None], [None, [[None]]]]
    assert [(name, metric) for name, metric, _ in drawn] == [("a", "SPICE"), ("b", "SPICE")]
    places = [[(s.video, s.set, s.pair, s.at) for s in slots] for _, _, slots in drawn]
    assert places == [[("v1", 0, [0, 0], 0), ("v1", 0, [1, 2], 1), ("v1", 1, [0, 1], 0)], [("v2", 0, [0, 1], 0)]]
