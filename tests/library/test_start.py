"""A single question, and a page, load what they need: neither lancedb's package nor torch; the rows are the same."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from fabula.library import lance
from fabula.library.embedders import embedder
from fabula.library.embedders.base import unit
from fabula.library.store import Store
from tests.library.made import make_store
from tests.library.test_embedders import needs_wheels

HEAVY = {"torch", "lancedb", "lance_namespace", "pydantic", "pandas", "scipy", "sklearn", "onnxruntime", "av", "cv2"}
HEAVY_MODULES = {"pyarrow.compute", "pyarrow.dataset", "fabula.report.html", "fabula.metrics"}
SHOW = "import sys; print('loaded', *sys.modules, file=sys.stderr)"


def loaded(code: str) -> set[str]:
    """The packages and modules that a fresh interpreter has loaded after this code."""
    run = subprocess.run([sys.executable, "-c", f"{code}\n{SHOW}"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    names = set(run.stderr.splitlines()[-1].split()) - {lance.NAME}  # the engine alone
    return names | {name.partition(".")[0] for name in names}


@pytest.fixture(scope="module")
def offline_store(tmp_path_factory):
    vectors = unit(np.random.default_rng(0).normal(size=(6, 384)).astype(np.float32))
    recipe = {**embedder("offline").recipe(), "clips": {"fps": 1.0}}
    return make_store(tmp_path_factory.mktemp("start") / "store", {"a.mp4": vectors[:4], "b.mp4": vectors[4:]}, recipe)


@needs_wheels
def test_a_question_on_the_command_line_loads_no_torch_and_no_package_of_lance(offline_store):
    arguments = ["search", "a dog in the water", "--store", offline_store.where]
    code = f"from fabula.verbs.command_line import fabula\nfabula.main({arguments!r}, standalone_mode=False)"
    names = loaded(code)
    assert not names & (HEAVY | HEAVY_MODULES)
    assert {"numpy", "pyarrow", "tokenizers"} <= names


def test_the_engine_reads_what_the_package_reads(tmp_path, monkeypatch):
    rows = np.arange(24, dtype=np.float32).reshape(6, 4)
    recipe = {"embedder": "toy", "dims": 4, "weights": {}, "clips": {}}
    make_store(tmp_path / "store", {"a.mp4": rows[:4], "b.mp4": rows[4:]}, recipe)
    light = Store.open(tmp_path / "store")
    assert isinstance(light.clips_reader, lance.EngineTable)
    monkeypatch.setattr(lance, "open_base", lambda where: None)
    full = Store.open(tmp_path / "store")
    assert not isinstance(full.clips_reader, lance.EngineTable)
    named = [[one["version"] for one in store.clips_reader.list_versions()] for store in (light, full)]
    assert named[0] == named[1] and named[0][-1] == light.clips_reader.version
    assert light.version == full.version and light.videos() == full.videos() and light.clips().equals(full.clips())
    for one, other in zip(light.vectors(), full.vectors(), strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)


def test_an_engine_that_is_called_otherwise_leaves_the_tables_to_the_package(monkeypatch):
    async def connect(address, consistency):
        raise AssertionError

    monkeypatch.setattr(lance, "find_engine", lambda: SimpleNamespace(connect=connect))
    assert lance.open_base("store") is None
    monkeypatch.setattr(lance, "find_engine", lambda: None)
    assert lance.open_base("store") is None
