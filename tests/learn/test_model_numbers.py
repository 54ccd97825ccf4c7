"""Losses and answers of every model with a seed, and of every option it can be given: tests/learn/frozen has them.

Other numbers mean another model: checkpoints of before would answer otherwise. To write them anew:
`python -m tests.learn.test_model_numbers`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

from fabula.core.options import MUST  # noqa: E402
from fabula.learn import models, official, options, tasks  # noqa: E402
from fabula.learn.identity.videosets import collate  # noqa: E402
from fabula.learn.models import hero, micap, noise_scorer, pdvc, procnets, qd_detr, reloclnet, xml  # noqa: E402
from fabula.learn.retrieval.contract import Batch, pad_rows  # noqa: E402
from tests.learn import test_micap, test_pdvc, test_procnets  # noqa: E402
from tests.stored import as_text, keep_known, read_stored, write_stored  # noqa: E402

FOLDER = Path(__file__).parent / "frozen"
SPANS = [[(0.1, 0.3), (0.35, 0.6), (0.7, 0.9)], [(0.2, 0.5), (0.5, 0.95)]]
WIDTH = {"hidden": 8, "heads": 2, "feature_dim": 5}


def draw(*shape: int) -> Any:
    return torch.randn(*shape)


def moments_batch(config: Any) -> Batch:
    video, video_mask = pad_rows([draw(9, 5), draw(7, 5), draw(9, 5)])
    if isinstance(config, hero.Config):
        query, query_mask = pad_rows([torch.randint(2, 20, (n,)) for n in (4, 3, 2)])
    else:
        query, query_mask = pad_rows([draw(n, 6) for n in (4, 3, 2)])
    spans, durations = torch.tensor([[1, 4], [0, 6], [3, 5]]), torch.tensor([9.0, 7.0, 9.0])
    return Batch(["a", "b", "c"], query, query_mask, video, video_mask, durations, spans, videos=["v", "w", "v"])


def highlights_batch(config: qd_detr.Config) -> qd_detr.HighlightBatch:
    features, mask = pad_rows([draw(9, 5), draw(7, 5)])
    words, word_mask = pad_rows([draw(4, 6), draw(3, 6)])
    windows = torch.tensor([[[0.1, 0.3], [0.5, 0.9]], [[0.2, 0.6], [0.0, 0.0]]])
    window_mask = torch.tensor([[True, True], [True, False]])
    marks = torch.randint(0, 12, (2, 9)) * mask
    pairs = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[7, 8], [0, 6]])
    duration = torch.tensor([18.0, 14.0])
    return qd_detr.HighlightBatch(
        [1, 2], features, mask, words, word_mask, duration, windows, window_mask, marks, *pairs, ["v", "w"]
    )


def noise_batch(config: noise_scorer.Config) -> noise_scorer.Batch:
    video, video_mask = pad_rows([draw(6, 5), draw(4, 5)])
    texts, texts_mask = pad_rows([draw(n, 6) for n in (4, 3, 2, 4)])
    rivals = ~torch.eye(2, dtype=torch.bool)
    return noise_scorer.Batch(["a", "b"], video, video_mask, texts, texts_mask, torch.tensor([0, 1, 0, 1]), rivals)


MODELS: dict[str, tuple[Any, Any, Callable[[Any], Any]]] = {
    "pdvc": (pdvc.Model, test_pdvc.TINY, lambda c: test_pdvc.batch_of(SPANS)),
    "procnets": (procnets.Model, test_procnets.TINY, lambda c: test_procnets.batch_of(SPANS)),
    "micap": (
        micap.Model,
        test_micap.SMALL,
        lambda c: collate([test_micap.videoset("a", 3), test_micap.videoset("b", 2, 5)], c),
    ),
    "xml": (xml.Model, xml.Config.tiny(**WIDTH, query_dim=6), moments_batch),
    "reloclnet": (reloclnet.Model, reloclnet.Config.tiny(**WIDTH, query_dim=6), moments_batch),
    "hero": (hero.Model, hero.Config.tiny(**WIDTH, feedforward=12, vocab_size=20), moments_batch),
    "qd_detr": (qd_detr.Model, qd_detr.Config.tiny(**WIDTH, query_dim=6, feedforward=12, queries=4), highlights_batch),
    "noise_scorer": (
        noise_scorer.Model,
        noise_scorer.Config.tiny(**WIDTH, query_dim=6, embed=8),
        noise_batch,
    ),
}


def variants(config: Any) -> Iterator[tuple[str, Any]]:
    """The config, and each of its choices made otherwise; dropout is on in one of them."""
    yield "as it is", config
    hints = get_type_hints(type(config))
    for f in fields(config):
        value, hint = getattr(config, f.name), hints[f.name]
        literals = [hint, *get_args(hint)] if get_origin(hint) is not Literal else [hint]
        choices = [c for one in literals if get_origin(one) is Literal for c in get_args(one)]
        if isinstance(value, bool):
            choices = [not value]
        for choice in choices:
            if choice != value:
                yield f"{f.name}={choice}", ({f.name: choice}, config)
    drops = {f.name: 0.3 for f in fields(config) if f.name.endswith("dropout")}
    if drops:
        yield "dropout", (drops, config)


def short(value: Any) -> Any:
    """Numbers with four digits, of tensors and of whatever answers are made of."""
    if isinstance(value, torch.Tensor | np.ndarray):
        return short(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.4g}") + 0.0
    if isinstance(value, dict):
        return {k: short(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [short(v) for v in value]
    if is_dataclass(value):
        return short({f.name: getattr(value, f.name) for f in fields(value)})
    return value if isinstance(value, str | int | bool | None) else str(value)


def numbers_of(name: str) -> Iterator[tuple[str, Any]]:
    Model, base, make_batch = MODELS[name]
    for label, one in variants(base):
        config = replace(one[1], **one[0]) if isinstance(one, tuple) else one
        torch.manual_seed(3)
        model, batch = Model(config), make_batch(config)
        model.train(label == "dropout")
        if hasattr(model, "begin"):
            model.begin(50, 5000)
        torch.manual_seed(4)
        with torch.no_grad():
            yield label, short({part: loss.sum().item() for part, loss in losses_of(model, batch).items()})
            if label != "dropout":
                yield f"{label}, answers", short(answers_of(model.eval(), batch))[:3]


def losses_of(model: Any, batch: Any) -> dict[str, Any]:
    if isinstance(model, micap.Model):
        return {f"{part} {n}": loss for part in model.passes for n, loss in model.loss(batch, part).items()}
    return dict(model.loss(batch))


def answers_of(model: Any, batch: Any) -> Any:
    if isinstance(batch, Batch):
        queries, videos = (
            model.encode_query(batch.query, batch.query_mask),
            model.encode_video(batch.video, batch.video_mask),
        )
        start, end = model.span_logits(queries.spans, videos.spans, batch.video_mask)
        return [model.video_scores(queries, videos), start, end]
    return list(model.predict(batch))


@cache
def write_numbers(name: str) -> str:
    torch.set_num_threads(1)
    return as_text(dict(numbers_of(name)))


def write_configs() -> str:
    found = {}
    for name in [*MODELS, "fillin"]:
        Config = models.room.get(name).config_class
        recipe = dict(models.room.get(name).recipe)
        found[name] = {"config": asdict(Config()), "tiny": dict(Config.small), "recipe": recipe}
    return as_text(found)


def write_sizes() -> str:
    """What the shapes of published weights say of a model, by our names of them; and what is left idle."""
    found = {}
    for name, (Model, config, _) in MODELS.items():
        if name in official.TABLES:
            table = official.table_of(name)
            with torch.device("meta"):
                state = Model(config).state_dict()
            found[name] = {"sizes": table.sizes(state), "idle": table.idle(config), "encoder": table.encoder}
    return as_text(found)


def write_options() -> str:
    kinds: dict[str, Any] = {"settings": options.Settings, "run": options.Run, "simulate": options.SimulateOptions}
    for task in tasks.room.all():
        for part in ("Train", "Predict", "Simulate", "Analyse"):
            if isinstance(kind := getattr(task, part, None), type):
                kinds[f"{task.name} {part}"] = kind
    found = {}
    for name, kind in kinds.items():
        found[name] = {
            o.name: [
                "must be given" if o.default is MUST else o.default,
                *([o.about.at_least, o.about.at_most] if (o.about.at_least, o.about.at_most) != (None, None) else []),
                *(word for word in ("several", "parts", "writes") if getattr(o.about, word)),
                *([f"needs {o.about.needs}"] if o.about.needs else []),
            ]
            for o in kind.options()
        }
    return as_text(found)


def write_presets() -> str:
    found = {}
    for task in tasks.room.all():
        for name, p in task.presets.items():
            settings = {"settings": dict(p.settings), "options": dict(p.options)}
            found[f"{task.name} {name}"] = settings | {m: p.config_of(m) for m in p.models or task.models}
    return as_text(found)


TEXTS: dict[str, Callable[[], str]] = {
    **{f"numbers-{name}": (lambda name=name: write_numbers(name)) for name in MODELS},
    "configs": write_configs,
    "options": write_options,
    "presets": write_presets,
    "sizes": write_sizes,
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_as_it_was(name):
    stored, now = json.loads(read_stored(FOLDER, name)), json.loads(TEXTS[name]())
    assert keep_known(now, stored) == stored  # what is new may stand beside it


if __name__ == "__main__":
    write_stored(FOLDER, TEXTS)
