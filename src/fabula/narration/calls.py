"""The calls about a film: one for each window, with frames, times, portraits and words; and one about the film."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fabula.core.errors import SpecError
from fabula.documents.fields import JsonDict
from fabula.llm.call import Call, Image, Part, Text
from fabula.llm.layouts import Layout, TimedImage, layout
from fabula.llm.prompts import Prompt
from fabula.media.frame_calls import time_images
from fabula.media.frame_sets import PictureFormat, label_times
from fabula.media.sampling import recipe
from fabula.media.token_costs import TokenCost, cost_frames, cost_picture, find_cost
from fabula.narration.companions import Companions, Person, cut_texts
from fabula.narration.frames import FrameSource, WindowFrames
from fabula.narration.options import TellOptions
from fabula.narration.prompts import fill_prompt, load_prompts
from fabula.narration.reading import Happening
from fabula.narration.styles import Gap
from fabula.narration.windows import Window

EVENT: JsonDict = {
    "type": "object",
    "properties": {"start": {"type": "number"}, "end": {"type": "number"}, "caption": {"type": "string"}},
    "required": ["start", "end", "caption"],
    "additionalProperties": False,
}
TITLE: JsonDict = {"title": {"type": "string"}}
LIST: JsonDict = {"events": {"type": "array", "items": EVENT}}
CARRIED = 300  # characters of an event that is carried on
MOST_CUTS = 100  # of a window that are listed
MOST_EVENTS = 60_000  # characters of events that the last call reads


def make_schema(*properties: Mapping[str, object]) -> JsonDict:
    merged = {name: value for part in properties for name, value in part.items()}
    return {"type": "object", "properties": merged, "required": list(merged), "additionalProperties": False}


OF_WINDOW, OF_TITLE, OF_CHAPTERS = make_schema(LIST), make_schema(TITLE), make_schema(TITLE, LIST)


@dataclass(frozen=True)
class WindowContext:
    """What a call of a window says besides its frames."""

    duration: float  # of the film
    companions: Companions
    film: str = ""  # its id, for the record
    earlier: Sequence[Happening] = ()
    cuts: Sequence[float] = ()
    gaps: Sequence[Gap] = ()


@dataclass(frozen=True)
class Asking:
    """All that decides what is asked: models, prompts, frames, settings."""

    options: TellOptions

    def __post_init__(self) -> None:
        if self.layout.needs_film:
            raise SpecError(f"--layout {self.layout} sends a whole film, and a window is part of one; choose pairs")

    @cached_property
    def layout(self) -> Layout:
        return layout(self.options.layout)

    @cached_property
    def cost(self) -> TokenCost:
        """Of the model's family, or as the user says."""
        tokens = self.options.picture_tokens
        if tokens is None:
            return find_cost(self.options.model)
        return TokenCost("--picture-tokens", "", cost_picture(tokens), cost_frames(tokens))

    @cached_property
    def source(self) -> FrameSource:
        o = self.options
        return FrameSource(recipe(o.frames), PictureFormat(side=o.side, quality=o.quality))

    @cached_property
    def prompts(self) -> Mapping[str, Prompt]:
        return load_prompts(self.options.prompts)

    @property
    def last_prompt(self) -> str:
        """Of the call about the whole film."""
        return "join_chapters" if self.options.style == "chapters" else "title"

    def describe(self) -> JsonDict:
        """As the record and the signature have it. The address is that of the server; its key is in no file."""
        o = self.options
        used = ["rules", o.style, "earlier", "cuts"]
        used += ["lines"] if o.lines else []
        used += ["signs"] if o.signs else []
        used += ["people"] if o.people else []
        used += ["gaps"] if o.style == "descriptions" else []
        used += ["language"] if o.language else []
        used += [] if o.untitled else [self.last_prompt]
        return {
            "model": o.model,
            "server": o.url,
            "style": o.style,
            "language": o.language,
            "prompts": {name: self.prompts[name].hash for name in used},
            "frames": self.source.describe(),
            "layout": self.layout.full(),
            "windows": {"seconds": o.window, "overlap": o.overlap, "carry": o.carry, "shots": o.shots},
            "parameters": o.parameters,
            "schema": o.schema,
            "tries": o.tries,
            "pace": o.pace if o.style == "descriptions" else None,
            "title": not o.untitled,
        }

    def parameters(self, tried: int) -> dict[str, object]:
        return {**self.options.parameters, "seed": self.options.seed + tried}

    @property
    def schema_wanted(self) -> bool:
        return self.options.schema != "never"

    # ── a window ───────────────────────────────────────────────────────────────────────────────────────────────────

    def ask_window(self, frames: WindowFrames, context: WindowContext, tried: int = 0) -> Call:
        people = context.companions.people_of(frames.window)
        arranged = self.layout.arrange(self.time_images(frames), self.write_prompt(frames.window, context, people))
        shown = add_boxes(arranged.parts, frames, context.companions, people)
        portraits: list[Part] = []
        for person in people:
            if person.portrait is not None:
                portraits += [Text(f"{person.label}:"), person.portrait]
        schema = OF_WINDOW if self.schema_wanted else None
        parameters = {**self.parameters(tried), **arranged.parameters}
        provenance = {
            "film": context.film,
            "window": [frames.window.start, frames.window.end],
            **self.source.describe(),
            **frames.to_dict(),
        }
        return Call(
            self.options.model,
            parameters=parameters,
            schema=schema,
            parts=(*portraits, *shown),
            provenance=provenance,
        )

    def time_images(self, frames: WindowFrames) -> list[TimedImage]:
        return time_images(frames.frames, self.cost)

    def write_prompt(self, window: Window, context: WindowContext, people: Sequence[Person]) -> str:
        companions, style = context.companions, self.options.style
        values = {
            "people": ", ".join(p.label for p in people),
            "lines": cut_texts(companions.lines or (), window),
            "signs": cut_texts(companions.signs or (), window),
            "cuts": list_cuts(context.cuts, window),
            "gaps": list_gaps(context.gaps, window) if style == "descriptions" else "",
        }
        blocks = [self.prompts[name].fill(**{name: value}) for name, value in values.items() if value]
        if context.earlier:
            rows = "\n".join(write_event(e) for e in context.earlier)
            blocks.insert(0, self.prompts["earlier"].fill(start=say(window.start), events=rows))
        text = fill_prompt(
            self.prompts[style],
            duration=say(context.duration),
            start=say(window.start),
            end=say(window.end),
            blocks="\n\n".join(blocks),
            language=self.write_language(),
        )
        return f"{self.prompts['rules'].fill()}\n\n{text}"

    def write_language(self) -> str:
        language = self.options.language
        return self.prompts["language"].fill(language=language) if language else ""

    # ── the film ───────────────────────────────────────────────────────────────────────────────────────────────────

    def ask_film(self, events: Sequence[Happening], duration: float, tried: int = 0) -> Call:
        """Title, and of chapters the joined ones."""
        rows, size = [], 0
        for event in events:
            rows.append(write_event(event))
            size += len(rows[-1]) + 1
            if size > MOST_EVENTS:
                rows[-1] = f"… and {len(events) - len(rows) + 1} more"
                break
        text = fill_prompt(
            self.prompts[self.last_prompt],
            duration=say(duration),
            events="\n".join(rows),
            language=self.write_language(),
        )
        schema = OF_CHAPTERS if self.options.style == "chapters" else OF_TITLE
        return Call(
            self.options.model,
            f"{self.prompts['rules'].fill()}\n\n{text}",
            parameters=self.parameters(tried),
            schema=schema if self.schema_wanted else None,
        )


