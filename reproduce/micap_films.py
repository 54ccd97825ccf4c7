"""How well MICap's people are carried on over a film (its limitation C): SIMULATED films of 5, 20, 60 and 200 clips.

    python reproduce/micap_films.py --run build/reproduce-micap/joint-0

Fills the blanks of films that no setting was chosen by, as one long set, and compares ids over the whole film: carried
on (fabula.learn.identity.windows), and in windows of five that know nothing of one another. Writes what came out into
its part of docs/reproduction.md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from fabula.io.identity.captionsets import SetText
from fabula.learn import checkpoint
from fabula.learn.identity.clips import Streams, Videosets
from fabula.learn.identity.windows import fill_long, people_of
from fabula.learn.identity.wordpiece import WHO
from fabula.learn.tasks.micap import SetAnswer, score_blanks
from fabula.learn.worlds.films import Recipe, make_films, write_world

HERE = Path(__file__).resolve().parent.parent
MARK = "<!-- reproduce/micap_films.py {} -->"
LENGTHS = {5: 40, 20: 12, 60: 6, 200: 3}  # clips → films of a world
SEEDS = (101, 102, 103)  # the way people are carried on was chosen on films of seed 100
WAYS = ("carried on", "windows alone")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--run", type=Path, default=HERE / "build" / "reproduce-micap" / "joint-0")
    parser.add_argument("--doc", type=Path, default=HERE / "docs" / "reproduction.md")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    parser.add_argument("--films", type=int, help="of each length")
    args = parser.parse_args()
    torch.set_num_threads(1)
    path = args.run / "best-class.safetensors" if args.run.is_dir() else args.run
    model: Any = checkpoint.load_model(path)[0].eval()
    rows = []
    for clips in args.lengths:
        found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
        for seed in args.seeds:
            for way, scores in measure(model, clips, seed, args.films or LENGTHS[clips]).items():
                found[way].append(scores)
        for way, scores in found.items():
            told = {k: mean(one[k] for one in scores) for k in scores[0]}
            rows.append((clips, way, told))
            print(clips, way, {k: round(v, 4) for k, v in told.items()}, flush=True)
    write_doc(args, rows)


def measure(model: Any, clips: int, seed: int, films: int) -> dict[str, dict[str, float]]:
    """Scores of both ways on the films of one world."""
    recipe = Recipe(seed=seed, train_films=1, val_films=1, test_films=films, clips=clips)
    with tempfile.TemporaryDirectory() as folder:
        write_world(folder, recipe)
        sets = {
            film.name: SetText(
                tuple(scene.caption for scene in film.scenes), clips=tuple(film.clip(k) for k in range(clips))
            )
            for film in make_films(recipe, "test")
        }
        data = Videosets(sets, Streams(folder), model.config, "fitb")
        made = {}
        for way, fill in zip(WAYS, (fill_long, fill_alone), strict=True):
            began = time.process_time()
            filled = {name: fill(model, data, name) for name in sets}
            seconds = (time.process_time() - began) / (films * clips)
            scores = score_blanks([SetAnswer(name, ids) for name, ids in filled.items()], sets)
            pairs = mean(pairwise_f(blanks_of(sets[name]), filled[name]) for name in sets)
            made[way] = {**scores, "pairwise F": pairs, "people": mean(len(set(x)) for x in filled.values()),
                         "ms a clip": 1000 * seconds}  # fmt: skip
    return made


def blanks_of(one: SetText) -> list[str]:
    return [found[0] for caption in one.captions or () for found in WHO.finditer(caption)]


def fill_alone(model: Any, data: Videosets, name: str) -> tuple[str, ...]:
    """Five clips at a time, one window after the other, each with people of its own."""
    filled: list[str] = []
    clips, N = len(data.clips(name)), data.config.clips
    for first in range(0, clips, N):
        batch = data.collate([data.window(name, range(first, min(first + N, clips)))])
        filled += [f"{first} {who}" for who in people_of(model.fill(batch)[0], model.config)]
    number = {who: k + 1 for k, who in enumerate(dict.fromkeys(filled))}
    return tuple(f"P{number[who]}" for who in filled)


def pairwise_f(truth: list[str], said: tuple[str, ...]) -> float:
    """F1 of "these two blanks are one person" over all pairs of a film."""
    pairs = [(a[0] == b[0], a[1] == b[1]) for a, b in combinations(list(zip(truth, said, strict=True)), 2)]
    both = sum(t and s for t, s in pairs)
    return 2 * both / max(1, sum(t for t, _ in pairs) + sum(s for _, s in pairs))


def write_doc(args: argparse.Namespace, rows: list[tuple[int, str, dict[str, float]]]) -> None:
    shown = ("class", "same", "different", "pairwise F")
    lines = ["| clips | people | " + " | ".join(shown) + " | people found | ms a clip |", "|---|---|" + "---|" * 6]
    for clips, way, told in rows:
        numbers = " | ".join(f"{100 * told[k]:.1f}" for k in shown)
        lines.append(f"| {clips} | {way} | {numbers} | {told['people']:.1f} | {told['ms a clip']:.0f} |")
    text = args.doc.read_text(encoding="utf-8")
    begin, end = MARK.format("begin"), MARK.format("end")
    if begin not in text:
        raise SystemExit(f"{args.doc} has no line {begin}")
    head, _, rest = text.partition(begin)
    args.doc.write_text(f"{head}{begin}\n" + "\n".join(lines) + f"\n{end}{rest.partition(end)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
