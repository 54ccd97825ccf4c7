"""One of each kind of file that Fabula writes, small: python tools/artefacts.py OUT [--commands FILE].

    inputs/          what the commands below read; written here, without Fabula's writers where a user would bring it
    everything else  written by the command lines of COMMANDS, in their order, in the folder OUT

    MANIFEST.json    of each artefact: kind, path, the command or call that wrote it, the commit, bytes
    expected.json    what each line of commands.txt prints and writes on these artefacts; losses of runs that go on

tests/artefacts is such a folder, and tests/test_artefacts.py opens all of it: files of an older version must open in
every later one. When a kind is added, make all into another folder and take over the new kind alone, with its lines of
MANIFEST.json; `--expect` writes expected.json of the folder as it is then.
Times, random tokens and Lance's file names differ from run to run; weights and numbers do not, on one machine.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

HOME = Path(__file__).resolve().parents[1] / "tests" / "artefacts"
LISTED = HOME / "commands.txt"
STAMP = 1_700_000_000  # seconds: when inputs were last changed, as far as work folders are concerned
SAVED = {".json", ".jsonl", ".csv", ".svg"}  # written by a command, and compared
RED, GREEN, BLUE, WHITE = (230, 20, 20), (20, 190, 20), (20, 20, 230), (250, 250, 250)

# ── what is trained, and how small ───────────────────────────────────────────────────────────────────────────────────

QUICK = "--tiny --epochs 2 --schedule constant --warmup 0 --lr 0.001 --device cpu --threads 1"
PSS = "--data inputs/steps.json --val inputs/steps.json --features features/steps.safetensors --batch-size 2"
MOMENTS = "--data inputs/moments --features features/clips.safetensors --batch-size 4"
HIGHLIGHTS = "--data inputs/highlights.jsonl --features features/npz_slowfast,features/npz_clip"
SETS = "--data inputs/sets --batch-size 1 --pieces 80"
FINDER = {"query_dim": 8, "hidden": 8, "heads": 2, "max_clips": 12, "max_words": 8, "max_length": 5, "min_length": 1}
SHAPES: dict[str, dict[str, Any]] = {
    "pdvc": {"frames": 16, "hidden": 8, "heads": 2, "norm_groups": 4, "feedforward": 8, "queries": 6, "rnn": 8,
             "word_dim": 4, "levels": 2, "encoder_layers": 1, "decoder_layers": 1, "duration_bins": 32},
    "procnets": {"hidden": 8, "frames": 40, "anchor_low": 5, "anchor_high": 19, "max_steps": 4},
    "xml": FINDER,
    "reloclnet": FINDER,
    "hero": {**{k: v for k, v in FINDER.items() if k != "query_dim"}, "feedforward": 8, "positions": 32,
             "frame_positions": 16, "cross_layers": 1, "time_layers": 1},
    "qd_detr": {"encoder_layers": 1, "decoder_layers": 1, "projections": 1, "hidden": 8, "heads": 2,
                "feedforward": 8, "max_clips": 6, "overlap": 3},
    "micap": {"hidden": 8, "heads": 2, "feedforward": 8, "encoder_layers": 1, "decoder_layers": 1, "tokens": 60},
    "fillin": {"hidden": 8, "face_hidden": 8, "rnn": 4, "video_hidden": 4, "heads": 2, "feedforward": 8,
               "decoder_layers": 1},
    "lm": {"hidden": 8, "heads": 2, "feedforward": 8, "decoder_layers": 1, "tokens": 60},
    "noise_scorer": {"query_dim": 8, "hidden": 8, "embed": 8, "heads": 2, "max_words": 8},
}  # fmt: skip


def shape(model: str) -> str:
    return " ".join(f"--set {name}={value}" for name, value in SHAPES[model].items())


RUNS = {  # name of the run → what trains it, without -o; `--epochs 3 --resume` goes on with it
    "pdvc": f"train pss --model pdvc {PSS} {QUICK} {shape('pdvc')}",
    "procnets": f"train pss --model procnets {PSS} {QUICK} {shape('procnets')}",
    "xml": f"train vcmr --model xml {MOMENTS} {QUICK} {shape('xml')}",
    "reloclnet": f"train vcmr --model reloclnet {MOMENTS} {QUICK} {shape('reloclnet')}",
    "hero": f"train vcmr --model hero {MOMENTS} {QUICK} {shape('hero')}",
    "qd_detr": f"train vcmr --model qd_detr {HIGHLIGHTS} --words features/npz_words --batch-size 2 {QUICK} "
    f"{shape('qd_detr')}",
    "micap_joint": f"train micap --task joint {SETS} {QUICK} {shape('micap')}",
    "micap_fitb": f"train micap --task fitb {SETS} {QUICK} {shape('micap')}",
    "micap_caption": f"train micap --task caption {SETS} {QUICK} {shape('micap')}",
    "fillin": f"train micap --model fillin {SETS} {QUICK} {shape('fillin')}",
    "lm": f"train micap --model lm {SETS} {QUICK} {shape('lm')}",
    "noise": f"train noise {MOMENTS} {QUICK} {shape('noise_scorer')}",
    "noise_head": f"train noise --model noise_head {MOMENTS} --text features/texts.safetensors {QUICK} "
    "--set hidden=8 --set embed=8",
}

# ── what is written ──────────────────────────────────────────────────────────────────────────────────────────────────

STORIES = "inputs/preds.json --refs inputs/refs_1.json inputs/refs_2.json"
JUDGED = 'score inputs/preds_two.json --refs inputs/two.json -m "SODA_c(text=judge:fabula)"'


class Artefact(NamedTuple):
    """A file or folder, and the line after `fabula` that writes it."""

    kind: str
    path: str
    line: str


COMMANDS = [
    *(Artefact(f"run of fabula train: {name}", f"runs/{name}", f"{line} -o runs/{name}")
      for name, line in RUNS.items()),
    # features
    *(
        Artefact("features by fabula features extract", f"features/films{ending}",
                 f"features extract inputs/films --with thumbnail --processes 1 -o features/films{ending}")
        for ending in (".safetensors", ".h5", "")
    ),
    Artefact("features cut into clips", "features/cut.safetensors",
             "features cut features/films.safetensors --clips inputs/clips.jsonl -o features/cut.safetensors"),
    Artefact("simulated features", "features/simulated.h5",
             "simulate inputs/two.json --rate 0.1 -o features/simulated.h5"),
    Artefact("work folder of features extract", "work/features",
             "features extract inputs/films --with thumbnail --processes 1 -o work/films.h5 --work work/features"),
    # people
    Artefact("people", "people/people.npz",
             "people find inputs/cast --detector marks --embedder marks --processes 1 -o people/people.npz "
             "--work work/people"),
    Artefact("corrections of people", "people/people.corrections.json", "people name people/people.npz 0 Anna"),
    Artefact("people cut into streams", "people/streams", "people cut people/people.npz -o people/streams"),
    Artefact("work folder of people find", "work/people", ""),  # written by people find, above
    # annotation
    Artefact("annotations", "annotate/run.sqlite",
             "annotate run inputs/coarse.jsonl -s annotate/run.sqlite --url fake --blind --rewrites --price 1/2 "
             "--record annotate/record.jsonl"),
    Artefact("record of annotate run", "annotate/record.jsonl", ""),
    Artefact("benchmark by annotate export", "annotate/benchmark",
             "annotate export -s annotate/run.sqlite -o annotate/benchmark --licence cc-by-4.0 "
             "--layouts label-studio,potato"),
    Artefact("annotations through batches", "annotate/batch.sqlite",
             "annotate run inputs/coarse.jsonl -s annotate/batch.sqlite --url fake --blind --batch --batch-pause 0.01"),
    # studies
    Artefact("study", "study/new", "study new inputs/PLAN.toml -o study/new"),
    Artefact("simulated study", "study/simulated",
             "study simulate inputs/PLAN.toml --mix careful=3,random=1 --studies 2 -o study/simulated"),
    Artefact("backup of a study", "study/backup.sqlite", "study backup study/simulated study/backup.sqlite"),
    Artefact("answers of a study", "study/answers.parquet",
             "study results study/simulated --table study/answers.parquet"),
    # search
    Artefact("library of clips", "search/store",
             "index inputs/films --store search/store --with colours --clip 1 --processes 1"),
    Artefact("calibration of a library", "search/store/calibration.json",
             "search --store search/store --calibrate inputs/asked.jsonl"),
    Artefact("answers of search", "search/answers.jsonl",
             "search --store search/store --queries inputs/queries.jsonl -o search/answers.jsonl"),
    # judges
    Artefact("record of a judge", "judge/judge.jsonl",
             f"{JUDGED} --judge-url fake --judge-model m --judge-record judge/judge.jsonl --json judge/result.json"),
    Artefact("result with a judge", "judge/result.json", ""),
    # what models predict
    Artefact("predictions of pss", "predictions/steps.json",
             "predict pss runs/pdvc --features features/steps.safetensors --data inputs/steps.json --device cpu "
             "-o predictions/steps.json"),
    *(
        Artefact("predictions of vcmr", f"predictions/moments_{form}.{ending}",
                 "predict vcmr runs/xml --features features/clips.safetensors --data inputs/moments --device cpu "
                 f"--top 3 --form {form} -o predictions/moments_{form}.{ending}")
        for form, ending in (("tvr", "json"), ("lines", "jsonl"))
    ),
    Artefact("predictions of highlights", "predictions/highlights.jsonl",
             f"predict vcmr runs/qd_detr {HIGHLIGHTS} --words features/npz_words --form qvhighlights --device cpu "
             "-o predictions/highlights.jsonl"),
    *(
        Artefact("predictions of micap", f"predictions/sets_{task}.jsonl",
                 f"predict micap runs/micap_joint --task {task} --data inputs/sets --device cpu "
                 f"-o predictions/sets_{task}.jsonl")
        for task in ("fitb", "caption")
    ),
    Artefact("predictions of noise", "predictions/noise.jsonl",
             "predict noise runs/noise --data inputs/moments --features features/clips.safetensors --device cpu "
             "--disturbed 2 --fit predictions/platt.json --summary predictions/noise_summary.json "
             "-o predictions/noise.jsonl"),
    Artefact("calibration of the noise evaluator", "predictions/platt.json", ""),
    # work folders
    Artefact("work folder of score", "work/score", f"score {STORIES} -m SODA_c,PRF --work work/score"),
    Artefact("work folder of predict vcmr", "work/vcmr",
             "predict vcmr runs/xml --features features/clips.safetensors --data inputs/moments --device cpu "
             "--top 3 --part 2 --work work/vcmr -o work/moments.json"),
    # results and rows
    Artefact("result of dense", "results/dense.json",
             f"score {STORIES} --ci --resamples 200 --json results/dense.json"),
    Artefact("result of a protocol", "results/protocol.json",
             f"score {STORIES} --protocol soda-2021 --json results/protocol.json"),
    Artefact("result of procedure", "results/procedure.json",
             "score predictions/steps.json --refs inputs/steps.json --task procedure --json results/procedure.json"),
    Artefact("result of captions", "results/captions.json",
             "score inputs/captions.json --refs inputs/captions_refs.json --task captions "
             "--json results/captions.json"),
    Artefact("result of identity", "results/identity.json",
             "score predictions/sets_fitb.jsonl --refs inputs/sets/val.jsonl --task identity "
             "--json results/identity.json"),
    Artefact("result of moments", "results/moments.json",
             "score predictions/moments_tvr.json --refs inputs/moments/fig_val.jsonl --task moments "
             "--json results/moments.json"),
    Artefact("result of highlights", "results/highlights.json",
             "score predictions/highlights.jsonl --refs inputs/highlights.jsonl --task highlights "
             "--json results/highlights.json"),
    Artefact("result of grounding", "results/grounding.json",
             "score inputs/grounded.jsonl --refs inputs/queries.jsonl --task grounding --json results/grounding.json"),
    Artefact("result of questions", "results/questions.json",
             "score inputs/questions.jsonl --task questions --json results/questions.json"),
    Artefact("result of regions", "results/regions.json",
             "score inputs/boxes.json --refs inputs/regions.json --task regions --json results/regions.json"),
    *(
        Artefact(f"rows {ending}", f"rows/dense{ending}", f"score {STORIES} -m SODA_c,PRF --rows rows/dense{ending}")
        for ending in (".jsonl", ".jsonl.gz", ".csv", ".parquet")
    ),
    # stories in every form that is written
    *(
        Artefact(f"stories as {name}", f"stories/{name}{ending}",
                 f"convert inputs/{source}.json stories/{name}{ending} --to {name.removesuffix('_packed')}")
        for name, ending, source in (
            ("activitynet", ".json", "refs_1"), ("pss", ".json", "refs_1"), ("tasty", ".json", "refs_1"),
            ("youcook2", ".json", "refs_1"), ("timechat", ".json", "refs_1"), ("fabula", ".jsonl", "refs_1"),
            ("fabula_packed", ".parquet", "refs_1"), ("submission", ".json", "preds"), ("pdvc", ".json", "preds"),
        )
    ),
    Artefact("repaired copy by lint", "stories/repaired.json",
             "lint inputs/preds.json --refs inputs/refs_1.json --fix stories/repaired.json"),
    # hosts
    *(
        Artefact(f"bundle for {name}", f"host/{name}",
                 f"host {name} --refs inputs/refs_1.json inputs/refs_2.json -m SODA_d,PRF@0.5 --title Stories "
                 f"--start 2027-01-01 --end 2027-02-01 -o host/{name}")
        for name in ("codabench", "evalai")
    ),
]  # fmt: skip

# ── inputs ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_lines(path: Path, rows: Iterable[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_film(path: Path, pictures: Sequence[Any], fps: int, codec: str = "ffv1", form: str = "bgr0") -> None:
    """ffv1 loses nothing."""
    import av

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w", options={"fflags": "+bitexact"}) as out:
        stream = out.add_stream(codec, rate=Fraction(fps))
        stream.height, stream.width = pictures[0].shape[:2]
        stream.pix_fmt = form
        for picture in pictures:
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        out.mux(stream.encode())


def make_films(inputs: Path) -> None:
    """Plain colours, one a second; and painted marks that stand for faces."""
    import numpy as np

    for name, colours in {"a": (RED, RED, GREEN, GREEN), "b": (BLUE, BLUE, WHITE, WHITE, RED)}.items():
        pictures = [np.full((32, 48, 3), colour, np.uint8) for colour in colours for _ in range(2)]
        write_film(inputs / "films" / f"{name}.mkv", pictures, fps=2)
    pictures = []
    for back, people in ((60, {RED: 5, BLUE: 60}), (220, {BLUE: 10}), (120, {RED: 40})):
        for t in range(10):
            picture = np.full((48, 96, 3), back, np.uint8)
            for colour, x in people.items():
                picture[10:38, x + t // 2 : x + t // 2 + 28] = colour
            pictures.append(picture)
    write_film(inputs / "cast" / "film.mkv", pictures, fps=5)
    for name in ("one", "two"):  # a study takes what browsers play
        write_film(inputs / "clips" / f"{name}.webm", pictures[:10], fps=5, codec="libvpx", form="yuv420p")


def make_stories(inputs: Path) -> None:
    """Of the stories of `fabula demo`, six videos."""
    import fabula
    from fabula import demo
    from fabula.data.stories import Corpus

    first, _ = fabula.read(demo.REFERENCES["annotator_1"])
    some = list(first)[:6]
    for name, source, format in (
        ("refs_1", demo.REFERENCES["annotator_1"], "activitynet"),
        ("refs_2", demo.REFERENCES["annotator_2"], "activitynet"),
        ("preds", demo.SYSTEMS["good"], "submission"),
    ):
        whole, _ = fabula.read(source)
        fabula.write(Corpus({v: whole[v] for v in some if v in whole}), inputs / f"{name}.json", format)
    fabula.write(Corpus({v: first[v] for v in some[:2]}), inputs / "two.json", "activitynet")
    fabula.write(Corpus({v: whole[v] for v in some[:2]}), inputs / "preds_two.json", "submission")
    steps = {}
    for i in range(4):
        times = [[2.0 + i, 8.0 + i], [9.0 + i, 14.0 + i], [16.0 + i, 22.0 + i]]
        words = [f"{verb} the {('egg', 'onion', 'rice', 'bean')[i]}" for verb in ("wash", "cut", "fry")]
        steps[f"step{i}"] = {"duration": 26.0 + i, "timestamps": times, "sentences": words}
    (inputs / "steps.json").write_text(json.dumps(steps, indent=1))


def make_moments(inputs: Path) -> None:
    (inputs / "moments").mkdir()
    every = []
    for split, first, count in (("train", 0, 8), ("val", 100, 4), ("test", 200, 4)):
        rows = []
        for i in range(first, first + count):
            long = i % 4 < 2
            start = (11.0 if long else 2.0) + i % 2
            verb, thing = ("opens", "drops", "paints")[i % 3], ("door", "cup", "lamp", "shoe")[i % 4]
            said = {"cog_desc": f"someone {verb} it", "fig_desc": f"a man {verb} the red {thing}"}
            place = {"video": f"v{i // 2}", "duration": 20.0 if long else 9.0, "time": [start, start + 3.0]}
            rows.append({"desc_id": i, **place, **said, "fig_desc_score": 0.5})
        write_lines(inputs / "moments" / f"fig_{split}.jsonl", rows)
        every += rows
    write_lines(inputs / "moments.jsonl", every)
    keys = ("desc_id", "video", "time", "cog_desc", "duration")
    write_lines(inputs / "coarse.jsonl", [{key: row[key] for key in keys} for row in every[:4]])


def make_small_ones(inputs: Path) -> None:
    """A few lines for each of the other tasks."""
    write_lines(inputs / "highlights.jsonl", [
        {"qid": 7, "query": "a kite flies", "vid": "kite_0.0_10.0", "duration": 10,
         "relevant_windows": [[0, 2], [6, 10]], "relevant_clip_ids": [0, 3, 4],
         "saliency_scores": [[1, 0, 0], [4, 4, 4], [2, 3, 2]]},
        {"qid": 8, "query": "she peels it", "vid": "peel_0.0_12.0", "duration": 12, "relevant_windows": [[0, 4]],
         "relevant_clip_ids": [0, 1], "saliency_scores": [[4, 2, 3], [1, 1, 0]]},
    ])  # fmt: skip
    write_lines(inputs / "clips.jsonl", [{"id": "a1", "video": "a", "start": 0, "end": 2},
                                         {"id": "b1", "video": "b", "start": 1, "end": 4}])  # fmt: skip
    write_lines(inputs / "queries.jsonl", [
        {"id": 1, "text": "blue", "video": "b.mkv", "windows": [[0, 2]], "duration": 5},
        {"id": 2, "text": "green", "video": "a.mkv", "windows": [[2, 4]], "duration": 4},
    ])  # fmt: skip
    write_lines(inputs / "grounded.jsonl", [{"id": 1, "windows": [[0, 1.5]]}, {"id": 2, "windows": [[0, 3]]}])
    there, absent = ("red", "green", "a red thing"), ("pink", "purple", "orange")
    write_lines(inputs / "asked.jsonl", [
        {"id": f"{word}{n}", "text": f"{word} {'very ' * n}".strip(), "present": present}
        for words, present in ((there, True), (absent, False)) for word in words for n in range(8)
    ])  # fmt: skip
    (inputs / "captions.json").write_text(json.dumps([
        {"image_id": 1, "caption": "a kite rises over the sea"}, {"image_id": 2, "caption": "a dog runs"},
    ]))  # fmt: skip
    (inputs / "captions_refs.json").write_text(json.dumps({"annotations": [
        {"image_id": 1, "caption": "a kite is rising"}, {"image_id": 1, "caption": "the kite rises over water"},
        {"image_id": 2, "caption": "a dog runs on the beach"},
    ]}))  # fmt: skip
    write_lines(inputs / "questions.jsonl", [
        {"id": 1, "answer": "(A) a kite", "options": ["a kite", "a dog"], "gold": "A"},
        {"id": 2, "answer": "the answer is B", "options": ["a cup", "a door"], "gold": "A"},
    ])  # fmt: skip
    (inputs / "boxes.json").write_text(json.dumps([
        {"image_id": 1, "bbox": [10, 20, 30, 40], "caption": "a red kite", "score": 0.9},
        {"image_id": 1, "bbox": [50, 20, 10, 10], "caption": "a dog", "score": 0.4},
    ]))  # fmt: skip
    (inputs / "regions.json").write_text(json.dumps([{"id": 1, "regions": [
        {"x": 12, "y": 20, "width": 30, "height": 40, "phrase": "the red kite"},
        {"x": 70, "y": 20, "width": 10, "height": 10, "phrase": "a cat"},
    ]}]))  # fmt: skip
    write_lines(inputs / "items.jsonl", [
        {"id": f"i{i}", "video": ("one", "two")[i % 2], "time": [0.2, 1.2], "kind": ("static", "dynamic")[i % 2],
         "descriptions": {"coarse": f"coarse words {i}", "fine": f"fine words {i}"}} for i in range(4)
    ])  # fmt: skip
    (inputs / "PLAN.toml").write_text(
        'title = "Kitchen"\nclips = "clips"\nitems = "items.jsonl"\nchecks = 0\nquestions = 4\n'
    )


def make_inputs(out: Path) -> None:
    inputs = out / "inputs"
    inputs.mkdir()
    make_films(inputs)
    make_stories(inputs)
    make_moments(inputs)
    make_small_ones(inputs)


# ── what no command writes ───────────────────────────────────────────────────────────────────────────────────────────


def write_step_features(out: Path) -> None:
    import numpy as np

    from fabula.media.stores.features import write_features

    steps, rng = json.loads((out / "inputs" / "steps.json").read_text()), np.random.default_rng(0)
    items = [
        (video, rng.standard_normal((int(said["duration"]), 8)).astype(np.float16)) for video, said in steps.items()
    ]
    durations = {video: said["duration"] for video, said in steps.items()}
    write_features(out / "features" / "steps.safetensors", items, {"durations": durations})


def write_clip_features(out: Path) -> None:
    from fabula.core.notes import Notes
    from fabula.learn.retrieval.data import read_moments
    from fabula.learn.retrieval.simulate import Recipe, simulate_moments

    fine, coarse = (read_moments(out / "inputs" / "moments.jsonl", Notes(), g) for g in ("fig", "cog"))
    simulate_moments(fine, coarse, out / "features" / "clips.safetensors", Recipe(dim=8, noise=0.2))


def write_text_features(out: Path) -> None:
    """Vectors of captions by a digest of their words, as an encoder of the user's would give them."""
    import numpy as np

    from fabula.core.notes import Notes
    from fabula.learn.text_features import TextOptions, write_text_store
    from fabula.media.stores.features import write_features

    listed = out / "features" / "texts.jsonl"
    files = sorted((out / "inputs" / "moments").glob("*.jsonl"))
    write_text_store(files, TextOptions(out=listed, by="text", each="text", disturbed=3), Notes())
    keys = [json.loads(line)["key"] for line in listed.read_text().splitlines()]
    listed.unlink()
    items = [
        (key, np.random.default_rng(int(key, 16) % 2**32).standard_normal((1, 8)).astype(np.float16)) for key in keys
    ]
    write_features(out / "features" / "texts.safetensors", items, {"by": "text"})


