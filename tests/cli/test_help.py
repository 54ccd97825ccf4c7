"""Help is printed as help, whole, and what click says of a wrong word is one line."""

from __future__ import annotations

import re

import click
import pytest

from fabula.verbs.command_line import fabula as top

GROUPS = [
    name
    for name in top.list_commands(click.Context(top))
    if isinstance(top.get_command(click.Context(top), name), click.Group)
]
EARLIER = {"cite", "parse", "where"}  # names that run and are not listed


def test_there_are_groups() -> None:
    assert {"annotate", "baseline", "features", "judge", "people", "predict", "study", "train"} <= set(GROUPS)


@pytest.mark.parametrize("group", ["", *GROUPS])
def test_a_bare_group_prints_its_help(fabula, group) -> None:
    """On standard error, exit code 2, whatever click's version: nothing was done."""
    words = [group] if group else []
    bare, asked = fabula(*words), fabula(*words, "--help")
    assert asked.code == 0 and asked.out.count("\n") > 5
    assert bare.code == 2 and bare.out == "" and bare.err == asked.out
    assert "Error" not in bare.err and "\\n" not in bare.err


def test_every_description_is_one_whole_line_at_80_columns(fabula, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = fabula("--help").out.partition("Commands:\n")[2].splitlines()
    assert len(lines) == len(top.list_commands(click.Context(top))) - len(EARLIER) > 25
    for line in lines:
        assert re.fullmatch(r"  [a-z]+ +[A-Z].*\.", line) and len(line) <= 80, line
        assert "..." not in line


@pytest.mark.parametrize("group", ["", "judge", "study", "annotate", "train"])
def test_no_description_is_cut_in_a_narrow_terminal(fabula, monkeypatch, group) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = " ".join(fabula(*([group] if group else []), "--help").out.partition("Commands:\n")[2].split())
    verb = top.get_command(click.Context(top), group) if group else top
    assert isinstance(verb, click.Group) and "..." not in text
    for name in set(verb.list_commands(click.Context(verb))) - EARLIER:
        command = verb.get_command(click.Context(verb), name)
        assert command is not None and f"{name} {' '.join(command.get_short_help_str(10_000).split())}" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["host"], "Choose from: codabench, evalai"),
        (["where"], "Choose from: lmms-eval, ms-swift"),
        (["plot"], "Choose from: scatter, thresholds, intervals"),
        (["list", "nothing"], "'nothing' is not one of 'metrics', 'protocols',"),
        (["plot", "pie", "x.json", "-o", "x.svg"], "'pie' is not one of 'scatter', 'thresholds', 'intervals'."),
    ],
)
def test_choices_are_named_in_one_line(fabula, words, said) -> None:
    ran = fabula(*words)
    error = ran.err.splitlines()[-1]
    assert ran.code == 2 and error.startswith("Error: ") and said in error
    assert "\\n" not in ran.err and "\\t" not in ran.err
