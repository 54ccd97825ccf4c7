"""Two hundred odd subtitle files from a seed: what editors, converters and broken scripts leave behind."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

WORDS = [
    *("the", "kite", "rises", "over", "Łódź", "café", "東京", "übermut", "<3", "1984", "AT&T", "100", "%", "yes", "no"),
    *("why…", "«là»", "[music]", "♪", "don't", "it's", "--", "wait", "5>4", "Привет"),
]
STYLES = (
    "<i>{}</i>",
    "<b>{}</b>",
    '<font color="#ff0000">{}</font>',
    "{{\\an8}}{}",
    "<u>{}",
    "{}</i>",
    "<i>{}\n{}</i>",
)
VOICES = ("<v Bob>{}</v>", "<v.loud Mary Ann>{}", "<v Al &amp; Bo>{}</v>\n<v Cy>{}</v>")
VTT_STYLES = (
    "<c.yellow.bg_blue>{}</c>",
    "<00:00:01.500>{}",
    "<ruby>{}<rt>x</rt></ruby>",
    "<lang en>{}</lang>",
    "<i>{}</i>",
)
SETTINGS = ("align:start position:10%", "line:0 size:50%", "X1:100 X2:200 Y1:1 Y2:2", "vertical:rl")


@dataclass
class OddCue:
    """A cue to be written oddly; times in ms."""

    start: int
    end: int
    text: str
    label: str = ""
    settings: str = ""


@dataclass(frozen=True)
class OddFile:
    """A file, and in which ways it is odd."""

    name: str
    data: bytes
    oddities: tuple[str, ...]
    cues: tuple[OddCue, ...]  # what was meant, before the text was made odd


def clock(ms: int, point: str) -> str:
    sign, ms = ("-", -ms) if ms < 0 else ("", ms)
    return f"{sign}{ms // 3600000:02d}:{ms // 60000 % 60:02d}:{ms // 1000 % 60:02d}{point}{ms % 1000:03d}"


def draw_cues(rng: random.Random) -> list[OddCue]:
    cues, at = [], rng.randrange(0, 5000)
    for n in range(rng.randrange(1, 9)):
        length = rng.randrange(400, 6000)
        lines = [" ".join(rng.choices(WORDS, k=rng.randrange(1, 7))) for _ in range(rng.choice((1, 1, 2)))]
        cues.append(OddCue(at, at + length, "\n".join(lines), str(n + 1)))
        at += length + rng.randrange(0, 3000)
    return cues


# ── oddities of cues: each takes the cues and leaves them odd ───────────────────────────────────────────────────────


def overlap(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    for cue in cues:
        cue.end += rng.randrange(0, 4000)


def shuffle(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    rng.shuffle(cues)


def reverse_one(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    cue = rng.choice(cues)
    cue.start, cue.end = cue.end, cue.start


def flatten_one(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    cue = rng.choice(cues)
    cue.end = cue.start


def go_negative(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    cues[0].start = -rng.randrange(1, 3000)
    cues[0].end = rng.choice((-1, 700))


def style(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    for cue in cues:
        if rng.random() < 0.6:
            frame = rng.choice((*STYLES, *VTT_STYLES) if vtt else STYLES)
            cue.text = frame.format(*[cue.text] * frame.count("{}"))


def name_voices(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    for cue in cues:
        frame = rng.choice(VOICES)
        cue.text = frame.format(*[cue.text] * frame.count("{}"))


def escape(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    for cue in cues:
        cue.text = cue.text.replace("&", "&amp;") + rng.choice(
            (" &lt;b&gt;", " &nbsp;x", " &#39;", " &eacute; &bogus;")
        )


def empty_one(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    rng.choice(cues).text = ""


def add_settings(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    for cue in cues:
        cue.settings = " " + rng.choice(SETTINGS)


def lose_labels(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    for cue in cues:
        cue.label = ""


def lose_a_label(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    rng.choice(cues).label = ""


def number_oddly(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    for cue in cues:
        cue.label = str(rng.choice((0, 7, 7, 999, -1)))


def name_ids(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    for n, cue in enumerate(cues):
        cue.label = f"intro {n}" if vtt else cue.label


def end_in_a_number(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    rng.choice(cues).text += "\n1984"


def go_late(rng: random.Random, cues: list[OddCue], vtt: bool) -> None:
    for cue in cues:
        cue.start += 100 * 3600_000
        cue.end += 100 * 3600_000


CUE_ODDITIES: tuple[Callable[[random.Random, list[OddCue], bool], None], ...] = (
    *(overlap, shuffle, reverse_one, flatten_one, go_negative, style, name_voices, escape, empty_one, add_settings),
    *(lose_labels, lose_a_label, number_oddly, name_ids, end_in_a_number, go_late),
)


# ── oddities of the text ────────────────────────────────────────────────────────────────────────────────────────────


def write_plainly(cues: list[OddCue], vtt: bool) -> str:
    point = "." if vtt else ","
    blocks = []
    for cue in cues:
        head = f"{cue.label}\n" if cue.label else ""
        blocks.append(f"{head}{clock(cue.start, point)} --> {clock(cue.end, point)}{cue.settings}\n{cue.text}\n")
    return ("WEBVTT\n\n" if vtt else "") + "\n".join(blocks)


def other_point(rng: random.Random, text: str, vtt: bool) -> str:
    return "\n".join(swap_points(line, vtt) if "-->" in line else line for line in text.split("\n"))


def swap_points(line: str, vtt: bool) -> str:
    head, arrow, tail = line.partition(" --> ")
    a, b = (".", ",") if vtt else (",", ".")
    end, blank, rest = tail.partition(" ")
    return head.replace(a, b) + arrow + end.replace(a, b) + blank + rest


def lose_hours(rng: random.Random, text: str, vtt: bool) -> str:
    return "\n".join(line.replace("00:0", "0", 2) if "-->" in line else line for line in text.split("\n"))


def shorten_fractions(rng: random.Random, text: str, vtt: bool) -> str:
    point = "." if vtt else ","
    out = []
    for line in text.split("\n"):
        if "-->" in line:
            head, _, tail = line.partition(" --> ")
            line = f"{head.partition(point)[0]}{point}{head.partition(point)[2][:1]} --> {tail}"
        out.append(line)
    return "\n".join(out)


def lose_fractions(rng: random.Random, text: str, vtt: bool) -> str:
    point = "." if vtt else ","
    return "\n".join(
        " --> ".join(part.partition(point)[0] for part in line.split(" --> ")) if "-->" in line else line
        for line in text.split("\n")
    )


def double_blanks(rng: random.Random, text: str, vtt: bool) -> str:
    return text.replace("\n\n", "\n\n\n\n")


def lose_blanks(rng: random.Random, text: str, vtt: bool) -> str:
    head, body = (text[:8], text[8:]) if vtt else ("", text)
    return head + body.replace("\n\n", "\n")


def break_text(rng: random.Random, text: str, vtt: bool) -> str:
    """An empty line inside the last cue."""
    return text.rstrip("\n") + "\n\nand more of it\n"


def spell_arrows(rng: random.Random, text: str, vtt: bool) -> str:
    return text.replace(" --> ", rng.choice(("-->", "  -->  ", " -> ", " --> ")))


def space_times(rng: random.Random, text: str, vtt: bool) -> str:
    return "\n".join(line.replace(":", ": ") if "-->" in line else line for line in text.split("\n"))


def break_a_time(rng: random.Random, text: str, vtt: bool) -> str:
    lines = text.split("\n")
    at = rng.choice([i for i, line in enumerate(lines) if ">" in line and ":" in line])
    lines[at] = "00:xx" + lines[at][5:]
    return "\n".join(lines)


def add_blocks(rng: random.Random, text: str, vtt: bool) -> str:
    if not vtt:
        return "Subtitles by somebody\n\n" + text
    style = "STYLE\n::cue { color: red }\n\nREGION\nid:fred\nwidth:40%\n\nNOTE\nof two\nlines\n\n"
    return text.replace("WEBVTT\n\n", "WEBVTT - a title\nKind: captions\nLanguage: en\n\n" + style) + "\n\nNOTE end\n"


def add_junk(rng: random.Random, text: str, vtt: bool) -> str:
    return text + "\njunk without times\n"


def end_at_once(rng: random.Random, text: str, vtt: bool) -> str:
    return text.rstrip("\n")


def lose_head(rng: random.Random, text: str, vtt: bool) -> str:
    return text.removeprefix("WEBVTT\n\n")


def indent(rng: random.Random, text: str, vtt: bool) -> str:
    head, body = (text[:8], text[8:]) if vtt else ("", text)
    return head + "\n".join(f"  {line} " if line else line for line in body.split("\n"))


TEXT_ODDITIES: tuple[Callable[[random.Random, str, bool], str], ...] = (
    *(other_point, lose_hours, shorten_fractions, lose_fractions, double_blanks, lose_blanks, break_text),
    *(spell_arrows, space_times, break_a_time, add_blocks, add_junk, end_at_once, lose_head, indent),
)
ENDS = {"crlf": "\r\n", "cr": "\r", "crcrlf": "\r\r\n"}
CODES = {"bom": "utf-8-sig", "utf-16": "utf-16", "utf-16-le": "utf-16-le", "cp1252": "cp1252"}


def make_file(seed: int) -> OddFile:
    """The file of a seed: even ones are SubRip, odd ones WebVTT; each has one to four oddities."""
    rng = random.Random(seed)
    vtt = seed % 2 == 1
    cues = draw_cues(rng)
    chosen = rng.sample(CUE_ODDITIES, rng.choice((0, 1, 1, 2)))
    for oddity in chosen:
        oddity(rng, cues, vtt)
    text = write_plainly(cues, vtt)
    assert text.count(" --> ") == len(cues)
    written = rng.sample(TEXT_ODDITIES, rng.choice((0, 1, 1, 2) if chosen else (1, 2)))
    for change in written:
        text = change(rng, text, vtt)
    names = [*(oddity.__name__ for oddity in chosen), *(change.__name__ for change in written)]
    code = "utf-8"
    if rng.random() < 0.3:
        name = rng.choice(list(CODES))
        names.append(name)
        code = CODES[name]
    if rng.random() < 0.3:
        name = rng.choice(list(ENDS))
        names.append(name)
        text = text.replace("\n", ENDS[name])
    data = text.encode(code, "ignore" if code == "cp1252" else "strict")
    return OddFile(f"{seed:03d}.{'vtt' if vtt else 'srt'}", data, tuple(names), tuple(cues))


def make_files(many: int = 200) -> list[OddFile]:
    return [make_file(seed) for seed in range(many)]