def write_archives(out: Path) -> None:
    """Folders of .npz as QVHighlights publishes them; Fabula reads such and writes none."""
    import numpy as np

    rng = np.random.default_rng(0)
    lengths = {"kite_0.0_10.0": 5, "peel_0.0_12.0": 6}
    for name, dim in (("slowfast", 5), ("clip", 3)):
        (out / "features" / f"npz_{name}").mkdir()
        for video, n in lengths.items():
            frames = rng.standard_normal((n, dim)).astype(np.float16)
            np.savez(out / "features" / f"npz_{name}" / f"{video}.npz", features=frames)
    (out / "features" / "npz_words").mkdir()
    for qid, n in ((7, 3), (8, 4)):
        words = rng.standard_normal((n, 4)).astype(np.float32)
        file = out / "features" / "npz_words" / f"qid{qid}.npz"
        np.savez(file, last_hidden_state=words, pooler_output=words[0])


def write_films_of_micap(out: Path) -> None:
    from fabula.learn.worlds import films

    recipe = films.Recipe(train_films=1, val_films=1, test_films=1, clips=6, set_clips=3, face_dim=8, action_dim=8,
                          frame_dim=8)  # fmt: skip
    films.write_world(out / "inputs" / "sets", recipe)


def write_idf(out: Path) -> None:
    from fabula.text.cider import Idf

    Idf.from_references([["a kite rises", "the kite is rising"], ["a dog runs"]]).save(out / "caches" / "idf.json")


