"""What every room's tests may use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("house", deadline=None)  # a busy machine is no failure; a test about time sets its own
settings.load_profile("house")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data sets that stand beside the project and are no part of it."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("../shared/data is not here: real-data checks need it")
    return folder
