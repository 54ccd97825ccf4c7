"""Parts of identity-aware captions one by one: sets, streams, faces, blanks, words, people; what wrong ones cost.

tests/learn/parts has the answers; `python -m tests.learn.test_parts_identity` writes them anew.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models need fabula[learn]")
for module in ("lightning_fabric", "safetensors", "tokenizers"):
    pytest.importorskip(module, reason="training needs fabula[learn]")

from fabula.core.notes import Notes  # noqa: E402
from fabula.io.identity.captionsets import SetText  # noqa: E402
from fabula.learn.identity import (  # noqa: E402  # noqa: E402
    analysis,
    attention,
    blanks,
    clips,
    genders,
    grounding,
    shown,
    split_sets,
    videosets,
    windows,
    wordpiece,
)
from fabula.learn.identity.blank_features import BlankReader, make_blank_store, read_all  # noqa: E402
from fabula.learn.identity.videosets import ClipFeatures, Videoset  # noqa: E402
from fabula.learn.models import fillin, micap  # noqa: E402
from fabula.learn.options import BlankOptions, TuneOptions  # noqa: E402
from fabula.media.stores.features import Features, write_features  # noqa: E402
from tests.learn.described import attempt, describe  # noqa: E402
from tests.learn.test_blank_features import WORDS, write_encoder  # noqa: E402
from tests.stored import as_lines, differences, read_stored, write_stored  # noqa: E402

FOLDER = Path(__file__).parent / "parts_identity"
PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "sees", "##ing", "a", "door", ".", ",", "'", "s", "and")
SMALL = micap.Config.tiny(
    text_dim=4,
    action_dim=3,
    face_dim=2,
    frame_dim=2,
    clips=3,
    segments=2,
    frames=4,
    faces=5,
    blanks=4,
    clusters=3,
    words=len(PIECES),
    vocabulary=PIECES,
    people=3,
    tokens=20,
    sep=3,
    hidden=8,
    heads=2,
)
SETS = {
    "a": SetText(("P1 sees P2.", "P2 sees a door.", "P1 and P2."), None, ("c0", "c1", "c2")),
    "b": SetText(("A door.",), None, ("c3",)),
    "c": SetText(("P1 sees.", "P2.", "P1.", "P3 and P1.", "A door."), None, ("c0", "c1", "c2", "c3", "c4")),
}


@contextmanager
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp()).resolve()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def clip(name: str, faces: int, frames: int = 5, actions: int = 5, seed: int = 0) -> ClipFeatures:
    rng = np.random.default_rng(seed)
    box = np.array([[-10, 20, 300, 400], [500, 100, 900, 600], [1, 2, 3, 4]], np.float32)[:faces]
    return ClipFeatures(
        name,
        rng.normal(size=(frames, 2)).astype(np.float32),
        rng.normal(size=(actions, 3)).astype(np.float32),
        rng.normal(size=(faces, 2)).astype(np.float32),
        box,
        np.array([0.0, 12.0, 99.0])[:faces],
        np.array([7, 4, 7])[:faces],
    )


def one_set(name: str = "s", tokens: tuple[int, ...] = (), text: Any = None) -> Videoset:
    return Videoset(name, (clip("x", 3), clip("y", 2, 2, 1, 1), clip("z", 1, 0, 0, 2)), tokens, text)


def write_videosets() -> Any:
    tokens = (SMALL.start, SMALL.blank + 1, 5, 3, SMALL.blank + 2, 7, 3, SMALL.end)
    text = np.arange(8, dtype=np.float32).reshape(2, 4)
    first, second = one_set("s", tokens, text), Videoset("t", (clip("x", 0),))
    batch = videosets.collate([first, second], SMALL)
    wrong = {
        "no clips": Videoset("w", ()),
        "clips": Videoset("w", tuple(clip(str(k), 0) for k in range(4))),
        "tokens": Videoset("w", (clip("x", 0),), (1,) * 21),
        "blanks": Videoset("w", (clip("x", 0),), (1,), np.zeros((5, 4), np.float32)),
        "rows": Videoset("w", (clip("x", 0),), tokens, np.zeros((3, 4), np.float32)),
    }
    return {
        "batch": describe(batch),
        "full": [
            list(x.shape) for x in vars(videosets.collate([first], SMALL, full=True)).values() if hasattr(x, "shape")
        ],
        "as they are": describe(videosets.collate([first], SMALL, renumber=False).face_cluster),
        "in clips": describe(videosets.collate([first], replace(SMALL, face_clusters="clip")).face_cluster),
        "none": describe(videosets.collate([first], replace(SMALL, face_clusters="none")).face_cluster),
        "without faces": describe(videosets.collate([first], replace(SMALL, streams="text,frame"))),
        "streams": {name: describe(batch.stream(name)) for name in ("text", "action", "face", "frame")},
        "segments": [
            describe(videosets.pool_segments(np.arange(n, dtype=np.float32)[:, None], 3)) for n in (2, 3, 5, 9)
        ],
        "frames": [videosets.frame_segments(n, 3).tolist() for n in (1, 2, 3, 5)],
        "faces": [videosets.face_segments(np.array([-3.0, 0.0, 4.9, 12.0, 99.0]), n, 3).tolist() for n in (0, 1, 3)],
        "people": [
            describe(videosets.number_people([np.array([4, 2]), np.array([2, 9])], w)) for w in ("set", "clip", "none")
        ],
        "pooled": describe(videosets.pool_people(clip("x", 3))),
        "wrong": {name: attempt(lambda one=one: videosets.collate([one], SMALL)) for name, one in wrong.items()},
    }


def write_streams(path: Path, people: bool = False, **without: bool) -> Path:
    """Stores of five clips; the last has no faces."""
    path.mkdir()
    rng = np.random.default_rng(0)
    names = [f"c{k}" for k in range(5)]
    draw = lambda n, c: rng.normal(size=(n, c)).astype(np.float32)  # noqa: E731
    faces = {name: draw(k + 1, 2) for k, name in enumerate(names[:4])}
    boxes = {n: np.abs(draw(len(f), 6 if people else 5)) * 100 for n, f in faces.items()}
    every = {
        "frame": {n: draw(4, 2) for n in names},
        "action": {n: draw(5, 3) for n in names},
        "face": faces,
        "box": boxes,
        "text": {"a": draw(5, 4), "c": draw(5, 4)},
        "gender": {"a": np.array([[0], [1], [1], [0], [2.0]], np.float32)},
    }
    for name, rows in every.items():
        if not without.get(name, name == "gender"):
            write_features(path / f"{name}.safetensors", rows.items(), {"simulated": name == "face", "stream": name})
    return path


def write_clips() -> Any:
    with folder() as root:
        streams = clips.Streams(write_streams(root / "s", text=True))
        numbered = clips.Streams(write_streams(root / "n", people=True))
        textual = clips.Streams(write_streams(root / "t"))
        config = replace(SMALL, faces=4)
        trained = clips.Videosets(SETS, streams, config)
        asked = clips.Videosets(SETS, streams, replace(config, faces=6), "both")
        pooled = clips.Videosets(SETS, numbered, replace(config, pool_faces=True), "fitb")
        relinked = clips.Videosets(SETS, numbered, config, "both")
        relinked.relink = 2.0
        (root / "only").mkdir()
        write_streams(root / "half", box=True)
        write_features(root / "only" / "text.safetensors", [("a", np.zeros((1, 2), np.float32))], {})
        small = clips.Streams(write_streams(root / "small", text=True))
        read = [small.read(c, n) for c, n in (("c1", 9), ("c1", 2), ("c1", 1), ("c4", 3))]
        wrong = write_streams(root / "wrong")
        write_features(wrong / "box.safetensors", [("c0", np.zeros((3, 5), np.float32))], {}, True)
        texts = clips.Videosets(SETS, textual, config)
        notes, captions = Notes(), SETS["a"].captions or ()
        return {
            "stores": describe([sorted(streams.files), streams.simulated, numbered.simulated, streams.metadata]),
            "dims": [streams.dim(n) for n in clips.NAMES],
            "lacks": [streams.lacks("c4"), streams.lacks("x"), textual.lacks("y")],
            "read": describe(read),
            "held": [sorted(small.cache), small.size],
            "train": [trained.windows, len(trained), describe(trained.notes), trained.embed is not None],
            "ask": [asked.windows, len(asked), describe(asked.notes)],
            "item": describe(trained[0]),
            "items": [describe(pooled[0]), describe(relinked[0]), describe(asked[2])],
            "window": describe(clips.Videosets(SETS, numbered, config, "caption").window("c", [4, 0])),
            "rows": describe(texts.describe("a", captions, [0, 2])),
            "none": describe(texts.describe("b", ("A door.",), [0])),
            "described": [
                list((d := trained.describe("a", captions, [1, 0])).shape),
                round(float(np.linalg.norm(d)), 5),
            ],
            "texts": list(clips.texts_of(SETS)),
            "complete": attempt(lambda: sorted(clips.only_complete(SETS, streams, False, notes))),
            "skipped": attempt(
                lambda: sorted(
                    clips.only_complete({**SETS, "d": replace(SETS["b"], clips=("x",))}, streams, True, notes)
                )
            ),
            "notes": describe(notes),
            "wrong": [
                attempt(lambda: clips.Streams(root / "absent"), root),
                attempt(lambda: clips.Streams(root / "only"), root),
                attempt(lambda: clips.Streams(root / "half"), root),
                attempt(lambda: clips.Streams(wrong).read("c0", 9), root),
                attempt(lambda: clips.only_complete({"d": SetText(("a",), None, ("x",))}, streams, False, notes), root),
                attempt(lambda: clips.only_complete({"d": SetText(("a",), None, ("x",))}, streams, True, notes), root),
                attempt(lambda: texts.rows_of_blanks("text", "c", SETS["a"].captions[:1], [0]), root),
                attempt(lambda: clips.Videosets({"e": SetText(("P1.",), None, None)}, streams, config)),
                attempt(lambda: clips.Videosets({"e": SetText(("P1.",), None, ("c0", "c1"))}, streams, config)),
                attempt(lambda: clips.Videosets({"e": SetText(None, None, ("c0",))}, streams, config, "fitb")),
                attempt(
                    lambda: clips.Videosets({"e": SetText(None, None, ("c0",))}, streams, config, "caption")[0].name
                ),
                attempt(lambda: clips.Videosets({"b": SETS["b"]}, streams, replace(config, task="fitb"))),
                attempt(lambda: describe(clips.Videosets({"b": SETS["b"]}, streams, config, "fitb").notes)),
            ],
        }


def fill_config(**changes: Any) -> fillin.Config:
    sizes = {"text_dim": 4, "action_dim": 3, "face_dim": 2, "clips": 3, "segments": 2, "faces": 2, "blanks": 5}
    return fillin.Config.tiny(**{**sizes, "people": 3, **changes})


def write_blanks() -> Any:
    captions = ["P1's dog sees P2!", "SOMEONE, the dog; sees ___.", "A dog's door", "P1 P1 P3"]
    vocabulary = blanks.count_words(captions, 2)
    words = blanks.Words(vocabulary, 9)
    with folder() as root:
        streams = clips.Streams(write_streams(root / "s", people=True, gender=False))
        config = fill_config(vocabulary=blanks.count_words(captions, 1))
        data = blanks.BlankSets(SETS, streams, config)
        asked = blanks.BlankSets({"a": SETS["a"], "b": SETS["b"]}, streams, config, "fitb")
        batch = data.collate([data[0], data[1]])
        bare = replace(clip("x", 3), frame=np.zeros((0, 2), np.float32))
        gendered = blanks.BlankSets({"a": SETS["a"]}, streams, replace(config, gender=True))
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(streams.stores, "gender", {"a": np.array([[0], [1], [5], [0], [-1.0]])})
            strange = attempt(lambda: gendered[0], root)
        return {
            "vocabularies": [vocabulary, blanks.count_words(captions, 1), blanks.count_words(["a b"], 1)],
            "encoded": [words.encode(c) for c in captions],
            "windows": [data.windows, describe(data.notes), len(data), asked.windows, describe(asked.notes)],
            "item": describe(data[0]),
            "asked": describe(asked[0]),
            "batch": describe(batch),
            "mask": describe(batch.mask),
            "genders": [gendered[0].genders, describe(gendered.collate([gendered[0]]).gender), asked.genders("a", [0])],
            "times": [blanks.times_of(clip("x", 3)).tolist(), blanks.times_of(bare).tolist()],
            "wrong": [
                attempt(lambda: words.encode("a b c d e f g h P1")),
                attempt(lambda: words.encode("a b c d e f P1 h i j")),
                attempt(lambda: data.encode("a", "a " * 99 + "P1")),
                attempt(lambda: data.number_people("a", ["1", "2", "3", "4"])),
                attempt(lambda: data.number_people("a", ["01", "2", None, "1"])),
                attempt(lambda: asked.number_people("a", ["1", "2"])),
                attempt(lambda: blanks.BlankSets(SETS, streams, config, "fitb"), root),
                attempt(lambda: blanks.collate([data[0]], replace(config, blanks=3))),
                strange,
            ],
        }


def small_bert(path: Path) -> Path:
    """A BERT of one layer with weights drawn at random, as half floats."""
    rng, C, F = np.random.default_rng(0), 8, 12
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings": (len(WORDS), C),
        "embeddings.position_embeddings": (60, C),
        "embeddings.token_type_embeddings": (2, C),
        "embeddings.LayerNorm": (C,),
    }
    at = "encoder.layer.0"
    for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
        shapes[f"{at}.{name}"] = C, C
    shapes |= {f"{at}.intermediate.dense": (F, C), f"{at}.output.dense": (C, F)}
    shapes |= {f"{at}.attention.output.LayerNorm": (C,), f"{at}.output.LayerNorm": (C,)}
    weights = {
        f"bert.{n}.weight": (rng.normal(size=s) * 0.5 + ("Norm" in n)).astype(np.float16) for n, s in shapes.items()
    }
    weights |= {f"bert.{n}.bias": np.zeros(s[0], np.float16) for n, s in shapes.items() if "embeddings.w" not in n}
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": C, "max_position_embeddings": 60}
    return write_encoder(path, WORDS, weights, **sizes)


def numbers_of(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"\d+\.\d+", text)]


TOLD = {
    "s0": ("P1 opens a door.", "The man looks at P2."),
    "s1": ("The man.",),
    "s2": ("P1, P2 and P1 looks at a door.",),
}
LETTERS = {"s0-0": ["M"], "s0-1": ["F"], "s2-0": ["M", "G", "M"]}


def write_sets(path: Path, names: tuple[str, ...] = ("s0", "s1", "s2"), **more: Any) -> Path:
    rows = [{"id": n, "captions": TOLD[n], "clips": [f"{n}-{k}" for k in range(len(TOLD[n]))], **more} for n in names]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_genders() -> Any:
    with folder() as root:
        bert = small_bert(root / "bert")
        (root / "sets").mkdir()
        write_sets(root / "sets" / "train.jsonl")
        write_sets(root / "sets" / "val.jsonl", ("s2", "s0"))
        (root / "genders.json").write_text(json.dumps(LETTERS))
        notes, said, progress = Notes(), list[str](), list[tuple[Any, ...]]()
        options = TuneOptions(
            model=str(bert), genders=root / "genders.json", out=root / "tuned", epochs=2, batch=1, lr=0.01, device="cpu"
        )
        watch = lambda *what: progress.append(what)  # noqa: E731
        share = genders.tune([root / "sets"], options, notes, said.append, watch)
        from safetensors.numpy import load_file

        tuned = {n: load_file(root / "tuned" / f"{n}.safetensors") for n in ("model", "gender")}
        reader = BlankReader(str(bert))
        sets = read_all([root / "sets"], options, Notes())
        examples = genders.read_examples(sets, reader, LETTERS, root / "genders.json", notes)
        batch, truth = genders.make_batch(examples, torch.device("cpu"))
        model = genders.Bert(reader.encoder.shape, reader.encoder.weights, 3).eval()
        read = lambda letters, one=sets: genders.read_examples(one, reader, letters, root / "g.json", notes)  # noqa: E731
        no_clips = {"s0": replace(sets["s0"], clips=("x",))}
        told = {
            "share": share,
            "said": [re.sub(r"\d+\.\d+", "#", text) for text in said],
            "numbers": [numbers_of(text) for text in said],
            "progress": progress[-2:],
            "notes": describe(notes),
            "files": sorted(p.name for p in (root / "tuned").iterdir()),
            "tuned": {
                n: [str(w.dtype), list(w.shape), round(float(np.abs(w).sum()), 2)]
                for one in tuned.values()
                for n, w in one.items()
                if not n.endswith("key.bias")  # unseen by softmax: its gradient is rounding
            },
            "examples": describe(examples),
            "batch": describe(batch),
            "genders": describe(truth),
            "batches": [len(b) for b in genders.cut_batches(examples * 2, 3)],
            "head": [list(model.classify.weight.shape), float(model.classify.bias.detach().abs().sum())],
            "drop": [genders.DROPOUT, genders.DECAY, genders.LENGTH, model.drop.p],
            "hidden": describe(model.encode(*batch[:2]).detach()[:, :2]),
            "wrong": [
                attempt(lambda: read(LETTERS, no_clips), root),
                attempt(lambda: read({}), root),
                attempt(lambda: read({**LETTERS, "s0-0": ["X"]}), root),
                attempt(lambda: read({**LETTERS, "s0-0": "M"}), root),
                attempt(lambda: len(read(LETTERS)), root),
                attempt(lambda: genders.tune([root / "sets"], options, notes, said.append), root),
                attempt(
                    lambda: genders.tune(
                        [write_sets(root / "none.jsonl", ("s1",))], replace(options, out=root / "u"), notes, said.append
                    ),
                    root,
                ),
            ],
        }
        (root / "genders.json").write_text("[1]")
        told["wrong"].append(
            attempt(lambda: genders.tune([root / "sets"], replace(options, out=root / "u"), notes, said.append), root)
        )
        told["left"] = sorted(p.name for p in root.iterdir())
        return told


def write_blank_features() -> Any:
    with folder() as root:
        bert = small_bert(root / "bert")
        (root / "sets").mkdir()
        write_sets(root / "sets" / "train.jsonl")
        write_sets(root / "sets" / "val.jsonl", ("s1", "s0"))
        write_sets(root / "other.jsonl", ("s0",), captions=["P1.", "P2."])
        (root / "empty").mkdir()
        (root / "lines.csv").write_text("".join(f"f_{k}\t[...] opens a door {k}.\n" for k in range(6)))
        reader, notes, progress = BlankReader(str(bert)), Notes(), list[tuple[Any, ...]]()
        paragraphs = [reader.paragraph(captions) for captions in (TOLD["s0"], TOLD["s1"], TOLD["s2"])]
        options = BlankOptions(model=str(bert), out=root / "t.safetensors", batch=2)
        count = make_blank_store([root / "sets"], options, notes, lambda *what: progress.append(what))
        store = Features(root / "t.safetensors")
        read = lambda *paths, **more: sorted(read_all(paths, replace(options, **more), Notes()))  # noqa: E731
        gpt = small_bert(root / "gpt")
        words = json.loads((gpt / "tokenizer.json").read_text())
        words["model"]["vocab"] = {{"[MASK]": "x"}.get(w, w): n for w, n in words["model"]["vocab"].items()}
        words["added_tokens"] = [t for t in words["added_tokens"] if t["content"] != "[MASK]"]
        (gpt / "tokenizer.json").write_text(json.dumps(words))
        return {
            "paragraphs": describe(paragraphs),
            "width": reader.width,
            "marks": [reader.first, reader.last, reader.mask],
            "vectors": [describe(reader.vectors(paragraphs, c)) for c in ("corrected", "published")],
            "made": [
                count,
                describe(notes),
                progress,
                sorted(store),
                {k: v for k, v in (store.recipe or {}).items() if k != "weights"},
            ],
            "read": [
                read(root / "sets"),
                read(root / "sets", split=("val",)),
                read(root / "lines.csv"),
                read(root / "lines.csv", split=("train",)),
            ],
            "splits": [
                [split_sets.has_split(root / f, s) for s in ("train", "val", "test")] for f in ("sets", "empty")
            ],
            "wrong": [
                attempt(lambda: read(root / "sets", root / "other.jsonl"), root),
                attempt(lambda: read(root / "empty"), root),
                attempt(lambda: read(root / "sets", sets=root / "x.csv"), root),
                attempt(lambda: BlankReader(str(gpt)), root),
                attempt(lambda: split_sets.check_filled({"a": SetText(("[...] opens.",), None, None)}, root), root),
                attempt(lambda: split_sets.check_filled({"a": SetText(("P1 opens.",), None, None)}, root), root),
                attempt(lambda: make_blank_store([root / "sets"], options, notes), root),
            ],
        }


def write_grounding() -> Any:
    with folder() as root:
        streams = clips.Streams(write_streams(root / "s", people=True))
        plain = clips.Streams(write_streams(root / "p", face=True, box=True))
        lines = [{"id": "a", "people": {"P1": 3, "[PERSON2]": "Anna"}}, {"id": "a", "people": {"P03": 5}}]
        (root / "who.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
        known = grounding.read_who(root / "who.jsonl", {"Anna": 7})
        who = grounding.open_who(root / "who.jsonl", None, None, streams) if not lines else None
        who = grounding.WhoIsWho(streams.stores["box"], known)
        shares = attention.FaceShares(
            (1, 2), np.array([[0.5, 0.3, 0.2], [0.2, 0.4, 0.4]]), np.array([0, 1, 0]), np.array([0, 1, 1])
        )
        none = attention.FaceShares((), np.zeros((0, 0)), np.zeros(0, np.int64), np.zeros(0, np.int64))
        found = grounding.Grounding(
            (
                {"set": "a", "blanks": 2, "mass": 0.25, "first": 0.5, "chance": 0.125},
                {"set": "b", "blanks": 1, "mass": 0.75, "first": 1.0, "chance": 0.375},
            ),
            3,
            4,
            5,
        )

        def wrong(*rows: object) -> Any:
            (root / "bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            return attempt(lambda: grounding.read_who(root / "bad.jsonl", {"Anna": 7, "Bob": 8}), root)

        return {
            "who": known,
            "right": who.right("a", ("P1 sees P2 and P3.", "SOMEONE sees P4.")),
            "nobody": who.right("x", ("P1.",)),
            "faces": describe(who.faces_of("c2", 2)),
            "spelt": [grounding.spell(i) for i in ("P1", "P007", "[PERSON2]", "SOMEONE")],
            "persons": describe(grounding.persons_of(shares, ("c0", "c1"), who)),
            "no persons": describe(grounding.persons_of(none, ("c0",), who)),
            "shares": [
                grounding.share_person(shares.faces[k], np.array(own))
                for k in (0, 1)
                for own in ([True, False, False], [False, True, True])
            ],
            "found": [
                found.scores(),
                found.to_dict(),
                found.describe(),
                grounding.Grounding((), 0, 1, 2).describe(),
                grounding.Grounding((), 0, 1, 2).to_dict(),
            ],
            "clusters": [
                describe(shares.by_cluster()),
                describe(shares.by_cluster_and_clip()),
                describe(none.by_cluster()),
            ],
            "looks": describe(shown.list_looks(shares, ("P1 sits.", "P2 sits."), ("P1", "P2"))),
            "no looks": shown.list_looks(none, (), ()),
            "blanks": [
                analysis.Blanks.of(["P3 enters.", "P1 sees P3 and ___."], [7, 7, 2, 4]).rows(),
                analysis.Blanks.of(["A door."], []).rows(),
            ],
            "wrong": [
                wrong([1]),
                wrong({"id": "a"}),
                wrong({"id": 3, "people": {}}),
                wrong({"id": "a", "people": {"P1": "Zoe"}}),
                wrong({"id": "a", "people": {"P1": True}}),
                wrong({"id": "a", "people": {"P1": 1.5}}),
                attempt(lambda: grounding.read_who(root / "bad.jsonl", {}), root),
                attempt(lambda: who.faces_of("c2", 4), root),
                attempt(lambda: who.faces_of("c4", 1), root),
                attempt(
                    lambda: grounding.WhoIsWho(clips.Streams(write_streams(root / "five")).stores["box"], {}).faces_of(
                        "c0", 1
                    ),
                    root,
                ),
                attempt(lambda: grounding.open_who(root / "who.jsonl", None, None, plain), root),
            ],
        }


def write_words() -> Any:
    pieces = wordpiece.Pieces(SMALL)
    rows = [["P1 sees P2.", "P2's door ."], ["[...] and ___ seeing a, door"], ["P9 P8 P9"], [""]]
    captions = ["the man sees the door", "the man's dog", "P1 sees the man", "a a a"]
    with folder() as root:
        (root / "v.txt").write_text("[UNK]\n[SEP]\na\na\n")
        (root / "w.txt").write_text("[UNK]\na\n")
        (root / "x.txt").write_text("[UNK]\n[SEP]\na\n##b\n")
        return {
            "encoded": [[pieces.encode(r), pieces.encode(r, blank=True)] for r in rows],
            "decoded": [pieces.decode(pieces.encode(r), n) for r in rows for n in (1, 2, 3)],
            "marks": pieces.decode([0, 2, 5, 6, 10, 11, 12, 3, 6, 7, 99, SMALL.blank, SMALL.start, SMALL.end], 3),
            "trained": [wordpiece.train_pieces(captions, n, m) for n, m in ((4000, 2), (22, 1), (30, 3))],
            "counted": dict(wordpiece.count_words(captions)),
            "joined": [
                wordpiece.join_pair(["a", "##b", "##a", "##b", "##b"], ("##a", "##b"), "##ab"),
                wordpiece.join_pair([], ("a", "b"), "ab"),
            ],
            "split": [wordpiece.split_captions([SMALL.start, 5, 3, 6, 3, SMALL.end], SMALL, n) for n in (0, 1, 2, 4)],
            "masked": wordpiece.mask_people(["P1 and the old man see P2 near a big blue door.", "Nobody."]),
            "filled": [wordpiece.fill_blanks(["___ sees P2.", "A door."], ["P1", "P4"]), wordpiece.fill_blanks([], [])],
            "people": [windows.people_of([SMALL.blank + 1, SMALL.blank, 5], SMALL)],
            "read": wordpiece.read_pieces(root / "x.txt"),
            "wrong": [
                attempt(lambda: pieces.encode(["P1 P2 P3 P4"], "s")),
                attempt(lambda: pieces.encode(["P1 P2 P3 P4"], blank=True)),
                attempt(lambda: wordpiece.Pieces(replace(SMALL, vocabulary=()))),
                attempt(lambda: wordpiece.read_pieces(root / "v.txt"), root),
                attempt(lambda: wordpiece.read_pieces(root / "w.txt"), root),
                attempt(lambda: wordpiece.fill_blanks(["___."], ["P1", "P2"])),
            ],
        }


PARTS: dict[str, Callable[[], Any]] = {
    "videosets": write_videosets,
    "clips": write_clips,
    "blanks": write_blanks,
    "genders": write_genders,
    "blank-features": write_blank_features,
    "grounding": write_grounding,
    "words": write_words,
}


@pytest.mark.parametrize("name", PARTS)
def test_it_is_as_it_was(name):
    now, stored = json.loads(as_lines(PARTS[name]())), json.loads(read_stored(FOLDER, name))
    assert differences(now, stored, least=2e-5) == []


def test_nothing_is_left_over():
    assert {path.stem for path in FOLDER.iterdir()} == set(PARTS)


if __name__ == "__main__":
    write_stored(FOLDER, {name: lambda part=part: as_lines(part()) for name, part in PARTS.items()})
