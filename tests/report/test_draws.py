"""The report draws and does not compute: its pairs are those that the metric matched, event by event."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import fabula
from fabula import demo, report
from fabula.core.errors import SpecError
from fabula.evaluate.pairs import find_pairs
from fabula.metrics import metric
from fabula.report.html import page
from tests.report.test_html import REF, corpus, embedded, story

REFS = list(demo.REFERENCES.values())
ROOMS = {"match", "pair", "io", "text"}
WORTH = {  # what a metric sums over its pairs
    "SODA_c": lambda m: m.iou * m.text,
    "SODA_c(roles=gold-as-hypothesis)": lambda m: m.iou * m.text,
    "SODA_c(text=exact)": lambda m: m.iou * m.text,
    "SODA_c(order=file)": lambda m: m.iou * m.text,
    "SODA_c(refs=merged)": lambda m: m.iou * m.text,
    "SODA_d": lambda m: m.iou,
    "SODA_b": lambda m: m.text,
    "SODA_b(backtrack=marked)": lambda m: m.text,
    "OrderedPRF": lambda m: m.iou > 0.5,
}


@pytest.mark.parametrize("path", sorted(Path(report.__file__).parent.glob("*.py")), ids=lambda path: path.name)
def test_nothing_is_imported_to_compute_with(path):
    seen: set[str] = set()
    tree = ast.parse(path.read_text("utf-8"))
    types = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    for_types = {id(node) for block in types for node in block.body}
    for node in (node for node in ast.walk(tree) if id(node) not in for_types):
        if isinstance(node, ast.Import):
            seen |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "say fabula.…"
            seen |= {f"{node.module}.{alias.name}" for alias in node.names}
    rooms = {name.split(".")[1] for name in seen if name.startswith("fabula.")}
    assert not rooms & ROOMS
    assert not [name for name in seen if name.startswith("fabula.metrics.") and "._" in name]


@pytest.mark.parametrize("system", demo.SYSTEMS)
@pytest.mark.parametrize("spec", WORTH)
def test_pairs_sum_to_what_was_scored(spec, system):
    result = fabula.score(demo.SYSTEMS[system], REFS, metrics=[spec])
    (name,) = result.metrics
    rows = result.rows[name]
    sums = dict.fromkeys(zip(rows.keys, rows.refset, strict=True), 0.0)
    for video, sets in result.pairs(name).items():
        for k, matches in enumerate(sets):
            for match in matches:
                sums[video, 0 if "merged" in spec else k] += WORTH[spec](match)
    assert list(sums.values()) == pytest.approx(rows["S"].tolist())


@pytest.mark.parametrize("system", demo.SYSTEMS)
def test_the_page_has_these_pairs_and_no_others(system):
    result = fabula.score(demo.SYSTEMS[system], REFS)
    data, matches = embedded(page(result, "T")), result.pairs("SODA_c")
    assert data["pairs"] == "SODA_c"
    assert any(sum(map(len, sets)) for sets in matches.values())
    for video, _, _, sets, (system,) in data["rows"]:
        said, pairs = system or ([], [[]] * len(sets))
        for k, ref in enumerate(result.refs):
            if video not in ref or video not in result.predictions:
                assert pairs[k] == matches[video][k] == []
                continue
            shown = [[sets[k][g][2], said[p][2], iou, text] for g, p, iou, text, *_ in pairs[k]]
            told = ref[video].events, result.predictions[video].events
            assert shown == [
                [told[0][m.g].caption, told[1][m.p].caption, round(m.iou, 4), round(m.text, 4)]
                for m in matches[video][k]
            ]


OUT_OF_ORDER = corpus(
    "p",
    story("v1", (12, 20, "two"), (18, 12, "backwards"), (0, 10, "one"), (-3, 2, "early")),
)


@pytest.mark.parametrize("spec", ["SODA_c", "SODA_d", "SODA_b"])
def test_places_are_those_of_the_file_and_on_the_page_those_of_the_list(spec):
    refs = corpus("r", story("v1", (10, 20, "two"), (0, 10, "one")))
    result = fabula.score(OUT_OF_ORDER, refs, metrics=[spec])
    assert [m[:3] for m in result.pairs(spec)["v1"][0]] == [(1, 2, 1.0), (0, 0, 0.8)]
    _, _, _, (gold,), ((said, (pairs,)),) = embedded(page(result, "T"))["rows"][0]
    assert [event[2] for event in gold] == ["one", "two"]
    assert [event[2] for event in said] == ["one", "two", "backwards", "early"]
    assert [pair[:3] for pair in pairs] == [[0, 0, 1.0], [1, 1, 0.8]]


def test_places_where_sets_are_laid_together():
    first, second = (corpus(n, story("v1", e)) for n, e in (("a", (10, 20, "two")), ("b", (0, 10, "one"))))
    result = fabula.score(OUT_OF_ORDER, [first, second], metrics=["SODA_c(refs=merged)"])
    (name,) = result.metrics
    assert [[m[:2] for m in matches] for matches in result.pairs(name)["v1"]] == [[(0, 0)], [(0, 2)]]


def test_a_malformed_event_is_matched_but_not_drawn():
    pred = corpus("p", story("v1", (-2, 10, "one"), (10, 20, "two")))
    result = fabula.score(pred, REF, metrics="SODA_d(segments=raw)")
    (name,) = result.metrics
    assert [m[:2] for m in result.pairs(name)["v1"][0]] == [(0, 0), (1, 1)]
    _, _, _, _, ((said, (pairs,)),) = embedded(page(result, "T"))["rows"][0]
    assert said[1] == ["-2", "10", "one"] and [pair[:2] for pair in pairs] == [[1, 0]]


@pytest.mark.parametrize(
    ("metrics", "whose", "text"),
    [
        ("mIoU", "SODA_d", None),
        ("METEOR", "SODA_c", "METEOR"),
        ("Para_METEOR", "SODA_c", "METEOR"),
        ("SODA_a", "SODA_c", "METEOR"),
        ("SODA_d,SODA_b,SODA_c", "SODA_c", "METEOR"),
        ("SODA_b,SODA_d,METEOR", "SODA_d", None),
        ("mIoU,SODA_b", "SODA_b", "METEOR"),
        ("SODA_c(text=exact)", "SODA_c", "exact"),
        ("SODA_c(text=rouge)", "SODA_c", "ROUGE_L"),
    ],
)
def test_whose_pairs(metrics, whose, text):
    result = fabula.score(REF, REF, metrics=metrics, task="dense")
    data = embedded(page(result, "T"))
    assert (data["pairs"], data["text"]) == (whose, text)
    assert {len(pair) for pair in data["rows"][0][4][0][1][0]} == {7 if text == "METEOR" else 4}


def test_of_two_alike_the_first_under_its_full_name():
    result = fabula.score(REF, REF, metrics="mIoU,SODA_c(roles=gold-as-hypothesis),SODA_c")
    assert find_pairs(result).name == "SODA_c(roles=gold-as-hypothesis)"


def test_words_stand_on_their_own_side_whoever_is_the_candidate():
    ref = corpus("r", story("v1", (0, 10, "a man opens the door"), (20, 30, "x")))
    pred = corpus("p", story("v1", (0, 10, "he opens a door")))
    for roles in ("prediction-as-hypothesis", "gold-as-hypothesis"):
        result = fabula.score(pred, ref, metrics=[f"SODA_c(roles={roles})"])
        *_, gold, said, matches = embedded(page(result, "T"))["rows"][0][4][0][1][0][0]
        assert (" ".join(gold), " ".join(said)) == ("a man opens the door", "he opens a door")
        assert [2, 1, 1, 1, 0] in matches  # opens
        assert all(i + n <= len(gold) and j + m <= len(said) for i, j, n, m, _ in matches)


def test_references_of_two_results_must_be_the_same():
    a, b = (fabula.score(REF, ref, metrics="SODA_d") for ref in (REF, corpus("r", story("v1", (0, 10, "one")))))
    with pytest.raises(SpecError, match="the same references"):
        page(a, "T", other=b)


def test_people_have_the_names_under_which_the_whole_story_was_parsed():
    told = story("v1", (10, 20, "P7 runs."), (12, 5, "P5 sits."), (0, 10, "P9 holds P3."))
    dvc = metric("DVC_iSPICE")
    assert dvc.parsed_captions(told, True) == ["P3 runs.", "P4 sits.", "P1 holds P2."]  # in time
    assert metric("DVC_iSPICE(order=file)").parsed_captions(told, True)[0] == "P1 runs."
    assert metric("DVC_iSPICE(order=predictions)").parsed_captions(told, False)[0] == "P1 runs."
