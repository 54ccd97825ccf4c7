"""docs/speed.json and the tables made of it: the one of docs/speed.md, and the rows that the README quotes.

    python bench/_table.py          # write both documents' tables anew from docs/speed.json

The file holds every run of every side; a cell is the median of a side's runs, a ratio the median over all pairs of
runs, with the least and the greatest. No figure of the two documents is written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FIGURES, DOCUMENT, README = ROOT / "docs" / "speed.json", ROOT / "docs" / "speed.md", ROOT / "README.md"
QUOTED = ("SODA_c", "vidchapters", "vcmr")  # the rows of the README
SLOWER, LEAST = 1.1, 0.02  # now over before, and seconds more, from which a row is said to be slower

Row = Mapping[str, Any]  # name, what, rate, sides: {now, before, official: {runs | missing, answers}}
Run = Mapping[str, float]  # wall, cpu, peak, amount


def runs(row: Row, side: str) -> list[Run]:
    found: list[Run] = row["sides"].get(side, {}).get("runs", [])
    return found


def ratios(row: Row, side: str, what: str) -> list[float]:
    """The other side's time over ours for the same amount of work, for every pair of runs, ascending."""

    def per(run: Run) -> float:
        return run[what] / (run["amount"] or 1)

    return sorted(per(other) / per(now) for now, other in product(runs(row, "now"), runs(row, side)))


def slower(row: Row) -> Iterator[str]:
    """Where now takes longer than before, beyond noise: by a tenth in the median, and its least above the greatest."""
    for what, name in (("wall", "wall time"), ("cpu", "processor time")):
        found = ratios(row, "before", what)
        if not found or 1 / median(found) <= SLOWER or found[-1] >= 1:
            continue
        if median(run[what] for run in runs(row, "now")) - median(run[what] for run in runs(row, "before")) > LEAST:
            yield f"{row['name']}: {name} {1 / median(found):.2f} of before ({1 / found[-1]:.2f}–{1 / found[0]:.2f})"


# --- cells -----------------------------------------------------------------------------------------------------------


def seconds(x: float) -> str:
    return f"{1000 * x:.0f} ms" if x < 0.995 else f"{x:.2f} s" if x < 99.5 else f"{x:,.0f} s"


def cell(row: Row, side: str, what: str) -> str:
    """The median, and what is done per second where the row has a rate."""
    found = runs(row, side)
    if not found:
        return "–"
    told = seconds(median(run[what] for run in found))
    if row.get("rate") and what == ("cpu" if row["rate"] == "captions" else "wall"):
        told += f", {median(run['amount'] / run[what] for run in found):,.0f} {row['rate']}/s"
    return told


def ratio(row: Row, side: str, what: str) -> str:
    found = ratios(row, side, what)
    if not found:
        return "–"
    least, most = (f"{x:.1f}" for x in (found[0], found[-1]))
    return f"{median(found):.1f}×" + (f" ({least}–{most})" if len(found) > 1 else "")


def official(row: Row) -> str:
    return str(row["sides"].get("official", {}).get("program", "–"))


HEAD = ("work", "ours", "processor", "memory", "official", "its time", "its processor", "× wall", "× processor")
BEFORE = ("before", "its processor", "× wall", "× processor")


def cells(row: Row) -> list[str]:
    peak = max((run["peak"] for run in runs(row, "now")), default=0)
    return [
        f"**{row['name']}**: {row['what']}", cell(row, "now", "wall"), cell(row, "now", "cpu"),
        f"{peak / 2**20:,.0f} MB" if peak else "–", official(row),
        *(cell(row, "official", what) for what in ("wall", "cpu")),
        *(ratio(row, "official", what) for what in ("wall", "cpu")),
    ]  # fmt: skip


def cells_before(row: Row) -> list[str]:
    times = [cell(row, "before", what) for what in ("wall", "cpu")]
    return [f"**{row['name']}**", *times, *(ratio(row, "before", what) for what in ("wall", "cpu"))]


