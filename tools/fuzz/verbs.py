"""What is done with files: whole scorings under random metrics, protocols and options, and other verbs.

Besides what every input must keep to (watch.py), a score is finite and in its bounds, the same when it is made again,
the same when the videos of the files stand in another order, and the same by both kernels.
"""

from __future__ import annotations

import json
import math
import re
import typing
import warnings
from pathlib import Path
from random import Random
from typing import Any

from tools.fuzz import draw
from tools.fuzz.mutate import Doc, bend, straight
from tools.fuzz.watch import Case, Said, Target, Wrong, same

import fabula
from fabula import metrics
from fabula.benchmarks import room as protocol_room
from fabula.core.spec import choices, hints
from fabula.stats.resampling import Resampling

TASKS = (
    "dense",
    "dense",
    "dense",
    "procedure",
    "moments",
    "highlights",
    "grounding",
    "regions",
    "captions",
    "identity",
    "questions",
)
REPAIRS = ("swap", "clip", "drop")
NUMBERS = {
    "tau": "0.5",
    "tiou": "0.3/0.5/0.9",
    "iou": "0.5/0.7",
    "ious": "0.3/0.7",
    "top": "3",
    "within": "3/5",
    "k": "1/5",
    "clip": "2",
    "short": "5",
    "eps": "1e-9",
    "nms": "0.5",
    "merge": "0.5",
}


def random_metric(rng: Random, cls: Any) -> str:
    """A metric as one writes it, with some of its parameters set."""
    inside = []
    for field, hint in hints(cls).items():
        if field not in cls.defaults() or rng.random() > 0.2 or field in ("spice", "idf"):
            continue
        if options := choices(hint):
            inside.append(f"{field}={rng.choice(options)}")
        elif field in NUMBERS and field != cls.at:
            inside.append(f"{field}={NUMBERS[field]}")
        elif hint is bool:
            inside.append(f"{field}={rng.choice(('true', 'false'))}")
        elif typing.get_origin(hint) is None and field == "text":
            inside.append(f"text={rng.choice(('meteor', 'exact', 'rouge', 'bleu', 'cider'))}")
    return cls.name + (f"({','.join(inside)})" if inside else "")


def choose_metrics(rng: Random, task: str) -> str | None:
    reads = {
        "dense": "stories",
        "procedure": "stories",
        "captions": "captions",
        "regions": "regions",
        "identity": "identity",
        "questions": "questions",
    }.get(task, "moments")
    able = [cls for cls in metrics.room.all() if task in cls.tasks or (cls.reads == reads and rng.random() < 0.05)]
    if rng.random() < 0.97:
        able = [cls for cls in able if "SPICE" not in cls.name] or able
    some = rng.sample(able, min(len(able), rng.randint(1, 3)))
    return ",".join(random_metric(rng, cls) if rng.random() < 0.5 else cls.name for cls in some)


