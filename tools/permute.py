"""Does a number depend on the order of a file? Random files with ties, written in two orders and scored twice.

    python -m tools.permute 10000 [--seed 1] [--task regions]

A trial draws files of one task and writes them again with everything in another order that has none by its meaning:
videos, queries, images, captionsets and questions; the keys of objects; the events of a story, the windows and graded
references of a query, the marked clips and the annotators of highlights, the regions of an image, the references of a
caption, the events of a description; windows and detections that have scores, equal ones too; the reference files of
stories. Every number of every metric with its defaults must be the same to 1e-12.

Not moved: a ranking without scores (its order is the prediction; `ranked`), the options of a question (letters name
them), the captions of a captionset (a story in its order), saliency (one number a clip, in time).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

import fabula
from fabula.data.stories import DIMENSIONS

T = TypeVar("T")
NEAR = 1e-12
TIMES = (0, 0, 1, 2.5, 4, 4, 5, 7, 10, 10, 12.5, 20)
LENGTHS = (1, 2, 2, 2.5, 5, 5, 10, 40)
WORDS = (
    "a",
    "a",
    "the",
    "man",
    "woman",
    "dog",
    "P1",
    "P2",
    "red",
    "runs",
    "opens",
    "doors",
    "slowly",
    "and",
    "sees",
    "in",
)
REFUSED: dict[str, float] = {"refused": 1.0}
JUDGE = {"judge_url": "fake:", "judge_model": "fake"}  # it counts words in common


class Files(NamedTuple):
    """What is scored, and how; a list of lines is written as .jsonl."""

    preds: Any
    refs: Sequence[Any]
    options: Mapping[str, Any] = {}


class Case(NamedTuple):
    """Files of one task; `write` puts them in an order of chance."""

    task: str
    metrics: Sequence[str]
    write: Callable[[Random], Files]


# ── what is drawn ───────────────────────────────────────────────────────────────────────────────────────────────────


def caption(r: Random) -> str:
    return " ".join(r.choices(WORDS, k=r.randint(1, 7))) + r.choice(("", ".", " ."))


def window(r: Random) -> list[float]:
    start = r.choice(TIMES)
    return [start, start + r.choice(LENGTHS)]


def near(r: Random, windows: Sequence[Sequence[float]]) -> list[float]:
    """A window of chance, one of these, half of one, or what covers two: overlaps that tie."""
    (a, b), (c, d) = r.choice(windows), r.choice(windows)
    return r.choice([window(r), [a, b], [a, (a + b) / 2], [(a + b) / 2, b], [min(a, c), max(b, d)]])


def some(r: Random, draw: Callable[[Random], T], least: int, most: int) -> list[T]:
    """So many, some of them twice."""
    found = [draw(r) for _ in range(r.randint(least, most))]
    return found + r.choices(found, k=r.choice((0, 0, 1, 2))) if found else found


def mixed(r: Random, things: Sequence[T]) -> list[T]:
    return r.sample(list(things), len(things))


def turned(r: Random, thing: Any) -> Any:
    """The same with the keys of every object in another order."""
    if isinstance(thing, dict):
        return {key: turned(r, thing[key]) for key in mixed(r, list(thing))}
    return [turned(r, one) for one in thing] if isinstance(thing, list) else thing


STORIES = [
    *("SODA_a", "SODA_b", "SODA_c", "SODA_d", "SODA_parts", "mIoU", "mJaccard", "PRF", "OrderedPRF", "StartPRF"),
    *("MergedPRF", "DVC_METEOR", "DVC_CIDEr", "DVC_ROUGE_L", "DVC_SPICE", "DVC_iSPICE", "DVC_BLEU_1", "DVC_BLEU_4"),
    *("DVC_BLEU_2", "DVC_BLEU_3", "DVC_Text(text=meteor)"),
    *("Para_BLEU_4", "Para_CIDEr", "Para_METEOR", "Para_ROUGE_L", "Para_SPICE", "Para_iSPICE"),
]


def draw_stories(r: Random) -> Case:
    def events(r: Random) -> list[tuple[list[float], str]]:
        return some(r, lambda r: (window(r), caption(r)), 1, 4)

    videos = [f"v_{i}" for i in range(r.randint(1, 3))]
    sets = [{v: events(r) for v in videos if r.random() < 0.9 or v == videos[0]} for _ in range(r.randint(1, 2))]
    told = {}
    for v in videos:
        known = [event for of_set in sets for event in of_set.get(v, ())] or events(r)
        if r.random() < 0.9 or v == videos[0]:
            pick = [(near(r, [w for w, _ in known]), r.choice(known)[1]) for _ in range(r.randint(0, 3))]
            told[v] = [*pick, *events(r)]

    def write(r: Random) -> Files:
        refs = []
        for of_set in mixed(r, sets):
            document = {}
            for v, some in of_set.items():
                some = mixed(r, some)
                document[v] = {"duration": 60, "timestamps": [w for w, _ in some], "sentences": [c for _, c in some]}
            refs.append(turned(r, document))
        results = {v: [{"sentence": c, "timestamp": w} for w, c in mixed(r, some)] for v, some in told.items()}
        return Files(turned(r, {"version": "1", "results": results, "external_data": {}}), refs)

    return Case("dense", STORIES, write)


CAPTIONS = [
    "BLEU_1",
    "BLEU_2",
    "BLEU_3",
    "BLEU_4",
    "METEOR",
    "ROUGE_L",
    "CIDEr",
    "SPICE",
    "iSPICE",
    "TextScore(text=meteor)",
]


def draw_captions(r: Random) -> Case:
    pairs = [(i, caption(r), some(r, caption, 1, 3)) for i in range(r.randint(1, 4))]

    def write(r: Random) -> Files:
        lines = [{"id": i, "cand": said, "refs": mixed(r, refs)} for i, said, refs in mixed(r, pairs)]
        return Files(turned(r, lines), ())

    return Case("captions", CAPTIONS, write)


def draw_queries(r: Random, with_grades: bool = False) -> list[dict[str, Any]]:
    """Queries with windows, marks of clips by two annotators, graded references."""
    queries = []
    for i in range(r.randint(1, 4)):
        clips = r.sample(range(20), r.randint(1, 5))
        query = {
            **{"id": i, "video": r.choice("ab"), "duration": 60, "windows": some(r, window, 1, 3)},
            **{"clips": clips, "marks": [[r.choice((0, 2, 3, 4)) for _ in range(2)] for _ in clips]},
        }
        if with_grades:
            whole = query["windows"]
            graded = some(r, lambda r: [r.choice("ab"), *near(r, whole), r.choice((0, 1, 1, 2, 3))], 1, 6)  # noqa: B023
            query["graded"] = graded
        queries.append(query)
    return queries


def mix_queries(r: Random, queries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    out = []
    for query in mixed(r, queries):
        clips = mixed(r, list(zip(query["clips"], query["marks"], strict=True)))
        people = mixed(r, (0, 1))
        one = dict(query) | {"windows": mixed(r, query["windows"]), "clips": [c for c, _ in clips]}
        one["marks"] = [[marks[a] for a in people] for _, marks in clips]
        if "graded" in query:
            one["graded"] = mixed(r, query["graded"])
        out.append(turned(r, one))
    return out


RANKED = ["VCMR", "SVMR", "VR", "NDCG", "KnownItem", "Grounding", "RTLoc", "Pointing"]


def draw_ranked(r: Random) -> Case:
    """Rankings: what a system lists first is its prediction, and stays."""
    queries = draw_queries(r, with_grades=r.random() < 0.7)
    lists = {}
    for query in queries:
        if r.random() < 0.9 or not query["id"]:
            spans = some(r, lambda r: near(r, query["windows"]), 0, 6)  # noqa: B023
            lists[query["id"]] = spans, [r.choice("abc") for _ in spans]

    def write(r: Random) -> Files:
        answers = [{"id": i, "windows": lists[i][0], "videos": lists[i][1]} for i in mixed(r, list(lists))]
        return Files(turned(r, answers), [mix_queries(r, queries)])

    return Case("moments", RANKED, write)


def draw_scored(r: Random) -> Case:
    """Windows that have scores, equal ones too."""
    queries = draw_queries(r)
    lists: dict[int, tuple[list[list[float]], list[float]]] = {}
    for query in queries:
        if r.random() < 0.9 or not query["id"]:
            scores = (0.1, 0.5, 0.5, 0.9)
            spans = some(r, lambda r: [*near(r, query["windows"]), r.choice(scores)], 0, 12)  # noqa: B023
            lists[query["id"]] = spans, [r.choice((0, 1, 1, 2)) for _ in range(30)]

    def write(r: Random) -> Files:
        answers = [{"id": i, "windows": mixed(r, lists[i][0]), "saliency": lists[i][1]} for i in mixed(r, list(lists))]
        return Files(turned(r, answers), [mix_queries(r, queries)])

    return Case("highlights", ["MR_R1", "MR_mAP", "HL_mAP", "HL_Hit1"], write)


def draw_sets(r: Random) -> Case:
    """Answers that are sets of windows."""
    queries = draw_queries(r)
    lists = {}
    for query in queries:
        if r.random() < 0.9 or not query["id"]:
            lists[query["id"]] = some(r, lambda r: near(r, query["windows"]), 0, 4)  # noqa: B023

    def write(r: Random) -> Files:
        answers = [{"id": i, "windows": mixed(r, lists[i])} for i in mixed(r, list(lists))]
        return Files(turned(r, answers), [mix_queries(r, queries)])

    return Case("grounding", ["OneToMany", "AllWindows", "Seconds"], write)


def draw_regions(r: Random) -> Case:
    def region(r: Random) -> tuple[list[float], str, float]:
        x, y = r.choice((0, 0, 5, 50)), r.choice((0, 0, 5, 50))
        return (
            [x, y, x + r.choice((40, 50, 50)), y + r.choice((40, 50, 50))],
            caption(r),
            r.choice((0.1, 0.5, 0.5, 0.9)),
        )

    images = {f"i{k}": (some(r, region, 1, 4), some(r, region, 0, 5)) for k in range(r.randint(1, 4))}

    def line(id: str, regions: Sequence[tuple[list[float], str, float]], scored: bool) -> dict[str, Any]:
        found = {"image_id": id, "boxes": [b for b, _, _ in regions], "captions": [c for _, c, _ in regions]}
        return found | ({"scores": [s for _, _, s in regions]} if scored else {})

    def write(r: Random) -> Files:
        refs = [line(id, mixed(r, images[id][0]), False) for id in mixed(r, list(images))]
        dets = [line(id, mixed(r, images[id][1]), True) for id in mixed(r, list(images))]
        return Files(turned(r, dets), [turned(r, refs)], {"format": "lines:xyxy", "refs_format": "lines:xyxy"})

    return Case("regions", ["DenseCap_mAP", "DenseCap_AP"], write)


def draw_identity(r: Random) -> Case:
    def sentence(r: Random) -> str:
        return (
            f"{r.choice(('P1', 'P2', 'P3'))} {r.choice(('sees', 'hits', 'carries'))} {r.choice(('P1', 'P2', 'a dog'))}."
        )

    sets = []
    for i in range(r.randint(1, 4)):
        told = [sentence(r) for _ in range(r.randint(1, 3))]
        sets.append((f"s{i}", told, [sentence(r) if r.random() < 0.5 else one for one in told]))

    def write(r: Random) -> Files:
        preds = [{"id": id, "captions": said} for id, _, said in mixed(r, sets)]
        refs = [{"id": id, "captions": told} for id, told, _ in mixed(r, sets)]
        return Files(turned(r, preds), [turned(r, refs)])

    return Case("identity", ["iSPICE", "SPICE", "METEOR", "CIDEr"], write)


def draw_blanks(r: Random) -> Case:
    people = ("P1", "P1", "P2", "P3")
    sets = []
    for i in range(r.randint(1, 4)):
        told = [[r.choice(people) for _ in range(r.randint(1, 3))] for _ in range(r.randint(2, 3))]
        sets.append((f"s{i}", told, [[r.choice(people) for _ in one] for one in told]))

    def write(r: Random) -> Files:
        def lines(side: int) -> list[dict[str, Any]]:
            return [
                {"id": s[0], "captions": ["somebody sees somebody."] * len(s[1]), "blanks": s[side]}
                for s in mixed(r, sets)
            ]

        return Files(turned(r, lines(2)), [turned(r, lines(1))])

    return Case("identity", ["FITB"], write)


QUESTIONS = ["Choice", "Choice(by=group)", "NearestChoice(text=meteor)", "GroundedChoice(text=meteor)"]


def draw_questions(r: Random) -> Case:
    questions = []
    for i in range(r.randint(1, 6)):
        options = [f"{caption(r)} {k}" for k in range(4)]
        said = r.choice((f"({r.choice('ABCD')})", r.choice("ABCD"), r.choice(options), "no idea"))
        windows = some(r, window, 1, 2)
        said += " {:g} - {:g}".format(*near(r, windows))
        extra = {"group": r.choice(("v", "w")), "kind": r.choice(("x", "y")), "windows": windows}
        questions.append({"id": i, "answer": said, "options": options, "gold": r.choice("ABCD"), **extra})

    def write(r: Random) -> Files:
        moved = [q | {"windows": mixed(r, q["windows"])} for q in questions]
        truth = [{k: v for k, v in q.items() if k != "answer"} for q in mixed(r, moved)]
        answers = [{"id": q["id"], "answer": q["answer"]} for q in mixed(r, questions)]
        return (
            Files(turned(r, answers), [turned(r, truth)]) if r.random() < 0.5 else Files(turned(r, mixed(r, moved)), ())
        )

    return Case("questions", QUESTIONS, write)


def draw_judged(r: Random) -> Case:
    """Answers and descriptions that a judge reads; AutoDQ takes one reference."""
    items, many = [], r.random() < 0.5
    for i in range(r.randint(1, 4)):
        asked = [{"question": caption(r), "answer": caption(r)} for _ in range(r.randint(1, 3))]
        said = {
            "references": some(r, caption, 1, 2) if many else [caption(r)],
            "events": some(r, caption, 1, 3),
            "asked": asked,
        }
        items.append({"id": i, "question": "what?", "answer": caption(r), "kind": r.choice(("x", "y")), **said})

    def write(r: Random) -> Files:
        moved = ("events", "asked", "references") if many else ("events", "asked")
        lines = [{k: mixed(r, v) if k in moved else v for k, v in item.items()} for item in mixed(r, items)]
        return Files(turned(r, lines), (), JUDGE)

    return Case("questions", ["Verdict"] if many else ["AutoDQ", "VDC"], write)


def draw_graded(r: Random) -> Case:
    """Stories whose captions a judge compares."""
    made = draw_stories(r)
    if r.random() < 0.3:
        made = draw_captions(r)
    asked = {"dense": ["RDCap(text=judge:fabula)"], "captions": ["RCap"]}[made.task]
    return Case(made.task, asked, lambda r: made.write(r)._replace(options=JUDGE))


def draw_points(r: Random) -> Case:
    """Points of references that a judge finds in predictions or not."""

    def stamp(w: Sequence[float]) -> str:
        return "-".join(f"00:{t:05.2f}" for t in w)

    def event(r: Random) -> tuple[list[float], dict[str, list[str]]]:
        start = r.choice(TIMES)
        return [start, start + r.choice((2, 5, 10))], {d: some(r, caption, 0, 2) for d in DIMENSIONS[:3]}

    videos = {f"v{i}.mp4": (some(r, event, 1, 3), some(r, event, 1, 4)) for i in range(r.randint(1, 3))}

    def write(r: Random) -> Files:
        refs, preds = [], []
        for v in mixed(r, list(videos)):
            told = [
                {
                    **{"timestamp": stamp(w), "segment_detail_caption_en": "told"},
                    "keypoints": {d: {"gt_keypoints": mixed(r, points.get(d, []))} for d in DIMENSIONS},
                }
                for w, points in mixed(r, videos[v][0])
            ]
            refs.append({"clip_path": v, "human_json_anno": told})
        for v in mixed(r, list(videos)):
            said = [
                {"timestamp": stamp(w), "caption": " ".join(c for of in p.values() for c in of)}
                for w, p in mixed(r, videos[v][1])
            ]
            preds.append({"clip_path": v, "prediction_json": said})
        return Files(turned(r, preds), [turned(r, refs)], JUDGE)

    return Case("dense", ["SODA_m"], write)


DRAWS: Mapping[str, Callable[[Random], Case]] = {
    "stories": draw_stories,
    "captions": draw_captions,
    "ranked": draw_ranked,
    "scored": draw_scored,
    "sets": draw_sets,
    "regions": draw_regions,
    "identity": draw_identity,
    "blanks": draw_blanks,
    "questions": draw_questions,
    "judged": draw_judged,
    "graded": draw_graded,
    "points": draw_points,
}

# ── two orders, one number ──────────────────────────────────────────────────────────────────────────────────────────


def save(file: Path, document: Any) -> Path:
    file = file.with_suffix(".jsonl" if isinstance(document, list) else ".json")
    lines = document if isinstance(document, list) else [document]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def score(case: Case, r: Random, folder: Path, metrics: Sequence[str] | None = None) -> dict[str, float]:
    """Label, part → number; those by type and by threshold too."""
    files = case.write(r)
    preds = save(folder / "preds", files.preds)
    refs = [save(folder / f"refs{i}", document) for i, document in enumerate(files.refs)]
    asked = {"task": case.task, "metrics": list(metrics or case.metrics), **files.options}
    try:
        found = fabula.score(preds, refs, **asked)
    except fabula.FabulaError:  # a file without one window, say: refused in every order
        return REFUSED
    out = {}
    for label, number in found.scores.items():
        out |= {f"{label}/{part}": value for part, value in number.values.items()}
        for by in (number.by_type, number.by_threshold):
            out |= {f"{label}/{key}/{part}": v for key, values in by.items() for part, v in values.items()}
    return out


def differing(a: Mapping[str, float], b: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """What is not the same in both; NaN is NaN."""
    return {
        name: (a.get(name, math.inf), b.get(name, -math.inf))
        for name in {**a, **b}
        if not is_same(a.get(name, math.inf), b.get(name, -math.inf))
    }


def is_same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or abs(a - b) <= NEAR


def try_orders(name: str, seed: object, orders: int = 1) -> Iterator[dict[str, tuple[float, float]]]:
    """One set of files that can be scored, so many other orders of it: what differs in each."""
    with tempfile.TemporaryDirectory() as folder:
        for again in range(20):
            case = DRAWS[name](Random(f"{name} {seed} {again}"))
            here = score(case, Random(0), Path(folder))
            if here is not REFUSED:
                break
        else:
            raise RuntimeError(f"no files of {name} can be scored")
        for k in range(1, orders + 1):
            yield differing(here, score(case, Random(f"{seed} {k}"), Path(folder)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trials", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--task", choices=sorted(DRAWS), action="append")
    parser.add_argument("--orders", type=int, default=4, help="orders of one set of files")
    told = parser.parse_args()
    names = told.task or list(DRAWS)
    share, failed, done, start = -(-told.trials // len(names)), 0, 0, time.monotonic()
    for name in names:
        numbers, tried = 0, 0
        worst: dict[str, int] = {}
        while tried < share:
            for apart in try_orders(name, f"{told.seed} {tried}", min(told.orders, share - tried)):
                tried += 1
                numbers += bool(apart)
                for label, values in apart.items():
                    metric = label.partition("/")[0]
                    if metric not in worst:
                        print(f"  {name} seed '{told.seed} {tried - 1}': {label} {values[0]!r} and {values[1]!r}")
                    worst[metric] = worst.get(metric, 0) + 1
        print(f"{name}: {tried} trials, {numbers} differ {worst or ''}", flush=True)
        failed, done = failed + numbers, done + tried
    print(f"{done} trials, {failed} differ, {time.monotonic() - start:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
