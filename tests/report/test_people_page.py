"""The page of people in a real browser: pictures are seen, nothing runs, a telephone needs no scrolling to the side."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("av", reason="needs fabula[features]")
pytest.importorskip("cv2", reason="needs fabula[features]")

from fabula.media.people import Cast
from fabula.media.people.page import people_page
from tests.media.people.conftest import MARKS, film

EVIL = '<img src=x onerror="document.title=1"><script>document.title=1</script>'


def test_people_in_a_browser(chromium, tmp_path, screenshots):
    long = "a" * 70
    shots = [(20, {p: (5 + 40 * k, 10 + 10 * k) for k, p in enumerate(who)}) for who in ((0, 1, 2), (2, 3), (4,))]
    cast = Cast.of(film(tmp_path / f"{long}.mkv", shots), **MARKS)
    cast = Cast(cast.videos, cast.faces, cast.person, {0: EVIL}, cast.thumbs, cast.metadata, (EVIL,))
    page = tmp_path / "people.html"
    page.write_text(people_page(cast, "People", EVIL), encoding="utf-8")
    chromium.get_log("browser")  # of earlier pages
    for width in (1280, 400):
        chromium.set_window_size(width, 900)
        chromium.get(page.as_uri())
        seen = "return [...document.images].filter((i) => i.complete && i.naturalWidth > 20).length"
        assert chromium.execute_script(seen) == len(cast.thumbs) == len(np.unique(cast.faces.track)) == 6
        assert chromium.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
        assert chromium.execute_script("return document.scripts.length") == 0
        assert chromium.title == "People"
        heads = "return [...document.querySelectorAll('h3')].map((n) => n.textContent).join()"
        assert EVIL in chromium.execute_script(heads)
        chromium.save_screenshot(str(screenshots / f"people-{width}.png"))
    assert chromium.get_log("browser") == []
    chromium.set_window_size(1280, 1000)
