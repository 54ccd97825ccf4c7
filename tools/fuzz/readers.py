"""What is read: every shelf of io, answers as text, lint's look at a file, specs, and what else opens a file."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tools.fuzz import draw
from tools.fuzz.mutate import Doc, bend, bend_text, change_bytes
from tools.fuzz.odd import BITS, SPLICES, TOKENS
from tools.fuzz.watch import Case, Said, Target, Wrong, plain

import fabula
from fabula import io
from fabula.core.errors import FabulaError
from fabula.core.notes import Notes
from fabula.core.spec import parse as parse_spec
from fabula.core.spec import split
from fabula.data import segments
from fabula.data.moments import VideoNumbers
from fabula.documents.fields import Source
from fabula.io import answers, captions, identity, moments, regions
from fabula.io.identity import fillin

UNITS = (
    None,
    None,
    "seconds",
    "percent",
    "frames,fps=2",
    "tokens,bins=100",
    "vtimellm",
    "fraction",
    "minutes",
    "frames",
    "milliseconds",
    "auto,reversed=keep",
)


def bent(rng: Random, doc: Doc, others: list[Doc], options: dict[str, Any], target: str) -> Case:
    name, data = bend(rng, doc, others)
    return Case(target, {name: data}, {"path": name, **options})


def said_of(notes: Notes, said: Said) -> None:
    said += notes.lines()


# ── stories ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def make_stories(rng: Random) -> Case:
    kind = rng.choice(list(draw.STORIES))
    told = draw.draw_videos(rng)
    doc = draw.as_answers(told, "f", rng) if kind == "answers" else draw.STORIES[kind](told, "f")
    other = draw.STORIES[rng.choice(list(draw.STORIES))](told, "f")
    named = {"timechat-truth": "timechat"}.get(kind, kind)
    odd = rng.choice(("youcook2:training", *draw.STORIES))
    format = named if kind in ("pss", "tasty") else rng.choice((None, None, None, named, named, named, odd))
    to = rng.choice((None, "fabula", "submission", "pdvc", "activitynet", "timechat", "youcook2:x", "pss", "tasty"))
    case = bent(rng, doc, [other], {"format": format, "to": to}, "stories")
    if kind == "fabula" and rng.random() < 0.15:  # a folder of parts
        ((name, data),) = case.files.items()
        more = bend(rng, draw.as_fabula(draw.draw_videos(rng), "g"), [doc])
        return Case("stories", {f"parts/{name}": data, f"parts/{more[0]}": more[1]}, {**case.options, "path": "parts"})
    return case


def read_stories(case: Case, folder: Path, said: Said) -> Any:
    """Read, judged both ways, written and, where nothing can be lost, read again."""
    o = case.options
    corpus, notes = io.read(folder / o["path"], o.get("format"))
    out: dict[str, Any] = {
        "stories": plain(dict(corpus.stories)),
        "format": corpus.format,
        "header": plain(corpus.external),
    }
    out["judged"] = judged(corpus, notes)
    said_of(notes, said)
    if to := o.get("to"):
        try:
            said_of(io.write(corpus, folder / "out.jsonl", to), said)
        except FabulaError as error:
            out["written"] = type(error).__name__
            said.append(str(error))
        else:
            out["written"] = (folder / "out.jsonl").read_bytes().decode("utf-8", "replace")
            if to == "fabula":
                again = plain(dict(io.read(folder / "out.jsonl", "fabula")[0].stories))
                if again != out["stories"]:
                    raise Wrong("data", "stories: written as fabula and read again", f"{out['stories']}\n{again}")
    out["notes"] = notes.lines()
    return out


def judged(corpus: Any, notes: Notes) -> list[Any]:
    out = []
    for how in (
        lambda: segments.check_predictions(corpus, notes),
        lambda: segments.check_references(corpus, notes, ["swap", "clip", "drop"]),
        lambda: segments.check_references(corpus, notes, []),
    ):
        try:
            out.append(repr(how()))
        except FabulaError as error:
            out.append(str(error))
    return out


def make_pieces(rng: Random) -> Case:
    doc = draw.as_fabula(draw.draw_videos(rng), "f")
    return bent(
        rng, doc, [draw.as_submission(draw.draw_videos(rng), "f")], {"format": rng.choice((None, "fabula"))}, "pieces"
    )


def read_pieces(case: Case, folder: Path, said: Said) -> Any:
    path = folder / case.options["path"]
    cut = io.cut_pieces(path, case.options.get("format"))
    if cut is None:
        return None
    source = Source(path)
    found = [plain(story) for piece in cut[0] for _, story in io.read_piece(piece, source)]
    said_of(cut[1], said)
    said_of(source.notes, said)
    whole = [plain(s) for s in io.read(path, case.options.get("format"))[0].stories.values()]
    if found != whole:
        raise Wrong("data", "pieces: other stories than in one", f"{found}\n{whole}")
    return [found, cut[2]]


@cache
def parquet_files() -> list[bytes]:
    """Made once and then damaged: Parquet has no tree that could be bent."""
    from fabula.data.stories import Corpus, Event, Segment, Story
    from fabula.documents import parquet

    made = []
    for seed in range(4):
        stories = {}
        for v in draw.draw_videos(Random(seed)):
            events = tuple(Event(Segment(e.start, e.end), e.caption, e.score) for e in v.events)
            stories[v.id] = Story(v.id, events, v.duration)
        made.append(parquet.pack_corpus(Corpus(stories), Path("f.parquet")))
    return made


def make_parquet(rng: Random) -> Case:
    some = parquet_files()
    data = rng.choice(some)
    for _ in range(rng.randint(1, 3)):
        data = change_bytes(rng, data, some)
    return Case("parquet", {"f.parquet": data}, {"path": "f.parquet", "to": rng.choice((None, "fabula"))})


WEIRD: dict[str, Any] = {
    "id": ["a", None, 5, b"\xff", ["x"], "\x00", ""],
    "duration": [1.0, None, float("nan"), -1.0, "12", True, 10**18],
    "events": [
        [],
        None,
        "x",
        [{"start": 0.0, "end": 1.0, "caption": "a"}],
        [{"start": "0"}],
        [[0, 1]],
        [None],
        {"a": 1},
    ],
}


def make_table(rng: Random) -> Case:
    """Parquet that is sound, of columns that are not what a story has."""
    rows = [{k: rng.choice(v) for k, v in WEIRD.items() if rng.random() < 0.9} for _ in range(rng.randint(0, 3))]
    return Case("table", {}, {"rows": repr(rows)})


def read_table(case: Case, folder: Path, said: Said) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = eval(case.options["rows"], {"nan": float("nan")})  # our own repr, of our own values
    try:
        pq.write_table(pa.Table.from_pylist(rows), folder / "f.parquet")
    except (pa.ArrowException, ValueError, TypeError, OverflowError, AttributeError, NotImplementedError):
        return None  # no such table can be
    corpus, notes = io.read(folder / "f.parquet")
    said_of(notes, said)
    return plain(dict(corpus.stories))


def make_answer(rng: Random) -> Case:
    video = rng.choice(draw.draw_videos(rng))
    text = draw.answer(rng, video)
    for _ in range(rng.randint(1, 4)):
        text = bend_text(rng, text) if rng.random() < 0.7 else splice(rng, text)
    return Case("answer", {}, {"text": text, "unit": rng.choice(UNITS), "duration": rng.choice((None, video.duration))})


def splice(rng: Random, text: str, bits: tuple[str, ...] = (*TOKENS, *SPLICES)) -> str:
    a = rng.randint(0, len(text))
    return text[:a] + rng.choice(bits) + text[a + rng.choice((0, 0, 1, 5)) :]


def read_answer(case: Case, folder: Path, said: Said) -> Any:
    from dataclasses import replace

    o = case.options
    options = answers.Options.of(o["unit"])
    if o["duration"] is not None:
        options = replace(options, duration=o["duration"])
    found = answers.parse(o["text"], options)
    for event in found.events:
        if not (abs(event.segment.start) <= 1e9 and abs(event.segment.end) <= 1e9):
            raise Wrong("data", "answer: a time that is none", repr(event))
    json.dumps(found.audit.to_dict())
    return plain(found)


# ── the other shelves ───────────────────────────────────────────────────────────────────────────────────────────────


def make_queries(rng: Random) -> Case:
    pred, (ref,) = draw.moments(rng)
    doc = pred if rng.random() < 0.05 else ref
    names = [f.name for f in moments.formats()]
    format = rng.choice((None, None, None, rng.choice(names)))
    repair = rng.choice(([], [], ["swap"], ["drop"], ["clip", "swap", "drop"]))
    return bent(rng, doc, [pred], {"format": format, "repair": repair, "judged": rng.random() < 0.8}, "queries")


def read_queries(case: Case, folder: Path, said: Said) -> Any:
    o, notes = case.options, Notes()
    found = moments.read_queries([folder / o["path"]], notes, o["format"], o["repair"], o["judged"])
    said_of(notes, said)
    return [plain(dict(found)), notes.lines()]


def make_rankings(rng: Random) -> Case:
    pred, (ref,) = draw.moments(rng)
    doc = ref if rng.random() < 0.05 else pred
    format = rng.choice((None, None, None, rng.choice([f.name for f in moments.formats()])))
    return bent(rng, doc, [ref], {"format": format}, "rankings")


def read_rankings(case: Case, folder: Path, said: Said) -> Any:
    o, notes, numbers = case.options, Notes(), VideoNumbers()
    stream, name = moments.read_rankings(folder / o["path"], numbers, notes, o["format"])
    found: list[Any] = []
    for kind, some in stream:
        each = [some] if not isinstance(some, moments.Rankings) else list(some)
        found += [[kind, plain(one)] for one in each]
    said_of(notes, said)
    return [name, found, notes.lines()]


def make_regions(rng: Random) -> Case:
    pred, (ref,) = draw.regions(rng)
    role = rng.choice(("references", "predictions"))
    doc = (ref, pred)[role == "predictions"] if rng.random() < 0.95 else (pred, ref)[role == "predictions"]
    format = rng.choice((None, None, "xyxy", "xywh", "xcycwh", "coco", "coco:xyxy", "lines", "vg", "densecap"))
    repair = rng.choice(([], ["swap"], ["drop"], ["keep"]))
    return bent(rng, doc, [pred, ref], {"format": format, "role": role, "repair": repair}, "regions")


def read_regions(case: Case, folder: Path, said: Said) -> Any:
    o, notes = case.options, Notes()
    path = folder / o["path"]
    if o["role"] == "references":
        found, form = regions.read_references([path], notes, o["format"], o["repair"])
        data = [plain(found), form]
    else:
        data = [plain(p) for p in regions.Predictions(path, o["format"], notes)]
    said_of(notes, said)
    return [data, notes.lines()]


def make_captions(rng: Random) -> Case:
    pred, refs = draw.captions(rng)
    files, names = dict[str, bytes](), []
    for doc in (pred, *refs):
        name, data = bend(rng, doc, [pred], 2)
        name = name if name not in files else f"x{name}"
        files[name] = data
        names.append(name)
    return Case("captions", files, {"path": names[0], "refs": names[1:]})


def read_captions(case: Case, folder: Path, said: Said) -> Any:
    o = case.options
    path = folder / o["path"]
    found = [captions.is_items(path)]
    items, notes = captions.read_items(path, [folder / r for r in o["refs"]])
    said_of(notes, said)
    return [found, plain(items), notes.lines()]


def make_sets(rng: Random) -> Case:
    pred, (ref,), grouping = draw.identity(rng)
    files = dict([bend(rng, rng.choice((pred, ref)), [pred, ref], 2)])
    (name,) = files
    options: dict[str, Any] = {
        "path": name,
        "format": rng.choice((None, None, "captionsets", "fabula")),
        "grouping": None,
    }
    options["way"] = rng.choice(("sets", "sets", "references", "predictions", "grouping", "inline"))
    if grouping is not None:
        bent_name, data = (
            bend(rng, grouping, [pred], 2) if rng.random() < 0.6 else (grouping.name, "\n".join(grouping.tree).encode())
        )
        files[f"s{bent_name}"] = data
        options["grouping"] = f"s{bent_name}"
    return Case("sets", files, options)


def read_sets(case: Case, folder: Path, said: Said) -> Any:
    o, notes = case.options, Notes()
    path = folder / o["path"]
    grouping = folder / o["grouping"] if o["grouping"] else None
    way = {
        "references": lambda: fillin.read_references(path, notes),
        "predictions": lambda: fillin.read_predictions(path, notes),
        "grouping": lambda: fillin.read_grouping(grouping or path, notes),
        "inline": lambda: [identity.is_pairs(path), identity.read_inline(path, notes)],
        "sets": lambda: identity.read_sets(path, notes, o["format"], grouping),
    }[o["way"]]
    found = plain(way())
    said_of(notes, said)
    return [found, notes.lines()]


TASKS = ("dense", "procedure", "moments", "highlights", "grounding", "regions", "captions", "identity", "questions")


def make_lint(rng: Random) -> Case:
    """lint looks at any file; with references, and a repaired copy of it."""
    task = rng.choice(TASKS)
    pred, refs, _ = draw.of_task(rng, task)
    doc = rng.choice([pred, *refs])
    files = dict([bend(rng, doc, [pred], 2)])
    (name,) = files
    options: dict[str, Any] = {
        "path": name,
        "refs": [],
        "fix": rng.choice((None, None, "fixed.json", "fixed.jsonl", "fixed.csv")),
    }
    options["task"] = rng.choice((None, None, None, task))
    if refs and rng.random() < 0.4:
        ref, data = bend(rng, refs[0], [pred], 1)
        files[f"r{ref}"] = data
        options["refs"] = [f"r{ref}"]
    return Case("lint", files, options)


def run_lint(case: Case, folder: Path, said: Said) -> Any:
    o = case.options
    fix = folder / o["fix"] if o["fix"] else None
    found = fabula.lint(folder / o["path"], [folder / r for r in o["refs"]], fix=fix, task=o["task"])
    document = found.to_dict()
    json.dumps(document)
    from fabula.report import lint as report

    said += report.plain(found.report)
    said.append(report.summary(found.report, Path(o["path"]), found.format))
    left = sorted(p.name for p in folder.iterdir())
    return [json.loads(json.dumps(document, default=str).replace(str(folder), "")), left]


SPECS = (
    *(
        "SODA_c(refs=best)",
        "PRF(top=15)@0.5",
        "mIoU",
        "DVC_METEOR@0.3/0.5",
        "CIDEr(idf=corpus)",
        "MR_mAP(top=10)",
        "VCMR(k=1/5,iou=0.5/0.7)",
    ),
    *(
        "SODA_c(text=meteor,refs=best),PRF@0.5",
        "StartPRF@5",
        "HL_mAP(clip=2)",
        "DenseCap_mAP(ious=0.3/0.5)",
        "iSPICE(ids=11)",
    ),
)


def make_spec(rng: Random) -> Case:
    text = rng.choice(SPECS)
    for _ in range(rng.randint(1, 4)):
        text = bend_text(rng, text) if rng.random() < 0.5 else splice(rng, text, BITS)
    return Case("spec", {}, {"text": text, "what": rng.choice(("metric", "metric", "protocol", "format", "unit"))})


def read_spec(case: Case, folder: Path, said: Said) -> Any:
    text = case.options["text"]
    if case.options["what"] == "protocol":
        return repr(fabula.protocol(text))
    if case.options["what"] == "format":
        return repr(io.find(text)[0].name)
    if case.options["what"] == "unit":
        return repr(answers.Options.of(text))
    out = []
    for part in split(text):
        parse_spec(part)
        made = fabula.metric(part)
        if fabula.metric(str(made)) != made:
            raise Wrong("data", "spec: not the same when printed and read", f"{part!r} {made}")
        out.append(made.full())
    return out


def make_saved(rng: Random) -> Case:
    """A result as --json wrote it, and CIDEr's document frequencies."""
    if rng.random() < 0.5:
        score = {
            "value": 0.5,
            "precision": 0.4,
            "recall": 0.6,
            "f1": 0.5,
            "signature": "SODA_c|videos:3|fabula:0",
            "ci": [0.1, 0.9],
        }
        tree: Any = {
            "fabula": "0.1.0",
            "task": "dense",
            "protocol": "default",
            "scores": {"SODA_c": score},
            "counts": {"videos": 3},
            "warnings": ["x"],
        }
        return bent(rng, Doc("f.json", "json", tree), [], {"what": "result"}, "saved")
    tree = {"N": 3, "df": {"a": 3, "a dog": 1, "dog": 2}}
    name, data = bend(rng, Doc("f.json", "json", tree), [])
    return Case("saved", {name: data}, {"path": name, "what": "idf"})


