"""fabula lint for boxes, moments, blanks and captions: every check finds its fault and nothing else; --fix mends it."""

import json
from pathlib import Path

import pytest

from fabula import checks, io
from fabula.checks import CheckRequest, kind_of
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.data.moments import Query
from fabula.io import all_formats, identity, moments
from fabula.io.identity.captionsets import SetText
from tests.cli.conftest import fabula as command  # noqa: F401
from tests.moment_toys import lines, tvr_predictions, tvr_queries


def found(path: Path, *refs: Path, format: str | None = None) -> dict[str, list[tuple[object, int | None]]]:
    """check → whose, and which box, window or blank."""
    asked = CheckRequest(path, refs, format)
    report, _ = kind_of(asked).look(asked)
    return {f.check: [(p.video, p.event) for p in f.places] for f in report.findings}


def mended(path: Path, target: Path, *refs: Path, format: str | None = None) -> list[str]:
    asked = CheckRequest(path, refs, format)
    return [deed["deed"] for deed in kind_of(asked).mend(asked, target).deeds]


def written(path: Path, document: object) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@pytest.mark.parametrize("reader", all_formats(), ids=lambda r: f"{r.tasks[0]}-{r.name}")
def test_every_format_is_known_for_what_it_is(reader, tmp_path):
    path = written(tmp_path / reader.pattern.partition(",")[0].replace("*", "file"), f"{reader.example}\n")
    if reader.name not in ("pss", "tasty", "fillin-sets", "caption-answers", "plm-rcap"):  # shaped like another
        assert reader.tasks[0] in kind_of(CheckRequest(path)).tasks
    asked = CheckRequest(path, format=reader.name)
    kind = kind_of(asked)
    report, _ = kind.look(asked)
    assert reader.tasks[0] in kind.tasks and report.sound


# Boxes ----------------------------------------------------------------------------------------------------------------

IMAGES = [{"id": 1, "width": 100, "height": 80}, {"id": 2, "width": 100, "height": 80}]


def coco(*boxes: tuple[int, list[float], str]) -> dict:
    return {"images": IMAGES, "annotations": [{"image_id": i, "bbox": b, "caption": c} for i, b, c in boxes]}


def test_boxes(tmp_path):
    path = written(
        tmp_path / "refs.json",
        coco(
            (1, [10, 10, 20, 20], "a dog"),
            (1, [10, 10, 20, 20], "a dog"),  # again
            (1, [10, 10, 20, 20], "a brown dog"),  # in other words
            (1, [5, 5, 0, 20], "no width"),
            (1, [30, 30, -5, 20], "turned"),
            (1, [90, 10, 50, 20], "out"),
            (1, [0, 0, 100, 80], "all of it"),
        ),
    )
    assert found(path) == {
        "turned-box": [("1", 4)],
        "zero-area": [("1", 3)],
        "outside-image": [("1", 5)],
        "duplicate-box": [("1", 1)],
        "repeated-sentence": [("1", 1)],
        "no-boxes": [("2", None)],
        "same-place": [("1", 2)],
        "whole-image": [("1", 6)],
    }
    fixed = tmp_path / "fixed.json"
    assert mended(path, fixed) == ["drop-duplicate", "drop-empty", "swap", "clip"]
    boxes = [a["bbox"] for a in json.loads(fixed.read_text())["annotations"]]
    assert boxes == [[10, 10, 20, 20], [10, 10, 20, 20], [25, 30, 5, 20], [90, 10, 10, 20], [0, 0, 100, 80]]
    assert set(found(fixed)) == {"no-boxes", "same-place", "whole-image"}