def make_files(rng: Random, task: str, much: float) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Predictions, references, sets: bent, but seldom all of them."""
    pred, refs, grouping = draw.of_task(rng, task)
    docs = [pred, *refs, *([grouping] if grouping else [])]
    files: dict[str, bytes] = {}
    names: list[str] = []
    for doc in docs:
        name, data = bend_gently(rng, doc, docs) if rng.random() < much else straight(doc)
        while name in files:
            name = f"x{name}"
        files[name] = data
        names.append(name)
    options: dict[str, Any] = {"pred": names[0], "refs": names[1 : 1 + len(refs)]}
    if grouping:
        options["sets"] = names[-1]
    return files, options


def bend_gently(rng: Random, doc: Doc, docs: list[Doc]) -> tuple[str, bytes]:
    """Few changes, so that most are scored and not refused: seldom bytes, never names."""
    while True:
        name, data = bend(rng, doc, docs, rng.choice((1, 1, 2)))
        if (name == doc.name and len(data) < 20_000) or rng.random() < 0.1:
            return name, data


def choose_options(rng: Random, task: str) -> dict[str, Any]:
    o: dict[str, Any] = {"task": task}
    how = rng.random()
    if how < 0.35:
        o["protocol"] = rng.choice([p.name for p in protocol_room.all() if p.task == task] or [None])
        if rng.random() < 0.4 and o["protocol"]:
            some = [m.title for m in fabula.protocol(o["protocol"]).metrics if "SPICE" not in m.title]
            o["metrics"] = rng.choice(some or [None])
        elif o["protocol"] == "micap":
            o["metrics"] = rng.choice(("FITB", "METEOR,CIDEr"))
    else:
        o["metrics"] = choose_metrics(rng, task)
    if rng.random() < 0.1 and task not in ("captions", "regions", "questions"):
        o["strict"] = True
    if rng.random() < 0.25 and task not in ("captions", "identity", "questions"):
        o["repair"] = rng.sample(("swap", "drop", "keep") if task == "regions" else REPAIRS, rng.randint(1, 2))
    if rng.random() < 0.05:
        o["tok"] = rng.choice(("ptb", "none"))
    if rng.random() < 0.1 and task == "regions":
        o["format"] = rng.choice(("xyxy", "xywh", "xcycwh"))
    if rng.random() < 0.03 and task == "identity":
        o["people"] = rng.choice(("P\\d+", "(", "", "[A-Z]+", "\\[PERSON(\\d+)\\]", ".*", "(a+)+$"))
    return {k: v for k, v in o.items() if v is not None}


def make_score(rng: Random) -> Case:
    task = rng.choice(TASKS)
    files, options = make_files(rng, task, 0.6)
    options |= choose_options(rng, task)
    if rng.random() < 0.15:
        options["ci"] = rng.choice((1, 2, 20, 50))
    options["again"] = rng.random() < 0.1
    options["shuffled"] = rng.random() < 0.15
    return Case("score", files, options)


def keywords(o: Any, folder: Path) -> dict[str, Any]:
    """The options of a case that `fabula.score` takes."""
    out = {k: o[k] for k in ("task", "protocol", "metrics", "strict", "repair", "tok", "format", "people") if k in o}
    if "sets" in o:
        out["sets"] = folder / o["sets"]
    return out


def run_score(case: Case, folder: Path, said: Said) -> Any:
    o = case.options
    pred, refs, given = folder / o["pred"], [folder / r for r in o["refs"]], keywords(o, folder)
    ci = Resampling(resamples=o["ci"]) if "ci" in o else False
    result = fabula.score(pred, refs, ci=ci, **given)
    numbers = read_numbers(result)
    said += result.warnings
    json.dumps(result.to_dict(), allow_nan=False)
    if o.get("again"):
        expect_same("again", numbers, read_numbers(fabula.score(pred, refs, ci=ci, **given)), given)
    if (
        o.get("shuffled")
        and "protocol" not in given
        and "ci" not in o
        and "pairing=shifted" not in given.get("metrics", "")  # lists are paired as they stand
        and not tied(pred)
        and shuffle_units([pred, *refs])
    ):
        expect_same("shuffled", numbers, read_numbers(fabula.score(pred, refs, **given)), given)
    return numbers


def read_numbers(result: Any) -> dict[str, float]:
    """Every number of a result, each looked at."""
    out: dict[str, float] = {}
    for label, score in result.scores.items():
        most = 10.0 if "CIDEr" in score.name or "text=cider" in score.signature else 1.0
        for field, value in score.values.items():
            if math.isnan(value) and "skip_empty=yes" in score.signature:  # the mean of nothing, as published
                out[f"{label}/{field}"] = value
                continue
            out[f"{label}/{field}"] = check_number(value, most, f"{result.protocol} {score.name}/{field}")
        for field, (low, high) in (score.ci or {}).items():
            out[f"{label}/{field}/low"], out[f"{label}/{field}/high"] = low, high
            if math.isnan(score.values[field]):
                continue
            check_number(low, most, f"ci of {score.name}")
            check_number(high, most, f"ci of {score.name}")
            if low > high:
                raise Wrong("score", f"ci of {score.name} is turned round", f"{low} {high}")
        for kind, values in score.by_type.items():
            out |= {f"{label}/{kind}/{field}": float(v) for field, v in values.items()}
    return out


def check_number(value: float, most: float, what: str) -> float:
    if not math.isfinite(value):
        raise Wrong("score", f"{what} is not finite", repr(value))
    if not -1e-9 <= value <= most + 1e-9:
        raise Wrong("score", f"{what} out of bounds", repr(value))
    return float(value)


def expect_same(kind: str, one: dict[str, float], two: dict[str, float], given: Any) -> None:
    if not same(dict(sorted(one.items())), dict(sorted(two.items()))):
        apart = {k: (one.get(k), two.get(k)) for k in one if not same(one[k], two.get(k))}
        raise Wrong(
            kind,
            f"{given.get('task')} {sorted({k.partition('/')[0].partition('(')[0] for k in apart})[:2]}",
            f"{apart}",
        )


def tied(path: Path) -> bool:
    """True where boxes of several images may have one score: which of them comes first is then the file's to say."""
    found = re.findall(rb'"scores?": *(\[[^]]*\]|[^,}\]]*)', path.read_bytes())
    numbers = [n.strip() for one in found for n in one.strip(b"[]").split(b",")]
    return len(set(numbers)) < len(numbers) or path.suffix == ".gz"


