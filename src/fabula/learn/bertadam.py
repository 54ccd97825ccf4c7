"""BertAdam (the first PyTorch port of BERT, 2018; TVR's XML, ReLoCLNet): Adam without bias correction.

g ← g · min(1, most/‖g‖)                                    every tensor by itself, where other loops clip all together
m ← β1 m + (1 − β1) g,   v ← β2 v + (1 − β2) g²
θ ← θ − lr · (m/(√v + eps) + decay · θ)

Its own schedule counts steps from 0: with a warm-up the first learning rate is 0 (loop/schedule.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from fabula.documents.fields import JsonDict
from fabula.learn.adamw import BertAdamW

if TYPE_CHECKING:
    from torch.optim.optimizer import ParamsT


class BertAdam(BertAdamW):
    """The state has the names of torch's own: step, exp_avg, exp_avg_sq. `most`: a tensor's gradient norm, at most."""

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        most: float | None = 1.0,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)
        self.most = most

    def move(self, p: torch.Tensor, group: JsonDict) -> None:
        g, (b1, b2) = p.grad, group["betas"]
        assert g is not None
        m, v = self.averages(p)
        if self.most is not None:
            g = g * (self.most / (torch.linalg.vector_norm(g) + 1e-6)).clamp(max=1.0)
        m.mul_(b1).add_(g, alpha=1 - b1)
        v.mul_(b2).addcmul_(g, g, value=1 - b2)
        p.add_(m / (v.sqrt() + group["eps"]) + group["weight_decay"] * p, alpha=-group["lr"])
