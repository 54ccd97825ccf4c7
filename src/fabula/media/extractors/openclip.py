"""CLIP's image encoder (Radford et al., ICML 2021), from a checkpoint of OpenCLIP: the vision transformers B, L, H, g.

    --with openclip:open_clip_model.safetensors          a model trained by OpenCLIP
    --with "openclip(act=quickgelu):vit_b_32.bin"        OpenAI's weights in OpenCLIP's names

Width, patches, layers and picture size are read off the weights; neither open_clip nor torchvision is needed.

    x₀ = LN[class; patches·E] + positions → L × { x += MSA(LN(x));  x += MLP(LN(x)) } → LN(class)·P      [N, C]
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fabula.core.errors import InputError
from fabula.media import base
from fabula.media._clip import Shape, encoder_base
from fabula.media._torch import load_state, move, run_torch
from fabula.media.base import Clips, Vectors

if TYPE_CHECKING:
    from torch import Tensor


HEADS = {1280: 16, 1408: 16, 1664: 16}  # by width; others have heads of 64


@dataclass(frozen=True, kw_only=True)
class Extractor(base.Extractor):
    """The shorter side is the square's side. Vectors are as the encoder gives them; `unit` scales them to length 1."""

    name = "openclip"
    licence = "the user's to know: OpenCLIP's checkpoints differ (LAION's are MIT, OpenAI's MIT, others CC BY-NC)"
    packages = ("torch", "safetensors")
    needs_weights: ClassVar[bool] = True

    resize: int = 224
    mean: tuple[float, ...] = (0.48145466, 0.4578275, 0.40821073)
    std: tuple[float, ...] = (0.26862954, 0.26130258, 0.27577711)
    act: Literal["gelu", "quickgelu"] = "gelu"
    unit: bool = False

    @property
    def dim(self) -> int:
        return int(self.network().proj.shape[1])

    def network(self) -> Any:
        path = self.weights_file()
        assert path is not None
        return load_network(path, self.act, self.device)

    def embed(self, clips: Clips) -> Vectors:
        network = self.network()
        if self.size != network.size:
            raise InputError(
                f"weights for pictures of {network.size} × {network.size}, size={self.size}",
                file=self.weights,
                hint=f"say openclip(size={network.size},resize={network.size})",
            )
        y = run_torch(network, self.normalise(clips[:, clips.shape[1] // 2]), self.device, self.threads)
        if self.unit:
            y /= (y**2).sum(1, keepdims=True) ** 0.5
        return y


@functools.lru_cache(maxsize=1)
def load_network(path: Path, act: str, device: str) -> Any:
    state = load_state(path)
    state = {name.removeprefix("module."): value for name, value in state.items()}
    visual = {n.removeprefix("visual."): v.float() for n, v in state.items() if n.startswith("visual.")}
    lacking = [n for n in ("conv1.weight", "class_embedding", "positional_embedding", "proj") if n not in visual]
    if lacking:
        raise InputError(
            f"no vision transformer of CLIP: visual.{lacking[0]} is not there",
            file=path,
            hint="OpenCLIP's ViT checkpoints; export others to ONNX",
        )
    try:
        network = build_network(visual, act)
    except (KeyError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(f"weights that do not fit together ({reason})", file=path, hint="get them again") from None
    return move(network, device)


def build_network(w: dict[str, Tensor], act: str) -> Any:
    """The encoder with these weights."""
    import torch
    from torch import nn
    from torch.nn import functional as F  # noqa: N812  (its usual name)

    D, _, patch, _ = w["conv1.weight"].shape
    side = round((len(w["positional_embedding"]) - 1) ** 0.5)
    built: Any = encoder_base(w, Shape(D, HEADS.get(D, D // 64), act))

    class Encoder(built):  # type: ignore[misc]
        size = side * patch

        def __init__(self) -> None:
            super().__init__()
            self.proj = nn.Parameter(w["proj"], requires_grad=False)

        def forward(self, x: Tensor) -> Tensor:
            x = F.conv2d(x.permute(0, 3, 1, 2), self.p("conv1.weight"), stride=patch)  # [N, D, S, S]
            x = x.flatten(2).transpose(1, 2)  # [N, S², D]
            x = torch.cat([self.p("class_embedding").expand(len(x), 1, D), x], 1) + self.p("positional_embedding")
            x = self.blocks(self.norm(x, "ln_pre"))
            y: Tensor = self.norm(x[:, 0], "ln_post") @ self.proj  # [N, C]
            return y

    return Encoder()
