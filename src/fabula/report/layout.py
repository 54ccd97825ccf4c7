"""Tables and sentences for a terminal of any width: text wraps, and no number and no name is ever cut.

A table that is too wide for the terminal gets, in this order: wrapped text; its sentences below each row; blocks of
columns below each other, with the names repeated; a line per number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.text import Text

from fabula.core.printable import printable

GAP = 2  # spaces between two columns
COMFORT = 24  # columns that text should have before it is put elsewhere
NARROWEST = 20  # columns of the narrowest terminal that has a layout; a narrower one wraps lines
INDENT = 4  # spaces before what stands below a row
BREAKS = (  # where a line may end, best first; none is inside a number
    r"(?<=\s)(?=\S)|(?<=\|)(?=\S)",
    r"(?<=[^\w\s])(?!\d)",
    r"(?<=[/=:@(\[])(?=[-+\d])|(?<=,)(?!\d{3}(?!\d))",
)
NUMBER = re.compile(r"[\[(]?[-+−±]?\d[\d,:]*(\.\d+)?(e[-+]?\d+)?%?[\]),]*")
MARK = re.compile(r"[a-z]{1,2}|[*–−-]|nan|to|%")  # what may stand beside a number in its column

Cell = str | Text


class TextTable:
    """Rows under a head. Columns of numbers are found by what is in them; `names` columns at the left name a row."""

    def __init__(self, head: Sequence[str], rows: Iterable[Sequence[Cell]], title: str = "", names: int = 1) -> None:
        self.title, self.names = title, names
        self.rows = [[as_text(cell) for cell in row] for row in rows]
        self.columns = max([len(head), *map(len, self.rows)])
        self.head = [Text(printable(name), style="dim") for name in head]
        for row in (self.head, *self.rows):
            row += [Text()] * (self.columns - len(row))
        self.numeric = [i >= names and is_numeric(self.cells(i)) for i in range(self.columns)]

    def cells(self, column: int) -> list[str]:
        return [row[column].plain for row in self.rows]

    def natural(self, column: int) -> int:
        """The width at which nothing wraps."""
        return max(map(cell_len, [self.head[column].plain, *self.cells(column)]))

    def least(self, column: int) -> int:
        """The width below which a number or a word would be cut."""
        words = [word for text in [self.head[column].plain, *self.cells(column)] for word in text.split()]
        whole = self.cells(column) if self.numeric[column] else []
        return max(map(cell_len, [*words, *whole]), default=0)

    def wanted(self, column: int) -> int:
        """The width at which it reads well."""
        least = self.least(column)
        return least if self.numeric[column] else max(least, min(self.natural(column), COMFORT))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        width = max(options.max_width, NARROWEST)
        if self.title:
            yield from as_lines(wrap(Text(printable(self.title), style="bold"), width))
        yield from as_lines(self.draw(width))

    def draw(self, width: int) -> Iterator[Text]:
        every = range(self.columns)
        if self.fits(every, width):
            return self.draw_block(every, width)
        beside, below = list(every), list[int]()
        sentences = [i for i in every if i >= self.names and not self.numeric[i] and self.natural(i) > COMFORT]
        for column in sorted(sentences, key=self.natural, reverse=True):
            beside.remove(column)
            below = sorted([*below, column])
            if self.fits(beside, width):
                return self.draw_block(beside, width, below)
        blocks = [] if below else self.split(width)
        return self.draw_blocks(blocks, width) if blocks else self.draw_records(width)

    def fits(self, columns: Sequence[int], width: int) -> bool:
        return sum(map(self.wanted, columns)) + GAP * (len(columns) - 1) <= width

    def split(self, width: int) -> list[list[int]]:
        """Columns in blocks that fit, each with the names; none where these leave room for one column at a time."""
        names = list(range(self.names))
        blocks = list[list[int]]()
        for column in range(self.names, self.columns):
            if blocks and self.fits([*blocks[-1], column], width):
                blocks[-1].append(column)
            elif self.fits([*names, column], width):
                blocks.append([*names, column])
            else:
                return []
        return blocks if len(blocks) < max(3, self.columns - self.names) else []

    def draw_blocks(self, blocks: list[list[int]], width: int) -> Iterator[Text]:
        """Blocks of columns; a row that has nothing in a block is not in it, unless it has nothing in any."""
        named = all(row[0].plain for row in self.rows)  # else a row's name may stand in the row above
        for k, columns in enumerate(blocks):
            if k:
                yield Text()
            filled = [row for row in self.rows if any(row[i].plain for i in columns[self.names :])]
            empty = [row for row in self.rows if k == 0 and not any(cell.plain for cell in row[self.names :])]
            yield from self.draw_block(columns, width, rows=[*filled, *empty] if named else self.rows)

    def draw_block(
        self, columns: Sequence[int], width: int, below: Sequence[int] = (), rows: Sequence[list[Text]] | None = None
    ) -> Iterator[Text]:
        """Columns beside each other, and of each row the columns `below` under it."""
        widths = self.share(columns, width)
        if any(self.head[i].plain for i in columns):
            yield from self.draw_row(self.head, columns, widths, head=True)
        for row in self.rows if rows is None else rows:
            yield from self.draw_row(row, columns, widths)
            for column in below:
                yield from self.draw_below(row, column, width)

    def share(self, columns: Sequence[int], width: int) -> list[int]:
        """Widths of columns: what they want, and of what is left as much as makes each wrap less."""
        widths = [self.wanted(i) for i in columns]
        left = width - sum(widths) - GAP * (len(columns) - 1)
        for k, i in enumerate(columns):  # a head of numbers is worth its width where it then stands in one line
            if self.numeric[i] and (more := self.natural(i) - widths[k]) <= left:
                widths[k] += more
                left -= more
        text = [k for k, i in enumerate(columns) if not self.numeric[i]]
        while left > 0 and (short := [k for k in text if widths[k] < self.natural(columns[k])]):
            for k in short[:left]:
                widths[k] += 1
            left -= len(short)
        return widths

    def draw_row(
        self, row: Sequence[Text], columns: Sequence[int], widths: Sequence[int], head: bool = False
    ) -> Iterator[Text]:
        cells = [wrap(row[i], w) for i, w in zip(columns, widths, strict=True)]
        height = max(map(len, cells))
        for k in range(height):
            line = Text()
            for i, lines, w in zip(columns, cells, widths, strict=True):
                at = k - (height - len(lines)) if head else k  # a head stands directly above its column
                piece = lines[at] if 0 <= at < len(lines) else Text()
                space = Text(" " * (w - piece.cell_len))
                line.append_text(space + piece if self.numeric[i] else piece + space)
                line.append(" " * GAP)
            line.rstrip()
            yield line

    def draw_below(self, row: Sequence[Text], column: int, width: int) -> Iterator[Text]:
        """What does not fit into a row, under it, with the name of its column."""
        if row[column].plain:
            head = Text.assemble(self.head[column], ": ") if self.head[column].plain else Text()
            yield from indent(head + row[column], width, INDENT, INDENT + 2)

    def draw_records(self, width: int) -> Iterator[Text]:
        """A line per number, below the names of its row."""
        for row in self.rows:
            title = Text("  ").join([cell for cell in row[: self.names] if cell.plain])
            yield from wrap(title, width) if title.plain else []
            for column in range(self.names, self.columns):
                yield from self.draw_below(row, column, width)


class Paragraph:
    """A sentence that wraps between words; its further lines are indented."""

    def __init__(self, text: str, style: str = "") -> None:
        self.text = Text(printable(text.lstrip(" ")), style=style)
        self.indent = len(text) - len(text.lstrip(" "))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        width = max(options.max_width, NARROWEST)
        yield from as_lines(indent(self.text, width, self.indent, self.indent + 2))


def lay_out(lines: Iterable[str]) -> Group:
    """Lines for a pipe as a terminal shows them: neighbours with tabs are a table, others sentences."""
    drawn, block = list[RenderableType](), list[list[str]]()
    for line in [*lines, ""]:
        if "\t" in line:
            block.append(line.split("\t"))
            continue
        if block:
            drawn.append(as_table(block))
            block = []
        drawn.append(Paragraph(line))
    return Group(*drawn[:-1])


def as_table(block: list[list[str]]) -> TextTable:
    """Of three columns or more the first row is the head, where it has no number and a number stands below it.

    The columns before the first of numbers name a row: wherever it goes on, they are repeated.
    """
    first, *rest = block
    wide = max(map(len, block))
    headed = wide > 2 and len(first) == wide and not any(map(NUMBER.fullmatch, first))
    counted = [i for i in range(1, wide) if is_numeric([row[i] for row in rest if i < len(row)])]
    return TextTable(first, rest, names=counted[0]) if headed and counted else TextTable([], block)


def is_numeric(cells: Sequence[str]) -> bool:
    """Numbers, intervals, and the letters and stars beside them."""
    words = [word for cell in cells for word in cell.split()]
    numbers = sum(NUMBER.fullmatch(word) is not None for word in words)
    return numbers > 0 and all(NUMBER.fullmatch(word) or MARK.fullmatch(word) for word in words)


def as_text(cell: Cell) -> Text:
    """Nothing that a terminal would obey, before widths are measured."""
    if isinstance(cell, str):
        return Text(printable(cell))
    shown = printable(cell.plain)
    return cell if shown == cell.plain else Text(shown, style=cell.style)


def as_lines(lines: Iterable[Text]) -> Iterator[Text]:
    """Lines that rich prints as they are."""
    for line in lines:
        line.no_wrap, line.overflow = True, "ignore"
        yield line


def indent(text: Text, width: int, first: int, other: int) -> Iterator[Text]:
    """Lines with so many spaces before the first, and before each other."""
    for i, line in enumerate(wrap(text, width - other)):
        yield Text(" " * (other if i else first)) + line


def wrap(text: Text, width: int) -> list[Text]:
    """Lines of at most `width`, broken between words; a longer word at a sign, and only then anywhere."""
    if text.cell_len <= width:
        return [text]
    lines = []
    for line in text.divide(find_breaks(text.plain, width)):
        line.rstrip()
        lines.append(line)
    return lines


def find_breaks(text: str, width: int) -> list[int]:
    """Where lines begin, but the first."""
    found, used, at = list[int](), 0, 0
    for piece in split_words(text, width):
        size = cell_len(piece.rstrip())
        if used and used + size > width:
            found.append(at)
            used = 0
        used += cell_len(piece)
        at += len(piece)
    return found


def split_words(text: str, width: int, level: int = 0) -> Iterator[str]:
    """Pieces that fit, each with the space behind it."""
    if level == len(BREAKS):
        yield from text
        return
    for piece in re.split(BREAKS[level], text):
        if cell_len(piece.rstrip()) <= width:
            yield piece
        else:
            yield from split_words(piece, width, level + 1)
