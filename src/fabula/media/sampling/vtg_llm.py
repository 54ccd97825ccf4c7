"""The frames of VTG-LLM (gyxxyg/VTG-LLM ce13f3ed; Guo et al., AAAI 2025): those of TimeChat, on 81 of 81 cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.media.sampling.timechat import Uniform as TimeChat


@dataclass(frozen=True, kw_only=True)
class Uniform(TimeChat):
    """n_frms."""

    name: ClassVar[str] = "vtg-llm/uniform"
    origin: ClassVar[str] = "gyxxyg/VTG-LLM"
    version: ClassVar[str] = "ce13f3ed"
    about: ClassVar[str] = "as timechat/uniform; the model answers with digits that are tokens of their own"


RECIPES = (Uniform,)
