"""What `fabula annotate export` wrote, as other verbs and other people's programs read it."""

from __future__ import annotations

import json
import math
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")

import fabula
from fabula.annotation import benchmark as api
from fabula.annotation.export import Export, write_potato
from fabula.annotation.recipe import RecipeOptions
from fabula.annotation.stats import MARK, Row
from fabula.core.errors import InputError
from fabula.verbs.training.simulate import simulate
from tests.annotation.toys import make_moments, write_moments


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The benchmark of 24 moments, some of them of one video."""
    place = tmp_path_factory.mktemp("export")
    moments = write_moments(place / "m.jsonl", 24)
    api.run(moments, options=api.RunOptions(store=place / "s"), recipe=RecipeOptions(blind=True))
    api.export(api.ExportOptions(store=place / "s", out=place / "out", layouts=("label-studio", "potato")))
    return place / "out"


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lint_finds_no_error(folder):
    assert fabula.lint(folder / "train.jsonl").sound


def test_marks_are_written_as_logits(folder, tmp_path):
    out = tmp_path / "logits"
    api.export(api.ExportOptions(store=folder.parent / "s", out=out, logits=True))
    for mark, logit in zip(rows(folder / "train.jsonl"), rows(out / "train.jsonl"), strict=True):
        p = min(0.995, max(0.005, mark["fig_desc_score"] / 100))
        assert logit["fig_desc_score"] == pytest.approx(math.log(p / (1 - p)), abs=1e-5)
        assert {k: v for k, v in mark.items() if k != "fig_desc_score"} == {
            k: v for k, v in logit.items() if k != "fig_desc_score"
        }


def test_it_is_trained_on_predicted_and_scored(folder, tmp_path):
    pytest.importorskip("torch", reason="training needs fabula[learn]")
    pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")
    lines = rows(folder / "train.jsonl")
    assert len(lines) == len(make_moments(24))
    clips = tmp_path / "clips.safetensors"
    simulate([folder / "train.jsonl"], out=clips)
    small = {"query_dim": 16, "hidden": 16, "heads": 2, "max_clips": 100, "max_words": 16}
    given = {"tiny": True, "epochs": 1, "threads": 1, "device": "cpu", "set_": small}
    line = fabula.train("vcmr", data=folder / "train.jsonl", features=(str(clips),), out=tmp_path / "run", **given)
    assert line["loss"] > 0
    found = tmp_path / "found.json"
    fabula.predict("vcmr", tmp_path / "run", found, features=(str(clips),), data=folder / "train.jsonl", device="cpu")
    scored = fabula.score(found, folder / "train.jsonl", protocol="tvr")
    assert scored["VR"].values["r100"] == 1 and 0 <= scored["VCMR"].values["r1@0.5"] <= 1


def test_the_noise_evaluator_is_trained_on_it(folder, tmp_path):
    pytest.importorskip("torch", reason="training needs fabula[learn]")
    pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")
    clips = tmp_path / "clips.safetensors"
    simulate([folder / "train.jsonl"], out=clips)
    given = {"tiny": True, "epochs": 1, "threads": 1, "device": "cpu", "set_": {"hidden": 16, "heads": 2}}
    line = fabula.train("noise", data=folder / "train.jsonl", features=(str(clips),), out=tmp_path / "run", **given)
    assert line["loss"] > 0


def test_label_studio_finds_what_its_page_names(folder):
    """Every $name of the settings is in the data of every task, and every toName is a name."""
    page = ElementTree.fromstring((folder / "label_studio" / "config.xml").read_text())
    tasks = json.loads((folder / "label_studio" / "tasks.json").read_text())
    wanted = {part.get("value", "")[1:] for part in page if part.get("value", "").startswith("$")}
    assert wanted and all(wanted <= task["data"].keys() for task in tasks)
    names = {part.get("name") for part in page}
    assert {part.get("toName") for part in page if part.get("toName")} <= names


def test_potato_finds_what_its_settings_name(folder):
    config = json.loads((folder / "potato" / "config.yaml").read_text())
    items = rows(folder / "potato" / config["data_files"][0])
    keys = config["item_properties"]
    assert len({item[keys["id_key"]] for item in items}) == len(items) == 24
    assert all(isinstance(item[keys["text_key"]], str) for item in items)
    assert [scheme["name"] for scheme in config["annotation_schemes"]] == ["static", "dynamic", "accuracy"]


def test_the_head_of_the_card_names_the_files(folder):
    yaml = pytest.importorskip("yaml", reason="PyYAML reads the head as Hugging Face does")
    head = yaml.safe_load((folder / "README.md").read_text().split("---")[1])
    files = head["configs"][0]["data_files"]
    assert [(f["split"], (folder / f["path"]).is_file()) for f in files] == [("train", True)]
    assert head["license"] and head["language"] == ["en"]


def test_datasets_loads_the_folder(folder, tmp_path):
    datasets = pytest.importorskip("datasets", reason="Hugging Face's datasets is not installed")
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path))
    assert loaded["train"].num_rows == 24 and "fig_desc" in loaded["train"].column_names


@pytest.fixture
def again(folder, tmp_path):
    """The same benchmark in a folder of its own, and how it is exported once more."""
    out = tmp_path / "out"
    shutil.copytree(folder, out)

    def export(**more):
        layouts = ("label-studio", "potato")
        return api.export(api.ExportOptions(store=folder.parent / "s", out=out, layouts=layouts, **more))

    return out, export


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_benchmark_that_nobody_touched_is_replaced(folder, again):
    out, export = again
    export()
    assert contents(out) == contents(folder)


@pytest.mark.parametrize("what", ["edited", "added", "deleted", "mark", "old"])
def test_what_somebody_changed_is_not_overwritten(folder, again, what):
    out, export = again
    match what:
        case "edited":
            (out / "train.jsonl").write_text((out / "train.jsonl").read_text().replace("a", "b", 1))
        case "added":
            (out / "annotations").mkdir()
            (out / "annotations" / "mine.json").write_text("{}")
        case "deleted":
            (out / "README.md").unlink()
        case "mark" | "old":
            told = json.loads((out / MARK).read_text())
            told["licence"] = "mine"
            if what == "old":
                del told["files"]
            (out / MARK).write_text(json.dumps(told))
    before = contents(out)
    with pytest.raises(InputError, match="--overwrite"):
        export()
    assert contents(out) == before
    export(overwrite=True)
    assert contents(out) == contents(folder)


def test_potato_shows_captions_as_words(tmp_path):
    row = Row(1, "v", 0.0, 1.0, 2.0, "<b>x</b>", "<script>alert(1)</script>", None, "static")
    write_potato(tmp_path, [row], Export())
    (line,) = rows(tmp_path / "potato" / "data.jsonl")
    assert "<" not in line["text"] and "&lt;script&gt;" in line["text"] and line["fine"] == row.fine


def test_near_duplicates_are_found(folder):
    told = json.loads((folder / "duplicates.json").read_text())
    assert told["instances"] == sum(len(group) for group in told["groups"]) and told["classes"] == len(told["groups"])
