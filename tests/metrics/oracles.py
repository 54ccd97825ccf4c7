"""What story metrics compute, for one video in plain loops: the columns of many videos must have these numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from fabula.core.means import f1, mean
from fabula.core.spec import show
from fabula.data.stories import Story
from fabula.match import ordered
from fabula.match.ordered import marked_pairs
from fabula.metrics.precision import precision_of_ties
from fabula.metrics.stories._families.overlap_pairs import GARBAGE, letters
from fabula.pair.tiou import intersection, sound
from fabula.text import bleu, cider, meteor, rouge

Row = dict[str, float]
NUMBERS = ("S", "precision", "recall", "f1")


def row(metric: Any, ref: Story, pred: Story, ctx: Any) -> Row:
    """The row of one video."""
    family = "DVC" if metric.name.startswith("DVC_") else metric.name
    return EQUATIONS[family](metric, ref, pred, ctx)  # type: ignore[no-any-return, operator]


def highlight(metric: Any, positive: Any, saliency: Any) -> float:
    """HL_mAP or HL_Hit1 of one query at one level. positive [C, A]: 0 or 1 per annotator."""
    if metric.name == "HL_Hit1":
        best = int(saliency.argmax())
        return float(positive[best].max()) if best < len(positive) else 0.0
    scores = np.zeros(len(positive))
    scores[: len(saliency)] = saliency[: len(scores)]
    return float(precision_of_ties(positive, scores, metric.steps).mean())


def miou(metric: Any, ref: Story, pred: Story, ctx: Any) -> Row:
    return {"value": float(metric.iou(ref, pred).max(axis=1, initial=0.0).mean())}


def mjaccard(metric: Any, ref: Story, pred: Story, ctx: Any) -> Row:
    inter = np.where(metric.iou(ref, pred) > 0, intersection(ref.spans, pred.spans), 0.0)
    length = np.broadcast_to(pred.spans[:, 1] - pred.spans[:, 0] + metric.eps, inter.shape)
    share = np.divide(inter, length, out=np.zeros_like(inter), where=inter > 0)
    return {"value": float(share.max(axis=1, initial=0.0).mean())}


def covered(metric: Any, ref: Story, pred: Story, ctx: Any) -> Row:
    at: Row = {}
    for level in metric.levels():
        hit = near(metric, ref, pred, level)
        at[f"precision@{show(level)}"] = float(hit.any(axis=0).mean()) if len(pred) else 0.0
        at[f"recall@{show(level)}"] = float(hit.any(axis=1).mean())
    P, R = (mean([x for name, x in at.items() if name.startswith(side)]) for side in ("precision", "recall"))
    return {"precision": P, "recall": R, "f1": f1(P, R), **at, "n_ref": len(ref), "n_pred": len(pred)}


def near(metric: Any, ref: Story, pred: Story, level: float) -> Any:
    """[G, P]"""
    if metric.name == "PRF":
        iou = metric.iou(ref, pred)
        return iou > level if metric.cmp == ">" else iou >= level
    apart = np.abs(ref.spans[:, None, 0] - pred.spans[None, :, 0])
    if metric.segments == "checked":
        apart = np.where(sound(ref.spans)[:, None] & sound(pred.spans)[None, :], apart, np.inf)
    return apart < level


def soda(metric: Any, ref: Story, pred: Story, ctx: Any) -> Row:
    C = iou = metric.iou(ref, pred)
    if metric.name == "OrderedPRF":
        C = (iou > metric.tau if metric.cmp == ">" else iou >= metric.tau).astype(float)
    elif metric.name == "SODA_c":
        C = iou * ctx.matrix(ref, pred)
    if metric.name == "SODA_b":
        return prf(ref, pred, sum_captions(metric, iou, ctx.matrix(ref, pred)))
    return prf(ref, pred, ordered(C)[0])


def soda_a(metric: Any, ref: Story, pred: Story, ctx: Any) -> Row:
    iou, text, found = metric.iou(ref, pred), ctx.matrix(ref, pred), Row()
    for tau in metric.tiou:
        at = prf(ref, pred, sum_captions(metric, np.where(iou >= tau, iou, 0.0), text))
        found |= {f"{n}@{show(tau)}": at[n] for n in NUMBERS}
    means = {n: mean([found[f"{n}@{show(tau)}"] for tau in metric.tiou]) for n in NUMBERS}
    return found | means | {"n_ref": len(ref), "n_pred": len(pred)}


def sum_captions(metric: Any, C: Any, text: Any) -> float:
    pairs = marked_pairs(C) if metric.backtrack == "marked" else ordered(C)[1]
    return float(sum(text[i, j] for i, j in pairs))


def best(metric: Any, rows: list[Row]) -> Row:
    """Of one video's rows by reference set, the row with refs=best."""
    if metric.name == "SODA_a":  # each τ on its own
        row = dict(rows[0])
        for tau in map(show, metric.tiou):
            top = max(rows, key=lambda r: r[f"f1@{tau}"])
            row |= {f"{n}@{tau}": top[f"{n}@{tau}"] for n in NUMBERS}
        return row | {n: mean([row[f"{n}@{show(tau)}"] for tau in metric.tiou]) for n in NUMBERS}
    if metric.param("best_by") != "each":
        return max(rows, key=lambda r: r[metric.primary])
    row = {n: max(r[n] for r in rows) if "@" in n else x for n, x in rows[0].items()}
    P, R = (mean([row[f"{n}@{show(x)}"] for x in metric.levels()]) for n in ("precision", "recall"))
    return row | {"precision": P, "recall": R, "f1": f1(P, R)}


