"""Run docs/tutorial.md: every command in an empty folder, on a terminal, and what it printed put below it.

    python tools/tutorial.py                      compare the page with what the commands print now; exit code 1 if not
    python tools/tutorial.py --write              put what they print into the page
    python tools/tutorial.py --fabula PATH        with another installed fabula than this environment's

A ```console block holds commands, each behind `$ ` (a line that ends in \\ goes on), and below each what a terminal of
WIDTH columns shows of it; a line … cuts it after as many lines as stand above. `cd` lasts to the end of the page. A
```pycon block is a Python session in the same folder. Decimal numbers in the sentences must stand in some output.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
WIDTH = 110
BLOCK = re.compile(r"^```(console|pycon)\n(.*?)^```$", flags=re.M | re.S)
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
BAR = re.compile(r"^.*\r(?!\n)", flags=re.M)  # a progress bar draws over itself


def run_page(text: str, fabula: Path, folder: Path) -> tuple[str, str]:
    """The page with what its commands print now, and all of that."""
    printed: list[str] = []
    warm = "from fabula.text.meteor.index import open_index; open_index()"  # else the first command would announce it
    subprocess.run([fabula.with_name("python"), "-c", warm], cwd=folder, check=True, capture_output=True)

    def block(match: re.Match[str]) -> str:
        nonlocal folder
        kind, body = match.groups()
        if kind == "pycon":
            made = run_session(body, fabula, folder)
        else:
            made, folder = run_commands(body, fabula, folder)
        printed.append(made)
        return f"```{kind}\n{made}```"

    return BLOCK.sub(block, text), "\n".join(printed)


def run_commands(body: str, fabula: Path, folder: Path) -> tuple[str, Path]:
    """The commands with what they print, and the folder in which they end."""
    made = ""
    for command, before in re.findall(r"^(\$ (?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", body, flags=re.M):
        line = command.removeprefix("$ ").replace("\\\n", " ").strip()
        made += command
        if line.startswith("cd "):
            folder = folder / line.removeprefix("cd ")
            continue
        shown = run_on_terminal(["sh", "-c", line], fabula, folder).splitlines(True)
        made += "".join([*shown[: before.count("\n") - 1], "…\n"] if before.endswith("…\n") else shown)
    return made, folder


def run_session(body: str, fabula: Path, folder: Path) -> str:
    """What `python -i` prints, its prompts and what was typed in their places."""
    typed = re.findall(r"^(?:>>>|\.\.\.) ?(.*)\n", body, flags=re.M)
    code = (
        "import code, sys\n"
        f"console = code.InteractiveConsole()\nfor line in {typed!r}:\n"
        "    print(('... ' if console.buffer else '>>> ') + line)\n    console.push(line)\n"
    )
    python = Path(fabula).with_name("python")
    made = run_on_terminal([str(python), "-c", code], fabula, folder)
    if "Traceback" in made:
        raise SystemExit(made)
    return made


def run_on_terminal(command: list[str], fabula: Path, folder: Path) -> str:
    """What a terminal shows of it, without colours and bars."""
    import pty

    env = {**os.environ, "PATH": f"{fabula.parent}{os.pathsep}{os.environ['PATH']}"}
    env |= {"NO_COLOR": "1", "TERM": "xterm", "COLUMNS": str(WIDTH), "LINES": "40", "OMP_NUM_THREADS": "1"}
    env.pop("PYTHONPATH", None)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    got = bytearray()
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        got += piece
    os.close(ours)
    text = SEQUENCE.sub("", got.decode()).replace("\r\n", "\n")
    text = "".join(f"{line.rstrip()}\n" for line in BAR.sub("", text).splitlines())
    if process.wait() != 0 and not (process.returncode == 1 and "fabula lint" in command[-1]):  # lint found an error
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{text}")
    return re.sub(r"\n{3,}", "\n\n", text.lstrip("\n"))


def unfounded(page: str, printed: str) -> list[str]:
    """Decimal numbers of the page's sentences that no command prints."""
    prose = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page))
    return [n for n in re.findall(r"\d*\.\d+", prose) if not re.search(rf"(?<![\d.]){re.escape(n)}(?!\d)", printed)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--fabula", type=Path, default=Path(sys.executable).with_name("fabula"))
    given = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        made, printed = run_page(text, given.fabula.absolute(), Path(folder))
    if given.write:
        PAGE.write_text(made, encoding="utf-8")
    for number in unfounded(made, printed):
        sys.exit(f"the page says {number}, and no command prints it")
    if not given.write and made != text:
        sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), made.splitlines(True), "page", "now"))
        sys.exit(1)
    print(f"{len(BLOCK.findall(text))} blocks of {PAGE.name}, {'written' if given.write else 'equal'}")


if __name__ == "__main__":
    main()
