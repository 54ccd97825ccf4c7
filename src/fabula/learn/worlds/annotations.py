"""Simulated annotations, for a copy of a data set that is not on the disk: steps of procedures, captions of moments.

Sentences follow a small grammar, lengths are drawn around the means of the data set. Features of them are made as of
real annotations (learn/simulate.py, learn/retrieval/simulate.py). No video is seen, and none is known.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fabula.core.errors import MissingExtra
from fabula.documents.files import dump_json, encode_json, read_objects, write_bytes, write_text
from fabula.media.decode import import_av
from fabula.media.sentences import digest

DO = ("cut", "wash", "fry", "stir", "pour", "mix", "chop", "boil", "add", "grate")
WHAT = ("onion", "tomato", "rice", "milk", "flour", "egg", "butter", "pepper", "chicken", "garlic")
WHERE = ("pan", "bowl", "pot", "oven", "board", "plate")
WHO = ("man", "woman", "child", "dog", "girl", "boy")
ACTS = ("opens", "closes", "holds", "throws", "takes", "drops")
THINGS = ("door", "book", "cup", "bag", "phone", "ball", "box", "towel")
LOOKS = ("red", "blue", "small", "old", "striped", "round")
HOW = ("slowly", "quickly", "with both hands", "while turning left", "from the shelf", "near the window")


def write_steps(folder: Path, files: Mapping[str, int], seed: int, steps: float, seconds: float) -> None:
    """A file of ActivityNet's shape for each name, with so many videos: `steps` of about `seconds` each, in order."""
    for name, count in files.items():
        stories = {}
        for k in range(count):
            video = f"{Path(name).stem}_{k:04d}"
            rng = np.random.default_rng(digest("steps", seed, video))
            many = max(2, int(rng.normal(steps, steps / 4)))
            lengths = seconds * rng.uniform(0.4, 1.6, many)
            gaps = seconds * rng.uniform(0.05, 0.8, many + 1)
            starts = gaps[:-1].cumsum() + np.concatenate([[0.0], lengths[:-1].cumsum()])
            sentences = [f"{pick(rng, DO)} the {pick(rng, WHAT)} in the {pick(rng, WHERE)}" for _ in range(many)]
            stories[video] = {
                "duration": round(float(gaps.sum() + lengths.sum()), 2),
                "timestamps": [
                    [round(float(start), 2), round(float(start + length), 2)]
                    for start, length in zip(starts, lengths, strict=True)
                ],
                "sentences": sentences,
            }
        dump_json(folder / name, stories, indent=1)


def write_moments(folder: Path, files: Mapping[str, int], seed: int, duration: float, seconds: float) -> None:
    """A file of lines for each name, with so many videos: two moments each, a coarse and a fine caption of both."""
    number = 0
    for name, count in files.items():
        lines = []
        for k in range(count):
            video = f"{Path(name).stem}_{k:04d}"
            rng = np.random.default_rng(digest("moments", seed, video))
            whole = round(float(duration * rng.uniform(0.8, 1.2)), 2)
            for half in (0, whole / 2):
                long = min(float(seconds * rng.uniform(0.6, 1.4)), whole / 2 - 0.5)
                start = half + float(rng.uniform(0, whole / 2 - long))
                who, acts, thing = pick(rng, WHO), pick(rng, ACTS), pick(rng, THINGS)
                more = {"static": f"a {pick(rng, LOOKS)} {thing}", "dynamic": f"the {thing} {pick(rng, HOW)}"}
                kind = pick(rng, tuple(more))
                row = {
                    "video": video,
                    "time": [round(start, 2), round(start + long, 2)],
                    "desc_id": number,
                    "duration": whole,
                    "cog_desc": f"a {who} {acts} the {thing}.",
                    "fig_desc": f"a {pick(rng, LOOKS)} {who} {acts} {more[kind]}.",
                    "fig_desc_score": round(float(rng.normal(1.5, 1)), 4),
                    "branch": kind,
                }
                lines.append(encode_json(row, folder / name))
                number += 1
        write_text(folder / name, lines)


def pick(rng: np.random.Generator, words: tuple[str, ...]) -> str:
    return words[int(rng.integers(len(words)))]


def write_regions(folder: Path, seed: int, images: int) -> None:
    """references.jsonl and predictions.jsonl: boxes with captions, some marked twice; detections that err a little."""
    truth, found = [], []
    for k in range(images):
        rng = np.random.default_rng(digest("regions", seed, k))
        boxes, captions = list[list[float]](), list[str]()
        for _ in range(8):
            box = [*rng.uniform(0, 400, 2), *rng.uniform(40, 200, 2)]
            for _ in range(1 + int(rng.random() < 0.3)):  # some are marked twice
                boxes.append([round(float(x), 1) for x in box + rng.normal(0, 3, 4)])
                captions.append(f"a {pick(rng, LOOKS)} {pick(rng, THINGS)} near the {pick(rng, WHO)}")
        near = [[round(float(x), 1) for x in np.maximum(box + rng.normal(0, 12, 4), 1)] for box in boxes]
        words = [
            text if rng.random() < 0.5 else f"a {pick(rng, LOOKS)} {pick(rng, THINGS)} on the {pick(rng, WHERE)}"
            for text in captions
        ]
        scores = [round(float(x), 9) for x in rng.random(len(near))]  # no two are equal
        image = {"image_id": f"image_{k:03d}"}
        truth.append({**image, "boxes": boxes, "captions": captions})
        found.append({**image, "boxes": near, "captions": words, "scores": scores})
    for name, rows in (("references.jsonl", truth), ("predictions.jsonl", found)):
        write_text(folder / name, [encode_json(row, folder / name) for row in rows])


def write_plan(folder: Path, benchmark: Path, items: int) -> None:
    """PLAN.toml of a study of a benchmark's captions, and an empty picture as the clip of every video."""
    texts = {"title": "Fine captions", "benchmark": str(benchmark.resolve()), "clips": str(folder.resolve())}
    numbers = {"sample": items, "questions": min(items, 30), "raters_per_question": 3, "checks": 2}
    write_text(folder / "PLAN.toml", [f"{k} = {encode_json(v, folder)}" for k, v in {**texts, **numbers}.items()])
    rows = [row for _, row in read_objects(benchmark)]
    clip = blank_clip(max(row["duration"] for row in rows) + 1)
    for video in dict.fromkeys(row["video"] for row in rows):
        write_bytes(folder / f"{video}.webm", [clip])


def blank_clip(seconds: float) -> bytes:
    """A clip of a grey picture, once a second; a head alone where nothing here encodes video, or looks into it."""
    try:
        av = import_av()
    except MissingExtra:
        return b"\x1a\x45\xdf\xa3"
    out = io.BytesIO()
    with av.open(out, "w", format="webm") as container:
        stream = container.add_stream("libvpx", rate=1)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for _ in range(int(seconds) + 1):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((32, 32, 3), 128, np.uint8), "rgb24")))
        container.mux(stream.encode())
    return out.getvalue()
