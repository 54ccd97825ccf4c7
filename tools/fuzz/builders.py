"""What the verbs beside scoring read: questions, judges' records and answers, people, studies, stores of clips, runs
of annotation, features, submissions to challenge servers. Seeds are made by the code itself; then they are bent."""

from __future__ import annotations

import contextlib
import csv
import io as streams
import json
import sqlite3
import tempfile
import tomllib
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tools.fuzz import draw
from tools.fuzz.mutate import Doc, bend, bend_text, change_bytes, straight
from tools.fuzz.odd import HEADERS, NUMBERS, SPLICES, STRINGS
from tools.fuzz.readers import splice
from tools.fuzz.stores import ARRAYS, header_npy, npy
from tools.fuzz.watch import Case, Said, Target, Wrong, plain

from fabula.core.errors import FabulaError, SpecError
from fabula.core.notes import Notes

# ── questions ───────────────────────────────────────────────────────────────────────────────────────────────────────


def pairs(rng: Random) -> list[dict[str, str]]:
    return [{"question": draw.sentence(rng), "answer": draw.sentence(rng)} for _ in range(rng.randint(1, 3))]


def question_lines(rng: Random) -> Doc:
    pred, refs = draw.questions(rng)
    lines = rng.choice([pred, *refs]).tree
    for line in lines:
        if rng.random() < 0.3:
            line |= {"asked": pairs(rng), "references": [draw.sentence(rng)], "windows": [[0, 2.5]], "traits": {"n": 3}}
    return Doc("f.jsonl", "lines", lines)


def plm_rows(rng: Random) -> Doc:
    rows = []
    for uid in range(rng.randint(1, 4)):
        row: dict[str, Any] = {"uid": uid, "question": draw.sentence(rng), "answer": "option_0"}
        if rng.random() < 0.6:
            row |= {"qa_uid": uid // 2, "options": {f"option_{k}": draw.sentence(rng) for k in range(3)}}
        rows.append(row)
    return Doc("f.jsonl", "lines", rows)


def plm_answers(rng: Random) -> Doc:
    return Doc("f.jsonl", "lines", [{"uid": uid, "answer": draw.sentence(rng)} for uid in range(rng.randint(1, 4))])


def tarsier_lines(rng: Random) -> Doc:
    lines = []
    for k in range(rng.randint(1, 3)):
        part = {"type": "text", "text": draw.sentence(rng), "reference": draw.sentence(rng)}
        told = {"events": [draw.sentence(rng)], "n_subjects": 1, "n_shots": 2, "n_events": 3}
        messages = [{"role": "assistant", "content": [part]}]
        lines.append({"dataset": "DREAM", "idx": f"DREAM_{k}", "messages": messages, "extra_info": told})
    return Doc("f.jsonl", "lines", lines)


def aurora_captions(rng: Random) -> Doc:
    return Doc("f.json", "json", [{"doc": {"video_id": f"v{k}"}, "resps": [[draw.sentence(rng)]]} for k in range(2)])


def aurora_questions(rng: Random) -> Doc:
    return Doc("background.jsonl", "lines", [{f"v{k}": pairs(rng)} for k in range(rng.randint(1, 3))])


def vdc_rows(rng: Random) -> Doc:
    asked: Any = pairs(rng)
    asked = json.dumps(asked) if rng.random() < 0.3 else asked
    return Doc(
        "f.jsonl", "lines", [{"video_name": f"v{k}.mp4", "caption": "short", "qa_list": asked} for k in range(2)]
    )


def vdc_log(rng: Random) -> Doc:
    said = [[draw.sentence(rng)]]
    score = {"video_name": "v1.mp4", "score": 3}
    line = {"doc_id": 1, "target": "x", "arguments": {}, "resps": said, "filtered_resps": said[0]}
    return Doc(
        "f.jsonl", "lines", [{**line, "llmms_eval_score": score, "doc": {"video_name": "v1", "qa_list": pairs(rng)}}]
    )


def etbench_records(rng: Random) -> Doc:
    lines = []
    for k in range(rng.randint(1, 4)):
        task = rng.choice(("rar", "eca", "rvq", "gvq"))
        options: list[Any] = [draw.sentence(rng), [1, 2.5], draw.sentence(rng)]
        lines.append({"task": task, "source": "x", "idx": k, "video": f"v{k}.mp4", "duration": 9.5, "q": "who?",
                      "o": options, "p": rng.randrange(3), "a": "(A) x", "tgt": [1, 3]})  # fmt: skip
    return rng.choice((Doc("f.jsonl", "lines", lines), Doc("f.json", "json", lines)))


def vlm_rows(rng: Random) -> list[dict[str, Any]]:
    if rng.random() < 0.5:
        rows = [{"index": k, "video": f"v{k}", "caption_type": "short", "prediction": draw.sentence(rng),
                 "question": repr(pairs(rng))} for k in range(rng.randint(1, 3))]  # fmt: skip
    else:
        rows = [{"index": k, "video": f"v{k}", "prediction": draw.sentence(rng), "answer": draw.sentence(rng),
                 "events": json.dumps([draw.sentence(rng)])} for k in range(rng.randint(1, 3))]  # fmt: skip
    for row in rows:
        for name in row:
            if rng.random() < 0.1:
                row[name] = bend_text(rng, str(row[name]))
    return rows


def vlm_table(rng: Random) -> tuple[str, bytes]:
    """A table as text or as a workbook."""
    rows = vlm_rows(rng)
    kind = rng.choice(("tsv", "csv", "xlsx"))
    if kind == "xlsx":
        return "f.xlsx", damage_zip(rng, workbook(), 0.5)
    text = streams.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter="\t" if kind == "tsv" else ",")
    writer.writeheader()
    with contextlib.suppress(csv.Error):
        writer.writerows(rows)
    data = text.getvalue().encode("utf-8", "surrogatepass")
    return f"f.{kind}", change_bytes(rng, data, []) if rng.random() < 0.5 else data