def test_predicted_boxes_take_sizes_and_ids_from_the_references(tmp_path):
    refs = written(tmp_path / "refs.json", coco((1, [10, 10, 20, 20], "a dog"), (2, [10, 10, 20, 20], "a cat")))
    results = {"boxes": [[90, 10, 50, 20], [0, 0, 9, 9]], "scores": [0.5, 0.5], "captions": ["out", "in"]}
    path = written(tmp_path / "preds.json", {"results": [{"img_name": n, **results} for n in ("1.jpg", "7.jpg")]})
    assert found(path, refs) == {
        "outside-image": [("1", 0)],
        "unknown-id": [("7.jpg", None)],
        "missing-id": [("2", None)],
        "score-ties": [("1", None), ("7.jpg", None)],
    }
    assert mended(path, tmp_path / "fixed.jsonl", refs) == ["clip"]
    first = json.loads((tmp_path / "fixed.jsonl").read_text().splitlines()[0])
    assert first["boxes"] == [[90, 10, 10, 20], [0, 0, 9, 9]] and first["scores"] == [0.5, 0.5]


def test_corners_taken_for_sizes(tmp_path):
    """Boxes of 10 × 10 from corner to corner: as xywh, those in the right half leave the image."""
    corners = [(1, [x, 5, x + 10, 15], f"box {x}") for x in range(0, 90, 4)]
    path = written(tmp_path / "refs.json", coco(*corners))
    assert "other-form" in found(path)
    assert found(path, format="coco:xyxy") == {"no-boxes": [("2", None)]}
    bare = {"annotations": coco(*corners)["annotations"]}
    assert set(found(written(tmp_path / "bare.json", bare))) == {"like-corners"}  # without sizes


# Moments --------------------------------------------------------------------------------------------------------------


def test_queries(tmp_path):
    queries = {1: ("kitchen", [5, 5]), 2: ("kitchen", [20, 10]), 3: ("garden", [-1, 10]), 4: ("garden", [80, 95])}
    path = tvr_queries(tmp_path / "q.jsonl", queries)
    assert found(path) | {"reader": None} == {
        "reversed": [("2", 0)],
        "zero-length": [("1", 0)],
        "negative": [("3", 0)],
        "past-duration": [("4", 0)],
        "reader": None,
    }
    assert mended(path, tmp_path / "fixed.jsonl") == ["drop-empty", "swap", "clip", "clip"]
    kept = [json.loads(line) for line in (tmp_path / "fixed.jsonl").read_text().splitlines()]
    assert [(q["id"], q["windows"]) for q in kept] == [(2, [[10, 20]]), (3, [[0, 10]]), (4, [[80, 90]])]
    assert found(tmp_path / "fixed.jsonl") == {}
    with pytest.raises(SpecError, match=r"call it fixed\.jsonl"):
        mended(path, tmp_path / "fixed.json")


def test_a_copy_keeps_the_type_of_a_query(tmp_path):
    path = tmp_path / "q.jsonl"
    line = {"desc_id": 1, "vid_name": "kitchen", "ts": [20, 10], "duration": 60, "desc": "she peels", "type": "vt"}
    path.write_text(json.dumps(line))
    assert mended(path, tmp_path / "fixed.jsonl") == ["swap"]
    assert moments.read_queries([tmp_path / "fixed.jsonl"], Notes())[1] == Query(
        1, "kitchen", ((10, 20),), 60, "she peels", None, "vt"
    )


def test_answers(tmp_path):
    refs = tvr_queries(tmp_path / "q.jsonl", {1: ("kitchen", [0, 10]), 2: ("kitchen", [0, 10]), 3: ("kitchen", [0, 9])})
    rows = {
        1: [[0, 30, 20, 0.9], [0, 5, 5, 0.8], [0, -3, 9, 0.7], [0, 80, 95, 0.6], [1, 80, 95, 0.5], [0, 80, 95, 0.4]],
        2: [[0, 0, 10, 0.1], [0, 0, 20, 0.9]],
        4: [],
    }
    path = tvr_predictions(tmp_path / "p.json", VCMR=rows)
    assert found(path, refs) == {
        "reversed-answer": [(1, 0)],
        "empty-answer": [(1, 1)],
        "negative-answer": [(1, 2)],
        "answer-past-duration": [(1, 3), (1, 5)],  # nobody knows how long the garden lasts
        "duplicate-answer": [(1, 5)],
        "unsorted-scores": [(2, 1)],
        "no-answer": [(4, None)],
        "unknown-id": [("4", None)],
        "missing-id": [("3", None)],
        "unknown-video": [(None, None)],
    }
    fixed = tmp_path / "fixed.jsonl"
    assert mended(path, fixed, refs) == ["swap", "drop-empty", "clip", "clip", "clip", "drop-duplicate"]
    first = json.loads(fixed.read_text().splitlines()[1])
    assert first["predictions"] == [[0, 20, 30, 0.9], [0, 0, 9, 0.7], [0, 80, 90, 0.6], [1, 80, 95, 0.5]]
    assert set(found(fixed, refs)) == {"unsorted-scores", "no-answer", "unknown-id", "missing-id", "unknown-video"}


