""" "Nothing found" on simulated videos: queries whose moment is in the store, and queries whose moment is not.

    python bench/search_nothing.py didemo_fig_val.jsonl didemo_fig_test.jsonl --out /tmp/nothing

Files are VERIFIED's: a moment has two captions, a coarse and a fine one. Of every fourth video (`--every`) clips are
simulated and stored; the fine captions of stored videos are queries with an answer, those of the others queries
without one: a library that has a quarter of what is asked for. A clip of two seconds is

    c = unit(√.75 μ + √.25 (√ρ content + √(1 − ρ) noise))        content: the captions of its moment, where it has one

μ is the mean direction of the embedder `offline`'s clips, and .75 their mean cosine among each other, both measured
(bench/search.py --gap): the gap between words and clips is the measured one. ρ, how much of what differs between clips
is what the captions say, is a choice, so several are shown; so is the content: with `--content coarse` a clip knows
nothing of what the query adds to the coarse caption. What smoothing to use is chosen on the first file; figures are of
the second: a calibration is fitted to the queries of half of its videos and judged on the other half.
Captions repeat ("the camera pans left"), so some queries "without an answer" have one: no system can be perfect here.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from search import Floats, Given, simulate

import fabula
from fabula.data.moments import VideoNumbers
from fabula.io.moments import write_rankings
from fabula.library import calibrate as c
from fabula.library.embedders import embedder
from fabula.library.embedders.base import unit
from fabula.library.find import SAMPLE, Searcher
from fabula.library.queries import as_ranking
from fabula.library.query import parse
from fabula.library.spans import Smooth
from fabula.library.stage import Exact
from fabula.library.store import Entry, Store, Video
from fabula.report.drawing.panels import as_file

STEP = 2.0
CHECKED = 20  # queries that are asked one by one as well


class World(NamedTuple):
    """Moments of a file: those of stored videos, and the others."""

    rows: list[dict[str, Any]]
    coarse: Floats  # [n, D]
    fine: Floats
    stored: np.ndarray  # [n]

    def videos(self) -> list[str]:
        return sorted({row["video"] for row in self.rows})


def read_world(path: Path, work: Path, videos: int, every: int) -> World:
    """Some videos of a file with their captions embedded; embedded once."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    names = sorted({row["video"] for row in rows})
    chosen = {names[i] for i in np.random.default_rng(3).permutation(len(names))[:videos]}
    rows = [row for row in rows if row["video"] in chosen]
    kept = work / f"{path.stem}-{videos}.npz"
    if not kept.exists():
        made = embedder("offline")
        np.savez(kept, **{key: made.texts([row[f"{key}_desc"] for row in rows]) for key in ("cog", "fig")})
    vectors = np.load(kept)
    order = {name: i for i, name in enumerate(sorted(chosen))}
    stored = np.array([order[row["video"]] % every == 0 for row in rows])
    return World(rows, vectors["cog"], vectors["fig"], stored)


def make_store(world: World, where: Path, rho: float, seed: int, content: str = "both") -> Store:
    rng = np.random.default_rng(seed)
    mu = unit(simulate(rng, 20).mean(0)[None])[0]
    dims = world.coarse.shape[1]
    store = Store.create(where, {"embedder": "simulated", "dims": dims, "weights": {}, "rho": rho}, root=where.parent)
    seen_as = world.coarse if content == "coarse" else unit(world.coarse + world.fine)
    usual = seen_as.mean(0)
    entries = []
    for video in world.videos():
        mine = [i for i, row in enumerate(world.rows) if row["video"] == video and world.stored[i]]
        if not mine:
            continue
        length = float(world.rows[mine[0]]["duration"])
        start = np.arange(0, length, STEP)
        end = np.minimum(start + STEP, length)
        noise = unit(rng.normal(size=(len(start), dims)))
        differs = np.sqrt(1 - rho) * noise
        for i in mine:
            s, e = world.rows[i]["time"]
            inside = (start + end) / 2 > s
            inside &= (start + end) / 2 < e
            differs[inside] += np.sqrt(rho) * unit((seen_as[i] - usual)[None])[0]
        vectors = unit(np.sqrt(0.75) * mu + 0.5 * unit(differs))
        seen = Video(video, 0, 1, 1, "0", length, 25.0, len(start))
        entries.append(Entry(seen, start, end, vectors, [None] * len(start)))
    with store.writing() as writer:
        writer.put(entries)
    return store


