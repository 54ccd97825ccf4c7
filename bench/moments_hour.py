"""An hour of real video: decoded, encoded, asked; and whether its moments are those of its parts found alone.

    python bench/moments_hour.py ../shared/data/videos                    # thumbnails, one a second
    python bench/moments_hour.py ../shared/data/videos --with "efficientnet_lite0(fps=1)" --minutes 10

Makes a film of the videos of a folder, one after the other and again, small (160 × 120, 5 frames a second), with every
frame a key frame; cuts it into files that are its windows, without encoding anew; encodes the film and the files
with a model of random weights, and asks both. A film's list is what the files' lists give, laid on its time line: the
best 200 of all, suppressed together.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import torch

import fabula
from fabula.data.moments import Moment
from fabula.learn import checkpoint
from fabula.learn.models import xml
from fabula.learn.retrieval.finder import Finder
from fabula.learn.retrieval.search import cut_windows, overlap_of
from fabula.match.nms import nms

VIDEOS = Path(__file__).resolve().parents[2] / "shared" / "data" / "videos"
FPS, WIDTH, HEIGHT = 5, 160, 120
QUERIES = ["a man pours oil", "a ball is kicked", "someone waves", "two people talk", "a door opens"]


def make_film(folder: Path, path: Path, seconds: float) -> None:
    """The videos of a folder end to end, until it is long enough; every frame a key frame."""
    files = sorted(f for f in folder.iterdir() if f.suffix in (".mp4", ".avi"))
    pictures: list[np.ndarray] = []
    for file in files:
        with av.open(str(file)) as source:
            stream = source.streams.video[0]
            due = 0.0
            for frame in source.decode(stream):
                if frame.time is not None and frame.time >= due:
                    pictures.append(frame.reformat(WIDTH, HEIGHT, "rgb24").to_ndarray())
                    due = max(due + 1 / FPS, frame.time)
    with av.open(str(path), "w") as film:
        stream = film.add_stream("mjpeg", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuvj420p"
        for i in range(int(seconds * FPS)):
            again, k = divmod(i, len(pictures))  # each time darker, so that no two stretches score alike
            picture = (pictures[k] * (1 - 0.02 * (again % 40))).astype(np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, "rgb24")
            frame.pts, frame.time_base = i, Fraction(1, FPS)
            film.mux(stream.encode(frame))
        film.mux(stream.encode())


def cut_film(path: Path, out: Path, start: int, end: int) -> None:
    """Seconds start … end of a film whose frames are all key frames, as they are."""
    with av.open(str(path)) as film, av.open(str(out), "w") as part:
        source = film.streams.video[0]
        target = part.add_stream_from_template(source)
        for i, packet in enumerate(p for p in film.demux(source) if p.size):
            if start * FPS <= i < end * FPS:
                packet.pts = packet.dts = i - start * FPS
                packet.time_base = Fraction(1, FPS)
                packet.stream = target
                part.mux(packet)


def random_run(path: Path, dim: int) -> None:
    torch.manual_seed(0)
    config = replace(xml.Config.tiny(feature_dim=dim, query_dim=64, words="hashing"), max_clips=48)
    model = xml.Model(config)
    with torch.no_grad():
        for p in model.parameters():
            p += 0.2 * torch.randn_like(p)
    header = {"format": 1, "model": "xml", "config": asdict(config), "about": {"task": "vcmr"}}
    checkpoint.write(path, {f"model.{n}": t for n, t in model.state_dict().items()}, header)


def join_parts(found: list[list[Moment]], starts: list[int], d: object, top: int) -> list[Moment]:
    """The lists of parts on one time line: the best 200, suppressed."""
    every = [Moment(m.start + s, m.end + s, "film", m.score) for ms, s in zip(found, starts, strict=True) for m in ms]
    every = sorted(every, key=lambda m: -(m.score or 0))[:200]
    kept = nms(np.array([(m.start, m.end) for m in every]), np.array([m.score for m in every]), d, top=top)  # type: ignore[arg-type]
    return [every[i] for i in kept]


def same(ours: list[Moment], theirs: list[Moment]) -> int:
    """How many of the first are the same."""
    pairs = zip(ours, theirs, strict=False)
    equal = [abs(a.start - b.start) + abs(a.end - b.end) < 1e-6 for a, b in pairs]
    return next((i for i, yes in enumerate(equal) if not yes), len(equal))


def alone(m: Finder, parts: list[Path], top: int = 200) -> list[list[list[Moment]]]:
    """What is found in each file alone, before NMS: [queries][parts]."""
    decoding = m.decoding
    m.decoding = replace(decoding, nms=None)
    found = [m.find(m.encode(part), QUERIES, top=top) for part in parts]
    m.decoding = decoding
    return [list(one) for one in zip(*found, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("videos", type=Path, nargs="?", default=VIDEOS, help="a folder of videos")
    parser.add_argument("--with", dest="extract", default="thumbnail(fps=1)")
    parser.add_argument("--minutes", type=float, default=61)
    args = parser.parse_args()
    if not args.videos.is_dir():
        print(f"{args.videos} is not here: real videos are wanted")
        return
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_film(args.videos, folder / "film.avi", 60 * args.minutes)
        from fabula.media import extractor

        random_run(folder / "xml.safetensors", extractor(args.extract).dim)
        m = fabula.moments(folder / "xml.safetensors", extract=args.extract)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        wall, cpu = time.perf_counter(), time.process_time()
        film = m.encode(folder / "film.avi")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        asked = time.process_time()
        found = m.find(film, QUERIES, top=100)
        asked = time.process_time() - asked
        clips = int(film.offset[-1]) + int(film.rows.mask[-1].sum())
        windows = cut_windows(clips, m.config.max_clips, overlap_of(m.config))
        parts = [folder / f"part{s}.avi" for s, _ in windows]
        for part, (s, e) in zip(parts, windows, strict=True):
            cut_film(folder / "film.avi", part, s, e)
        lists = alone(m, parts)
        starts = [s for s, _ in windows]
        joined = [join_parts(some, starts, m.decoding.nms, 100) for some in lists]
        agree = [f"{same(a, b)} of {len(a)} and {len(b)}" for a, b in zip(found, joined, strict=True)]
        print(f"{float(film.durations[0]) / 60:.1f} minutes, {clips:,} clips, {len(windows)} windows; {args.extract}")
        print(f"decoded and encoded in {cpu:.1f} s of processor time ({wall:.1f} s, load {os.getloadavg()[0]:.1f} on "
              f"{os.cpu_count()}), {len(QUERIES)} queries in {1000 * asked:.0f} ms; memory {before / 1024:,.0f} → "
              f"{peak / 1024:,.0f} MB")  # fmt: skip
        print(f"moments, from the first, that are those of its {len(parts)} files found alone: {'; '.join(agree)}")


if __name__ == "__main__":
    main()
