"""Parts of training one by one: settings that are refused, checkpoints, published weights, splits, small models.

tests/learn/parts_training has the answers; `python -m tests.learn.test_parts_training` writes them anew.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models need fabula[learn]")
for module in ("lightning_fabric", "safetensors", "tokenizers"):
    pytest.importorskip(module, reason="training needs fabula[learn]")

from safetensors.torch import save_file  # noqa: E402

import fabula  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.data.stories import Corpus, Event, Segment, Story  # noqa: E402
from fabula.learn import (  # noqa: E402
    adamw,
    batch,
    bertadam,
    checkpoint,
    config,
    data,
    matchers,
    official,
    options,
    raw,
    run,
    simulate,
    soft,
    splits,
    train,
    words,
)
from fabula.learn.identity import blanks  # noqa: E402
from fabula.learn.identity.presets import PRESETS  # noqa: E402
from fabula.learn.loop import folder as runs  # noqa: E402
from fabula.learn.loop import loader, processes, schedule  # noqa: E402
from fabula.learn.models import (  # noqa: E402
    _layers,
    fillin,
    hero,
    lm,
    noise_head,
    noise_scorer,
    pdvc,
    procnets,
    qd_detr,
    reloclnet,
    room,
    xml,
)
from fabula.learn.models import micap as micap_model  # noqa: E402
from fabula.learn.options import BlankOptions, Run, Settings, Share, SimulateOptions, TrainOptions, TuneOptions  # noqa: E402
from fabula.learn.tasks import micap, noise, pss, vcmr  # noqa: E402
from fabula.learn.tasks import room as tasks  # noqa: E402
from fabula.learn.worlds import annotations, films  # noqa: E402
from fabula.media.stores.features import Features, write_features  # noqa: E402
from tests.learn import test_model_numbers, test_pdvc, test_procnets  # noqa: E402
from tests.learn.described import attempt, describe  # noqa: E402
from tests.learn.test_parts_identity import clip, fill_config, folder  # noqa: E402
from tests.stored import as_lines, differences, keep_known, read_stored, write_stored  # noqa: E402

FOLDER = Path(__file__).parent / "parts_training"
MODELS = (
    "pdvc", "procnets", "micap", "fillin", "xml", "reloclnet", "hero", "qd_detr", "noise_scorer", "noise_head", "lm",
)  # fmt: skip
MODULES = (
    adamw, bertadam, batch, checkpoint, config, data, official, raw, run, splits, words, blanks, runs, loader,
    processes, schedule, fillin, lm, pdvc, procnets, micap, noise, pss, vcmr, annotations, hero, micap_model,
    noise_head, noise_scorer, qd_detr, reloclnet, xml, _layers, soft, matchers, train, simulate, options, films,
)  # fmt: skip
ODD: dict[type, tuple[Any, ...]] = {int: (0, 1, 3, 7), float: (-0.5, 0.0, 1.0, 1.5), bool: (True, False)}


def odd_values(hint: Any) -> Iterator[Any]:
    for one in (hint, *get_args(hint)):
        if get_origin(one) is Literal:
            yield from (*get_args(one), "x")
        else:
            yield from ODD.get(one, ())


def change_many(config: Any, values: dict[str, Any]) -> None:
    replace(config, **values)


def write_recipes() -> Any:
    """What every model is trained with, its sizes, and those of `tiny`; constants of modules."""
    found = {}
    for name in MODELS:
        Model = room.get(name)
        constants = {
            n: getattr(Model, n, None) for n in ("passes", "inference", "parts", "grows", "leaves_unused", "reads")
        }
        sizes = {"config": asdict(Model.config_class()), "small": describe(Model.config_class.small)}
        found[name] = {"recipe": describe(Model.recipe), **sizes, **describe(constants)}
    numbers = {
        f"{m.__name__.rpartition('.')[2]}.{n}": describe(v)
        for m in MODULES
        for n, v in vars(m).items()
        if n.isupper() and n != "TYPE_CHECKING" and is_plain(v)
    }
    return found | {"constants": numbers}


def is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    return isinstance(value, str | int | float)


def write_refused() -> Any:
    """Every model's config with one value changed: which are refused, and with which words."""
    found: dict[str, dict[str, str]] = {}
    for name in MODELS:
        Config = room.get(name).config_class
        base, hints, refused = Config.tiny(), get_type_hints(Config), {}
        for f in fields(Config):
            for value in odd_values(hints[f.name]):
                if (f.name, value) == ("heads", 0):
                    continue
                said = attempt(partial(change_many, base, {f.name: value}))
                if said is not None:
                    refused[f"{f.name}={value}"] = said
        found[name] = refused
    tiny = {
        name: Model.config_class.tiny()
        for name, Model in ((n, room.get(n)) for n in ("pdvc", "procnets", "hero", "qd_detr"))
    }
    built = [
        ("pdvc", {"captioner": "light"}),
        ("pdvc", {"captioner": "none", "proposals": "gt"}),
        ("pdvc", {"captioner": "none", "matcher": "marginal", "cost": "iou"}),
        ("pdvc", {"captioner": "none", "matcher": "x"}),
        ("procnets", {"frames": 17}),
        ("procnets", {"anchor_low": 4}),
        ("procnets", {"anchor_step": 3}),
        ("hero", {"heads": 3}),
        ("hero", {"vocab_size": 1}),
        ("hero", {"max_clips": 101}),
        ("hero", {"max_words": 400}),
        ("hero", {"max_clips": 100}),
        ("qd_detr", {"hidden": 6, "heads": 2}),
        ("qd_detr", {"projections": 0}),
        ("qd_detr", {"projections": 4}),
        ("qd_detr", {"matcher": "x"}),
    ]
    combined = [
        ("micap", {"streams": "text,x"}),
        ("micap", {"streams": "text", "task": "caption"}),
        ("micap", {"streams": "text", "task": "fitb"}),
        ("micap", {"classifier": "separate", "task": "fitb"}),
        ("micap", {"classifier": "separate", "fitb_over": "all"}),
        ("micap", {"words": 3, "vocabulary": ("a",)}),
        ("fillin", {"streams": "face"}),
        ("fillin", {"streams": "text,frame"}),
        ("fillin", {"streams": "text,action"}),
        ("fillin", {"streams": "text,face"}),
        ("fillin", {"gender": True, "face_hidden": 32}),
        ("fillin", {"gender": True}),
        ("micap", {"streams": ""}),
    ]
    found["combined"] = {
        f"{n} {c}": attempt(partial(change_many, room.get(n).config_class.tiny(), c)) for n, c in combined
    }
    with torch.device("meta"):
        found["built"] = {
            f"{n} {c}": attempt(lambda n=n, c=c: room.get(n)(replace(tiny[n], **c)) and None) for n, c in built
        }
    return found


