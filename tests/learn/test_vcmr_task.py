"""The task vcmr: trained, resumed, asked, scored; bad input costs one line; a finder finds what predict does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import FabulaError, InputError, SpecError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.learn import checkpoint  # noqa: E402
from fabula.learn.models import hero, reloclnet, xml  # noqa: E402
from fabula.learn.options import Callbacks  # noqa: E402
from fabula.learn.retrieval.answers import score_answers  # noqa: E402
from fabula.learn.retrieval.data import Clips, Moments, Words, read_moments  # noqa: E402
from fabula.learn.retrieval.queries import CorpusQueries, answer_queries  # noqa: E402
from fabula.learn.retrieval.simulate import Recipe, simulate_moments  # noqa: E402
from fabula.learn.tasks.vcmr import words_of  # noqa: E402
from fabula.media.stores.features import Features, write_features  # noqa: E402

NOUNS = ["dog", "cat", "man", "girl", "cup", "door", "lamp", "shoe"]
DEEDS = ["opens", "throws", "holds", "eats", "drops", "washes", "paints", "hides"]
TINY: dict[str, Any] = {
    "query_dim": 16, "hidden": 16, "heads": 2, "max_clips": 24, "max_words": 8, "max_length": 8, "min_length": 1,
}  # fmt: skip


def rows_of(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Moments of count / 2 videos: two each, told apart by what is done, and in fine captions by with what."""
    rng = np.random.default_rng(first)
    rows = []
    for i in range(count):
        video, late = f"v{first + i // 2}", 10 * (i % 2)
        start = float(late + rng.integers(0, 4))
        noun, deed = rng.choice(NOUNS), rng.choice(DEEDS)
        told = {"cog_desc": f"someone {deed}", "fig_desc": f"a {rng.choice(NOUNS)} {deed} the {noun}"}
        time = [start, start + float(rng.integers(3, 6))]
        rows.append({"desc_id": first + i, "video": video, "duration": 20.0, "time": time, **told})
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vcmr")
    (folder / "splits").mkdir()
    every = []
    for split, rows in {"train": rows_of(32), "val": rows_of(12, 100)}.items():
        (folder / "splits" / f"fig_{split}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        every += rows
    (folder / "all.jsonl").write_text("".join(json.dumps(r) + "\n" for r in every))
    fine, coarse = (read_moments(folder / "all.jsonl", Notes(), g) for g in ("fig", "cog"))
    simulate_moments(fine, coarse, folder / "clips.safetensors", Recipe(dim=16, noise=0.3))
    return folder


def train(folder: Path, out: Path, **given: Any) -> dict[str, float]:
    asked: dict[str, Any] = {
        "data": folder / "splits", "features": (str(folder / "clips.safetensors"),), "tiny": True, "out": out,
        "set_": TINY, "epochs": 2, "batch_size": 16, "lr": 1e-3, "threads": 1, "device": "cpu",
    }  # fmt: skip
    return fabula.train("vcmr", **asked | given)


@pytest.mark.parametrize("model", ["xml", "reloclnet", "hero"])
def test_trained_asked_and_scored(folder: Path, tmp_path: Path, model: str) -> None:
    without = {k: v for k, v in TINY.items() if model != "hero" or k != "query_dim"}
    line = train(folder, tmp_path / "run", model=model, set_=without, train="cog", test="fig")
    assert "val_VCMR_r1@0.5" in line and line["epoch"] == 1  # two epochs, though HERO's paper counts steps
    about = json.loads((tmp_path / "run" / "config.json").read_text())
    assert json.dumps(about).count("simulated") and "cog" in json.dumps(about)
    stores, refs = (str(folder / "clips.safetensors"),), folder / "splits" / "fig_val.jsonl"
    found = fabula.predict("vcmr", tmp_path / "run", tmp_path / "found.json", features=stores, data=refs, device="cpu")
    scored = fabula.score(tmp_path / "found.json", refs, protocol="tvr")
    for name in ("VCMR", "SVMR", "VR"):
        for field, value in scored[name].values.items():
            assert found.scores()[f"{name}_{field}"] == pytest.approx(value)
    assert len(found.names) == 6 and len(found.answers) == 12


@pytest.mark.parametrize("train_on", ["cog", "fig"])
@pytest.mark.parametrize("test_on", ["cog", "fig"])
def test_a_run_is_asked_the_captions_of_its_setting(folder: Path, tmp_path: Path, train_on: str, test_on: str) -> None:
    """VERIFIED's four settings: the questions in the file are those of the run's test side."""
    train(folder, tmp_path / "run", train=train_on, test=test_on, epochs=1)
    texts = {side: {r["desc_id"]: r[f"{side}_desc"] for r in rows_of(12, 100)} for side in ("fig", "cog")}
    other = "fig" if test_on == "cog" else "cog"

    def ask(**given: Any) -> tuple[dict[str, Any], list[str]]:
        lines: list[str] = []
        fabula.predict(
            "vcmr", tmp_path / "run", tmp_path / "found.json", features=(str(folder / "clips.safetensors"),),
            data=folder / "splits", device="cpu", callbacks=Callbacks(warn=lines.append), **given,
        )  # fmt: skip
        return json.loads((tmp_path / "found.json").read_text()), [line for line in lines if "granularity" in line]

    def questions(found: dict[str, Any]) -> list[dict[int, str]]:
        return [{entry["desc_id"]: entry["desc"] for entry in found[name]} for name in ("VCMR", "SVMR", "VR")]

    found, lines = ask()
    assert questions(found) == [texts[test_on]] * 3 and not lines and "note" not in found
    note = f"--granularity {other}: the run was trained for {test_on} captions"
    found, lines = ask(granularity=other)
    assert questions(found) == [texts[other]] * 3 and lines == [note] == [found["note"]]
    found, _ = ask(granularity=other, work=tmp_path / "parts", part=5)
    assert questions(found) == [texts[other]] * 3 and found["note"] == note
    scored = fabula.score(tmp_path / "found.json", folder / "splits" / "fig_val.jsonl", protocol="tvr")
    assert not any("note" in line for line in scored.warnings)


def test_a_format_of_coarse_captions_is_a_choice_of_captions(folder: Path, tmp_path: Path) -> None:
    train(folder, tmp_path / "run", epochs=1)
    asked: dict[str, Any] = {
        "features": (str(folder / "clips.safetensors"),), "data": folder / "splits", "device": "cpu"
    }  # fmt: skip
    coarse = {r["desc_id"]: r["cog_desc"] for r in rows_of(12, 100)}
    for given in ({"format": "verified-cog"}, {"format": "verified-fig", "granularity": "cog"}):
        lines: list[str] = []
        callbacks = Callbacks(warn=lines.append)
        found = fabula.predict("vcmr", tmp_path / "run", **asked, **given, callbacks=callbacks)
        assert {id: query.text for id, query in found.queries.items()} == coarse
        assert "--granularity cog: the run was trained for fig captions" in lines
    with pytest.raises(SpecError, match=r"^--format verified-cog reads coarse captions, --granularity fig asks for"):
        fabula.predict("vcmr", tmp_path / "run", **asked, format="verified-cog", granularity="fig")


def test_a_killed_run_goes_on_as_if_never_stopped(folder: Path, tmp_path: Path) -> None:
    even = {"schedule": "constant", "warmup": 0.0}
    train(folder, tmp_path / "whole", epochs=3, **even)
    train(folder, tmp_path / "parts", epochs=2, **even)
    train(folder, tmp_path / "parts", epochs=3, resume=True, **even)
    whole, parts = ((tmp_path / run / "epochs.csv").read_text().splitlines() for run in ("whole", "parts"))
    assert [line.rpartition(",")[0] for line in whole] == [line.rpartition(",")[0] for line in parts]  # but seconds


def test_an_asked_finder_finds_what_predict_does(folder: Path, tmp_path: Path) -> None:
    train(folder, tmp_path / "run")
    stores, refs = (str(folder / "clips.safetensors"),), folder / "splits" / "fig_val.jsonl"
    found = fabula.predict("vcmr", tmp_path / "run", features=stores, data=refs, device="cpu")
    m, store = fabula.moments(tmp_path / "run"), Features(folder / "clips.safetensors")
    corpus = m.encode_all({name: store[name] for name in found.names}, rate=1.0)
    texts = [q.text for q in found.queries.values()]
    for answer, moments in zip(found.answers, m.find(corpus, texts, top=20), strict=True):
        assert [corpus.number[x.video] for x in moments] == answer.vcmr.videos[:20].tolist()
        np.testing.assert_allclose([(x.start, x.end) for x in moments], answer.vcmr.spans[:20])
    one = m.encode(store[found.names[0]], "film")
    assert {x.video for x in m.find(one, texts[0])} == {"film"}
    assert m.find(one, []) == []
    with pytest.raises(InputError, match="without words"):
        m.find(one, "?!")
    with pytest.raises(InputError, match="5 channels; the model takes 16"):
        m.encode(np.zeros((4, 5)), "film")
    with pytest.raises(InputError, match="reads features"):
        m.encode("film.mp4")
    seen = fabula.moments(tmp_path / "run", extract=lambda path: (store[found.names[0]], 1.0, 20.0))
    assert seen.find(seen.encode("film.mp4"), texts[0]) == m.find(one, texts[0])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"data": "none.jsonl"}, "none.jsonl"),
        ({"features": ("nowhere.h5",)}, "nowhere.h5"),
        ({"model": "pdvc2"}, "pdvc2"),
        ({"model": "pdvc", "set_": {}}, "this model finds no moments; there are: xml"),
        ({"preset": "charades"}, "charades-fig"),
        ({"set_": {"feature_dim": 3}}, "comes from the data"),
    ],
)
def test_bad_input_of_a_training(folder: Path, tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with pytest.raises(FabulaError, match=says):
        train(folder, tmp_path / "run", **change)
    assert not (tmp_path / "run").exists()


def test_bad_input_of_a_question(folder: Path, tmp_path: Path) -> None:
    train(folder, tmp_path / "run", epochs=1)
    stores, refs = (str(folder / "clips.safetensors"),), folder / "splits" / "fig_val.jsonl"

    def ask(**given: Any) -> Any:
        out = tmp_path / "found.json"
        try:
            asked: dict[str, Any] = {"features": stores, "data": refs, "device": "cpu", **given}
            return fabula.predict("vcmr", tmp_path / "run", out, **asked)
        finally:
            assert not out.exists()

    write_features(tmp_path / "wide.safetensors", [("v100", np.ones((20, 5), np.float32))], {})
    with pytest.raises(InputError, match="5 channels; the model takes 16"):
        ask(features=(str(tmp_path / "wide.safetensors"),))
    write_features(tmp_path / "few.safetensors", [("v100", np.ones((20, 16), np.float32))], {})
    with pytest.raises(InputError, match="cannot be compared"):
        ask(features=(str(tmp_path / "few.safetensors"),))
    with pytest.raises(InputError, match="no features of this video"):
        ask(features=(str(tmp_path / "few.safetensors"),), other_features=True)
    clips = Features(folder / "clips.safetensors")
    other = {**clips.metadata, "recipe": {**clips.metadata["recipe"], "noise": 0.7}}
    write_features(tmp_path / "other.safetensors", clips.items(), other)
    with pytest.raises(InputError, match="another way than the run's: noise"):
        ask(features=(str(tmp_path / "other.safetensors"),))
    silent = tmp_path / "silent.jsonl"
    silent.write_text(json.dumps({**rows_of(1, 100)[0], "fig_desc": "…"}) + "\n")
    with pytest.raises(InputError, match="without words"):
        ask(data=silent)
    long = tmp_path / "long.jsonl"
    long.write_text(json.dumps({**rows_of(1, 100)[0], "fig_desc": "dog " * 10_000}) + "\n")
    found = fabula.predict("vcmr", tmp_path / "run", features=stores, data=long, device="cpu")
    assert len(found.answers) == 1
    with pytest.raises(SpecError, match="form"):
        ask(form="csv")


def overfit(folder: Path, module: Any, steps: int) -> dict[str, float]:
    """SVMR of 32 moments that were learnt by heart."""
    queries = read_moments(folder / "splits" / "fig_train.jsonl", Notes())
    names = {"vocabulary": words_of(queries)} if module is hero else {"query_dim": 32, "words": "hashing"}
    torch.manual_seed(0)
    config = module.Config.tiny(feature_dim=16, hidden=32, max_clips=24, max_length=8, min_length=1, **names)
    clips, words = Clips([Features(folder / "clips.safetensors")], config), Words(config)
    data = Moments(list(queries.values()), clips, words)
    model = module.Model(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    batch = data.collate([data[i] for i in range(len(data))])
    for _ in range(steps):
        optimizer.zero_grad()
        model.loss(batch)["loss"].backward()
        optimizer.step()
    asked = CorpusQueries(queries, clips, words)
    return score_answers(answer_queries(model, asked, range(len(asked))), queries, asked.names)


@pytest.mark.experiment
@pytest.mark.parametrize("module", [xml, reloclnet, hero])
def test_32_moments_are_learnt_by_heart(folder: Path, module: Any) -> None:
    assert overfit(folder, module, 300)["SVMR_r1@0.7"] > 0.95


def test_a_video_file_is_answered_as_its_features_are(tmp_path: Path) -> None:
    """Features that were stored, and features made of the file when it is asked: the same moments."""
    above = (p / "shared" / "data" / "videos" / "charades.mp4" for p in Path(__file__).resolve().parents)
    video = next((p for p in above if p.is_file()), None)
    if video is None:
        pytest.skip("../shared/data/videos is not here: a real video is wanted")
    pytest.importorskip("av", reason="videos are read with PyAV")
    from fabula.media import extract_one, extractor

    spec = "thumbnail(fps=1)"
    frames, seconds = extract_one(video, spec)
    config = xml.Config.tiny(**TINY, feature_dim=frames.shape[1], words="hashing")
    torch.manual_seed(0)
    model = xml.Model(config)
    weights = {f"model.{name}": t for name, t in model.state_dict().items()}
    checkpoint.write(tmp_path / "last.safetensors", weights, checkpoint.header_of(model, about={"task": "vcmr"}))
    m = fabula.moments(tmp_path / "last.safetensors", extract=spec)
    write_features(tmp_path / "store.safetensors", [("film", frames)], {"rate": extractor(spec).rate})
    stored = Features(tmp_path / "store.safetensors")["film"]
    ours, theirs = m.encode(video, "film"), m.encode(stored, "film", extractor(spec).rate, seconds)
    assert m.find(ours, "a man opens the door") == m.find(theirs, "a man opens the door") != []