@cache
def workbook() -> bytes:
    openpyxl = import_or_none("openpyxl")
    if openpyxl is None:
        return b"PK\x03\x04"
    book, out = openpyxl.Workbook(), streams.BytesIO()
    for row in (["index", "video", "prediction", "answer", "events"], [0, "v0", "a dog", "a dog runs", '["a dog"]']):
        book.active.append(row)
    book.save(out)
    return out.getvalue()


def import_or_none(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        return None


QUESTIONS = (
    *(question_lines, plm_rows, plm_answers, tarsier_lines, aurora_captions, aurora_questions, vdc_rows, vdc_log),
    *(etbench_records, lambda rng: Doc("f.json", "json", vlm_rows(rng))),
)
FORMATS = ("question-lines", "plm-fgqa", "plm-sgqa", "plm-answers", "tarsier", "aurora", "lmms-vdc",
           "aurora-questions", "lmms-vdc-rows", "etbench-questions", "vlmevalkit-dream", "vlmevalkit-vdc")  # fmt: skip


def make_questions(rng: Random) -> Case:
    if rng.random() < 0.15:
        name, data = vlm_table(rng)
    else:
        name, data = bend(rng, rng.choice(QUESTIONS)(rng), [rng.choice(QUESTIONS)(rng)])
    role = rng.choice(("predictions", "references"))
    format = rng.choice(FORMATS) if rng.random() < 0.2 else None
    return Case("questions", {name: data}, {"path": name, "format": format, "role": role})


def read_questions(case: Case, folder: Path, said: Said) -> Any:
    """Read, joined with itself, and written as our own lines and read again."""
    from fabula.documents.fields import Source
    from fabula.documents.files import write_text
    from fabula.io.questions import join_responses, read_responses
    from fabula.io.questions.lines import write_responses

    o, notes = case.options, Notes()
    found = read_responses(folder / o["path"], notes, o["format"], o["role"])
    joined = join_responses(found, [found], folder / o["path"], notes)
    said += notes.lines()
    again = folder / "again.jsonl"
    write_text(again, write_responses(found.values(), Source(again)))
    if found and read_responses(again, Notes(), "question-lines", o["role"]) != found:
        raise Wrong("data", "questions: written as lines and read again", str(plain(found))[:1500])
    return plain(joined)


def make_judgements(rng: Random) -> Case:
    rows = [
        {
            "id": f"v{k}",
            "system": rng.choice("ab"),
            "rater": rng.choice("xyz"),
            "value": rng.randint(1, 5),
            "SODA_c": 0.5,
        }
        for k in range(rng.randint(1, 6))
    ]
    doc = rng.choice((Doc("f.jsonl", "lines", rows), Doc("f.json", "json", rows)))
    if rng.random() < 0.3:
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        doc = Doc("f.csv", "text", lines)
    name, data = bend(rng, doc, [])
    return Case("judgements", {name: data}, {"path": name, "measure": rng.choice((None, None, "x"))})


def read_judgement_file(case: Case, folder: Path, said: Said) -> Any:
    from fabula.io.judgements import read_judgements, read_scores

    path = folder / case.options["path"]
    out = [plain(read_judgements(path, case.options["measure"]))]
    with contextlib.suppress(FabulaError):
        out.append(plain(sorted(map(str, read_scores(path).items()))))
    return out


# ── judges and models' answers ──────────────────────────────────────────────────────────────────────────────────────

REPLIES = (
    '{"score": 7}', '{"pred": "yes", "score": 4}', "Score: 8/10. It is good.", "yes", "No, it is not.",
    "```json\n{}\n```", "1. a dog runs\n2. a cat sits\n3. the sea",
    "Background: x\nAttributes: red; wet\nDescription: a dog in the sea",
    '{"1": "a dog", "2": "a cat"}', "Q1: who?\nA1: a dog\nQ2: where?\nA2: in the sea\nDescription: a dog swims",
    "[4, 5, 3]", "1: 4\n2: 5", '{"events": ["a dog runs"]}', '[{"event": "x", "relationship": "entailment"}]',
    '["a dog", "a cat"]', "<think>hm</think>{'a': 'b'}", "(B) because", "From 3.5 to 12 seconds", "{" * 50 + "}" * 50,
)  # fmt: skip


def make_reply(rng: Random) -> Case:
    text = rng.choice(REPLIES)
    for _ in range(rng.randint(1, 5)):
        text = bend_text(rng, text) if rng.random() < 0.5 else splice(rng, text, (*SPLICES, *REPLIES))
    if rng.random() < 0.03:
        text = text[:50] + rng.choice(("\n", " ", "(", "-", "1. ", '"', "{", "a ")) * 3000 + text[50:]
    return Case("reply", {}, {"text": text[:20_000], "n": rng.randint(0, 6)})


def read_reply(case: Case, folder: Path, said: Said) -> Any:
    """What judges and annotators make of a model's words: every reader of them."""
    from fabula.annotation import parsers
    from fabula.metrics.questions import _events, _matches
    from fabula.text.judges import answers, plm, reading

    text, n = case.options["text"], case.options["n"]
    numbers = "number"
    return [
        plain(one)
        for one in (
            reading.read_score(text),
            answers.read_right(text),
            answers.is_json(text),
            plm.read_strict(text),
            plm.read_verdict(text),
            parsers.parse_frame(text, "a dog"),
            parsers.parse_variants(text),
            parsers.parse_list(text, n),
            parsers.parse_replies(text, n),
            parsers.parse_marks(text, n),
            [unless_broken(read, text) for read in _events.READ_EVENTS.values()],
            [_matches.read_literal(text, numbers), _matches.read_json(text, numbers)],
        )
    ]


def unless_broken(read: Any, text: str) -> Any:
    """What a published reader makes of it; one that the original ends at says so by an error of its own."""
    from fabula.metrics.questions._events import BrokenError

    try:
        return read(text)
    except BrokenError:
        return "broken"


def answer_record(rng: Random) -> tuple[list[dict[str, Any]], list[Any]]:
    from fabula.llm.call import Call

    calls = [Call(model="m", prompt=f"mark {k}", system="s", parameters={"seed": k}) for k in range(3)]
    lines = [
        {
            "key": call.key,
            "call": call.to_dict(),
            "answer": {"text": '{"score": 7}', "finish": "stop", "tokens_in": 3, "tokens_out": None, "seconds": 0.5},
        }
        for call in calls
    ]
    return lines, calls


def make_record(rng: Random) -> Case:
    lines, _ = answer_record(rng)
    name, data = bend(rng, Doc("r.jsonl", "lines", lines), [])
    return Case("record", {"r.jsonl": data if not name.endswith(".gz") else b""}, {"append": rng.random() < 0.3})


def read_record(case: Case, folder: Path, said: Said) -> Any:
    """Listed, replayed, appended to."""
    import asyncio

    from fabula.llm.answer import Answer
    from fabula.llm.record import Record, Replay
    from fabula.text.judges.options import list_models

    out: list[Any] = [list_models(folder / "r.jsonl")]
    calls = answer_record(Random(0))[1]
    with Record(folder / "r.jsonl", append=case.options["append"]) as record:
        for call in calls:
            try:
                out.append(plain(asyncio.run(Replay(record).ask(call))))
            except FabulaError as error:
                said.append(str(error))
                out.append(type(error).__name__)
            if case.options["append"]:
                record.put(call, Answer("x"))
    return out


CHAT = {
    "id": "x",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    "error": None,
}


def make_chat(rng: Random) -> Case:
    return Case("chat", {"f": bend(rng, Doc("f", "json", CHAT), [])[1]}, {})


def read_chat(case: Case, folder: Path, said: Said) -> Any:
    """The document of a reply; how its bytes come is for tests of the client."""
    from fabula.llm.answer import ReplyError, read_document

    try:
        document = json.loads((folder / "f").read_bytes())
    except (ValueError, RecursionError):
        return "no JSON"
    try:
        return plain(read_document(document, 0.5))
    except ReplyError as error:
        said.append(str(error))
        return "refused"


# ── archives and tables of SQLite ───────────────────────────────────────────────────────────────────────────────────

PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def pack_zip(rng: Random, files: dict[str, bytes], packing: int | None = None) -> bytes:
    out = streams.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice(PACKINGS) if packing is None else packing) as packed:
        for name, data in files.items():
            packed.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, packed.compression)
    return out.getvalue()