def write_options() -> Any:
    """Options of tasks: the defaults of each, and values that are refused."""
    kinds: dict[str, Any] = {
        "settings": Settings,
        "blank": BlankOptions,
        "tune": TuneOptions,
        "simulate": SimulateOptions,
    }
    defaults = {name: {o.name: describe(o.default) for o in kind.options()} for name, kind in kinds.items()}
    path = Path("x")
    micap_ask = lambda **more: attempt(lambda: describe(micap.PredictOptions(**more)))  # noqa: E731
    analyse = lambda **more: attempt(lambda: micap.AnalyseOptions(data=path, **more).eps)  # noqa: E731
    world = micap.Task().simulate
    with folder() as root:
        small = {"train_films": 1, "val_films": 1, "test_films": 1, "clips": 5, "cast": 2}
        made = world(micap.SimulateOptions(**small, difficulty="easy"), root / "w", False)
        config_file = root / "c.toml"
        config_file.write_text("[options]\nskip_bad = true\nmin_count = 3\nnone = 1\n")
        chosen = pss.TrainOptions(data=path, features=path)
        vcmr_options = vcmr.TrainOptions(data=path, features="a.h5, b.h5,")
        return {
            "defaults": defaults,
            "made": [made, sorted(p.name for p in (root / "w").iterdir())],
            "micap": [
                micap_ask(),
                micap_ask(videos="a.mp4"),
                micap_ask(then=path),
                micap_ask(then=path, task="caption", people="same", data=path),
                micap_ask(then=path, task="caption", videos=["a"]),
                micap_ask(longest=0.0),
                micap_ask(longest=-1.0),
                micap_ask(then=path, task="caption", data=path),
            ],
            "analyse": [
                analyse(),
                analyse(eps=0.5),
                analyse(eps="0.5"),
                analyse(eps=("a",)),
                analyse(eps=(0.0, 2.0)),
                analyse(eps=(2.1,)),
                analyse(eps=-0.1),
            ],
            "weights": [
                attempt(lambda: micap.read_weights(("frame=a", "action=b"))),
                attempt(lambda: micap.read_weights(("x=a",))),
            ],
            "presets": {
                task.name: [
                    task().best_by(room.get(task.models[0]).config_class.tiny()),
                    sorted(task.presets),
                    list(task.models),
                    list(task.derived),
                ]
                for task in tasks.all()
            },
            "identity": {n: [p.about, p.models, describe(p.config), describe(p.settings)] for n, p in PRESETS.items()},
            "published": [
                vcmr.PUBLISHED,
                vcmr.LENGTHS,
                vcmr.TVR,
                vcmr.HERO,
                vcmr.HERO_TVR,
                vcmr.QVHIGHLIGHTS,
                vcmr.SHOWN,
            ],
            "shape": [
                vcmr.Shape(protocol="hero", set_=["labels=inside"]).config(),
                sorted(vcmr.Shape().flagged()),
                pss.Shape(matcher="soft").config(),
            ],
            "split": [vcmr_options.features, vcmr.TrainOptions(data=path, features=("a", "b")).features],
            "filled": [
                attempt(lambda: run.fill(chosen, {"min_count": 4, "skip_bad": True}, "x").min_count),
                attempt(lambda: run.fill(replace(chosen, min_count=2), {"min_count": 4}, "x").min_count),
                attempt(lambda: run.fill(chosen, {"min_counts": 4}, "--preset")),
                attempt(lambda: run.fill(chosen, {"val": "y"}, "x").val == Path("y")),
                attempt(lambda: run.fill(chosen, {"min_count": "many"}, "x")),
            ],
            "epochs": [run.count_epochs({"epochs": 3, "lr": 1}), run.count_epochs({"lr": 1})],
            "wrong": [
                attempt(lambda: run.find_preset(pss.Task(), "youcook")),
                attempt(lambda: run.find_preset(noise.Task(), "x")),
                attempt(lambda: run.find_preset(pss.Task(), None).about),
                attempt(
                    lambda: fabula.train("pss", data=path, features=path, out=root / "r", config=config_file), root
                ),
                attempt(
                    lambda: fabula.train(
                        "pss", data=path, features=path, out=root / "r", preset="tasty", model="procnets"
                    )
                ),
                attempt(lambda: fabula.train("pss", data=path, features=path, out=root / "r", set_=["feature_dim=3"])),
                attempt(lambda: run.read_start(TrainOptions(from_part="encoder"), pdvc.Model)),
                attempt(lambda: run.read_start(TrainOptions(from_words=path), pdvc.Model)),
                attempt(lambda: run.read_start(TrainOptions(from_=path, from_words=path), pdvc.Model)),
                attempt(lambda: run.find_part(SimpleNamespace(name="pdvc"), "decoder")),
                attempt(lambda: run.find_part(SimpleNamespace(name="toy", parts={"a": ("b",)}), "c")),
                attempt(lambda: run.find_part(SimpleNamespace(name="toy", parts={"a": ("b",)}), "a")),
            ],
            "shared": shared_lines(),
        }


