"""Named frame recipes: which frames of a video a harness sends to a model, and which times it says. One file a family.

    recipe("vllm/opencv(num_frames=32)").select(VideoFacts(300, 30.0)).indices
    resizer("qwen-vl-utils/fetch_video-size").size(360, 640, frames=64)

A recipe's name is FAMILY/SAMPLER, its settings bear the names that the original gives them, and it prints itself as it
is written. The rules were read from the originals at the commits that each file names; docs/frames.md has the table.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabula.core import spec
from fabula.core.errors import SpecError
from fabula.core.registry import Room, key
from fabula.media.sampling.base import FrameRecipe, SizeRecipe

__all__ = ["all_recipes", "all_resizers", "recipe", "resizer"]


class RecipeRoom(Room):
    """Recipes by FAMILY/SAMPLER: what stands before the slash is the file."""

    def find_own(self, name: str) -> type[FrameRecipe] | type[SizeRecipe] | None:
        family = key(name).partition("/")[0]
        things = self.load(family) if family in self.modules() else ()
        found: type[FrameRecipe] | type[SizeRecipe] | None
        found = next((thing for thing in things if key(thing.name) == key(name)), None)
        return found


room = RecipeRoom(__name__, "Recipe", "frame recipe")


def recipe(text: str) -> FrameRecipe:
    """From its string: `vllm/opencv`, `qwen-vl-utils/decord(fps=1,max_frames=128)`."""
    found, settings = find_class(text)
    if not issubclass(found, FrameRecipe):
        raise SpecError(
            f"{found.name} gives the size of pictures, and chooses none; `fabula list frames` shows the rest"
        )
    return found().with_params(settings)


def resizer(text: str) -> SizeRecipe:
    """From its string: `qwen-vl-utils/smart_resize(factor=28)`."""
    found, settings = find_class(text)
    if not issubclass(found, SizeRecipe):
        raise SpecError(f"{found.name} chooses frames, and gives no size; `fabula list frames` shows the rest")
    return found().with_params(settings)


def find_class(text: str) -> tuple[type[FrameRecipe] | type[SizeRecipe], dict[str, str]]:
    """The class of a recipe, and its settings as text. A spec's own grammar knows no slash."""
    name, bracket, rest = text.strip().partition("(")
    _, settings = spec.parse(f"recipe{bracket}{rest}")
    found: type[FrameRecipe] | type[SizeRecipe] = room.get(name)
    return found, settings


def all_recipes() -> Iterator[type[FrameRecipe]]:
    """Those that choose frames, by file name."""
    return (thing for thing in room.all() if issubclass(thing, FrameRecipe))


def all_resizers() -> Iterator[type[SizeRecipe]]:
    """Those that give the size of pictures."""
    return (thing for thing in room.all() if issubclass(thing, SizeRecipe))
