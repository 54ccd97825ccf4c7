"""From a raw video to steps with times: what a model says of a film is what it says of the film's stored features."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import fabula
from fabula.media.calls import extract_features
from fabula.media.options import ExtractOptions
from fabula.verbs.command_line import main
from tests.media.conftest import write_video

pytest.importorskip("torch", reason="models need fabula[learn]")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A tiny model trained for two epochs on the features of two films, and the films."""
    folder = tmp_path_factory.mktemp("raw")
    rng = np.random.default_rng(0)
    films = [write_video(folder / f"film{i}.mkv", rng.integers(0, 256, (40, 48, 64, 3), np.uint8)) for i in range(2)]
    extract_features(films, ExtractOptions(with_="thumbnail(fps=5)", out=folder / "store.safetensors"))
    steps = {f"film{i}": {"duration": 4.0, "timestamps": [[0, 2], [2, 4]], "sentences": ["a", "b"]} for i in range(2)}
    (folder / "steps.json").write_text(json.dumps(steps))
    fabula.train(
        "pss", data=folder / "steps.json", features=folder / "store.safetensors", tiny=True, captioner="none",
        epochs=2, out=folder / "run",
    )  # fmt: skip
    return folder


@pytest.fixture
def ask(monkeypatch, capfd):
    """`fabula predict pss …`: its exit code, and what it said."""

    def ask(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["fabula", "predict", "pss", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        return code, capfd.readouterr().err

    return ask


def test_raw_video_and_stored_features_give_the_same_steps(run):
    raw = fabula.predict("pss", run / "run", videos=(run / "film0.mkv",))
    stored = fabula.predict("pss", run / "run", features=run / "store.safetensors")
    assert len(raw) == 1 and raw["film0"].events
    one, other = raw["film0"], stored["film0"]
    assert (one.id, one.duration, len(one.events)) == (other.id, other.duration, len(other.events))
    for a, b in zip(one.events, other.events, strict=True):  # one film alone and three at once: other last digits
        assert [a.segment.start, a.segment.end, a.score] == pytest.approx(
            [b.segment.start, b.segment.end, b.score], abs=1e-5
        )


def test_a_page_beside_the_video(run, ask):
    out, page = run / "steps.out.json", run / "page.html"
    assert ask(run / "run", run / "film1.mkv", "-o", out, "--page", page)[0] == 0
    assert json.loads(out.read_text())["results"].keys() == {"film1"}
    assert "<h1>Steps, predicted</h1>" in page.read_text()
    assert ask(run / "run", run / "film1.mkv", "-o", run / "other.json", "--page", page)[0] == 2  # there already
    assert not (run / "other.json").exists()


@pytest.mark.parametrize(
    "arguments, said",
    [
        ((), "name raw videos, or --features"),
        (("film0.mkv", "--features", "store.safetensors"), "one of the two"),
        (("film0.mkv", "--rate", "2"), "--rate has no effect for raw videos"),
        (("nothere.mkv",), "no such file"),
        (("steps.json",), "cannot be read as a video"),
    ],
)
def test_what_cannot_be_asked(run, ask, monkeypatch, arguments, said):
    monkeypatch.chdir(run)
    code, error = ask("run", *arguments, "-o", "none.json")
    assert code == 2 and said in error
    assert not (run / "none.json").exists()


def test_a_store_of_another_recipe_is_refused_unless_told(run, ask):
    extract_features([run / "film0.mkv"], ExtractOptions(with_="thumbnail(fps=2)", out=run / "slow.safetensors"))
    given = (run / "run", "--features", run / "slow.safetensors", "-o", run / "slow.json")
    code, error = ask(*given)
    assert code == 2 and "made in another way than the run's: fps is 2" in error
    code, error = ask(*given, "--other-features")
    assert code == 0 and "fps is 2" in error


def test_a_run_is_not_resumed_with_features_of_another_recipe(run):
    again = {"data": run / "steps.json", "tiny": True, "captioner": "none", "epochs": 3, "out": run / "run"}
    films = [run / f"film{i}.mkv" for i in range(2)]
    extract_features(films, ExtractOptions(with_="thumbnail(fps=4)", out=run / "four.safetensors"))
    with pytest.raises(fabula.FabulaError, match="made in another way"):
        fabula.train("pss", features=run / "four.safetensors", resume=True, **again)