def write_meteor_index(out: Path) -> None:
    """METEOR's tables of a few lines, in the files in which the real ones come, and their index."""
    from fabula.text.meteor.index import Tables, load_or_build

    folder = out / "caches" / "meteor"
    folder.mkdir()
    with zipfile.ZipFile(folder / "meteor.jar", "w") as jar:
        for member, text in {
            "synonym/english.synsets": "car\n00000001 00000002\nauto\n00000001\ngoose\n00000003\n",
            "synonym/english.exceptions": "goose\ngeese\n",
            "function/english.words": "the\na\n.\n",
            "nonbreaking/english.prefixes": "Mr\nNo #NUMERIC_ONLY#\n",
        }.items():
            jar.writestr(zipfile.ZipInfo(member), text)
    with gzip.GzipFile(folder / "paraphrase.gz", "wb", mtime=0) as file:
        file.write(b"0.5\na lot of\nmany\n0.5\nmany\na lot of\n")
    load_or_build(Tables(folder / "meteor.jar", folder / "paraphrase.gz"), folder, lambda what, share: None)
    for lock in folder.glob("*.lock"):
        lock.unlink()


def write_headers(out: Path) -> None:
    """Of the two large caches (46 MB, 4 MB) what stands before their tables: magic, version, CRC, sections."""
    from fabula.core import cachefile
    from fabula.text import ptb
    from fabula.text.meteor.index import open_index

    made = {"meteor": open_index().path}
    ptb.tokenize("a kite")
    if (place := ptb.locate_tables()) is not None and place[0].is_file():
        made["ptb"] = place[0]
    heads = {}
    for name, path in made.items():
        with path.open("rb") as file:
            head = file.read(cachefile.HEAD.size)
            table = file.read(cachefile.SECTION.size * cachefile.HEAD.unpack(head)[-1])
        heads[name] = {"file": path.name, "bytes": path.stat().st_size, "head": (head + table).hex()}
    (out / "caches" / "headers.json").write_text(json.dumps(heads, indent=1) + "\n")


