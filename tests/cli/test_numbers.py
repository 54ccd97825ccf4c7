"""Numbers are never cut: what a verb prints at 40, 80, 120 and 200 columns and in a pipe, parsed back and compared with
its JSON. Every verb has a case here, or a reason why it has none."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import json
import os
import pty
import re
import struct
import sys
import termios
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from rich.cells import cell_len

from fabula import demo
from fabula.core.printable import cut_words
from fabula.verbs.command_line import fabula, main
from fabula.verbs.terminal import out as _out
from fabula.verbs.terminal.console import WIDEST, make_bar
from fabula.verbs.terminal.screen import Screen
from tests.annotation.toys import write_moments
from tests.cli.forked import run_here
from tests.studies.made import make_plan

WIDTHS = (40, 80, 120, 200)
ENDLESS = 100_000
REFS = ["--refs", "annotator_1.json", "annotator_2.json"]
QUICK = ["--resamples", "30"]
METRICS = ["-m", "mIoU,SODA_d,PRF,Para_CIDEr"]


class Case(NamedTuple):
    """How a verb is called, and which numbers of its JSON it prints, as it prints them (× 100, say)."""

    words: list[str]
    numbers: Callable[[Any], Iterable[float | None]]
    digits: int = 2  # at least, behind the point
    names: Callable[[Any], Iterable[str]] = lambda document: ()  # words that stand there whole
    before: tuple[list[str], ...] = ()
    extra: str = ""  # a package that it needs
    made: Callable[[], _out.Shown] | None = None  # what it shows, where to call it would take long


def leaves(tree: Any) -> Iterator[float]:
    """All fractions below."""
    if isinstance(tree, dict | list):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(value)
    elif isinstance(tree, float):
        yield tree


def percent(tree: Any) -> list[float]:
    return [100 * x for x in leaves(tree)]


def numbers_of_power(document: Any) -> Iterator[float]:
    for line in document["metrics"].values():
        yield from (100 * line[k] for k in ("sigma", "observed", "difference", "shown"))
        yield from (line["videos"], line["needed"])


def numbers_of_status(document: Any) -> Iterator[float]:
    yield document["moments"]
    yield document["cost"]
    for step in document["steps"].values():
        yield from (step["calls"], step["tokens_in"], step["tokens_out"], step["cost"], step["seconds"] / step["calls"])


def numbers_of_stats(document: Any) -> Iterator[float]:
    for one in document["files"].values():
        yield from (one["captions"], one["videos"], one["span"], *one["words"].values())


def numbers_of_study(document: Any) -> Iterator[float]:
    shares = [x for x in document["measures"] if x["measure"] in ("static", "dynamic", "better")]
    yield from (100 * x for line in shares for x in (line["value"], *(line["interval"] or ())))
    yield from (line["answers"] for line in document["measures"])
    yield from (x for line in document["differences"] for x in (line["p"], line["p_holm"]))


def of_meta(document: Any) -> Iterator[float]:
    for line in document["metrics"].values():
        yield from percent([line["segment"], line["system"]])
    for line in document["differences"]:
        yield from (*percent([line["delta"], line["ci"]]), line["p"], line["p_holm"])


def ends_of(estimate: dict[str, Any]) -> list[float | None]:
    return [estimate[key] for key in ("value", "low", "high")]


def of_attacks(document: Any) -> Iterator[float | None]:
    for a in document["attacks"]:
        yield from (a["attempts"], a["unread"], a["succeeded"], a["full"])
        yield from (None if x is None else 100 * x for x in (a["plain"], a["after"], *ends_of(a["gain"])))


def of_checks(document: Any) -> Iterator[float | None]:
    for b in document["beside"]:
        yield from (b["pairs"], b["unread"])
        estimates = [b["mean"], *ends_of(b["equal"]), *ends_of(b["shift"]), *ends_of(b["gap"])]
        yield from (None if x is None else 100 * x for x in estimates)
        yield from ends_of(b["alpha"])


def of_protocols(document: Any) -> Iterator[float]:
    for seen in document["protocols"].values():
        for score in seen.get("scores", {}).values():
            yield 100 * next(score[k] for k in ("f1", "value") if k in score)


def found_moments() -> _out.Shown:
    """An answer of fabula search, without a store."""
    from fabula.library import sheet
    from fabula.library.find import Moment, SearchResult
    from fabula.library.query import parse

    names = ["kitchen.mp4", "a-long-name-of-a-film-as-cameras-write-them-2026-11-18.mkv"]
    found = SearchResult(parse("blue"), tuple(Moment(v, 3725.5, 3999.9, 0.8765 - i, 0.5) for i, v in enumerate(names)))
    return _out.Shown(document=found.document, lines=lambda: sheet.lines(found), drawn=lambda: sheet.table(found))


JUDGE = ["pairs.jsonl", "--judge-url", "fake:", *QUICK]
ANNOTATED = (["annotate", "run", "m.jsonl", "-s", "s.sqlite", "--blind", "--price", "1/2"],)
STUDIED = (["study", "simulate", "PLAN.toml", "--studies", "1", "-o", "sim", "--effect", "1"],)

CASES: dict[str, Case] = {
    "score": Case(
        ["score", "good.json", *REFS, *METRICS, "--ci", *QUICK, "--thresholds"],
        lambda d: percent([[v for k, v in s.items() if k != "ci"] for s in d["scores"].values()]),
        names=lambda d: d["scores"],
    ),
    "protocols": Case(
        ["protocols", "good.json", *REFS, "--only", "densevid-2018,pdvc-2018,soda-2021-multi,timechat,procnets"],
        of_protocols,
        names=lambda d: [*d["protocols"], *d["protocols"]["default"]["scores"]],
    ),
    "compare": Case(
        ["compare", "good.json", "over_segmenting.json", "out_of_order.json", *REFS, "-m", "mIoU,SODA_d,PRF", *QUICK],
        lambda d: [
            *percent([m["scores"] for m in d["metrics"].values()]),
            *percent([[x["delta"], x["ci"]] for m in d["metrics"].values() for x in m["differences"]]),
            *(x[k] for m in d["metrics"].values() for x in m["differences"] for k in ("p", "p_holm")),
        ],
        names=lambda d: ["over_segmenting", "out_of_order", *d["metrics"]],
    ),
    "diagnose": Case(
        ["diagnose", "good.json", *REFS, "--metric", "SODA_d", *QUICK],
        lambda d: [
            *percent(d["value"]),
            *percent([[r["value"], r["gain"], r["ci"] if r["errors"] else 0] for r in d["repairs"]]),
            *(r[k] for r in d["repairs"] for k in ("errors", "videos")),
            *percent([s[k] for s in d["slices"]["videos"] for k in ("value", "interval")]),
            *percent([s[k] for s in d["slices"]["events"] for k in ("found", "iou")]),
        ],
    ),
    "lint": Case(
        ["lint", "over_segmenting.json", *REFS],
        lambda d: [f["count"] for f in d["findings"]],
        names=lambda d: [word for f in d["findings"] for word in (f["check"], *f["about"].split())],
    ),
    "stress": Case(
        ["stress", "mIoU", "SODA_d", "PRF@0.5", "OrderedPRF@0.3", "--ways", "split,shift", *QUICK],
        lambda d: leaves([[[w["ratio"], w["ci"]] for w in m["ways"].values() if w] for m in d["metrics"].values()]),
        names=lambda d: d["metrics"],
    ),
    "power": Case(
        ["power", "good.json", "over_segmenting.json", *REFS, "-m", "mIoU,SODA_d"],
        numbers_of_power,
        names=lambda d: d["metrics"],
    ),
    "meta": Case(["meta", "a.csv", "b.csv", "answers.csv", "--resamples", "50"], of_meta),
    "demo": Case(
        ["demo", "-o", "report", "-m", "mIoU,SODA_d"],
        lambda d: percent([[s.get("f1", s.get("value")) for s in r["scores"].values()] for r in d.values()]),
        names=lambda d: d,
    ),
    "judge check": Case(["judge", "check", *JUDGE, "--ways", "again,order"], of_checks, digits=1, extra="httpx"),
    "judge stress": Case(["judge", "stress", *JUDGE, "--ways", "order,longer"], of_attacks, digits=1, extra="httpx"),
    "list": Case(
        ["list"],
        lambda d: [float(row[1]) for row in d[1]],
        names=lambda d: [name for row in d[1] for name in re.split(r",? ", row[2])],
    ),
    "annotate plan": Case(
        ["annotate", "plan", "m.jsonl", "--price", "1/2", "--blind"],
        lambda d: [
            x
            for s in (*d["steps"].values(), d["total"])
            for x in (s["calls"], s["tokens_in"], s["tokens_out"], s["cost"])
        ],
        extra="httpx",
    ),
    "annotate status": Case(
        ["annotate", "status", "-s", "s.sqlite"], numbers_of_status, before=ANNOTATED, extra="httpx"
    ),
    "annotate ab": Case(
        ["annotate", "ab", "m.jsonl", "-s", "ab.sqlite", "--blind", "--model-b", "other", "--sample", "4"],
        lambda d: [d[side][k] for side in ("a", "b") for k in ("done", "words", "candidates", "dropped")],
        extra="httpx",
    ),
    "annotate stats": Case(
        ["annotate", "stats", "out/train.jsonl"],
        numbers_of_stats,
        before=(*ANNOTATED, ["annotate", "export", "-s", "s.sqlite", "-o", "out"]),
        extra="httpx",
    ),
    "study results": Case(["study", "results", "sim"], numbers_of_study, digits=1, before=STUDIED),
    "study power": Case(
        ["study", "power", "PLAN.toml", "--effect", "0.9"],
        lambda d: [d["raters"], d["items"], d["smallest difference"], d["power"]],
    ),
    "study simulate": Case(
        ["study", "simulate", "PLAN.toml", "--studies", "4", "--mix", "careful=2,random=1"],
        lambda d: [d["value"], d["found"], *(x["share"] for x in d["left out"].values())],
    ),
    "features info": Case(
        ["features", "info", "made.safetensors"],
        lambda d: [d["videos"], d["channels"], *d["recipe"].values()],
        digits=0,
        before=(["simulate", "annotator_1.json", "-o", "made.safetensors", "--embedder", "hashing", "--overwrite"],),
        extra="safetensors",
    ),
    "search": Case(
        [],
        lambda d: [m["score"] for m in d["moments"]],
        names=lambda d: [m["video"] for m in d["moments"]],
        made=found_moments,
    ),
}

ONE_LINE = "says what it wrote in one line on standard error, and prints no table"
REASONS: dict[str, str] = {
    **dict.fromkeys(
        [
            "annotate run",
            "annotate retry",
            "annotate export",
            "baseline all-different",
            "baseline same-id",
            "baseline uniform",
            "convert",
            "features blanks",
            "features convert",
            "features cut",
            "features extract",
            "features text",
            "features tune",
            "host",
            "index",
            "parse",
            "people cut",
            "people find",
            "people group",
            "people merge",
            "people name",
            "people show",
            "people split",
            "people undo",
            "plot",
            "read",
            "serve",
            "simulate",
            "study backup",
            "study new",
            "study serve",
        ],
        ONE_LINE,
    ),
    "train": f"a group of tasks, each of which {ONE_LINE}",
    "predict": f"a group of tasks, each of which {ONE_LINE}",
    "analyse": f"a group of tasks, each of which {ONE_LINE}",
    "people info": "prints through the lines of features info",
    "cite": "prints BibTeX",
    "reproduce list": "prints names and counts of rows",
    "reproduce show": "prints a table as the paper has it",
    "reproduce run": "the table and its JSON are compared in tests/reproduce",
    "doctor": "prints versions; no number of it is in JSON",
    "where": "prints a path",
    "tell": "prints events; what its plan counts is compared with a run in tests/narration/test_tell.py",
    "ask": "one line and a run's signature; what its plan counts is compared with a run in tests/asking",
    "transcribe": "prints lines of speech; what it counts is compared in tests/media/speech",
}


def all_verbs() -> Iterator[str]:
    """Every verb, those of groups too; a group of tasks counts as one."""
    from fabula.verbs.terminal.tasks import Tasks

    ctx = click.Context(fabula)
    for name in fabula.list_commands(ctx):
        verb = fabula.get_command(ctx, name)
        if isinstance(verb, click.Group) and not isinstance(verb, Tasks) and verb.commands:
            yield from (f"{name} {inner}" for inner in verb.commands)
        else:
            yield name


def test_every_verb_has_a_case_or_a_reason() -> None:
    assert sorted(all_verbs()) == sorted([*CASES, *REASONS])


# ── a number that is printed ────────────────────────────────────────────────────────────────────────────────────────

TOKEN = re.compile(r"(?<![\w.@/])[-+−±]?(\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?)(?![\w.]*\d)")


def tokens_of(text: str) -> Counter[str]:
    """Numbers of a text, without signs and thousands' commas; what belongs to a name is none."""
    return Counter(found.rstrip(",").replace(",", "") for found in TOKEN.findall(text))


