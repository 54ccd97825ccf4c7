"""The benchmark as files: lines in VERIFIED's released format, a card, and what is needed to look at it and to load it.

    SPLIT.jsonl              {"desc_id", "video", "duration", "time", "cog_desc", "fig_desc", "fig_desc_score"};
                             with --kinds also "branch": static or dynamic
    provenance.jsonl         of every caption: branch, all candidates, what was dropped and why, the keys of its calls
    left_out.jsonl           moments without a caption, and why
    duplicates.json          captions that are almost equal (cosine of an embedder)
    README.md                the card: licence, models, prompts' hashes, cost, weaknesses; Hugging Face reads its head
    label_studio/ potato/    tasks and settings for those who check captions by eye (--layouts)

    fabula-benchmark.json    what the card tells, and the hashes of all files: what was changed since is not overwritten

The same store gives the same bytes. Everything appears at once, or nothing does.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabula.annotation.distinct import Embedder, find_clusters
from fabula.annotation.moments import Moment
from fabula.annotation.plan import summarise
from fabula.annotation.stats import MARK, Row, describe
from fabula.annotation.store import Store
from fabula.core import atomic
from fabula.core.errors import InputError, shown
from fabula.documents.fields import JsonDict
from fabula.documents.files import load_json, name_write_failures
from fabula.media.base import hash_file, stamp

LAYOUTS = ("huggingface", "label-studio", "potato")


@dataclass
class Export:
    """What goes out."""

    split: str = "train"
    name: str = "fine-grained moments"
    licence: str = "unknown"
    layouts: Sequence[str] = ("huggingface",)
    eps: float = 0.01
    embedder: str = "hashing"
    kinds: bool = False  # each line says the branch of its caption
    counts: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)


def export(
    store: Store, recipe: str, out: Path, settings: Export, embed: Embedder, overwrite: bool = False
) -> JsonDict:
    """Write the benchmark of a recipe into a folder of its own; returns what the card tells.

    A benchmark that is there is replaced if nobody has changed it; with `overwrite` whatever was done to it.
    """
    check_folder(out, overwrite)
    with name_write_failures(out):
        target = Path(os.path.realpath(out))
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic.beside(target) as beside:
            folder = beside / "benchmark"
            folder.mkdir()
            description = fill_folder(folder, store, recipe, settings, embed)
            atomic.take_folder_place(folder, target)
    return description


def check_folder(out: Path, overwrite: bool) -> None:
    """A folder that may be written: a new one, an empty one, or a benchmark that is still as it was written."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not out.is_dir() or not (out / MARK).is_file():
        raise InputError("exists and is no benchmark of Fabula", file=out, hint="name a new folder")
    if overwrite:
        return
    hint = "name a new folder, or say --overwrite to lose what was changed and added"
    mark = load_json(out / MARK)
    wrote = mark.get("files") if isinstance(mark, dict) else None
    if not isinstance(wrote, dict):
        raise InputError("holds a benchmark that does not say which files are its own", file=out, hint=hint)
    there = hash_files(out) | {MARK: hash_mark(mark)}
    other = [name for name in sorted({*there, *wrote}) if there.get(name) != wrote.get(name)]
    if other:
        named = ", ".join(map(shown, other[:3])) + (", …" if len(other) > 3 else "")
        raise InputError(f"{len(other)} files were changed, added or deleted since: {named}", file=out, hint=hint)


