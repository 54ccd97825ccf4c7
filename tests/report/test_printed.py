"""Tables, sentences and JSON of the report from values made by hand, letter by letter: tests/report/printed has them.

A text that changes is to be looked at. `python -m tests.report.test_printed` writes the files anew.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from fabula.checks import Finding, Mended, Report
from fabula.checks._check import Place
from fabula.data.moments import Query
from fabula.data.result import Result, Score
from fabula.data.stories import Event, Segment, Story
from fabula.diagnosis.attacks import Attack, Attacked
from fabula.diagnosis.errors import Diagnosis, EventSlice, Limits, Repair, VideoSlice
from fabula.diagnosis.factors import Factors
from fabula.diagnosis.judges import Checked, CheckPlan
from fabula.diagnosis.panel import Difference
from fabula.diagnosis.protocols import Reason, Rule
from fabula.diagnosis.retrieval import Fault, Retrieval
from fabula.diagnosis.stress import Cell, Stress
from fabula.diagnosis.voices import Beside, Estimate
from fabula.report import _queries, compare, diagnose, film, html, judges, layout, lint, meta, protocols, stress, table
from fabula.stats.bootstrap import Interval
from fabula.stats.compare import Comparison, Duel, Line, McNemar
from fabula.stats.meta import Agreed, Contest, Meta, Statistic
from fabula.stats.resampling import PairedTest, Resampling

FOLDER = Path(__file__).parent / "printed"
HOW = Resampling(resamples=500, seed=3)
PAIRED = PairedTest(resamples=500, seed=3, alpha=0.04)


def on_terminal(drawn: object, width: int = 70) -> str:
    """With the marks of bold and of colours."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=True, color_system="standard", legacy_windows=False
    )
    console.print(drawn, crop=False)
    return console.file.getvalue().replace("\x1b", "~")  # type: ignore[attr-defined, no-any-return]


def as_text(document: object) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, default=str)


# values made by hand


def make_comparison(hits: bool) -> Comparison:
    """Three systems; b beats a, c beats a; with hits also a metric without intervals."""
    duels = (
        Duel("sys_a", "sys&b", 0.034, Interval(0.01, 0.05), 0.0004, 0.0012, "bca"),
        Duel("sys_a", "c", -0.02, Interval(-0.03, 0.01), 0.00003, 0.04),
        Duel("sys&b", "c", -0.054, Interval(-0.07, -0.01), 0.01, 0.0399999, "percentile"),
    )
    values = {"sys_a": 0.2741, "sys&b": 0.3081, "c": 0.2541}
    ends = {"sys_a": Interval(0.24, 0.3), "sys&b": Interval(0.28, 0.33), "c": None}
    lines = {"SODA_c": Line("SODA_c", 100.0, values, ends, duels, {"sys_a": "bca", "sys&b": "bca"})}
    if hits:
        one = Duel("sys_a", "sys&b", 0.5, None, 0.9, 1.0, "", McNemar(3, 4, 0.00002))
        two = Duel("sys_a", "c", 0.0, None, 0.9, 1.0)
        flat = dict.fromkeys(values, 2.0)
        lines["R|1"] = Line("R|1", 1.0, flat, dict.fromkeys(values), (one, two))
    signatures = {"SODA_c": "SODA_c|x:1"}
    return Comparison(tuple(values), lines, PAIRED, 15, signatures, ("odd",), "videos by hand" if hits else "")


def make_meta(full: bool) -> Meta:
    def of(value: float, wide: float | None = 0.02) -> dict[str, Statistic]:
        return {
            name: Statistic(value + k / 50, None if wide is None else Interval(value - wide, value + k * wide))
            for k, name in enumerate(("tau_b", "tau_c", "spearman", "pearson", "accuracy"))
        }

    low, high = Agreed("low_one", of(0.1), {}, None, None, {}), Agreed("high", of(0.5), {}, 0.01234, 0.75, {})
    if not full:
        return Meta("tau_b", (low, high), (), 30, 20, 10, 3, PAIRED)
    whole = of(0.3) | {"pearson": Statistic(nan, None)}
    system = {name: one for name, one in of(0.7, None).items() if name in ("spearman", "accuracy")}
    kappa = {"none": Statistic(0.25, Interval(0.1, 0.5)), "quadratic": Statistic(nan, None)}
    lines = (Agreed("judge", whole, system, 0.5, None, kappa), Agreed("low_one", of(0.1), system, None, None, {}), high)
    lines = (*lines[:2], Agreed("high", of(0.5), system, 0.01234, 0.75, {}))
    contests = (
        Contest("low_one", "high", 0.4, Interval(0.1, 0.6), 0.00001, 0.039),
        Contest("low_one", "judge", -0.2, None, 0.5, 0.04),
    )
    return Meta("spearman", lines, contests, 1234, 20, 10, 3, PAIRED, ("a note",))