def is_shown(value: float, tokens: Iterable[str], digits: int) -> bool:
    """One of them is the value, rounded to the digits that it has; a fraction has so many at least."""
    for token in tokens:
        mantissa, _, power = token.partition("e")
        places = len(mantissa.partition(".")[2])
        written = f"{abs(value):.{places}e}" if power else f"{abs(value):.{places}f}"
        if float(token) == float(written) and (places >= digits or float(value).is_integer() or power):
            return True
    return False


def test_the_reading_of_numbers() -> None:
    text = "BLEU_4  262.69 [−1.50, +1,234.00] b\nPRF@0.5  26  1.0e-05  v1.2.3"
    assert tokens_of(text) == Counter(["262.69", "1.50", "1234.00", "26", "1.0e-05"])
    assert is_shown(262.6912, ["262.69"], 2) and is_shown(-1.5, ["1.50"], 2) and is_shown(7, ["7"], 2)
    assert not is_shown(262.69, ["26", "262", "262.7", "62.69"], 2) and is_shown(0.00001, ["1.0e-05"], 2)


# ── what a verb shows, computed once ────────────────────────────────────────────────────────────────────────────────


def call(*words: str, watch: Callable[[_out.Shown], None] | None = None) -> None:
    """`fabula …` in this process; nothing is printed where somebody watches."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        patch.setattr(sys, "argv", ["fabula", *words])
        if watch is not None:
            patch.setattr(_out, "print_shown", watch)
        try:
            main()
        except SystemExit as ended:
            assert ended.code in (0, None) or (words[0] == "lint" and ended.code == 1), said.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's files, pairs, moments, a plan, and tables of scores and of people's answers."""
    at = tmp_path_factory.mktemp("numbers")
    for path in (*demo.SYSTEMS.values(), *demo.REFERENCES.values()):
        (at / path.name).write_bytes(path.read_bytes())
    words = ["a dog runs over grass", "a man cuts bread", "two girls sing", "rain falls on a roof", "a kite flies"]
    lines = [{"id": f"p{i}", "cand": w, "refs": [f"{w} slowly", words[i - 1]]} for i, w in enumerate(words)]
    (at / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_moments(at / "m.jsonl", 6)
    make_plan(at, count=12, questions=12, checks=2)
    people = [["item", "system", "rater", "measure", "value"]]
    for name, better in (("a", 1), ("b", 0)):
        scores = [["id", "METEOR", "CIDEr"]]
        for i in range(20):
            value = (7 * i) % 5 + better
            scores.append([f"i{i}", str(value / 10 + i % 3 / 20), str(i % 7 / 5)])
            people.append([f"i{i}", name, "1", "accuracy", str(value)])
        write_csv(at / f"{name}.csv", scores)
    write_csv(at / "answers.csv", people)
    return at


def write_csv(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="") as out:
        csv.writer(out).writerows(rows)


def shown_by(case: Case, folder: Path) -> _out.Shown:
    if case.made is not None:
        return case.made()
    seen: list[_out.Shown] = []
    with contextlib.chdir(folder):
        for words in case.before:
            call(*words)
        call(*case.words, watch=seen.append)
    assert len(seen) == 1
    return seen[0]


def draw(shown: _out.Shown, width: int) -> str:
    screen = Screen(width=width, force_terminal=True, color_system=None, file=io.StringIO())
    _out.draw(shown, screen)
    return screen.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def pipe(shown: _out.Shown) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        _out.print_shown(shown)
    return out.getvalue()


@pytest.mark.parametrize("verb", CASES)
def test_every_number_is_whole_at_every_width(folder: Path, verb: str) -> None:
    case = CASES[verb]
    if case.extra:
        pytest.importorskip(case.extra, reason=f"{case.extra} is not installed")
    shown = shown_by(case, folder)
    document = json.loads(json.dumps(shown.document()))
    numbers = [x for x in case.numbers(document) if x is not None and x == x]
    names = set(case.names(document))
    assert numbers
    wide = tokens_of(draw(shown, ENDLESS))
    texts = {"pipe": pipe(shown), **{str(width): draw(shown, width) for width in WIDTHS}}
    for where, text in texts.items():
        tokens = tokens_of(text)
        lost = [x for x in numbers if not is_shown(x, tokens, case.digits)]
        assert not lost, (where, lost, text)
        joined = "".join(text.split())  # a name longer than the terminal goes on in its next line
        wide_enough = ENDLESS if where == "pipe" else int(where)
        missing = {name for name in names if name not in (text if len(name) <= wide_enough else joined)}
        assert not missing, (where, missing, text)
        if where != "pipe":
            assert tokens >= wide and set(tokens) == set(wide), (where, wide - tokens, set(tokens) - set(wide), text)
            assert max(map(cell_len, text.splitlines())) <= int(where), text
        assert not re.search(r"[\d.]…|…\d", text), (where, text)


def test_a_score_of_many_numbers_shows_all_its_intervals() -> None:
    from fabula.data.result import Result, Score
    from fabula.report.table import rich_table

    values = {f"r{k}@0.{t}": k * t / 1000 for k in (1, 5, 10, 100) for t in (3, 5, 7)}
    bounds = {field: (x - 0.01, x + 0.01) for field, x in values.items()}
    score = Score("VCMR", values, "r1@0.5", "VCMR", bounds)
    result = Result("0", "moments", "default", {"VCMR": score}, {"videos": 3})
    for width in WIDTHS:
        screen = Screen(width=width, force_terminal=True, color_system=None, file=io.StringIO())
        screen.draw(rich_table(result, "many"))
        tokens = tokens_of(screen.file.getvalue())  # type: ignore[attr-defined]
        assert not [x for x in (*values.values(), *sum(bounds.values(), ())) if not is_shown(100 * x, tokens, 2)]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_number_of_a_bar_is_cut(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    bar = make_bar()
    said = cut_words("epoch 12: loss 0.1234, class 0.5678, box 0.3333, caption 1.2345, more 3.14159", WIDEST)
    bar.add_task(said, total=123456, completed=12345)
    bar.console.file = io.StringIO()
    bar.console.print(bar.get_renderable())
    text = bar.console.file.getvalue()
    assert "12345/123456" in text and all(word in text.split() for word in ("0.1234,", "0.5678,", "0.3333,"))
    assert not re.search(r"[\d.]…", text) and "1.23" not in text  # it is left out whole


def test_no_number_of_a_place_is_cut() -> None:
    assert cut_words("'v_1' event 14 [79.04, 71.7]", 27) == "'v_1' event 14 [79.04, …"
    assert cut_words("x" * 30, 10) == "xxxxxxxxx…" and cut_words("a b", 3) == "a b"


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("verb", ["power", "score"])
def test_on_a_real_terminal(folder: Path, verb: str, width: int) -> None:
    """The same through a pseudo-terminal of that size: what stands there is what the screen above draws."""
    words = [verb, "good.json", *(["over_segmenting.json"] if verb == "power" else []), *REFS, "-m", "mIoU,SODA_d"]
    text = on_terminal(folder, width, *words, "--json", f"{verb}.json")
    document = json.loads((folder / f"{verb}.json").read_text())
    values = [
        *(100 * x for s in document.get("scores", {}).values() for x in leaves(s)),
        *(numbers_of_power(document) if verb == "power" else ()),
    ]
    assert len(values) > 3 and "\t" not in text
    assert not [x for x in values if not is_shown(x, tokens_of(text), 2)], text


def on_terminal(folder: Path, width: int, *words: str) -> str:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.pop("COLUMNS", None)
        os.environ["TERM"] = "xterm-256color"
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        run_here(words)
    got = bytearray()
    with contextlib.suppress(OSError):  # the other end is closed
        while piece := os.read(terminal, 65536):
            got += piece
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, got.decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", got.decode())
