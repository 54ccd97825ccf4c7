"""Hints for absent extras: pip lines of packages that an index has, never of `fabula` itself."""

import re
import tomllib
from pathlib import Path

import pytest

from fabula.core import plugins as extras
from fabula.core.errors import MissingExtra

ROOT = Path(__file__).parents[2]


def test_a_hint_names_the_absent_packages_and_never_fabula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda package: package not in ("httpx", "av"))
    assert extras.pip_line("llm") == "pip install 'httpx>=0.27'"
    assert sorted(extras.pip_line("annotate").split()[2:]) == ["'av>=14'", "'httpx>=0.27'"]
    assert (
        str(MissingExtra("asking", "llm")) == "asking needs the extra [llm]; install it with: pip install 'httpx>=0.27'"
    )


def test_every_extra_resolves_to_packages_of_others() -> None:
    for extra, packages in extras.read_extras().items():
        assert packages and "fabula" not in packages, extra
        assert "fabula" not in extras.pip_line(extra)


def test_without_metadata_the_clone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "read_extras", dict)
    assert extras.pip_line("llm") == "pip install '.[llm]' in a clone of Fabula"


def test_the_install_page_lists_every_extra() -> None:
    declared = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    table = (ROOT / "docs" / "install.md").read_text().partition("| extra | for |")[2]
    listed = {
        name
        for row in table.splitlines()
        for name in re.findall(r"`([\w-]+)`", row.split("|")[1] if "|" in row else "")
    }
    assert listed == declared


def test_no_page_or_message_asks_an_index_for_fabula() -> None:
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    assert not [f.name for f in files if re.search(r"pip install ['\"]?fabula[\['\" ]", f.read_text(encoding="utf-8"))]
