"""CLIP ViT-B/32 as MICap looks at clips (Radford et al., ICML 2021): five frames a second, OpenAI's weights.

    --with clip_vit_b32:vit_b_32.bin      512 numbers; a checkpoint in OpenCLIP's names, as for openclip

The same as openclip(fps=5,act=quickgelu): OpenAI trained with QuickGELU, LAION's checkpoints take act=gelu.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fabula.media.extractors import openclip


@dataclass(frozen=True, kw_only=True)
class Extractor(openclip.Extractor):
    """Five features a second."""

    name = "clip_vit_b32"

    fps: float = 5.0
    act: Literal["gelu", "quickgelu"] = "quickgelu"
