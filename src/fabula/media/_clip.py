"""What CLIP's two encoders are made of (Radford et al., ICML 2021): weights by their names, and blocks of attention.

x ← x + attend(norm(x));   x ← x + W₂ act(W₁ norm(x))        words look back only, pictures at all of their patches
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, nn


BLOCKS = "transformer.resblocks."


@dataclass(frozen=True, slots=True)
class Shape:
    """Of the blocks."""

    width: int  # D
    heads: int
    act: str  # gelu, or quickgelu as the first models have it
    causal: bool = False


def count_layers(w: dict[str, Tensor]) -> int:
    """Blocks among these weights."""
    return 1 + max(int(name.split(".")[2]) for name in w if name.startswith(BLOCKS))


def encoder_base(w: dict[str, Tensor], shape: Shape) -> type[nn.Module]:
    """The class of encoders with these weights; what comes before and after the blocks is for its heirs."""
    import torch
    from torch import nn
    from torch.nn import functional as F  # noqa: N812  (its usual name)

    D, heads, layers = shape.width, shape.heads, count_layers(w)

    class Base(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.ParameterDict(
                {name.replace(".", "/"): nn.Parameter(value, requires_grad=False) for name, value in w.items()}
            )

        def p(self, name: str) -> Tensor:
            return self.get_parameter(f"w.{name.replace('.', '/')}")

        def norm(self, x: Tensor, name: str) -> Tensor:
            return F.layer_norm(x, (D,), self.p(f"{name}.weight"), self.p(f"{name}.bias"))

        def line(self, x: Tensor, name: str) -> Tensor:
            return F.linear(x, self.p(f"{name}.weight"), self.p(f"{name}.bias"))

        def blocks(self, x: Tensor) -> Tensor:
            for i in range(layers):
                x = self.block(x, f"{BLOCKS}{i}")
            return x  # [N, T, D]

        def block(self, x: Tensor, name: str) -> Tensor:
            N, T, _ = x.shape
            qkv = F.linear(
                self.norm(x, f"{name}.ln_1"), self.p(f"{name}.attn.in_proj_weight"), self.p(f"{name}.attn.in_proj_bias")
            )
            q, k, v = qkv.view(N, T, 3, heads, D // heads).permute(2, 0, 3, 1, 4)  # [N, heads, T, d] each
            y = F.scaled_dot_product_attention(q, k, v, is_causal=shape.causal).transpose(1, 2).reshape(N, T, D)
            x = x + self.line(y, f"{name}.attn.out_proj")
            y = self.line(self.norm(x, f"{name}.ln_2"), f"{name}.mlp.c_fc")
            y = y * torch.sigmoid(1.702 * y) if shape.act == "quickgelu" else F.gelu(y)
            return x + self.line(y, f"{name}.mlp.c_proj")

    return Base
