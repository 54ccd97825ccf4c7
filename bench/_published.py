"""The published evaluators' work, done with the tools they call: what bench/all.py measures ours against.

    python bench/_published.py densevid-2018 FOLDER      # a work's name, and the folder that bench/_works.py filled

pycocoevalcap's BLEU, ROUGE-L and CIDEr in Python, its tokeniser and METEOR in Java, called as often as the published
scripts call them: per overlap the tokeniser once for each side, per video and overlap each scorer once. Prints the
scores as JSON; ends with NOT_HERE and the reason where a tool is not on this machine.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from _official import Meteor, Unavailable, _ascii, _iou, ptb, soda_c_official
from _run import NOT_HERE

TIOU = (0.3, 0.5, 0.7, 0.9)
Pair = tuple[str, str]  # candidate, reference


def scorers() -> dict[str, Any]:
    """pycocoevalcap's own, without METEOR, which has a process."""
    try:
        from pycocoevalcap.bleu.bleu import Bleu
        from pycocoevalcap.cider.cider import Cider
        from pycocoevalcap.rouge.rouge import Rouge
    except ImportError as why:
        raise Unavailable(f"{why}; install it with: pip install pycocoevalcap==1.2") from None
    return {"BLEU": Bleu(4), "ROUGE_L": Rouge(), "CIDEr": Cider()}


def caption_scores(
    found: Mapping[str, Any], meteor: Meteor, res: Mapping[int, list[str]], gts: Mapping[int, list[str]]
) -> dict[str, float]:
    """Every scorer's number for tokenised items."""
    scores: dict[str, float] = {}
    for name, scorer in found.items():
        with contextlib.redirect_stdout(io.StringIO()):
            value, _ = scorer.compute_score(gts, res)
        scores |= {f"BLEU_{k + 1}": v for k, v in enumerate(value)} if name == "BLEU" else {name: float(value)}
    return scores | {"METEOR": meteor.score([(res[i][0], gts[i]) for i in res])[0]}


def captions(folder: Path) -> dict[str, float]:
    """As coco-caption does: all items at once."""
    items = [json.loads(line) for line in (folder / "captions.jsonl").read_text().splitlines()]
    said = ptb([i["cand"] for i in items])[0]
    gold = iter(ptb([r for i in items for r in i["refs"]])[0])
    gts = {k: [next(gold) for _ in item["refs"]] for k, item in enumerate(items)}
    with Meteor() as meteor:
        return caption_scores(scorers(), meteor, {k: [text] for k, text in enumerate(said)}, gts)


