"""Models with batches of another shape: one item, more steps than queries, padding, nothing to find; and their parts.

tests/learn/parts_models has the answers; `python -m tests.learn.test_parts_models` writes them anew.
"""

from __future__ import annotations

import json
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
from fabula.data.stories import Corpus, Event, Segment, Story  # noqa: E402
from fabula.learn import pss, raw, settings, train  # noqa: E402
from fabula.learn.identity.videosets import Videoset, collate  # noqa: E402
from fabula.learn.loop.folder import Place  # noqa: E402
from fabula.learn.models import check_model, noise_scorer, qd_detr, room, xml  # noqa: E402
from fabula.learn.options import Run, Settings  # noqa: E402
from fabula.learn.retrieval.contract import Batch, Negatives, pad_rows  # noqa: E402
from fabula.learn.tasks import base, check_task, micap, noise, vcmr  # noqa: E402
from fabula.learn.tasks import pss as procedures  # noqa: E402
from fabula.media.stores.features import write_features  # noqa: E402
from tests.learn import test_micap, test_pdvc, test_procnets  # noqa: E402
from tests.learn.described import attempt, describe  # noqa: E402
from tests.learn.test_model_numbers import MODELS, answers_of, draw, losses_of, short, variants  # noqa: E402
from tests.learn.test_parts_identity import folder  # noqa: E402
from tests.stored import as_lines, differences, keep_known, read_stored, write_stored  # noqa: E402

FOLDER = Path(__file__).parent / "parts_models"
MANY = [(0.01, 0.1), (0.1, 0.2), (0.2, 0.25), (0.3, 0.5), (0.5, 0.55), (0.55, 0.7), (0.7, 0.8), (0.8, 0.9), (0.92, 1.0)]
ODD = [MANY, [(0.0, 1.0)], [(0.4, 0.45), (0.41, 0.44)]]


def pad_frames(batch: Any) -> Any:
    """The last video is shorter than the others."""
    batch.mask[-1, -5:] = False
    batch.features[-1, -5:] = 0
    batch.duration[-1] = 33.0
    return batch


def few_moments(config: Any) -> Batch:
    """Two queries about one video, which is longer than the other's; negatives are fixed."""
    video, video_mask = pad_rows([draw(5, 5), draw(5, 5), draw(12, 5)])
    reads_ids = not getattr(config, "query_dim", 0)
    rows = [torch.randint(2, 20, (n,)) if reads_ids else draw(n, 6) for n in (1, 5, 3)]
    query, query_mask = pad_rows(rows)
    spans, durations = torch.tensor([[0, 0], [2, 4], [11, 11]]), torch.tensor([5.0, 4.5, 12.0])
    negatives = Negatives(torch.tensor([2, 2, 0]), torch.tensor([1, 2, 0]))
    names = ["v", "v", "w"]
    return Batch(
        ["a", "b", "c"], query, query_mask, video, video_mask, durations, spans, videos=names, negatives=negatives
    )


def one_highlight(config: qd_detr.Config) -> qd_detr.HighlightBatch:
    """One query with more windows than there are anchors."""
    features, mask = pad_rows([draw(6, 5)])
    words, word_mask = pad_rows([draw(2, 6)])
    windows = torch.tensor([[[0.0, 0.1], [0.2, 0.3], [0.4, 0.5], [0.5, 0.8], [0.9, 1.0]]])
    marks, pairs = torch.tensor([[0.0, 3.0, 6.0, 9.0, 0.0, 12.0]]), (torch.tensor([[5, 3]]), torch.tensor([[0, 1]]))
    there = torch.ones(1, 5, dtype=torch.bool)
    return qd_detr.HighlightBatch(
        [1], features, mask, words, word_mask, torch.tensor([11.5]), windows, there, marks, *pairs, ["v"]
    )


def noisy(config: noise_scorer.Config) -> noise_scorer.Batch:
    """Three moments of which two are no rivals."""
    video, video_mask = pad_rows([draw(1, 5), draw(3, 5), draw(2, 5)])
    texts, texts_mask = pad_rows([draw(n, 6) for n in (1, 6, 2, 3, 1)])
    rivals = torch.tensor([[False, False, True], [False, False, True], [True, True, False]])
    return noise_scorer.Batch(list("abc"), video, video_mask, texts, texts_mask, torch.tensor([0, 1, 2, 2, 2]), rivals)


def lone_set(config: Any) -> Any:
    one = test_micap.videoset("a", 1)
    plain = Videoset(
        "b",
        tuple(replace(c, face=c.face[:0], box=c.box[:0], at=c.at[:0], person=c.person[:0]) for c in one.clips),
        one.tokens,
    )
    return collate([plain, one], config)