def make_stress() -> Stress:
    cells = {
        "SODA_c": {
            "shift": Cell(0.5, Interval(0.25, 0.75), 12, 1, {}, "bca"),
            "swap": None,
            "cut": Cell(1.0, None, 3, 0, {}, "", "too few"),
        },
        "mIoU": {
            "shift": Cell(0.75, None, 11, 2, {}),
            "swap": None,
            "cut": Cell(0.25, Interval(0.1, 0.3), 4, 0, {}, "x"),
        },
    }
    return Stress(cells, {"SODA_c": "S|1", "mIoU": "M|1"}, 15, 2, 7, HOW)


def make_diagnosis(full: bool) -> Diagnosis:
    repairs = (
        Repair("missed_event", 1200, 12, 0.3456, 0.0123, Interval(0.001, 0.02), "bca"),
        Repair("order", 0, 0, 0.3333, 0.0, None),
    )
    videos = (
        VideoSlice("length", "short", 1000, 0.25, Interval(0.2, 0.3), "percentile"),
        VideoSlice("", "x", 1, 1.0, None),
    )
    events = (EventSlice("words", "many", 2000, 0.125, 0.0625),)
    factors = Factors(0.9, 0.8, 0.7, 0.6) if full else None
    counts = {"videos": 3}
    return Diagnosis(
        "dense", "SODA_c", "S|1", 100.0, 0.3333, repairs, videos, events, factors, Limits(), HOW, counts, ("w",)
    )


def make_retrieval() -> Retrieval:
    faults = (Fault("right", 1200, 0.6, Interval(0.5, 0.7), "wilson"), Fault("video", 800, 0.4, None))
    return Retrieval(5, 0.5, 2000, faults, HOW, SimpleNamespace(), ("w",))


def sure(value: float, low: float = nan, high: float = nan, how: str = "") -> Estimate:
    return Estimate(value, low, high, how)


def make_checked() -> Checked:
    base = SimpleNamespace(asked=20, unread=2, missing=1, mean=0.6)
    beside = (
        Beside(
            "again",
            "seed",
            17,
            1,
            0,
            0.55,
            sure(0.9, 0.8, 0.95, "wilson"),
            sure(-0.05, -0.1, 0.0, "bca"),
            sure(0.1),
            sure(0.8, 0.7, 0.9),
        ),
        Beside("other", "model", 0, 17, 0, nan, sure(nan), sure(0.05), sure(nan), sure(0.25)),
    )
    return Checked("fabula", "m", "p1", 20, 50, 9, base, beside, HOW, 60, 40, "abcd", ("w",))


def make_attacked(injected: bool) -> Attacked:
    attacks = [Attack("plain words", "style", 20, 1, 3, 1, 0, 0.5, 0.625, sure(0.125, 0.1, 0.2, "bca"))]
    if injected:
        attacks += [Attack("ignore", "injection", 10, 0, 2, 1, 9, 0.5, 0.4, sure(-0.1))]
    return Attacked("fabula", "m", "p1", 20, 0.75, 0.25, 3, tuple(attacks), HOW, "abcd", ("w",))


def make_differences() -> list[Difference]:
    here, there = (SimpleNamespace(name=name) for name in ("large", "small"))
    pair = SimpleNamespace(prediction="a dog", reference="a cat")
    disputed = tuple(SimpleNamespace(pair=pair, here=k / 10, there=1.0) for k in range(4))
    most = tuple((f"v{k}", 0.5, k / 10) for k in range(4))
    facts = {"model": ("l", "s"), "prompt": ("", "p")}
    return [
        Difference(here, there, "m", 0.5, 0.25, Interval(0.1, 0.4), "bca", "", facts, most, 40, 4, disputed),
        Difference(here, there, "m", 0.5, 0.75, None, "", "too few videos", {}, (), 0, 0, ()),
    ]


