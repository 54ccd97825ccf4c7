"""What is looked at and said before the first step: rates, moments behind the end, validation, the learning rate; and
what a run that was trained is asked, and may be changed."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.learn.config import configure_inference  # noqa: E402
from fabula.learn.loop.schedule import describe_rates, lr_at, warn_of_rates  # noqa: E402
from fabula.learn.models import hero, micap, pdvc, procnets, qd_detr, reloclnet, xml  # noqa: E402
from fabula.learn.models import room as models  # noqa: E402
from fabula.learn.options import Callbacks, Settings  # noqa: E402
from fabula.learn.retrieval.data import round_rate  # noqa: E402
from fabula.learn.retrieval.npz import NpzFeatures  # noqa: E402
from fabula.learn.settings import list_settings  # noqa: E402
from fabula.learn.words import warn_of_captions  # noqa: E402
from fabula.media.stores.features import write_features  # noqa: E402

DIM, SECONDS = 8, 30.0
SMALL: dict[str, Any] = {"query_dim": 8, "hidden": 8, "heads": 2, "max_words": 8}


def rows_of(count: int = 4, **more: Any) -> list[dict[str, Any]]:
    told = {"duration": SECONDS, "time": [20.0, 28.0], **more}
    return [
        {"desc_id": i, "video": f"v{i}", "cog_desc": f"someone opens {i}", "fig_desc": f"a man opens door {i}", **told}
        for i in range(count)
    ]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_store(path: Path, rate: float = 1.0, metadata: dict[str, Any] | None = None) -> Path:
    rng = np.random.default_rng(0)
    items = [(f"v{i}", rng.standard_normal((round(SECONDS * rate), DIM)).astype(np.float32)) for i in range(4)]
    write_features(path, items, metadata or {})
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("before")
    write_rows(folder / "train.jsonl", rows_of())
    write_store(folder / "one.safetensors")
    write_store(folder / "four.safetensors", 4.0)
    return folder


def train(folder: Path, out: Path, task: str = "vcmr", store: str = "one", **given: Any) -> list[str]:
    """One step; what was warned of."""
    said: list[str] = []
    asked: dict[str, Any] = {
        "data": folder / "train.jsonl", "features": (str(folder / f"{store}.safetensors"),), "tiny": True, "steps": 1,
        "batch_size": 4, "threads": 1, "device": "cpu", "out": out, "set_": SMALL,
    }  # fmt: skip
    fabula.train(task, **asked | given, callbacks=Callbacks(warn=said.append))
    return said


# -- the rate of a store that does not say it -------------------------------------------------------------------------

MODELS = ("xml", "reloclnet", "hero", "qd_detr")
WORDS = {"hero": {"hidden": 8, "heads": 2, "max_words": 8}, "qd_detr": {**SMALL, "clip": 1.0, "feedforward": 8}}


@pytest.mark.parametrize("model", MODELS)
def test_a_store_without_a_rate_is_compared_with_the_annotation(folder: Path, tmp_path: Path, model: str) -> None:
    given = {"model": model, "set_": WORDS.get(model, SMALL)}
    wrong = r"video 'v0': features last 120 s, the annotation says 30 s .*4 of 4 videos.*; give --rate 4$"
    with pytest.raises(InputError, match=wrong):
        train(folder, tmp_path / "run", store="four", **given)
    assert not (tmp_path / "run").exists()
    train(folder, tmp_path / "run", store="four", **given, rate=4.0)
    asked: dict[str, Any] = {"data": folder / "train.jsonl", "device": "cpu"}
    with pytest.raises(InputError, match="give --rate 4"):
        fabula.predict("vcmr", tmp_path / "run", features=str(folder / "four.safetensors"), **asked)
    fabula.predict("vcmr", tmp_path / "run", features=str(folder / "four.safetensors"), rate=4.0, **asked)


def test_validation_and_the_noise_evaluator_compare_it_too(folder: Path, tmp_path: Path) -> None:
    write_rows(tmp_path / "val.jsonl", rows_of(duration=7.5, time=[1.0, 5.0]))
    with pytest.raises(InputError, match=r"features last 30 s, the annotation says 7\.5 s"):
        train(folder, tmp_path / "run", val=tmp_path / "val.jsonl")
    with pytest.raises(InputError, match="give --rate 4"):
        train(folder, tmp_path / "run", "noise", "four", set_={"query_dim": 8, "hidden": 8, "embed": 8, "heads": 2})


def test_a_rate_that_is_said_is_taken_and_noted(folder: Path, tmp_path: Path) -> None:
    write_store(tmp_path / "said.safetensors", 4.0, {"rate": 4.0})
    assert not [
        line
        for line in train(tmp_path, tmp_path / "a", store="said", data=folder / "train.jsonl")
        if "last" in line and "features of" in line
    ]
    said = train(folder, tmp_path / "b", store="four", rate=2.0)
    assert any("features of 4 videos last longer or shorter than the annotation says" in line for line in said)
    write_rows(tmp_path / "train.jsonl", rows_of(duration=None))
    said = train(folder, tmp_path / "c", data=tmp_path / "train.jsonl")
    assert any("has no rate, and the queries have no durations" in line for line in said)


def test_the_rate_to_give() -> None:
    assert round_rate([3.99, 4.01, 3.97]) == 4 and round_rate([0.5]) == 0.5 and round_rate([1.5]) == 1.5
    assert round_rate([29.97, 29.97]) == 30 and round_rate([0.34]) == pytest.approx(1 / 3)


def test_features_of_an_archive_are_counted_without_being_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "v0.npz", features=np.zeros((7, 3), np.float32))
    (tmp_path / "v1.npz").write_bytes(b"no archive")
    store = NpzFeatures(tmp_path)
    assert (store.count("v0"), store.count("v1"), store.count("v2")) == (7, 0, 0)


@pytest.mark.parametrize("several", ["text", "path", "list", "both"])
def test_one_path_is_taken_as_one_store(folder: Path, tmp_path: Path, several: str) -> None:
    store = folder / "one.safetensors"
    given = {"text": str(store), "path": store, "list": [store], "both": f"{store},{store}"}[several]
    train(folder, tmp_path / "run", features=given)
    found = json.loads((tmp_path / "run" / "config.json").read_text())["features"]
    assert found == ["one.safetensors"] * (2 if several == "both" else 1)


# -- moments and steps behind the end ---------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["vcmr", "noise"])
def test_moments_behind_the_end_are_named_before_training_or_left_out(folder: Path, tmp_path: Path, task: str) -> None:
    rows = [*rows_of(), *({**row, "desc_id": 10 + i, "time": [31.0, 33.0]} for i, row in enumerate(rows_of(2)))]
    data = write_rows(tmp_path / "train.jsonl", rows)
    shape = SMALL if task == "vcmr" else {"query_dim": 8, "hidden": 8, "embed": 8, "heads": 2}
    wrong = r"query 10: a window begins at 31 s, the video ends at 30 s; so are 1 more of 6 queries: 11; .*--skip-bad"
    with pytest.raises(InputError, match=wrong):
        train(folder, tmp_path / "run", task, data=data, set_=shape)
    said = train(folder, tmp_path / "run", task, data=data, set_=shape, skip_bad=True)
    assert any(
        line.startswith("2 queries are left out, as --skip-bad says: 10 (a window begins at 31 s") for line in said
    )


def test_moments_behind_their_features_are_named_too(folder: Path, tmp_path: Path) -> None:
    long = rows_of(duration=None, time=[40.0, 44.0])
    data = write_rows(tmp_path / "train.jsonl", [*rows_of(3), {**long[3], "duration": 31.0, "time": [29.5, 31.0]}])
    train(folder, tmp_path / "run", data=data)  # within two clips
    data = write_rows(tmp_path / "train.jsonl", [*rows_of(3), {**long[3], "duration": 45.0}])
    with pytest.raises(InputError, match="query 3: its moment begins at 40 s, after its features end, at 30 s"):
        train(folder, tmp_path / "run", data=data, rate=1.0, overwrite=True)
    said = train(folder, tmp_path / "run", data=data, rate=1.0, skip_bad=True, overwrite=True)
    assert any("1 queries are left out" in line for line in said)


def test_steps_behind_the_end_are_named_before_training_or_left_out(tmp_path: Path) -> None:
    told = {f"v{i}": {"duration": 30.0, "timestamps": [[2.0, 9.0]], "sentences": ["a man opens"]} for i in range(4)}
    told["v2"]["timestamps"] = told["v3"]["timestamps"] = [[31.0, 40.0]]
    (tmp_path / "steps.json").write_text(json.dumps(told))
    write_store(tmp_path / "s.safetensors")
    given: dict[str, Any] = {
        "data": tmp_path / "steps.json", "features": tmp_path / "s.safetensors", "tiny": True, "captioner": "none",
        "steps": 1, "threads": 1, "device": "cpu", "out": tmp_path / "run",
        "set_": {"hidden": 8, "heads": 2, "norm_groups": 4, "frames": 8, "levels": 1, "feedforward": 8},
    }  # fmt: skip
    with pytest.raises(
        InputError, match=r"video 'v2': a step starts at 31 s, .* so are 1 more of 4 videos: v3; .*--skip-bad"
    ):
        fabula.train("pss", **given)
    said: list[str] = []
    fabula.train("pss", **given, skip_bad=True, callbacks=Callbacks(warn=said.append))
    assert any(line.startswith("2 videos are left out, as --skip-bad says") for line in said)
    given["features"] = write_store(tmp_path / "t.safetensors", 1.0, {"durations": {"v0": 120.0, "v1": 30.5}})
    said = []
    fabula.train("pss", **given, skip_bad=True, overwrite=True, callbacks=Callbacks(warn=said.append))
    wrong = "1 videos last longer or shorter in the store than the annotation says: 'v0' (120 s in the store, 30 s in"
    assert any(line.startswith(wrong) for line in said)
    with pytest.raises(SpecError, match="--rate has no effect with --data"):
        fabula.predict("pss", tmp_path / "run", features=given["features"], data=given["data"], rate=1.0)


# -- what is said of validation and of the learning rate --------------------------------------------------------------


def test_missing_and_shared_validation_data_are_said(folder: Path, tmp_path: Path) -> None:
    said = train(folder, tmp_path / "a", validate_steps=1)
    assert any("no validation data" in line and line.endswith("; --validate-steps has no effect") for line in said)
    said = train(folder, tmp_path / "b", val=folder / "train.jsonl")
    assert "all 4 validation entries are also training entries: their scores are too high" in said
    assert not any("no validation data" in line for line in said)


def test_the_learning_rate_is_told_to_its_end() -> None:
    paper = Settings(**pdvc.Model.recipe)
    assert describe_rates(paper, 10, 300).endswith(
        "× 0.5 at epoch 9, 12, 15, 18, 21, 24, 27 (7 times): 3.9e-07 at the end"
    )
    assert warn_of_rates(paper, paper, 10, 300) is None
    longer = Settings(**{**pdvc.Model.recipe, "epochs": 80})
    assert describe_rates(longer, 10, 800).endswith(f"{lr_at(longer, 799, 10, 800):.2g} at the end")
    said = warn_of_rates(longer, paper, 10, 800)
    assert said is not None and "made for 30 epochs; --decay-from 21 --decay-every 8 stretch them" in said
    stretched = Settings(**{**pdvc.Model.recipe, "epochs": 80, "decay_from": 21, "decay_every": 8})
    assert warn_of_rates(stretched, paper, 10, 800) is None
    assert lr_at(stretched, 799, 10, 800) == pytest.approx(lr_at(paper, 299, 10, 300))
    line = Settings(**{**paper.__dict__, "schedule": "linear", "warmup": 0.1})
    assert (
        describe_rates(line, 10, 300)
        == "learning rate 5e-05 after a warm-up of 30 steps, falls in a line to 1.9e-07 at the last of 300 steps"
    )
    assert describe_rates(Settings(schedule="constant"), 10, 300) == "learning rate 5e-05, the same to the end"


def test_it_is_told_before_the_first_step(folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "fabula.learn"):
        train(folder, tmp_path / "run")
    assert caplog.messages[0].startswith("1 steps · learning rate 0.0001")


# -- what a trained run is asked --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("task", "flag"), [("vcmr", "granularity"), ("noise", "captions")])
def test_a_run_is_asked_the_captions_it_was_made_for(folder: Path, tmp_path: Path, task: str, flag: str) -> None:
    how: dict[str, Any] = {"train": "cog", "test": "cog"} if task == "vcmr" else {"captions": "cog"}
    shape = SMALL if task == "vcmr" else {"query_dim": 8, "hidden": 8, "embed": 8, "heads": 2}
    train(folder, tmp_path / "run", task, set_=shape, **how)
    asked: dict[str, Any] = {
        "features": (str(folder / "one.safetensors"),), "data": folder / "train.jsonl", "device": "cpu",
    }  # fmt: skip
    out, said = tmp_path / "out.json", {}
    for which in (None, "cog", "fig"):
        heard: list[str] = []
        fabula.predict(
            task,
            tmp_path / "run",
            out,
            **asked,
            **({flag: which} if which else {}),
            callbacks=Callbacks(warn=heard.append),
        )
        said[which] = out.read_bytes(), [line for line in heard if f"--{flag}" in line]
    assert said[None] == said["cog"] and not said[None][1]
    assert said["fig"][0] != said["cog"][0] and said["fig"][1] == [
        f"--{flag} fig: the run was trained for cog captions"
    ]


def small_models() -> list[Any]:
    words = ("a", "b", "<unk>")
    return [
        pdvc.Model(pdvc.Config.tiny(hidden=8, heads=2, norm_groups=4, word_dim=4, rnn=4, vocabulary=words)),
        procnets.Model(procnets.Config.tiny(hidden=8)),
        xml.Model(xml.Config.tiny(hidden=8, heads=2)),
        reloclnet.Model(reloclnet.Config.tiny(hidden=8, heads=2)),
        hero.Model(hero.Config.tiny(hidden=8, heads=2, vocab_size=9)),
        qd_detr.Model(qd_detr.Config.tiny(hidden=8, heads=2)),
        micap.Model(micap.Config.tiny(hidden=8, heads=2, words=30)),
    ]


def test_settings_that_predicting_may_change_are_declared_and_change_no_weight() -> None:
    for name in models.names():
        Model = models.get(name)
        assert set(Model.inference) <= {f.name for f in fields(Model.config_class)}, name
    for model in small_models():
        own = {f.name for f in fields(model.config)}
        for name in own - set(model.inference):
            with pytest.raises(SpecError, match=f"{name} is fixed once the model {model.name} is trained; --set takes"):
                configure_inference(model, {name: "77"})
        with pytest.raises(SpecError, match=f"no setting of the model {model.name} is called 'beem'; --set takes"):
            configure_inference(model, {"beem": "1"})


def test_predict_refuses_a_setting_of_the_weights(folder: Path, tmp_path: Path) -> None:
    train(folder, tmp_path / "run")
    asked: dict[str, Any] = {"features": (str(folder / "one.safetensors"),), "data": folder / "train.jsonl"}
    with pytest.raises(SpecError, match=r"hidden is fixed .* --set takes alpha, min_length, max_length, nms"):
        fabula.predict("vcmr", tmp_path / "run", **asked, set_="hidden=9")
    plain, other = (
        fabula.predict("vcmr", tmp_path / "run", **asked, set_=some).answers[0].vcmr.spans
        for some in ((), "min_length=9")
    )
    assert (plain[:, 1] - plain[:, 0]).min() < 9 <= (other[:, 1] - other[:, 0]).min()


# -- the run that is missing from the command -------------------------------------------------------------------------


def test_a_run_that_is_missing_from_the_command_is_said_so(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    film.write_bytes(b"\0\0\0\x20ftypisom" + bytes(200))
    with pytest.raises(InputError, match=r"film\.mp4: not a run; the command does not name one; name the run"):
        fabula.predict("pss", film, features=film)
    with pytest.raises(InputError, match=r"none: no such run or checkpoint"):
        fabula.predict("pss", tmp_path / "runs" / "none", videos=(film,))


def test_a_store_is_readable_as_the_users_other_files_are(tmp_path: Path) -> None:
    (tmp_path / "own").touch()
    for name in ("x.safetensors", "x.h5"):
        assert write_store(tmp_path / name).stat().st_mode == (tmp_path / "own").stat().st_mode


# -- what is said of captions, and of settings ------------------------------------------------------------------------


def test_captions_that_say_nothing_are_counted() -> None:
    some = ["a man opens the door", "", "man he he he he", None, "the man the man the man", "go , go , go away", " . "]
    said = warn_of_captions(some)
    assert said is not None
    assert said.startswith("of 6 captions 2 are empty and 2 repeat themselves, as 'man he he he he'")
    assert warn_of_captions(["a man opens and opens the door", None]) is None
    assert warn_of_captions([]) is None


def test_predict_warns_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"v0": {"duration": 30.0, "timestamps": [[2.0, 9.0]], "sentences": ["he he he"]}}
    (tmp_path / "steps.json").write_text(json.dumps(told))
    write_store(tmp_path / "s.safetensors")
    small = {
        "hidden": 8,
        "heads": 2,
        "norm_groups": 4,
        "frames": 8,
        "levels": 1,
        "feedforward": 8,
        "queries": 3,
        "rnn": 8,
    }
    given: dict[str, Any] = {"data": tmp_path / "steps.json", "features": tmp_path / "s.safetensors"}
    fabula.train("pss", **given, tiny=True, steps=1, threads=1, device="cpu", out=tmp_path / "run", set_=small)
    heard: list[str] = []
    made = fabula.predict("pss", tmp_path / "run", **given, device="cpu", callbacks=Callbacks(warn=heard.append))
    bad = warn_of_captions([e.caption for e in made["v0"].events])
    assert bad is not None and bad in heard  # a step is not enough to learn from


def test_the_list_of_settings_is_that_of_the_models() -> None:
    found: dict[str, dict[str, Any]] = {}
    for one in list_settings():
        found.setdefault(one.model, {})[one.name] = one
    assert list(found) == models.modules()
    for name, rows in found.items():
        Model = models.get(name)
        own = {f.name: f.default for f in fields(Model.config_class)}
        assert {n for n in rows if not n.startswith("--")} == set(own)
        assert {n for n, row in rows.items() if row.predicts} == set(Model.inference)
        flags = {o.name: o.flag for o in Settings.options()}
        assert {n: r.default for n, r in rows.items() if n.startswith("--")} == {
            flags[n]: str(v) for n, v in Model.recipe.items()
        }
        for n, value in own.items():
            if isinstance(value, int | float | str | bool) and rows[n].default[:1] in "0123456789TF'":
                assert eval(rows[n].default) == value, (name, n)
