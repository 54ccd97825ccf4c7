"""Which metrics may say "a copy of the references scores 1", in both directions, and that no file's order matters.

A copy has the events, captions, windows or boxes of the references, shuffled. Where `perfect_score` is empty the
primary number must be 1 for every copy made here, with ties, overlaps, duplicates and shuffled files; where it is not,
`LESS` has a copy that scores something else. References are sound: stretches of time, captions with a word.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import fabula
from fabula import metrics
from fabula.data.stories import Corpus, Event, Segment, Story
from tests.toys import corpus

WINDOWED = {"GroundedChoice"}  # options with windows beside them: tests/benchmarks/test_etbench.py
# what a judge says is its own
EVERY = {cls.name: cls for cls in metrics.room.all() if not cls().uses_llm and cls.name not in WINDOWED}
# in no table by itself: where it is tried
ASKED_FOR = {
    "KnownItem": "moments",
    **dict.fromkeys(("OneToMany", "AllWindows", "Seconds", "Pointing", "RTLoc"), "grounding"),
}
CLAIMS = {name: cls for name, cls in EVERY.items() if not cls.perfect_score}
NEAR = 1e-8  # BLEU adds 1e-9 to every count
WORDS = (
    "a",
    "a",
    "the",
    "man",
    "man's",
    "runs",
    "P1",
    "P2",
    "sees",
    "well-known",
    "dog",
    "Café",
    "opens",
    "doors",
    "7",
)


def caption(r: random.Random) -> str:
    """One to nine words, some often; the parser's and the tokeniser's cases among them."""
    said = ["dog", *r.choices(WORDS, k=r.randint(0, 8))]
    r.shuffle(said)
    return " ".join(said) + r.choice(("", ".", " .", "!"))


def story(r: random.Random, video: str) -> Story:
    """Few distinct times, so that events tie, overlap and repeat."""
    events = []
    for _ in range(r.randint(1, 7)):
        start = r.choice((0.0, 0.0, 1.5, 3.0, 10.1))
        events.append(Event(Segment(start, start + r.choice((0.1, 2.0, 2.0, 7.3, 1e4))), caption(r)))
    events += r.choices(events, k=r.choice((0, 0, 1, 3)))
    return Story(video, tuple(events))


def stories(r: random.Random) -> Corpus:
    return Corpus({v: story(r, v) for v in ("v1", "v2", "v3", "v4")[: r.randint(1, 4)]}, name="refs")


def shuffled(r: random.Random, told: Corpus) -> Corpus:
    """Videos and events in another order."""
    videos = r.sample(list(told), len(told))
    return Corpus({v: Story(v, tuple(r.sample(told[v].events, len(told[v])))) for v in videos}, name="shuffled")


def write(folder: Path, name: str, lines: list[dict[str, Any]]) -> Path:
    file = folder / name
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def score_copy(task: str, refs: Any, names: list[str], folder: Path, r: random.Random) -> dict[str, float]:
    """The primary number of each metric for a shuffled copy of the references."""
    ask: dict[str, Any] = {"task": task, "metrics": names}
    if isinstance(refs, Corpus):
        found = fabula.score(shuffled(r, refs), [refs], **ask)
    elif task == "captions":
        lines = [{"id": i, "cand": r.choice(texts), "refs": texts} for i, texts in enumerate(refs)]
        found = fabula.score(write(folder, "pairs.jsonl", r.sample(lines, len(lines))), **ask)
    elif task == "regions":
        lines = [{"image_id": i, "boxes": boxes, "captions": texts} for i, (boxes, texts) in enumerate(refs)]
        dets = [{**line, "scores": [0.5] * len(line["boxes"])} for line in lines]
        made = write(folder, "preds.jsonl", dets), [write(folder, "refs.jsonl", lines)]
        found = fabula.score(*made, format="lines:xyxy", refs_format="lines:xyxy", **ask)
    elif task == "identity":
        lines = [{"id": str(i), "captions": texts} for i, texts in enumerate(refs)]
        copy = r.sample(lines, len(lines))
        found = fabula.score(write(folder, "preds.jsonl", copy), [write(folder, "refs.jsonl", lines)], **ask)
    elif task == "questions":
        lines = [{"id": i, "answer": f"({gold})", "options": options, "gold": gold} for i, (options, gold) in refs]
        found = fabula.score(write(folder, "preds.jsonl", r.sample(lines, len(lines))), **ask)
    else:
        lines = [{"id": i, **query} for i, query in enumerate(refs)]
        answers: list[dict[str, Any]] = []
        for line in lines:
            windows = [[*w, 0.5] for w in r.sample(line["windows"], len(line["windows"]))]
            marks = dict(zip(line["clips"], line["marks"], strict=True))
            clips = [sum(marks.get(c, [0])) for c in range(int(line["duration"] / 2))]
            videos = [line["video"]] * len(windows)
            answers.append({"id": line["id"], "windows": windows, "videos": videos, "saliency": clips})
        copy = r.sample(answers, len(answers))
        found = fabula.score(write(folder, "preds.jsonl", copy), [write(folder, "refs.jsonl", lines)], **ask)
    return {m.name: found.scores[n].value for n, m in found.metrics.items()}


def query(r: random.Random) -> dict[str, Any]:
    windows = [(s := r.choice((0, 2.5, 10)), s + r.choice((0.1, 4, 4, 20))) for _ in range(r.randint(1, 3))]
    windows += r.choices(windows, k=r.choice((0, 1)))
    return {"video": r.choice("ab"), "windows": windows, "duration": 20, "clips": [0, 3], "marks": [[4, 4], [2, 4]]}


def references(task: str, r: random.Random) -> Any:
    match task:
        case "dense" | "procedure":
            return stories(r)
        case "captions":
            return [[caption(r) for _ in range(r.randint(1, 3))] for _ in range(r.randint(1, 4))]
        case "questions":
            return [(i, ([caption(r) for _ in range(4)], r.choice("ABCD"))) for i in range(r.randint(1, 4))]
        case _:
            return [query(r) for _ in range(r.randint(1, 5))]


@pytest.mark.parametrize("task", ["dense", "procedure", "captions", "moments", "highlights", "grounding", "questions"])
@pytest.mark.parametrize("seed", range(12))
def test_a_copy_of_the_references_scores_one(task: str, seed: int, tmp_path: Path, kernels: str) -> None:
    r = random.Random(f"{task} {seed}")
    names = [name for name, cls in CLAIMS.items() if task in (*cls.tasks, ASKED_FOR.get(name))]
    assert names
    found = score_copy(task, references(task, r), names, tmp_path, r)
    assert {n: v for n, v in found.items() if abs(v - 1) > NEAR} == {}


def test_every_claim_is_tried() -> None:
    """In one of the tasks above."""
    tried = {"dense", "procedure", "captions", "moments", "highlights", "grounding", "questions"}
    assert all(tried & {*cls.tasks, ASKED_FOR.get(name)} for name, cls in CLAIMS.items())


OVERLAPPING = corpus({"v": [(0, 10, "a man opens the door slowly"), (0, 11, "P1 sees P2 and two dogs run away")]})
SHORT = corpus({"v": [(0, 10, "of the")]})
BOXES = [([[0, 0, 100, 100], [0, 0, 100, 90]], ["a red kite", "two dogs"]), ([[0, 0, 50, 50]], ["a tree"])]
APART = [{"video": "a", "windows": [(k, k + 1) for k in range(0, 8, 2)], "duration": 20, "clips": [0], "marks": [[4]]}]
ELEVEN = [{**APART[0], "windows": [(k, k + 1) for k in range(11)]}]
AT_ODDS = [{**APART[0], "clips": [0, 1, 2], "marks": [[4, 0], [0, 4], [0, 0]]}]
GRADED = [{**APART[0], "windows": [(0, 1), (2, 3)], "graded": [["a", 4, 5, 4], ["a", 0, 1, 0], ["a", 2, 3, 0]]}]
FAIR = [{**APART[0], "marks": [[2]]}]
LESS: dict[str, tuple[str, Any]] = {
    **{f"DVC_{n}": ("dense", OVERLAPPING) for n in ("METEOR", "ROUGE_L", "SPICE", "iSPICE", "CIDEr", "Text")},
    **{f"DVC_BLEU_{n}": ("dense", OVERLAPPING) for n in (1, 2, 3, 4)},
    **{f"Para_{n}": ("dense", SHORT) for n in ("BLEU_4", "CIDEr", "SPICE", "iSPICE")},
    **{n: ("captions", [["of the"]]) for n in ("BLEU_3", "BLEU_4", "CIDEr", "SPICE", "iSPICE")},
    "BLEU_2": ("captions", [["hello"]]),
    **dict.fromkeys(("DenseCap_mAP", "DenseCap_AP"), ("regions", BOXES)),
    "FITB": ("identity", [["P1 sees P2.", "P3 runs."]]),
    "VCMR": ("moments", APART),
    "SVMR": ("moments", APART),
    "NDCG": ("moments", GRADED),
    "MR_mAP": ("highlights", ELEVEN),
    "HL_mAP": ("highlights", AT_ODDS),
    "HL_Hit1": ("highlights", FAIR),
}


@pytest.mark.parametrize("name", LESS)
def test_those_that_make_no_claim_have_a_copy_that_scores_otherwise(name: str, tmp_path: Path) -> None:
    task, refs = LESS[name]
    found = score_copy(task, refs, [name], tmp_path, random.Random(0))
    assert abs(found[name] - 1) > 1e-3


def test_a_claim_or_a_copy_that_scores_otherwise() -> None:
    assert set(CLAIMS) | set(LESS) == set(EVERY) and not set(CLAIMS) & set(LESS)


@pytest.mark.parametrize("seed", range(4))
def test_no_number_of_stories_depends_on_the_order_of_files(seed: int) -> None:
    """Of predictions that are no copy: the default reads the same whatever stands first."""
    r = random.Random(seed)
    refs, preds = stories(r), stories(r)
    preds = Corpus({v: preds[v] if v in preds else story(r, v) for v in refs}, name="preds")
    some = [name for name, cls in EVERY.items() if cls.reads == "stories"]
    here = fabula.score(preds, [refs], task="dense", metrics=some)
    there = fabula.score(shuffled(r, preds), [shuffled(r, refs)], task="dense", metrics=some)
    for name, score in here.scores.items():
        assert dict(there.scores[name].values) == pytest.approx(dict(score.values), abs=1e-12), name


def test_published_orders_do_depend_on_it() -> None:
    """order=start keeps ties as in the file: the rule of SODA's own program, and no slip here."""
    told = corpus({"v": [(0, 10, "a man opens the door"), (0, 4, "two dogs run")]})
    turned = Corpus({"v": Story("v", told["v"].events[::-1])}, name="turned")
    names = ["SODA_c", "SODA_c(order=start)"]
    found = fabula.score(turned, [told], task="dense", metrics=names)
    ours, theirs = (score.value for score in found.scores.values())
    assert ours == 1 and theirs < 1


def test_the_claim_stands_in_the_list_of_metrics() -> None:
    from fabula.verbs.scoring.listing import metric_table

    head, rows = metric_table()
    said = {row[0].partition("@")[0]: row[-1] for row in rows}
    assert "scores 1" in head[-1] and said["SODA_c"] == "1"
    assert said["DVC_METEOR"] == "where events overlap, a caption is compared with those of the others too"