def shared_lines() -> list[list[str]]:
    found = []
    for known, val in (
        ({1: "a", 2: "b"}, {1: "a"}),
        ({1: "a", 2: "b"}, {1: "a", 2: "c"}),
        ({1: "a"}, {2: "a"}),
        (None, {1: "a"}),
    ):
        said: list[str] = []
        run.warn_shared(SimpleNamespace(train=known, val=val), SimpleNamespace(warn=said.append))
        found.append(said)
    return found


class Toy(torch.nn.Module):
    name = "procnets"

    def __init__(self) -> None:
        super().__init__()
        self.config = procnets.Config.tiny()
        self.a, self.b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)


def write_checkpoints() -> Any:
    torch.manual_seed(0)
    model = Toy()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model.b(model.a(torch.ones(1, 2))).sum().backward()
    optimizer.step()
    tensors, numbers = checkpoint.optimizer_tensors(optimizer)
    numbers = json.loads(json.dumps(numbers))
    weights = {f"model.{n}": t for n, t in model.state_dict().items()}
    header = checkpoint.header_of(model, more=1)
    with folder() as root:
        checkpoint.write(root / "last.safetensors", {**weights, **tensors}, header | {"optimizer": numbers})
        whole, back = checkpoint.read(root)

        def spoil(head: Any = None, **changed: Any) -> Any:
            path = root / "bad.safetensors"
            text = head if isinstance(head, str) else json.dumps({**header, "format": 1, **(head or {})})
            save_file({**weights, **changed}, path, {"fabula": text} if head != "" else {})
            return attempt(lambda: sorted(checkpoint.read(path)[1]), root)

        def resume(state: Any = None, more: Any = None, settings: float = 0.1) -> Any:
            other = torch.optim.Adam(Toy().parameters(), lr=settings)
            stored = {"optimizer": numbers} if state is None else state
            given = {**tensors, **(more or {})}
            return attempt(
                lambda: checkpoint.restore_optimizer(
                    other, {k: v for k, v in given.items() if v is not None}, stored, "f"
                )
            )

        (root / "empty").mkdir()
        for name in ("x.pth", "x.txt", "x.safetensors"):
            (root / name).write_bytes(b"nonsense")
        sealed = {**back, "model": "pdvc"}
        restored = lambda more, head=header: attempt(lambda: checkpoint.restore(Toy(), {**weights, **more}, head, "f"))  # noqa: E731
        made = lambda values: attempt(lambda: checkpoint.config_of(procnets.Config, values, "f") and None)  # noqa: E731
        return {
            "read": [
                sorted(whole),
                {k: v for k, v in back.items() if k not in ("fabula", "config", "digests", "seal", "optimizer")},
                sorted(back),
            ],
            "only": sorted(checkpoint.read(root, weights_only=True)[0]),
            "run": [checkpoint.is_run(root), checkpoint.is_run(root / "empty")],
            "metadata": [
                checkpoint.metadata_of({"about": {"a": 1}}),
                checkpoint.metadata_of({"about": 3}),
                checkpoint.metadata_of({}),
            ],
            "shown": [checkpoint.describe(t) for t in (None, torch.zeros(2), torch.zeros(1, 2, dtype=torch.int64))],
            "digests": [
                checkpoint.digest({"model.a": torch.arange(3), "b": torch.zeros(0)}, p) for p in checkpoint.PARTS
            ],
            "headers": [
                spoil(),
                spoil(""),
                spoil("{"),
                spoil("[]"),
                spoil("{}"),
                spoil({"format": 2}),
                spoil({"format": True}),
                spoil({"model": 3}),
                spoil({"config": []}),
                spoil({"seal": "x"}),
                spoil({"digests": {}}),
                spoil({"digests": 3}),
                spoil(json.dumps(sealed)),
            ],
            "tensors": [spoil(x=torch.tensor([float("nan")])), spoil(x=torch.tensor([1]))],
            "files": [
                attempt(lambda p=p: checkpoint.read(root / p), root) for p in ("x.pth", "x.txt", "absent", "empty")
            ],
            "restored": [
                restored({}),
                restored({"model.c": torch.zeros(1)}),
                restored({"model.a.bias": torch.zeros(3)}),
                restored({}, header | {"model": "x"}),
            ],
            "resumed": [
                resume(),
                resume(settings=0.5),
                resume({}),
                resume({"optimizer": {}}),
                resume({"optimizer": numbers | {"groups": []}}),
                resume({"optimizer": numbers | {"numbers": {"optimizer.9.step": 1}}}),
                resume(more={"optimizer.x.step": torch.zeros(())}),
                resume(more={"optimizer.0.exp_avg": torch.zeros(3)}),
                resume(more={"optimizer.0.exp_avg": None}),
                resume(more={"optimizer.1": torch.zeros(())}),
                resume(more={"optimizer.0.step": None}),
                resume(more={"optimizer.0.exp_avg_sq": None}),
                resume(more={"optimizer.4.step": torch.zeros(())}),
            ],
            "configs": [
                made({}),
                made({"x": 1}),
                made({"a b": 1, "c": 2, "d": 3, "e": 4, "f": 5}),
                made({"hidden": -1}),
                made({"hidden": "a"}),
                made({"hidden": 1 << 20}),
                made({"hidden": (1 << 20) + 1}),
            ],
            "folders": [
                attempt(
                    lambda: runs.prepare_folder(Run(out=root / "new", resume=True), model, Settings(), {}, True), root
                ),
                attempt(
                    lambda: runs.prepare_folder(Run(out=root / "new"), model, Settings(), {"data": "x"}, True), root
                ),
                sorted(p.name for p in (root / "new").iterdir()),
                attempt(lambda: runs.prepare_folder(Run(out=root / "new"), model, Settings(), {}, True), root),
                attempt(
                    lambda: runs.prepare_folder(Run(out=root / "new", resume=True), model, Settings(lr=1.0), {}, True),
                    root,
                ),
            ],
        }


