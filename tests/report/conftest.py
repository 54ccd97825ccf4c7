"""A headless Chromium for the tests of the page; without one they skip and say why."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    *("--hide-scrollbars", "--force-device-scale-factor=1", "--window-size=1280,1000"),
]


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Selenium's driver of Debian's Chromium."""
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="selenium is not installed: pip install 'fabula[test]'"
    )
    from selenium.common.exceptions import WebDriverException

    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        pytest.skip("no chromium and chromedriver here: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        session = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    except WebDriverException as error:
        pytest.skip(f"chromium does not start here: {(error.msg or '').splitlines()[:1]}")
    session.set_page_load_timeout(120)
    session.set_script_timeout(120)
    yield session
    session.quit()


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where pictures of the page are left for people to look at."""
    folder = Path(__file__).parents[2] / "test-screenshots"
    folder.mkdir(exist_ok=True)
    return folder
