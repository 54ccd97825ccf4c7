"""Pieces of training, retrieval and identity one by one: settings, rates, splits, simulated worlds, spans, words."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.data.moments import Query, Ranking  # noqa: E402
from fabula.data.stories import Corpus, Event, Segment, Story  # noqa: E402
from fabula.learn import config, simulate, splits, words  # noqa: E402
from fabula.learn.identity import film as films  # noqa: E402
from fabula.learn.identity import windows, wordpiece  # noqa: E402
from fabula.learn.loop import folder, logs, processes, schedule  # noqa: E402
from fabula.learn.noise import calibrate, ranks, texts  # noqa: E402
from fabula.learn.options import Changes, PredictOptions, Run, Settings, Share, read_pairs  # noqa: E402
from fabula.learn.retrieval import answers, decode, highlights, search  # noqa: E402
from fabula.learn.retrieval import simulate as moments  # noqa: E402
from fabula.learn.retrieval.decode import Decoding, RankedMoments  # noqa: E402
from fabula.learn.worlds import films as world  # noqa: E402
from tests.library.served import make_cast  # noqa: E402
from tests.stored import as_text, read_stored, write_stored  # noqa: E402

FOLDER = Path(__file__).parent / "pieces"


# simulated worlds, as they are


def story(**more: Any) -> Story:
    events = [Event(Segment(2, 6), "stir the soup"), Event(Segment(8, 11), "pour it")]
    return Story(more.pop("id", "v"), events, more.pop("duration", 14.0))


def digits(x: Any) -> Any:
    return [[float(f"{v:.4g}") + 0.0 for v in row] for row in np.asarray(x, dtype=np.float64).tolist()]


def write_frames() -> str:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(2, 4)).astype(np.float32)
    recipes = [
        simulate.Recipe(),
        simulate.Recipe(rate=2.0, missed=0.5, seed=3),
        simulate.Recipe(noise=0, drift=0, blur=0),
    ]
    found = [digits(simulate.frames_of(story(), vectors, recipe)) for recipe in recipes]
    return as_text([*found, digits(simulate.frames_of(Story("w", (), 3.0), vectors[:0], simulate.Recipe()))])


def write_clips() -> str:
    recipe = moments.Recipe(dim=6, distractors=1.0)
    captions = moments.Captions(6)
    fine = {k: Query(k, f"v{k % 2}", ((2.0 + k, 5.0 + k),), 14.0, f"a red dog {k}") for k in range(4)}
    coarse = {k: q._replace(text=f"a dog {k}") for k, q in fine.items()}
    pairs = moments.pair_captions(fine, coarse, captions)
    own = [m for m in pairs if m.video == "v0"]
    plain = moments.Recipe(dim=6, distractors=0.0, noise=0.0, drift=0.0, missed=0.0)
    return as_text(
        [digits(moments.make_clips("v0", 14.0, own, pairs, r)) for r in (recipe, plain, replace(recipe, clip=2.0))]
    )


WORLD = world.Recipe(seed=5, train_films=1, val_films=1, test_films=1, clips=8, face_dim=4, action_dim=3, frame_dim=3)


def write_film() -> str:
    one = world.make_film("f", WORLD)
    scenes = [asdict(scene) for scene in one.scenes]
    features = [{name: digits(np.atleast_2d(x)) for name, x in world.features_of(one, k).items()} for k in (0, 3)]
    sets = [(name, found.captions, found.clips) for name, found in world.sets_of(one, 2)]
    people = {"man": one.man, "job": one.job, "base": digits(one.base), "clip": one.clip(7)}
    return as_text({"scenes": scenes, "features": features, "sets": sets, "people": people})


def write_rates() -> str:
    kinds = [
        Settings(),
        Settings(epochs=10, decay_from=4, decay_every=2),
        Settings(epochs=10, decay_from=2, decay_every=1, decay_times=3, warmup=5),
        Settings(schedule="constant", warmup=0.1),
        Settings(schedule="linear", warmup=4, optimizer="bertadam"),
        Settings(schedule="cosine"),
        Settings(steps=40, decay_from=1),
        Settings(epochs=60, decay_from=1, decay_every=2),
    ]
    found = {}
    for k, s in enumerate(kinds):
        total = s.steps or s.epochs * 4
        found[str(k)] = {
            "rates": [f"{schedule.lr_at(s, i, 4, total):.6g}" for i in range(0, total, 3)],
            "told": schedule.describe_rates(s, 4, total),
            "warned": schedule.warn_of_rates(s, Settings(), 4, total),
            "drops": schedule.drops_of(s, 4, total),
        }
    return as_text(found)


TEXTS: dict[str, Callable[[], str]] = {
    "frames": write_frames,
    "clips": write_clips,
    "film": write_film,
    "rates": write_rates,
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_as_it_was(name):
    assert TEXTS[name]() + "\n" == read_stored(FOLDER, name)


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"rate": -1.0}, {"rate": math.inf}])
def test_rates_that_cannot_be(wrong):
    with pytest.raises(SpecError, match="features per second; it must be a positive number"):
        simulate.Recipe(**wrong)


def test_frames_that_do_not_fit(monkeypatch):
    vectors = np.ones((2, 4), np.float32)
    with pytest.raises(InputError, match="no duration"):
        simulate.frames_of(story(duration=None), vectors, simulate.Recipe())
    monkeypatch.setattr(simulate, "available", lambda: 14.0 * 40 * 4)
    with pytest.raises(
        InputError, match=r"14 s at 1 features a second take 0.0 GB of memory, 0.0 GB are free; lower --rate"
    ):
        simulate.frames_of(story(), vectors, simulate.Recipe())
    monkeypatch.setattr(simulate, "available", lambda: 14.0 * 40 * 4 + 1)
    assert simulate.frames_of(story(), vectors, simulate.Recipe()).shape == (14, 4)


def test_a_store_of_simulated_frames(tmp_path):
    corpus = Corpus({"v": story(), "w": Story("w", (), 3.0)}, "/x/name.json")
    assert simulate.simulate(corpus, tmp_path / "s.safetensors") == 2
    from fabula.media.stores.features import Features

    store = Features(tmp_path / "s.safetensors")
    assert store["v"].shape == (14, 128) and store.metadata["durations"] == {"v": 14.0, "w": 3.0}
    assert (store.metadata["simulated"], store.metadata["embedder"], store.metadata["annotations"]) == (
        True,
        "hashing",
        "name.json",
    )
    assert store.metadata["recipe"] == asdict(simulate.Recipe())
    with pytest.raises(SpecError, match="no embedder is called 'x'; there are: "):
        simulate.simulate(corpus, tmp_path / "t.safetensors", "x")


@pytest.mark.parametrize(
    "wrong", [{"clip": 0}, {"clip": math.inf}, {"dim": 0}, {"distractors": 1.1}, {"distractors": -0.1}]
)
def test_clips_that_cannot_be(wrong):
    with pytest.raises(SpecError, match="channels, a share of"):
        moments.Recipe(**wrong)


def test_stretches_in_which_nothing_happens():
    rng = np.random.default_rng(0)
    taken = np.array([1, 0, 1, 0, 0, 0, 1], bool)
    assert moments.free_stretch(taken, 9, rng) == slice(3, 6)
    found = {(s.start, s.stop) for s in (moments.free_stretch(taken, 2, rng) for _ in range(40))}
    assert found == {(3, 5), (4, 6)} and moments.free_stretch(np.array([1, 0, 1], bool), 1, rng) is None
    with pytest.raises(SpecError, match="must be of the same queries"):
        moments.pair_captions({1: Query(1, "v", ((0, 1),), 2.0, "a")}, {}, moments.Captions(4))


@pytest.mark.parametrize(
    "wrong",
    [
        {"cast": 1},
        {"clips": 4},
        {"set_clips": 0},
        {"stride": 0},
        {"pictures": 0},
        {"stay": 1.1},
        {"told": -0.1},
        {"absent": 2},
        {"bystanders": -1},
    ],
)
def test_worlds_that_cannot_be(wrong):
    with pytest.raises(SpecError, match=r"a film has at least two people|it is a probability"):
        world.Recipe(**wrong)


def test_a_world_on_disk(tmp_path):
    count = world.write_world(tmp_path / "w", WORLD)
    assert count == 4 + 1 + 1 and sorted(p.name for p in (tmp_path / "w").iterdir()) == [
        *("action.safetensors", "box.safetensors", "face.safetensors", "frame.safetensors"),
        *("test.jsonl", "train.jsonl", "val.jsonl", "who.jsonl", "who.safetensors"),
    ]
    with pytest.raises(InputError, match="exists already; choose another name, or use --overwrite"):
        world.write_world(tmp_path / "w", WORLD)
    assert world.write_world(tmp_path / "w", replace(WORLD, stride=3), overwrite=True) == 2 + 1 + 1
    assert asdict(world.Recipe()) == {
        **{
            "seed": 0,
            "train_films": 60,
            "val_films": 10,
            "test_films": 20,
            "clips": 40,
            "set_clips": 5,
            "stride": 1,
            "cast": 4,
        },
        **{"stay": 0.4, "told": 0.2, "absent": 0.15, "bystanders": 0.2, "pose": 0.7, "jitter": 0.2, "noise": 0.7},
        **{"face_dim": 64, "action_dim": 32, "frame_dim": 32, "face_eps": 0.6, "pictures": 4, "looks": 2, "actions": 6},
    }
    assert [world.Recipe().films(s) for s in ("train", "val", "test")] == [60, 10, 20]
    assert [f.name for f in world.make_films(WORLD, "val")] == ["sim-val-000"]


# settings


@dataclass(frozen=True)
class Toy:
    width: int = 8
    rate: float = 0.5
    deep: bool = False
    kind: Literal["a", "b"] = "a"
    most: int | None = None
    name: str = "x"
    sizes: tuple[int, ...] = (1, 2)
    pair: tuple[float, float] = (0.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "made"),
    [
        ({"width": "16"}, {"width": 16}),
        ({"rate": "1"}, {"rate": 1.0}),
        ({"rate": 2}, {"rate": 2.0}),
        ({"deep": "true"}, {"deep": True}),
        ({"deep": "0"}, {"deep": False}),
        ({"kind": "b"}, {"kind": "b"}),
        ({"most": "none"}, {"most": None}),
        ({"most": "7"}, {"most": 7}),
        ({"name": "none"}, {"name": "none"}),
        ({"sizes": "3, 4,"}, {"sizes": (3, 4)}),
        ({"sizes": [5]}, {"sizes": (5,)}),
        ({"pair": "0.5,2"}, {"pair": (0.5, 2.0)}),
    ],
)
def test_settings_from_text(changes, made):
    found = config.configure(Toy(), changes)
    assert found == replace(Toy(), **made) and all(type(getattr(found, n)) is type(v) for n, v in made.items())


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"widht": 3}, "no setting is called 'widht'; did you mean 'width'"),
        ({"width": "x"}, "width is 'x'; it should look like 8"),
        ({"width": -1}, "width is -1; it should look like 8"),
        ({"width": True}, "width is True"),
        ({"width": 1.5}, "width is 1.5"),
        ({"rate": "fast"}, "rate is 'fast'; it should look like 0.5"),
        ({"rate": 1e31}, "rate is"),
        ({"deep": "maybe"}, "deep is 'maybe'; it should look like False"),
        ({"kind": "c"}, "kind is 'c'; it may be a, b"),
        ({"pair": [1.0]}, "pair is"),
        ({"sizes": ["a"]}, "sizes is"),
        ({"name": 3}, "name is 3"),
        ({"most": "many"}, "most is 'many'"),
    ],
)
def test_settings_that_are_none(changes, told):
    with pytest.raises(SpecError, match=told):
        config.configure(Toy(), changes)


def test_whole_numbers_of_files_are_bounded():
    assert (
        config.fits(1 << 20, int) and not config.fits((1 << 20) + 1, int) and config.fits((1 << 20) + 1, int, 1 << 62)
    )
    assert (
        config.fits(0, int)
        and config.fits(-1e30, float)
        and not config.fits(None, int)
        and config.fits(None, int | None)
    )
    assert config.fits([1, 2], tuple[int, ...]) and not config.fits(3, tuple[int, ...]) and config.fits("x", Any)
    assert not config.fits("x", bool) and config.fits("x", str) and not config.fits(1, Literal[True])


def test_settings_that_act_on_predictions_alone():
    model = SimpleNamespace(config=Toy(), name="toy", inference=("rate",))
    config.configure_inference(model, {"rate": "2"})
    assert model.config.rate == 2.0
    with pytest.raises(SpecError, match="width is fixed once the model toy is trained; --set takes rate"):
        config.configure_inference(model, {"width": 3})
    with pytest.raises(SpecError, match="no setting of the model toy is called 'x'; --set takes rate"):
        config.configure_inference(model, {"x": 3})
    model.inference = ()
    with pytest.raises(SpecError, match="it has no setting that predicting can change"):
        config.configure_inference(model, {"width": 3})
    config.configure_inference(SimpleNamespace(), {})
    free = SimpleNamespace(config=Toy(), name="toy")
    config.configure_inference(free, {"width": 3})
    assert free.config.width == 3


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([1], "not a config"),
        ({"modle": "x"}, "an unknown key 'modle'; did you mean 'model'"),
        ({"model": 3}, "model is 3; expected a name"),
        ({"task": 3}, "task is 3; expected a name"),
        ({"config": 3}, "config is 3; expected a table"),
        ({"options": []}, r"options is \[\]; expected a table"),
        ({"task": "other"}, "of the task 'other', not 'pss'; name another file"),
    ],
)
def test_config_files_that_are_none(tmp_path, document, told):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=told):
        config.read_recipe(path, "pss")


def test_config_files(tmp_path):
    assert config.read_recipe(None, "pss") == config.Recipe()
    run = {
        "model": "pdvc",
        "settings": {"epochs": 3},
        "config": {"hidden": 4},
        "data": "x",
        "fabula": "1",
        "task": "pss",
    }
    (tmp_path / "config.json").write_text(json.dumps(run))
    assert config.read_recipe(tmp_path, "pss") == config.Recipe("pdvc", None, {"hidden": 4}, {"epochs": 3})
    (tmp_path / "c.toml").write_text('preset = "p"\n[options]\nrate = 2\n')
    assert config.read_recipe(tmp_path / "c.toml", "pss") == config.Recipe(None, "p", {}, {}, {"rate": 2})
    (tmp_path / "c.toml").write_text('model = "m"\ndata = "p"\n[settings]\nlr = 2\n')
    with pytest.raises(InputError, match="an unknown key 'data'"):
        config.read_recipe(tmp_path / "c.toml", "pss")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        *[
            ({name: 0}, f"{name} is 0; it must be at least 1")
            for name in (
                "epochs",
                "batch_size",
                "validate_every",
                "decay_every",
                "accumulate",
                "log_every",
                "steps",
                "validate_steps",
                "patience",
                "save_every",
                "threads",
            )
        ],
        *[({name: -1}, f"{name} is -1; it must be at least 0") for name in ("workers", "decay_times", "decay_from")],
        *[
            ({name: -0.1}, f"{name} is -0.1; it must be at least 0")
            for name in ("weight_decay", "eps", "warmup", "decay", "clip_norm", "clip_value", "save_minutes")
        ],
        ({"lr": 0.0}, "a learning rate of 0.0; it must be a positive number"),
        ({"lr": math.inf}, "a learning rate of inf"),
        ({"decay": math.nan}, "decay is nan"),
        ({"seed": -1}, "seed -1; it is a whole number from 0 to 4294967295"),
        ({"seed": 1 << 32}, "seed 4294967296"),
    ],
)
def test_settings_of_a_run_that_cannot_be(wrong, told):
    with pytest.raises(SpecError, match=told):
        Settings(**wrong)


def test_settings_of_a_run_at_their_ends():
    ones = dict.fromkeys(("epochs", "steps", "validate_steps", "patience", "save_every", "threads"), 1)
    zeros = dict.fromkeys(
        ("workers", "decay_times", "decay_from", "weight_decay", "eps", "warmup", "decay", "clip_norm"), 0
    )
    s = Settings(**ones, **zeros, seed=(1 << 32) - 1, best_by="SODA_c")
    assert s.best_by == ("SODA_c",) and s.seed == 4294967295 and Settings(best_by=["a", "b"]).best_by == ("a", "b")


def test_pairs_of_text():
    assert read_pairs(["a=1", " b = c=d "]) == {"a": "1", "b": "c=d"} and read_pairs("a=1") == {"a": "1"}
    assert (
        read_pairs({"a": 1}) == {"a": 1}
        and Changes(set_=["x=2"]).config() == {"x": "2"}
        and Changes().flagged() == set()
    )
    with pytest.raises(SpecError, match="--set 'a': write name=value"):
        read_pairs(["a"])
    with pytest.raises(SpecError, match="batch_size is 0; it must be at least 1"):
        PredictOptions(batch_size=0)
    assert PredictOptions(batch_size=1, set_=["a=1"]).changes() == {"a": "1"}
    assert list(Share(1, 3).of(8)) == [1, 4, 7] and list(Share().of(3)) == [0, 1, 2]


# splits


def test_the_file_of_a_split(tmp_path):
    for name in ("data.train.json", "data_val.jsonl", "training.json", "val.txt"):
        (tmp_path / name).write_text("{}")
    assert (
        splits.pick_split(tmp_path, "train").name == "data.train.json"
        and splits.pick_split(tmp_path, "val").name == "data_val.jsonl"
    )
    with pytest.raises(InputError, match="expected one file of the split 'test', saw none; name the file itself"):
        splits.pick_split(tmp_path, "test")
    (tmp_path / "b-train.json").write_text("{}")
    with pytest.raises(InputError, match=r"saw b-train.json, data.train.json"):
        splits.pick_split(tmp_path, "train")
    assert splits.pick_split(tmp_path, "val", [tmp_path / "val.txt"]).name == "val.txt"
    with pytest.raises(InputError, match=r"saw a-val.txt, b-val.txt; name"):  # by name, in whatever order they come
        splits.pick_split(tmp_path, "val", [tmp_path / "b-val.txt", tmp_path / "a-val.txt"])


@pytest.mark.parametrize(
    ("one", "targets", "fault"),
    [
        (story(), True, None),
        (story(duration=None), False, "no duration; steps are fractions of the video"),
        (Story("v", (), 3.0), True, "a video without annotation"),
        (Story("v", (), 3.0), False, None),
        (story(duration=8.0), True, "a step starts at 8 s, the video ends at 8 s"),
        (story(duration=8.1), True, None),
        (story(duration=8.0), False, None),
    ],
)
def test_faults_of_a_video(one, targets, fault):
    assert splits.find_fault(one, targets) == fault


def test_bad_videos_are_named_or_left_out():
    every = {f"v{k}": k for k in range(9)}
    bad = {f"v{k}": "odd" for k in range(8)}
    notes = Notes()
    assert splits.leave_out(every, {}, "video", "videos", "f", False, notes) == every
    with pytest.raises(InputError) as error:
        splits.leave_out(every, bad, "video", "videos", "f", False, notes)
    assert "odd; so are 7 more of 9 videos: v1, v2, v3, v4, v5, …" in str(error.value) and "--skip-bad" in str(
        error.value
    )
    with pytest.raises(InputError) as error:
        splits.leave_out(every, {"v0": "odd"}, "video", "videos", "f", None, notes)
    assert (
        "more of" not in str(error.value)
        and "skip-bad" not in str(error.value)
        and "correct the annotation" in str(error.value)
    )
    with pytest.raises(InputError) as error:
        splits.leave_out(every, dict(list(bad.items())[:6]), "video", "videos", "f", False, notes)
    assert "v1, v2, v3, v4, v5;" in str(error.value)
    assert splits.leave_out(every, bad, "video", "videos", "f", True, notes) == {"v8": 8}
    assert notes.lines()[0].startswith("8 videos are left out, as --skip-bad says")
    with pytest.raises(SpecError, match="none of the 1 videos of f is left without the bad ones"):
        splits.leave_out({"v0": 0}, {"v0": "odd"}, "video", "videos", "f", True, notes)


def store_of(durations: Any, *videos: str) -> Any:
    class Store(dict):
        path, metadata = Path("s.h5"), {"durations": durations}

    return Store(dict.fromkeys(videos))


def test_durations_of_a_store():
    notes = Notes()
    corpus = Corpus({f"v{k}": Story(f"v{k}", (), d) for k, d in enumerate((100.0, 100.0, 10.0, 10.0, None))}, "c")
    splits.compare_durations(corpus, store_of({"v0": 105.0, "v1": 105.1, "v2": 12.0, "v3": 12.1, "v4": 3.0}), notes)
    (line,) = notes.lines()
    assert (
        line.startswith("2 videos last longer or shorter in the store than the annotation says")
        and "v1" in line
        and "v3" in line
    )
    found = splits.durations_as_corpus({"a": 3, "b": 4.5, "c": 1}, store_of({}, "a", "b"))
    assert [(v, s.duration) for v, s in found.items()] == [("a", 3.0), ("b", 4.5)] and found.name == "s.h5"
    with pytest.raises(InputError, match="its duration is not known; give --data with the durations"):
        splits.durations_as_corpus({}, store_of({}, "a"))
    for wrong in (0, -1, True, "3", 1e9 + 1):
        with pytest.raises(InputError, match="the store says its duration is"):
            splits.durations_as_corpus({"a": wrong}, store_of({}, "a"))
    assert splits.durations_as_corpus({"a": 1e9}, store_of({}, "a"))["a"].duration == 1e9
    only = splits.only_with(Corpus({"a": story(), "b": story()}, "c"), store_of({}, "a"), notes)
    assert list(only) == ["a"] and notes.lines()[-1].startswith("1 videos have no features and are left out")
    with pytest.raises(SpecError, match=r"none of the 1 videos of c has features in s.h5"):
        splits.only_with(Corpus({"b": story()}, "c"), store_of({}, "a"), notes)


# the loop


def test_where_training_stands(tmp_path):
    place = folder.Place()
    place.add({"loss": 2.0})
    place.add({"loss": 4.0, "more": 1.0})
    assert place.count == 2 and place.means() == {"loss": 3.0, "more": 0.5} and folder.Place().means() == {}
    saved = asdict(place)
    assert folder.place_of(saved, tmp_path) == place
    for change in (
        {"epoch": -1},
        {"step": True},
        {"count": 1 << 53},
        {"sums": {"a": "1"}},
        {"best": []},
        {"line": {"a": 1 << 63}},
        {"more": 1},
    ):
        with pytest.raises(InputError, match="its header has no training state"):
            folder.place_of(saved | change, tmp_path)
    assert (
        folder.place_of(saved | {"step": (1 << 53) - 1, "line": {"a": (1 << 63) - 1}}, tmp_path).step == (1 << 53) - 1
    )
    with pytest.raises(InputError):
        folder.place_of(None, tmp_path)


def test_a_folder_is_replaced_only_when_told(tmp_path):
    names = (
        "config.json",
        "steps.csv",
        "epochs.csv",
        "validations.csv",
        "last.safetensors",
        "tracking.json",
        "best.x.safetensors",
    )
    for name in names:
        (tmp_path / name).write_text("x")
        with pytest.raises(
            InputError, match="holds a run already; add --resume to continue it, or --overwrite to replace it"
        ):
            folder.clear_folder(Run(out=tmp_path))
        (tmp_path / name).unlink()
    (tmp_path / "notes.txt").write_text("x")
    folder.clear_folder(Run(out=tmp_path))
    (tmp_path / "steps.csv").write_text("x")
    (tmp_path / "best.safetensors").write_text("x")
    folder.clear_folder(Run(out=tmp_path, overwrite=True))
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_what_must_agree_when_a_run_is_resumed():
    wanted = {"model": "m", "config": {"width": 8}, "settings": {"lr": 1.0, "epochs": 3}}
    file = Path("config.json")
    folder.must_agree(wanted | {"settings": {"lr": 1.0, "epochs": 9}}, wanted, file)
    for saved, told in [
        (wanted | {"model": "n"}, "a run of the model 'n', not 'm'; resume with --model 'n'"),
        (wanted | {"config": 3}, "is damaged: the settings of the run are missing"),
        ({"model": "m", "config": {}}, "is damaged"),
        ([], "is damaged"),
        (wanted | {"config": {"width": 9}}, "width was 9 and is 8 now"),
        (wanted | {"settings": {"lr": 2.0, "epochs": 3}}, "lr was 2.0 and is 1.0 now"),
    ]:
        with pytest.raises(InputError, match=told):
            folder.must_agree(saved, wanted, file)
    assert folder.describe_difference(list(range(9)), list(range(8))) == "had 9 entries and has 8 now"
    assert (
        folder.describe_difference([1] * 9, [1] * 4 + [2] * 5)
        == "had 9 entries and has 9 now; entry 4 was 1 and is 2 now"
    )
    assert folder.describe_difference([1] * 8, [2]) == "was [1, 1, 1, 1, 1, 1, 1, 1] and is [2] now"


def test_tables_of_a_run(tmp_path):
    path = tmp_path / "steps.csv"
    logs.cut(path, "step", 3)
    assert not path.exists() and logs.read_head(path) == []
    for step in (1, 2, 3):
        logs.write_line(path, {"step": step, "loss": 1 / 3})
    logs.write_line(path, {"step": 4, "loss": 2.0, "score": 0.5})
    assert path.read_text() == "step,loss,score\n1,0.3333333333,\n2,0.3333333333,\n3,0.3333333333,\n4,2,0.5\n"
    logs.write_line(path, {"step": 5})
    logs.cut(path, "step", 4)
    assert [row["step"] for row in logs.read_lines(path)] == ["1", "2", "3", "4"]
    path.write_text("step,loss\n1,2\n3,4\n2,1\nx,1\n4\n")
    logs.cut(path, "step", 3)
    assert path.read_text() == "step,loss\n1,2\n3,4\n"
    with pytest.raises(
        InputError, match=r"is damaged .it has no column 'epoch'.; delete it to continue without its lines"
    ):
        logs.cut(path, "epoch", 3)
    path.write_text("")
    logs.cut(path, "step", 3)
    assert not path.exists()


def test_names_of_trackers(tmp_path):
    run, again = Run(out=tmp_path), Run(out=tmp_path, resume=True)
    assert logs.recall_id(again, "wandb") is None
    logs.keep_id(run, "wandb", "a")
    logs.keep_id(run, "mlflow", "b")
    assert json.loads((tmp_path / "tracking.json").read_text()) == {"wandb": "a", "mlflow": "b"}
    assert (
        logs.recall_id(again, "wandb") == "a"
        and logs.recall_id(run, "wandb") is None
        and logs.recall_id(again, "x") is None
    )
    assert (
        logs.open_trackers(run, {}, 0) == [] and logs.is_installed("json") and not logs.is_installed("no_such_module_x")
    )


def test_devices_and_seeds(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert processes.find_device("auto").type == "cpu" == processes.find_device("cpu").type
    with pytest.raises(SpecError, match="no device 'cuda' on this machine; there are: cpu"):
        processes.find_device("cuda")
    with pytest.raises(SpecError, match="no device is called 'x'; there are: cpu"):
        processes.find_device("x")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert (
        str(processes.find_device("auto")) == "cuda" == str(processes.find_device("cuda"))
        and str(processes.find_device("cuda:1")) == "cuda:1"
    )
    with pytest.raises(SpecError, match="there are: cpu, cuda:0, cuda:1"):
        processes.find_device("cuda:2")
    assert processes.seed_of_process(7, 0) == 7 and processes.seed_of_process(7, 1) == 8440855546040956527
    assert len({processes.seed_of_process(s, r) for s in range(4) for r in range(1, 5)}) == 16
    assert processes.gather(3) == [3] and processes.deal_back([[0, 3], [1, 4], [2]]) == [0, 1, 2, 3, 4]


def test_groups_of_parameters():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.LayerNorm(3))
    model[0].bias.requires_grad_(False)
    (every,) = schedule.groups_of(model, Settings())
    assert len(every["params"]) == 3
    decayed, free = schedule.groups_of(model, Settings(no_decay=True))
    assert (
        [p.dim() for p in decayed["params"]] == [2]
        and [p.dim() for p in free["params"]] == [1, 1]
        and free["weight_decay"] == 0.0
    )
    model.parameter_groups = lambda settings: [{"params": [model[0].weight], "lr_scale": 0.1}]
    with pytest.raises(SpecError, match="leave parameters out, or name one twice"):
        schedule.groups_of(model, Settings())
    model.parameter_groups = lambda settings: [
        {"params": [model[0].weight], "lr_scale": 0.1},
        {"params": list(model[1].parameters())},
    ]
    kinds = {
        o: type(schedule.make_optimizer(model, Settings(optimizer=o))).__name__
        for o in ("adam", "adamw", "bert", "bertadam")
    }
    assert kinds == {"adam": "Adam", "adamw": "AdamW", "bert": "BertAdamW", "bertadam": "BertAdam"}
    optimizer = schedule.make_optimizer(model, Settings(lr=0.5, betas=(0.8, 0.9), eps=0.1, weight_decay=0.2))
    assert {k: optimizer.defaults[k] for k in ("lr", "betas", "eps", "weight_decay")} == {
        "lr": 0.5,
        "betas": (0.8, 0.9),
        "eps": 0.1,
        "weight_decay": 0.2,
    }
    schedule.set_rate(optimizer, 2.0)
    assert [g["lr"] for g in optimizer.param_groups] == [0.2, 2.0]


# spans


@pytest.mark.parametrize(
    "wrong", [{"min_length": 12}, {"min_length": -1}, {"videos": 0}, {"before_nms": 0}, {"after_nms": 0}]
)
def test_decodings_that_cannot_be(wrong):
    with pytest.raises(SpecError, match=r"the first must be smaller|must be at least 1"):
        Decoding(**wrong)


def test_decodings_as_they_are():
    assert asdict(Decoding()) == {
        **{"clip": 1.0, "alpha": 20.0, "min_length": 2, "max_length": 12, "nms": 0.6, "end": "inside", "videos": 100},
        **{"before_nms": 200, "after_nms": 100, "late": "cut", "nms_reads": "all", "own_nms": "right", "unravel": None},
    }
    assert decode.PUBLISHED == {
        "tvr": {"end": "inside", "late": "kept", "nms_reads": "listed"},
        "reloclnet": {"end": "past", "late": "kept", "nms_reads": "listed", "own_nms": "shifted"},
        "hero": {"end": "inside", "late": "kept", "nms_reads": "listed"},
        "qvhighlights": {"end": "inside", "late": "kept"},
    }
    like = SimpleNamespace(clip=2.0, alpha=3.0, min_length=0, max_length=1, nms=None, end="past")
    assert Decoding.of(like, videos=7) == Decoding(2.0, 3.0, 0, 1, None, "past", 7)


def test_the_best_spans_of_two_rows():
    start = torch.tensor([[[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]])
    end = torch.tensor([[[0.1, 0.6, 0.3], [0.2, 0.3, 0.5]]])
    d = Decoding(min_length=0, max_length=2, before_nms=3)
    found = decode.score_spans(start, end, torch.tensor([[1.0, 2.0]]), d)
    assert (
        found.row.tolist() == [[1, 0, 1]] and found.first.tolist() == [[2, 0, 1]] and found.last.tolist() == [[2, 1, 2]]
    )
    assert found.score[0].tolist() == pytest.approx([0.7, 0.3, 0.2])
    none = decode.score_spans(start, end, torch.ones(1, 2), Decoding(min_length=3))
    assert none.score.shape == (1, 0)
    same = decode.score_spans(start, end, torch.tensor([[1.0, 2.0]]), replace(d, unravel=3))
    assert same.row.tolist() == found.row.tolist() and same.last.tolist() == found.last.tolist()


def ranked(*rows: tuple[int, float, float, float]) -> RankedMoments:
    video, start, end, score = zip(*rows, strict=True)
    return RankedMoments(
        torch.tensor([video]),
        torch.tensor([list(zip(start, end, strict=True))], dtype=torch.float64),
        torch.tensor([score]),
    )


def test_moments_that_overlap_a_better_one_go():
    some = ranked((0, 0, 10, 0.9), (0, 1, 10, 0.8), (1, 0, 10, 0.7), (0, 4, 10, 0.6), (0, 0, 0, 0.0))
    listed, best = decode.rank_moments(some, Decoding(nms=0.6))
    assert listed.score[0].tolist() == pytest.approx([0.9, 0.8, 0.7, 0.6, 0.0])
    assert (
        best.video[0].tolist()[:3] == [0, 1, 0]
        and best.span[0, 2].tolist() == [4, 10]
        and best.score[0].tolist() == pytest.approx([0.9, 0.7, 0.6, 0, 0])
    )
    assert decode.rank_moments(some, Decoding(nms=0.5))[1].score[0].tolist() == pytest.approx([0.9, 0.7, 0, 0, 0])
    assert decode.rank_moments(some, Decoding(nms=None))[1].score[0].tolist() == pytest.approx(
        [0.9, 0.8, 0.7, 0.6, 0.0]
    )
    short, short_best = decode.rank_moments(some, Decoding(after_nms=2))
    assert short.score.shape == (1, 2) and short_best.score[0].tolist() == pytest.approx([0.9, 0.7])
    listed_only = decode.rank_moments(some, Decoding(after_nms=2, nms_reads="listed"))[1]
    assert listed_only.score[0].tolist() == pytest.approx([0.9, 0.0])


def test_seconds_of_spans():
    spans = decode.Spans(torch.tensor([[0, 0]]), torch.tensor([[1, 2]]), torch.tensor([[3, 4]]), torch.ones(1, 2))
    offset, duration = torch.tensor([[0, 10]]), torch.tensor([[100.0, 14.5]])
    inside, past = Decoding(), Decoding(late="kept", end="past", clip=2.0)
    assert decode.to_seconds(spans, offset, duration, inside).tolist() == [[[1, 4], [12, 14.5]]]
    assert decode.to_seconds(spans, offset, duration, past).tolist() == [[[2, 6], [24, 28]]]


# search


@pytest.mark.parametrize(
    ("clips", "most", "overlap", "places"),
    [
        (5, 5, 2, [(0, 5)]),
        (6, 5, 2, [(0, 5), (1, 6)]),
        (9, 5, 2, [(0, 5), (3, 8), (4, 9)]),
        (8, 5, 2, [(0, 5), (3, 8)]),
        (0, 5, 2, [(0, 0)]),
    ],
)
def test_windows_of_a_long_video(clips, most, overlap, places):
    assert search.cut_windows(clips, most, overlap) == places
    with pytest.raises(SpecError, match="windows of 5 clips cannot share 5"):
        search.cut_windows(9, 5, 5)
    assert (
        search.overlap_of(SimpleNamespace(max_length=12, max_clips=48)) == 12
        and search.overlap_of(SimpleNamespace(max_length=12, max_clips=9)) == 4
    )


def corpus_of(owner: list[int], names: str = "ab") -> search.Corpus:
    n = len(owner)
    rows = search.Videos(torch.zeros(n, 3, 2), torch.zeros(n, 3, 2), torch.ones(n, 3, dtype=torch.bool))
    return search.Corpus(list(names), torch.tensor([9.0] * len(names)), rows, torch.tensor(owner), torch.arange(n))


def test_rows_and_their_videos():
    one = corpus_of([0, 0, 0, 1])
    assert (
        one.counts.tolist() == [3, 1]
        and one.firsts.tolist() == [0, 3]
        and one.number == {"a": 0, "b": 1}
        and len(one) == 2
    )
    at, there = search.rows_of(torch.tensor([[1], [0]]), one)
    assert at.tolist() == [[3, 3, 3], [0, 1, 2]] and there.tolist() == [[True, False, False], [True, True, True]]
    at, there = search.rows_of(torch.tensor([[1, 0]]), one)
    assert at.tolist() == [[3, 0, 1, 2]] and there.all()
    scores = torch.tensor([[1.0, 5.0, 2.0, 4.0]])
    assert search.best_rows(scores, one).tolist() == [[5.0, 4.0]]
    with pytest.raises(SpecError, match="a video is twice in the corpus"):
        corpus_of([0, 1], "aa")


def test_clips_are_compared_row_by_row():
    clips = torch.arange(12.0).reshape(3, 2, 2)
    query = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    found = search.compare_clips(query, clips, torch.tensor([[2, 0], [1, 1]]))
    assert found.tolist() == [[[8, 10], [0, 2]], [[10, 14], [10, 14]]]


def test_batches_of_rows_are_joined():
    windows_ = [search.Window(k, 0, torch.zeros(1, 1)) for k in range(5)]
    assert [[w.video for w in part] for part in search.batch_rows(iter(windows_), 2)] == [[0, 1], [2, 3], [4]]
    parts = [
        search.Videos(torch.ones(1, 2, 1), torch.full((1, 2, 1), 2.0), torch.ones(1, 2, dtype=torch.bool)),
        search.Videos(torch.full((2, 3, 1), 3.0), torch.full((2, 3, 1), 4.0), torch.ones(2, 3, dtype=torch.bool)),
    ]
    joined = search.join_videos(parts, 3)
    assert joined.search[..., 0].tolist() == [[1, 1, 0], [3, 3, 3], [3, 3, 3]] and joined.spans[0, :, 0].tolist() == [
        2,
        2,
        0,
    ]
    assert joined.mask.tolist() == [[True, True, False], [True] * 3, [True] * 3]
    same = search.Videos(parts[0].search, parts[0].search, parts[0].mask)
    both = search.join_videos([same, same], 2)
    assert both.search is both.spans


# files of answers


def ranking(*rows: tuple[float, float, float], videos: list[int] | None = None, saliency: Any = None) -> Ranking:
    spans = np.array([r[:2] for r in rows], dtype=np.float64).reshape(-1, 2)
    numbers = None if videos is None else np.array(videos)
    return Ranking(7, spans, np.array([r[2] for r in rows]), numbers, saliency)


FOUND = answers.Answer(7, ranking((0, 1, 0.5), (2, 3, 0.25), videos=[1, 0]), ranking((1, 2, 0.75), videos=[0]), None)
ASKED = {7: Query(7, "b", ((0, 1),), 9.0, "a dog")}


def test_files_of_answers(tmp_path):
    path = tmp_path / "p"
    answers.write_answers(path, "tvr", [FOUND], ASKED, ["a", "b"])
    assert json.loads(path.read_text()) == {
        "video2idx": {"a": 0, "b": 1},
        "VCMR": [{"desc_id": 7, "desc": "a dog", "predictions": [[1, 0.0, 1.0, 0.5], [0, 2.0, 3.0, 0.25]]}],
        "SVMR": [{"desc_id": 7, "desc": "a dog", "predictions": [[0, 1.0, 2.0, 0.75]]}],
    }
    answers.write_answers(path, "qvhighlights", [FOUND], ASKED, ["a", "b"])
    assert json.loads(path.read_text()) == {
        "qid": 7,
        "query": "a dog",
        "vid": "b",
        "pred_relevant_windows": [[1.0, 2.0, 0.75]],
    }
    marked = answers.Answer(7, svmr=ranking((1, 2, 0.75), saliency=np.array([0.5, 1.0])))
    assert json.loads(answers.qvhighlights_line(marked, ASKED[7]))["pred_saliency_scores"] == [0.5, 1.0]
    with pytest.raises(SpecError, match="there are none"):
        answers.qvhighlights_line(answers.Answer(7), ASKED[7])
    with pytest.raises(SpecError, match="no form of predictions is called 'x'; there are: tvr, qvhighlights, lines"):
        answers.write_answers(path, "x", [FOUND], ASKED, ["a", "b"])
    answers.write_answers(path, "lines", [FOUND], ASKED, ["a", "b"])
    assert json.loads(path.read_text())["videos"] == ["b", "a"]
    parts = answers.fragments([FOUND], ASKED, ["a", "b"], "tvr")
    assert list(parts) == ["VCMR", "SVMR"] and list(answers.fragments([FOUND], ASKED, ["a", "b"], "lines")) == ["lines"]
    assert [name for name, _ in FOUND.lists()] == ["VCMR", "SVMR"]
    assert answers.place_ranking(FOUND.svmr, 4).videos.tolist() == [4]


def test_rankings_of_a_block():
    some = ranked((0, 0, 10, 0.9), (1, 1, 10, 0.8), (0, 0, 0, 0.0))
    found = answers.rank_found(3, some, 0)
    assert (
        found.spans.tolist() == [[0, 10], [1, 10]]
        and found.videos.tolist() == [0, 1]
        and answers.rank_found(3, None, 0) is None
    )
    videos = answers.rank_videos(3, torch.tensor([[2, 1]]), torch.tensor([[0.5, 0.25]]), 0)
    assert (
        videos.spans.tolist() == [[0, 0], [0, 0]]
        and videos.scores.tolist() == [0.5, 0.25]
        and answers.rank_videos(3, None, None, 0) is None
    )


# highlights


def test_windows_as_fractions():
    query = Query(1, "v", ((6.0, 10.0), (0.0, 3.0), (18.0, 30.0)), 20.0)
    assert highlights.place_windows(query, 0, 10, 2.0).tolist() == [
        pytest.approx([0, 0.15]),
        pytest.approx([0.3, 0.5]),
        pytest.approx([0.9, 1]),
    ]
    assert highlights.place_windows(query, 2, 6, 2.0).tolist() == [pytest.approx([0.25, 0.75])]
    many = torch.arange(8.0).reshape(4, 2)
    assert highlights.draw_windows(many, None) is many and highlights.draw_windows(many, 4) is many
    drawn = highlights.draw_windows(many, 2)
    assert len(drawn) == 2 and drawn[0, 0] < drawn[1, 0]


def test_marks_of_clips():
    plain = Query(1, "v", ((2.0, 5.9), (9.2, 9.4)), 20.0)
    marks, relevant = highlights.mark_clips(plain, 0, 6, 2.0)
    assert marks.tolist() == [0, 1, 1, 0, 1, 0] and relevant.tolist() == [False, True, True, False, True, False]
    rated = plain._replace(saliency=SimpleNamespace(clips=(1, 3, 9), marks=((1, 2), (0, 0), (4, 4))))
    marks, relevant = highlights.mark_clips(rated, 1, 5, 2.0)
    assert marks.tolist() == [3, 0, 0, 0] and relevant.tolist() == [True, False, True, False]


def test_pairs_of_clips():
    assert highlights.draw_pairs(torch.zeros(3), torch.zeros(3, dtype=torch.bool)).tolist() == [[0, 0], [0, 0]]
    every = highlights.draw_pairs(torch.tensor([3.0, 1.0, 2.0]), torch.ones(3, dtype=torch.bool))
    assert every.tolist() == [[0, 0], [1, 1]]
    for _ in range(5):
        (best, good), (worst, bad) = highlights.draw_pairs(
            torch.tensor([0.0, 5.0, 2.0, 0.0]), torch.tensor([False, True, True, False])
        ).tolist()
        assert (best, worst) == (1, 2) and good in (1, 2) and bad in (0, 3)


def test_answers_about_windows_are_joined():
    c = SimpleNamespace(clip=2.0, join=0.5, nms=None)
    first = ranking((0, 4, 0.9), (6, 10, 0.5), saliency=np.array([1.0, 2.0, 3.0]))
    second = ranking((2, 6, 0.8), (0, 1, 0.1), saliency=np.array([5.0, 7.0]))
    found = highlights.join_windows(7, [first, second], [0, 2], c)
    assert found.spans.tolist() == [[0, 4], [6, 10], [4, 5]] and found.scores.tolist() == [0.9, 0.8, 0.1]
    assert found.saliency.tolist() == [1.0, 2.0, 4.0, 7.0]
    assert (
        len(highlights.join_windows(7, [first, second], [0, 2], SimpleNamespace(clip=2.0, join=1.0, nms=None)).spans)
        == 4
    )


# words


def test_words_of_captions(tmp_path):
    assert words.words_of('Don\'t: stir, the-soup_now!? "50%"\\n(hot)') == [
        "don't",
        "stir",
        "the",
        "soup",
        "now",
        "50%",
        "(hot)",
    ]
    vocabulary = words.Vocabulary.build(["b a", "a c", "a b <unk>"], 2)
    assert vocabulary.words == ("a", "b", "<unk>") and len(vocabulary) == 3
    assert words.Vocabulary.build(["b a", "a c"]).words == ("a", "b", "c", "<unk>")
    assert (
        vocabulary.encode("a x b b", 5) == [0, 1, 3, 2, 0]
        and vocabulary.decode([1, 2, 0, 1]) == "a b."
        and vocabulary.decode([0]) == ""
    )
    assert vocabulary.decode([2]) == "b."
    vocabulary.save(tmp_path / "v.json")
    assert words.Vocabulary.load(tmp_path / "v.json") == vocabulary
    for wrong in ((), ("a",), ("a", "a", "<unk>")):
        with pytest.raises(InputError, match="not a vocabulary: words must be distinct and end in"):
            words.Vocabulary(wrong)
    (tmp_path / "v.json").write_text("[]")
    with pytest.raises(InputError, match="not a vocabulary"):
        words.Vocabulary.load(tmp_path / "v.json")


@pytest.mark.parametrize(
    ("caption", "circles"),
    [
        ("he he he", True),
        ("he he", False),
        ("the man the man the man", True),
        ("the man the man", False),
        ("a b a b a c", False),
        ("x the man the man the man y", True),
    ],
)
def test_captions_that_go_in_circles(caption, circles):
    assert words.goes_in_circles(caption) is circles


def test_a_warning_of_captions():
    assert words.warn_of_captions(["a dog", None]) is None
    told = words.warn_of_captions(["...", "he he he", "the man the man the man", "a dog", None])
    assert (
        told == "of 4 captions 1 are empty and 2 repeat themselves, as 'he he he': the model may have learnt too little"
    )
    assert words.warn_of_captions(["."]) == "of 1 captions 1 are empty: the model may have learnt too little"


def test_pieces_that_are_trained():
    captions = ["P1 waits.", "P2 waits by the water.", "the water waits"]
    pieces = wordpiece.train_pieces(captions, 40, 2)
    assert (
        pieces[:5] == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        and len(pieces) <= 40
        and "waits" in pieces
        and "P1" not in pieces
    )
    assert pieces == wordpiece.train_pieces(list(captions), 40, 2)
    few = wordpiece.train_pieces(captions, 24, 2)
    assert len(few) < len(pieces) and set(few) < set(pieces)
    assert len(wordpiece.train_pieces(captions, 40, 4)) < len(pieces)


def test_blanks_are_filled():
    filled, who = wordpiece.fill_blanks(["P1 sees ___.", "SOMEONE and [BLANK]"], ["P1", "P2", "P1", "P3"])
    assert filled == ["P1 sees P2.", "P1 and P3"] and who == [["P1", "P2"], ["P1", "P3"]]
    with pytest.raises(InputError, match="an id 'P2' for no blank; an id a blank"):
        wordpiece.fill_blanks(["___ sits"], ["P1", "P2"])
    assert wordpiece.mask_people(["P1 sees the old red P2 by the big blue sea"]) == [
        [
            ("someone sees the old red someone by the big blue sea", "blank sees the old"),
            ("someone sees the old red someone by the big blue sea", "the old red blank by the big"),
        ]
    ]


# people of films


def test_the_surest_pairs_first():
    assert windows.pair_off({(0, 0): 0.9, (0, 1): 0.8, (1, 0): 0.95, (1, 1): 0.1}) == {1: 0, 0: 1}
    assert windows.pair_off({(0, 0): 0.5, (1, 0): 0.5}) == {0: 0} and windows.pair_off({}) == {}
    assert (
        windows.cosine(np.array([3.0, 0.0]), np.array([1.0, 1.0])) == pytest.approx(0.5**0.5)
        and windows.cosine(np.zeros(2), np.ones(2)) == 0.0
    )


def test_captions_of_a_row():
    c = SimpleNamespace(sep=3, start=90, end=91)
    assert windows.split_captions([90, 5, 6, 3, 7, 3, 91], c, 2) == [[5, 6], [7]]
    assert windows.split_captions([90, 5, 3, 91], c, 3) == [[5], [], []] and windows.split_captions(
        [5, 3, 6, 3, 7], c, 1
    ) == [[5]]


def test_people_of_a_film():
    cast = make_cast("Anna")
    found = SimpleNamespace(cast=cast)
    listed, number = films.people_of_film(found, "flag", {1: {0: 3.0, 1: 1.0}, 2: {1: 1.0}})
    assert number == {1: 0, 2: 1} and [one["number"] for one in listed] == [1, 2]
    assert [(one["who"], one["name"], one["faces"]) for one in listed] == [(0, "Anna", 5), (1, None, 4)]
    listed, number = films.people_of_film(found, "flag", {})
    assert number == {} and [one["who"] for one in listed] == [0, 1] and listed[0]["number"] is None
    nameless = replace(cast, names={})
    more = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1])
    listed, _ = films.people_of_film(SimpleNamespace(cast=replace(nameless, person=more)), "flag", {})
    assert [one["who"] for one in listed] == [1, 0]  # who is seen more often first
    assert films.people_of_film(SimpleNamespace(cast=None), "flag", {}) == ([], {})
    tracks = replace(cast.faces, track=np.array([5, 9, 9, 9, 7, 7, 7, 7, 7]))
    seen = replace(cast, faces=tracks, person=np.zeros(9, np.int64), thumbs={5: b"5", 7: b"7", 9: b"9"})
    (one,), _ = films.people_of_film(SimpleNamespace(cast=seen), "flag", {1: {0: 1.0}})
    assert one["pictures"] == [b"7", b"9", b"5"] and one["spans"] == [(0.0, 0.0), (0.5, 5.0), (5.5, 7.5)]
    assert films.people_of_film(SimpleNamespace(cast=cast), "flag", {1: {0: 3.0, 1: 7.1}})[1] == {1: 1}
    assert films.people_of_film(SimpleNamespace(cast=cast), "flag", {1: {0: 7.1, 1: 3.0}, 2: {1: 3.0, 9: 7.0}})[1] == {
        1: 0,
        2: 9,
    }


def test_how_a_film_was_read():
    cast = SimpleNamespace(metadata={"licence": {"faces": "MIT"}})
    recipes = {"face": {"extractor": "x"}, "text": None}
    assert films.describe_films(SimpleNamespace(cast=cast), recipes) == [
        *("features as the run's: face: x", "licence of the weights that found the faces: faces: MIT")
    ]
    assert films.describe_films(SimpleNamespace(cast=None), {}) == []


# the noise evaluator


def test_captions_that_are_beaten():
    wrong = [texts.Wrong("a", "static"), texts.Wrong("b", "static"), texts.Wrong("c", "dynamic")]
    assert ranks.rank_row(0.5, [0.4, 0.5, 0.3], wrong) == {"static": 0.75, "dynamic": 1.0, "all": 0.0}
    assert ranks.rank_row(0.5, [0.4], wrong[:1]) == {"static": 1.0, "all": 1.0} and ranks.rank_row(0.5, [], []) == {}
    folded = ranks.fold([{"static": 1.0, "all": 1.0}, {"static": 0.5, "all": 0.0}])
    assert folded["static"] == 0.75 and folded["all"] == 0.5 and math.isnan(folded["dynamic"])


def test_texts_of_a_moment():
    given = {"true": ("A person opens one door.",), "static": ("a cat", "A person opens a door")}
    found = texts.make_texts("A person opens a door.", given)
    assert found.true == ("A person opens a door.", "A person opens one door.")
    assert [w.text for w in found.wrong if w.kind == "static"] == ["a cat"] and all(
        w.rule for w in found.wrong if w.kind == "dynamic"
    )
    assert len(list(texts.make_texts("The man opens a red door slowly", None, 1).wrong)) == 2
    notes = Notes()
    queries = [Query(1, "v", ((0, 1),), 9.0, "Nothing here."), Query(2, "v", ((0, 1),), 9.0, "A man opens a red door")]
    made = texts.texts_of(queries, {2: {}}, notes)
    assert list(made) == [1, 2] and any("1 moments are not in the file of rewrites" in line for line in notes.lines())
    assert any("1 captions have no static disturbed one" in line for line in notes.lines())


def test_maps_of_confidence(tmp_path):
    plain = calibrate.fit([0.0, 1.0, 2.0], [False, True, True], "none")
    assert plain == calibrate.CaptionCalibration("none", 1.0, 0.0, 3) and plain([0.0]).tolist() == [0.5]
    rng = np.random.default_rng(0)
    c = rng.normal(size=200)
    y = rng.random(200) < 1 / (1 + np.exp(-(2 * c + 1)))
    platt, warm = calibrate.fit(c, y), calibrate.fit(c, y, "temperature")
    assert platt.kind == "platt" and platt.b != 0 and warm.b == 0 and platt.captions == 200 and 1 < platt.a < 3.5
    for wrong, told in [
        ((c, y, "x"), "no calibration is called 'x'"),
        ((c, np.ones(200)), "needs true and wrong"),
        ((c, np.zeros(200)), "needs true and wrong"),
        (([np.nan, 1.0], [True, False]), "finite scores"),
    ]:
        with pytest.raises(SpecError, match=told):
            calibrate.fit(*wrong)
    path = tmp_path / "c.json"
    calibrate.write_calibration(path, replace(platt, weights="w"))
    assert calibrate.read_calibration(path, "w") == replace(platt, weights="w")
    with pytest.raises(InputError, match="a calibration of another model; fit one with this model: --fit FILE"):
        calibrate.read_calibration(path, "v")
    path.write_text(json.dumps(asdict(platt) | {"kind": "x"}))
    with pytest.raises(InputError, match="no calibration"):
        calibrate.read_calibration(path, "w")


if __name__ == "__main__":
    write_stored(FOLDER, TEXTS)