CALLS: list[tuple[str, str, Callable[[Path], None], str]] = [  # before the commands
    ("features .safetensors", "features/steps.safetensors", write_step_features, "learn.features.write_features"),
    ("simulated clips", "features/clips.safetensors", write_clip_features, "learn.retrieval.simulate.simulate_moments"),
    ("vectors of captions", "features/texts.safetensors", write_text_features, "media.stores.features.write_features"),
    ("features as a folder of .npz", "features/npz_slowfast", write_archives, "numpy.savez"),
    ("simulated films of micap", "inputs/sets", write_films_of_micap, "learn.worlds.films.write_world"),
    ("document frequencies of CIDEr", "caches/idf.json", write_idf, "text.cider.Idf.save"),
    ("index of METEOR, of tiny tables", "caches/meteor", write_meteor_index, "text.meteor.index.load_or_build"),
    ("headers of the caches of METEOR and PTB", "caches/headers.json", write_headers, "core.cachefile.write"),
]

NOT_KEPT = {
    "index of METEOR": "46 MB; its header is kept, which holds a CRC of every byte, and an index of tiny tables",
    "tables of PTB": "4 MB, and made anew by every version of Python and of the rules; their header is kept",
    "vector index of a library (index.json)": "made for more than 100,000 clips",
    "mapped clips of a library (scan/)": "a copy of its tables, made for more than 100,000 clips",
    "pages of HTML": "written and shown as they are; nothing reads them",
    "shards of annotate run --engine ray": "they go when the run ends",
    "tracking.json of a run": "needs a server of Weights & Biases or MLflow",
}