def damage_zip(rng: Random, data: bytes, often: float = 0.4) -> bytes:
    """Its bytes, and with luck its directory."""
    if rng.random() < often:
        for _ in range(rng.randint(1, 3)):
            data = change_bytes(rng, data, [])
    return data


def bend_cell(rng: Random, value: Any) -> Any:
    """Another value of a table's cell; JSON stays JSON, mostly."""
    if isinstance(value, str) and rng.random() < 0.6:
        with contextlib.suppress(ValueError):
            return bend(rng, Doc("f", "json", json.loads(value)), [], 2)[1].decode("utf-8", "replace")
    how = rng.random()
    if how < 0.2 and isinstance(value, str):
        return bend_text(rng, value).encode("utf-8", "replace").decode()
    if how < 0.4:
        return rng.choice([n for n in NUMBERS if not isinstance(n, int) or abs(n) < 2**63])
    if how < 0.7:
        return rng.choice(STRINGS).encode("utf-8", "replace").decode()
    if how < 0.85:
        return rng.choice((b"", b"\xff\x00", b"x" * 40))
    return rng.choice((None, 0, -1, "{}", "[]", "null", "1" * 400, '{"a": 1}'))


def bend_sqlite(rng: Random, data: bytes) -> bytes:
    """Cells set to other values, rows lost or doubled, tables gone; or its bytes."""
    if rng.random() < 0.15:
        for _ in range(rng.randint(1, 4)):
            data = change_bytes(rng, data, [])
        return data
    db = sqlite3.connect(":memory:")
    with contextlib.closing(db):
        db.deserialize(data)
        db.execute("PRAGMA ignore_check_constraints = ON")
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(rng.choice((1, 1, 2))):
            table, how = rng.choice(tables), rng.random()
            with contextlib.suppress(sqlite3.Error, OverflowError):
                columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
                rows = db.execute(f"SELECT * FROM {table}").fetchall()
                if how < 0.04:
                    db.execute(f"DELETE FROM {table}")
                elif how < 0.06:
                    db.execute(f"DROP TABLE {table}")
                elif how < 0.08:
                    db.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
                    db.execute(f"CREATE VIEW {table} AS SELECT * FROM old_{table}")
                elif rows:
                    row = rng.choice(rows)
                    k = rng.randrange(len(columns))
                    where = " AND ".join(f"{column} IS ?" for column in columns)
                    statement = f"UPDATE {table} SET {columns[k]} = ? WHERE {where}"
                    db.execute(statement, (bend_cell(rng, row[k]), *row))
        db.commit()
        return db.serialize()