def shuffle_units(paths: list[Path]) -> bool:
    """Turn the files' videos round, where the files are JSON that stays what it was."""
    changed = False
    for path in paths:
        try:
            text = path.read_bytes().decode()
            if path.name.endswith(".jsonl"):
                lines = text.split("\n")
                turned = "\n".join(lines[:1] + lines[:0:-1]) if '"video2idx"' in lines[0] else "\n".join(lines[::-1])
            elif path.name.endswith(".json"):
                tree = json.loads(text, object_pairs_hook=once)
                turned = json.dumps(turn(tree))
            else:
                return False
            path.write_bytes(turned.encode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return False
        changed |= turned != text
    return changed


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that stands twice cannot be turned round."""
    out = dict(pairs)
    if len(out) < len(pairs):
        raise ValueError
    return out


def turn(tree: Any) -> Any:
    """The videos of a document in the other order; what belongs to one image stays in its order."""
    if isinstance(tree, list):
        ids = [str(entry.get("image_id", i)) if isinstance(entry, dict) else str(i) for i, entry in enumerate(tree)]
        place = {id: n for n, id in enumerate(dict.fromkeys(ids))}
        return [entry for _, entry in sorted(zip(ids, tree, strict=True), key=lambda pair: -place[pair[0]])]
    if not isinstance(tree, dict):
        return tree
    for inside in ("results", "database", "annotations"):
        if isinstance(tree.get(inside), dict | list):
            return {**tree, inside: turn(tree[inside])}
    return dict(reversed(tree.items()))


# ── other verbs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def make_verb(rng: Random) -> Case:
    verb = rng.choice(
        ("diagnose", "compare", "protocols", "stress", "convert", "parse", "uniform", "reward", "work", "moments")
    )
    task = {"protocols": rng.choice(TASKS), "moments": "moments", "compare": rng.choice(TASKS)}.get(verb, "dense")
    files, options = make_files(rng, task, 0.5)
    options |= {"verb": verb, "task": task, "seed": rng.randrange(1000)}
    options["metric"] = (
        rng.choice(("SODA_c", "SODA_d", "mIoU", "PRF", "METEOR")) if task in ("dense", "procedure") else None
    )
    options["to"] = rng.choice(("fabula", "submission", "pdvc", "activitynet", "timechat", "youcook2:x"))
    options["unit"] = rng.choice((None, None, "percent", "frames,fps=2", "seconds"))
    if verb == "parse":
        doc = draw.as_answers(draw.draw_videos(rng), "answers", rng)
        name, data = bend(rng, doc, [doc], 2)
        files[name], options["pred"] = data, name
    if verb == "work":
        doc = draw.as_fabula(draw.draw_videos(rng), "w")
        name, data = bend_gently(rng, doc, [doc])
        files, options["pred"], options["refs"] = (
            {name: data, "wref.jsonl": straight(draw.as_fabula(draw.draw_videos(rng), "w"))[1]},
            name,
            ["wref.jsonl"],
        )
    return Case("verb", files, options)


def run_verb(case: Case, folder: Path, said: Said) -> Any:
    o = case.options
    pred, refs, task = folder / o["pred"], [folder / r for r in o["refs"]], o["task"]
    sets = {"sets": folder / o["sets"]} if "sets" in o else {}
    verb = o["verb"]
    if verb == "diagnose":
        seen = fabula.diagnose(pred, refs, metric=rename(o["metric"]), resamples=20)
        from fabula.report import diagnose as report

        json.dumps(report.as_json(seen) if hasattr(report, "as_json") else None, default=str)
        return None
    if verb == "moments":
        fabula.diagnose(pred, refs, task="moments", k=1, iou=0.5, resamples=20)
        return None
    if verb == "compare":
        (folder / "b.json").write_bytes(pred.read_bytes())
        twin = folder / f"twin{''.join(pred.suffixes)}"
        twin.write_bytes(pred.read_bytes())
        metric = {"metrics": o["metric"]} if o["metric"] else {}
        if task == "captions":
            metric = {"metrics": "METEOR,BLEU_4"}
        if task == "identity":
            metric = {"metrics": "FITB"}
        seen = fabula.compare([pred, twin], refs, task=task, resamples=20, **metric, **sets)
        said += seen.warnings
        return None
    if verb == "protocols":
        few = [p.name for p in protocol_room.all() if p.task == task and p.name != "micap"]
        only = Random(o["seed"]).sample(few, min(2, len(few))) or None
        seen = fabula.protocols(pred, refs, task=task, only=tuple(only or ()), **sets)
        said += list(seen.warnings)
        from fabula.report import protocols as report_

        said += list(report_.plain(seen))[:0]
        json.dumps(report_.as_json(seen), allow_nan=False)
        return None
    if verb == "stress":
        seen = fabula.stress(rename(o["metric"]), refs[0], copies=1, resamples=5, seed=o["seed"])
        return None
    if verb == "convert":
        out = fabula.convert(pred, folder / ("out.jsonl" if o["to"] == "fabula" else "out.json"), to=o["to"])
        said += out.warnings
        return (folder / ("out.jsonl" if o["to"] == "fabula" else "out.json")).read_bytes().decode("utf-8", "replace")
    if verb == "parse":
        parsed = fabula.parse(pred, folder / "out.jsonl", unit=o["unit"], audit=folder / "audit.json")
        said += parsed.warnings
        return (folder / "audit.json").read_text()
    if verb == "uniform":
        made = fabula.baseline(
            "uniform",
            refs[0],
            folder / "u.json",
            **Random(o["seed"]).choice(({"count": 3}, {"duration": 7.0}, {"reference_count": True})),
        )
        return repr(dict(made.stories))
    if verb == "work":
        given = {"metrics": rename(o["metric"])} if o["metric"] else {}
        result = fabula.score(pred, refs, work=folder / "work", **given)
        once_ = read_numbers(result)
        expect_same(
            "again", once_, read_numbers(fabula.score(pred, refs, work=folder / "work", resume=True, **given)), given
        )
        expect_same("sharded", once_, read_numbers(fabula.score(pred, refs, **given)), given)
        return once_
    rng = Random(o["seed"])
    give = fabula.reward(rng.choice(("METEOR", "CIDEr", "BLEU_4", "ROUGE_L")))
    texts = re.findall(r'"((?:[^"\\]|\\.)*)"', pred.read_bytes().decode("utf-8", "replace"))[:4] or [""]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "CIDEr counts document frequencies")  # four captions are few, and it says so
        return [float(x) for x in give(texts, texts[::-1])]


def rename(metric: str | None) -> str:
    return {"METEOR": "DVC_METEOR"}.get(metric or "", metric or "SODA_c")


TARGETS = (
    Target("score", make_score, run_score, 7, both=0.3, seconds=20),
    Target("verb", make_verb, run_verb, 2, both=0.1, seconds=30),
)
