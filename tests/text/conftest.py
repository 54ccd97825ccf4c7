"""Fixtures of the text tests: both kernels, small METEOR tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from meteor_tables import write_tables

from fabula import _kernels
from fabula.text.meteor.index import Tables


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return write_tables(tmp_path / "tables")


@pytest.fixture(params=["native", "python"])
def kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "native" and _kernels.NATIVE is None:
        pytest.skip("this install has no compiled kernels")
    with _kernels.using(request.param):
        yield request.param
