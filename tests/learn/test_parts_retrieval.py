"""Parts of finding moments and of judging captions one by one: queries, words, clips, stores, texts, answers, parts.

tests/learn/parts_retrieval has the answers; `python -m tests.learn.test_parts_retrieval` writes them anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models need fabula[learn]")
for module in ("lightning_fabric", "safetensors", "tokenizers"):
    pytest.importorskip(module, reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.data.moments import Query, Ranking  # noqa: E402
from fabula.data.stories import Corpus, Story  # noqa: E402
from fabula.learn import simulate, text_features  # noqa: E402
from fabula.learn.models import noise_head, noise_scorer, qd_detr, xml  # noqa: E402
from fabula.learn.noise import data as judging  # noqa: E402
from fabula.learn.noise import texts  # noqa: E402
from fabula.learn.retrieval import answers, bpe, contract, data, highlights, npz, parts, queries  # noqa: E402
from fabula.learn.tasks import noise, vcmr  # noqa: E402
from fabula.media.stores.features import Features, write_features  # noqa: E402
from tests.learn.described import attempt, describe  # noqa: E402
from tests.learn.test_parts_identity import folder, small_bert  # noqa: E402
from tests.stored import as_lines, differences, read_stored, write_stored  # noqa: E402

FOLDER = Path(__file__).parent / "parts_retrieval"
SMALL = xml.Config.tiny(
    feature_dim=3, query_dim=4, hidden=8, heads=2, max_clips=6, max_words=3, max_length=3, min_length=0, words="hashing"
)
TEXTS = {1: "A dog opens the red door quickly", 2: "the man's cup", 3: "two girls", 4: "Late"}
MARKS = SimpleNamespace(clips=(0, 3, 40), marks=((1, 2, 3), (), (4, 4, 4)))


def query(
    id: Any, *windows: tuple[float, float], video: str = "v", duration: float | None = 10.0, **more: Any
) -> Query:
    return Query(id, video, windows or ((1.0, 3.0),), duration, more.pop("text", TEXTS.get(id, "a dog")), **more)


def write_store(path: Path, lengths: dict[str, int], dim: int = 3, **metadata: Any) -> Path:
    rng = np.random.default_rng(len(lengths))
    rows = ((name, rng.normal(size=(n, dim)).astype(np.float32)) for name, n in lengths.items())
    write_features(path, rows, metadata)
    return path


def write_queries() -> Any:
    row = {"desc_id": 1, "video": "v", "duration": 10.0, "time": [1, 12], "cog_desc": "a dog", "fig_desc": "a red dog"}
    with folder() as root:
        (root / "q.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(row | {"desc_id": 2, "time": [1, 2]}) + "\n")
        notes = Notes()
        read = [data.read_moments(root / "q.jsonl", notes, g) for g in ("fig", "cog")]
        windows = ((0.0, 2.0), (2.5, 4.0), (3.9, 3.95), (9.0, 12.0), (7.0, 7.2))
        return {
            "read": describe([[asdict_query(q) for q in one.values()] for one in read]),
            "notes": describe(notes),
            "cut": [
                data.cut_windows_of(query(1, (1, 12), (10, 11))),
                data.cut_windows_of(query(1, (1, 12), duration=None)),
            ],
            "labels": [
                data.label_spans(w, c, 5, r) for w in windows for c in (1.0, 1.5) for r in ("inside", "ceil", "hero")
            ],
            "words": [data.split_words(t, 1) for t in ("A man's DOG-house, it's 3 o'clock_x", "été 1st")],
            "hashed": describe(data.hash_word("dog", 4)),
            "scaled": describe(data.scale_rows(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))),
            "best": [
                data.best_window(f, z, [(0, 5), (3, 8), (6, 11)]) for f, z in ((0, 1), (4, 5), (3, 4), (7, 9), (10, 12))
            ],
            "marks": describe(data.mark_clips(query(1, saliency=MARKS), 0, 5)),
            "otherwise": [data.lasts_otherwise(*x) for x in ((10, 12, 1), (10, 12.1, 1), (100, 104, 1), (100, 106, 1))],
            "rates": [data.round_rate(x) for x in ([2.02, 1.99, 5], [0.333, 0.34], [1.3], [0.7], [29.9], [0.0999])],
            "granularity": [vcmr.must_agree(c, "-g", f) for c in (None, "fig", "cog") for f in (None, "verified-fig")],
            "coarse": [vcmr.must_agree(c, "-g", "verified-cog") for c in (None, "cog")],
            "inside": describe(
                list(
                    vcmr.only_inside(
                        {1: query(1), 2: query(2, (11, 12)), 3: query(3, (11, 12), (1, 2))}, root, True, notes
                    )
                )
            ),
            "noted": describe(notes),
            "with words": sorted(
                noise.with_words({1: query(1), 2: query(2, text=" ?"), 3: query(3, text=None)}, notes)
            ),
            "wrong": [
                attempt(lambda: vcmr.must_agree("fig", "-g", "verified-cog")),
                attempt(lambda: data.cut_windows_of(query(7, (10, 12)), "f.json")),
                attempt(lambda: data.label_spans((0, 1), 1.0, 3, "x")),
                attempt(lambda: data.split_words(" ", 7)),
                attempt(lambda: data.split_words("?!", 7, "f.json")),
                attempt(lambda: data.split_words(None, 7)),
                attempt(lambda: vcmr.only_inside({1: query(1, (11, 12))}, root, False, notes), root),
                attempt(lambda: noise.with_words({1: query(1, text="")}, notes)),
            ],
        }


def asdict_query(q: Query) -> list[Any]:
    return [q.id, q.video, q.windows, q.duration, q.text]


def write_clips() -> Any:
    frames = np.arange(14, dtype=np.float32).reshape(7, 2) * np.array([1, -1], np.float32)
    with folder() as root:
        two = Features(write_store(root / "two.safetensors", {"v": 20, "w": 8, "x": 2}, rate=2.0, simulated=True))
        one = Features(write_store(root / "one.safetensors", {"v": 10, "w": 12, "y": 3}, 1))
        plain = Features(write_store(root / "plain.safetensors", {"v": 30, "w": 30}, recipe={"rate": True}))
        both = data.Clips([two, one], replace(SMALL, feature_dim=4))
        lone = data.Clips([two], SMALL, keep=False)
        lone["v"], lone["v"], lone["w"]
        cut, mean = (data.Clips([two], replace(SMALL, long=how, normalize=True)) for how in ("cut", "mean"))
        notes, asked = Notes(), [query(1)]
        both.check(asked, notes)
        lone.check([query(2, video="w", duration=9.0)], notes)
        data.Clips([plain], SMALL).check([query(1, duration=None)], notes)
        (root / "no").mkdir()
        longer = data.Clips([two], SMALL, 1.0)
        moments = data.Moments(
            [query(1), query(2, (8, 30), saliency=MARKS), query(3, (2, 4), duration=None)], longer, data.Words(SMALL)
        )
        batch = moments.collate([moments[k] for k in range(3)])
        shown = lambda q, **more: vcmr.only_shown({1: q}, lone, notes=notes, **{"skip_bad": False, **more})  # noqa: E731
        fresh = lambda store, config=SMALL, rate=None: data.Clips([store], config, rate)  # noqa: E731
        stored = Features(write_store(root / "stored.safetensors", {"v": 3}, durations={"v": 3, "y": 2.5}))
        return {
            "pooled": [
                describe(data.pool_clips(frames, n, p))
                for n, p in ((1, "max"), (2, "max"), (2.5, "mean"), (7, "mean"), (9, "max"))
            ],
            "averaged": [describe(data.average_down(frames, n)) for n in (3, 6, 7, 8)],
            "both": [
                describe(both["v"]),
                len(both),
                sorted(both),
                "x" in both,
                both.rates,
                both.assumed,
                both.simulated,
            ],
            "kept": [list(both.cache or ()), both.size, lone.cache, lone.last[0]],
            "long": [describe(cut["v"]), describe(mean["v"])],
            "seconds": [both.seconds("v"), lone.seconds("w")],
            "rates": [data.rate_of(s) for s in (two, one, plain)],
            "notes": describe(notes),
            "durations": data.durations_of(
                {1: query(1), 2: query(2, video="y", duration=None), 3: query(3, video="x", duration=None)},
                fresh(stored),
            ),
            "moments": describe([moments[k] for k in range(3)]),
            "batch": describe(batch),
            "length": [len(moments), describe(moments.notes)],
            "recipes": [
                vcmr.recipe_of([SimpleNamespace(recipe=r) for r in rs])
                for rs in ([None], [{"a": 1}], [None, None], [{"a": 1}, None])
            ],
            "asked": describe(sorted(vcmr.only_with({1: query(1), 2: query(2, video="z")}, [two], notes))),
            "late": [
                attempt(lambda: len(shown(query(1, (9.0, 10.0)), slack=0))),
                attempt(lambda: len(shown(query(1, (10.5, 12.0), duration=None), slack=1))),
            ],
            "wrong": [
                attempt(lambda: shown(query(1, (10.5, 12.0), duration=None)), root),
                attempt(lambda: data.Clips([], SMALL)),
                attempt(lambda: fresh(two, replace(SMALL, feature_dim=5)), root),
                attempt(lambda: data.pool_clips(frames, 0.5)),
                attempt(lambda: both["w"], root),
                attempt(lambda: both["y"], root),
                attempt(lambda: fresh(plain).check([query(1)], notes), root),
                attempt(lambda: fresh(plain).check([query(1), query(2, video="w", duration=10.0)], notes), root),
                attempt(lambda: fresh(plain).check([query(1, duration=90.0)], notes), root),
                attempt(lambda: fresh(plain, replace(SMALL, clip=3.0)).check([query(1, duration=30.0)], notes), root),
                attempt(lambda: data.Moments([query(1, video="q")], lone, data.Words(SMALL)), root),
                attempt(lambda: vcmr.only_with({1: query(1, video="q")}, [two], notes), root),
            ],
        }


def write_words() -> Any:
    with folder() as root:
        stored = write_store(root / "w.safetensors", {"1": 5, "2": 2}, 4)
        reading = replace(SMALL, words="store")
        vocabulary = SimpleNamespace(vocabulary=("<s>", "<pad>", "dog", "<unk>"), max_words=4, normalize=False)
        notes = Notes()
        hashing, store = data.Words(SMALL, notes=notes), data.Words(reading, Features(stored), notes)
        ids = data.Words(vocabulary, notes=notes)
        store.check([query(2)], notes)
        hashing.check([query(1)], notes)
        (root / "bpe").mkdir()
        tokens = {"<s>": 0, "<pad>": 1, "a": 2, "d": 3, "o": 4, "g": 5, "do": 6, "dog": 7, "Ġ": 8, "<unk>": 9}
        (root / "bpe" / "vocab.json").write_text(json.dumps(tokens))
        (root / "bpe" / "merges.txt").write_text("#version: 0.2\nd o\ndo g\n")
        roberta = bpe.Tokens(root / "bpe")
        empty = SimpleNamespace(vocabulary=(), max_words=3, normalize=False)

        def spoilt(**more: Any) -> Any:
            path = root / f"bpe{len(list(root.iterdir()))}"
            path.mkdir()
            (path / "vocab.json").write_text(json.dumps(more.get("vocab", tokens)))
            if "merges" in more:
                (path / "merges.txt").write_text(more["merges"])
            return re.sub(r" \(Error.*\)", "", attempt(lambda: bpe.Tokens(path), root))  # tokenizers' own words

        return {
            "hashing": [describe(hashing(query(k))) for k in (1, 2)],
            "store": [describe(store(query(k))) for k in (1, 2)],
            "scaled": describe(data.Words(replace(reading, normalize=True), Features(stored))(query(1))),
            "ids": [ids(query(k)).tolist() for k in (1, 2, 3)],
            "tokens": [
                data.Words(empty, tokens=roberta, notes=notes)(query(1, text=t)).tolist()
                for t in ("a dog", "DOG", "Dog dog")
            ],
            "roberta": [roberta.size, roberta.mark, roberta("a DOG")],
            "notes": describe(notes),
            "known": sorted(hashing.known),
            "words": vcmr.words_of({k: query(k) for k in TEXTS}),
            "padded": [describe(contract.pad_rows([torch.ones(2, 1), torch.ones(1, 1)], n)) for n in (None, 3)],
            "hidden": describe(
                [
                    contract.hide(torch.ones(1, 2, dtype=d), torch.tensor([[True, False]]))
                    for d in (torch.float32, torch.float16)
                ]
            ),
            "best clip": describe(
                contract.best_clip(
                    torch.tensor([[1.0, 0.0]]), torch.tensor([[[1.0, 2.0], [3.0, 1.0]]]), torch.tensor([[True, False]])
                )
            ),
            "wrong": [
                attempt(lambda: data.Words(empty)),
                attempt(lambda: data.Words(vocabulary, tokens=roberta)),
                attempt(lambda: data.Words(reading)),
                attempt(lambda: data.Words(replace(reading, query_dim=5), Features(stored)), root),
                attempt(lambda: store.check([query(9)], notes), root),
                attempt(lambda: hashing.check([query(1, text="")], notes)),
                attempt(lambda: data.Words(empty, tokens=roberta)(query(1, text="?"))),
                spoilt(),
                spoilt(vocab=[1], merges=""),
                spoilt(vocab={"<s>": "0"}, merges=""),
                spoilt(vocab={"<s>": True, "<pad>": 1}, merges=""),
                spoilt(vocab={"<s>": 1, "<pad>": 0}, merges=""),
                spoilt(merges="#version: 0.2\nx y\n"),
            ],
        }


def write_archives() -> Any:
    with folder() as root:
        store = root / "npz"
        store.mkdir()
        np.savez(store / "v.npz", features=np.ones((3, 2), np.float32))
        np.savez(store / "qid7.npz", last_hidden_state=np.full((2, 2), 2, np.float16))
        np.savez(store / "rother.npz", x=np.ones(3))
        np.savez(store / "xflat.npz", features=np.float32(1))
        (store / "zbroken.npz").write_bytes(b"PK")
        (root / "empty").mkdir()
        one = npz.NpzFeatures(store)
        only = npz.NpzFeatures(store, "last_hidden_state")
        return {
            "names": [list(one), len(one), one.dim if "v" in one else 0],
            "counts": [one.count(n) for n in ("v", "7", "qid7", "rother", "zbroken", "absent", "xflat")],
            "rows": [describe(one["v"]), describe(one["7"]), only.count("v"), only.count("7")],
            "has": [x in one for x in ("v", "7", 7, "8", None, 3.0)],
            "spelt": [one.spell(x) for x in ("v", "7", "8")],
            "opened": [type(npz.open_store(store)).__name__],
            "wrong": [attempt(lambda n=n: one[n], root) for n in ("x", "rother", "xflat")]
            + [
                attempt(lambda: only["v"], root),
                attempt(lambda: npz.NpzFeatures(root / "empty"), root),
                attempt(lambda: npz.NpzFeatures(root / "q"), root),
            ],
        }


def write_highlights() -> Any:
    config = qd_detr.Config.tiny(
        feature_dim=3, query_dim=4, hidden=8, heads=2, max_clips=4, overlap=2, max_words=3, clip=2.0, words="hashing"
    )
    with folder() as root:
        store = Features(write_store(root / "f.safetensors", {"v": 5, "w": 3, "x": 9}, rate=0.5))
        clips, words, notes = data.Clips([store], config), data.Words(config), Notes()
        asked = [
            query(1),
            query(2, (1.0, 3.0), (5.0, 99.0), saliency=MARKS),
            query(3, video="x", duration=18.0),
            query(4, (15.0, 17.0), video="x", duration=None),
        ]
        learn = highlights.Highlights(asked, clips, words, notes=notes)
        ask = highlights.Highlights(asked, clips, words, learn=False, form="lines")
        torch.manual_seed(0)
        examples = [learn[k] for k in range(4)]
        late = lambda q: highlights.Highlights([q], clips, words, notes=Notes())  # noqa: E731
        torch.manual_seed(1)
        model = qd_detr.Model(config)
        seen: list[int] = []
        found = list(highlights.find_highlights(model, ask, 3, seen.append))
        return {
            "examples": describe(examples),
            "batch": describe(learn.collate(examples)),
            "notes": describe(notes),
            "parts": [[b for b, _ in ask.parts(k)] for k in range(4)],
            "part": describe(ask.parts(2)[1][1]),
            "whole": [len(ask), ask.form, ask.names, ask.note, learn.form],
            "seen": seen,
            "found": [[r.id, describe(r.spans), describe(r.scores), describe(r.saliency)] for r in found],
            "wrong": [
                attempt(lambda: late(query(1, (11.0, 12.0), duration=12.0)), root),
                attempt(lambda: late(query(1, video="z")), root),
                attempt(lambda: len(late(query(1, (9.0, 12.0), duration=12.0))), root),
            ],
        }


def write_answers() -> Any:
    def rank(*rows: tuple[float, float, float], videos: list[int]) -> Ranking:
        return Ranking(7, np.array([r[:2] for r in rows]), np.array([r[2] for r in rows]), np.array(videos))

    one = answers.Answer(
        7, rank((0, 1, 0.5), (2, 3, 0.25), videos=[1, 0]), rank((1, 2, 0.75), videos=[1]), rank((0, 0, 2.0), videos=[0])
    )
    two = answers.Answer(8, None, Ranking(8, np.zeros((0, 2)), np.zeros(0), np.zeros(0, np.int64)))
    asked = {7: query(7, (0.0, 1.0), video="b", text="a «dog»"), 8: query(8, video="a")}
    with folder() as root:
        written = {}
        for form in ("tvr", "qvhighlights", "lines"):
            some = [one, two] if form != "lines" else [one]
            answers.write_answers(root / form, form, some, asked, ["a", "b"], "be careful")
            written[form] = (root / form).read_text()
        answers.write_answers(root / "none", "tvr", [], asked, [])
        folder_of = SimpleNamespace(
            get=lambda kind, name: {"lists": {"VCMR": 1} if name == "00000.json" else {"VCMR": 1, "VR": 1}},
            at=lambda kind, name: root / name,
        )
        for name in ("00000.VCMR", "00001.VCMR", "00001.VR", "00000.lines", "00001.lines"):
            (root / name).write_bytes(name.encode())
        parted = parts.PartedPredictions(folder_of, "tvr", ["a"], 5, 2, "n")
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        (root / "a.npy").write_bytes(b"".join(parts.npy_pieces((2, 3), np.float32, [array[:1], array[1:]])))
        (root / "store").mkdir()
        (root / "store" / "x").write_text("12345")
        return {
            "written": written,
            "empty": (root / "none").read_text(),
            "fragments": [answers.fragments([one, two], asked, ["a", "b"], f) for f in ("tvr", "qvhighlights")],
            "scores": answers.score_answers([one], asked, ["a", "b"]),
            "shown": answers.score_answers([one], {7: asked[7]}, ["a", "b"], vcmr.SHOWN),
            "parted": [b"".join(parted.pieces()).decode(), b"".join(replace(parted, form="lines").pieces()).decode()],
            "array": describe(np.load(root / "a.npy")),
            "stamps": [
                parts.stamp_of(root / "store")[:2],
                parts.stamp_of(root / "a.npy")[0],
                parts.stamp_of(root / "q"),
            ],
            "hash": parts.hash_of(root / "00000.VCMR"),
            "wrong": [
                attempt(lambda: parts.hash_of(root / "q"), root),
                attempt(lambda: answers.write_answers(root / "x", "y", [], {}, [])),
            ],
        }


def write_parts() -> Any:
    """A small run answers in parts as at once; what its fingerprint is of."""
    with folder() as root:
        rows = [
            {
                "desc_id": k,
                "video": f"v{k % 3}",
                "duration": 6.0,
                "time": [1, 3],
                "cog_desc": f"a dog {k}",
                "fig_desc": f"a red dog {k}",
            }
            for k in range(5)
        ]
        (root / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        stores = (str(write_store(root / "c.safetensors", {f"v{k}": 6 for k in range(3)}, rate=1.0)),)
        config = {
            "hidden": 8,
            "heads": 2,
            "query_dim": 4,
            "max_clips": 8,
            "max_words": 4,
            "max_length": 4,
            "min_length": 0,
        }
        run = root / "run"
        fabula.train(
            "vcmr",
            tiny=True,
            data=root / "train.jsonl",
            features=stores,
            out=run,
            set_=config,
            epochs=1,
            batch_size=4,
            threads=1,
            device="cpu",
        )
        options = {"data": root / "train.jsonl", "features": stores, "device": "cpu", "top": 3}
        whole, seen = root / "whole.json", list[tuple[str, int, int]]()
        fabula.predict("vcmr", run, whole, **options)
        from fabula.learn.options import Callbacks

        watch = Callbacks(watch=lambda *what: seen.append(what))
        parted = fabula.predict(
            "vcmr", run, root / "parted.json", work=root / "work", part=2, callbacks=watch, **options
        )
        chosen = vcmr.PredictOptions(**options, work=root / "work", part=2)
        known = parts.inputs_of(run, chosen, [query(1)])
        finder = fabula.moments(run)
        store = Features(Path(stores[0]))
        corpus = finder.encode_all(store)
        alone = finder.encode(store["v1"], "film", rate=2.0)
        found = finder.find(corpus, ["a dog 1", "red"], top=2)
        wrong = lambda **more: attempt(lambda: vcmr.PredictOptions(data=root / "d", features=("f",), **more), root)  # noqa: E731
        return {
            "same": (root / "parted.json").read_bytes() == whole.read_bytes(),
            "count": vcmr.Task().count(parted),
            "made": sorted(
                p.relative_to(root / "work").as_posix()
                for p in (root / "work").rglob("*.json")
                if "videos" in p.parts or "queries" in p.parts
            ),
            "watched": sorted({(name, of) for name, _, of in seen}),
            "inputs": sorted(name.replace(stores[0], "store") for name in known),
            "given": {
                k: v
                for k, v in known.items()
                if k in ("top", "form", "split", "corpus", "batch_size", "set_", "protocol")
            },
            "corpus": [
                corpus.names,
                describe(corpus.durations),
                len(finder.join(alone, corpus)),
                describe(alone.durations),
                describe(finder.join(alone, corpus).owner),
            ],
            "found": [[[m.video, m.start, m.end, m.score] for m in one] for one in found],
            "nothing": finder.find(corpus, []),
            "told": [finder.encode(store["v1"], duration=5.5).durations.tolist(), finder.encode(store["v1"]).names],
            "wrong": [
                attempt(lambda: finder.find(corpus, "a dog", top=0)),
                attempt(lambda: finder.join()),
                attempt(lambda: finder.encode(np.zeros((3, 4), np.float32), "film")),
                attempt(lambda: finder.encode(root / "film.mp4"), root),
                wrong(address="x"),
                wrong(engine="ray", processes=2, work=root),
                wrong(resume=True),
                wrong(processes=2),
                wrong(engine="ray"),
                wrong(top=0),
                wrong(work=root, processes=2, resume=True),
                vcmr.PredictOptions(data=root, features=("f",), protocol="qvhighlights").form,
                wrong(batch_size=0),
            ],
        }


def write_noise() -> Any:
    config = noise_scorer.Config.tiny(feature_dim=3, query_dim=4, hidden=8, embed=8, heads=2, max_clips=3, max_words=3)
    with folder() as root:
        store = Features(write_store(root / "f.safetensors", {"v": 8, "w": 4}, rate=1.0, simulated=True))
        clips, notes = data.Clips([store], config), Notes()
        shown = judging.Shown(clips, notes)
        asked = [query(1, (1.0, 7.0)), query(2, (2.0, 3.0), video="w", duration=4.0)]
        every = texts.texts_of(
            asked, {1: {"true": ("A dog opens it",), "static": (), "dynamic": ("A dog closes it",)}}, notes
        )
        torch.manual_seed(3)
        pairs = judging.Pairs(asked, every, shown)
        examples = [pairs[0], pairs[1]]
        judged = judging.Judged(asked, [["a", "b c"], ["d"]], shown)
        (root / "r.jsonl").write_text(
            json.dumps({"desc_id": 1, "rewrites": {"rewrite": [" x ", ""], "disturb_static": ["y"]}})
            + "\n"
            + json.dumps({"desc_id": 2})
            + "\n"
        )
        (root / "c.jsonl").write_text(
            json.dumps({"desc_id": 1, "candidates": ["a dog", {"text": "a cat", "branch": "static", "more": 1}]}) + "\n"
        )

        def read(what: Callable[[Path], Any], *rows: Any) -> Any:
            (root / "bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            return attempt(lambda: what(root / "bad.jsonl"), root)

        wrong = lambda **more: attempt(lambda: noise.PredictOptions(data=root / "d", features=("f",), **more), root)  # noqa: E731
        return {
            "shown": [describe(shown.show(q)) for q in asked],
            "read": describe(shown.read("A dog runs far away", 1)),
            "examples": describe(examples),
            "batch": describe(pairs.collate(examples)),
            "judged": describe(judged.collate([judged[0], judged[1]])),
            "texts": describe(every),
            "notes": describe(notes),
            "counts": [len(pairs), pairs.hard, len(judged), texts.MADE],
            "made": describe([texts.make_texts(t, n=n) for t in (TEXTS[1], "Nothing") for n in (1, 2)]),
            "rewrites": texts.read_rewrites(root / "r.jsonl"),
            "candidates": describe(texts.read_candidates(root / "c.jsonl")),
            "wrong": [
                attempt(lambda: judging.Shown(data.Clips([store], replace(config, words="store")))),
                attempt(lambda: judging.Shown(clips, texts=SimpleNamespace(dim=5))),
                attempt(lambda: shown.show(query(1, (8.0, 9.0), duration=20.0))),
                attempt(lambda: judging.Pairs([query(1, video="z")], every, shown), root),
                read(texts.read_rewrites, [1]),
                read(texts.read_rewrites, {"desc_id": 1, "rewrites": {"rewrite": "x"}}),
                read(texts.read_rewrites, {"desc_id": 1}),
                read(texts.read_candidates, {"desc_id": 1, "candidates": ["?"]}),
                read(texts.read_candidates, *[{"desc_id": 1, "candidates": ["a"]}] * 2),
                read(texts.read_candidates, {"desc_id": 1, "candidates": "a"}),
                read(texts.read_candidates, {"desc_id": 1}),
                *(wrong(**{name: root / "x"}) for name in ("fit", "diagram", "summary", "rewrites")),
                wrong(disturbed=21),
                wrong(disturbed=-1),
            ],
        }


def write_texts() -> Any:
    rows = [
        {
            "desc_id": k,
            "video": "v",
            "duration": 9.0,
            "time": [1, 2],
            "cog_desc": f"a man {w}",
            "fig_desc": f"a man opens {w}",
        }
        for k, w in enumerate(("a door", "the door", "?"))
    ]
    rows[2] |= {"fig_desc": "?!", "cog_desc": ""}
    with folder() as root:
        bert = small_bert(root / "bert")
        for name, some in (("q.jsonl", rows), ("other.jsonl", [rows[0] | {"fig_desc": "The door"}])):
            (root / name).write_text("".join(json.dumps(row) + "\n" for row in some))
        (root / "c.jsonl").write_text(json.dumps({"desc_id": 1, "candidates": ["the man"]}) + "\n")
        (root / "r.jsonl").write_text(json.dumps({"desc_id": 0, "rewrites": {"rewrite": ["the man opens"]}}) + "\n")
        made, notes, progress = {}, Notes(), list[tuple[Any, ...]]()

        def make(name: str, files: tuple[str, ...] = ("q.jsonl",), **more: Any) -> Any:
            options = text_features.TextOptions(out=root / name, **more)
            return text_features.write_text_store(
                [root / f for f in files], options, notes, lambda *what: progress.append(what)
            )

        made["list"] = [make("l.jsonl"), (root / "l.jsonl").read_text()]
        made["all"] = [
            make(
                "m.jsonl",
                by="text",
                granularity="both",
                disturbed=1,
                candidates=root / "c.jsonl",
                rewrites=root / "r.jsonl",
            ),
            (root / "m.jsonl").read_text(),
        ]
        for each, by, layer in (("words", "id", None), ("words", "text", 1), ("text", "text", None)):
            name = f"{each}-{by}.safetensors"
            count, store = make(name, model=str(bert), each=each, by=by, layer=layer), Features(root / name)
            metadata = {k: v for k, v in store.metadata.items() if k != "recipe"}
            made[name] = [
                count,
                describe(dict(store.items())),
                metadata,
                {k: v for k, v in (store.recipe or {}).items() if k != "weights"},
            ]
        by_id, by_text = (text_features.open_texts(str(root / f"words-{by}.safetensors")) for by in ("id", "text"))
        encoded = text_features.open_texts(str(bert))
        encoded.check([("a door", 1), ("a door", 2)])

        def option(**more: Any) -> Any:
            given = {"out": root / "x.h5", "model": "m", **more}
            return attempt(lambda: text_features.TextOptions(**given), root)

        return {
            "made": made,
            "notes": describe(notes),
            "progress": progress,
            "key": [text_features.text_key(t) for t in ("a", " a ", "b")],
            "read": [
                describe(by_id.read("a man opens a door", 0)),
                describe(by_text.read("a man opens a door", 77)),
                sorted(by_text.known),
                by_id.dim,
                by_text.size,
            ],
            "encoded": [
                encoded.dim,
                sorted(encoded.known),
                describe(encoded.read("a man", 3)),
                {k: v for k, v in encoded.recipe.items() if k != "weights"},
            ],
            "sizes": [text_features.BLOCK, text_features.KEPT],
            "wrong": [
                attempt(lambda: make("y.jsonl", ("q.jsonl", "other.jsonl")), root),
                attempt(lambda: make("l.jsonl"), root),
                attempt(lambda: make("z.h5", model=str(bert), layer=2), root),
                attempt(lambda: by_id.read("another", 0), root),
                attempt(lambda: by_text.read("another", 0), root),
                attempt(lambda: by_text.check([("another", 5)]), root),
                attempt(lambda: by_id.check([("a man opens a door", 0)]), root),
                option(granularity="both"),
                option(disturbed=2),
                option(rewrites=root),
                option(candidates=root),
                option(each="text", layer=1),
                option(model=None),
                option(model="openclip:f"),
                option(layer=0),
                option(disturbed=21, by="text"),
                option(granularity="both", by="text"),
            ],
        }


def write_simulated() -> Any:
    """Features of stories that nobody describes, and of moments; a captions' clip without its length."""
    from fabula.learn.retrieval import simulate as moments

    with folder() as root:
        silent = Corpus({"v": Story("v", (), 3.0)}, "c")
        count = simulate.simulate(silent, root / "s.safetensors")
        fine = {k: query(k, (1.0, 4.0), video=f"v{k % 2}", text=f"a red dog {k}") for k in range(3)}
        coarse = {k: q._replace(text="a dog") for k, q in fine.items()}
        several = moments.simulate_moments(fine, coarse, root / "m.safetensors", moments.Recipe(dim=4, clip=2.0))
        store = Features(root / "m.safetensors")
        return {
            "silent": [count, list(Features(root / "s.safetensors")["v"].shape)],
            "moments": [several, describe(dict(store.items())), describe(store.metadata)],
            "recipe": asdict(moments.Recipe()),
            "captions": describe(moments.Captions(4)("a dog", 1)),
            "wrong": [
                attempt(lambda: moments.simulate_moments({1: query(1, duration=None)}, {1: query(1)}, root / "n.h5")),
                attempt(lambda: moments.simulate_moments(fine, coarse, root / "m.safetensors"), root),
                attempt(lambda: simulate.simulate(silent, root / "s.safetensors"), root),
            ],
        }


