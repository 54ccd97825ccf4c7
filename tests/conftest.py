"""What all tests share: real data where it is at hand, and both kinds of kernels."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fabula import _kernels


@pytest.fixture(scope="session")
def shared_data() -> Path:
    data = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not data.is_dir():
        pytest.skip("../shared/data is not here: real-data checks need it")
    return data


@pytest.fixture(params=("python", "native"))
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test twice: with the Python twins, and with the compiled kernels."""
    if request.param == "native" and _kernels.NATIVE is None:
        pytest.skip("this install has no compiled kernels")
    with _kernels.using(request.param):
        yield request.param
