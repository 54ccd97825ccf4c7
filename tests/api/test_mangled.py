"""Objects that are not what they should be: every one is refused by a FabulaError that names the item, or scored."""

from __future__ import annotations

import copy
import datetime
import decimal
import random

import numpy as np
import pytest

import fabula
from tests.api.test_notebook import load
from tests.golden.test_golden import found

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

N = 24  # of each task


def loop():
    held: list = [1]
    held.append(held)
    return held


def deep(n=5000):
    held: list = []
    for _ in range(n):
        held = [held]
    return held


class Sly(dict):
    def items(self):
        raise RuntimeError("no items today")


def broken():
    yield {"id": "v"}
    raise ValueError("the disk is gone")


BAD = {
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "none": lambda: None,
    "set": lambda: {1, 2},
    "bytes": lambda: b"a kite",
    "numpy text": lambda: np.array(["a", "b"]),
    "numpy nan": lambda: np.float32("nan"),
    "numpy time": lambda: np.datetime64("2020-01-01"),
    "array": lambda: np.zeros((2, 2, 2)),
    "0-d": lambda: np.array(np.nan),
    "objects": lambda: np.array([{1}, None], dtype=object),
    "itself": loop,
    "deep": deep,
    "complex": lambda: 1j,
    "decimal": lambda: decimal.Decimal("1.5"),
    "date": lambda: datetime.date(2020, 1, 1),
    "function": lambda: print,
    "class": lambda: dict,
    "generator": broken,
    "sly": lambda: Sly(a=1),
    "huge": lambda: 10**5000,
    "lone": lambda: "\ud800",
    "text": lambda: "soon",
    "list": lambda: [[], {}, "x"],
    "true": lambda: True,
    "NA": lambda: pd.NA,
    "NaT": lambda: pd.NaT,
    "series": lambda: pd.Series([None, {1}]),
    "frame": lambda: pd.DataFrame({"a": [1]}),
    "exception": lambda: ValueError("x"),
    "keys": lambda: {None: 1, 1.5: 2},
    "twice": lambda: {1: 1, "1": 2},
}

STORY = {"v_kite": {"duration": 30.0, "timestamps": [[0, 10], [10, 20]], "sentences": ["a kite rises", "it falls"]}}
TASKS = {
    "stories": (
        {"results": {"v_kite": [{"timestamp": [0, 9.5], "sentence": "a"}, {"timestamp": [9, 20], "sentence": "b"}]}},
        STORY,
        {"metrics": "SODA_c,mIoU"},
    ),
    "lines": (
        [{"id": "v_kite", "duration": 30, "events": [{"start": 0, "end": 9, "caption": "a kite", "score": 0.5}]}],
        STORY,
        {"metrics": "SODA_c,mIoU"},
    ),
    "answers": ([{"id": "v_kite", "answer": "From 0 to 10 seconds, a kite rises."}], STORY, {"metrics": "SODA_c"}),
    "captions": (
        [{"image_id": 7001, "caption": "a kite"}, {"image_id": 7002, "caption": "a dog"}],
        {"annotations": [{"image_id": 7001, "caption": "a kite"}, {"image_id": 7002, "caption": "the dog"}]},
        {"metrics": "BLEU_1", "task": "captions"},
    ),
    "pairs": (
        [{"id": "p_one", "cand": "a kite", "refs": ["a kite"]}, {"id": "p_two", "cand": "b", "refs": ["b", "c"]}],
        (),
        {"metrics": "BLEU_1", "task": "captions"},
    ),
    "highlights": (
        load(found("inputs/highlights/qvh-all.jsonl"))[:3],
        load(found("inputs/highlights/qvh-all.ref.jsonl"))[:3],
        {"task": "highlights"},
    ),
    "moments": (
        load(found("inputs/moments/tvr-places.json")),
        load(found("inputs/moments/tvr-places.ref.jsonl")),
        {"task": "moments"},
    ),
    "regions": (
        load(found("inputs/regions/xyxy-random.jsonl"))[:2],
        load(found("inputs/regions/xyxy-random.ref.jsonl"))[:2],
        {"task": "regions", "format": "xyxy", "refs_format": "xyxy", "metrics": "DenseCap_mAP"},
    ),
    "identity": (
        [{"id": "s_one", "captions": ["P1 runs.", "P2 follows."], "blanks": [["P1"], ["P2"]]}],
        [{"id": "s_one", "captions": ["P1 runs.", "P2 follows."], "blanks": [["P1"], ["P2"]]}],
        {"task": "identity"},
    ),
}


def places(value, at=()):
    """Every place of an object."""
    yield at
    if isinstance(value, dict):
        for key, held in value.items():
            yield from places(held, (*at, key))
    elif isinstance(value, list):
        for i, held in enumerate(value):
            yield from places(held, (*at, i))


def put(root, at, value):
    if not at:
        return value
    held = root
    for key in at[:-1]:
        held = held[key]
    held[at[-1]] = value
    return root


