"""Tables of a terminal of any width: nothing of a number and nothing of a name is lost, text wraps between words."""

from __future__ import annotations

import io
import random

import pytest
from rich.cells import cell_len
from rich.console import Console

from fabula.report.layout import NARROWEST, NUMBER, Paragraph, TextTable, as_table, lay_out, split_words, wrap

WORDS = [
    "the",
    "segment",
    "ends",
    "before",
    "it",
    "starts:",
    "nothing",
    "matches",
    "demo_kite",
    "日本語",
    "OrderedPRF",
    "soda-2021-multi",
    "é",
]


def drawn(thing: object, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    console.print(thing, crop=False)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def make_table(chance: random.Random) -> tuple[list[str], list[list[str]]]:
    """Names, sentences, numbers and intervals in any number and order."""
    kinds = [chance.choice(["number", "interval", "text", "word"]) for _ in range(chance.randint(1, 12))]

    def cell(kind: str) -> str:
        value = chance.uniform(-999, 9999)
        if chance.random() < 0.1:
            return ""
        return {
            "number": f"{value:.2f}",
            "interval": f"{value:.2f} [{value - 1:+.2f}, {value + 1:+.2f}] a b",
            "text": " ".join(chance.choices(WORDS, k=chance.randint(1, 12))),
            "word": chance.choice(WORDS),
        }[kind]

    head = ["metric", *(" ".join(chance.choices(WORDS, k=chance.randint(1, 3))) for _ in kinds)]
    return head, [[chance.choice(WORDS), *map(cell, kinds)] for _ in range(chance.randint(1, 6))]


def test_no_word_of_any_table_is_cut() -> None:
    """No line is too wide, and each word stands there whole; in the narrowest terminal each number."""
    for seed in range(80):
        chance = random.Random(seed)
        head, rows = make_table(chance)
        for width in (NARROWEST, 27, 40, 80, 120, 200):
            text = drawn(TextTable(head, rows), width)
            words = text.split()
            for word in (word for row in rows for cell in row for word in cell.split()):
                if width > NARROWEST or NUMBER.fullmatch(word):
                    assert word in words, (seed, width, word, text)
            assert max(map(cell_len, text.splitlines())) <= width, (seed, width, text)


def test_a_table_that_fits_is_one_block() -> None:
    rows = [["SODA_c", "27.44", "[25.42, 28.64]"], ["mIoU", "78.34", "[75.40, 79.59]"]]
    assert drawn(TextTable(["metric", "value", "interval"], rows, "good.json"), 80).splitlines() == [
        "good.json",
        "metric  value        interval",
        "SODA_c  27.44  [25.42, 28.64]",
        "mIoU    78.34  [75.40, 79.59]",
    ]


def test_columns_that_do_not_fit_are_blocks_with_the_names_repeated() -> None:
    rows = [["CIDEr", "262.69", "319.82", ""], ["PRF", "91.96", "", "79.79"]]
    assert drawn(TextTable(["metric", "default", "densevid-2017", "pdvc-2018"], rows), 32).splitlines() == [
        "metric  default  densevid-2017",
        "CIDEr    262.69         319.82",
        "PRF       91.96",
        "",
        "metric  pdvc-2018",
        "PRF         79.79",
    ]


def test_sentences_that_do_not_fit_stand_below_their_row() -> None:
    about = "The segment ends before it starts: it matches nothing."
    table = TextTable(["level", "check", "count", "meaning"], [["error", "reversed", "12", about]], names=2)
    assert drawn(table, 40).splitlines() == [
        "level  check     count",
        "error  reversed     12",
        "    meaning: The segment ends before",
        "      it starts: it matches nothing.",
    ]


def test_names_that_leave_no_room_stand_above_their_numbers() -> None:
    head = ["metric", "difference", "delta", "p", "p (Holm)"]
    rows = [["SODA_c", "over_segmenting − good", "-23.34", "0.0196", "0.0196"]]
    assert drawn(TextTable(head, rows, names=2), 32).splitlines() == [
        "SODA_c  over_segmenting − good",
        "    delta: -23.34",
        "    p: 0.0196",
        "    p (Holm): 0.0196",
    ]


def test_a_narrower_terminal_than_any_gets_everything() -> None:
    assert "12345678.90" in drawn(TextTable(["metric", "value"], [["SODA_c", "12345678.90"]]), 5)


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 8, ["one two", "three"]),
        ("resamples:50|seed:0|ci:bca-0.95|alpha:0.05", 20, ["resamples:50|seed:0|", "ci:bca-0.95|", "alpha:0.05"]),
        ("tiou=0.30,0.55,0.75,1,234", 10, ["tiou=0.30,", "0.55,0.75,", "1,234"]),
        ("/data/videos/film.mkv", 12, ["/data/", "videos/film.", "mkv"]),
        ("0123456789", 4, ["0123", "4567", "89"]),
        ("日本語日本語", 4, ["日本", "語日", "本語"]),
        ("", 4, [""]),
    ],
)
def test_where_lines_end(text: str, width: int, lines: list[str]) -> None:
    from rich.text import Text

    assert [line.plain for line in wrap(Text(text), width)] == lines
    assert "".join(split_words(text, width)) == text


def test_lines_of_a_pipe_on_a_terminal() -> None:
    lines = ["metric\tof\tvalue", "SODA_c\ta\t27.44", "mIoU\tb\t1,078.34", "", "  a sentence longer than the terminal"]
    assert drawn(lay_out(lines), 24).splitlines() == [
        "metric  of     value",
        "SODA_c  a      27.44",
        "mIoU    b   1,078.34",
        "",
        "  a sentence longer",
        "    than the terminal",
    ]
    assert drawn(lay_out([]), 24) == ""
    assert as_table([["raters", "12"], ["items", "3"]]).head[0].plain == ""  # no head: numbers from the first line on


def test_what_names_a_row_is_repeated_in_every_block() -> None:
    """Two rows of one measure would else be taken for each other."""
    lines = ["measure\tsystem\tvalue\tlow\thigh", "static\tfine\t86.1\t44.5\t98.0", "static\tcoarse\t83.3\t36.5\t97.8"]
    assert drawn(lay_out(lines), 30).splitlines() == [
        "measure  system  value   low",
        "static   fine     86.1  44.5",
        "static   coarse   83.3  36.5",
        "",
        "measure  system  high",
        "static   fine    98.0",
        "static   coarse  97.8",
    ]


def test_nothing_of_a_file_is_obeyed() -> None:
    text = drawn(TextTable(["a"], [["\x1b[31m[bold]x[/]"]], "\x1b]0;evil\x07"), 40) + drawn(Paragraph("\x9b31m"), 40)
    assert "\\x1b[31m[bold]x[/]" in text and not {"\x1b", "\x07", "\x9b"} & set(text)
