"""Under a pseudo-terminal: whatever stands in a file, a file's name or an option, the terminal obeys none of it."""

from __future__ import annotations

import json
import os
import pty
import re
import sys
from pathlib import Path

import pytest

from tests.cli.forked import run_here

CONTROLS = [chr(c) for c in (*range(1, 32), 127, *range(0x80, 0xA0))]
TURNS = [chr(c) for c in (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)]
SEQUENCES = [
    "\x1b]0;evil\x07",
    "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[H",
    "\x1b[31mred\x1b[0m",
    "\x9b31m",
    "\x1bP$q\x1b\\",
    "\x1b[6n",
    "\x1b]52;c;ZXZpbA==\x07",
    "\r\x1b[Kerased",
    "a\nfabula: error: forged",
]
MARKUP = ["[/]", "[link=http://evil]x[/link]", "[bold", "[red]x", ":skull:", "[@click=app.bell]x[/]"]
PAYLOADS = [*SEQUENCES, *MARKUP, *CONTROLS, *TURNS]
OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[0-9]*[AK]")  # what rich says to a terminal itself


def odd(what: str, i: int) -> str:
    return f"{what}{i}{PAYLOADS[i]}x"


def run_on_terminal(*arguments: str, cwd: Path, **env: str) -> tuple[int, str]:
    """The exit code and all that a terminal got; a new Python only where variables of the environment are the point."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.environ.update(env, TERM="xterm-256color", COLUMNS="400")
        if env:
            os.execv(sys.executable, [sys.executable, "-m", "fabula", *arguments])
        run_here(arguments)
    got = bytearray()
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        got += piece
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), got.decode("utf-8", "surrogateescape")


def check(code: int, said: str, *codes: int) -> None:
    assert code in (codes or (0,)), said[-2000:]
    assert "Traceback" not in said
    for payload in (*SEQUENCES, *CONTROLS, *TURNS):
        if payload not in ("\n", "\r", "\t", "\x1b"):
            assert payload not in said, (payload, said[max(0, said.find(payload) - 80) :][:200])
    left = OWN.sub("", said)
    assert not re.search("[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]", left)
    assert "\nfabula: error: forged" not in left


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files whose every text is a payload."""
    at = tmp_path_factory.mktemp("odd")
    n = range(len(PAYLOADS))

    def write(name: str, document: object) -> None:
        lines = "\n".join(map(json.dumps, document)) if name.endswith("jsonl") else json.dumps(document)  # type: ignore[call-overload]
        (at / name).write_text(lines)

    write(
        "refs.json",
        {
            odd("v", i): {
                "duration": 20,
                "timestamps": [[0, 9], [9, 9.5]],
                "sentences": [odd("a ", i), "b"],
                odd("f", i): 1,
            }
            for i in n
        },
    )
    events = {
        odd("v", i): [{"sentence": odd("a ", i), "timestamp": [9, 1] if i % 3 else [0, 8], odd("f", i): 2}] for i in n
    }
    write("preds.json", {"results": events, **{odd("h", i): 1 for i in n}})
    write("other.json", {"results": {odd("w", i): [] for i in n} | {odd("v", 3): events[odd("v", 3)]}})
    write(
        "queries.jsonl",
        [
            {
                "id": odd("q", i),
                "video": odd("v", i),
                "windows": [[0, 5]],
                "type": odd("t", i),
                "duration": 9,
                odd("f", i): 1,
            }
            for i in n
        ],
    )
    write(
        "ranks.jsonl",
        [
            {
                "id": odd("q", i),
                "windows": [[0, 5, 0.5], [9, 1, 0.1]],
                "videos": [odd("v", i), odd("x", i)],
                odd("g", i): 1,
            }
            for i in n
        ],
    )
    write("pairs.jsonl", [{"id": odd("p", i), "cand": odd("a ", i), "refs": [odd("a ", i)], odd("f", i): 1} for i in n])
    write(
        "sets.jsonl",
        [{"id": odd("s", i), "captions": [odd("P1 ", i)], "blanks": [[odd("P", i), "P2"]], odd("f", i): 1} for i in n],
    )
    write(
        "boxes.json",
        [
            {
                "image_id": odd("i", i),
                "bbox": [5, 5, -1, 2] if i % 2 else [0, 0, 5, 5],
                "caption": odd("a ", i),
                "score": 0.5,
            }
            for i in n
        ],
    )
    write(
        "areas.json",
        {
            "annotations": [{"image_id": odd("i", i), "bbox": [0, 0, 5, 5], "caption": odd("a ", i)} for i in n],
            "images": [],
        },
    )
    write(
        "answers.jsonl",
        [{"id": odd("v", i), "answer": f"From 0 to 5 seconds, {odd('a ', i)}", odd("f", i): 1} for i in n],
    )
    write("broken.jsonl", [{"id": odd("v", 0), "events": odd("e", 0)}])
    for i, name in enumerate(("\x1b]0;evil\x07\u202e", "[bold][red]x:skull:\n\x9b31m\x7f")):
        (at / f"n{i}{name}.json").write_text((at / "preds.json").read_text())
    return at