def settle(path: Path) -> bytes:
    """The bytes of a data base, without the log beside it."""
    db = sqlite3.connect(path)
    with contextlib.closing(db):
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("VACUUM")
    return path.read_bytes()


# ── people ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def cast_parts() -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and manifest of a small store of people."""
    from fabula.media.people.cast import Cast, Faces, FilmedVideo

    n = 12
    rng = np.random.default_rng(3)
    who = np.arange(n) % 3
    embedding = np.eye(8, dtype=np.float32)[who] + rng.normal(size=(n, 8)).astype(np.float32) * 0.01
    embedding /= np.linalg.norm(embedding, axis=1, keepdims=True)
    frame = np.arange(n, dtype=np.int64) // 3
    box = np.stack([who * 40, who * 0, who * 40 + 20, who * 0 + 20], 1).astype(np.float32)
    video = np.arange(n, dtype=np.int64) // 6
    faces = Faces(video, frame, frame / 2.0, frame * 0, who.astype(np.int64) + 3 * video, box,
                  np.ones(n, np.float32), embedding)  # fmt: skip
    about = {"file": "a.mp4", "sha256": "0" * 64, "pictures": 4, "faces": 6, "too_small": 0}
    seen = tuple(FilmedVideo(id, 9.5, 160, 96, np.array([[0.0, 9.5]]), about) for id in ("a", "b"))
    metadata = {"recipe": {"look": {"fps": 2.0, "side": 640}, "detector": "x"}, "spec": "x", "cluster": "linked",
                "licence": {"detector": "MIT"}, "own_eps": 0.6}  # fmt: skip
    thumbs = {t: b"\xff\xd8\xff" + bytes([t]) for t in range(6)}
    arrays = dict(Cast(seen, faces, who.astype(np.int64), {}, thumbs, metadata).arrays())
    return arrays, json.loads(arrays["manifest"].tobytes())


STEPS = [
    {"do": "name", "person": [{"video": "a", "time": 0.0, "box": [0, 0, 20, 20]}], "name": "Anna"},
    {"do": "split", "tracks": [{"video": "b", "time": 1.0, "box": [40, 0, 60, 20]}]},
]
PEOPLE = ("info", "page", "merge", "split", "name", "undo", "group", "cut")


def make_people(rng: Random) -> Case:
    arrays, manifest = cast_parts()
    files = {f"{name}.npy": npy(array) for name, array in arrays.items()}
    how = rng.random()
    if how < 0.4:
        data = bend(rng, Doc("m", "json", manifest), [])[1]
        files["manifest.npy"] = npy(np.frombuffer(data, np.uint8))
    elif how < 0.7:
        name = rng.choice(list(files))
        array = arrays[name.removesuffix(".npy")]
        kind = rng.random()
        if kind < 0.3:
            files[name] = npy(rng.choice((*ARRAYS, np.float64(3), np.zeros(()), array[:-1], array[..., None])))
        elif kind < 0.5:
            files[name] = header_npy(rng.choice(HEADERS), b"\x00" * rng.choice((0, 8, 32)))
        elif kind < 0.9 and array.size and array.dtype.kind in "fi":
            other = array.copy()
            value = rng.choice(
                (2**33, -5, 2**62, -(2**63), 0, 99, 2**31 - 1) if other.dtype.kind == "i" else (np.nan, 1e30, -1, 0)
            )
            other.flat[rng.randrange(other.size)] = value
            with np.errstate(all="ignore"):
                files[name] = npy(other.astype(rng.choice((array.dtype, array.dtype, "<f4", "<i8", "<i4", "<u8"))))
        else:
            files[name] = change_bytes(rng, files[name], [])
    elif how < 0.75:
        del files[rng.choice(list(files))]
    packing = zipfile.ZIP_STORED if rng.random() < 0.4 else None
    out = {"people.npz": damage_zip(rng, pack_zip(rng, files, packing), 0.35)}
    if rng.random() < 0.3:
        document = {"corrections": 1, "steps": STEPS}
        data = bend(rng, Doc("c", "json", document), [])[1] if rng.random() < 0.8 else json.dumps(document).encode()
        out["people.corrections.json"] = data
    return Case(
        "people", out, {"verb": rng.choice(PEOPLE), "name": rng.choice(("Anna", *STRINGS)), "a": rng.choice((0, 1, 99))}
    )


