"""Every public function has an example in its docstring, and the example is true."""

from __future__ import annotations

import doctest
import inspect
import shutil
from pathlib import Path

import pytest

import fabula
from fabula import demo

ARTEFACTS = Path(__file__).parents[1] / "artefacts"
NEEDS = {
    "train": ("torch", "lightning_fabric", "safetensors"),
    "predict": ("torch", "lightning_fabric", "safetensors"),
    "analyse": ("torch", "lightning_fabric", "safetensors", "tokenizers"),
    "moments": ("torch", "lightning_fabric", "safetensors"),
    "index": ("av", "lancedb"),
    "search": ("lancedb",),
    "read_signs": ("av", "cv2", "onnxruntime", "rapidocr", "PIL"),
}
FUNCTIONS = [name for name in fabula.__all__ if inspect.isfunction(getattr(fabula, name))]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that examples name: runs, features, films, a store of clips."""
    for name in ("runs", "features", "inputs", "search"):
        shutil.copytree(ARTEFACTS / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of(name, folder):
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module, reason=f"fabula.{name} needs {module}, which is not installed")
    if name == "train":
        from fabula.verbs.training.simulate import simulate

        simulate([demo.REFERENCES["annotator_1"]], out=folder / "steps.safetensors")
    if name == "read_signs":
        from tests.media.signs.conftest import Painted, paint_film

        paint_film(folder / "inputs" / "sign.mp4", [Painted("BAKER STREET", height=22)], 0.3, (240, 320))
    known = {"fabula": fabula, "demo": demo, "Path": Path}
    (example,) = doctest.DocTestFinder(recurse=False).find(getattr(fabula, name), name, module=False, globs=known)
    assert example.examples, f"fabula.{name} has no example"
    lines: list[str] = []
    failed = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=lines.append)
    assert not failed.failed, "".join(lines)
