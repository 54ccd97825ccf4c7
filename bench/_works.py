"""The works that bench/all.py measures, and the files they read: real captions, and corpora of any size from them."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from _data import load

READ = """
import json, sys, time
{set_up}
began, cpu = time.perf_counter(), time.process_time()
{work}
spent = {{"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}}
print(json.dumps({{**spent, "amount": {amount}, "scores": {scores}}}))
"""


@dataclass(frozen=True)
class Work:
    """A row of the table. Arguments are `fabula`'s or a script's; or the source of one that measures itself."""

    name: str
    what: str
    arguments: tuple[str, ...] = ()
    file: str = ""  # a script of bench/ that takes the arguments
    script: str = ""
    official: str = ""  # its name in bench/_programs.py
    rate: str = ""  # what is told per second besides
    one_thread: bool = False
    cache: str = ""  # of an encoded corpus: `fresh` in every run, or `kept` from the run before


def inside(set_up: str, work: str, amount: str = "0", scores: str = "{}") -> str:
    return READ.format(set_up=set_up, work=work, amount=amount, scores=scores)


def reading(name: str) -> str:
    """Read a file with all checks."""
    size = "__import__('os').path.getsize(file) / 1e6"
    start = f"import fabula, fabula.io\nfile = sys.argv[1] + '/{name}'"
    return inside(start, "kept = fabula.read(file)", size, "{'videos': len(kept[0])}")


SPICE = inside(
    "import os; os.environ['FABULA_THREADS'] = '1'\n"
    "from fabula.text import spice\n"
    "texts = open(sys.argv[1] + '/spice.txt').read().splitlines()\n"
    "spice.score('a dog', ['a cat'])",
    "found = spice.scores(texts[::2], [[text] for text in texts[1::2]])",
    "len(texts)",
    "{f'SPICE.{k}': score.f for k, score in enumerate(found)}",
)
PRED, REFS = "{folder}/pred.json", ("--refs", "{folder}/refs_1.json", "{folder}/refs_2.json")
PART = ("{folder}/part/pred.json", "--refs", "{folder}/part/refs_1.json", "{folder}/part/refs_2.json")
JSON = ("--json", "-")
PDVC = "METEOR,PRF,SODA_c,Para_METEOR,Para_CIDEr,Para_ROUGE_L,Para_BLEU_4"
VCMR = (
    *("predict", "vcmr", "{folder}/vcmr/xml.safetensors", "--features", "{folder}/vcmr/videos.h5"),
    *("--words", "{folder}/vcmr/words.h5", "--data", "{folder}/vcmr/queries.jsonl", "--corpus", "store"),
    *("--protocol", "tvr", "--batch-size", "200", "--device", "cpu", "--overwrite", "-o", "{folder}/vcmr/fabula.json"),
)
WORKS = (
    Work(
        "SODA_c",
        "SODA_c, reference sets merged",
        ("score", PRED, *REFS, "--protocol", "soda-2021", "--metrics", "SODA_c", *JSON),
        official="SODA",
    ),
    Work(
        "densevid",
        "METEOR, BLEU, CIDEr, ROUGE-L, precision and recall at 4 tIoU",
        ("score", PRED, *REFS, "--protocol", "densevid-2019", *JSON),
        official="densevid_eval",
    ),
    Work(
        "pdvc",
        "PDVC's, of 1,000 videos: METEOR, precision and recall at 4 tIoU, SODA_c, paragraphs",
        ("score", *PART, "--protocol", "pdvc-2018", "--metrics", PDVC, *JSON),
        official="PDVC",
    ),
    Work(
        "vidchapters",
        "VidChapters': METEOR, BLEU, CIDEr, ROUGE-L, PRF, starts and SODA_c",
        ("score", PRED, *REFS, "--protocol", "vidchapters", *JSON),
        official="VidChapters",
    ),
    Work(
        "captions",
        "5,000 captions × 5 references: BLEU, METEOR, ROUGE-L, CIDEr",
        (
            *("score", "{folder}/captions.jsonl", "--task", "captions"),
            *("--protocol", "coco", *JSON),
        ),
        official="pycocoevalcap",
    ),
    Work(
        "SPICE",
        "SPICE of 2,000 captions, processor time of one thread; a tenth of them through the jar",
        script=SPICE,
        official="SPICE",
        rate="captions",
    ),
    Work(
        "qvhighlights",
        "QVHighlights' measures, 1,550 queries",
        (
            *("score", "{folder}/qv_pred.jsonl", "--refs", "{folder}/qv_refs.jsonl"),
            *("--task", "highlights", "--protocol", "qvhighlights", *JSON),
        ),
        official="moment_detr",
    ),
    Work(
        "tvr",
        "TVR's measures, 5,000 queries, 100 answers each for VCMR, SVMR and VR",
        (
            *("score", "{folder}/tvr_pred.json", "--refs", "{folder}/tvr_refs.jsonl"),
            *("--task", "moments", "--protocol", "tvr", *JSON),
        ),
        official="TVRetrieval",
    ),
    Work(
        "vcmr",
        "TVR's inference (XML), whole process: 500 queries in 1,000 videos, from stores to a file of moments",
        VCMR,
        official="XML",
        one_thread=True,
        cache="fresh",
    ),
    Work(
        "vcmr-kept",
        "the same, the corpus encoded by a run before",
        VCMR,
        official="XML",
        one_thread=True,
        cache="kept",
    ),
    Work(
        "qd-detr-step",
        "QD-DETR, one training step, batch of 32",
        ("--one", "fabula", "step", "{folder}/qd_detr"),
        file="qd_detr_official.py",
        official="QD-DETR step",
        one_thread=True,
    ),
    Work(
        "qd-detr-inference",
        "QD-DETR, inference of a batch of 32",
        ("--one", "fabula", "inference", "{folder}/qd_detr"),
        file="qd_detr_official.py",
        official="QD-DETR inference",
        one_thread=True,
    ),
    Work(
        "densecap",
        "DenseCap mAP with METEOR, 100 images × 300 boxes",
        (
            *("score", "{folder}/regions_pred.jsonl", "--refs", "{folder}/regions_refs.json", "--task", "regions"),
            *("--metrics", "DenseCap_mAP(ties=file)", *JSON),
        ),
        official="densecap",
    ),
    Work(
        "read",
        "reading ActivityNet's val_1 with all checks",
        script=reading("refs_1.json"),
        official="json, small",
        rate="MB",
    ),
    Work(
        "read-large",
        "reading a submission of 100 MB with all checks",
        script=reading("large.json"),
        official="json, large",
        rate="MB",
    ),
    Work("score", "without options: all dense metrics", ("score", PRED, *REFS, *JSON)),
    Work("diagnose", "what each kind of error costs", ("diagnose", PRED, *REFS, *JSON)),
    Work(
        "html",
        "score --html, SODA_c and METEOR",
        ("score", PRED, *REFS, "-m", "SODA_c,DVC_METEOR", "--html", "{folder}/report.html"),
    ),
    Work("protocols", "all story protocols", ("protocols", PRED, *REFS, *JSON)),
)


def fill(folder: Path, data: Path, videos: int | None, names: Collection[str]) -> None:
    """The files of these works, of the first so many videos, captions and queries."""
    anet = data / "anet_captions"
    refs = [load(anet / f"val_{k}.json") for k in (1, 2)]
    results = load(data / "anet_preds_bmt" / "captioning_results_val_1_e26.json")["results"]
    results = write_stories(folder, refs, results, videos)
    write_stories(folder / "part", refs, results, videos or 1000)
    if "read-large" in names:
        write_large(folder / "large.json", results, 5_000_000 if videos else 100_000_000)
    distinct = dict.fromkeys(s.strip() for v in refs[0].values() for s in v["sentences"] if s.strip())
    (folder / "spice.txt").write_text("\n".join(islice(distinct, 200 if videos else 2000)))
    write_captions(folder / "captions.jsonl", data / "flickr8k_human" / "Flickr8k.token.txt", videos or 5000)
    qv = data / "qvhighlights"
    for name, source in (("qv_pred", "sample_val_preds.jsonl"), ("qv_refs", "highlight_val_release.jsonl")):
        lines = (qv / source).read_text().splitlines() if (qv / source).exists() else []
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in sorted(lines, key=query)[:videos]))
    if "tvr" in names:
        write_moments(folder, data / "tvr", videos or 5000)
    if "densecap" in names:
        write_regions(folder, min(videos or 100, 100))
    write_models(folder, names, videos)


def write_stories(folder: Path, refs: list[Any], results: dict[str, Any], videos: int | None) -> dict[str, Any]:
    """References, as stories and as paragraphs, and predictions of the first so many videos; the predictions."""
    folder.mkdir(exist_ok=True)
    chosen = set(list(refs[0])[:videos])
    for k, ref in enumerate(refs, 1):
        part = {v: entry for v, entry in ref.items() if videos is None or v in chosen}
        (folder / f"refs_{k}.json").write_text(json.dumps(part))
        told = {v: ". ".join(entry["sentences"]) for v, entry in part.items()}
        (folder / f"para_{k}.json").write_text(json.dumps(told))
    results = {v: events for v, events in results.items() if videos is None or v in chosen}
    submission = {"version": "VERSION 1.0", "external_data": {"used": False}, "results": results}
    (folder / "pred.json").write_text(json.dumps(submission))
    return results


def write_models(folder: Path, names: Collection[str], videos: int | None) -> None:
    """Features, queries and random weights for the works that run a model."""
    if {"vcmr", "vcmr-kept"} & set(names):
        import moments_official

        (folder / "vcmr").mkdir()
        moments_official.make_files(folder / "vcmr", min(videos or 500, 500), 1000)
        moments_official.make_weights(folder / "vcmr")
    if any(name.startswith("qd-detr") for name in names):
        import qd_detr_official

        qd_detr_official.make_files(folder / "qd_detr")


def write_moments(folder: Path, tvr: Path, number: int) -> None:
    """TVR's first queries of val, each with 100 random answers a task; in half of them a moment near the true one."""
    draw = random.Random(0)
    source = tvr / "tvr_val_release.jsonl"
    lines = source.read_text().splitlines()[:number] if source.exists() else []
    (folder / "tvr_refs.jsonl").write_text("".join(f"{line}\n" for line in lines))
    if not lines:
        return
    seconds = load(tvr / "tvr_video2dur_idx.json")["val"]
    names = list(seconds)
    numbers = {v: entry[1] for v, entry in seconds.items()}
    found: dict[str, list[Any]] = {"VCMR": [], "SVMR": [], "VR": []}
    for line in lines:
        row = json.loads(line)
        for task, rankings in found.items():
            own = task == "SVMR"
            videos = [row["vid_name"]] * 100 if own else draw.sample(names, 100)
            answers = []
            for k, video in enumerate(videos):
                start, end = sorted(round(draw.uniform(0, seconds[video][0]), 2) for _ in range(2))
                answers.append([numbers[video], start, end, round(-k / 100, 2)])
            if draw.random() < 0.5:
                start, end = (round(max(0.0, t + draw.gauss(0, 1)), 2) for t in row["ts"])
                answers[draw.randrange(100)][:3] = [numbers[row["vid_name"]], min(start, end), max(start, end)]
            rankings.append({"desc_id": row["desc_id"], "desc": row["desc"], "predictions": answers})
    (folder / "tvr_pred.json").write_text(json.dumps({"video2idx": numbers, **found}))


def write_regions(folder: Path, number: int) -> None:
    """Boxes and captions as bench/regions.py makes them up."""
    import regions

    for file, name in zip(regions.written(folder, number), ("regions_pred.jsonl", "regions_refs.json"), strict=True):
        file.rename(folder / name)


def query(line: str) -> int:
    found: int = json.loads(line)["qid"]
    return found


def write_large(path: Path, results: dict[str, Any], size: int) -> None:
    """A submission of so many bytes: the same videos again under other names."""
    with path.open("w") as file:
        written, turn = file.write('{"results": {'), 0
        while written < size:
            for video, events in results.items():
                comma = ", " if written > 20 else ""
                written += file.write(f'{comma}"{video}_{turn}": {json.dumps(events)}')
                if written >= size:
                    break
            turn += 1
        file.write("}}")


def write_captions(path: Path, tokens: Path, number: int) -> None:
    """Flickr8k: each image's five captions as references, the first caption of the next image as the candidate."""
    images: dict[str, list[str]] = {}
    for line in tokens.read_text().splitlines() if tokens.exists() else []:
        name, _, text = line.partition("\t")
        images.setdefault(name.partition("#")[0], []).append(text)
    kept = list(images.items())
    with path.open("w") as file:
        for k, (name, texts) in enumerate(kept[:number]):
            said = kept[(k + 1) % len(kept)][1][0]
            file.write(json.dumps({"id": name, "cand": said, "refs": texts}) + "\n")


def grown(folder: Path, data: Path, videos: int, seed: int = 1) -> tuple[Path, Path]:
    """References and predictions of so many synthetic videos, as JSON Lines.

    Times are those of real videos; captions are a beginning and an end of two real ones, so that sentences do not
    repeat more as the corpus grows: a memory of what was scored must not flatter the figures.
    """
    refs = load(data / "anet_captions" / "val_1.json")
    results = load(data / "anet_preds_bmt" / "captioning_results_val_1_e26.json")["results"]
    names = [v for v in results if v in refs]
    told = {v: list(zip(refs[v]["timestamps"], refs[v]["sentences"], strict=True)) for v in names}
    said = {v: [(e["timestamp"], e["sentence"]) for e in results[v]] for v in names}
    files = folder / f"grown_refs_{videos}.jsonl", folder / f"grown_pred_{videos}.jsonl"
    for side, file in zip((told, said), files, strict=True):
        with file.open("w") as out:
            out.writelines(json.dumps(video) + "\n" for video in mixed(side, names, videos, seed))
    return files


def mixed(side: dict[str, list[Any]], names: list[str], videos: int, seed: int) -> Iterator[dict[str, Any]]:
    draw = random.Random(seed)  # the same videos on both sides
    words = random.Random(seed + len(side[names[0]]))
    pool = [text.split() for v in names for _, text in side[v]]
    for k in range(videos):
        events = []
        for (start, end), text in side[draw.choice(names)]:
            one, two = text.split(), words.choice(pool)
            caption = " ".join(one[: len(one) // 2 + 1] + two[len(two) // 2 :])
            events.append({"start": start, "end": end, "caption": caption})
        yield {"id": f"synthetic_{k:07}", "events": events}


if (
    __name__ == "__main__"
):  # in a process of its own: what it takes would count as memory of the processes started after
    target, source, count, *chosen = sys.argv[1:]
    fill(Path(target), Path(source), int(count) or None, chosen)