def use_people(case: Case, folder: Path, said: Said) -> Any:
    from fabula.media.people import calls as api
    from fabula.media.people import corrections
    from fabula.media.people.options import CutOptions

    store, o = folder / "people.npz", case.options
    warn = said.append
    match o["verb"]:
        case "info":
            return plain({k: v for k, v in api.describe_people(store, warn).items() if k != "store"})
        case "page":
            return len(api.page_of(store, "t", warn))
        case "merge":
            return plain(corrections.merge(store, [o["a"], 2]).person)
        case "split":
            return plain(corrections.split(store, o["a"], [0]).person)
        case "name":
            return plain(dict(corrections.name(store, o["a"], o["name"]).names))
        case "undo":
            return str(corrections.undo(store)["do"])
        case "group":
            return plain(api.group_people(store, folder / "out.npz", "linked", warn=warn).person)
        case _:
            made = api.cut_people(store, CutOptions(out=folder / "streams"), warn)
            return [len(made.face), len(made.empty)]


# ── studies ─────────────────────────────────────────────────────────────────────────────────────────────────────────

PLAN = """title = "Which is better?"
form = "richer"
clips = "."
items = "items.jsonl"
questions = 5
raters_per_question = 2
raters = 0
checks = 1
shortest = 2.0
balance = true
seed = 3
intro = "Watch, then answer."
return_url = "https://example.org/{code}"

[exclude]
checks = 0.75
hurried = 0.2

[analysis]
level = 0.95
resamples = 20

[power]
rater = 0.05
item = 0.2"""
FORMS = ("richer", "preference", "scale", "rank")


def study_items(rng: Random) -> list[dict[str, Any]]:
    return [
        {
            "id": f"i{k}",
            "video": "a.mp4",
            "time": [k, k + 2.5],
            "descriptions": {"old": draw.sentence(rng), "new": draw.sentence(rng)},
            "kind": rng.choice(("", "static", "dynamic")),
        }
        for k in range(rng.randint(2, 6))
    ]


def make_plan(rng: Random) -> Case:
    lines = PLAN.replace('"richer"', f'"{rng.choice(FORMS)}"').split("\n")
    if rng.random() < 0.2:
        lines[3] = rng.choice(('benchmark = "items.jsonl"', 'systems = {old = "a.jsonl", new = "items.jsonl"}'))
    for _ in range(rng.choice((0, 1, 1, 2))):
        k = rng.randrange(len(lines))
        name, sign, _ = lines[k].partition(" = ")
        if sign and rng.random() < 0.6:
            lines[k] = f"{name} = {toml_value(rng)}"
        else:
            lines[k] = bend_text(rng, lines[k])
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    if rng.random() < 0.15:
        text = change_bytes(rng, text, [])
    items = straight(Doc("items.jsonl", "lines", study_items(rng)))[1]
    if rng.random() < 0.6:
        items = bend(rng, Doc("items.jsonl", "lines", study_items(rng)), [])[1]
    return Case("plan", {"plan.toml": text, "items.jsonl": items}, {})


def toml_value(rng: Random) -> str:
    value = rng.choice(
        (
            rng.choice(NUMBERS),
            rng.choice(STRINGS),
            True,
            [],
            [1, "a"],
            "nan",
            "9" * 5000,
            "0x10",
            "1979-05-27",
            "{a = 1}",
        )
    )
    if isinstance(value, str):
        if value in ("nan", "0x10", "1979-05-27", "{a = 1}") or value.isdigit():
            return value
        return json.dumps(value, ensure_ascii=True)
    text = "true" if value is True else repr(value) if not isinstance(value, int) or abs(value) < 10**300 else "1" * 400
    return text.replace("'", '"')


def use_plan(case: Case, folder: Path, said: Said) -> Any:
    """A plan, its items, its design and what it can find."""
    from fabula.studies.design import make_design
    from fabula.studies.items import read_items
    from fabula.studies.plan import Plan, read_plan
    from fabula.studies.power import reach

    plan = read_plan(folder / "plan.toml")
    if Plan.of(json.loads(json.dumps(plan.to_dict()))) != plan:
        raise Wrong("data", "plan: written and read again", repr(plan)[:1500])
    items = read_items(plan, folder)
    design = make_design(plan, items)
    found = reach(plan, design)
    return [plan.title, len(items), design.raters, plain(found.smallest)]


