"""RDCap with as few judgements as give the same number: calls that are made, beside one for every pair as published.

    python bench/rdcap_calls.py [--data DIR] [--videos N] [--judge plm]

The judge is fake (words in common; with --judge plm, whose prompt is read from an installed lmms-eval, a hash of the
prompt). Stories are told twice: in seconds as they are, and as PLM-VideoBench has them, in rows of frames and answers
with places among 32 frames. The number of the other side is computed here, by plain loops that ask about every pair.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import fabula
from fabula import demo, io
from fabula.benchmarks.plm.answers_rdcap import tell
from fabula.data.stories import Corpus
from fabula.text.judges import judge
from fabula.text.judges.fake import reply

FPS = 6  # of the annotations of PLM-VideoBench
Listed = list[tuple[float, float, str]]


def list_sources(data: Path, videos: int | None) -> Iterator[tuple[str, Corpus, Corpus]]:
    """Name, references, predictions."""
    folder = Path(demo.__file__).parent
    yield "demo, good", io.read(folder / "annotator_1.json")[0], io.read(folder / "good.json")[0]
    yield "demo, over-segmenting", io.read(folder / "annotator_1.json")[0], io.read(folder / "over_segmenting.json")[0]
    pairs = [("val_1", "captioning_results_val_1_e26"), ("val_2", "captioning_results_val_2_e26")]
    for refs, preds in pairs:
        paths = data / "anet_captions" / f"{refs}.json", data / "anet_preds_bmt" / f"{preds}.json"
        if not all(path.is_file() for path in paths):
            print(f"ActivityNet {refs} or BMT's predictions are not in {data}: not measured")
            continue
        truth, told = (io.read(path)[0] for path in paths)
        both = [video for video in truth if video in told][:videos]
        yield f"ActivityNet {refs}, BMT", *(Corpus({v: side[v] for v in both}) for side in (truth, told))


def as_lists(corpus: Corpus) -> dict[str, Listed]:
    return {v: [(e.segment.start, e.segment.end, e.caption or "") for e in s.events] for v, s in corpus.items()}


def write_frames(truth: Corpus, told: Corpus, folder: Path) -> tuple[Path, Path, dict[str, Listed], dict[str, Listed]]:
    """The same as rows and answers in files; and what the published program would make of them."""
    rows, said = list[str](), list[str]()
    golds, guesses = dict[str, Listed](), dict[str, Listed]()
    for video, story in truth.items():
        total = max(32, round(FPS * (story.duration or max(e.segment.end for e in story.events))))
        frames = [(round(FPS * e.segment.start), round(FPS * e.segment.end), e.caption) for e in story.events]
        listed = [{"start_frame": a, "end_frame": b, "caption": c} for a, b, c in frames]
        rows.append(json.dumps({"uid": video, "video": video, "total_frames": total, "dense_captions": listed}))
        scale = total / 32
        golds[video] = [(int(a / scale), int(b / scale), c or "") for a, b, c in frames]
        places = [(int(FPS * e.segment.start / scale), int(FPS * e.segment.end / scale), e) for e in told[video].events]
        answer = "\n".join(f"[{a}, {b}]: {(e.caption or '').replace('[', '(')}" for a, b, e in places)
        said.append(json.dumps({"uid": video, "answer": answer}))
        guesses[video] = [(*window, words) for window, words in tell(answer)]
    preds, refs = folder / "answers.jsonl", folder / "rows.jsonl"
    preds.write_text("\n".join(said) + "\n")
    refs.write_text("\n".join(rows) + "\n")
    return preds, refs, golds, guesses


def ask_all(golds: dict[str, Listed], guesses: dict[str, Listed], name: str) -> tuple[float, int]:
    """The mean F1 and the calls, one for every pair."""
    asked, total = 0, 0.0
    asker = judge(name)
    for video, gold in golds.items():
        guess, table = guesses[video], list[list[float]]()
        for a, b, caption in gold:
            row = []
            for c, d, words in guess:
                asked += 1
                score = asker.read(reply(asker.call("fake", words, caption).body())) or 0.0
                row.append(score * overlap((min(a, b), max(a, b)), (min(c, d), max(c, d))))
            table.append(row)
        if guess:
            S = match(table)
            total += 2 * S / (len(gold) + len(guess)) if S > 0 else 0.0  # F1 of S/|P| and S/|G|
    return total / len(golds), asked


def overlap(a: tuple[float, float], b: tuple[float, float]) -> float:
    inter = max(0.0, min(a[1], b[1]) - max(a[0], b[0]))
    return inter / (min(max(a[1], b[1]) - min(a[0], b[0]), a[1] - a[0] + b[1] - b[0]) + 1e-8)


def match(C: list[list[float]]) -> float:
    """The value of the best ordered matching, cell by cell; no score is negative here."""
    above = [0.0] * (len(C[0]) + 1)
    for row in C:
        here = [0.0]
        for j, c in enumerate(row):
            here.append(max(above[j + 1], here[j], above[j] + c))
        above = here
    return above[-1]


def compare(
    name: str, files: tuple[object, object], lists: tuple[dict[str, Listed], dict[str, Listed]], by: str
) -> None:
    told = time.process_time()
    cut = "truncated" if isinstance(files[0], Path) else "exact"  # seconds stay as they are
    metric = f"RDCap(text=judge:{by},frames={cut})"
    how = {"protocol": "plm-rdcap", "metrics": metric, "judge_url": "fake:", "judge_model": "fake"}
    result = fabula.score(*files, **how)
    took = time.process_time() - told
    ours, count = result.scores["RDCap"].values["f1"], result.counts
    full, asked = ask_all(*lists, by)
    assert count["judge_calls"] + count["judge_spared"] == asked, (count, asked)
    assert abs(ours - full) < 1e-12, (ours, full)
    made = count["judge_asked"]
    share = f"{made:>6} of {asked:>6} calls ({100 * made / asked:.1f} %)"
    print(f"{name:<32} RDCap {100 * ours:.6f} both ways, {share}, {took:.1f} s of processor", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--videos", type=int, help="only the first N videos of ActivityNet")
    parser.add_argument("--judge", default="fabula")
    given = parser.parse_args()
    for name, truth, told in list_sources(given.data, given.videos):
        compare(f"{name}: seconds", (told, truth), (as_lists(truth), as_lists(told)), given.judge)
        with tempfile.TemporaryDirectory() as folder:
            preds, refs, golds, guesses = write_frames(truth, told, Path(folder))
            compare(f"{name}: frames", (preds, refs), (golds, guesses), given.judge)
