"""XML end to end, from stores to a file of moments: TVR's own inference and `fabula predict vcmr`, on the same files.

    python bench/moments_official.py --official TVRetrieval/        # a checkout of github.com/jayleicn/TVRetrieval
    python bench/moments_official.py --fig                          # ours: sizes of ActivityNet-FIG, ms a query
    python bench/moments_official.py --grow                         # ours: 1,000 to 100,000 videos, 10,000 queries

Features, words and weights are random, of the published sizes (256 numbers wide, 4 heads, 48 clips; features of 256).
Both read the same .h5 files, encode videos and queries, score, take the best 100 videos and 200 spans, suppress, and
write TVR's file; ours does it as the published program does (`--protocol tvr`, pads seen, videos cut), and the lists
are compared. Both are whole processes from start to end, the loading of torch among it, with one thread each, one after
the other: ours twice, with an empty cache folder and then with the corpus that the first run left there. The official
script is `eval_epoch` of its inference.py, without scoring and without reading its options; nothing of its code is in
this project. What it needs and this machine has not is put in place: `easydict`, `np.int`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

CLIPS, DIM, WORDS, WIDTH = 48, 256, 12, 768
CLOCKS = ("cpu", "wall", "work")
SPLIT = "test_public"  # a split whose answers nobody knows: the official script then scores nothing
SIZES = {"hidden": 256, "heads": 4, "max_words": 30, "max_clips": CLIPS, "query_dim": WIDTH, "feature_dim": DIM}


def make_files(folder: Path, queries: int, videos: int) -> None:
    """Stores, queries and weights, in the forms that TVR's script reads."""
    import h5py

    rng = np.random.default_rng(0)
    lengths = rng.integers(20, CLIPS + 1, videos)
    lengths[0] = CLIPS  # else the official script unravels its indices wrongly
    with h5py.File(folder / "videos.h5", "w") as file:
        for i, n in enumerate(lengths.tolist()):
            file[f"v{i}"] = rng.standard_normal((n, DIM), dtype=np.float32)
    with h5py.File(folder / "words.h5", "w") as file:
        for i in range(queries):
            file[str(i)] = rng.standard_normal((WORDS, WIDTH), dtype=np.float32)
    rows = [
        {"desc_id": i, "desc": f"query {i}", "vid_name": f"v{i % videos}", "duration": float(lengths[i % videos]),
         "ts": [1.0, 5.0], "type": "v"} for i in range(queries)
    ]  # fmt: skip
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = {SPLIT: {f"v{i}": [float(n), i] for i, n in enumerate(lengths.tolist())}}
    (folder / "videos.json").write_text(json.dumps(told))


def make_large(folder: Path, queries: int, videos: int) -> None:
    """The same for corpora of many videos, small: 24 clips of 64 numbers, in half precision, words hashed."""
    from fabula.media.stores.features import write_features

    rng = np.random.default_rng(0)
    lengths = rng.integers(8, 25, videos).tolist()
    items = (
        (f"v{i}", rng.standard_normal((n, 64), dtype=np.float32).astype(np.float16)) for i, n in enumerate(lengths)
    )
    write_features(folder / "videos.safetensors", items, {})
    rows = (
        {"desc_id": i, "desc": f"query {i} of {queries}", "vid_name": f"v{i % videos}",
         "duration": float(lengths[i % videos]), "ts": [1.0, 5.0], "type": "v"} for i in range(queries)
    )  # fmt: skip
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    small = {"hidden": 64, "heads": 4, "max_words": 24, "max_clips": 24, "query_dim": 64, "feature_dim": 64}
    random_run(folder, {**small, "words": "hashing"})


def random_run(folder: Path, sizes: dict[str, Any]) -> Any:
    """A run of ours with random weights."""
    import torch

    from fabula.learn import checkpoint
    from fabula.learn.models import xml

    torch.manual_seed(0)
    config = xml.Config(**sizes, dropout=0.0)
    model = xml.Model(config)
    with torch.no_grad():
        for p in model.parameters():
            p += 0.1 * torch.randn_like(p)
    header = {"format": 1, "model": "xml", "config": asdict(config), "about": {"task": "vcmr"}}
    checkpoint.write(folder / "xml.safetensors", {f"model.{n}": t for n, t in model.state_dict().items()}, header)
    return model


