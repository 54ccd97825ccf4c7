"""Measured figures of README and docs are what their commands print now; those that take seconds."""

import importlib.util
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "figures.py"
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def figures():
    spec = importlib.util.spec_from_file_location("figures", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_quick_figures(figures, tmp_path):
    figures.lay_stories(tmp_path)
    quick = [figure for figure in figures.FIGURES if figure.quick and not figures.needs_data(figure.command)]
    assert quick and figures.check(quick, tmp_path, BIN) == []


def test_quick_figures_of_real_data(figures, shared_data, tmp_path):
    quick = [figure for figure in figures.FIGURES if figure.quick and figures.needs_data(figure.command)]
    assert quick and figures.check(quick, tmp_path, BIN) == []


def test_all_figures_stand_in_their_pages(figures):
    for figure in figures.FIGURES:
        page = (figures.ROOT / figure.page).read_text(encoding="utf-8")
        assert figure.text in page if figure.text else figures.find_block(page, figure.command), figure


def test_a_stale_figure_is_found(figures, tmp_path):
    wrong = figures.Figure("README.md", "SODA_c F1      99.99", "fabula --version")
    stale = figures.Figure("README.md", "SODA_c F1      27.44", "fabula --version")
    assert len(figures.check([wrong, stale], tmp_path, BIN)) == 2


@pytest.mark.parametrize(
    ("text", "printed", "absent"),
    [
        (".4371 .43", "precision\t43.7112\tx(tau=.5)|videos:4\nrecall\t43.0971", ""),
        (".4371 .43", "43.0971 43.7112", ".43"),  # in another order
        (".4372", "43.7112", ".4372"),
        ("2,085 and 98.5", "a 2085 [98.49, 99]", ""),
        ("1.9", "1.98", "1.9"),
    ],
)
def test_numbers_are_compared_as_the_page_rounds_them(figures, text, printed, absent):
    assert figures.absent_number(text, printed) == absent