def write_head() -> Any:
    """The head's config, which wrong ones are refused, and how a single batch is scored."""
    config = noise_head.Config.tiny(feature_dim=3, query_dim=3)
    torch.manual_seed(0)
    model = noise_head.Model(config)
    batch = noise_scorer.Batch(
        ["a", "b"],
        *contract.pad_rows([torch.randn(2, 3), torch.randn(4, 3)]),
        *contract.pad_rows([torch.randn(n, 3) for n in (1, 2, 3)]),
        torch.tensor([0, 1, 0]),
        ~torch.eye(2, dtype=torch.bool),
    )
    with torch.no_grad():
        losses = {name: float(value) for name, value in model.loss(batch).items()}
    return {
        "config": [asdict(noise_head.Config()), asdict(config), model.recipe],
        "losses": losses,
        "predicted": describe(model.eval().predict(batch)),
        "weights": {n: list(p.shape) for n, p in model.named_parameters()},
        "queries": describe(queries.corpus_has(SimpleNamespace(number={"v": 0}), [query(1), query(2, video="w")])),
        "wider": [list(p.shape) for p in noise_head.Model(replace(config, query_dim=4)).parameters()],
    }


PARTS: dict[str, Callable[[], Any]] = {
    "queries": write_queries,
    "clips": write_clips,
    "words": write_words,
    "archives": write_archives,
    "highlights": write_highlights,
    "answers": write_answers,
    "parts": write_parts,
    "noise": write_noise,
    "texts": write_texts,
    "simulated": write_simulated,
    "head": write_head,
}


@pytest.mark.parametrize("name", PARTS)
def test_it_is_as_it_was(name):
    now, stored = json.loads(as_lines(PARTS[name]())), json.loads(read_stored(FOLDER, name))
    assert differences(now, stored, least=2e-5) == []


def test_nothing_is_left_over():
    assert {path.stem for path in FOLDER.iterdir()} == set(PARTS)


if __name__ == "__main__":
    write_stored(FOLDER, {name: lambda part=part: as_lines(part()) for name, part in PARTS.items()})
