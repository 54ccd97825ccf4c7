"""Why queries are missed, on rankings that a reader can judge."""

import pytest

import fabula
from fabula import metrics
from fabula.core.errors import SpecError
from fabula.diagnosis import retrieval
from fabula.stats import Resampling, Sample
from tests.moment_toys import VIDEOS, tvr_predictions, tvr_queries

FEW = Resampling(resamples=50)
KITCHEN, GARDEN = VIDEOS["kitchen"], VIDEOS["garden"]
QUERIES = {i: ("kitchen", [10, 20]) for i in range(1, 7)}
ANSWERS = {
    1: [[KITCHEN, 10, 20, 0.9]],  # right
    2: [[GARDEN, 10, 20, 0.9], [KITCHEN, 11, 20, 0.8]],  # right, at place 2
    3: [[KITCHEN, 40, 50, 0.9], [GARDEN, 10, 20, 0.8]],  # the video, at another time
    4: [[KITCHEN, 10, 50, 0.9], [KITCHEN, 11, 20, 0.8]],  # right, at place 2 behind the same video
    5: [[GARDEN, 10, 20, 0.9], [KITCHEN, 40, 50, 0.8]],  # another video; the right one comes at another time
}  # 6: no answer


@pytest.fixture
def files(tmp_path):
    return tvr_predictions(tmp_path / "p.json", VCMR=ANSWERS), tvr_queries(tmp_path / "q.jsonl", QUERIES)


def test_every_query_has_one_fault(files):
    seen = retrieval(*files, ci=FEW)
    kinds = ["right", "rank", "moment", "rank", "video", "video"]
    assert [seen.of(i) for i in QUERIES] == kinds
    assert [f.queries for f in seen.faults] == [1, 2, 1, 2]
    assert sum(f.share for f in seen.faults) == pytest.approx(1)
    assert seen["right"].share == fabula.score(*files, task="moments", metrics="VCMR(k=1,iou=0.5)")["VCMR"].value
    assert any("no answer" in w for w in seen.warnings)


def test_k_and_iou_decide(files):
    assert retrieval(*files, k=2, ci=FEW)["right"].queries == 3
    assert retrieval(*files, k=2, ci=FEW)["moment"].queries == 2
    assert retrieval(*files, iou=0.95, ci=FEW)["right"].queries == 1
    with pytest.raises(SpecError, match="k=0"):
        retrieval(*files, k=0)


def test_queries_of_a_video_are_drawn_together(files):
    """Six queries, one video: it is one that is drawn, and there is no interval."""
    result = fabula.score(*files, task="moments", metrics="VCMR", ci=FEW)
    score = result["VCMR"]
    assert score.ci is None and any("1 videos are too few" in line for line in result.warnings)
    sample = Sample.of(result.rows["VCMR"], metrics.metric("VCMR"))
    assert sample.videos == ("kitchen",) and sample.totals is not None
