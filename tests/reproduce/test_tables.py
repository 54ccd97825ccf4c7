"""The files of tables: well formed, every command line known to the command line, printed numbers as printed."""

from __future__ import annotations

import re
import shlex

import pytest

from fabula.core.errors import InputError, SpecError
from fabula.papers.own import STEPS
from fabula.papers.plan import NAME, OWN, Plan, wanted_sources
from fabula.papers.printed import command_lines, list_lines, show_lines
from fabula.papers.sources import Inputs, sources
from fabula.papers.table import find_tables, load, names, read_printed, read_table
from fabula.verbs.training.reproduce import parse

every_table = pytest.mark.parametrize("name", names())


def complete_lines(name: str, simulate: bool) -> list[str]:
    """Every command line of a table, its names replaced by words."""
    table, plan = load(name), Plan(Inputs((), ()), simulate)
    lines = [
        plan.complete(line, table, row, part)
        for row in table.rows
        if not row.needs
        for part in table.parts_of(row)
        for line in row.steps
    ]
    return list(
        dict.fromkeys(NAME.sub(lambda m: "7" if m[1] == "seed" else f"word{m[2] or ''}", line) for line in lines)
    )


@every_table
@pytest.mark.parametrize("simulate", [False, True])
def test_every_command_line_could_be_typed(name: str, simulate: bool) -> None:
    for line in complete_lines(name, simulate):
        words = shlex.split(line)
        if words[0] in OWN:
            assert " ".join(words[:2]) in STEPS
        else:
            parse(words)


def test_a_wrong_option_is_seen() -> None:
    with pytest.raises(Exception, match="No such option"):
        parse(["train", "pss", "--data", "x", "--features", "y", "--out", "z", "--no-such"])


@every_table
def test_a_table_names_its_sources_and_steps(name: str) -> None:
    table = load(name)
    assert table.title and table.paper and table.rows
    for number, row in enumerate(table.rows, 1):
        assert row.needs or row.steps
        for part in table.parts_of(row):
            lines = list(command_lines(table, row, part, number))
            assert len(lines) == len(row.steps)
    verbs = {line.split()[0] for row in table.rows for line in row.steps} | {"", "any"}
    assert all(row.needs for row in table.rows) or {re.sub(r"\d+$", "", c.step) for c in table.columns} <= verbs


def test_sources_are_made_of_sources() -> None:
    for source in sources().values():
        assert source.about
        if source.simulate:
            known = {*wanted_sources([source.simulate]), "out"}
            assert {m[1] for m in NAME.finditer(source.simulate)} == known


@every_table
def test_show_prints_numbers_and_commands(name: str) -> None:
    text = "\n".join(show_lines(load(name)))
    assert "{" not in text.replace("{out", "")
    for row in load(name).rows:
        for one in row.paper:
            assert one is None or one.text in text


def test_list_has_a_line_for_each() -> None:
    assert [line.split("\t")[0] for line in list_lines()] == ["table", *names()]


PRINTED = {
    ("pss-table1", "Ours", "mIoU"): "41.38",
    ("pss-table1", "Uniform (Avg #Duration)", "mJaccard"): "61.87",
    ("pss-table2", "S3D SODA", "SODA-D"): "36.32 ± 2.19",
    ("pss-table2", "I3D Hungarian", "SODA-C"): "4.17 ± 0.28",
    ("pss-table3", "ProcNet", "Tasty R"): "44.05 ± 3.51",
    ("pss-table3", "Uniform (GT)", "Tasty SODA-D (F1)"): "43.35",
    ("pss-table4", "Ground Truth Proposals Ours", "Tasty CIDEr"): "102.81 ± 0.83",
    ("pss-table4", "Learned Proposals PDVC", "YouCook2 METEOR"): "3.79 ± 0.04",
    ("micap-table1", "Removal", "iS"): "0.46",
    ("micap-table2", "6 MICap 5 + w Arcface features", "Only Dec"): "68.94",
    ("micap-table3", "Test set Brown et al.", "Different"): "81.0",
    ("micap-table4", "Joint training", "iS"): "0.788",
    ("micap-table5", "5 MICap All diff ids", "M"): "11.01",
    ("micap-table6", "GPT2 all features", "iS"): "0.595",
    ("verified-table1", "ActivityNet-FIG", "static num"): "47999",
    ("verified-table2", "DiDeMo-FIG", "COG # instance"): "1925",
    ("verified-table3", "DiDeMo-FIG", "dynamic R_d %"): "88",
    ("verified-table4", "Charades-FIG XML FIG FIG", "0.5/r10"): "4.33",
    ("verified-table4", "ActivityNet-FIG ReLoCLNet FIG COG", "0.7/r100"): "8.15",
    ("verified-table5", "Charades-FIG HERO COG COG", "0.7/r100"): "74.6",
    ("verified-table5", "DiDeMo-FIG XML COG FIG", "0.5/r5"): "57.14",
    ("verified-table6", "DiDeMo-FIG HERO FIG FIG", "r10"): "39.52",
    ("verified-table6", "ActivityNet-FIG ReLoCLNet FIG FIG", "r1"): "17.49",
}


@pytest.mark.parametrize(("where", "text"), PRINTED.items())
def test_printed_numbers(where: tuple[str, str, str], text: str) -> None:
    name, row_name, title = where
    table = load(name)
    row = next(row for row in table.rows if row.name == row_name)
    printed = row.paper[[column.title for column in table.columns].index(title)]
    assert printed is not None and printed.text == text


def test_printed_forms() -> None:
    printed = read_printed("27.44±1.56")
    assert printed is not None and (printed.value, printed.sd, printed.digits) == (27.44, 1.56, 2)
    assert read_printed("-") is None
    with pytest.raises(ValueError, match="no printed number"):
        read_printed("27,44")


def test_names_and_rows_that_are_not_there() -> None:
    assert [t.name for t in find_tables(["pss", "pss-table1"])] == [f"pss-table{i}" for i in (1, 2, 3, 4)]
    with pytest.raises(SpecError, match="no table is called 'pss-table9'"):
        find_tables(["pss-table9"])
    assert load("pss-table1").select(["uniform", "6"]) == [0, 1, 2, 5]
    with pytest.raises(SpecError, match="no row 'nothing'"):
        load("pss-table1").select(["nothing"])
    with pytest.raises(SpecError, match="nothing is called 'youcook'"):
        Inputs(["youcook=."], ())


def test_a_file_that_is_no_table(tmp_path) -> None:
    file = tmp_path / "x.toml"
    file.write_text('title = "t"\npaper = "p"\nlabels = ["a"]\ncolumns = [{title = "x", key = "y"}]\n'
                    '[[rows]]\nlabels = ["r"]\npaper = "1 2"\n')  # fmt: skip
    with pytest.raises(InputError, match="2 numbers, 1 columns"):
        read_table(file)