def add_boxes(
    parts: Sequence[Part], frames: WindowFrames, companions: Companions, people: Sequence[Person]
) -> list[Part]:
    """Behind each frame the labels and boxes of the people in it; before the prompt where frames are one video."""
    if not people:
        return list(parts)
    boxes = {s.digest: companions.boxes_at(s.time, people) for s in frames.samples}
    shown: list[Part] = []
    for part in parts:
        shown.append(part)
        if isinstance(part, Image) and boxes.get(part.digest):
            shown.append(Text(boxes[part.digest]))
    if not any(isinstance(part, Image) for part in parts):
        labels = label_times(frames.samples)
        rows = [f"{t} s: {boxes[s.digest]}" for t, s in zip(labels, frames.samples, strict=True) if boxes[s.digest]]
        shown.append(Text("\n".join(rows)))
    return shown


def say(seconds: float) -> str:
    """12, 12.5, 12.345."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".")


def write_event(event: Happening) -> str:
    """One that is material, not an order: in quotes, on one line."""
    words = " ".join(event.caption.split()).replace('"', "'")
    return f'{say(event.start)} – {say(event.end)} s: "{words[:CARRIED]}"'


def list_cuts(cuts: Sequence[float], window: Window) -> str:
    inside = [cut for cut in cuts if window.start < cut < window.end]
    return ", ".join(say(cut) for cut in inside) if len(inside) <= MOST_CUTS else ""


def list_gaps(gaps: Sequence[Gap], window: Window) -> str:
    inside = [(max(a, window.start), min(b, window.end)) for a, b in gaps if a < window.end and b > window.start]
    return ", ".join(f"{say(a)} – {say(b)}" for a, b in inside)
