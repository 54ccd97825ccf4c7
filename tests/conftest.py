"""What every room's tests may use: real data where it is at hand, and both kinds of kernels."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from fabula import _kernels

os.environ.setdefault("FABULA_CACHE", str(Path(__file__).parents[1] / ".cache"))  # METEOR's index: built once
# A busy machine is no failure: a test about time sets its own deadline. Every run draws other examples;
# --hypothesis-profile=thorough draws more of them.
settings.register_profile("house", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=400)
settings.load_profile("house")


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


def pytest_collection_finish() -> None:
    """Modules and the 14,000 tests stay to the end: the collector need not look at them again and again."""
    gc.freeze()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data sets that stand beside the project and are no part of it."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("../shared/data is not here: real-data checks need it")
    return folder


@pytest.fixture
def command_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`fabula …` in this process, for tests in which the process is not the point."""
    from fabula.verbs.command_line import main

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["fabula", *map(str, words)])
        capfd.readouterr()
        code: object = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        return subprocess.CompletedProcess(sys.argv, int(str(code)), *capfd.readouterr())

    return run


@pytest.fixture(params=("python", "native"))
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test twice: with the Python twins, and with the compiled kernels."""
    if request.param == "native" and _kernels.NATIVE is None:
        pytest.skip("this install has no compiled kernels")
    with _kernels.using(request.param):
        yield request.param