class Seats:
    """A panel whose differences are known."""

    def __init__(self) -> None:
        scores = {
            "AutoDQ(x=1)": Score("AutoDQ", {"f1": 0.5}, "f1", "AutoDQ|unparsed:3|calls:40|spared:2"),
            "Other": Score("Other", {"value": 0.125}, "value", "Other|x:1", scale=1.0),
        }
        full = SimpleNamespace(name="small", result=SimpleNamespace(scores=scores), refused="", facts={"model": "s"})
        none = SimpleNamespace(name="none", result=None, refused="no record", facts={"model": ""})
        self.task, self.seats, self.warnings = "dense", (full, none), ("w",)

    def differences(self) -> list[Any]:
        found = make_differences()
        return [Difference(*(getattr(d, name) for name in d.__slots__[:-1]), ()) for d in found]


NAN_UNITS = (("v1", nan, 0.5), ("v2", 0.25, nan), ("v3", 0.1, 0.1), ("v4", 0.1, 0.1000001))
RULES = (
    Rule("order", "reads in the order of the file", 0.3, NAN_UNITS),
    Rule("text", "cuts words", None, NAN_UNITS[:1]),
    Rule("fold", "averages otherwise", 0.25, ()),
    Rule("both", "counts both", 0.25 + 1e-15, NAN_UNITS[:3]),
)
REASONS = [
    Reason("SODA_c F1", 0.2500001, 0.25, 100.0, "videos", RULES, ()),
    Reason("CIDEr", 3.0, 2.0, 1.0, "queries", (), NAN_UNITS[1:]),
]


class Columns:
    """An overview whose reasons are known."""

    def __init__(self) -> None:
        def result(value: float) -> Any:
            scores = {
                "SODA_c": Score("SODA_c", {"f1": value, "precision": 0.5}, "f1", "S"),
                "CIDEr": Score("CIDEr", {"value": 1.5}, "value", "C", scale=1.0),
            }
            return SimpleNamespace(scores=scores, to_dict=lambda: {"value": value})

        few = SimpleNamespace(scores={"SODA_c": Score("SODA_c", {"f1": 0.1}, "f1", "S")}, to_dict=lambda: {})
        names = {"default": result(0.25), "soda-2021": result(0.2500001), "other": few, "none": None}
        self.columns = [
            SimpleNamespace(name=n, result=r, refused="no captions" if r is None else "") for n, r in names.items()
        ]
        self.task = "dense"
        windows = {"ours": [1, 2], "theirs": [1]}
        self.readings = SimpleNamespace(
            answers=("a", "b", "c"), windows=windows, read=lambda name: len(windows[name]), alike=lambda name: 1
        )

    def lines(self) -> list[tuple[str, str]]:
        return [("SODA_c", "f1"), ("SODA_c", "precision"), ("CIDEr", "value")]

    def every_reason(self) -> dict[str, list[Reason]]:
        return {column.name: self.reasons(column.name) for column in self.columns[1:] if column.result is not None}

    def reasons(self, here: str, there: str = "default") -> list[Reason]:
        return [] if here == there else REASONS[:1] if here == "other" else REASONS


def make_result(types: bool = False, ci: bool = False, many: bool = False) -> Result:
    ends = {"f1": (0.2, 0.3), "recall": (0.1, 0.6)} if ci else None
    by_type = {"short": {"f1": 0.1, "precision": 0.2, "queries": 1200, "videos": 1200}} if types else {}
    level = {"0.3": {"precision": 0.5, "f1": 0.4}, "0.7": {"precision": 0.25, "f1": 0.125}}
    values = {"precision": 0.5, "f1": 0.25} | ({f"n{k}": k / 100 for k in range(9)} if many else {})
    by_type = {t: v | dict.fromkeys(values, 0.1) for t, v in by_type.items()}
    scores = {
        "SODA_c": Score("SODA_c", values, "f1", "SODA_c|x:1,2|fabula:9", ends, by_type=by_type, by_threshold=level),
        "CIDEr": Score("CIDEr", {"value": 1.5, "recall": 0.5}, "value", "CIDEr|<b>|fabula:9", scale=1.0),
        "PRF": Score("PRF", {"recall": 0.5}, "recall", "PRF|fabula:9", by_threshold=level),
    }
    counts = {"videos": 1234, "missing": 0, "events": 0, "words": 99}
    return Result("9", "moments" if types else "dense", "default", scores, counts, ("careful & slow",) if ci else ())


