"""Files that an earlier commit wrote (artefacts/MANIFEST.json says which) open, go on, and give the same numbers.

A failure here means that users' files no longer open, or open as something else. artefacts/ is not made anew to make a
test green: it is what users have on their disks. Folders are copied first, and never written to.
"""

from __future__ import annotations

import csv
import importlib
import json
import math
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fabula
from tests.hosts.test_bundles import app, run_codabench

tools = pytest.importorskip("tools.artefacts", reason="tools/ is not beside the tests: not a checkout")
FOLDER = Path(__file__).with_name("artefacts")
MANIFEST: dict[str, Any] = json.loads((FOLDER / "MANIFEST.json").read_text())
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())
NEEDS = {  # section of commands.txt → modules without which it is not run
    "checkpoints": ("torch", "lightning_fabric", "safetensors", "tokenizers", "scipy"),
    "features and people": ("torch", "safetensors", "h5py", "av", "cv2"),
    "work folders": ("safetensors", "av", "cv2"),
    "annotation": ("httpx",),
    "search": ("av", "lancedb"),
    "judges": ("httpx",),
    "predictions, results, rows": ("pyarrow",),
    "stories": ("pyarrow",),
}
LEARN = NEEDS["checkpoints"]


def need(*modules: str) -> None:
    for module in modules:
        pytest.importorskip(module, reason=f"this artefact needs {module}, which is not installed")


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The artefacts in a folder of their own, which is the current one."""
    made = tmp_path / "artefacts"
    shutil.copytree(FOLDER, made)
    tools.stamp_inputs(made)
    monkeypatch.chdir(made)
    return made


def do(line: str) -> Any:
    ran = tools.run(line)
    assert ran.code == 0, f"fabula {line}\n{ran.err}"
    return ran


def list_differences(was: Any, now: Any, where: str = "") -> Iterator[str]:
    """Numbers may differ by 1e-4: other processors, other versions of torch."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*was, *now)):
            if key not in was or key not in now:
                yield f"{where}/{key}: {'is new' if key in now else 'is gone'}"
            else:
                yield from list_differences(was[key], now[key], f"{where}/{key}")
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for k, (one, other) in enumerate(zip(was, now, strict=True)):
            yield from list_differences(one, other, f"{where}/{k}")
    elif is_number(was) and is_number(now):
        if not math.isclose(was, now, rel_tol=1e-4, abs_tol=1e-4):
            yield f"{where}: {was!r} is {now!r} now"
    elif was != now:
        yield f"{where}: {was!r} is {now!r} now"


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_sections() -> dict[str, list[str]]:
    """commands.txt by its headings, which stand alone above their lines."""
    sections: dict[str, list[str]] = {}
    for block in (FOLDER / "commands.txt").read_text().split("\n\n"):
        head, *lines = block.strip().splitlines()
        if lines and not lines[0].startswith("#"):
            sections[head.removeprefix("# ")] = lines
    return sections


# ── all of it ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_everything_is_there_and_small() -> None:
    listed = [FOLDER / one["path"] for one in MANIFEST["artefacts"]]
    assert [str(path) for path in listed if not path.exists()] == []
    assert all(len(one["commit"]) == 40 and one["made by"] for one in MANIFEST["artefacts"])
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 3_000_000
    assert [line for lines in read_sections().values() for line in lines] == tools.read_commands()
    assert list(EXPECTED["commands"]) == tools.read_commands()


def test_every_model_of_every_task_has_a_run() -> None:
    need(*LEARN)
    from fabula.learn import tasks

    trained = {(config["task"], config["model"]) for config in map(read_config, tools.RUNS)}
    assert trained == {(Task.name, model) for Task in tasks.room.all() for model in Task.models}


def read_config(name: str) -> dict[str, str]:
    return {
        "task": tools.RUNS[name].split()[1],
        "model": json.loads((FOLDER / "runs" / name / "config.json").read_text())["model"],
    }


@pytest.mark.parametrize("section", read_sections())
def test_commands_say_what_they_said(copy: Path, section: str) -> None:
    need(*NEEDS.get(section, ()))
    wrong = []
    for line in read_sections()[section]:
        was, now = EXPECTED["commands"][line], tools.observe(line, copy)
        for seen in (was, now):
            seen.pop("said", None)  # of errors: their wording is free
        wrong += [f"fabula {line}\n    {one}" for one in list_differences(was, now)]
    assert not wrong, "\n".join(wrong[:20])


