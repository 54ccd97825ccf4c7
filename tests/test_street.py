"""The street front: the site builds without a warning, and files that say the same thing say the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import fabula

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "mkdocs.yml").exists(), reason="not a checkout")
SYSTEMS = {"ubuntu-latest", "macos-latest", "windows-latest"}


def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.slow  # mkdocs reads every module; links and names of pages are tested in test_docs.py
def test_the_site_builds_without_a_warning(tmp_path):
    for package in ("mkdocs", "material", "mkdocstrings"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install 'fabula[docs]'")
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--site-dir",
        str(tmp_path / "site"),
    ]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    page = (tmp_path / "site" / "api" / "index.html").read_text(encoding="utf-8")
    assert (
        'id="fabula.verbs.scoring.score.score"' in page
        and "Score predictions against one or more reference sets" in page
    )
    assert (tmp_path / "site" / "tutorial" / "index.html").exists()


def test_every_page_has_its_place_on_the_site():
    named = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert named == {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}


def test_one_version_everywhere():
    assert project()["version"] == fabula.__version__
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), flags=re.M)
    assert cited is not None and cited.group(1) == fabula.__version__
    assert f"## {fabula.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_promised_pythons_are_tried_and_built():
    lines = [c.rpartition(" ")[2] for c in project()["classifiers"] if "Python :: 3." in c]  # type: ignore[attr-defined]
    assert lines[0] == str(project()["requires-python"]).removeprefix(">=")
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with fabula[docs]")
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())
    matrix = tests["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == lines and set(matrix["os"]) == SYSTEMS
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]["build"]
    assert built.split() == [f"cp{v.replace('.', '')}-*" for v in lines]
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    assert release["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert set(release["jobs"]["publish"]["needs"]) == {"wheels", "source"}


def test_actions_of_workflows_are_named_by_their_commit():
    """A tag can be moved to other code by whoever has its repository; a hash cannot."""
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        used = re.findall(r"uses: *(.+)", path.read_text(encoding="utf-8"))
        assert used and all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[0-9.]+", name) for name in used), used


def test_links_of_the_front_pages_lead_somewhere():
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / name).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{name}: {target}"


def test_the_core_brings_no_matplotlib():
    """pycocotools asked for it until 2.0.8."""
    assert "pycocotools>=2.0.9" in project()["dependencies"]  # type: ignore[operator]
    named = {re.split(r"[<>=\[]", d)[0] for d in project()["dependencies"]}  # type: ignore[attr-defined]
    assert named == {"numpy", "click", "rich", "pycocoevalcap", "pycocotools"}


def test_flags_of_compilers_are_guarded():
    text = (ROOT / "CMakeLists.txt").read_text()
    before, msvc, rest = text.partition("if(MSVC)")
    assert msvc and "-ffp-contract=off" not in before and "/fp:precise" in rest.partition("else()")[0]
    assert "add_compile_options(-ffp-contract=off)" in rest.partition("else()")[2]