QUERY = Query("q1", "a dog", "v1", 30.0, ((1.0, 5.5),))
PEOPLE = (
    film.Person(3, "Ann", 1, (b"jpg",), ((0.0, 1.25), (3.0, 4.0))),
    film.Person(5, None, 2),
    film.Person(6, "Bob", None),
)
FILM = film.Film("f", 60.0, ((0.0, 2.5, "P1 sees P2 and P1."), (3.0, 4.0, "P3 and P12 sit.")), PEOPLE)
WORDY = "a sentence that is rather longer than twenty-four columns"
TABLES = {
    "fits": layout.TextTable(["name", "n", "words"], [["a", "1.5", "so"], ["bcd", "-20", WORDY]], "A title"),
    "many": layout.TextTable(
        ["metric", *(f"column {k}" for k in range(6))], [["m", *map(str, range(6))], ["n", "", "1"]]
    ),
    "mixed": layout.TextTable(
        ["level", "check", "count", "meaning", "fix"],
        [["error", "reversed", "12", WORDY, ""], ["warning", "x", "1,000", "short", WORDY * 2]],
        names=2,
    ),
    "headless": layout.TextTable([], [["a", "[1.0, 2.0]"], ["", "3 *"]]),
    "wide-names": layout.TextTable(["metric", "p"], [["a_name_of_more_than_thirty_letters", "0.01"]]),
}
FINDINGS = (
    Finding("reversed", "error", "ends before it starts", tuple(Place("v", k, "x" * 90) for k in range(4)), "--mend"),
    Finding("long", "warning", "very long", (Place("v1"),)),
    Finding("odd", "info", "odd", tuple(Place(f"v{k}") for k in range(3))),
)