def hash_files(folder: Path) -> dict[str, str]:
    """SHA-256 by name of all files below a folder but its mark."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name != MARK and (path.is_symlink() or not path.is_dir()):
            plain_file = path.is_file() and not path.is_symlink()
            found[name] = hash_file(path, *stamp(path)) if plain_file else "no file"
    return found


def hash_mark(description: JsonDict) -> str:
    """Of what the mark says besides the hashes."""
    rest = {key: value for key, value in description.items() if key != "files"}
    return hashlib.sha256(json.dumps(json.loads(json.dumps(rest)), sort_keys=True).encode()).hexdigest()


def fill_folder(folder: Path, store: Store, recipe: str, settings: Export, embed: Embedder) -> JsonDict:
    rows: list[Row] = []
    with (
        (folder / f"{settings.split}.jsonl").open("w", encoding="utf-8", newline="\n") as lines,
        (folder / "provenance.jsonl").open("w", encoding="utf-8", newline="\n") as whence,
        (folder / "left_out.jsonl").open("w", encoding="utf-8", newline="\n") as left,
    ):
        for moment, state, document in store.outcomes(recipe):
            settings.counts[state or "pending"] += 1
            count_audit(document, settings)
            if state != "done":
                why = {
                    "state": state or "pending",
                    **{k: document.get(k) for k in ("kind", "message", "dropped", "lost")},
                }
                left.write(as_line({"desc_id": moment.id, **{k: v for k, v in why.items() if v}}))
                continue
            chosen = document["chosen"]
            rows.append(make_row(moment, chosen))
            lines.write(as_line(as_released(moment, chosen) | ({"branch": chosen["branch"]} if settings.kinds else {})))
            whence.write(as_line({"desc_id": moment.id, "recipe": recipe, **document}))
    if not rows:
        raise InputError("no moment is done", file=store.path, hint="fabula annotate run comes first")
    near = find_near(rows, embed, settings)
    dump(folder / "duplicates.json", near)
    description = describe_run(store, recipe, rows, settings, near)
    (folder / "README.md").write_text(write_card(description, settings), encoding="utf-8", newline="\n")
    for layout in settings.layouts:
        WRITERS[layout](folder, rows, settings)
    dump(folder / MARK, {**description, "files": hash_files(folder) | {MARK: hash_mark(description)}})
    return description


def as_line(document: JsonDict) -> str:
    return json.dumps(document, ensure_ascii=False) + "\n"


def dump(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8", newline="\n")


def as_released(moment: Moment, chosen: JsonDict) -> JsonDict:
    return {
        "video": moment.video,
        "time": [moment.start, moment.end],
        "desc_id": moment.id,
        "duration": moment.duration,
        "cog_desc": moment.caption,
        "fig_desc": chosen["text"],
        "fig_desc_score": chosen["score"],
    }


def make_row(m: Moment, chosen: JsonDict) -> Row:
    return Row(m.id, m.video, m.start, m.end, m.duration, m.caption, chosen["text"], chosen["score"], chosen["branch"])


def count_audit(document: JsonDict, settings: Export) -> None:
    for dropped in document.get("dropped") or ():
        settings.dropped[dropped["why"]] += 1
    for audit in document.get("audits") or ():
        for what in audit["repaired"]:
            settings.repaired[f"{audit['step']}: {what}"] += 1


def find_near(rows: Sequence[Row], embed: Embedder, settings: Export) -> JsonDict:
    found = find_clusters([row.fine for row in rows], embed, settings.eps)
    groups: dict[int, list[Any]] = {}
    for row, label in zip(rows, found.labels.tolist(), strict=True):
        if label >= 0:
            groups.setdefault(label, []).append({"desc_id": row.id, "fig_desc": row.fine})
    return {
        "embedder": settings.embedder,
        "eps": settings.eps,
        "classes": found.classes,
        "instances": found.instances,
        "groups": list(groups.values()),
    }


def describe_run(store: Store, recipe: str, rows: Sequence[Row], settings: Export, near: JsonDict) -> JsonDict:
    status = summarise(store, recipe)
    return {
        "name": settings.name,
        "licence": settings.licence,
        "recipe": {"hash": recipe, **store.recipes()[recipe]},
        "moments": dict(sorted(settings.counts.items())),
        "captions": describe(rows),
        "calls": {
            n: {k: s[k] for k in ("calls", "tokens_in", "tokens_out", "cost")} for n, s in status["steps"].items()
        },
        "tries that failed": status["failures"],
        "cost": status["cost"],
        "dropped": dict(sorted(settings.dropped.items())),
        "repaired": dict(sorted(settings.repaired.items())),
        "near duplicates": {k: near[k] for k in ("embedder", "eps", "classes", "instances")},
    }


# ── the card ───────────────────────────────────────────────────────────────────────────────────────────────────────


def write_card(description: JsonDict, settings: Export) -> str:
    c, r = description["captions"], description["recipe"]
    head = {
        "license": settings.licence,
        "pretty_name": settings.name,
        "language": ["en"],
        "tags": ["video", "moment-retrieval", "generated-captions"],
        "configs": [
            {"config_name": "default", "data_files": [{"split": settings.split, "path": f"{settings.split}.jsonl"}]}
        ],
    }
    yaml = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items())  # JSON is YAML
    return f"---\n{yaml}\n---\n" + "\n".join(card_lines(description, c, r)) + "\n"


def card_lines(description: JsonDict, c: JsonDict, r: JsonDict) -> Iterator[str]:
    yield f"# {plain(description['name'])}\n"
    yield "Fine-grained captions of video moments, made by models from coarse ones with the pipeline of VERIFIED"
    yield "(Chen et al., NeurIPS 2024). No person has checked them, unless somebody says so below.\n"
    yield "| | |\n|---|---|"
    yield f"| captions | {c['captions']:,} of {c['videos']:,} videos |"
    yield f"| mean span | {c['span']:.2f} s |"
    yield f"| words | {c['words']['coarse']:.2f} coarse, {c['words']['fine']:.2f} fine |"
    for branch, b in c["branches"].items():
        score = "" if b["confidence"] is None else f", mean score {b['confidence']:.2f}"
        yield f"| {branch} | {b['captions']:,}{score} |"
    yield f"| licence | {plain(description['licence'])} |"
    yield f"| cost | {description['cost']:.4f} (in the unit of the prices that were said) |\n"
    yield "## How they were made\n"
    shown = f"{r['keyframes']} keyframes at most, {r['video_frames']} frames of a clip"
    yield f"Recipe `{r['hash']}`; {shown}, scored by: {r['scorer']}.\n"
    if e := r.get("evaluator"):
        names = ", ".join(plain(name) for name in e["features"])
        yield f"Scores are the matching logits of a trained evaluator (weights `{e['weights']}`) on features {names}.\n"
        if e["simulated"]:
            yield "**These features are simulated: the scores say nothing about the videos.**\n"
    if r["blind"]:
        yield "**No frame was shown to any model: these captions are inventions, fit for dry runs alone.**\n"
    yield "| role | model |\n|---|---|"
    yield from (f"| {role} | {plain(model)} |" for role, model in r["models"].items())
    yield "\n| prompt | SHA-256 begins |\n|---|---|"
    yield from (f"| {name} | `{hash}` |" for name, hash in r["prompts"].items())
    yield "\n| step | calls | tokens in | tokens out | cost |\n|---|---|---|---|---|"
    for name, s in description["calls"].items():
        yield f"| {name} | {s['calls']:,} | {s['tokens_in']:,.0f} | {s['tokens_out']:,.0f} | {s['cost']:.4f} |"
    yield "\n## Known weaknesses\n"
    yield "* A caption may say what the video does not show: the score that chose it was given by a model."
    near = description["near duplicates"]
    yield (
        f"* {near['instances']:,} captions in {near['classes']:,} groups are almost equal to another "
        f"({near['embedder']}, cosine distance up to {near['eps']:g}): `duplicates.json`."
    )
    left = {state: n for state, n in description["moments"].items() if state != "done"}
    if left:
        listed = ", ".join(f"{n:,} {state}" for state, n in left.items())
        yield f"* Moments without a caption: {listed} (`left_out.jsonl`)."
    if c["beyond the video"]:
        yield f"* {c['beyond the video']:,} moments end after their video, as they did in the coarse annotation."
    if c["tells a time"]:
        yield f"* {c['tells a time']:,} captions tell a time, as their coarse captions do."
    for why, n in description["dropped"].items():
        yield f"* {n:,} candidates were dropped: {why}."
    for what, n in description["repaired"].items():
        yield f"* {n:,} answers were repaired: {what}."


def plain(text: str) -> str:
    """A user's word in a table of Markdown."""
    return " ".join(str(text).replace("|", "\\|").replace("<", "&lt;").split())