# ── checkpoints ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", tools.RUNS)
def test_a_run_goes_on(copy: Path, name: str) -> None:
    """One more epoch: the optimiser's state and the random numbers are those of the checkpoint."""
    need(*LEARN, *(["transformers"] if name == "lm" else []))
    wanted = EXPECTED["resumed"][name]
    with (copy / "runs" / name / "epochs.csv").open(newline="") as file:
        assert [row["loss"] for row in csv.DictReader(file)] == [row["loss"] for row in wanted[:2]]
    rows = tools.resume(name, copy)
    assert [row["loss"] for row in rows[:2]] == [row["loss"] for row in wanted[:2]]
    assert [row.keys() for row in rows] == [row.keys() for row in wanted]
    for key, value in wanted[2].items():
        assert float(rows[2][key] or "nan") == pytest.approx(float(value or "nan"), rel=1e-3, abs=1e-3, nan_ok=True), (
            key
        )


def test_a_run_is_a_beginning(copy: Path) -> None:
    need(*LEARN)
    do(f"{tools.RUNS['pdvc']} --epochs 1 --from runs/pdvc -o out/tuned")
    assert (copy / "out" / "tuned" / "last.safetensors").is_file()


def test_a_run_finds_moments_and_scores_captions(copy: Path) -> None:
    need(*LEARN, "httpx")
    from fabula.media.stores.features import Features

    finder, store = fabula.moments("runs/xml"), Features("features/clips.safetensors")
    corpus = finder.encode_all({name: store[name] for name in ("v50", "v51")}, rate=1.0)
    assert {moment.video for moment in finder.find(corpus, "a man opens the red door", top=3)} <= {"v50", "v51"}
    do(
        "annotate run inputs/coarse.jsonl -s out/chosen.sqlite --url fake --blind "
        "--scorer noise:runs/noise --scorer-features features/clips.safetensors"
    )


# ── stores ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_feature_stores_of_each_kind_hold_the_same() -> None:
    need("torch", "safetensors", "h5py")
    import numpy as np

    from fabula.learn.retrieval.npz import open_store
    from fabula.media.stores.features import Features

    kinds = [Features(FOLDER / "features" / f"films{ending}") for ending in (".safetensors", ".h5", "")]
    for store in kinds:
        assert list(store) == ["a", "b"] and store.dim == 192 and store.recipe == kinds[0].recipe
        for video in store:
            np.testing.assert_array_equal(store[video], kinds[0][video])
    assert kinds[0]["a"][0].reshape(-1, 3).mean(0) == pytest.approx([230 / 255, 20 / 255, 20 / 255], abs=0.02)
    archives = open_store(FOLDER / "features" / "npz_slowfast")
    assert archives["kite_0.0_10.0"].shape == (5, 5)


def test_people_are_corrected_further(copy: Path) -> None:
    need("av", "cv2")
    from fabula.media.people import Cast

    cast = Cast.load("people/people.npz")
    assert cast.names == {0: "Anna"} and cast.people() == [0, 1] and cast.thumbs
    do("people name people/people.npz 1 Bert")
    assert Cast.load("people/people.npz").names == {0: "Anna", 1: "Bert"}
    do("people undo people/people.npz")
    do("people undo people/people.npz")
    assert Cast.load("people/people.npz").names == {}


def test_annotations_go_on(copy: Path) -> None:
    need("httpx")
    lines = (copy / "inputs" / "coarse.jsonl").read_text().splitlines()
    more = {**json.loads(lines[0]), "desc_id": 99, "cog_desc": "a cat sleeps on a chair"}
    (copy / "more.jsonl").write_text("\n".join([*lines, json.dumps(more)]) + "\n")

    def count() -> tuple[int, int]:
        told = json.loads(do("annotate status -s annotate/run.sqlite --json -").out)
        return told["moments"], sum(step["calls"] for step in told["steps"].values())

    moments, answers = count()
    do("annotate run more.jsonl -s annotate/run.sqlite --url fake --blind --rewrites --price 1/2")
    after = count()
    assert moments == 4 and after[0] == 5 and 0 < after[1] - answers <= answers / 2  # of the new one alone
    do("annotate retry -s annotate/run.sqlite --url fake --blind --rewrites --price 1/2")
    assert count() == after


