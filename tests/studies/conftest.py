"""The browser is that of the report's tests; the server needs its extra."""

from tests.report.conftest import chromium, screenshots

__all__ = ["chromium", "screenshots"]
