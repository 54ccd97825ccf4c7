"""One model per file, all of it in that file: a `Config` dataclass on top and a `Model` that the one loop can train.

The contract (learn/train.py) is small:

    Model(config)                  `config` is a frozen dataclass of plain values; `Model.config_class` is its type,
                                   with a `tiny()`
    Model.name, Model.recipe       the file's name; the training settings of the paper (learn.options.Settings)
    model.loss(batch)  → dict      named losses, "loss" is what is minimised; the others are logged
    model.predict(batch) → list    one answer per unit of the batch, such as a Story

Optional:

    Model.passes = ("fitb", "caption")  several losses of each batch in turn: `loss(batch, part)` with each of them
    Model.leaves_unused = True          some parameters get no gradient in some batches (several processes must know)
    Model.inference = ("beam", …)       settings that `predict --set` may change: they act on predictions alone; others
                                        are refused. Without it every setting may be changed
    Model.parts = {"encoder": (…,)}     prefixes of the weights that `--from-part encoder` takes over
    Config.scope = "corpus"             of models that find moments: they search all videos, or "video": the query's own
    Model.grows = ("positions.weight",) tables that may have more rows than the weights of --from: the rest is random
    model.begin(epoch, step)            called before every step of the optimiser, whose number it is (from 0)
    model.parameter_groups(settings)    groups for the optimiser; a group's "lr_scale" multiplies the learning rate

A model of another package is found by an entry point of the group `fabula.models` that leads to its `Model`.
"""

from __future__ import annotations

from fabula.core.registry import Room

__all__ = ["room"]


def check_model(thing: object) -> str | None:
    """What is wrong with a model of another package."""
    from fabula.core.plugins import check_has

    return check_has(thing, ("name", "config_class", "recipe", "loss", "predict"), "model")


room = Room(__name__, "Model", "model", group="fabula.models", check=check_model)