def write_official() -> Any:
    """Published weights: names as they become ours, shapes that tell sizes, files that are refused."""
    small = test_pdvc.TINY
    with torch.device("cpu"):
        torch.manual_seed(0)
        ours = pdvc.Model(small).state_dict()
    names = (
        "transformer.level_embed",
        "transformer.pos_trans.weight",
        "transformer.encoder.layers.0.norm2.bias",
        "transformer.decoder.layers.1.norm1.bias",
        "transformer.decoder.layers.1.norm3.weight",
        "bbox_head.1.layers.2.bias",
        "transformer.decoder.bbox_head.0.layers.1.bias",
        "class_head.1.bias",
        "caption_head.1.embed.weight",
        "x",
    )
    table = official.TABLES["pdvc"]
    zero, one = torch.zeros(2), torch.ones(2)
    with folder() as root:

        def save(document: Any) -> Path:
            torch.save(document, root / "w.pth")
            return root / "w.pth"

        def read(document: Any) -> Any:
            return attempt(lambda: official.read_pth(save(document)), root)

        (root / "junk.pth").write_bytes(b"junk")
        loaded = lambda **more: attempt(  # noqa: E731
            lambda: official.load_official(save({"query_embed.weight": torch.zeros(3, 4)}), small, **more), root
        )
        vocabulary = lambda document: attempt(  # noqa: E731
            lambda: write_json(root / "v.json", document) and official.read_vocabulary(root / "v.json"), root
        )
        return {
            "names": [official.translate(n, table) for n in names],
            "sizes": official.pdvc_sizes(ours),
            "empty": official.pdvc_sizes({}),
            "idle": [
                official.pdvc_idle(replace(small, captioner=c, proposals=p))
                for c in ("none", "light")
                for p in ("learned", "gt")
            ],
            "tables": {n: [len(t.names), len(t.unused), t.encoder] for n, t in official.TABLES.items()},
            "read": [
                read({"model": {"module.a": one.half()}, "epoch": 3}),
                read({"state_dict": {"a": zero}, "epoch": "x"}),
                read({"a": zero, "b": one}),
                read({"model": {"a": zero}, "opt": argparse.Namespace(x=1)}),
            ],
            "refused": [
                read([zero]),
                read({}),
                read({1: zero}),
                read({"a": 3}),
                read({"a": torch.tensor([1])}),
                read({"a": torch.tensor([float("inf")])}),
                read({"a": torch.zeros(2).to_sparse()}),
                attempt(lambda: official.read_pth(root / "absent.pth"), root),
                loaded(part="decoder"),
                loaded(model="procnets"),
                loaded(),
                loaded(part="encoder"),
            ],
            "renamed": [
                attempt(
                    lambda: describe(
                        official.rename(
                            {"caption_head.0.embed.weight": one, "caption_head.1.embed.weight": one}, table, "f"
                        )
                    )
                ),
                attempt(
                    lambda: official.rename(
                        {"caption_head.0.embed.weight": one, "caption_head.1.embed.weight": zero}, table, "f"
                    )
                ),
                attempt(lambda: official.rename({"caption_head.1.embed.weight": zero}, table, "f")),
                attempt(lambda: official.rename({"x": zero}, table, "f")),
                attempt(
                    lambda: describe(
                        official.rename(
                            {
                                "bbox_head.0.layers.0.bias": one,
                                "transformer.decoder.bbox_head.0.layers.0.bias": one,
                                "caption_head.0.core.deformable_att.output_proj.bias": one,
                            },
                            table,
                            "f",
                        )
                    )
                ),
            ],
            "fit": [
                attempt(lambda a=a, b=b: official.check_fit(a, b, "f"))
                for a, b in (
                    ({"a": zero}, {"a": zero}),
                    ({"a": zero}, {}),
                    ({}, {"a": zero}),
                    ({"a": zero}, {"a": torch.zeros(3)}),
                )
            ],
            "words": [
                vocabulary(d)
                for d in (
                    [],
                    {"ix_to_word": 3},
                    {"ix_to_word": {"1": 3}},
                    {"ix_to_word": {}},
                    {"ix_to_word": {"1": "a", "2": "b"}},
                    {"ix_to_word": {"2": "a"}},
                    {"ix_to_word": {"1": "a", "2": "a", "3": "b"}},
                )
            ],
            "fillin": [
                attempt(lambda: fillin.read_sizes({})),
                attempt(lambda: fillin.read_sizes({"memory_generator.x": zero})),
            ],
        }