# ── running ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def run(line: str) -> Ran:
    """`fabula LINE` in this process and this folder."""
    from fabula.verbs.command_line import main

    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    sys.argv, code = ["fabula", *shlex.split(line)], 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = argv
    return Ran(code, out.getvalue(), err.getvalue())


def read_commands(path: Path = LISTED) -> list[str]:
    lines = [line.strip() for line in path.read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def stamp_inputs(out: Path) -> None:
    """Work folders know films and stores by size and time; a clone of the repository has times of its own."""
    for path in (*(out / "features").rglob("*"), *(out / "inputs").rglob("*")):
        os.utime(path, (STAMP, STAMP))


def observe(line: str, folder: Path) -> dict[str, Any]:
    """What a line of commands.txt does in a copy of the artefacts that is the current folder: plain values."""
    before = set(folder.glob("out/**/*"))
    ran = run(line)
    seen: dict[str, Any] = {"exit": ran.code, "printed": plain(ran.out, folder)}
    for path in sorted(set(folder.glob("out/**/*")) - before):
        if path.is_file():
            seen[path.relative_to(folder).as_posix()] = plain(path.read_text(), folder) if path.suffix in SAVED else "…"
    return seen if ran.code == 0 else {**seen, "said": ran.err.strip().splitlines()[-1:]}


def plain(text: str, folder: Path) -> Any:
    """JSON, lines of JSON, or of any other text its numbers: sentences may change."""
    text = text.replace(f"{folder}{os.sep}", "")
    with contextlib.suppress(ValueError):
        return settle(json.loads(text))
    with contextlib.suppress(ValueError):
        return [settle(json.loads(line)) for line in text.splitlines()]
    return [float(number) for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])", text)]


