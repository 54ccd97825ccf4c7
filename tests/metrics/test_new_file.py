"""A new metric is one new file: it is listed, parsed, scored and printed, and nothing else is touched."""

import importlib
import sys
import textwrap

import pytest

import fabula
import fabula.metrics.stories
from fabula.core.errors import SpecError
from fabula.metrics import default, metric, room
from tests.toys import corpus

FILE = '''
"""First hit: does the first prediction touch the first reference? (Nobody et al., 2026).

value = [IoU(g_1, p_1) > τ]        mean over videos
"""

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics.stories import StoryMetric


@dataclass(frozen=True, kw_only=True)
class Metric(StoryMetric):
    name: ClassVar[str] = "FirstHit"
    paper: ClassVar[str] = "Nobody et al., 2026"
    at: ClassVar[str | None] = "tau"
    tau: float = 0.5

    def unit(self, ref, pred, ctx):
        iou = self.iou(ref, pred)
        return {"value": float(iou.size > 0 and iou[0, 0] > self.tau)}
'''


@pytest.fixture
def newcomer(tmp_path, monkeypatch):
    """The room with one file more, for as long as a test runs."""
    (tmp_path / "firsthit.py").write_text(textwrap.dedent(FILE).lstrip())
    shelf = fabula.metrics.stories
    monkeypatch.setattr(shelf, "__path__", [*shelf.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    yield
    sys.modules.pop("fabula.metrics.stories.firsthit", None)
    vars(shelf).pop("firsthit", None)


def test_it_is_short():
    assert len(FILE.strip().splitlines()) < 30


@pytest.mark.usefixtures("newcomer")
def test_listed_parsed_scored_and_printed():
    assert "FirstHit" in room.names()
    assert str(metric("firsthit(refs=best)@0.3")) == "FirstHit(refs=best)@0.3"
    assert any(m.name == "FirstHit" for m in default("procedure"))
    with pytest.raises(SpecError, match="did you mean 'FirstHit'"):
        metric("FirstHot")

    refs = corpus({"v1": [(0, 10), (20, 30)], "v2": [(0, 10)]})
    pred = corpus({"v1": [(0, 9)], "v2": [(8, 10)]})
    result = fabula.score(pred, refs)
    assert result["FirstHit"].value == 1 / 2
    assert result["FirstHit"].signature.startswith(
        "FirstHit(refs=mean,missing=zero,order=time,segments=checked,eps=0)@0.5"
    )
    assert result.to_dict()["scores"]["FirstHit"]["value"] == 1 / 2
    assert result.rows["FirstHit"].keys == ("v1", "v2")


def test_it_is_gone_afterwards():
    assert "FirstHit" not in room.names()