def prf(ref: Story, pred: Story, S: float) -> Row:
    P, R = (S / len(pred), S / len(ref)) if len(pred) else (0.0, 0.0)
    return {"precision": P, "recall": R, "f1": f1(P, R), "S": S, "n_ref": len(ref), "n_pred": len(pred)}


def caption_pairs(metric: Any, ref: Story, pred: Story, tau: float, tokens: Any) -> tuple[list[tuple[str, str]], int]:
    """The pairs of one video at one τ in the order of the predictions, and how many predictions score 0."""
    iou, pairs, lost, trailing = metric.iou(ref, pred), list[tuple[str, str]](), 0, list[tuple[str, str]]()
    for j, caption in enumerate(pred.captions):
        said = tokens[caption]
        overlapping = [i for i in range(len(ref)) if (iou[i, j] >= tau if metric.cmp == ">=" else iou[i, j] > tau)]
        pairs += [(said, tokens[ref.captions[i]]) for i in overlapping]
        trailing = []
        if not overlapping and metric.garbage == "zero":
            lost += 1
        elif not overlapping and metric.garbage == "last":
            trailing = [(said, GARBAGE)]
        elif not overlapping:
            pairs.append((said, GARBAGE if metric.garbage == "abc" else letters(len(pairs))))
    return pairs + trailing, lost


def localised(metric: Any, ref: Story, pred: Story, ctx: Any) -> Row:
    found: Row = {}
    for tau in metric.tiou:
        pairs, lost = caption_pairs(metric, ref, pred, tau, ctx[0] if metric.name == "DVC_CIDEr" else ctx)
        found[f"value@{show(tau)}"] = score_video(metric, pairs, lost, ctx) if pairs else 0.0
    return {"value": mean(list(found.values())), **found}


def score_video(metric: Any, pairs: list[tuple[str, str]], lost: int, ctx: Any) -> float:
    """One video at one τ."""
    size = len(pairs) + lost
    match metric.title:
        case "METEOR":
            segments = meteor.segments([c for c, _ in pairs], [[r] for _, r in pairs], crowded="zero")
            if metric.agg == "corpus":
                return meteor.aggregate(segments) * len(pairs) / size
            return sum(s.score for s in segments) / size
        case "CIDEr":
            idf = cider.frequencies(ctx[1]) if ctx[1] else cider.Idf.from_counts(Counter(r for _, r in pairs))
            return sum(cider.stream(((c, [r]) for c, r in pairs), idf)) / size
        case "ROUGE_L":
            return sum(rouge.score(c, [r]) for c, r in pairs) / size
        case _:
            return bleu.corpus(bleu.stats(c, [r]) for c, r in pairs)[metric.n - 1] * len(pairs) / size


EQUATIONS: dict[str, object] = {
    "mIoU": miou,
    "mJaccard": mjaccard,
    "PRF": covered,
    "StartPRF": covered,
    "SODA_a": soda_a,
    "SODA_b": soda,
    "SODA_c": soda,
    "SODA_d": soda,
    "OrderedPRF": soda,
    "DVC": localised,
}