def read_saved(case: Case, folder: Path, said: Said) -> Any:
    path = folder / case.options["path"]
    if case.options["what"] == "idf":
        from fabula.text._idf import Idf

        return plain(Idf.load(path))
    from fabula.evaluate.saved import load_result

    found = load_result(path)
    return None if found is None else json.loads(json.dumps(found.to_dict()))


BY = ("stories", "queries", "rankings", "references", "predictions", "captions", "sets", "audit")


def make_sniff(rng: Random) -> Case:
    """Any file under any reader: what it is not, it must say."""
    docs = [doc for task in rng.sample(TASKS, 2) for some in [draw.of_task(rng, task)] for doc in (some[0], *some[1])]
    name, data = bend(rng, rng.choice(docs), docs, 2)
    if rng.random() < 0.1:
        data = bytes(rng.randrange(256) for _ in range(rng.randint(0, 60)))
    return Case(
        "sniff",
        {name: data},
        {
            "path": name,
            "by": rng.choice(BY),
        },
    )


def read_sniff(case: Case, folder: Path, said: Said) -> Any:
    path, notes = folder / case.options["path"], Notes()
    if case.options["by"] == "rankings":
        case = Case("rankings", case.files, {**case.options, "format": None})
        return read_rankings(case, folder, said)
    way = {
        "stories": lambda: dict(io.read(path)[0].stories),
        "queries": lambda: dict(moments.read_queries([path], notes)),
        "references": lambda: regions.read_references([path], notes)[0],
        "predictions": lambda: list(regions.Predictions(path, None, notes)),
        "captions": lambda: captions.read_items(path)[0],
        "sets": lambda: identity.read_sets(path, notes),
        "audit": lambda: [
            dict(answers.audit(path)[0].stories),
            {v: a.to_dict() for v, a in answers.audit(path)[1].items()},
        ],
    }[case.options["by"]]
    found = plain(way())
    said_of(notes, said)
    return found


TARGETS = (
    Target("stories", make_stories, read_stories, 5),
    Target("pieces", make_pieces, read_pieces, 1),
    Target("parquet", make_parquet, read_stories, 1, both=0.1),
    Target("table", make_table, read_table, 0.2, both=0.1),
    Target("answer", make_answer, read_answer, 3, both=0.05),
    Target("queries", make_queries, read_queries, 3),
    Target("rankings", make_rankings, read_rankings, 3),
    Target("regions", make_regions, read_regions, 3, both=0.2),
    Target("captions", make_captions, read_captions, 2, both=0.2),
    Target("sets", make_sets, read_sets, 2, both=0.2),
    Target("lint", make_lint, run_lint, 2, both=0.2),
    Target("spec", make_spec, read_spec, 1, both=0.0),
    Target("saved", make_saved, read_saved, 0.5, both=0.0),
    Target("sniff", make_sniff, read_sniff, 2, both=0.3),
)
