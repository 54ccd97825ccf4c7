"""The noise evaluator: its losses by hand, trained, asked, calibrated; and the one who chooses in annotations."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.data.moments import Query  # noqa: E402
from fabula.learn.models.noise_scorer import Config, Model, contrast_loss, draw_pairs  # noqa: E402
from fabula.learn.noise import calibrate  # noqa: E402
from fabula.learn.noise.data import Judged, Pairs  # noqa: E402
from fabula.learn.noise.ranks import fold, rank_row  # noqa: E402
from fabula.learn.noise.texts import Wrong, make_texts, read_rewrites, texts_of  # noqa: E402
from fabula.learn.retrieval.data import read_moments  # noqa: E402
from fabula.learn.retrieval.simulate import Recipe, simulate_moments  # noqa: E402
from fabula.report.drawing.charts import draw_reliability  # noqa: E402
from fabula.stats.calibration import Binning, expected_calibration_error, sigmoid  # noqa: E402

COLOURS = ["red", "blue", "green", "white", "black", "brown"]
THINGS = ["cup", "door", "book", "shirt", "box", "towel"]
DEEDS = ["opens", "throws", "holds", "grabs", "washes", "hides"]
TINY: dict[str, Any] = {"query_dim": 32, "hidden": 32, "embed": 32, "heads": 2, "max_words": 12}


def rows_of(count: int, first: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(first)
    rows = []
    for i in range(count):
        colour, thing, deed = rng.choice(COLOURS), rng.choice(THINGS), rng.choice(DEEDS)
        fine = f"a person {deed} the {colour} {thing}"
        told = {"video": f"v{first + i}", "duration": 12.0, "time": [2.0, 8.0], "cog_desc": f"a person {deed} it"}
        rows.append({"desc_id": first + i, **told, "fig_desc": fine, "fig_desc_score": 0.0})
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("noise")
    (folder / "splits").mkdir()
    every = []
    for split, rows in {"train": rows_of(240), "val": rows_of(40, 1000), "test": rows_of(40, 2000)}.items():
        (folder / "splits" / f"fig_{split}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        every += rows
    (folder / "all.jsonl").write_text("".join(json.dumps(r) + "\n" for r in every))
    fine, coarse = (read_moments(folder / "all.jsonl", Notes(), g) for g in ("fig", "cog"))
    simulate_moments(fine, coarse, folder / "clips.safetensors", Recipe(dim=32, noise=0.2))
    return folder


def train(folder: Path, out: Path, **given: Any) -> dict[str, float]:
    asked: dict[str, Any] = {
        "data": folder / "splits", "features": (str(folder / "clips.safetensors"),), "tiny": True, "out": out,
        "set_": TINY, "epochs": 2, "batch_size": 32, "lr": 3e-3, "threads": 1, "device": "cpu",
    }  # fmt: skip
    return fabula.train("noise", **asked | given)


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    line = train(folder, folder / "run", epochs=12)
    assert line["val_static"] > 0.8 and line["val_dynamic"] > 0.8, line
    return folder / "run"


# ── losses ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_contrastive_loss_by_hand():
    """Two clips, two true captions, one disturbed caption of the first clip."""
    s = torch.tensor([[2.0, 0.5], [1.0, 3.0], [1.5, 9.0]])  # the 9 belongs to nobody's sum
    rivals = ~torch.eye(2, dtype=torch.bool)
    v2t = [math.log(math.exp(2) + math.exp(1) + math.exp(1.5)) - 2, math.log(math.exp(0.5) + math.exp(3)) - 3]
    t2v = [math.log(math.exp(2) + math.exp(0.5)) - 2, math.log(math.exp(1) + math.exp(3)) - 3]
    found = contrast_loss(s, torch.tensor([0, 1, 0]), rivals)
    assert float(found) == pytest.approx((sum(v2t) / 2 + sum(t2v) / 2) / 2)


def test_rows_that_are_no_rivals_are_no_negatives():
    s = torch.tensor([[2.0, 0.5, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 1.0], [0.7, 0.0, 0.0]])
    rivals = torch.tensor([[False, False, True], [False, False, True], [True, True, False]])
    owner = torch.tensor([0, 1, 2, 0])
    for _ in range(20):
        pairs, labels = draw_pairs(s, owner, rivals)
        assert labels.tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
        told = set(map(tuple, pairs.tolist()))
        assert (0, 1) not in told and (1, 0) not in told and (3, 0) in told
    assert float(contrast_loss(s[:2, :2], owner[:2], torch.zeros(2, 2, dtype=torch.bool))) == 0
    lonely, _ = draw_pairs(s[:1, :1], owner[:1], torch.zeros(1, 1, dtype=torch.bool))
    assert lonely.tolist() == [[0, 0]]


def test_what_is_padded_is_not_seen(folder: Path):
    """The score of a caption does not depend on what it is scored with."""
    from fabula.learn.noise.data import Shown
    from fabula.learn.retrieval.data import Clips
    from fabula.media.stores.features import Features

    torch.manual_seed(0)
    config = Config.tiny(feature_dim=32, **TINY)
    model = Model(config).eval()
    shown = Shown(Clips([Features(folder / "clips.safetensors")], config))
    queries = list(read_moments(folder / "splits" / "fig_test.jsonl", Notes()).values())[:3]
    queries[1] = queries[1]._replace(windows=((2.0, 4.0),))
    captions = [["a cup"], ["a red cup falls down there", "one"], ["two boys", "three girls sing a song"]]
    data = Judged(queries, captions, shown)
    together = model.predict(data.collate([data[i] for i in range(3)]))
    alone = [model.predict(data.collate([data[i]]))[0] for i in range(3)]
    for a, b in zip(together, alone, strict=True):
        assert a == pytest.approx(b, abs=1e-5)
    pairs = Pairs(queries, texts_of(queries, None, Notes()), shown)
    losses = model.loss(pairs.collate([pairs[i] for i in range(3)]))
    told = {name: loss.item() for name, loss in losses.items()}
    assert told["loss"] == pytest.approx(told["contrast"] + told["match"])
    losses["loss"].backward()
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("seconds", [0.5, 2.0])
def test_clips_of_a_moment_are_counted_in_clips_of_their_length(seconds: float):
    """Ten clips: a moment is shown if it begins before the last of them ends, however long a clip is."""
    from fabula.learn.noise.data import Shown

    class Ten(dict[str, torch.Tensor]):
        config = Config.tiny(feature_dim=1, clip=seconds, max_clips=12, **TINY)

    shown = Shown(Ten(a=torch.arange(10.0)[:, None]))  # type: ignore[arg-type]

    def show(first: float, last: float) -> list[float]:
        return shown.show(Query("q", "a", ((first * seconds, last * seconds),))).flatten().tolist()

    assert show(2, 5) == [2, 3, 4] and show(9, 12) == [9]
    with pytest.raises(InputError, match="after the last of its 10 clips"):
        show(10, 12)


# ── texts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_wrong_captions_are_by_rule_or_from_a_file(tmp_path: Path):
    made = make_texts("A man opens the red door.")
    assert {w.kind for w in made.wrong} == {"static", "dynamic"} and all(w.rule for w in made.wrong)
    told = {"rewrite": ["A man pulls the red door open."], "disturb_static": ["A man opens the blue door."]}
    lines = [{"desc_id": 3, "rewrites": told}, {"desc_id": 4}]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = read_rewrites(tmp_path / "r.jsonl")
    found = make_texts("A man opens the red door.", given[3])
    assert found.true[1] == told["rewrite"][0] and Wrong("A man opens the blue door.", "static") in found.wrong
    assert all(w.rule for w in found.wrong if w.kind == "dynamic")  # of which the file has none
    (tmp_path / "none.jsonl").write_text('{"desc_id": 1}\n')
    with pytest.raises(InputError, match="no line has rewrites"):
        read_rewrites(tmp_path / "none.jsonl")
    (tmp_path / "bad.jsonl").write_text('{"desc_id": 1, "rewrites": {"rewrite": "one"}}\n')
    with pytest.raises(InputError, match="no list"):
        read_rewrites(tmp_path / "bad.jsonl")


def test_ranks_are_shares_of_what_is_below():
    wrong = [Wrong("a", "static"), Wrong("b", "static"), Wrong("c", "dynamic")]
    assert rank_row(1.0, [0.0, 2.0, 1.0], wrong) == {"static": 0.5, "dynamic": 0.5, "all": 0.0}
    assert rank_row(1.0, [], []) == {}
    assert fold([{"static": 1.0, "all": 1.0}, {"static": 0.5, "dynamic": 0.25, "all": 0.0}, {}]) == {
        "static": 0.75, "dynamic": 0.25, "all": 0.5,
    }  # fmt: skip


# ── calibration ────────────────────────────────────────────────────────────────────────────────────────────────────


def error_of(p, y):
    return expected_calibration_error(calibrate.BINNING.split(p, y))


def test_a_fit_finds_the_line_that_made_the_labels():
    rng = np.random.default_rng(0)
    c = rng.normal(0, 2, 40_000)
    y = rng.random(len(c)) < sigmoid(0.7 * c - 1.2)
    made = calibrate.fit(c, y)
    assert (made.a, made.b) == (pytest.approx(0.7, abs=0.03), pytest.approx(-1.2, abs=0.05))
    before, after = (error_of(k(c), y) for k in (calibrate.CaptionCalibration(), made))
    assert after < 0.01 < before
    warm = calibrate.fit(c, rng.random(len(c)) < sigmoid(c / 3), "temperature")
    assert 1 / warm.a == pytest.approx(3, abs=0.15) and warm.b == 0


def test_a_fit_agrees_with_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model", reason="the extra annotate-stats is not installed")
    rng = np.random.default_rng(1)
    c = rng.normal(0, 1, 5000)
    y = rng.random(len(c)) < sigmoid(2 * c + 0.5)
    theirs = linear.LogisticRegression(C=1e8, tol=1e-10).fit(c[:, None], y)
    made = calibrate.fit(c, y)
    assert made.a == pytest.approx(float(theirs.coef_[0, 0]), rel=0.01)
    assert made.b == pytest.approx(float(theirs.intercept_[0]), rel=0.02)


def test_scores_that_part_completely_and_those_that_cannot_be_fitted():
    made = calibrate.fit([-2.0, -1.0, 1.0, 2.0], [False, False, True, True])
    assert math.isfinite(made.a) and made.a > 0
    for scores, true in (([1.0, 2.0], [True, True]), ([1.0, math.nan], [True, False])):
        with pytest.raises(SpecError, match="true and wrong"):
            calibrate.fit(scores, true)


def test_the_error_of_calibration_by_hand():
    bins = Binning(2, "mass").split([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 0])
    assert bins == [(pytest.approx(0.15), 0.0, 2), (pytest.approx(0.85), 0.5, 2)]
    assert expected_calibration_error(bins) == pytest.approx((0.15 + 0.35) / 2)
    drawn = draw_reliability({"<b>": bins}, "a & b", "2 equal-mass bins", "captions")
    assert "<b>" not in drawn and "&lt;b&gt;: ECE (2 equal-mass bins) 0.250" in drawn and drawn.count("<circle") == 2


# ── the task ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_trained_calibrated_and_asked(folder: Path, run: Path, tmp_path: Path):
    store = (str(folder / "clips.safetensors"),)
    asked: dict[str, Any] = {"features": store, "data": folder / "splits", "device": "cpu", "disturbed": 3}
    files = {"fit": tmp_path / "platt.json", "diagram": tmp_path / "d.svg", "summary": tmp_path / "s.json"}
    fabula.predict("noise", run, tmp_path / "val.jsonl", split="val", **asked, **files)
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary["simulated"] and summary["true above disturbed"]["static"] > 0.8
    assert (tmp_path / "d.svg").read_text().count("polyline") == 3
    fabula.predict("noise", run, tmp_path / "test.jsonl", calibration=tmp_path / "platt.json", **asked)
    lines = [json.loads(line) for line in (tmp_path / "test.jsonl").read_text().splitlines()]
    assert len(lines) == 40 and lines[0]["disturbed"] and 0 < lines[0]["chosen"]["probability"] < 1
    candidates = [{"desc_id": r["desc_id"], "candidates": [r["disturbed"][0]["text"], r["chosen"]]} for r in lines]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(c) + "\n" for c in candidates[:20]))
    found = fabula.predict("noise", run, features=store, data=folder / "splits", candidates=tmp_path / "c.jsonl")
    assert len(found.rows) == 20 and sum(r.best == 1 for r in found.rows) >= 16
    again = fabula.predict(
        "noise", run, features=store, data=folder / "splits", candidates=tmp_path / "c.jsonl", batch_size=3
    )
    for a, b in zip(found.rows, again.rows, strict=True):
        assert a.scores == pytest.approx(b.scores, abs=1e-4)


def test_hard_negatives_can_be_left_out_and_files_of_rewrites_taken(folder: Path, tmp_path: Path):
    rows = [json.loads(line) for line in (folder / "splits" / "fig_train.jsonl").read_text().splitlines()]
    told = [
        {"desc_id": r["desc_id"], "rewrites": {"rewrite": [r["fig_desc"] + " now"], "disturb_static": ["a dog"]}}
        for r in rows
    ]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(t) + "\n" for t in told))
    line = train(folder, tmp_path / "run", hard=0, rewrites=tmp_path / "r.jsonl", epochs=1)
    assert {"loss", "contrast", "match"} <= line.keys() or {"train_loss"} <= line.keys()
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert '"hard": 0' in json.dumps(config) and "r.jsonl" in json.dumps(config)


def test_a_killed_run_goes_on_as_if_never_stopped(folder: Path, tmp_path: Path):
    even = {"schedule": "constant", "warmup": 0.0}
    train(folder, tmp_path / "whole", epochs=2, **even)
    train(folder, tmp_path / "parts", epochs=1, **even)
    train(folder, tmp_path / "parts", epochs=2, resume=True, **even)
    whole, parts = ((tmp_path / name / "epochs.csv").read_text().splitlines() for name in ("whole", "parts"))
    assert [line.rpartition(",")[0] for line in whole] == [line.rpartition(",")[0] for line in parts]  # but seconds


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"fit": "x.json"}, "--disturbed"),
        ({"candidates": "none.jsonl"}, "none.jsonl"),
        ({"calibration": "other.json", "disturbed": 1}, "another model"),
        ({"split": "dev"}, "'dev'"),
    ],
)
def test_bad_input_costs_one_line(folder: Path, run: Path, tmp_path: Path, monkeypatch, given, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.json").write_text('{"kind": "platt", "a": 1, "b": 0, "captions": 3, "weights": "0"}')
    with pytest.raises((InputError, SpecError), match=says):
        fabula.predict("noise", run, features=(str(folder / "clips.safetensors"),), data=folder / "splits", **given)


# ── annotations ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_evaluator_chooses_captions(folder: Path, run: Path, tmp_path: Path):
    pytest.importorskip("httpx", reason="the extra llm is not installed")
    from fabula.annotation import benchmark as api
    from fabula.annotation.recipe import RecipeOptions
    from fabula.verbs.building.commands.annotate import make_scorer

    moments = tmp_path / "moments.jsonl"
    rows = rows_of(6, 2000)
    moments.write_text(
        "".join(json.dumps({k: v for k, v in r.items() if not k.startswith("fig")}) + "\n" for r in rows)
    )
    recipe = RecipeOptions(blind=True, scorer=f"noise:{run}", scorer_features=(str(folder / "clips.safetensors"),))
    ran = api.run(moments, options=api.RunOptions(store=tmp_path / "s"), recipe=recipe, make_scorer=make_scorer)
    assert ran.states == {"done": 6} and ran.made <= 6 * 5  # no judge is asked
    told = api.export(api.ExportOptions(store=tmp_path / "s", out=tmp_path / "out"))
    assert told["recipe"]["scorer"] == "noise" and len(told["recipe"]["evaluator"]["weights"]) == 16
    for line in (tmp_path / "out" / "provenance.jsonl").read_text().splitlines():
        entry = json.loads(line)
        assert entry["chosen"]["score"] == max(c["score"] for c in entry["candidates"])
        assert not any(step == "judge" for step, _ in entry["calls"])
    scored = fabula.predict(
        "noise",
        run,
        features=recipe.scorer_features,
        data=moments,
        format=None,
        candidates=tmp_path / "out" / "provenance.jsonl",
    )
    kept = [json.loads(line) for line in (tmp_path / "out" / "provenance.jsonl").read_text().splitlines()]
    for row, entry in zip(scored.rows, kept, strict=True):
        assert row.scores == pytest.approx([c["score"] for c in entry["candidates"]], abs=1e-4)
    assert "simulated: the scores say nothing" in (tmp_path / "out" / "README.md").read_text()
    assert str(run) not in (tmp_path / "out" / "README.md").read_text()
    again = api.run(None, options=api.RunOptions(store=tmp_path / "s"), recipe=recipe, make_scorer=make_scorer)
    assert again.made == 0 and again.recipe == ran.recipe


@pytest.mark.parametrize(
    ("scorer", "features", "says"),
    [("noise:", (), "judge, noise:RUN or none"), ("umt", (), "judge, noise:RUN"), ("noise:x", (), "--scorer-features"),
     ("judge", ("f.h5",), "--scorer-features")],
)  # fmt: skip
def test_scorers_that_cannot_be_meant(scorer, features, says):
    from fabula.annotation.recipe import RecipeOptions

    with pytest.raises(SpecError, match=says):
        RecipeOptions(scorer=scorer, scorer_features=features)
