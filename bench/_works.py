"""The works that bench/all.py measures, and the files they read: real captions, and corpora of any size from them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
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
print(json.dumps({{"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, "amount": {amount}}}))
"""


@dataclass(frozen=True)
class Work:
    """A row of the table. Arguments are `fabula`'s, or the source of a script that measures itself."""

    name: str
    what: str
    arguments: tuple[str, ...] = ()
    script: str = ""
    official: str = ""  # its name in bench/_published.py; `json`: the same script with json.load
    rate: str = ""  # what is told per second besides
    target: float = 0.0  # seconds, on the machine that docs/speed.md names


def inside(set_up: str, work: str, amount: str = "0") -> str:
    return READ.format(set_up=set_up, work=work, amount=amount)


def reading(name: str, plain: bool = False) -> str:
    """Read a file with all checks, or only as JSON."""
    file, size = f"file = sys.argv[1] + '/{name}'", "__import__('os').path.getsize(file) / 1e6"
    if plain:
        return inside(file, "kept = json.load(open(file))", size)
    return inside(f"import fabula, fabula.io\n{file}", "kept = fabula.read(file)", size)


SPICE = inside(
    "import os; os.environ['FABULA_THREADS'] = '1'\n"
    "from fabula.text import spice\n"
    "texts = open(sys.argv[1] + '/spice.txt').read().splitlines()\n"
    "spice.score('a dog', ['a cat'])",
    "spice.scores(texts[::2], [[text] for text in texts[1::2]])",
    "len(texts)",
)
PRED, REFS = "{folder}/pred.json", ("--refs", "{folder}/refs_1.json", "{folder}/refs_2.json")
JSON = ("--json", "-")
WORKS = (
    Work(
        "densevid-2018",
        "METEOR, BLEU, CIDEr, ROUGE-L and PRF at 4 tIoU",
        ("score", PRED, *REFS, "--protocol", "densevid-2018", *JSON),
        official="densevid-2018",
        target=2.8,
    ),
    Work(
        "vidchapters",
        "the same, StartPRF and SODA_c",
        ("score", PRED, *REFS, "--protocol", "vidchapters", *JSON),
        official="vidchapters",
        target=3.0,
    ),
    Work("score", "without options: all dense metrics", ("score", PRED, *REFS, *JSON), target=3.4),
    Work(
        "captions",
        "5,000 captions × 5 references: BLEU, METEOR, ROUGE-L, CIDEr",
        (
            *("score", "{folder}/captions.jsonl", "--task", "captions"),
            *("-m", "BLEU_1,BLEU_2,BLEU_3,BLEU_4,METEOR,ROUGE_L,CIDEr", *JSON),
        ),
        official="captions",
        target=0.7,
    ),
    Work("diagnose", "what each kind of error costs", ("diagnose", PRED, *REFS, *JSON), target=3.9),
    Work(
        "html",
        "score --html, SODA_c and METEOR",
        ("score", PRED, *REFS, "-m", "SODA_c,DVC_METEOR", "--html", "{folder}/report.html"),
        target=3.0,
    ),
    Work("protocols", "all story protocols", ("protocols", PRED, *REFS, *JSON), target=40.0),
    Work(
        "qvhighlights",
        "QVHighlights, 1,550 queries",
        (
            *("score", "{folder}/qv_pred.jsonl", "--refs", "{folder}/qv_refs.jsonl"),
            *("--task", "highlights", "--protocol", "qvhighlights", *JSON),
        ),
        official="qvhighlights",
        target=0.33,
    ),
    Work(
        "SODA_c",
        "SODA_c, reference sets merged",
        ("score", PRED, *REFS, "--protocol", "soda-2021", "--metrics", "SODA_c", *JSON),
        official="SODA_c",
        target=0.9,
    ),
    Work(
        "read",
        "reading ActivityNet's val_1 with all checks, against json.load",
        script=reading("refs_1.json"),
        official="json",
        rate="MB",
        target=0.15,
    ),
    Work(
        "read-large",
        "reading a submission of 100 MB with all checks, against json.load",
        script=reading("large.json"),
        official="json",
        rate="MB",
        target=1.0,
    ),
    Work(
        "SPICE",
        "SPICE of 2,000 captions, processor time of one thread",
        script=SPICE,
        official="SPICE",
        rate="captions",
        target=0.5,
    ),
)
PLAIN = {"read": reading("refs_1.json", plain=True), "read-large": reading("large.json", plain=True)}


def fill(folder: Path, data: Path, videos: int | None) -> None:
    """The files of all works, of the first so many videos, captions and queries."""
    anet = data / "anet_captions"
    refs = [load(anet / f"val_{k}.json") for k in (1, 2)]
    results = load(data / "anet_preds_bmt" / "captioning_results_val_1_e26.json")["results"]
    if videos:
        chosen = set(list(refs[0])[:videos])
        refs = [{v: ref[v] for v in ref if v in chosen} for ref in refs]
        results = {v: events for v, events in results.items() if v in chosen}
    for k, ref in enumerate(refs, 1):
        (folder / f"refs_{k}.json").write_text(json.dumps(ref))
    (folder / "pred.json").write_text(json.dumps({"results": results}))
    write_large(folder / "large.json", results, 5_000_000 if videos else 100_000_000)
    distinct = dict.fromkeys(s.strip() for v in refs[0].values() for s in v["sentences"] if s.strip())
    (folder / "spice.txt").write_text("\n".join(islice(distinct, 200 if videos else 2000)))
    write_captions(folder / "captions.jsonl", data / "flickr8k_human" / "Flickr8k.token.txt", videos or 5000)
    qv = data / "qvhighlights"
    for name, source in (("qv_pred", "sample_val_preds.jsonl"), ("qv_refs", "highlight_val_release.jsonl")):
        lines = (qv / source).read_text().splitlines() if (qv / source).exists() else []
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in sorted(lines, key=query)[:videos]))


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