def test_a_study_is_served_and_its_backup_added(copy: Path) -> None:
    need("fastapi", "uvicorn", "httpx")
    from tests.studies.made import Rater, serving

    with (copy / "study" / "new" / "links.csv").open(newline="") as file:
        link = next(csv.DictReader(file))["link"]
    with serving(copy / "study" / "new") as (address, store):
        rater = Rater(address, link.partition("token=")[2]).agree()
        question = rater.get("/api/question/0").json()
        assert question["fields"] and question["clip"]["end"] == pytest.approx(1.2)
        assert rater.get("/api/question/0").status_code == 200 and store.plan.title == "Kitchen"
    whole = do("study results study/simulated --json -").out
    assert json.loads(do("study results study/simulated --answers study/backup.sqlite --json -").out) == json.loads(
        whole
    )


def test_a_library_is_searched_and_grows(copy: Path) -> None:
    need("av", "lancedb")
    found = fabula.search("blue", store=copy / "search" / "store", limit=2)
    assert found.moments[0].video == "b.mkv" and found.moments[0].probability is not None
    shutil.copy(copy / "inputs" / "films" / "b.mkv", copy / "inputs" / "films" / "c.mkv")
    done = fabula.index(copy / "inputs" / "films", store=copy / "search" / "store", moved=True, processes=1)
    assert (done.videos, done.new, done.changed, done.removed, done.same) == (3, 1, 0, 0, 2)
    again = fabula.search("blue", store=copy / "search" / "store", limit=2)
    assert {moment.video for moment in again.moments} == {"b.mkv", "c.mkv"}


def test_a_judge_is_not_asked_again(copy: Path) -> None:
    """The record answers all; the result is the one that was written then."""
    need("httpx")
    before = (copy / "judge" / "judge.jsonl").read_bytes()
    do(f"{tools.JUDGED} --judge-url fake --judge-model m --judge-record judge/judge.jsonl --json out/result.json")
    assert (copy / "judge" / "judge.jsonl").read_bytes() == before
    was, now = (json.loads((copy / path).read_text()) for path in ("judge/result.json", "out/result.json"))
    assert tools.settle(now) == tools.settle(was)


# ── work folders ─────────────────────────────────────────────────────────────────────────────────────────────────────

VCMR = (
    "predict vcmr runs/xml --features features/clips.safetensors --data inputs/moments --device cpu --top 3 --part 2 "
    "--work work/vcmr --resume -o out/moments.json"
)
WORKS = {  # folder → the command that goes on with it, a part of what it holds, what it needs
    "score": (f"score {tools.STORIES} -m SODA_c,PRF --work work/score --resume", "rows/*/00003.npz", ()),
    "vcmr": (VCMR, "queries/00001.json", LEARN),
    "features": (
        "features extract inputs/films --with thumbnail --processes 1 -o out/f.h5 --work work/features --resume",
        "videos/*.npy",
        ("av", "h5py", "safetensors"),
    ),
    "people": (
        "people find inputs/cast --detector marks --embedder marks --processes 1 -o out/p.npz --work work/people "
        "--resume",
        "people/*.npz",
        ("av", "cv2"),
    ),
}


@pytest.mark.parametrize("name", WORKS)
def test_a_work_folder_goes_on(copy: Path, name: str) -> None:
    """What is there is not made again; what is missing is, and is the same.

    A part of `vcmr` holds hashes of a model's numbers, whose last bits are the machine's: it is made twice here, and
    what it leads to is compared by the next test."""
    line, part, modules = WORKS[name]
    need(*modules)
    folder = copy / "work" / name

    def stamps() -> dict[Path, tuple[int, int]]:
        found = [path for path in folder.rglob("*") if path.is_file() and path.stem not in ("manifest", "facts")]
        return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}

    before = stamps()
    do(line)
    assert stamps() == before
    lost = sorted(folder.glob(part))[0]
    versions = [lost.read_bytes()]
    for _ in range(2):
        lost.unlink()
        for path in (copy / "out").iterdir():
            path.unlink()
        do(line)
        assert stamps().keys() == before.keys()
        versions.append(lost.read_bytes())
    stored, first, second = versions
    assert first == second or lost.suffix == ".npz"  # zip archives hold times
    assert first == stored or lost.suffix == ".npz" or name == "vcmr"


def test_moments_of_a_work_folder_are_those_of_one_pass(copy: Path) -> None:
    need(*LEARN)
    do(VCMR)
    was, now = (json.loads((copy / path).read_text()) for path in ("predictions/moments_tvr.json", "out/moments.json"))
    assert not list(list_differences(was, now))


