"""Frames and their times as parts of a call: how a model that reads pictures reads a clock. A layout prints itself.

    pairs     ⟨12.0 s⟩ picture ⟨13.0 s⟩ picture … prompt          any server; marks as Qwen3-VL's or InternVideo3's
    numbered  Frame 1: picture Frame 2: picture … times … prompt   any server; InternVL's way, without the times
    listed    a sentence with all times, pictures, prompt          any server; LLaVA-Video's and TimeChat's way
    plain     prompt, pictures                                     any server; no times, as calls without layout
    jpeg      frames as one `video/jpeg` with their milliseconds   vLLM started with --trust-request-mm-kwargs
    video     the film itself, with a rate or a number             servers that take video_url

What a server does with a video is its own affair: docs/frames.md has the traps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from fabula.core import spec
from fabula.core.errors import SpecError
from fabula.core.registry import close_to, key
from fabula.core.spec import Spec
from fabula.llm.call import Image, Part, Text, VideoPart

MILLISECONDS = 1000  # frames a second of a video whose indices are its times


@dataclass(frozen=True, slots=True)
class TimedImage:
    """A frame, and when it is on the screen."""

    image: Image
    time: float  # seconds
    label: str  # the same as the model reads it: 12.0


@dataclass(frozen=True, slots=True)
class Arranged:
    """What a call is made of."""

    parts: tuple[Part, ...]
    parameters: Mapping[str, object] = field(default_factory=dict)  # of the request, beside temperature and the like


@dataclass(frozen=True, kw_only=True)
class Layout(Spec, ABC):
    """Base of layouts."""

    about: ClassVar[str] = ""
    needs_film: ClassVar[bool] = False  # the film itself goes along

    first: Literal["frames", "prompt"] = "frames"  # what the model reads first

    def arrange(self, frames: Sequence[TimedImage], prompt: str, film: VideoPart | None = None) -> Arranged:
        """Parts and parameters of a call about these frames, or this film."""
        if self.needs_film and film is None:
            raise SpecError(f"the layout {self} sends the film itself; choose pairs for frames")
        shown = self.show(frames, film)
        parts = [*shown, Text(prompt)] if self.first == "frames" else [Text(prompt), *shown]
        return Arranged(tuple(parts), self.parameters(frames))

    @abstractmethod
    def show(self, frames: Sequence[TimedImage], film: VideoPart | None) -> list[Part]:
        """The frames with their times, or the film."""

    def parameters(self, frames: Sequence[TimedImage]) -> dict[str, object]:
        return {}


MARKS = {"angle": "⟨{} s⟩", "seconds": "<{} seconds>", "t": "<{}s>", "number": "{}s"}


@dataclass(frozen=True, kw_only=True)
class Pairs(Layout):
    """A mark with its time before every frame."""

    name: ClassVar[str] = "pairs"
    about: ClassVar[str] = "⟨12.0 s⟩ before each picture; any server"

    mark: Literal["angle", "seconds", "t", "number"] = "angle"

    def show(self, frames: Sequence[TimedImage], film: VideoPart | None) -> list[Part]:
        parts: list[Part] = []
        for frame in frames:
            parts += [Text(MARKS[self.mark].format(frame.label)), frame.image]
        return parts


@dataclass(frozen=True, kw_only=True)
class Numbered(Layout):
    """A number before every frame, and a sentence that says when each is."""

    name: ClassVar[str] = "numbered"
    about: ClassVar[str] = "Frame 1, Frame 2 … before the pictures, then their times; any server"

    times: bool = True  # InternVL's way has none

    def show(self, frames: Sequence[TimedImage], film: VideoPart | None) -> list[Part]:
        parts: list[Part] = []
        for k, frame in enumerate(frames, 1):
            parts += [Text(f"Frame {k}: "), frame.image]
        if self.times:
            listed = ", ".join(f"Frame {k} = {frame.label} s" for k, frame in enumerate(frames, 1))
            parts.append(Text(f"Times of the frames: {listed}."))
        return parts


@dataclass(frozen=True, kw_only=True)
class Listed(Layout):
    """One sentence with all times before the frames."""

    name: ClassVar[str] = "listed"
    about: ClassVar[str] = "a sentence with all times, then the pictures; any server"

    def show(self, frames: Sequence[TimedImage], film: VideoPart | None) -> list[Part]:
        listed = ", ".join(f"{frame.label} s" for frame in frames)
        return [Text(f"{len(frames)} frames follow. Their times in order: {listed}."), *(f.image for f in frames)]


@dataclass(frozen=True, kw_only=True)
class Plain(Layout):
    """Frames without times."""

    name: ClassVar[str] = "plain"
    about: ClassVar[str] = "prompt, then pictures, no times; any server"

    first: Literal["frames", "prompt"] = "prompt"

    def show(self, frames: Sequence[TimedImage], film: VideoPart | None) -> list[Part]:
        return [frame.image for frame in frames]


@dataclass(frozen=True, kw_only=True)
class Jpeg(Layout):
    """Frames as one video: vLLM counts time as index/fps, so that at fps 1000 an index is a millisecond."""

    name: ClassVar[str] = "jpeg"
    about: ClassVar[str] = "frames as one video/jpeg with true times; vLLM with --trust-request-mm-kwargs"

    def show(self, frames: Sequence[TimedImage], film: VideoPart | None) -> list[Part]:
        return [VideoPart.of_images([frame.image for frame in frames])]

    def parameters(self, frames: Sequence[TimedImage]) -> dict[str, object]:
        indices = [round(frame.time * MILLISECONDS) for frame in frames]
        total = max([len(indices), *(i + 1 for i in indices)])
        video = {"num_frames": -1, "fps": MILLISECONDS, "frames_indices": indices, "total_num_frames": total}
        return {"media_io_kwargs": {"video": video}}


@dataclass(frozen=True, kw_only=True)
class Film(Layout):
    """The film itself: the server chooses the frames."""

    name: ClassVar[str] = "video"
    about: ClassVar[str] = "the film as video_url; fps and num_frames need vLLM with --trust-request-mm-kwargs"
    needs_film: ClassVar[bool] = True

    fps: float | None = None  # none: the server's
    num_frames: int | None = None  # none: the server's; -1: all
    knob: Literal["processor", "loader", "none"] = "processor"  # mm_processor_kwargs, media_io_kwargs, or neither

    def show(self, frames: Sequence[TimedImage], film: VideoPart | None) -> list[Part]:
        assert film is not None  # arrange has looked
        return [film]

    def parameters(self, frames: Sequence[TimedImage]) -> dict[str, object]:
        wanted: dict[str, object] = {"fps": self.fps, "num_frames": self.num_frames}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        if not wanted or self.knob == "none":
            return {}
        return {"mm_processor_kwargs": wanted} if self.knob == "processor" else {"media_io_kwargs": {"video": wanted}}


LAYOUTS: tuple[type[Layout], ...] = (Pairs, Numbered, Listed, Plain, Jpeg, Film)


def layout(text: str) -> Layout:
    """From its string: `pairs`, `pairs(mark=seconds)`, `video(fps=2)`."""
    name, settings = spec.parse(text)
    found = next((cls for cls in LAYOUTS if key(cls.name) == key(name)), None)
    if found is None:
        raise SpecError(f"no layout is called {name!r}; {close_to(name, [cls.name for cls in LAYOUTS])}")
    return found().with_params(settings)
