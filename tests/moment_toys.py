"""Small files of moments that our tests write, and slow evaluators that say what their scores must be."""

import json
from pathlib import Path

import numpy as np

VIDEOS = {"kitchen": 0, "garden": 1}
TIMES = np.round(np.arange(0, 60, 0.1), 1)


def lines(path: Path, entries: list[dict]) -> Path:
    path.write_text("".join(json.dumps(e) + "\n" for e in entries))
    return path


def tvr_queries(path: Path, queries: dict) -> Path:
    """{id: (video, ts)}"""
    entries = [{"desc_id": i, "vid_name": v, "ts": ts, "duration": 90.0, "desc": "x"} for i, (v, ts) in queries.items()]
    return lines(path, entries)


def tvr_predictions(path: Path, videos: dict = VIDEOS, **lists: dict) -> Path:
    """VCMR={id: rows}, …"""
    named = {n: [{"desc_id": i, "desc": "x", "predictions": rows} for i, rows in a.items()] for n, a in lists.items()}
    path.write_text(json.dumps({"video2idx": videos, **named}))
    return path


# The plain evaluators: one query at a time, no arrays where a loop will do -------------------------------------------


def iou(p, g, kind=float) -> float:
    ps, pe, gs, ge = (kind(x) for x in (*p, *g))
    inter = max(kind(0), min(pe, ge) - max(ps, gs))
    hull = max(pe, ge) - min(ps, gs)
    return inter / hull if hull != 0 else kind(0)


def right(row, video, ts, tau, kind) -> bool:
    if row[0] != video:
        return False
    windows = ts if isinstance(ts[0], list) else [ts]
    over = sum(bool(iou(row[1:3], w, kind) >= kind(tau)) for w in windows)
    return over >= (2 if len(windows) >= 4 else 1)


def plain_recalls(queries: dict, lists: dict, videos: dict, kind=np.float32) -> dict:
    """{"VCMR": {"r1@0.5": …}, …} in the way TVR's evaluator describes it."""
    out = {}
    for name, answers in lists.items():
        found = {}
        for k in (1, 5, 10, 100):
            for tau in (0.5, 0.7):
                hits = 0
                for id, (video, ts) in queries.items():
                    rows = answers.get(id, [])[:100]
                    if name == "SVMR":
                        rows = [r for r in rows if r[0] == videos[video]]
                    if name == "VR":
                        hits += any(r[0] == videos[video] for r in rows[:k])
                    else:
                        hits += any(right(r, videos[video], ts, tau, kind) for r in rows[:k])
                found[f"r{k}" if name == "VR" else f"r{k}@{tau}"] = hits / len(queries)
        out[name] = found
    return out


def plain_ap(windows: list, answers: list, tau: float) -> float:
    """Average precision of [start, end, score] rows, in order of score, each reference window taken once."""
    free, tp, precisions = list(windows), 0, []
    for n, (start, end, _) in enumerate(sorted(answers, key=lambda r: -r[2]), 1):
        best = max(free, key=lambda g: iou((start, end), g), default=None)
        hit = best is not None and iou((start, end), best) >= tau
        if hit:
            free.remove(best)
            tp += 1
        precisions.append((tp / n, hit))
    steps = [max(p for p, _ in precisions[i:]) for i, (_, hit) in enumerate(precisions) if hit]
    return sum(steps) / len(windows)


def random_corpus(seed: int, n: int = 40) -> tuple[dict, dict, dict]:
    """Queries, lists and video numbers with times on a coarse grid, so that IoU falls on the border often."""
    rng = np.random.default_rng(seed)
    videos = {f"v{i}": 7 + 2 * i for i in range(6)}
    names = list(videos)

    def window() -> list[float]:
        start = int(rng.integers(0, 300))
        return [float(TIMES[start]), float(TIMES[start + int(rng.integers(5, 100))])]

    queries, lists = {}, {"VCMR": {}, "SVMR": {}, "VR": {}}
    for q in range(n):
        ts = window()
        if rng.random() < 0.3:
            ts = [[ts[0], ts[1] + float(rng.integers(0, 3))] for _ in range(int(rng.integers(4, 6)))]
        queries[q] = (names[int(rng.integers(len(names)))], ts)
        for answers in lists.values():
            rows = []
            for _ in range(int(rng.choice([0, 1, 4, 30, 120]))):
                near = rng.random() < 0.3
                base = (ts[0] if isinstance(ts[0], list) else ts) if near else window()
                video = queries[q][0] if near else names[int(rng.integers(len(names)))]
                shift = rng.integers(-2, 3, 2)
                rows.append([videos[video], base[0] + float(shift[0]), base[1] + float(shift[1]), float(rng.random())])
            answers[q] = rows
    return queries, lists, videos
