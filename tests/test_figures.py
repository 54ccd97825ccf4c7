"""Measured figures of README and docs are what their commands print now; those that take seconds."""

import importlib.util
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "figures.py"


@pytest.fixture(scope="module")
def figures():
    spec = importlib.util.spec_from_file_location("figures", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_quick_figures(figures, tmp_path):
    figures.lay_stories(tmp_path)
    quick = [figure for figure in figures.FIGURES if figure.quick]
    assert figures.check(quick, tmp_path, Path(sys.executable).parent) == []


def test_all_figures_stand_in_their_pages(figures):
    for figure in figures.FIGURES:
        assert figure.text in (figures.ROOT / figure.page).read_text(encoding="utf-8"), figure


def test_a_stale_figure_is_found(figures, tmp_path):
    wrong = figures.Figure("README.md", "SODA_c F1      99.99", "fabula --version", "99")
    assert len(figures.check([wrong], tmp_path, Path(sys.executable).parent)) == 2
