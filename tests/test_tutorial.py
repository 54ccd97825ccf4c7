"""docs/tutorial.md: its commands run in an empty folder, by the installed fabula, print what stands on the page."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "tools" / "tutorial.py"
FABULA = Path(sys.executable).with_name("fabula")

pytestmark = [
    pytest.mark.skipif(not SCRIPT.exists(), reason="tools/ is not beside the tests: not a checkout"),
    pytest.mark.skipif(not FABULA.exists(), reason="the command fabula is not installed beside this Python"),
    pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals"),
]


@pytest.fixture(scope="module")
def tutorial():
    spec = importlib.util.spec_from_file_location("tutorial", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_every_output_of_the_page(tutorial, tmp_path):
    page = tutorial.PAGE.read_text(encoding="utf-8")
    made, printed = tutorial.run_page(page, FABULA, tmp_path)
    assert made == page, "python tools/tutorial.py --write puts the new outputs into the page"
    assert not tutorial.unfounded(page, printed)
    assert "Traceback" not in printed and (tmp_path / "tour" / "report.html").exists()


def test_the_check_can_fail(tutorial, tmp_path):
    page = "It is 3.14.\n\n```console\n$ echo 2.71\n1.41\n$ printf 'a\\nb\\nc\\n'\nx\n…\n```\n"
    made, printed = tutorial.run_page(page, FABULA, tmp_path)
    assert made == "It is 3.14.\n\n```console\n$ echo 2.71\n2.71\n$ printf 'a\\nb\\nc\\n'\na\n…\n```\n"
    assert tutorial.unfounded(page, printed) == ["3.14"]
    with pytest.raises(SystemExit, match="ended with"):
        tutorial.run_page("```console\n$ fabula score nowhere.json\n```\n", FABULA, tmp_path)