def settle(value: Any) -> Any:
    """Without what hangs on the installation or the clock: versions, and how long a search took."""
    if isinstance(value, list):
        return [settle(one) for one in value]
    if not isinstance(value, dict):
        return value
    away = {"fabula", "versions", *(["seconds"] if "moments" in value else [])}
    return {key: settle(one) for key, one in value.items() if key not in away}


def resume(name: str, out: Path) -> list[dict[str, str]]:
    """One more epoch of a run: its epochs, without their seconds."""
    ran = run(f"{RUNS[name]} --epochs 3 --resume -o runs/{name}")
    if ran.code != 0:
        raise SystemExit(f"runs/{name} --resume: exit code {ran.code}\n{ran.err}")
    with (out / "runs" / name / "epochs.csv").open(newline="") as file:
        return [{key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(file)]


def make_all(out: Path) -> list[dict[str, Any]]:
    """The artefacts in `out`, which is the current folder; the lines of the manifest."""
    for name in ("features", "work", "people", "annotate", "study", "search", "judge", "predictions", "results", "rows",
                 "stories", "host", "caches", "runs"):  # fmt: skip
        (out / name).mkdir()
    (out / "out").mkdir()
    (out / "out" / "README").write_text("The commands of commands.txt write here, in a copy of this folder.\n")
    make_inputs(out)
    made = []
    for kind, path, call, said in CALLS:
        call(out)
        made.append({"kind": kind, "path": path, "made by": f"fabula.{said}" if "numpy" not in said else said})
    stamp_inputs(out)
    last = ""
    for kind, path, line in COMMANDS:
        if line:
            ran = run(line)
            if ran.code != 0:
                raise SystemExit(f"fabula {line}\nexit code {ran.code}\n{ran.err}")
            print(f"{path}", flush=True)
        last = line or last
        made.append({"kind": kind, "path": path, "made by": f"fabula {last}"})
    for left in [*out.rglob("*.lock"), out / "work" / "films.h5", out / "work" / "moments.json"]:
        left.unlink()
    for left in out.rglob("*.sqlite-*"):  # of a store that was only read
        if left.name.endswith("-wal") and left.stat().st_size:
            raise SystemExit(f"{left}: the store was not closed")
        left.unlink()
    return made


def size_of(path: Path) -> int:
    return sum(f.stat().st_size for f in ([path] if path.is_file() else path.rglob("*")) if f.is_file())


def find_commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HOME.parent, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def expect(out: Path, commands: Path) -> dict[str, Any]:
    """What the lines of commands.txt do in a copy of the artefacts, and what runs learn that go on."""
    copy = out.with_name(f"{out.name}-copy")
    shutil.copytree(out, copy)
    stamp_inputs(copy)
    os.chdir(copy)
    try:
        seen = {line: observe(line, copy) for line in read_commands(commands)}
        return {"commands": seen, "resumed": {name: resume(name, copy) for name in RUNS}}
    finally:
        os.chdir(out)
        shutil.rmtree(copy)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="folder to make; must not exist, unless --expect")
    parser.add_argument("--commands", type=Path, default=LISTED, help="lines that expected.json is made of")
    parser.add_argument("--expect", action="store_true", help="write expected.json of the artefacts that are there")
    asked = parser.parse_args()
    out: Path = asked.out.absolute()
    commands: Path = asked.commands.absolute()
    if not asked.expect:
        out.mkdir(parents=True)
        os.chdir(out)
        made = make_all(out)
        commit = find_commit()
        for one in made:
            one |= {"commit": commit, "bytes": size_of(out / one["path"])}
        manifest = {"artefacts": made, "not kept": NOT_KEPT}
        (out / "MANIFEST.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
        shutil.copy(commands, out / "commands.txt")
    seen = expect(out, commands)
    lines = {
        part: ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
        for part, found in seen.items()
    }
    text = ",\n".join(f' "{part}": {{\n{found}\n }}' for part, found in lines.items())
    (out / "expected.json").write_text(f"{{\n{text}\n}}\n")
    for line, what in seen["commands"].items():
        if what["exit"] != 0:
            print(f"exit code {what['exit']}: fabula {line}\n  {what['said']}")
    print(f"{len(seen['commands'])} commands; {size_of(out):,} bytes")


if __name__ == "__main__":
    main()