def write_json(path: Path, document: Any) -> bool:
    path.write_text(json.dumps(document))
    return True


def write_steps() -> Any:
    """Steps as examples and batches; what a folder of splits holds."""
    event = lambda a, b, text="stir it": Event(Segment(a, b), text)  # noqa: E731
    corpus = Corpus(
        {"v": Story("v", (event(4, 6), event(1, 9, "pour"), event(2, 3)), 8.0), "w": Story("w", (event(0, 1),), 4.0)},
        "c.json",
    )
    with folder() as root:
        rng = np.random.default_rng(0)
        write_features(
            root / "f.safetensors",
            ((v, rng.normal(size=(n, 2)).astype(np.float32)) for v, n in (("v", 5), ("w", 3))),
            {},
        )
        store = Features(root / "f.safetensors")
        vocabulary = words.Vocabulary.build(["stir it", "pour"])
        steps = data.Steps(corpus, store, 4, vocabulary, 3)
        asked = data.Steps(corpus, store, None, targets=False)
        torch.manual_seed(0)
        few = data.Steps(corpus, store, 2, vocabulary, max_events=2)[0]
        sent = data.Steps.collate([steps[0], steps[1]])
        (root / "splits").mkdir()
        fabula.write(corpus, root / "splits" / "train.json", "activitynet")
        youcook = {
            "database": {
                "v": {
                    "duration": 9.0,
                    "subset": "training",
                    "annotations": [{"segment": [0, 3], "id": 0, "sentence": "a"}],
                    "recipe_type": "1",
                    "video_url": "",
                }
            }
        }
        write_json(root / "y.json", youcook)
        read = lambda path, split: attempt(  # noqa: E731
            lambda: [
                describe(x) if isinstance(x, Notes) else {v: len(s) for v, s in x.items()}
                for x in splits.read_split(path, split)
            ],
            root,
        )
        one = lambda story, targets=True: attempt(  # noqa: E731
            lambda: data.Steps(Corpus({"v": story}, "c"), store, targets=targets), root
        )
        source = pss.Source(
            pss.TrainOptions(data=root, features=root),
            store,
            corpus,
            Corpus({"x": Story("x", (event(0, 1, "new it"),), 4.0)}, "d"),
        )
        both = replace(source, options=replace(source.options, words_from="train+val", min_count=2))
        nested = batch.change({"a": torch.ones(1), "b": [torch.ones(1), 3], "c": (1, 2), "d": "x"}, lambda t: t * 2)
        ask = lambda config, **more: attempt(  # noqa: E731
            lambda: pss.Task().prediction_data(
                SimpleNamespace(config=config), {}, pss.PredictOptions(**more), Notes(), None
            ),
            root,
        )
        learned = SimpleNamespace(feature_dim=2, frames=4)
        return {
            "steps": describe([steps[0], steps[1], few]),
            "asked": describe(asked[0]),
            "batch": describe(sent),
            "lengths": [len(steps), sent.videos],
            "read": [
                read(root / "splits", "train"),
                read(root / "splits", "val"),
                read(root / "y.json", "train"),
                read(root / "y.json", "val"),
                read(root / "y.json", "x"),
            ],
            "words": [pss.words_of(source), pss.words_of(both)],
            "captions": [pss.has_captions(SimpleNamespace()), pss.has_captions(SimpleNamespace(captioner="light"))],
            "nested": describe(nested),
            "needs": [pss.needs_steps(SimpleNamespace()), pss.needs_steps(SimpleNamespace(proposals="gt"))],
            "validation": [
                attempt(partial(pss.read_validation, replace(source.options, data=p), Notes()), root)
                for p in (root / "splits", root / "splits" / "train.json", root / "y.json")
            ],
            "wrong": [
                one(Story("v", (), 3.0)),
                one(Story("v", (), 3.0), False),
                one(Story("v", (event(1, 2),), None)),
                one(Story("q", (event(1, 2),), 3.0)),
                one(Story("v", (event(3, 4),), 3.0)),
                attempt(lambda: raw.RawVideos([Path("a.mp4")], None, None)),
                attempt(lambda: raw.RawVideos([Path("a.mp4"), Path("b/a.mkv")], {}, None)),
                ask(learned),
                ask(learned, videos="a.mp4", features=root),
                ask(replace_config(learned, proposals="gt"), features=root / "f.safetensors"),
                ask(replace_config(learned, feature_dim=3), features=root / "f.safetensors"),
                ask(learned, features=root / "f.safetensors", data=root, rate=1.0),
                ask(learned, features=root / "f.safetensors", rate=0.0),
                ask(learned, videos="a.mp4", data=root),
                ask(learned, videos="a.mp4", rate=1.0),
                ask(learned, features=root / "f.safetensors"),
            ],
        }