def test_answers_in_lines_of_our_own(tmp_path):
    path = lines(tmp_path / "p.jsonl", [{"id": "x", "windows": [[9, 1, 0.5]]}])
    assert set(found(path)) == {"reversed-answer"} and mended(path, tmp_path / "f.jsonl") == ["swap"]
    assert json.loads((tmp_path / "f.jsonl").read_text()) == {"id": "x", "windows": [[1, 9, 0.5]]}


def test_seconds_that_are_none(tmp_path):
    queries = {i: ("kitchen", [i / 100, i / 100 + 0.5]) for i in range(20)}
    assert "normalised" in found(tvr_queries(tmp_path / "q.jsonl", queries))


# Blanks ---------------------------------------------------------------------------------------------------------------


def test_blanks(tmp_path):
    refs = written(tmp_path / "refs.csv", "a\t[X]\nb\t_\nc\t[X],[Y]\nd\t[Z]\ne\t[Z]\n")
    path = written(tmp_path / "p.csv", "a\t[1],[2]\nb\t[1]\nc\t[1, 2]\nd\t[PERSON]\ne\t_\nz\t[1]\n")
    assert found(path, refs) == {
        "too-few-ids": [("e", None)],
        "unfilled": [("d", 0)],
        "malformed-id": [("c", 0), ("c", 1)],
        "too-many-ids": [("a", None)],
        "no-blank": [("b", None)],
        "unknown-id": [("z", None)],
    }
    assert mended(path, tmp_path / "fixed.csv") == ["spell", "spell"]
    assert (tmp_path / "fixed.csv").read_text().splitlines()[2:5] == ["c\t[1],[2]", "d\t[PERSON]", "e\t_"]
    same = written(tmp_path / "same.csv", "a\t[1]\nc\t[1],[1]\n")
    assert set(found(same)) == {"one-person"}


def test_sets_of_clips(tmp_path):
    refs = written(tmp_path / "refs.csv", "a\t[X]\nb\t_\nc\t[X],[Y]\n")
    assert found(written(tmp_path / "sets.csv", "a\tb\tq\n"), refs) == {
        "unknown-id": [("q", None)],
        "missing-id": [("c", None)],
    }