RATED = {"rate": 1.0, "recipe": {"extractor": "resnet152", "fps": 1.0}}
BATCHES: dict[str, Callable[[Any], Any]] = {
    "pdvc": lambda c: pad_frames(test_pdvc.batch_of(ODD)),
    "procnets": lambda c: test_procnets.batch_of(ODD),
    "micap": lone_set,
    "xml": few_moments,
    "reloclnet": few_moments,
    "hero": few_moments,
    "qd_detr": one_highlight,
    "noise_scorer": noisy,
}


def write_odd(name: str) -> Any:
    """Losses of every choice, and the gradient's size; answers of the config as it is."""
    torch.set_num_threads(1)
    Model, base_config, _ = MODELS[name]
    found = {}
    for label, one in variants(base_config):
        config = replace(one[1], **one[0]) if isinstance(one, tuple) else one
        torch.manual_seed(5)
        model, batch = Model(config), BATCHES[name](config)
        model.train(label == "dropout")
        if hasattr(model, "begin"):
            model.begin(1, 50)
        torch.manual_seed(6)
        losses = losses_of(model, batch)
        torch.autograd.backward(sum(loss for n, loss in losses.items() if n.endswith("loss") and loss.requires_grad))
        norm = sum(float(p.grad.double().abs().sum()) for p in model.parameters() if p.grad is not None)
        found[label] = short({n: loss.sum().item() for n, loss in losses.items()} | {"gradient": norm})
        if label == "as it is":
            with torch.no_grad():
                found["answers"] = short(answers_of(model.eval(), batch))[:3]
    return found