RUNS = {
    "dense": ["score", "preds.json", "--refs", "refs.json", "--metrics", "SODA_d,PRF@0.5"],
    "dense, no pipe for JSON": ["score", "preds.json", "--refs", "refs.json", "--metrics", "SODA_d", "--json", "-"],
    "nothing in common": ["score", "other.json", "--refs", "refs.json", "--metrics", "mIoU"],
    "moments": ["score", "ranks.jsonl", "--refs", "queries.jsonl", "--task", "moments"],
    "grounding": ["score", "ranks.jsonl", "--refs", "queries.jsonl", "--task", "grounding"],
    "captions": ["score", "pairs.jsonl", "--task", "captions", "--metrics", "BLEU_4,ROUGE_L"],
    "identity": ["score", "sets.jsonl", "--refs", "sets.jsonl", "--task", "identity", "--metrics", "FITB"],
    "regions": ["score", "boxes.json", "--refs", "areas.json", "--task", "regions", "--metrics", "DenseCap_AP"],
    "lint": ["lint", "preds.json", "--refs", "refs.json"],
    "lint moments": ["lint", "ranks.jsonl", "--refs", "queries.jsonl"],
    "lint boxes": ["lint", "boxes.json", "--refs", "areas.json"],
    "lint sets": ["lint", "sets.jsonl"],
    "lint pairs": ["lint", "pairs.jsonl"],
    "diagnose": ["diagnose", "preds.json", "--refs", "refs.json", "--metric", "SODA_d", "--resamples", "20"],
    "diagnose moments": [
        "diagnose",
        "ranks.jsonl",
        "--refs",
        "queries.jsonl",
        "--task",
        "moments",
        "--resamples",
        "20",
    ],
    "compare": ["compare", "preds.json", "other.json", "--refs", "refs.json", "--metrics", "mIoU", "--resamples", "20"],
    "protocols": ["protocols", "ranks.jsonl", "--refs", "queries.jsonl", "--task", "moments"],
    "parse": ["parse", "answers.jsonl", "-o", "events.jsonl"],
    "convert": ["convert", "preds.json", "out.json", "--to", "activitynet"],
    "stress": ["stress", "SODA_d", "--corpus", "refs.json", "--ways", "shift", "--resamples", "20"],
    "broken": ["score", "broken.jsonl", "--refs", "refs.json"],
}


SILENT = ("captions", "convert", "stress")  # these name nothing of what they read, unless it is wrong


def test_there_are_payloads_enough() -> None:
    assert len(PAYLOADS) >= 50


@pytest.mark.parametrize("run", RUNS)
def test_no_field_of_a_file_is_obeyed(folder: Path, run: str) -> None:
    code, said = run_on_terminal(*RUNS[run], cwd=folder)
    check(code, said, *(2,) if run == "broken" else (0, 1) if run.startswith("lint") else (0,))
    assert run in SILENT or re.search(r"\\[xun]|evil|\[/\]", said)  # it was there to be obeyed


@pytest.mark.parametrize("verb", ["score", "compare", "lint", "convert", "broken"])
def test_no_name_of_a_file_is_obeyed(folder: Path, verb: str) -> None:
    for name in (p.name for p in folder.glob("n*.json")):
        more = {
            "score": ["score", name, "--refs", "refs.json", "--metrics", "mIoU"],
            "compare": ["compare", name, "preds.json", "--refs", "refs.json", "--metrics", "mIoU", "--resamples", "9"],
            "lint": ["lint", name],
            "convert": ["convert", name, "out.jsonl", "--to", "fabula"],
            "broken": ["score", name + "absent", "--refs", "refs.json"],
        }[verb]
        check(*run_on_terminal(*more, cwd=folder), 0, 1, 2)


OPTIONS = [
    "--metrics",
    "--protocol",
    "--task",
    "--repair",
    "--format",
    "--refs-format",
    "--tok",
    "--seed",
    "--level",
    "--ways",
]


def test_no_value_of_an_option_is_obeyed(folder: Path) -> None:
    value = "".join(SEQUENCES[:4]) + "[/]" + "\u202e\x7f" + "y" * 2000
    for option in OPTIONS:
        code, said = run_on_terminal("score", "preds.json", "--refs", "refs.json", option, value, cwd=folder)
        check(code, said, 2)
        assert max(map(len, OWN.sub("", said).splitlines())) <= 510
    for words in ([value], ["score", f"--{value}"], ["stress", value], ["list", value], ["doctor", value]):
        check(*run_on_terminal(*words, cwd=folder), 2)


def test_no_variable_of_the_environment_is_obeyed(folder: Path) -> None:
    value = "\x1b]0;evil\x07[/]"
    for name in ("FABULA_THREADS", "FABULA_KERNELS", "FABULA_CACHE"):
        check(*run_on_terminal("score", "pairs.jsonl", "--metrics", "BLEU_4", cwd=folder, **{name: value}), 0, 2)
        check(*run_on_terminal("doctor", cwd=folder, **{name: value}), 0, 2)
