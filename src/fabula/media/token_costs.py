"""How many tokens pictures and videos cost, by family of model: for `--plan`, before anything is sent.

    family            a picture of h × w             a video of n frames
    qwen2, qwen2.5    h·w/784, sides as resized      half of it a frame
    qwen3             h·w/1024, sides as resized     half of it a frame, and a mark for every two
    llava-1.5         576                            576 a frame
    llava-next-video  576                            144 a frame
    llava-onevision   729 a crop                     196 a frame, and one
    internvl          256 a tile                     256 a frame
    timechat          96 of 96 frames: 32 for every window of 32

From the originals' code, but 576 and 729, which are general knowledge; a model that is none of these costs 1,200 a
picture, which is on the long side. Words beside pictures are counted elsewhere (llm/call.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from fabula.core.errors import SpecError
from fabula.core.registry import close_to, key
from fabula.llm.call import PICTURE
from fabula.media.sampling.base import RecipeError
from fabula.media.sampling.internvl import DynamicPreprocess
from fabula.media.sampling.qwen_vl_utils import SmartResize, VideoSize

BORDERS = 2  # tokens around a picture or video: where it begins and ends
PAIR_MARK = 10  # tokens of `<123.4 seconds>` and the borders of two frames, about


@dataclass(frozen=True, slots=True)
class TokenCost:
    """What a family of models pays."""

    name: str
    pattern: str  # in the name of a model
    picture: Callable[[int, int], float]  # height, width → tokens
    video: Callable[[int, int, int], float]  # height, width, frames → tokens

    def of_pictures(self, height: int, width: int, count: int = 1) -> int:
        """Pictures that are sent one by one."""
        return count * (math.ceil(self.picture(height, width)) + BORDERS)

    def of_video(self, height: int, width: int, frames: int) -> int:
        """Frames that the server takes from one video."""
        return math.ceil(self.video(height, width, frames)) + BORDERS if frames else 0


def count_squares(factor: int) -> Callable[[int, int], float]:
    """Squares of the factor, once the sides are multiples of it."""

    def count(height: int, width: int) -> float:
        try:
            size = SmartResize(factor=factor).size(height, width)
        except RecipeError:  # a sliver, which the model refuses as well
            return height * width / factor**2
        return size.height * size.width / factor**2

    return count


def count_video_squares(patch: int, mark: float) -> Callable[[int, int, int], float]:
    def count(height: int, width: int, frames: int) -> float:
        pairs = math.ceil(frames / 2)
        size = VideoSize(image_patch_size=patch).size(height, width, 2 * pairs)
        return pairs * (size.height * size.width / (2 * patch) ** 2 + mark)

    return count


def count_tiles(height: int, width: int) -> float:
    return 256 * DynamicPreprocess(use_thumbnail=True).size(height, width).tiles


def cost_frames(each: float, more: float = 0) -> Callable[[int, int, int], float]:
    return lambda height, width, frames: each * frames + more


def cost_windows(height: int, width: int, frames: int) -> float:
    return 32 * math.ceil(frames / 32)


def cost_picture(each: float) -> Callable[[int, int], float]:
    return lambda height, width: each


ONEVISION_CROP = 384  # pixels


def count_crops(height: int, width: int) -> float:
    """The whole picture, and as many crops as cover it, nine at the most."""
    crops = math.ceil(height / ONEVISION_CROP) * math.ceil(width / ONEVISION_CROP)
    return 729 * (1 + min(9, crops if crops > 1 else 0))


COSTS = (  # a LLaVA on Qwen's words is a LLaVA
    TokenCost("llava-onevision", r"llava.*one-?vision|llava-ov", count_crops, cost_frames(196, 1)),
    TokenCost("llava-next-video", r"llava.*(next|1\.6).*video|llava-video", cost_picture(576), cost_frames(144)),
    TokenCost("llava-1.5", r"llava", cost_picture(576), cost_frames(576)),
    TokenCost("internvl", r"internvl|internvideo", count_tiles, cost_frames(256)),
    TokenCost("timechat", r"timechat|vtg-?llm", cost_picture(32), cost_windows),
    TokenCost("qwen3", r"qwen-?3", count_squares(32), count_video_squares(16, PAIR_MARK)),
    TokenCost("qwen2.5", r"qwen-?2\.5", count_squares(28), count_video_squares(14, 0)),
    TokenCost("qwen2", r"qwen-?2|qwen.*vl", count_squares(28), count_video_squares(14, 0)),
    TokenCost("other", r"", cost_picture(PICTURE - BORDERS), cost_frames(PICTURE)),
)


def find_cost(model: str) -> TokenCost:
    """The family that a model's name belongs to: `Qwen/Qwen3-VL-8B-Instruct` is qwen3."""
    return next(cost for cost in COSTS if re.search(cost.pattern, model.lower()))


def token_cost(family: str) -> TokenCost:
    """A family by its name."""
    found = next((cost for cost in COSTS if key(cost.name) == key(family)), None)
    if found is None:
        raise SpecError(f"no family of models is called {family!r}; {close_to(family, [c.name for c in COSTS])}")
    return found