# --- documents -------------------------------------------------------------------------------------------------------


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(["---"] * len(head)) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def about(found: Mapping[str, Any]) -> list[str]:
    """On what, when, of which commits and at which load."""
    load = found["load"]
    alone = load["start"] < 1 and load["end"] < 3  # the run itself loads two processors
    busy = "" if alone else " **The machine was busy: wall times say little, processor times count.**"
    commits = "; ".join(f"{name} {commit}" for name, commit in found["commits"].items())
    return [
        f"{found['machine']}; {found['when']} UTC.",
        f"Load {load['start']:.1f} at the start, {load['end']:.1f} at the end.{busy}",
        *([found["note"]] if "note" in found else []),
        "",
        f"Command: `{found['command']}`. Commits and packages: {commits}.",
    ]


def table(found: Mapping[str, Any]) -> list[str]:
    rows: list[Row] = found["rows"]
    lines = [*about(found), "", *markdown(HEAD, [cells(row) for row in rows])]
    if any(runs(row, "before") for row in rows):
        lines += ["", *markdown(["work", *BEFORE], [cells_before(row) for row in rows if runs(row, "before")])]
        late = [line for row in rows for line in slower(row)]
        lines += ["", *([f"* slower than before: {line}" for line in late] or ["Nothing is slower than before."])]
    return [*lines, "", *notes(rows)]


def notes(rows: Sequence[Row]) -> list[str]:
    """What was measured apart or not at all and why, and whether the sides say the same."""
    lines = []
    for row in rows:
        if apart := row.get("apart"):
            load, now = max(apart["load"].values()), apart["commits"]["now"]
            lines.append(
                f"* {row['name']}: measured apart from the others, {apart['when']} UTC, load {load:.1f}, {now}"
            )
        for side, entry in row["sides"].items():
            if entry.get("missing"):
                lines.append(f"* {row['name']}, {side}: not measured: {entry['missing']}")
            elif entry.get("answers"):
                lines.append(f"* {row['name']}, {side}: {entry['answers']}")
    return lines


def quoted(found: Mapping[str, Any]) -> list[str]:
    """The README's rows."""
    rows = [row for name in QUOTED for row in found["rows"] if row["name"] == name]
    head = ("work", "ours", "official", "its time", "× wall", "× processor")
    chosen = [[cells(row)[k] for k in (0, 1, 4, 5, 7, 8)] for row in rows]
    start = f"load {found['load']['start']:.1f} before"
    return [*markdown(head, chosen), "", f"{found['machine']}, {start}: `{found['command']}`."]


def growth(found: Mapping[str, Any]) -> list[str]:
    """Time and memory as the corpus grows."""
    head = ("videos", "work", "how", "wall", "processor", "memory of all processes", "videos/s")
    rows = []
    for row in found["growth"]["rows"]:
        rate, peak = f"{row['videos'] / row['wall']:,.0f}", f"{row['peak'] / 2**20:,.0f} MB"
        times = (f"{row['wall']:.1f} s", f"{row['cpu']:.1f} s")
        rows.append([f"{row['videos']:,}", row["work"], row["how"], *times, peak, rate])
    return [*about(found["growth"]), "", *markdown(head, rows)]


def block(text: str, name: str) -> tuple[str, str, str]:
    """What stands before, between and behind a document's two markers of this name."""
    begin, end = f"<!-- {name}: written by bench/all.py -->\n", f"<!-- end of {name} -->"
    head, found, rest = text.partition(begin)
    inside, found_end, tail = rest.partition(end)
    if not found or not found_end:
        raise SystemExit(f"no markers for {name}: {begin.strip()} … {end}")
    return head + begin, inside, end + tail


def documents(found: Mapping[str, Any]) -> dict[Path, dict[str, list[str]]]:
    """What stands between which markers of which document."""
    inside = {"table": table(found)} | ({"growth": growth(found)} if "growth" in found else {})
    return {DOCUMENT: inside, README: {"speed": quoted(found)}}


def write(found: Mapping[str, Any]) -> None:
    for path, blocks in documents(found).items():
        text = path.read_text()
        for name, lines in blocks.items():
            head, _, tail = block(text, name)
            text = head + "\n".join(lines) + "\n" + tail
        path.write_text(text)
        print(f"{path}: {', '.join(blocks)} written")


if __name__ == "__main__":
    write(json.loads(FIGURES.read_text()))