def make_weights(folder: Path) -> None:
    """A run of ours with random weights, and the same under the published names."""
    import re

    import torch

    from fabula.learn.models import xml

    ours = random_run(folder, {**SIZES, "pads": "seen", "long": "cut", "words": "store"}).state_dict()
    made = {}
    for theirs, mine in xml.OFFICIAL:  # patterns: try what they can stand for
        every = [(), ("weight",), ("bias",), *((a, b) for a in ("query", "key", "value") for b in ("weight", "bias"))]
        for parts in every:
            if theirs.count("(") != len(parts):
                continue
            words = iter(parts)
            name, own = re.sub(r"\(\\w\+\)", lambda _: next(words), theirs).replace("\\", ""), mine  # noqa: B023
            for k, part in enumerate(parts):
                own = own.replace(f"\\{k + 1}", part)
            if own in ours:
                made[name] = ours[own]
    assert len(made) == len(ours), set(ours) - {xml.rename_published(n) for n in made}
    torch.save(made, folder / "official.pth")


def measured(work: Any) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "peak_mb": peak}
    print(json.dumps(took))


def run_fabula(folder: Path) -> None:
    """Ours without the start of the process, as `run_official`: what is loaded once is loaded before the clock."""
    import torch

    import fabula
    from fabula.learn import run  # noqa: F401
    from fabula.learn.models import xml  # noqa: F401
    from fabula.learn.retrieval import queries  # noqa: F401

    torch.set_num_threads(1)
    keywords: dict[str, Any] = {
        "data": folder / "queries.jsonl", "features": (str(folder / "videos.h5"),), "words": folder / "words.h5",
        "corpus": "store", "protocol": "tvr", "batch_size": 200, "device": "cpu",
    }  # fmt: skip
    measured(lambda: fabula.predict("vcmr", folder / "xml.safetensors", folder / "fabula.json", **keywords))


def run_parts(folder: Path) -> None:
    """Ours in parts, of many videos."""
    import torch

    import fabula

    torch.set_num_threads(1)
    keywords: dict[str, Any] = {
        "data": folder / "queries.jsonl", "features": (str(folder / "videos.safetensors"),), "corpus": "store",
        "batch_size": 200, "device": "cpu", "work": folder / "work",
    }  # fmt: skip
    measured(lambda: fabula.predict("vcmr", folder / "xml.safetensors", folder / "fabula.json", **keywords))


def run_fig(queries: int, videos: int, longest: int = 180, clips: int = 240) -> None:
    """The search of an encoded corpus of random numbers, of ActivityNet-FIG's sizes: VCMR, SVMR and VR."""
    import torch

    from fabula.learn.models import xml
    from fabula.learn.retrieval.contract import Queries, Videos
    from fabula.learn.retrieval.decode import Decoding
    from fabula.learn.retrieval.search import Corpus, search_corpus

    torch.set_num_threads(1)
    torch.manual_seed(0)
    sizes = {"max_clips": clips, "min_length": 1, "max_length": longest, "nms": 0.5}
    model: Any = xml.Model(xml.Config.tiny(feature_dim=8, query_dim=8, hidden=256, **sizes)).eval()
    for conv in (model.boundaries.start, model.boundaries.end):
        torch.nn.init.normal_(conv.weight)
    search = torch.nn.functional.normalize(torch.randn(videos, clips, 256), dim=-1)
    spans, there = torch.randn(videos, clips, 256) / 16, torch.ones(videos, clips, dtype=torch.bool)
    rows, seconds = Videos(search, spans, there), torch.full((videos,), float(clips))
    names, zeros = [str(i) for i in range(videos)], torch.zeros(videos, dtype=torch.int64)
    corpus = Corpus(names, seconds, rows, torch.arange(videos), zeros)
    found = torch.nn.functional.normalize(torch.randn(queries, 256), dim=-1)
    encoded, own = Queries(found, torch.randn(queries, 256)), torch.arange(queries) % videos
    measured(lambda: [None for _ in search_corpus(model, encoded, corpus, Decoding.of(model.config), own)])