@cache
def finished_study() -> bytes:
    from fabula.studies.design import make_design
    from fabula.studies.items import read_items
    from fabula.studies.plan import Plan
    from fabula.studies.raters import World, simulate
    from fabula.studies.store import Store, make_study

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "items.jsonl").write_bytes(straight(Doc("i", "lines", study_items(Random(4))))[1])
        plan = Plan.of(tomllib.loads(PLAN))
        items = [replace(item, clip="a.mp4") for item in read_items(plan, folder)]
        design = make_design(plan, items)
        make_study(folder / "study", plan, design, folder)
        answers, _ = simulate(plan, design, {"careful": 1.0}, World(0.5, 0.05, 0.2, 0.4), 3)
        with Store(folder / "study", work=True) as store, store.together():
            for n, given in enumerate(g for some in answers.by_rater.values() for g in some):
                row = (
                    given.slot.rater,
                    given.slot.place,
                    f"{n:032x}",
                    json.dumps(dict(given.answer)),
                    given.seconds,
                    9.0,
                )
                statement = "INSERT INTO answers (rater, place, nonce, answer, seconds, at) VALUES (?, ?, ?, ?, ?, ?)"
                store.db.execute(statement, row)
        return settle(folder / "study" / "study.sqlite")


def make_study_store(rng: Random) -> Case:
    return Case("study", {"study/study.sqlite": bend_sqlite(rng, finished_study())}, {"backup": rng.random() < 0.1})


def use_study(case: Case, folder: Path, said: Said) -> Any:
    from fabula.studies.results import to_dict
    from fabula.studies.steps import backup, results, write_ratings

    if case.options["backup"]:
        backup(folder / "study", folder / "copy.sqlite")
    found = results(folder / "study")
    write_ratings(found.table, folder / "t.csv")
    said += found.warnings
    return json.loads(json.dumps(to_dict(found)))["raters"] if "raters" in to_dict(found) else None


# ── stores of clips ─────────────────────────────────────────────────────────────────────────────────────────────────

RECIPE = {"embedder": "colours", "dims": 8, "weights": {}, "clips": {"fps": 1.0, "clip": 2.0}}
MANIFEST = {
    "fabula-store": 1,
    "recipe": RECIPE,
    "root": "/films",
    "weights": None,
    "tables": {"clips": "clips", "videos": "videos"},
    "next": {"recipe": RECIPE, "weights": "w", "tables": {"clips": "clips_2", "videos": "videos_2"}},
}
KNOTS = [[-0.2, 0.01], [0.1, 0.3], [0.4, 0.9]]
CALIBRATION = {"fabula-calibration": 1, "kind": "isotonic", "on": "score", "weights": [], "knots": KNOTS,
               "recipe": RECIPE, "about": {"present": 20}}  # fmt: skip
SIGMOID = {**CALIBRATION, "kind": "sigmoid", "on": "both", "weights": [1.5, 0.2, -0.3], "knots": []}
WORDS = ("a dog", "2:golden retriever", " + ", " − ", " then ", "video:a.mp4", 'person:"Anna B"', '"', '""', "x-ray",
         "10:30", ".5:", "0.1234:", "pool.jpg", " and", "-", "+", "then", "\t", "THEN", "video:", '6" nails',
         "2:")  # fmt: skip


def make_search(rng: Random) -> Case:
    how = rng.random()
    if how < 0.3:
        text = "".join(rng.choice(WORDS) + rng.choice(("", " ")) for _ in range(rng.randint(1, 7)))
        text = bend_text(rng, text) if rng.random() < 0.3 else text
        return Case("search", {}, {"what": "query", "text": text, "pictures": rng.random() < 0.8})
    if how < 0.5:
        data = bend(rng, Doc("m", "json", MANIFEST), [])[1]
        return Case("search", {"manifest.json": data}, {"what": "manifest"})
    if how < 0.8:
        data = bend(rng, Doc("c", "json", rng.choice((CALIBRATION, SIGMOID))), [])[1]
        return Case("search", {"calibration.json": data}, {"what": "calibration"})
    lines = [{"id": k, "text": draw.sentence(rng), "windows": [[0, 2]] if k % 2 else []} for k in range(3)]
    lines += [{"qid": 7, "query": "a dog then a cat", "relevant_windows": [[1, 2]]}, {"desc_id": "x", "desc": "a sea"}]
    name, data = bend(rng, Doc("q.jsonl", "lines", lines), [])
    return Case("search", {name: data}, {"what": "asked", "path": name})