def write_own() -> Any:
    """Moments of a query's own video; words that another program makes vectors of."""
    config = xml.Config.tiny(feature_dim=5, query_dim=6, hidden=8, heads=2, max_clips=12, max_length=4, min_length=1)
    torch.manual_seed(0)
    model = xml.Model(config).eval()
    ranked = model.predict(few_moments(config))
    with folder() as root:
        rows = [
            {"desc_id": k, "video": "v", "duration": 6.0, "time": [1, 3], "cog_desc": "a", "fig_desc": f"dog {k}"}
            for k in range(2)
        ]
        (root / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        rng = np.random.default_rng(0)
        for name, keys, n, dim in (("c", ["v"], 6, 3), ("w", ["0", "1"], 2, 4)):
            write_features(
                root / f"{name}.safetensors",
                ((k, rng.normal(size=(n, dim)).astype(np.float32)) for k in keys),
                RATED if name == "c" else {},
            )
        sizes = {
            "hidden": 8,
            "heads": 2,
            "max_clips": 8,
            "max_words": 1,
            "max_length": 4,
            "min_length": 0,
            "long": "cut",
        }
        options = {
            "data": root / "q.jsonl",
            "features": str(root / "c.safetensors"),
            "words": root / "w.safetensors",
            "device": "cpu",
        }
        fabula.train("vcmr", tiny=True, out=root / "run", set_=sizes, epochs=1, threads=1, **options)
        read = lambda text: np.full((3, 4 if text != "wide" else 5), len(text), np.float32)  # noqa: E731
        finder = fabula.moments(root / "run", read=read, extract=lambda path: (np.ones((4, 3), np.float32), 2.0, 1.75))
        film = finder.encode(root / "film.mp4")
        lengths = [finder.encode(np.ones((n, 3), np.float32), "long").durations.tolist() for n in (3, 8, 12)]
        found = finder.find(film, "a dog", top=2)
        return {
            "own": [[r.id, describe(r.spans[:4]), describe(r.scores[:4])] for r in ranked],
            "words": describe(finder.encode_words(["ab", "abcd"]).search),
            "lengths": lengths,
            "film": [film.names, describe(film.durations)],
            "found": [[m.video, m.start, m.end, m.score] for m in found],
            "wrong": [
                attempt(lambda: fabula.moments(root / "run"), root),
                attempt(lambda: finder.find(film, "wide")),
                attempt(lambda: fabula.moments(root), root),
                attempt(lambda: fabula.moments(root / "run", read=read, extract="thumbnail"), root)[:100],
            ],
        }


def write_tasks() -> Any:
    """What tasks say of results; the defaults of a task; settings as they are listed; other packages' tasks."""

    class Plain(base.Task):
        name, about, models = "plain", "x", ("procnets",)

    task, story = Plain(), Story("v", (Event(Segment(0, 1), "a"),), 3.0)
    with folder() as root:
        task.write([{"a": "é"}, [1]], root / "out.jsonl")
        rows = [asdict(s) for s in settings.list_settings() if s.model in ("procnets", "noise_head", "reloclnet")]
        return {
            "written": (root / "out.jsonl").read_text(),
            "counted": [
                task.count([1, 2]),
                task.best_by(None),
                task.metadata(None),
                task.config("c", None, None),
                task.validation_data(None, None),
            ],
            "kept": [
                task.postprocess([1], None),
                task.refine(2, None, Notes(), None),
                list(task.captions(3, None)),
                task.predict_in_parts(root, None, None, Notes(), None),
            ],
            "counts": [
                procedures.Task().count(Corpus({"v": story}, "c")),
                micap.Task().count({"a": 1}),
                noise.Task().count(noise.Scored([SimpleNamespace(scores=(1, 2)), SimpleNamespace(scores=(3,))])),
                vcmr.Task().count(vcmr.MomentPredictions([1], {}, ["a"])),
            ],
            "captions": list(procedures.Task().captions({"v": story}, None)),
            "settings": rows,
            "files": [
                settings.read_constant("xml", "inference"),
                attempt(lambda: sorted(settings.read_config("lm"))[:3]),
            ],
            "checks": [check_model(room.get("xml")), check_model(object), check_task(Plain), check_task(int)],
            "presets": [base.Preset(about="x", model=m).models for m in ("a", ("a", "b"), None)],
            "start": [base.Start(None, p).whole for p in ("whole", "encoder")],
            "page": task.write_page(None, None),
        }


def write_raw() -> Any:
    """Raw videos, with an extractor that looks at nothing."""
    seen: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        import fabula.media as media

        patch.setattr(media, "rebuild", lambda recipe, weights: (recipe, weights))
        patch.setattr(
            media,
            "extract_one",
            lambda path, extractor: (np.arange(8, dtype=np.float32).reshape(4, 2) + len(str(extractor)), 2.5),
        )
        videos = raw.RawVideos(
            [Path("a/x.mp4"), Path("y.mkv")], {"extractor": "t"}, Path("w"), lambda *what: seen.append(what)
        )
    return {
        "names": list(videos),
        "durations": {v: s.duration for v, s in videos.corpus.items()},
        "name": videos.corpus.name,
        "seen": seen,
        "count": len(videos),
        "read": describe([videos["x"], videos.read("x"), videos.read("x", 2), videos.read("y", 6)]),
    }


def write_plain() -> Any:
    """PSS by plain calls; learning rates of a run that is made longer."""
    event = lambda a, b: Event(Segment(a, b), "stir it")  # noqa: E731
    corpus = Corpus({f"v{k}": Story(f"v{k}", (event(1, 3), event(4, 8)), 9.0) for k in range(3)}, "c")
    with folder() as root:
        fabula.write(corpus, root / "train.json", "activitynet")
        rng = np.random.default_rng(0)
        write_features(root / "f.safetensors", ((v, rng.normal(size=(9, 4)).astype(np.float32)) for v in corpus), {})
        options = procedures.TrainOptions(data=root / "train.json", features=root / "f.safetensors", tiny=True)
        small = {
            "hidden": 8,
            "heads": 2,
            "feedforward": 8,
            "norm_groups": 4,
            "captioner": "none",
            "frames": 8,
            "queries": 3,
        }
        line = pss.train_pss(
            options, Run(out=root / "run"), small, {"epochs": 1, "threads": 1, "device": "cpu", "batch_size": 2}
        )
        asked = procedures.PredictOptions(features=root / "f.safetensors", data=root / "train.json", device="cpu")
        found = pss.predict_pss(root / "run", asked)
    loop = SimpleNamespace(per_epoch=401, settings=Settings(epochs=3, decay_from=1, decay_every=1), total=1203)
    rates = lambda saved, step: attempt(lambda: train.Loop.check_rates(loop, saved, Place(step=step), Path("f")))  # noqa: E731
    before = asdict(Settings(epochs=1, decay_from=1, decay_every=1))
    return {
        "line": {k: v for k, v in line.items() if k != "seconds"},
        "found": {v: [[e.segment.start, e.segment.end, e.score] for e in s.events] for v, s in found.items()},
        "rates": [
            rates(before, 402),
            rates(before, 401),
            rates(before, 0),
            rates(None, 4),
            rates({"x": 1}, 4),
            rates(asdict(loop.settings), 900),
        ],
    }


def write_scores() -> Any:
    """Scores in training code, of tiny batches; what is no batch, and what is no metric of them."""
    metrics = pytest.importorskip("fabula.learn.metrics", reason="torchmetrics is not installed")
    story = [(0.0, 2.0, "stir it"), (3.0, 6.0, "pour")]
    boxes = {"boxes": [[0, 0, 10, 10], [20, 20, 5, 5]], "captions": ["a dog", "a cat"]}
    people = {"captions": ["P1 sees P2.", "P2 sits."], "blanks": [["P1", "P2"], ["P2"]]}
    other = {"captions": ["P1 sees P2.", "P1 sits."], "blanks": [["P1", "P2"], ["P1"]]}
    cases: dict[str, tuple[Any, list[Any], list[Any]]] = {
        "stories": (metrics.StoryScore("SODA_d"), [story, story[:1]], [[(0.0, 3.0, "stir")], story]),
        "captions": (
            metrics.CaptionScore("BLEU_4"),
            ["a dog runs", "a cat"],
            ["a dog runs home", ["a cat", "the cat"]],
        ),
        "cider": (metrics.Cider(), ["a dog runs", "a cat"], ["a dog runs home", ["a cat", "thé cat"]]),
        "moments": (metrics.MomentScore(), [[(0, 2)], [], [(1, 3), (0, 9)]], [(0, 2), [(1, 2)], [(0, 9), (1, 2)]]),
        "regions": (
            metrics.RegionScore(),
            [boxes | {"scores": [0.9, 0.1]}, boxes | {"scores": [0.5, 0.5]}],
            [boxes, boxes],
        ),
        "corners": (
            metrics.RegionScore(form="xyxy"),
            [boxes | {"scores": [0.9, 0.1]}],
            [boxes | {"boxes": [[0, 0, 10, 10], [20, 20, 25, 25]]}],
        ),
        "blanks": (metrics.Fitb(), [other, people], [people, people]),
    }
    found: dict[str, Any] = {}
    for name, (score, preds, refs) in cases.items():
        score.update([], [])
        empty = describe(score.compute())
        for k in range(len(preds)):
            score.update(preds[k : k + 1], refs[k : k + 1])
        found[name] = [empty, describe(score.compute()), type(score.double()) is type(score)]
    items = metrics.make_items(["a é", "b"], [["c", "d"], "e"])
    wrong: list[Callable[[], Any]] = [
        lambda: metrics.MomentScore("VCMR"),
        lambda: metrics.MomentScore("SODA_d"),
        lambda: metrics.CaptionScore("SODA_c"),
        lambda: metrics.StoryScore("CIDEr"),
        lambda: metrics.StoryScore("SODA_d").update([[]], [[]]),
        lambda: metrics.StoryScore("SODA_d").update([[]], []),
        lambda: metrics.RegionScore("SODA_d"),
        lambda: metrics.IdentityScore("METEOR"),
        lambda: metrics.MomentScore().update([[(0, 1)]], [[]]),
        lambda: metrics.MomentScore().update(["x"], [(0, 1)]),
        lambda: metrics.MomentScore().update([[(0, float("nan"))]], [(0, 1)]),
        lambda: metrics.Cider().update(["a"], [[]]),
        lambda: metrics.Cider().update([3], ["a"]),
        lambda: metrics.Fitb().update([{"captions": ["a"]}], [people]),
    ]
    found["packed"] = [
        metrics.pack_items(items),
        describe(metrics.unpack_items(*(bytes(x) if k == 0 else x for k, x in enumerate(metrics.pack_items(items))))),
    ]
    found["names"] = [
        metrics.state_name("sum", "r1@0.5"),
        metrics.hangs_on_all(cases["cider"][0].measure),
        metrics.hangs_on_all(cases["captions"][0].measure),
    ]
    return found | {"wrong": [attempt(call) for call in wrong]}


PARTS: dict[str, Callable[[], Any]] = {
    "scores": write_scores,
    **{f"odd-{name}": (lambda name=name: write_odd(name)) for name in BATCHES},
    "own": write_own,
    "tasks": write_tasks,
    "raw": write_raw,
    "plain": write_plain,
}


@pytest.mark.parametrize("name", PARTS)
def test_it_is_as_it_was(name):
    now, stored = json.loads(as_lines(PARTS[name]())), json.loads(read_stored(FOLDER, name))
    assert differences(keep_known(now, stored), stored) == []  # a new choice may stand beside the others


def test_nothing_is_left_over():
    assert {path.stem for path in FOLDER.iterdir()} == set(PARTS)


if __name__ == "__main__":
    write_stored(FOLDER, {name: lambda part=part: as_lines(part()) for name, part in PARTS.items()})