def replace_config(config: Any, **changes: Any) -> Any:
    return SimpleNamespace(**{**vars(config), **changes})


def write_worlds() -> Any:
    with folder() as root:
        annotations.write_steps(root, {"a_train.json": 2, "b.json": 1}, 1, 2.5, 10.0)
        annotations.write_moments(root, {"m.jsonl": 3}, 2, 30.0, 14.0)
        annotations.write_moments(root, {"n.jsonl": 1}, 2, 10.0, 20.0)
        annotations.write_regions(root, 3, 2)
        (root / "plan").mkdir()
        annotations.write_plan(root / "plan", root / "m.jsonl", 50)
        files = {p.name: p.read_text() for p in sorted(root.glob("*.json*"))}
        clip_bytes = annotations.blank_clip(2.0)
        return {
            **{
                name: json.loads(text) if name.endswith(".json") else [json.loads(x) for x in text.splitlines()]
                for name, text in files.items()
            },
            "plan": (root / "plan" / "PLAN.toml").read_text().replace(str(root), "…"),
            "clips": sorted(p.name for p in (root / "plan").iterdir()),
            "head": clip_bytes[:4].hex(),
        }


def write_small_models() -> Any:
    """FillIn with every choice; ProcNets' beams; the optimisers of two papers; the configs of language models."""
    found: dict[str, Any] = {}
    captions = ["P1 sees P2", "a dog and P3"]
    sized = {
        "hidden": 8,
        "rnn": 4,
        "word_dim": 4,
        "face_hidden": 8,
        "video_hidden": 4,
        "heads": 2,
        "feedforward": 8,
        "vocabulary": blanks.count_words(captions, 1),
        "tokens": 12,
    }
    base = fill_config(**sized)
    one = blanks.BlankSet(
        "s",
        (clip("x", 2), clip("y", 1, 2, 1, 1)),
        (0, 0, 1),
        (1, 2, 1),
        ((0, 2, 3, 0), (0, 2, 0), (0, 4, 0)),
        np.arange(12, dtype=np.float32).reshape(3, 4) / 12,
        (0, 1, 2),
    )
    two = blanks.BlankSet("t", (clip("z", 0),), (0,), (0,), ((0, 3, 0),), np.ones((1, 4), np.float32), (-1,))
    for label, changed in test_model_numbers.variants(base):
        chosen = replace(changed[1], **changed[0]) if isinstance(changed, tuple) else changed
        torch.manual_seed(3)
        model, both = fillin.Model(chosen), blanks.collate([one, two], chosen)
        model.train(label == "dropout")
        with torch.no_grad():
            found[f"fillin {label}"] = [
                {n: float(x) for n, x in model.loss(both).items()},
                describe(model.eval().predict(both)),
            ]
    torch.manual_seed(0)
    cells = procnets.Model(replace(test_procnets.TINY, beam=3)).eval()
    found["beams"] = describe(cells.predict(test_procnets.batch_of(test_model_numbers.SPANS)))
    for name, Optimizer in (("adamw", adamw.BertAdamW), ("bertadam", bertadam.BertAdam)):
        weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
        optimizer = schedule.make_optimizer(
            torch.nn.ParameterList([weight]),
            Settings(
                optimizer="bert" if name == "adamw" else name,
                lr=0.1,
                weight_decay=0.1,
                betas=(0.8, 0.9),
                eps=0.01,
                clip_norm=1.0,
            ),
        )
        for k in range(3):
            optimizer.zero_grad()
            (weight * torch.tensor([3.0, 1.0 + k])).sum().backward()
            optimizer.step()
        found[name] = [type(optimizer) is Optimizer, describe(weight.detach())]
    return found