# ── results, hosts, caches ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", sorted((FOLDER / "results").glob("*.json")), ids=lambda path: path.stem)
def test_a_result_is_read(path: Path) -> None:
    from fabula.evaluate.saved import load_result

    result, document = load_result(path), json.loads(path.read_text())
    assert result is not None and result.task == document["task"] and result.scores.keys() == document["scores"].keys()
    for name, score in result.scores.items():
        kept = document["scores"][name]
        ci = {score.primary: tuple(kept["ci"])} if kept["ci"] else None
        assert score.signature == kept["signature"] and score.ci == ci
        for field, value in score.values.items():
            lost = kept[field] is None or isinstance(kept[field], str)  # a signature where windows' "short" belongs
            assert math.isnan(value) if lost else kept[field] == value, field


def test_rows_of_each_kind_hold_the_same(copy: Path) -> None:
    need("pyarrow")
    import pandas as pd

    ends = {
        ".jsonl": lambda p: pd.read_json(p, lines=True),
        ".jsonl.gz": lambda p: pd.read_json(p, lines=True),
        ".csv": pd.read_csv,
        ".parquet": pd.read_parquet,
    }
    (copy / "now").mkdir()
    for ending, read in ends.items():
        do(f"score {tools.STORIES} -m SODA_c,PRF --rows now/dense{ending}")
        was, now = read(copy / "rows" / f"dense{ending}"), read(copy / "now" / f"dense{ending}")
        pd.testing.assert_frame_equal(was, now, rtol=1e-9)


def test_bundles_of_hosts_still_grade(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lie on servers, and import from Fabula what they imported when they were made."""
    good = copy / "inputs" / "preds.json"
    refs = [copy / "inputs" / f"refs_{k}.json" for k in (1, 2)]
    scores = fabula.score(good, refs, metrics="SODA_d,PRF@0.5").scores
    expected = {name: 100 * score.value for name, score in scores.items()}
    folder = app(copy / "host" / "codabench", copy / "app", {"mine.json": good.read_bytes()})
    done = run_codabench(folder)
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "output" / "scores.json").read_text()) == pytest.approx(expected)
    challenge = json.loads((copy / "host" / "evalai" / "challenge_config.yaml").read_text())
    with zipfile.ZipFile(copy / "host" / "evalai" / challenge["evaluation_script"]) as packed:
        packed.extractall(copy / "kept_script")
    monkeypatch.syspath_prepend(str(copy))
    script = importlib.import_module("kept_script")
    try:
        (phase,), (split,) = challenge["challenge_phases"], challenge["dataset_splits"]
        truth = copy / "host" / "evalai" / phase["test_annotation_file"]
        told = script.evaluate(str(truth), str(good), phase["codename"], submission_metadata={"id": 1})
        assert told["result"] == [{split["codename"]: pytest.approx(expected)}]
    finally:
        for name in [name for name in sys.modules if name.startswith("kept_script")]:
            del sys.modules[name]


def test_an_index_of_meteor_is_taken_as_it_is(copy: Path) -> None:
    from fabula.text.meteor.index import Tables, find_index, open_index

    folder = copy / "caches" / "meteor"
    for path in (folder, *folder.iterdir()):
        path.chmod(0o700)  # a clone may be open to a group; such a cache is not trusted
    index = find_index(Tables(folder / "meteor.jar", folder / "paraphrase.gz"), folder)
    assert index is not None, "the index of an earlier version would be built again"
    assert {"the", "geese", "car", "many"} <= set(index.words)
    first, *rest = (index.words[word] for word in ("a", "lot", "of"))
    node: int | None = first
    for word in rest:
        node = index.children(node).get(word) if node is not None else None
    assert node is not None and index.target_node[index.entries(node).start] == index.words["many"]
    kept = json.loads((FOLDER / "caches" / "headers.json").read_text())["meteor"]
    path = open_index().path  # of the real tables; its header holds a CRC of every byte
    head = bytes.fromhex(kept["head"])
    assert path.name == kept["file"] and path.stat().st_size == kept["bytes"]
    with path.open("rb") as file:
        assert file.read(len(head)) == head


def test_tables_of_ptb_have_the_same_form() -> None:
    """Not the same bytes: they belong to one version of Python and of the rules, and are made anew for another."""
    from fabula.core import cachefile
    from fabula.text import ptb

    head = bytes.fromhex(json.loads((FOLDER / "caches" / "headers.json").read_text())["ptb"]["head"])
    magic, version, _, _, count = cachefile.HEAD.unpack_from(head)
    assert (magic, version) == (ptb.MAGIC, ptb.VERSION)
    sections = [
        cachefile.SECTION.unpack_from(head, cachefile.HEAD.size + k * cachefile.SECTION.size) for k in range(count)
    ]
    assert [name.rstrip(b"\0").decode() for name, *_ in sections] == ["classes", "rules", "next", "accepts"]