def use_search(case: Case, folder: Path, said: Said) -> Any:
    o = case.options
    if o["what"] == "query":
        from fabula.library.query import parse

        query = parse(o["text"], pictures=o["pictures"])
        said += query.remarks
        try:
            again = parse(str(query))
        except SpecError as error:
            if "at most" in str(error):  # quotes make it longer
                return str(query)
            raise Wrong("data", "query: printed and refused", f"{o['text']!r}\n{query}\n{error}") from None
        if again != query:
            raise Wrong("data", "query: printed and read again", f"{o['text']!r}\n{query!r}\n{again!r}")
        return str(query)
    if o["what"] == "manifest":
        from fabula.library.manifest import check_recipe, read_file

        found = read_file(folder)
        with contextlib.suppress(FabulaError):
            check_recipe(found.recipe, RECIPE, folder)
        begun = found.begun()
        return [found.dims, found.root, None if begun is None else begun.dims, found.document() is not None]
    if o["what"] == "calibration":
        from fabula.library.calibrate import Calibration

        made = Calibration.load(folder / "calibration.json")
        with contextlib.suppress(FabulaError):
            Calibration.load(folder / "calibration.json", RECIPE)
        for score in (-1.0, 0.0, 0.3, 1.0):
            if not 0 <= made(score, 2.0) <= 1:
                raise Wrong("data", "calibration: no probability", f"{made(score, 2.0)} of {made}")
        return made(0.2, 1.0)
    from fabula.library.queries import read_queries_file

    return plain(read_queries_file(folder / o["path"]))


# ── annotation ──────────────────────────────────────────────────────────────────────────────────────────────────────


def moment_lines(rng: Random) -> list[dict[str, Any]]:
    return [
        {"desc_id": k, "video": f"v{k % 2}", "time": [k, k + 3.5], "cog_desc": draw.sentence(rng, 3), "duration": 30.5}
        for k in range(rng.randint(1, 5))
    ]


def make_annotated(rng: Random) -> Case:
    """Files of moments, coarse and fine, and what an export says of itself."""
    if rng.random() < 0.5:
        other = draw.moments(rng)[1]
        doc = Doc("m.jsonl", "lines", moment_lines(rng)) if rng.random() < 0.7 else rng.choice(other)
        name, data = bend(rng, doc, [])
        return Case("moments", {name: data}, {"path": name, "what": "coarse"})
    lines = [{**line, "fig_desc": draw.sentence(rng), "fig_desc_score": 4.5} for line in moment_lines(rng)]
    whence = [{"desc_id": line["desc_id"], "chosen": {"branch": "static", "text": "x"}} for line in lines]
    name, data = bend(rng, Doc("train.jsonl", "lines", lines), [])
    files = {name: data}
    if rng.random() < 0.5:
        files["fabula-benchmark.json"] = b"{}"
        files["provenance.jsonl"] = bend(rng, Doc("p", "lines", whence), [])[1]
    return Case("moments", files, {"path": name, "what": "fine"})


def read_annotated(case: Case, folder: Path, said: Said) -> Any:
    path = folder / case.options["path"]
    if case.options["what"] == "coarse":
        from fabula.annotation.moments import read_moments

        return plain([replace(moment) for moment in read_moments(path)])
    from fabula.annotation.stats import describe, histogram, read_rows

    (rows,) = read_rows([path]).values()
    scores = [row.score for row in rows if row.score is not None and abs(row.score) < 100]
    return [plain(rows), plain(describe(rows)), len(histogram(scores))]


@cache
def finished_annotation() -> bytes:
    """The store of a small run against the endpoint that is built in."""
    from fabula.annotation import benchmark as api
    from fabula.annotation.recipe import RecipeOptions

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "m.jsonl").write_bytes(straight(Doc("m", "lines", moment_lines(Random(2))))[1])
        api.run(folder / "m.jsonl", options=api.RunOptions(store=folder / "s"), recipe=RecipeOptions(blind=True))
        return settle(folder / "s")


def make_annotation(rng: Random) -> Case:
    data = bend_sqlite(rng, finished_annotation())
    return Case("annotation", {"run.sqlite": data}, {"verb": rng.choice(("export", "export", "status", "get"))})


def use_annotation(case: Case, folder: Path, said: Said) -> Any:
    from fabula.annotation.export import LAYOUTS, Export, export
    from fabula.annotation.plan import summarise
    from fabula.annotation.store import Store

    with Store(folder / "run.sqlite") as store:
        if case.options["verb"] == "status":
            return json.loads(json.dumps(summarise(store)))["moments"]
        if case.options["verb"] == "get":
            keys = [row[0] for row in store.rows("SELECT key FROM answers")]
            found = [store.get(key) for key in keys]
            return [len(found), plain(store.batches()), len(list(store.moments())), store.spent() >= 0 or None]

        def embed(texts: Any) -> Any:
            return np.array([[len(text) % 7 + 1, 1.0] for text in texts], np.float32)

        recipe = store.find_recipe(None)
        told = export(store, recipe, folder / "out", Export(layouts=LAYOUTS), embed)
        return told["moments"]


# ── features ────────────────────────────────────────────────────────────────────────────────────────────────────────


