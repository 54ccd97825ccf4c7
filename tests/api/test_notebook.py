"""As in a notebook: dicts, lists, frames, iterators and plain lists score as the files of the same content do."""

from __future__ import annotations

import copy
import csv
import gc
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest

import fabula
from fabula.core.errors import InputError, SpecError
from tests.golden.test_golden import CASES, DEMO, around, found

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

GOOD, POOR = DEMO / "good.json", DEMO / "over_segmenting.json"
TRUTH = DEMO / "annotator_1.json"


def load(path: Path):
    """A file as somebody has it in memory."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    if path.parent.name == "questions":  # a table
        with path.open(encoding="utf-8", newline="") as file:
            return [{k: v or None for k, v in row.items()} for row in csv.DictReader(file, delimiter="\t")]
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {row[0].strip(): row[1].strip() if len(row) > 1 else "" for row in rows}


def load_sets(path: Path):
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def same(a, b):
    """Numbers, signatures, counts; rows too. Warnings name their files, and are as many."""
    left, right = a.to_dict(), b.to_dict()
    assert len(left.pop("warnings")) == len(right.pop("warnings"))
    assert json.dumps(left) == json.dumps(right)
    for name, rows in a.rows.items():
        assert list(map(str, rows.dicts())) == list(map(str, b.rows[name].dicts()))


# Every input of the golden records, of every task ---------------------------------------------------------------------


def distinct():
    seen = {}
    for case in CASES:
        protocol, one = case.values
        key = (one["preds"], *one["refs"], str(one.get("options")))
        if key not in seen and not (one.get("crash") or (one.get("options") or {}).get("metrics")):
            seen[key] = pytest.param(protocol, one, id=case.id)
    return list(seen.values())


@pytest.mark.parametrize(("protocol", "case"), distinct())
def test_objects_score_as_their_files_do(protocol, case):
    given = dict(case.get("options", {})) | ({"task": case["task"]} if case.get("task") else {})
    paths = [found(case["preds"]), *map(found, case["refs"])]
    if any(path.stat().st_size == 0 for path in paths):
        pytest.skip("an empty file has no object")
    if protocol == "vantage-dvc":
        pytest.skip("its evaluator reads tables; rows in memory say format='vantage'")
    sets = {"sets": found(given.pop("sets"))} if "sets" in given else {}
    own = {"sets": load_sets(sets["sets"])} if sets else {}
    preds, *refs = map(load, paths)
    before = copy.deepcopy((preds, refs))
    with around(protocol, case):
        a = fabula.score(paths[0], paths[1:], protocol=protocol, **given, **sets)
        b = fabula.score(preds, refs if len(refs) != 1 else refs[0], protocol=protocol, **given, **own)
    same(a, b)
    assert (preds, refs) == before, "what was given was changed"


# Frames and iterators -------------------------------------------------------------------------------------------------


def events(corpus):
    return [
        {
            "video": story.id,
            "start": e.segment.start,
            "end": e.segment.end,
            "caption": e.caption,
            "score": e.score,
            "duration": story.duration,
        }
        for story in corpus.values()
        for e in story.events
    ]


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars-lazy": pl.LazyFrame,
    "arrow": pa.Table.from_pylist,
    "nullable": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "arrow-backed": lambda rows: pd.DataFrame(rows).convert_dtypes(dtype_backend="pyarrow"),
    "categorical": lambda rows: pd.DataFrame(rows).astype({next(iter(rows[0])): "category"}),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_stories_in_frames(make):
    a = fabula.score(GOOD, TRUTH)
    preds, refs = (make(events(fabula.read(path)[0])) for path in (GOOD, TRUTH))
    same(a, fabula.score(preds, refs))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_moments_in_frames(make):
    here = Path(found("inputs/highlights/qvh-windows-only.jsonl"))
    preds, refs = load(here), load(here.with_name("qvh-windows-only.ref.jsonl"))
    for line in preds:  # columns are of one type
        line["pred_relevant_windows"] = [list(map(float, w)) for w in line["pred_relevant_windows"]]
    rows = [
        {"qid": p["qid"], "start": w[0], "end": w[1], "score": w[2]} for p in preds for w in p["pred_relevant_windows"]
    ]
    truth = [
        {"qid": r["qid"], "video": r["vid"], "start": w[0], "end": w[1], "duration": r["duration"], "query": r["query"]}
        for r in refs
        for w in r["relevant_windows"]
    ]
    options = {"task": "highlights", "metrics": "MR_R1,MR_mAP"}
    a = fabula.score(here, here.with_name("qvh-windows-only.ref.jsonl"), **options)
    b = fabula.score(make(rows), make(truth), **options)
    assert {n: s.values for n, s in a.scores.items()} == {n: s.values for n, s in b.scores.items()}
    whole = fabula.score(make(preds), make(refs), **options)
    assert {n: s.values for n, s in a.scores.items()} == {n: s.values for n, s in whole.scores.items()}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_captions_in_frames(make):
    preds, refs = (load(found(f"inputs/captions/coco-many{end}.json")) for end in ("", ".ref"))
    a = fabula.score(found("inputs/captions/coco-many.json"), found("inputs/captions/coco-many.ref.json"))
    assert a.task == "captions"
    rows = [{"image_id": x["image_id"], "caption": x["caption"]} for x in refs["annotations"]]
    same(a, fabula.score(make(preds), make(rows)))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_boxes_in_frames(make):
    here = found("inputs/regions/xyxy-random.jsonl")
    preds, refs = load(here), load(here.with_name("xyxy-random.ref.jsonl"))

    def rows(side, scored):
        return [
            {"image_id": p["image_id"], "bbox": box, "caption": words} | ({"score": p["scores"][i]} if scored else {})
            for p in side
            for i, (box, words) in enumerate(zip(p["boxes"], p["captions"], strict=True))
        ]

    a = fabula.score(here, here.with_name("xyxy-random.ref.jsonl"), format="xyxy", refs_format="xyxy")
    assert a.task == "regions"
    b = fabula.score(make(rows(preds, True)), make(rows(refs, False)), format="xyxy", refs_format="xyxy")
    assert {n: s.values for n, s in a.scores.items()} == {n: s.values for n, s in b.scores.items()}


def test_people_in_frames():
    files = {side: found(f"inputs/identity/{name}") for side, name in SETS.items()}
    a = fabula.score(files["preds"], files["refs"], task="identity", sets=files["sets"])
    rows = {side: [{"clip": c, "ids": i} for c, i in load(files[side]).items()] for side in ("preds", "refs")}
    b = fabula.score(
        pd.DataFrame(rows["preds"]), pl.DataFrame(rows["refs"]), task="identity", sets=load_sets(files["sets"])
    )
    same(a, b)


def find_sets():
    case = next(c.values[1] for c in CASES if (c.values[1].get("options") or {}).get("sets"))
    return {"preds": case["preds"], "refs": case["refs"][0], "sets": case["options"]["sets"]}


SETS = {side: name.removeprefix("inputs/identity/") for side, name in find_sets().items()}


def test_answers_in_frames_and_dicts():
    truth = {"v": {"duration": 30.0, "timestamps": [[0, 10]], "sentences": ["A kite rises."]}}
    lines = [{"id": "v", "answer": "From 0 to 10 seconds, a kite rises."}]
    a, b, c = (fabula.score(x, truth, metrics="SODA_c") for x in (lines, pd.DataFrame(lines), iter(lines)))
    same(a, b)
    same(a, c)
    assert a["SODA_c"].value > 0.9


@pytest.mark.parametrize("wrap", [iter, lambda x: (y for y in x), tuple, lambda x: map(dict, x)])
def test_iterators(wrap):
    lines = [{"id": r["video"], "events": []} for r in events(fabula.read(TRUTH)[0])]
    lines = list({x["id"]: x for x in lines}.values())
    for row in events(fabula.read(GOOD)[0]):
        for line in lines:
            if line["id"] == row["video"]:
                line["events"].append({k: row[k] for k in ("start", "end", "caption")})
    same(fabula.score(lines, TRUTH), fabula.score(wrap(lines), TRUTH))


def test_what_read_returns_and_read_of_an_object():
    a = fabula.score(GOOD, TRUTH)
    same(a, fabula.score(fabula.read(GOOD), fabula.read(TRUTH)))
    same(a, fabula.score(fabula.read(load(GOOD)), [fabula.read(load(TRUTH))]))
    same(a, fabula.score(list(fabula.read(GOOD)[0].values()), dict(fabula.read(TRUTH)[0])))
    assert fabula.read(fabula.read(GOOD)[0])[0].keys() == fabula.read(GOOD)[0].keys()


def test_plain_lists_of_captions(tmp_path):
    cands, refs = ["a dog runs", "a cat sits"], [["the dog runs fast", "a dog"], ["a cat sits down"]]
    file = tmp_path / "pairs.jsonl"
    pairs = zip(cands, refs, strict=True)
    file.write_text("".join(json.dumps({"id": i, "cand": c, "refs": r}) + "\n" for i, (c, r) in enumerate(pairs)))
    a = fabula.score(file)
    for left, right in (
        (cands, refs),
        (tuple(cands), tuple(map(tuple, refs))),
        (np.array(cands), refs),
        (pd.Series(cands), refs),
        (pl.Series(cands), refs),
    ):
        same(a, fabula.score(left, right))
    by_id = fabula.score(dict(enumerate(cands)), dict(enumerate(refs)))
    assert {n: s.values for n, s in a.scores.items()} == {n: s.values for n, s in by_id.scores.items()}
    assert fabula.score(["a dog"], ["a dog"], metrics="BLEU_1")["BLEU_1"].value == pytest.approx(1)
    with pytest.raises(InputError, match=r"2 captions, but references for 1"):
        fabula.score(cands, refs[:1])


# The other verbs ------------------------------------------------------------------------------------------------------


def test_compare_diagnose_protocols_and_lint():
    preds, poor, refs = load(GOOD), load(POOR), load(TRUTH)
    few = {"metrics": "SODA_d,mIoU", "resamples": 100}
    a = fabula.compare({"good": GOOD, "poor": POOR}, TRUTH, **few)
    b = fabula.compare({"good": preds, "poor": poor}, refs, **few)
    assert str(a.lines) == str(b.lines)
    assert fabula.compare([preds, poor], refs, **few).systems == ("system 1", "system 2")
    c = fabula.compare({"a": ["a dog", "a cat"], "b": ["a dog", "a cow"]}, [["a dog"], ["a cat"]], metrics="BLEU_1")
    assert c.lines["BLEU_1"].values["a"] > c.lines["BLEU_1"].values["b"]
    d, e = (fabula.diagnose(*x, resamples=50) for x in ((GOOD, TRUTH), (preds, refs)))
    assert str(d.lines if hasattr(d, "lines") else d.value) == str(e.lines if hasattr(e, "lines") else e.value)
    f, g = (fabula.protocols(*x, only=("soda-2021", "pdvc-2021")) for x in ((GOOD, TRUTH), (preds, refs)))
    assert [c.result and c.result.to_dict()["scores"] for c in f.columns] == [
        c.result and c.result.to_dict()["scores"] for c in g.columns
    ]
    assert str(f.reasons("soda-2021")) == str(g.reasons("soda-2021"))
    assert fabula.lint(preds, refs).report.to_dict() == fabula.lint(GOOD, TRUTH).report.to_dict()
    assert str(fabula.lint(preds).file) == "data given as a dict"


def test_protocols_of_rankings_are_explained_after_the_call():
    """What was given is read again when somebody asks why."""
    here = found("inputs/moments/tvr-places.json")
    refs = load(here.with_name("tvr-places.ref.jsonl"))
    seen = fabula.protocols(load(here), refs, task="moments")
    gc.collect()
    for column in seen.columns[1:]:
        if column.result is not None:
            seen.reasons(column.name)


def test_shards_take_objects(tmp_path):
    a = fabula.score(GOOD, TRUTH, metrics="SODA_d,mIoU")
    same(a, fabula.score(load(GOOD), load(TRUTH), metrics="SODA_d,mIoU", work=tmp_path / "work"))
    lines = [{"id": s.id, "events": []} for s in fabula.read(TRUTH)[0].values()]
    b = fabula.score(iter(lines), load(TRUTH), metrics="SODA_d", work=tmp_path / "other")
    same(b, fabula.score(lines, TRUTH, metrics="SODA_d"))
    again = {"work": tmp_path / "work", "resume": True, "metrics": "SODA_d,mIoU"}
    same(a, fabula.score(load(GOOD), load(TRUTH), **again))
    with pytest.raises(fabula.FabulaError, match=r"reference set 1|predictions"):
        fabula.score(load(POOR), load(TRUTH), **again)


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    fabula.score(load(GOOD), load(TRUTH), metrics="SODA_d")
    with pytest.raises(InputError):
        fabula.score({"results": {"v": [{1}]}}, load(TRUTH))
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_document_is_printed_as_the_object_it_was_and_can_be_sent():
    import pickle

    from fabula import io

    document = io.wrap({"results": {}}, "predictions")
    assert str(document) == f"{document}" == "predictions given as a dict"
    assert document.raw() == b'{"results": {}}'
    other = pickle.loads(pickle.dumps(document))
    assert str(other) == str(document) and other.tree() == document.tree() == {"results": {}}
    lines = io.wrap(iter([{"id": "v", "events": []}, {"id": "w", "events": []}]), "predictions")
    assert [place for place, _ in lines.entries()] == ["[0]", "[1]"]
    assert list(lines.entries()) == list(pickle.loads(pickle.dumps(lines)).entries())


# The task is known by the shape ---------------------------------------------------------------------------------------

SHAPES = {
    "coco": ("inputs/captions/coco-demo.json", "inputs/captions/coco-demo.ref.json", "captions"),
    "qvhighlights": ("inputs/highlights/qvh-all.jsonl", "inputs/highlights/qvh-all.ref.jsonl", "highlights"),
    "tvr": ("inputs/moments/tvr-places.json", "inputs/moments/tvr-places.ref.jsonl", "moments"),
    "tvg": ("inputs/grounding/tvg-all.json", "inputs/grounding/tvg-all.ref.json", "grounding"),
    "boxes": ("inputs/regions/xyxy-random.jsonl", "inputs/regions/xyxy-random.ref.jsonl", "regions"),
}


@pytest.mark.parametrize(("preds", "refs", "task"), SHAPES.values(), ids=SHAPES)
def test_the_task_is_inferred(preds, refs, task):
    a, b = found(preds), found(refs)
    assert fabula.score(a, b).task == task
    same(fabula.score(a, b), fabula.score(a, b, task=task))
    same(fabula.score(a, b), fabula.score(load(a), load(b)))


def test_fill_in_files_are_known(tmp_path):
    files = {side: found(f"inputs/identity/{name}") for side, name in SETS.items()}
    assert fabula.score(files["preds"], files["refs"], sets=files["sets"]).task == "identity"


def test_where_two_tasks_fit_the_error_names_them():
    refs = [{"id": 1, "video": "v", "windows": [[0, 4]]}]
    with pytest.raises(SpecError, match=r"say which: --task moments, --task highlights, --task grounding"):
        fabula.score([{"id": 1, "windows": [[0, 4]]}], refs)
    assert fabula.score([{"id": 1, "windows": [[0, 4]]}], refs, task="grounding").task == "grounding"


# Shapes that a notebook has and no file -------------------------------------------------------------------------------


def test_rows_as_dicts_and_triples_by_video_are_stories():
    stories = json.loads(GOOD.read_text(encoding="utf-8"))["results"]
    rows = [
        {"video": v, "start": e["timestamp"][0], "end": e["timestamp"][1], "caption": e["sentence"]}
        for v, events in stories.items()
        for e in events
    ]
    triples = {v: [(*e["timestamp"], e["sentence"]) for e in events] for v, events in stories.items()}
    expected = fabula.score(GOOD, TRUTH, metrics="SODA_c")["SODA_c"].value
    for given in (rows, pd.DataFrame(rows).to_dict("records"), triples):
        assert fabula.score(given, TRUTH, metrics="SODA_c")["SODA_c"].value == expected
    truth = json.loads(TRUTH.read_text(encoding="utf-8"))
    refs = {v: [(s, e, t) for (s, e), t in zip(a["timestamps"], a["sentences"], strict=True)] for v, a in truth.items()}
    assert fabula.score(rows, refs, metrics="SODA_d")["SODA_d"].value == pytest.approx(
        fabula.score(GOOD, TRUTH, metrics="SODA_d")["SODA_d"].value, abs=1e-12
    )


@pytest.mark.parametrize("make", [pd.DataFrame, list])
def test_other_columns_are_named_with_those_that_are_wanted(make):
    rows = [{"video": "v_1", "t0": 0.0, "t1": 1.0, "sentence": "a dog runs"}]
    with pytest.raises(InputError, match=r"'video', 't0', 't1', 'sentence'.*columns video, start, end, caption"):
        fabula.score(make(rows), TRUTH)