PRINTED: dict[str, Callable[[], str]] = {
    **{
        f"compare-{name}{'-hits' * hits}": (lambda draw=draw, hits=hits: draw(make_comparison(hits)))
        for hits in (False, True)
        for name, draw in {
            "plain": lambda c: "\n".join(compare.plain(c)),
            "markdown": lambda c: "\n".join(compare.markdown(c)),
            "latex": lambda c: "\n".join(compare.latex(c)),
            "json": lambda c: as_text(compare.as_json(c)),
            "terminal": lambda c: on_terminal(compare.rich_tables(c), 120),
        }.items()
    },
    **{
        f"meta-{name}{'-full' * full}": (lambda draw=draw, full=full: draw(make_meta(full)))
        for full in (False, True)
        for name, draw in {
            "plain": lambda m: "\n".join(meta.plain(m)),
            "latex": lambda m: "\n".join(meta.latex(m)),
            "json": lambda m: as_text(meta.as_json(m)),
        }.items()
    },
    "stress-plain": lambda: "\n".join(stress.plain(make_stress())),
    "stress-json": lambda: as_text(stress.as_json(make_stress())),
    "stress-terminal": lambda: on_terminal(stress.rich_tables(make_stress())),
    "errors-plain": lambda: "\n".join(diagnose.plain(make_diagnosis(True))),
    "errors-plain-short": lambda: "\n".join(diagnose.plain(make_diagnosis(False))),
    "errors-json": lambda: as_text(diagnose.as_json(make_diagnosis(True))),
    "errors-json-short": lambda: as_text(diagnose.as_json(make_diagnosis(False))),
    "errors-terminal": lambda: on_terminal(diagnose.draw_tables(make_diagnosis(True))()),
    "retrieval-plain": lambda: "\n".join(diagnose.plain(make_retrieval())),
    "retrieval-json": lambda: as_text(diagnose.as_json(make_retrieval())),
    "checked-plain": lambda: "\n".join(judges.checked(make_checked())),
    "checked-json": lambda: as_text(judges.checked_json(make_checked())),
    "planned": lambda: "\n".join(judges.planned(CheckPlan(1000, 2000, 3000, 400, 5000, 6000, 1.5))),
    "planned-free": lambda: "\n".join(judges.planned(CheckPlan(1, 2, 3, 0, 5, 6, None))),
    "attacked-plain": lambda: "\n".join(judges.attacked(make_attacked(True))),
    "attacked-plain-style": lambda: "\n".join(judges.attacked(make_attacked(False))),
    "attacked-json": lambda: as_text(judges.attacked_json(make_attacked(True))),
    "panel": lambda: "\n".join([*judges.panel(Seats()), *judges.differences(Seats())]),
    "panel-json": lambda: as_text(judges.panel_json(Seats())),
    "differences": lambda: "\n".join(line for d in make_differences() for line in judges.tell_difference(d)),
    "protocols-plain": lambda: "\n".join([*protocols.plain(Columns()), *protocols.reasons(Columns())]),
    "protocols-terminal": lambda: on_terminal(protocols.rich_table(Columns())),
    "protocols-json": lambda: as_text(protocols.as_json(Columns())),
    "protocols-explained": lambda: "\n".join(
        [*protocols.explained(Columns(), "soda-2021", "default"), *protocols.explained(Columns(), "other", "other")]
    ),
    "scores-plain": lambda: "\n".join(table.plain_lines(make_result())),
    "scores-plain-all": lambda: "\n".join(table.plain_lines(make_result(True, True), thresholds=True)),
    "scores-terminal": lambda: on_terminal(table.rich_table(make_result(), "T"), 90),
    "scores-terminal-all": lambda: on_terminal(table.rich_table(make_result(True, True), "T", True, True), 90),
    "scores-terminal-many": lambda: on_terminal(table.rich_table(make_result(False, True, True), "T"), 90),
    "scores-terminal-many-without-ci": lambda: on_terminal(table.rich_table(make_result(False, False, True), "T"), 90),
    "systems-plain": lambda: "\n".join(table.plain_comparison({"a": make_result(), "b\t": make_result()})),
    "systems-terminal": lambda: on_terminal(table.rich_comparison({"a": make_result(), "b": make_result()}, "T")),
    "lint-plain": lambda: "\n".join(lint.plain(Report(FINDINGS, {}))),
    "lint-terminal": lambda: on_terminal(lint.rich_table(Report(FINDINGS, {}), Path("x.json")), 100),
    "lint-nothing": lambda: on_terminal(lint.rich_table(Report((), {}), Path("x.json"))),
    "film-row": lambda: as_text(film.row_of(FILM, Path())),
    "page-scores": lambda: html.draw_scores([make_result(ci=True)], ["a"]),
    "page-scores-many": lambda: html.draw_scores([make_result(many=True)], ["a"]),
    "page-scores-of-two": lambda: html.draw_scores([make_result(ci=True), make_result()], ["a", "<b>"]),
    "page-signatures": lambda: html.draw_signatures([make_result(), make_result()]),
    "page-counts": lambda: html.draw_counts(make_result(ci=True), "") + html.draw_counts(make_result(), "<b>"),
    "page-of-scores-alone": lambda: cut_style(html.page(make_result(ci=True), "T <1>")),
    "page-of-two": lambda: cut_style(html.page(make_result(), "T", other=make_result(), names=("a", "a"))),
    **{
        f"layout-{name}-{width}": (lambda drawn=drawn, width=width: on_terminal(drawn, width))
        for name, drawn in TABLES.items()
        for width in (20, 32, 48, 80)
    },
}


def cut_style(page: str) -> str:
    """A page without the text of its style and the hashes of both."""
    head, _, rest = page.partition("<style>")
    return head.partition("style-src")[0] + rest.partition("</style>")[2]


@pytest.mark.parametrize("name", PRINTED)
def test_the_text_is_as_it_was(name):
    assert PRINTED[name]() + "\n" == (FOLDER / f"{name}.txt").read_text("utf-8")


