"""All that decides what is sent about a film: prompts, frame recipe, picture size, layout, model, server.

signature    SETTINGS-FRAMES, 16 digits each: what is listed here; all frames that were sent (decoder, times, hashes)

Another prompt, frame size, layout, model or server is another signature; so is another decoder, by its pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fabula.asking.bench import Inquiry
from fabula.asking.options import AskOptions
from fabula.asking.prompts import SCHEMAS, Kind, find_prompt
from fabula.core.errors import SpecError
from fabula.documents.fields import JsonDict
from fabula.llm.call import Call, VideoPart
from fabula.llm.layouts import Layout, layout
from fabula.llm.options import NOBODY
from fabula.llm.prompts import Prompt
from fabula.media.frame_calls import time_images
from fabula.media.frame_sets import FilmFrames, PictureFormat, sign_record
from fabula.media.sampling import recipe
from fabula.media.sampling.base import FrameRecipe
from fabula.media.token_costs import TokenCost, find_cost

VERSION = 1


@dataclass(frozen=True)
class FilmShown:
    """A film as it is shown to a model."""

    id: str
    sha256: str
    seconds: float
    frames: FilmFrames
    whole: VideoPart | None = None  # the film itself, where the layout sends it


@dataclass(frozen=True)
class Settings:
    """How the questions of a benchmark are put. `kinds`: of its questions."""

    options: AskOptions
    kinds: Sequence[Kind]

    def check(self) -> None:
        """What is wrong with names and prompts is said before any work."""
        self.recipe, self.pictures, self.layout, self.prompts  # noqa: B018  (read now)

    @cached_property
    def recipe(self) -> FrameRecipe:
        return find_recipe(self.options.frames)

    @cached_property
    def pictures(self) -> PictureFormat:
        return PictureFormat(side=self.options.side, quality=self.options.quality)

    @cached_property
    def layout(self) -> Layout:
        return layout(self.options.layout)

    @cached_property
    def cost(self) -> TokenCost:
        return find_cost(self.options.model)

    @cached_property
    def prompts(self) -> Mapping[Kind, Prompt]:
        return {kind: find_prompt(kind, self.options.prompt) for kind in self.kinds}

    def describe(self) -> JsonDict:
        """As the record and the signature have it. The key of the server is in no file."""
        if self.options.server_name == NOBODY:
            raise SpecError("the server is not known: name it with --url, or a record that has it")
        return {
            "ask": VERSION,
            "model": self.options.model,
            "server": self.options.server_name,
            "prompts": {kind: {"name": found.name, "hash": found.hash} for kind, found in self.prompts.items()},
            "frames": self.describe_source(),
            "layout": self.layout.full(),
            "times": self.options.times,
            "parameters": self.options.parameters,
            "schema": self.options.schema if any(p.name in SCHEMAS for p in self.prompts.values()) else None,
        }

    def describe_source(self) -> JsonDict:
        """What frames are taken, and how they are written."""
        if self.layout.needs_film:
            return {"film": "whole"}
        return {
            "recipe": self.recipe.full(),
            "origin": {"name": self.recipe.origin, "version": self.recipe.version},
            "pictures": self.pictures.to_dict(),
        }

    @cached_property
    def signature(self) -> str:
        """Of the settings alone."""
        return sign_record(self.describe())

    @cached_property
    def source_signature(self) -> str:
        """Of the way in which frames are taken."""
        return sign_record(self.describe_source())

    def line(self) -> str:
        """The settings on one line, as a signature prints them."""
        o = self.options
        prompts = ",".join(f"{p.name}#{p.hash[:8]}" for p in self.prompts.values())
        frames = "" if self.layout.needs_film else f"|frames:{self.recipe.full()}|side:{o.side}|quality:{o.quality}"
        layout = f"|layout:{self.layout.full()}|times:{o.times}"
        return f"model:{o.model}|server:{o.server_name}|prompt:{prompts}{frames}{layout}"

    def write_prompt(self, inquiry: Inquiry, seconds: float) -> str:
        return self.prompts[inquiry.kind].fill(**inquiry.values, duration=write_seconds(seconds))

    def build_call(self, inquiry: Inquiry, film: FilmShown) -> Call:
        """One question about one film. What was shown goes on record beside the answer."""
        prompt = self.prompts[inquiry.kind]
        timed = time_images(film.frames, self.cost, self.options.times) if film.frames.samples else []
        arranged = self.layout.arrange(timed, self.write_prompt(inquiry, film.seconds), film.whole)
        provenance: JsonDict = {
            "ask": VERSION,
            "settings": self.signature,
            "server": self.options.server_name,
            "prompt": {"name": prompt.name, "hash": prompt.hash},
            "question": inquiry.id,
            "film": {"id": film.id, "sha256": film.sha256, "seconds": film.seconds},
            "source": self.source_signature,
            "layout": self.layout.full(),
            "times": self.options.times,
            "frames": film.frames.record,
        }
        return Call(
            self.options.model,
            parts=arranged.parts,
            parameters={**self.options.parameters, **arranged.parameters},
            schema=SCHEMAS.get(prompt.name) if self.options.schema != "never" else None,
            provenance=provenance,
        )


def find_recipe(text: str) -> FrameRecipe:
    """A recipe by its name; a number is so many frames of ours."""
    return recipe(f"fabula/even(n={int(text)})" if text.strip().isdecimal() else text)


def sign_run(settings: Settings, frames: Mapping[str, str]) -> str:
    """Of the settings, and of the frames of every film that was asked about."""
    return f"{settings.signature}-{sign_record(dict(frames))}"


def write_seconds(seconds: float) -> str:
    """12, 12.5, 12.345."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".")