def write_language() -> Any:
    """What a folder of T5's or GPT-2's weights says; the models themselves need transformers."""
    small = lm.Config.tiny()
    with folder() as root:

        def save(shape: Any, state: dict[str, Any], without: str = "") -> Any:
            for old in root.iterdir():
                old.unlink()
            for name in {"config.json", "tokenizer.json"} - {without}:
                write_json(root / name, shape if name == "config.json" else {"t": 1})
            save_file({n: t.clone() for n, t in state.items()}, root / "model.safetensors")
            return attempt(lambda: lm.Model.read_folder(root), root)

        table, other = torch.ones(3, 2).half(), torch.zeros(3, 2)
        t5 = {"model_type": "t5", "num_heads": 2, "num_layers": 3, "d_ff": 8, "num_decoder_layers": 0}
        gpt = {"model_type": "gpt2", "n_head": 2, "n_layer": 1, "n_inner": None}
        config_of = lambda **more: attempt(lambda: replace(small, **more).shape())  # noqa: E731
        published = json.dumps({"model_type": "t5", "tie_word_embeddings": False, "d_model": 4})
        return {
            "read": [
                save(
                    t5, {"shared.weight": table, "encoder.block.w": other, "decoder.x": other, "lm_head.weight": table}
                ),
                save(
                    gpt,
                    {"transformer.wte.weight": table, "transformer.h.0.attn.bias": other, "transformer.h.0.w": other},
                ),
                save({"model_type": "bert"}, {"a": other}),
                save([], {"a": other}),
                save(t5, {"a": other}),
                save(t5, {"shared.weight": table, "lm_head.weight": other.half()}),
                save(t5, {"shared.weight": table}, "tokenizer.json"),
                save(t5, {"shared.weight": table}, "config.json"),
            ],
            "shapes": [config_of(base=b, dropout=0.3) for b in ("t5", "gpt2")],
            "published": [
                config_of(architecture=published),
                replace(small, architecture=published).scale,
                small.scale,
                replace(small, base="gpt2").scale,
            ],
            "wrong": [
                config_of(architecture="{"),
                config_of(architecture="[]"),
                config_of(architecture=published, base="gpt2"),
                config_of(classifier="separate", task="joint"),
            ],
            "default": asdict(lm.Config()),
            "parts": [lm.Model.parts, lm.Model.grows, lm.Model.inference, describe(lm.Model.recipe)],
        }