def ask(world: World, store: Store, how: Smooth, at: np.ndarray) -> c.Sample:
    """Score and lift of every query's best moment: all products at once, and some queries asked as a user asks."""
    clips = store.vectors()
    S = world.fine[at] @ clips.vector.T  # [Q, N]
    first = np.flatnonzero(np.diff(clips.video, prepend=-1))
    last = np.append(first[1:], S.shape[1]) - 1
    before, behind = np.roll(S, 1, axis=1), np.roll(S, -1, axis=1)
    before[:, first], behind[:, last] = S[:, first], S[:, last]
    score = (how.centre * S + (1 - how.centre) * (before + behind) / 2).max(1).astype(np.float64)
    sample = Exact.of(store).sample(SAMPLE)
    usual = world.fine[at] @ sample.T
    lift = (score - usual.mean(1)) / usual.std(1)
    searcher = Searcher(store, Given(world.fine), how=how)
    for n in range(0, len(at), max(1, len(at) // CHECKED)):
        asked = searcher.best_score(parse(f"q{at[n]}"))
        assert asked is not None and np.allclose(asked, (score[n], lift[n]), atol=1e-4), (asked, score[n], lift[n])
    return c.Sample(score, lift, world.stored[at])


def score_moments(world: World, store: Store, how: Smooth, work: Path, at: np.ndarray) -> dict[str, float]:
    """VCMR and KnownItem of queries that have an answer."""
    searcher, numbers = Searcher(store, Given(world.fine), how=how), VideoNumbers()
    preds, refs = work / "preds.jsonl", work / "refs.jsonl"
    write_rankings((as_ranking(int(i), searcher.find(f"q{i}", 50), numbers) for i in at), numbers, preds)
    lines = [{"id": int(i), "video": world.rows[i]["video"], "windows": [world.rows[i]["time"]]} for i in at]
    refs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = fabula.score(preds, refs, task="moments", metrics=["VCMR", "KnownItem"])
    v, k = result["VCMR"].values, result["KnownItem"].values
    names = ("r1@0.5", "r10@0.5", "r10@0.7")
    return {
        **{name: v[name] for name in names},
        "seconds looked through": (1 - k["saved"]) * 600,
        "found@60": k["found@60"],
    }


def choose_smoothing(world: World, work: Path, rho: float, content: str) -> Smooth:
    """On the first file alone: by how few seconds must be looked through."""
    store = make_store(world, work / f"choose-{rho}", rho, 1, content)
    at = np.flatnonzero(world.stored)[::8]
    best: tuple[float, Smooth] | None = None
    for centre in (0.5, 0.75, 1.0):
        for level in (0.3, 0.5, 0.7):
            how = Smooth(level=level, centre=centre)
            found = score_moments(world, store, how, work, at)
            print(f"  {how.full():44}" + "  ".join(f"{name} {value:.3f}" for name, value in found.items()), flush=True)
            if best is None or found["seconds looked through"] < best[0]:
                best = found["seconds looked through"], how
    assert best is not None
    return best[1]


def judge(world: World, work: Path, rho: float, how: Smooth, arguments: argparse.Namespace) -> None:
    """On the second file: fitted to one half of its videos, figures of the other."""
    content, every = arguments.content, arguments.every
    store = make_store(world, work / f"judge-{rho}", rho, 2, content)
    half = {name for i, name in enumerate(world.videos()) if i // every % 2 == 0}  # of stored and of others alike
    fits = np.array([row["video"] in half for row in world.rows])
    fitted, left = (ask(world, store, how, np.flatnonzero(part)) for part in (fits, ~fits))
    made = c.fit(fitted)
    p = made.many(left.score, left.lift)
    ece = c.calibration_error(p, left.present)
    trades = {t.threshold: t for t in c.trade_off(p, left.present, [0.3, 0.5, 0.7])}
    print(
        f"ρ {rho}: {made.kind} on {made.on}, fitted to {len(fitted.score)} queries, judged by {len(p)}; ECE {ece:.4f}"
    )
    for threshold, t in trades.items():
        print(f"  --min-probability {threshold}: {t.refused:.3f} without an answer told nothing, {t.lost:.3f} with one")
    (work / f"calibration-{content}-{every}-{rho}.svg").write_text(
        as_file(c.draw(p, left.present, f"simulated, ρ = {rho}"))
    )
    if arguments.no_moments:
        return
    found = score_moments(world, store, how, work, np.flatnonzero(world.stored & ~fits))
    print("  " + "  ".join(f"{name} {value:.3f}" for name, value in found.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--videos", type=int, nargs=2, default=[800, 800], help="Of each file.")
    parser.add_argument("--rho", type=float, nargs="+", default=[0.5, 0.3, 0.7])
    parser.add_argument("--content", choices=("both", "coarse"), default="both", help="What a clip is made of.")
    parser.add_argument("--every", type=int, default=4, help="Every so many-th video is stored.")
    parser.add_argument("--no-choice", action="store_true", help="Take the default smoothing.")
    parser.add_argument("--no-moments", action="store_true", help="Do not score the moments of the second file.")
    arguments = parser.parse_args()
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    how = Smooth()
    import shutil

    for left in (*out.glob("choose-*"), *out.glob("judge-*")):
        shutil.rmtree(left)
    if not arguments.no_choice:
        how = choose_smoothing(
            read_world(arguments.first, out, arguments.videos[0], arguments.every),
            out,
            arguments.rho[0],
            arguments.content,
        )
    print(f"smoothing: {how.full()}")
    world = read_world(arguments.second, out, arguments.videos[1], arguments.every)
    for rho in arguments.rho:
        judge(world, out, rho, how, arguments)


if __name__ == "__main__":
    main()
