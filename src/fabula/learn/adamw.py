"""AdamW as BERT's heirs have it (Hugging Face's first; HERO, UNITER): eps beside the plain root, decay after the step.

m ← β1 m + (1 − β1) g,   v ← β2 v + (1 − β2) g²
θ ← θ − lr · √(1 − β2^t)/(1 − β1^t) · m/(√v + eps)          torch: m̂/(√v̂ + eps), so that eps weighs more early on
θ ← θ − lr · decay · θ                                      torch: before the step
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, overload

import torch

from fabula.documents.fields import JsonDict

if TYPE_CHECKING:
    from torch.optim.optimizer import ParamsT


class BertAdamW(torch.optim.Optimizer):
    """The state has the names of torch's own: step, exp_avg, exp_avg_sq."""

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.move(p, group)
        return loss

    def move(self, p: torch.Tensor, group: JsonDict) -> None:
        """One step of one parameter."""
        g, (b1, b2) = p.grad, group["betas"]
        assert g is not None
        m, v = self.averages(p)
        t = int(self.state[p]["step"].item())
        m.mul_(b1).add_(g, alpha=1 - b1)
        v.mul_(b2).addcmul_(g, g, value=1 - b2)
        rate = group["lr"] * (1 - b2**t) ** 0.5 / (1 - b1**t)
        p.addcdiv_(m, v.sqrt().add_(group["eps"]), value=-rate)
        p.mul_(1 - group["lr"] * group["weight_decay"])

    def averages(self, p: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """m and v of a parameter, for its next step, which is counted."""
        state = self.state[p]
        if not state:
            state["step"] = torch.zeros(())
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(p), torch.zeros_like(p)
        state["step"] += 1
        return state["exp_avg"], state["exp_avg_sq"]
