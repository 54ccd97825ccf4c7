"""The terminal that tables and bars are drawn on: it obeys our styles and nothing that came from a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from fabula.core.printable import printable


class Screen(Console):
    """A rich console without markup; text is made printable where it is laid out, and once more where it is drawn."""

    def __init__(self, **given: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **given)

    def draw(self, renderable: RenderableType) -> None:
        """Print it whole: what is wider than the terminal goes on in its next line, nothing is cropped."""
        self.print(renderable, crop=False)

    def render_str(self, text: str, **given: Any) -> Text:
        """A title, a head or a cell that is given as text: nothing of it is a sign of rich's."""
        return super().render_str(printable(text), **given)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text == "\n":
                yield segment
            else:
                yield segment._replace(text=printable(segment.text))