def mangled():
    draw = random.Random(19)
    for task, (preds, refs, _) in TASKS.items():
        for n in range(N):
            side = n % 2 if refs else 0
            at = draw.choice(list(places((preds, refs)[side])))
            bad = draw.choice(list(BAD))
            yield pytest.param(task, side, at, bad, id=f"{task}-{side}-{'.'.join(map(str, at))[:40]}-{bad}-{n}")


CASES = list(mangled())


def test_there_are_two_hundred():
    assert len(CASES) >= 200


@pytest.mark.parametrize(("task", "side", "at", "bad"), CASES)
def test_mangled(task, side, at, bad):
    preds, refs, options = TASKS[task]
    both = [copy.deepcopy(preds), copy.deepcopy(refs)]
    both[side] = put(both[side], at, BAD[bad]())
    try:
        fabula.score(*both, **options)
    except fabula.FabulaError as error:
        said = str(error)
        assert len(said) <= 500 and "\n" not in said
        if len(at) > 1:  # inside an item: by its id, or by its place
            assert names_item(said, (preds, refs)[side], at), said


def names_item(said, root, at):
    """The id of the item, or the index under which it stands."""
    names, held = {f"[{k!r}]" for k in at} | {f"[{k}]" for k in at} | {f"entry {k}" for k in at if type(k) is int}, root
    for key in at:
        names |= {repr(key)} if isinstance(key, str) else set()
        if isinstance(held, dict):
            names |= {repr(held[i]) for i in ("id", "qid", "desc_id", "image_id", "vid_name") if i in held}
        held = held[key]
    return any(name in said for name in names) or "no known format" in said or "compare the ids" in said


ROWS = [{"video": "v_kite", "start": 0.0, "end": 9.0, "caption": "a kite"}]
FRAMES = {
    "no id": (pd.DataFrame(ROWS).drop(columns="video"), "no column says which video"),
    "two columns of one name": (pd.concat([pd.DataFrame(ROWS)] * 2, axis=1), "the column 'video' stands twice"),
    "a number for a name": (pd.DataFrame(ROWS).rename(columns={"caption": 3}), "a column called 3"),
    "a null id": (pd.DataFrame([*ROWS, {**ROWS[0], "video": None}]), "row 1 video"),
    "a null end": (pd.DataFrame([*ROWS, {**ROWS[0], "end": None}]), "'v_kite'"),
    "a date": (pd.DataFrame([{**ROWS[0], "start": pd.Timestamp("2020-01-01")}]), "'v_kite'"),
    "a category of dates": (pd.DataFrame([{**ROWS[0], "start": pd.Timedelta(1)}]).astype("category"), "'v_kite'"),
    "text for a time": (pl.DataFrame([{**ROWS[0], "start": "soon"}]), "'v_kite'"),
    "lists for ids": (pl.DataFrame([{**ROWS[0], "video": ["a"]}]), "row 0 video"),
    "bytes": (pd.DataFrame([{**ROWS[0], "caption": b"x"}]), "'v_kite'"),
    "two durations": (pd.DataFrame([{**ROWS[0], "duration": 3.0}, {**ROWS[0], "duration": 4.0}]), "row 1 duration"),
    "a nullable number": (pd.DataFrame([{**ROWS[0], "end": None}]).convert_dtypes(), "'v_kite'"),
    "a caption that is a number": (pd.DataFrame([{**ROWS[0], "caption": 3}]), "'v_kite'"),
    "arrays": (pd.DataFrame([{**ROWS[0], "start": np.zeros(2)}]), "'v_kite'"),
}


@pytest.mark.parametrize(("frame", "said"), FRAMES.values(), ids=FRAMES)
def test_mangled_frames(frame, said):
    with pytest.raises(fabula.FabulaError) as error:
        fabula.score(frame, STORY, metrics="mIoU")
    assert said in str(error.value)


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("verb", ["score", "protocols", "diagnose", "lint", "read", "compare"])
def test_no_verb_fails_otherwise(verb, bad):
    calls = {
        "score": lambda: fabula.score(bad(), STORY, metrics="mIoU"),
        "protocols": lambda: fabula.protocols(bad(), STORY, only=("soda-2021",)),
        "diagnose": lambda: fabula.diagnose(bad(), STORY, resamples=10),
        "lint": lambda: fabula.lint(bad()),
        "read": lambda: fabula.read(bad()),
        "compare": lambda: fabula.compare({"a": bad(), "b": bad()}, STORY, metrics="mIoU"),
    }
    with pytest.raises(fabula.FabulaError):
        calls[verb]()


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_no_references_fail_otherwise(bad):
    with pytest.raises(fabula.FabulaError):
        fabula.score({"results": {}}, bad(), metrics="mIoU")
    with pytest.raises(fabula.FabulaError):
        fabula.score(["a kite"], bad(), metrics="BLEU_1")
    try:
        fabula.score(["a kite"], [bad()], metrics="BLEU_1")
    except fabula.FabulaError as error:
        assert "captions given as a list: " in str(error) and ("[0]" in str(error) or "item 0" in str(error))