# ── layouts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_huggingface(folder: Path, rows: Sequence[Row], settings: Export) -> None:
    """The card's head and the lines beside it are all that `datasets.load_dataset(folder)` needs."""


LABELS = """<View>
  <Header value="$coarse"/>
  <Video name="video" value="$video"/>
  <Text name="fine" value="$fine"/>
  <Choices name="static" toName="fine" required="true">
    <Choice value="richer static detail"/><Choice value="not"/>
  </Choices>
  <Choices name="dynamic" toName="fine" required="true">
    <Choice value="richer dynamic detail"/><Choice value="not"/>
  </Choices>
  <Rating name="accuracy" toName="fine" maxRating="5" required="true"/>
</View>
"""


def write_label_studio(folder: Path, rows: Sequence[Row], settings: Export) -> None:
    """Tasks to import, and the settings of their page."""
    place = folder / "label_studio"
    place.mkdir()
    tasks = [{"data": as_task(row, "video")} for row in rows]
    dump(place / "tasks.json", tasks)
    (place / "config.xml").write_text(LABELS, encoding="utf-8", newline="\n")


def as_task(row: Row, video: str) -> JsonDict:
    span = f"#t={row.start:g},{row.end:g}"  # what a player shows of it
    task = {"id": row.id, video: f"{row.video}{span}", "coarse": row.coarse, "fine": row.fine, "branch": row.branch}
    return {**task, "start": row.start, "end": row.end, "score": row.score}


def write_potato(folder: Path, rows: Sequence[Row], settings: Export) -> None:
    """Lines and settings for Potato."""
    place = folder / "potato"
    place.mkdir()
    with (place / "data.jsonl").open("w", encoding="utf-8", newline="\n") as lines:
        for row in rows:
            task = as_task(row, "video")
            safe = [html.escape(words) for words in (row.coarse, row.fine, task["video"])]  # Potato shows it as HTML
            text = "Description 1: {}\nDescription 2: {}\n{}".format(*safe)
            lines.write(as_line({**task, "id": str(row.id), "text": text}))
    schemes = [
        {
            "annotation_type": "radio",
            "name": kind,
            "description": f"Does Description 2 say more of what is {kind}?",
            "labels": ["yes", "no"],
        }
        for kind in ("static", "dynamic")
    ]
    accuracy = {
        "annotation_type": "likert",
        "name": "accuracy",
        "description": "How accurate is Description 2?",
        "min_label": "wrong",
        "max_label": "all of it is right",
        "size": 5,
    }
    config = {
        "annotation_task_name": settings.name,
        "data_files": ["data.jsonl"],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "output_annotation_dir": "annotations/",
        "output_annotation_format": "jsonl",
        "annotation_schemes": [*schemes, accuracy],
    }
    dump(place / "config.yaml", config)  # JSON is YAML


WRITERS: dict[str, Callable[[Path, Sequence[Row], Export], None]] = {
    "huggingface": write_huggingface,
    "label-studio": write_label_studio,
    "potato": write_potato,
}