def write_loop() -> Any:
    """Which batches an epoch has, rates at their ends, seeds, devices."""
    settings = Settings(batch_size=2, seed=5, epochs=4, decay_from=1, decay_every=1)
    warm = [
        replace(settings, warmup=w, schedule=s)
        for w in (0, 3, 0.5)
        for s in ("staircase", "constant", "linear", "cosine")
    ]
    recipe = {
        "rate": [[float(f"{schedule.lr_at(s, k, 3, 12):.6g}") for k in (0, 1, 2, 3, 5, 6, 9, 11, 12)] for s in warm]
    }
    return {
        **recipe,
        "told": [schedule.describe_rates(s, 3, 12) for s in warm],
        "warned": [schedule.warn_of_rates(s, Settings(), 3, 12) for s in warm],
        "batches": [loader.batches(5, settings, e, r, w) for e in (0, 1) for r, w in ((0, 1), (0, 2), (1, 2))],
        "seeds": [loader.seed_of(1, 2, 3), loader.seed_of(0, 0, 0), processes.seed_of_process(3, 2)],
        "dealt": processes.deal_back([[1, 2], [3]]),
        "share": list(Share(1, 2).of(5)),
        "device": str(processes.find_device("cpu")),
        "fits": [
            [config.fits(v, k) for v in (0, -1, True, 1.5, "a", None, [1], [1, 2])]
            for k in (int, float, bool, str, int | None, tuple[int, ...], tuple[float, float], Literal["a", "b"])
        ],
    }


PARTS: dict[str, Callable[[], Any]] = {
    "recipes": write_recipes,
    "refused": write_refused,
    "options": write_options,
    "checkpoints": write_checkpoints,
    "official": write_official,
    "steps": write_steps,
    "worlds": write_worlds,
    "small-models": write_small_models,
    "language": write_language,
    "loop": write_loop,
}


@pytest.mark.parametrize("name", PARTS)
def test_it_is_as_it_was(name):
    now, stored = json.loads(as_lines(PARTS[name]())), json.loads(read_stored(FOLDER, name))
    assert differences(keep_known(now, stored), stored, least=2e-5) == []  # a new setting may stand beside the others


def test_nothing_is_left_over():
    assert {path.stem for path in FOLDER.iterdir()} == set(PARTS)


if __name__ == "__main__":
    write_stored(FOLDER, {name: lambda part=part: as_lines(part()) for name, part in PARTS.items()})
