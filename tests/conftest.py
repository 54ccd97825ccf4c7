"""What every room's tests may use: real data where it is at hand, and both kinds of kernels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from fabula import _kernels

os.environ.setdefault("FABULA_CACHE", str(Path(__file__).parents[1] / ".cache"))  # METEOR's index: built once
settings.register_profile("house", deadline=None)  # a busy machine is no failure; a test about time sets its own
settings.load_profile("house")


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data sets that stand beside the project and are no part of it."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("../shared/data is not here: real-data checks need it")
    return folder


@pytest.fixture(params=("python", "native"))
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test twice: with the Python twins, and with the compiled kernels."""
    if request.param == "native" and _kernels.NATIVE is None:
        pytest.skip("this install has no compiled kernels")
    with _kernels.using(request.param):
        yield request.param