def test_captionsets(tmp_path):
    truth = {"a": ["X"], "b": [], "c": ["X", "Y"], "d": ["Z"]}
    refs = lines(tmp_path / "refs.jsonl", [{"id": i, "captions": ["P1 runs."], "blanks": b} for i, b in truth.items()])
    given = {"a": [["[1]", "[2]"]], "b": [["1"]], "c": [["[1"], ["2]"]], "z": [["1"]]}
    sets = [{"id": i, "captions": ["P1 runs.", "P2 runs."], "blanks": b} for i, b in given.items()]
    sets[1]["captions"] = ["P1 runs.", " ", "p1 runs."]
    path = lines(tmp_path / "p.jsonl", sets)
    assert found(path, refs) == {
        "malformed-id": [("c", 0), ("c", 1)],
        "too-many-ids": [("a", None)],
        "no-blank": [("b", None)],
        "empty-caption": [("b", 1)],
        "repeated-sentence": [("b", 2)],
        "unknown-id": [("z", None)],
        "missing-id": [("d", None)],
    }
    assert mended(path, tmp_path / "fixed.jsonl") == ["spell", "spell"]
    fixed = [json.loads(line) for line in (tmp_path / "fixed.jsonl").read_text().splitlines()]
    assert fixed == [
        s | {"blanks": b} for s, b in zip(sets, ([["1", "2"]], [["1"]], [["1"], ["2"]], [["1"]]), strict=True)
    ]
    with pytest.raises(SpecError, match=r"call it fixed\.jsonl"):
        mended(path, tmp_path / "fixed.json")
    few = written(tmp_path / "few.json", [{"id": "c", "blanks": [["1"], ["_"]]}])
    assert found(few, refs)["too-few-ids"] == [("c", None)] and found(few)["unfilled"] == [("c", 1)]


# Captions, and what is wrong with the whole ---------------------------------------------------------------------------


def test_captions_have_nothing_to_mend(tmp_path):
    path = written(tmp_path / "c.json", [{"image_id": 1, "caption": ""}, {"image_id": 2, "caption": "a dog"}])
    assert found(path) == {"empty-caption": [(1, None)]}
    with pytest.raises(SpecError, match="words are never touched"):
        mended(path, tmp_path / "fixed.json")


@pytest.mark.parametrize("name", ["shards", "all.parquet"])
def test_folders_and_parquet_hold_stories(tmp_path, name):
    (tmp_path / "shards").mkdir()
    for video in "ab":
        event = {"start": 9, "end": 3, "caption": "P1 runs."}
        lines(tmp_path / "shards" / f"{video}.jsonl", [{"id": video, "duration": 9, "events": [event]}])
    if name == "all.parquet":
        pytest.importorskip("pyarrow")
        io.write(io.read(tmp_path / "shards")[0], tmp_path / name, "fabula")
    assert found(tmp_path / name)["reversed"] == [("a", 0), ("b", 0)]
    assert mended(tmp_path / name, tmp_path / "fixed.jsonl") == ["swap", "swap"]
    assert identity.read_sets(tmp_path / name, Notes()) == {v: SetText(("P1 runs.",)) for v in "ab"}


def test_a_task_that_nobody_lints_is_refused(tmp_path):
    with pytest.raises(SpecError, match="no file is linted for 'songs'"):
        kind_of(CheckRequest(tmp_path / "x.json"), "songs")
    with pytest.raises(InputError, match="no such file"):
        kind_of(CheckRequest(tmp_path / "x.json"))


def test_every_kind_takes_families_that_there_are():
    families = set(checks.room.modules())
    for module in ("regions", "identity", "moments", "questions"):
        named = __import__(f"fabula.checks.{module}", fromlist=["x"])
        for name in ("FAMILIES", "OF_QUERIES", "OF_ANSWERS"):
            assert set(getattr(named, name, ())) <= families


def test_the_command_writes_json_and_a_copy(command, tmp_path):  # noqa: F811
    written(tmp_path / "boxes.json", coco((1, [5, 5, 0, 20], "no width"), (2, [0, 0, 9, 9], "a dog")))
    ran = command("lint", "boxes.json", "--json", "out.json", "--fix", "fixed.json")
    assert ran.code == 1 and ran.out.startswith("error\tzero-area\t1\t'1' box 0 [5, 5, 0, 20] in 100 × 80\t")
    assert "dropped a box without area 1 ×" in ran.err
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["format"] == "coco:xywh" and document["fixes"][0]["image"] == "1"
    assert command("lint", "fixed.json").code == 0
    written(tmp_path / "p.csv", "a\t[1\nb\t[2]\n")
    ran = command("lint", "p.csv", "--json", "-")
    assert ran.code == 0 and json.loads(ran.out)["findings"][0]["check"] == "malformed-id"
    assert command("lint", "p.csv", "--task", "identity").code == 0