def test_no_text_is_left_over():
    assert {path.stem for path in FOLDER.iterdir()} == set(PRINTED)


def test_which_diagnosis_has_tables_for_a_terminal():
    assert diagnose.draw_tables(make_retrieval()) is None


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ({"videos": 1000, "events": 2000}, "1,000 ids, 2,000 captions or events: 1 error"),
        (
            {"videos": 1, "events": 2, "told": 0.5, "found": 1000, "references": 2000},
            "1 ids, 2 captions or events, 50.0% of their time told, 1,000 of 2,000 reference ids: 1 error",
        ),
    ],
)
def test_the_sentence_on_a_file(numbers, told):
    report = Report((Finding("reversed", "error", "so", (Place("v"),)),), numbers)
    assert lint.summary(report, Path("x.json"), "dense").startswith(f"x.json (dense): {told}")


def test_what_was_done_to_a_copy():
    deeds = [{"deed": "swap"}, {"deed": "cut"}, {"deed": "swap"}]
    mended = Mended("dense", deeds, {"swap": "ends swapped", "cut": "cut"})
    assert lint.deeds(mended, Path("y.json")) == "y.json: ends swapped 2 ×; cut 1 ×"
    assert lint.deeds(Mended("dense", [], {}), Path("y.json")) == "y.json: nothing to mend"


@pytest.mark.parametrize(("p", "shown"), [(0.5, "0.5000"), (0.00005, "0.0001"), (0.000049, "4.9e-05"), (0, "0.0e+00")])
def test_a_small_p_is_not_zero(p, shown):
    assert compare.p_value(p) == shown


def test_letters_of_many_systems():
    letters = compare.letters(SimpleNamespace(systems=[f"s{k}" for k in range(60)]))
    assert [letters[f"s{k}"] for k in (0, 25, 26, 27, 52)] == ["a", "z", "aa", "ab", "ba"]


def test_signs_of_markdown_and_latex():
    assert compare.escaped(r"a|*_`<>[]\b-") == r"a\|\*\_\`\<\>\[\]\\b-"
    assert compare.tex(r"a&%$#_{}~^\b") == r"a\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}b"


@pytest.mark.parametrize(("units", "single"), [("queries", "query"), ("videos", "video"), ("images", "image")])
def test_one_of_many(units, single):
    assert protocols.one(units) == single


@pytest.mark.parametrize(
    ("here", "there", "shown"),
    [
        (0.25, 0.5, ("25.00", "50.00")),
        (0.25, 0.2500001, ("25.00000", "25.00001")),
        (0.25, 0.25, ("25.000000", "25.000000")),
        (nan, 0.5, ("does not count", "50.00")),
    ],
)
def test_as_many_digits_as_it_takes(here, there, shown):
    assert protocols.digits(here, there, 100.0) == shown


def test_units_that_are_written():
    found = protocols.units_json("queries", tuple((f"q{k}", 0.1, nan) for k in range(101)))
    assert found["queries"] == 101 and len(found["most"]) == 100
    assert found["most"][0] == {"query": "q0", "value": 0.1, "default": None}


# films


def test_the_lead_of_a_film(monkeypatch):
    monkeypatch.setattr(film, "draw_watch", lambda rows, title, lead, notes: (len(rows), title, lead, notes))
    assert film.film_page([FILM], "T", notes=("n",)) == (1, "T", "1 film, 2 clips told, 3 people seen", ("n",))
    one = film.Film("g", 1.0, ((0, 1, "x"),), PEOPLE[:1])
    assert film.film_page([one], "T")[2] == "1 film, 1 clip told, 1 person seen"
    assert film.film_page([FILM] * 1000, "T")[2] == "1,000 films, 2,000 clips told, 3,000 people seen"


def test_of_many_people_only_the_first_have_a_row():
    crowd = tuple(film.Person(k, None, k) for k in range(26))
    *_, people, more = film.row_of(film.Film("f", 1.0, ((0, 1, "P23 and P25"),), crowd), Path())
    assert len(people) == 24 and more == 2 and people[23][0] == "person 23 · P23"
    assert film.row_of(film.Film("f", 1.0, ((0, 1, "P23 and P25"),), crowd), Path())[2] == [[0, 1, "P23 and P25", [23]]]
    plain = film.Film("f", 1.0, ())
    assert (plain.people, plain.video, plain.notes, PEOPLE[1].pictures, PEOPLE[1].spans) == ((), None, (), (), ())