def run_official(folder: Path, repository: Path) -> None:
    """`eval_epoch` of baselines/crossmodal_moment_localization/inference.py, without scoring."""
    import logging
    import types

    import torch

    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)

    class Easy(dict):  # type: ignore[type-arg]
        __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__

    stub: Any = types.ModuleType("easydict")
    stub.EasyDict = Easy
    sys.modules["easydict"] = stub
    setattr(np, "int", int)  # noqa: B010  (numpy has it no more)
    sys.path.insert(0, str(repository))
    from baselines.crossmodal_moment_localization import inference
    from baselines.crossmodal_moment_localization.model_xml import XML
    from baselines.crossmodal_moment_localization.start_end_dataset import StartEndEvalDataset

    config = Easy(
        merge_two_stream=False, cross_att=False, span_predictor_type="conv", encoder_type="transformer",
        add_pe_rnn=False, visual_input_size=DIM, query_input_size=WIDTH, sub_input_size=WIDTH,
        hidden_size=SIZES["hidden"], conv_kernel_size=5, stack_conv_predictor_conv_kernel_sizes=-1, conv_stride=1,
        max_ctx_l=CLIPS, max_desc_l=SIZES["max_words"], input_drop=0.0, drop=0.0, cross_att_drop=0.0,
        n_heads=SIZES["heads"], ctx_mode="video", margin=0.1, ranking_loss_type="hinge", lw_neg_q=1, lw_neg_ctx=1,
        lw_st_ed=0.01, use_hard_negative=False, hard_pool_size=20, use_self_attention=True, no_modular=False,
        pe_type="cosine", initializer_range=0.02,
    )  # fmt: skip
    options = Easy(
        eval_context_bsz=200, eval_query_bsz=50, num_workers=0, pin_memory=False, device=torch.device("cpu"),
        ctx_mode="video", max_ctx_l=CLIPS, q2c_alpha=20.0, min_pred_l=2, max_pred_l=12, max_before_nms=200,
        max_vcmr_video=100, nms_thd=0.6, clip_length=1.0, debug=False, results_dir=str(folder), dset_name="tvr",
        eval_split_name=SPLIT, external_inference_vr_res_path=None,
    )  # fmt: skip
    model = XML(config)
    model.load_state_dict(torch.load(folder / "official.pth", weights_only=True))

    def work() -> None:
        data = StartEndEvalDataset(
            "tvr", SPLIT, str(folder / "queries.jsonl"), str(folder / "words.h5"), SIZES["max_words"], CLIPS,
            vid_feat_path_or_handler=str(folder / "videos.h5"), video_duration_idx_path=str(folder / "videos.json"),
            clip_length=1.0, ctx_mode="video", data_mode="query",
        )  # fmt: skip
        tasks = ("VCMR", "SVMR", "VR")
        with torch.no_grad():
            inference.eval_epoch(model, data, options, "official.json", tasks=tasks, max_after_nms=100)

    measured(work)


def compare(folder: Path) -> str:
    """Of how many queries both lists are the same, times and videos."""
    ours = json.loads((folder / "fabula.json").read_text())
    theirs = json.loads((folder / "official_nms_thd_0.6.json").read_text())
    names = [{v: k for k, v in d["video2idx"].items()} for d in (ours, theirs)]
    same = total = first = 0
    for mine, other in zip(ours["VCMR"], theirs["VCMR"], strict=True):
        a, b = ([(names[k][r[0]], r[1], r[2]) for r in e["predictions"]] for k, e in enumerate((mine, other)))
        total, same, first = total + 1, same + (a == b), first + (a[0] == b[0])
    return f"the first moment is the same for {first} of {total} queries, all 100 in their order for {same}"


def launch(command: list[Any], **variables: str) -> dict[str, float]:
    """A whole process: its processor time, wall time and memory; what it prints of itself last, if it does."""
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "FABULA_THREADS": "1", **variables}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    printed = (done.stdout.strip().splitlines() or [""])[-1]
    inside: dict[str, float] = json.loads(printed) if printed.startswith("{") else {}
    return {**inside, "cpu": cpu, "wall": wall, **({"work_cpu": inside["cpu"]} if inside else {})}


def script(*words: Any) -> list[Any]:
    return [sys.executable, __file__, "--one", *words]


def predict_command(folder: Path) -> list[Any]:
    """Ours, on the command line."""
    return [
        sys.executable, "-m", "fabula", "predict", "vcmr", folder / "xml.safetensors", "--features",
        folder / "videos.h5", "--words", folder / "words.h5", "--data", folder / "queries.jsonl", "--corpus", "store",
        "--protocol", "tvr", "--batch-size", "200", "--device", "cpu", "--overwrite", "-o", folder / "fabula.json",
    ]  # fmt: skip


