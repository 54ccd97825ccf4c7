"""Run the commands behind measured figures of README and docs, and look whether the pages still say what they print.

    python tools/figures.py            all of them; exit code 1 where a page and a command disagree
    python tools/figures.py --quick    those that take seconds

A figure is a page, the text in it, a command, and what the command must print. Commands run in a folder with the
bundled stories; those that name ../shared/data need it, and are passed over where it is absent. Outputs of commands on
a terminal stand in docs/tutorial.md, which tools/tutorial.py checks. Figures of training runs name their
command where they stand and are not made again here.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DATA = ROOT / "../shared/data"
REFS = "--refs annotator_1.json annotator_2.json"


class Figure(NamedTuple):
    page: str
    text: str  # stands in the page
    command: str
    prints: str  # a pattern that the output holds
    quick: bool = False


COMPARE = f"fabula compare good.json over_segmenting.json out_of_order.json {REFS} --metrics SODA_c,SODA_d,mIoU"
SILENCE = "fabula stress 'SODA_c(missing=empty,text=bertscore:minilm,tok=none)' SODA_c --ways unrelated,silence"
CALIBRATION = f"python {ROOT}/reproduce/calibration.py few 4000 --data {DATA.resolve()}"
FIGURES = (
    Figure("README.md", "SODA_c F1      27.44", f"fabula score good.json {REFS} -m SODA_c", r"f1\t27\.438", True),
    Figure("README.md", "mIoU           78.34", f"fabula score good.json {REFS} -m mIoU", r"value\t78\.339", True),
    Figure("docs/compare.md", "27.44 [21.01, 31.95] b c", COMPARE, r"27\.44 \[21\.01, 31\.95\] b c", True),
    Figure("docs/compare.md", "-2.42  +23.18  0.2654", COMPARE, r"-2\.42\t\+23\.18\t0\.2654", True),
    Figure("docs/stress.md", "0.55 [0.53, 0.58]", "fabula stress iSPICE", r"swap ids\t97\t0\.55 \[0\.53, 0\.58\]"),
    Figure("docs/stress.md", "0.62 [0.59, 0.66]", "fabula stress iSPICE", r"truncate\t100\t0\.62 \[0\.59, 0\.66\]"),
    Figure("docs/dense-2026.md", "| 1.00 | .54 | .54 |", SILENCE, r"silence\t129\t1\.00 .*0\.54"),
    Figure("docs/compare.md", "val_1 | mIoU 91.17 | -2.9", CALIBRATION, r"mIoU 91\.17 \| -2\.9 \| 50 \| 100 %"),
)  # fmt: skip


def run(command: str, folder: Path, bin_folder: Path) -> str:
    """What it prints, with the commands of this environment."""
    first, _, rest = command.partition(" ")
    ran = subprocess.run(["sh", "-c", f"{bin_folder / first} {rest}"], cwd=folder, capture_output=True, text=True)
    if ran.returncode:
        return f"{command}: exit code {ran.returncode}: {ran.stderr.strip()[-300:]}"
    return ran.stdout


def check(figures: list[Figure], folder: Path, bin_folder: Path) -> list[str]:
    """What does not agree, a line each. A command that serves several figures runs once."""
    printed: dict[str, str] = {}
    faults = []
    for figure in figures:
        if figure.text not in (ROOT / figure.page).read_text(encoding="utf-8"):
            faults.append(f"{figure.page} does not hold {figure.text!r}")
        if str(DATA.resolve()) in figure.command and not DATA.exists():
            print(f"passed over, no {DATA}: {figure.command}")
            continue
        if figure.command not in printed:
            printed[figure.command] = run(figure.command, folder, bin_folder)
        if not re.search(figure.prints, printed[figure.command]):
            faults.append(f"{figure.page}: {figure.text!r}: {figure.command} prints otherwise: {figure.prints}")
    return faults


def lay_stories(folder: Path) -> None:
    """The bundled stories, as `fabula demo` writes them."""
    for file in (ROOT / "src" / "fabula" / "demo").glob("*.json"):
        (folder / file.name).write_bytes(file.read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare figures of README and docs with what their commands print.")
    parser.add_argument("--quick", action="store_true", help="Only those that take seconds.")
    quick = parser.parse_args().quick
    chosen = [f for f in FIGURES if f.quick or not quick]
    with tempfile.TemporaryDirectory() as name:
        lay_stories(Path(name))
        faults = check(chosen, Path(name), Path(sys.executable).parent)
    print("\n".join([*faults, f"{len(chosen)} figures, {len(faults)} faults"]))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