# queries


def ranking(**more: Any) -> Any:
    return SimpleNamespace(**{"answer": None, "saliency": None} | more)


class Kept:
    """What one system says of a query, list by list."""

    def __init__(self, **lists: Any) -> None:
        self.lists = lists

    def find(self, name: str, id: object) -> Any:
        return self.lists[name]

    def judge(self, query: Query, ranking: Any) -> list[Any]:
        return ranking.judged


class Curve(list):
    def tolist(self) -> list[float]:
        return list(self)


def test_answers_list_by_list():
    answer = SimpleNamespace(start=1.0004, end=nan, iou=0.123456, score=1 / 3, window=0, video=None)
    other = SimpleNamespace(start=0.0, end=2.5, iou=1.0, score=None, window=None, video="v2")
    kept = Kept(VCMR=ranking(judged=[answer, other]), SVMR=None)
    assert _queries.list_answers(kept, QUERY, ["VCMR", "SVMR", "VR"]) == [
        [[1, "nan", 0.1235, 0.33333, 0], [0, 2.5, 1.0, None, None, "v2"]],
        [],
        [],
    ]
    assert _queries.list_answers(kept, QUERY, ["SVMR", "VR"]) is None


def test_words_of_a_model_are_cut():
    kept = Kept(a=None, b=ranking(), c=ranking(answer="x" * 2000), d=ranking(answer="y" * 2001))
    assert _queries.find_words(kept, QUERY, ["a", "b", "c", "d"]) == "x" * 2000
    assert _queries.find_words(kept, QUERY, ["d", "c"]) == "y" * 2000 + " …"
    assert _queries.find_words(kept, QUERY, ["a", "b", "none"]) is None


def test_saliency_of_each_system():
    one = Kept(a=ranking(), b=ranking(saliency=Curve([0.12345, nan, -1234.5])))
    assert _queries.list_saliency([one, Kept(a=None)], QUERY, ["a", "b"]) == [[0.123, 0.0, -1230.0], None]
    assert _queries.list_saliency([Kept(a=None)], QUERY, ["a"]) is None


def test_marks_of_annotators():
    marked = SimpleNamespace(saliency=SimpleNamespace(clips=(3, 4), marks=((1, 2), (3, 4))))
    assert _queries.list_marks(marked) == [[3, 4], [[1, 2], [3, 4]]]
    assert _queries.list_marks(SimpleNamespace(saliency=None)) is None
    assert _queries.list_marks(SimpleNamespace(saliency=SimpleNamespace(clips=(), marks=()))) is None


def test_rows_are_sorted_by_the_overlap_of_the_first_answer():
    row = [*[None] * 6, [[[[0, 1, 0.75]], []]]]
    assert _queries.first_overlap(row) == 0.75
    assert _queries.first_overlap([*[None] * 6, [None]]) == 0.0 == _queries.first_overlap([*[None] * 6, [[[]]]])


# two results beside each other


def test_results_that_cannot_stand_beside_each_other():
    from fabula.core.errors import SpecError

    other = Result("9", "dense", "soda-2021", make_result().scores, {})
    with pytest.raises(
        SpecError, match=r"do not hold the same metrics \(dense, default: SODA_c, CIDEr, PRF and dense, soda"
    ):
        html.check_comparable(make_result(), other)
    html.check_comparable(make_result(), make_result(ci=True))


def test_events_of_a_story_on_the_page():
    from fabula.report._events import list_events

    spans = [(10, 20.1234, "b"), (5, 1, "odd"), (0, 3, None)]
    story = Story("v", [Event(Segment(a, b), caption) for a, b, caption in spans], 30.0)
    assert list_events(story) == [[0, 3, ""], [10, 20.123, "b"], ["5", "1", "odd"]]


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    for name, draw in PRINTED.items():
        try:
            (FOLDER / f"{name}.txt").write_text(draw() + "\n", "utf-8")
        except Exception as error:
            import traceback

            print(name, repr(error), traceback.format_exc()[-300:])