def measure(official: Path | None, queries: int = 500, videos: int = 1000, repeats: int = 3) -> dict[str, Any]:
    """Whole processes, by turns, the best of several by processor time: ours on a `first` run, with the corpus `kept`,
    and TVR's (`official`); how many times ours TVR's costs (`ratio_cpu`, `ratio_wall`; `ratio_work`: processor time
    without the start of the processes), and whether the lists are the same."""
    runs: dict[str, list[dict[str, float]]] = {"first": [], "kept": [], "official": []}
    same = ""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder, queries, videos)
        make_weights(folder)
        for i in range(repeats):
            for which in ("first", "kept"):
                whole = launch(predict_command(folder), FABULA_CACHE=str(folder / f"whole{i}"))
                work = launch(script("fabula", folder), FABULA_CACHE=str(folder / f"work{i}"))
                runs[which].append({**whole, "work_cpu": work["work_cpu"], "peak_mb": work["peak_mb"]})
            if official is not None:
                runs["official"].append(launch(script("official", folder, official.resolve())))
                same = compare(folder)
    best: dict[str, Any] = {which: min(every, key=lambda r: r["cpu"]) for which, every in runs.items() if every}
    if "official" in best:
        for clock in ("cpu", "wall", "work_cpu"):
            quickest = {which: min(r[clock] for r in every) for which, every in runs.items()}
            best[f"ratio_{clock.removesuffix('_cpu')}"] = {
                w: quickest["official"] / quickest[w] for w in ("first", "kept")
            }
        best["lists"] = same
    return best


def line(what: str, queries: int, videos: int, r: dict[str, float]) -> None:
    memory = f"{r['peak_mb']:,.0f} MB" if "peak_mb" in r else ""
    print(f"| {what} | {queries:,} × {videos:,} | {r['cpu']:.2f} s | {r['wall']:.2f} s | {queries / r['cpu']:,.0f} | "
          f"{memory} |", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--official", type=Path, help="a checkout of github.com/jayleicn/TVRetrieval")
    parser.add_argument("--sizes", help="queries x videos, comma separated")
    parser.add_argument("--fig", action="store_true", help="ours alone, the search, with ActivityNet-FIG's sizes")
    parser.add_argument("--grow", action="store_true", help="ours alone, in parts (--work)")
    parser.add_argument("--repeats", type=int, default=3, help="of each process; the best counts")
    parser.add_argument("--one", nargs="+", help="one process, for the script itself")
    args = parser.parse_args()
    if args.one:
        how, *rest = args.one
        if how == "fabula":
            run_fabula(Path(rest[0]))
        elif how == "official":
            run_official(Path(rest[0]), Path(rest[1]))
        elif how == "parts":
            run_parts(Path(rest[0]))
        else:
            run_fig(int(rest[0]), int(rest[1]))
        return
    load = os.getloadavg()[0]
    print(f"load before: {load:.1f} of {os.cpu_count()} processors\n")
    if args.fig:
        best = min((launch(script("fig", 256, 1000)) for _ in range(args.repeats)), key=lambda r: r["work_cpu"])
        print(
            f"240 clips, moments of 2-180 s, 1,000 videos: {1000 * best['work_cpu'] / 256:.2f} ms of processor a query"
        )
        return
    print("| | queries × videos | processor | wall | queries a processor second | peak memory |")
    print("|---|---|---|---|---|---|", flush=True)
    usual = "1000x1000,1000x10000,1000x100000,10000x10000" if args.grow else "500x1000"
    for queries, videos in (tuple(map(int, size.split("x"))) for size in (args.sizes or usual).split(",")):
        if args.grow:
            with tempfile.TemporaryDirectory() as name:
                make_large(Path(name), queries, videos)
                line("Fabula, in parts", queries, videos, launch(script("parts", name)))
            continue
        best = measure(args.official, queries, videos, args.repeats)
        for which, label in (("first", "Fabula"), ("kept", "Fabula, the corpus kept"), ("official", "official")):
            if which in best:
                line(label, queries, videos, best[which])
        if "lists" in best:
            pairs = [" and ".join(f"{best[f'ratio_{c}'][w]:.1f} ×" for w in ("first", "kept")) for c in CLOCKS]
            print(f"| official / Fabula, first run and corpus kept | processor {pairs[0]}; wall {pairs[1]}; processor "
                  f"without the start of the processes {pairs[2]}; {best['lists']} | | | | |")  # fmt: skip


if __name__ == "__main__":
    main()