def stories(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    refs = [json.loads((folder / f"refs_{k}.json").read_text()) for k in (1, 2)]
    results: dict[str, Any] = json.loads((folder / "pred.json").read_text())["results"]
    return refs, {video: events[:1000] for video, events in results.items()}


def meeting(
    refs: Sequence[Mapping[str, Any]], events: Sequence[Any], video: str, tau: float, garbage: str
) -> list[Pair]:
    """Every prediction with every reference that it overlaps; garbage where there is none."""
    pairs: list[Pair] = []
    for event in events:
        alone = True
        for ref in refs:
            if video not in ref:
                continue
            for span, sentence in zip(ref[video]["timestamps"], ref[video]["sentences"], strict=True):
                if _iou(event["timestamp"], span) >= tau:
                    pairs.append((event["sentence"], sentence))
                    alone = False
        if alone:
            letters = "".join(random.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(random.randint(10, 20)))
            pairs.append((event["sentence"], garbage or letters))
    return pairs


def detection(
    refs: Sequence[Mapping[str, Any]], results: Mapping[str, Any], videos: Sequence[str], tau: float
) -> tuple[float, float]:
    """Mean precision and recall at an overlap, the best of the reference files in each video."""
    precision = recall = 0.0
    for video in videos:
        best_p = best_r = 0.0
        for ref in refs:
            if video not in ref or not results.get(video):
                continue
            golds, guesses = set(), set()
            for p, event in enumerate(results[video]):
                for g, span in enumerate(ref[video]["timestamps"]):
                    if _iou(event["timestamp"], span) > tau:
                        golds.add(g)
                        guesses.add(p)
            best_p = max(best_p, len(guesses) / len(results[video]))
            best_r = max(best_r, len(golds) / len(ref[video]["timestamps"]))
        precision, recall = precision + best_p, recall + best_r
    return precision / len(videos), recall / len(videos)


def localised(folder: Path, garbage: str, missing: str) -> dict[str, float]:
    """densevid_eval: per overlap one pass of the tokeniser, per video each scorer, means over videos and overlaps."""
    refs, results = stories(folder)
    videos = list(dict.fromkeys(v for ref in refs for v in ref if missing == "zero" or v in results))
    found, total = scorers(), dict[str, float]()
    with Meteor() as meteor:
        for tau in TIOU:
            pairs = {v: meeting(refs, results.get(v, []), v, tau, garbage) for v in videos}
            said, gold = (iter(ptb([_ascii(pair[k]) for some in pairs.values() for pair in some])[0]) for k in (0, 1))
            for some in pairs.values():
                if not some:
                    continue
                res, gts = ({k: [next(side)] for k in range(len(some))} for side in (said, gold))
                for name, value in caption_scores(found, meteor, res, gts).items():
                    total[name] = total.get(name, 0.0) + value / len(videos) / len(TIOU)
            detection(refs, results, videos, tau)
    return total


def densevid(folder: Path) -> dict[str, float]:
    return localised(folder, "abc123!@#", "zero")


def vidchapters(folder: Path) -> dict[str, float]:
    """densevid_eval of 2019 and SODA_c on each reference file; the six distances of starts are left out."""
    refs, results = stories(folder)
    soda = [soda_c_official(told([ref]), results).f1 for ref in refs]
    return localised(folder, "", "drop") | {"SODA_c": sum(soda) / len(soda)}


def soda_c(folder: Path) -> dict[str, float]:
    """As fujiso/SODA's own command: the events of both reference files together."""
    refs, results = stories(folder)
    return {"SODA_c": soda_c_official(told(refs), results).f1}


def told(refs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The events of these reference files together, by their start."""
    merged = {}
    for v in dict.fromkeys(v for ref in refs for v in ref):
        events = [e for ref in refs if v in ref for e in zip(ref[v]["timestamps"], ref[v]["sentences"], strict=True)]
        events.sort(key=lambda event: event[0][0])
        merged[v] = {"timestamps": [t for t, _ in events], "sentences": [s for _, s in events]}
    return merged


def spice(folder: Path) -> dict[str, float]:
    """The original's processor time for a tenth of the captions, its start taken off; prints its own measure."""
    import resource

    from fabula.core.errors import FabulaError
    from fabula.text.spice import java

    texts = (folder / "spice.txt").read_text().splitlines()
    texts = texts[: max(20, len(texts) // 10 // 2 * 2)]
    try:
        costs = []
        for some in (texts[:2], texts):
            used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            found = java.scores(some[::2], [[text] for text in some[1::2]])
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            costs.append((time.perf_counter() - began, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime))
    except FabulaError as why:
        raise Unavailable(str(why)) from None
    (start, start_cpu), (wall, cpu) = costs
    print(json.dumps({"seconds": wall - start, "cpu": cpu - start_cpu, "amount": len(texts)}))
    return {"SPICE": sum(score.f for score in found) / len(found)}


WORKS: dict[str, Callable[[Path], dict[str, float]]] = {
    "densevid-2018": densevid,
    "vidchapters": vidchapters,
    "captions": captions,
    "SODA_c": soda_c,
    "SPICE": spice,
}


def main() -> None:
    work, folder = sys.argv[1], Path(sys.argv[2])
    try:
        scores = WORKS[work](folder)
    except Unavailable as why:
        print(why)
        sys.exit(NOT_HERE)
    if work != "SPICE":
        print(json.dumps({"scores": scores}))


if __name__ == "__main__":
    main()