def make_clip_features(rng: Random) -> Case:
    """Stores that say how long their videos are, clips to be cut from them, and folders of .npz."""
    if rng.random() < 0.3:
        array = rng.choice(ARRAYS)
        data = pack_zip(rng, {rng.choice(("features.npy", "last_hidden_state.npy", "x.npy")): npy(array)})
        return Case("clips", {"store/v.npz": damage_zip(rng, data, 0.6)}, {"what": "npz"})
    array = np.arange(40, dtype=np.float32).reshape(10, 4)
    about = {
        "durations": {"v": 10.0, "w": 10},
        "fps": 1.0,
        "recipe": {"look": 1, "fps": 1.0, "stride": 1},
        "videos": {},
    }
    files = {"store/v.npy": npy(array), "store/w.npy": npy(array)}
    files["store/metadata.json"] = bend(rng, Doc("m", "json", about), [])[1]
    clips = [{"id": f"c{k}", "video": rng.choice("vw"), "start": k, "end": k + 2} for k in range(3)]
    files["clips.jsonl"] = bend(rng, Doc("c.jsonl", "lines", clips), [])[1]
    return Case("clips", files, {"what": "cut"})


def use_clip_features(case: Case, folder: Path, said: Said) -> Any:
    from fabula.learn.retrieval.npz import open_store
    from fabula.media.cut import cut_store
    from fabula.media.stores.features import Features

    if case.options["what"] == "npz":
        store = open_store(folder / "store")
        return [store.dim, plain(store["v"])]
    told = Features(folder / "store").describe()
    return [plain({k: v for k, v in told.items() if k != "store"}),
            cut_store(folder / "store", folder / "clips.jsonl", folder / "out", False)]  # fmt: skip


# ── challenge servers ───────────────────────────────────────────────────────────────────────────────────────────────


@cache
def challenge() -> tuple[bytes, bytes, dict[str, bytes]]:
    """The settings and the references of a small challenge, and a submission."""
    from fabula.hosts.bundles import HostOptions, make_config, pack

    rng = Random(8)
    truth = draw.draw_videos(rng)
    ref, pred = straight(draw.as_fabula(truth, "ref")), straight(draw.as_fabula(draw.predict(rng, truth), "pred"))
    config = make_config([Path(ref[0])], HostOptions(metrics="SODA_d,mIoU", task="dense"))
    return json.dumps(config).encode(), pack({config["refs"][0]: ref[1]}), {pred[0]: pred[1]}


ASIDE = (  # other entries of an archive
    "__MACOSX/._x",
    ".hidden",
    "metadata",
    "a/b/c.json",
    "../up.json",
    "/abs.json",
    "",
    "a//",
    "x\\y.json",
    "pred.jsonl",
    "a" * 300,
)


def make_submission(rng: Random) -> Case:
    config, truth, files = challenge()
    files = dict(files)
    if rng.random() < 0.5:
        told = draw.draw_videos(rng)
        name, data = bend(rng, draw.as_fabula(told, "pred"), [])
        files = {name: data}
    for _ in range(rng.choice((0, 0, 1, 2))):
        files[rng.choice(ASIDE)] = rng.choice((b"", b"{}", b"x"))
    if rng.random() < 0.4:
        flat = {f"in/res/{name.replace('/', '_').strip('.')[:200] or 'x'}": data for name, data in files.items()}
        return Case("host", {**flat, "truth.zip": truth, "fabula.json": config}, {"server": "codabench"})
    data = damage_zip(rng, pack_zip(rng, files), 0.5)
    return Case("host", {"s.zip": data, "truth.zip": truth, "fabula.json": config}, {"server": "evalai"})


def grade_submission(case: Case, folder: Path, said: Said) -> Any:
    from fabula.hosts.bundles import grade_files, grade_folder

    if case.options["server"] == "evalai":
        found = grade_files(folder / "fabula.json", folder / "truth.zip", folder / "s.zip")
        return plain(found["result"])
    with zipfile.ZipFile(folder / "truth.zip") as packed:
        packed.extractall(folder / "in" / "ref")
    code = grade_folder(folder / "fabula.json", folder / "in", folder / "out")
    if code:
        said.append((folder / "out" / "error.txt").read_text(encoding="utf-8").strip())
    elif not (folder / "out" / "scores.json").is_file():
        raise Wrong("output", "codabench: no scores", str(list(folder.rglob("*"))))
    return code


TARGETS = (
    Target("questions", make_questions, read_questions, 4, both=0.0),
    Target("judgements", make_judgements, read_judgement_file, 1, both=0.0),
    Target("reply", make_reply, read_reply, 2, both=0.0),
    Target("record", make_record, read_record, 2, both=0.0),
    Target("chat", make_chat, read_chat, 1, both=0.0),
    Target("people", make_people, use_people, 3, both=0.0),
    Target("plan", make_plan, use_plan, 2, both=0.0),
    Target("study", make_study_store, use_study, 2, both=0.0, seconds=20),
    Target("search", make_search, use_search, 3, both=0.0),
    Target("moments", make_annotated, read_annotated, 2, both=0.0),
    Target("annotation", make_annotation, use_annotation, 2, both=0.0),
    Target("clips", make_clip_features, use_clip_features, 2, both=0.0),
    Target("host", make_submission, grade_submission, 1.5, both=0.0, seconds=20),
)
