"""One model per file, all of it in that file: a `Config` dataclass on top and a `Model` that the one loop can train.

The contract (learn/train.py) is small:

    Model(config)                  `config` is a dataclass of plain values; `Model.config_class` is its type
    Model.name, Model.recipe       the file's name; the training settings of the paper
    model.loss(batch)  → dict      named losses, "loss" is their weighted sum
    model.predict(batch) → list    one answer per video, such as a Story
"""

from __future__ import annotations

from fabula.core.registry import Room

__all__ = ["room"]

room = Room(__name__, "Model", "model")
