"""--ids: which references are scored or checked, by a list of ids or a split, in every task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fabula
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.io.idlist import read_ids

KITE = {"boxes": [[0, 0, 10, 10]], "captions": ["a red kite"]}
IMAGES = [{"image_id": str(i), **KITE} for i in range(6)]
FOUND = [{"image_id": f"{i}.jpg", "scores": [0.9], **KITE} for i in (1, 4)]


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.fixture
def splits(tmp_path: Path) -> Path:
    return write(tmp_path / "splits.json", {"train": [0, 2, 3], "test": [1, 4], "note": "x"})


def test_a_split_leaves_the_other_references_out(splits: Path) -> None:
    whole = fabula.score(FOUND, IMAGES, task="regions")
    assert whole["DenseCap_mAP"].value < 0.5 and "ids:" not in whole["DenseCap_mAP"].signature
    cut = fabula.score(FOUND, IMAGES, task="regions", ids=f"{splits}:test")
    assert cut["DenseCap_mAP"].value == 1 and cut.counts["images"] == 2 and cut.counts["missing"] == 0
    assert "|ids:test:2|" in cut["DenseCap_mAP"].signature and "|ids:test:2|" in cut["DenseCap_mAP"].short
    assert not [line for line in cut.warnings if "ids" in line]


@pytest.mark.parametrize("content", ["1.jpg\n\n4.jpg\n", "[1, 4]", '["1", "4", "4"]'])
def test_lists_of_ids(tmp_path: Path, content: str) -> None:
    cut = fabula.score(FOUND, IMAGES, task="regions", ids=write(tmp_path / "ids.txt", content))
    assert cut["DenseCap_mAP"].value == 1 and "|ids:ids.txt:2|" in cut["DenseCap_mAP"].signature
    assert any("1 ids stand more than once" in line for line in cut.warnings) == (
        "4" * 2 in content.replace('", "', "")
    )


def test_ids_that_the_references_do_not_have_are_named() -> None:
    cut = fabula.score(FOUND, IMAGES, task="regions", ids=[1, 4, 99])
    assert any("1 ids of ids are not in the references" in line and "99" in line for line in cut.warnings)
    assert "|ids:given:3|" in cut["DenseCap_mAP"].signature


def stories(n: int) -> dict[str, list[tuple[float, float, str]]]:
    return {f"v_{i}": [(0.0, 10.0, "a man cuts an onion")] for i in range(n)}


CASES: dict[str, tuple[Any, Any, str, Any]] = {
    "dense": (stories(2), stories(5), "SODA_c", ["0", "v_1"]),
    "captions": ({1: "a dog runs", 2: "a cat"}, {1: ["a dog runs"], 2: ["a cat"], 3: ["x"]}, "ROUGE_L", [1, 2]),
    "grounding": (
        [{"qid": 1, "pred_relevant_windows": [[0, 5, 1]]}],
        [{"qid": i, "query": "q", "vid": "v", "duration": 9, "relevant_windows": [[0, 5]]} for i in (1, 2)],
        "Grounding",
        [1],
    ),
    "identity": (
        [{"id": "a", "captions": ["P1 runs."]}],
        [{"id": id, "captions": ["P2 runs."]} for id in "abc"],
        "iSPICE",
        ["a"],
    ),
    "questions": (
        [{"id": "a", "answer": "B"}],
        [{"id": id, "gold": "B", "options": ["x", "y"]} for id in "ab"],
        "Choice",
        ["a"],
    ),
}


@pytest.mark.parametrize("task", CASES)
def test_every_task(task: str) -> None:
    preds, refs, metric, ids = CASES[task]
    whole = fabula.score(preds, refs, task=task, metrics=metric)
    cut = fabula.score(preds, refs, task=task, metrics=metric, ids=ids)
    name = next(iter(cut.scores))
    assert cut[name].value == pytest.approx(1) and whole[name].value < 1
    assert cut.counts["missing"] == 0 < whole.counts["missing"]
    assert f"|ids:given:{len(ids)}|" in cut[name].signature


def test_blanks_clip_by_clip(tmp_path: Path) -> None:
    truth = write(tmp_path / "truth.csv", "a\t[P1],[P2]\nb\t[P1]\nc\t[P1],[P1]\n")
    sets = write(tmp_path / "sets.csv", "a\tb\nc\n")
    filled = write(tmp_path / "filled.csv", "a\t[P1],[P2]\nb\t[P1]\nc\t[P1],[P2]\n")
    values = [fabula.score(filled, truth, task="identity", sets=sets, ids=ids)["FITB"].values for ids in (None, ["a"])]
    assert values[0]["instance"] < values[1]["instance"] == 1


def test_lint_compares_with_the_split(tmp_path: Path, splits: Path) -> None:
    found = write(tmp_path / "found.jsonl", "".join(json.dumps(line) + "\n" for line in FOUND))
    truth = write(tmp_path / "truth.jsonl", "".join(json.dumps(line) + "\n" for line in IMAGES))
    whole, cut = (fabula.lint(found, truth, ids=ids).report for ids in (None, f"{splits}:test"))
    assert [f.check for f in whole.findings if f.check == "missing-id"] == ["missing-id"]
    assert whole.numbers["references"] == 6 and cut.numbers["references"] == cut.numbers["found"] == 2
    assert not [f for f in cut.findings if f.check == "missing-id"]
    with pytest.raises(SpecError, match="--ids chooses among the references; name them with --refs"):
        fabula.lint(found, ids=[1])


@pytest.mark.parametrize(
    ("content", "part", "match"),
    [
        ({"train": [1], "test": [2]}, "", r"the file holds 2 lists; write ids\.json:NAME, with a name of train, test"),
        ({"train": [1], "test": [2]}, ":tset", r"no list is called 'tset'; .*test"),
        ([1, 2], ":test", r"the file is one list, and has none called 'test'"),
        ([], "", "the list has no ids"),
        ("", "", "the list has no ids"),
        ([1, None], "", "entry 1: expected an id, saw None"),
        ([1.5], "", r"entry 0: expected an id, saw 1\.5"),
        ({"test": {"a": 1}}, ":test", "expected a list of ids"),
        ("[1, 2", "", "ids.json"),
        ([77], "", "no id of the list is in the references; compare the ids: the list has '77', the references '0'"),
    ],
)
def test_bad_lists_are_refused(tmp_path: Path, content: object, part: str, match: str) -> None:
    path = write(tmp_path / "ids.json", content)
    with pytest.raises(InputError, match=match):
        fabula.score(FOUND, IMAGES, task="regions", ids=f"{path}{part}")


def test_files_that_are_not_there_and_shards(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.txt"):
        fabula.score(FOUND, IMAGES, task="regions", ids=tmp_path / "none.txt")
    with pytest.raises(InputError, match="expected ids, saw 7"):
        fabula.score(FOUND, IMAGES, task="regions", ids=7)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="--ids is for what is scored at once"):
        fabula.score(stories(2), stories(3), ids=["v_0"], work=tmp_path / "work")


def test_spellings() -> None:
    listed = read_ids(["7.jpg", "v_abc", "x.mp4"])
    assert listed is not None
    assert [listed.find(id) for id in (7, "abc", "x", "y")] == ["7.jpg", "v_abc", "x.mp4", None]
    assert listed.limit({"7": 1}, Notes()) == {"7": 1}


def test_command_line(tmp_path: Path, splits: Path) -> None:
    from click.testing import CliRunner

    from fabula.verbs.command_line import fabula as command

    found = write(tmp_path / "found.jsonl", "".join(json.dumps(line) + "\n" for line in FOUND))
    truth = write(tmp_path / "truth.jsonl", "".join(json.dumps(line) + "\n" for line in IMAGES))
    words = ["score", str(found), "--refs", str(truth), "--task", "regions", "--ids", f"{splits}:test"]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0 and "|ids:test:2|" in done.output, done.output
    over = CliRunner().invoke(command, [*words, "--json", str(splits)])
    assert over.exception is not None and json.loads(splits.read_text())["test"] == [
        1,
        4,
    ]  # inputs are never overwritten
