"""The browser is that of the report's tests; servers need the extras `web` and `search`."""

from tests.report.conftest import chromium, screenshots

__all__ = ["chromium", "screenshots"]
