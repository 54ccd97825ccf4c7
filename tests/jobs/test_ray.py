"""On a real Ray cluster of this machine: the JSON of the local engine, also when a worker is killed in the middle."""

import json
import os
import signal
from pathlib import Path

import pytest

import fabula
from fabula.core.errors import InputError
from fabula.data.result import Result
from fabula.data.stories import Corpus
from fabula.evaluate import shards
from tests.evaluate.test_shards import METRICS, files, killed_in_the_middle, sets  # noqa: F401  (fixtures)
from tests.toys import corpus

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'fabula[ray]'")
from fabula.jobs.ray import Ray, cluster  # noqa: E402

pytestmark = [
    pytest.mark.slow,
]
SMALL = {"num_cpus": 2, "object_store_memory": 100 << 20}


@pytest.fixture(scope="module", autouse=True)
def two_workers():
    """A cluster on the loopback, started here and stopped here."""
    with cluster(None, SMALL):
        yield
    assert not ray.is_initialized()


class Killing(Ray):
    """The worker of shard 2 dies on the first try, once in each pass; the marks say that it did."""

    def __init__(self, marks: Path) -> None:
        super().__init__()
        self.marks = marks

    def map(self, work, jobs):
        marks = self.marks

        def deadly(job):
            number = getattr(job, "shard", 2)  # of the pieces, every one
            mark = marks / f"{work.__name__} {number}"
            if number == 2 and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return work(job)

        return super().map(deadly, jobs)


def as_json(result: Result) -> str:
    return json.dumps(result.to_dict(), indent=2)


def test_the_json_of_the_local_engine(files):  # noqa: F811
    one, two, preds = files
    local = fabula.score(preds, [one, two], metrics=METRICS, repair="swap")
    said = []
    far = fabula.score(
        preds, [one, two], metrics=METRICS, repair="swap", engine="ray", progress=lambda *state: said.append(state)
    )
    assert as_json(far) == as_json(local)
    assert ("shards", 8, 8) in said
    for name, rows in local.rows.items():
        assert list(far.rows[name].dicts()) == list(rows.dicts())


def test_a_killed_worker_changes_nothing(files, tmp_path):  # noqa: F811
    one, two, preds = files
    local = fabula.score(preds, [one, two], metrics=METRICS, repair="swap")
    marks = tmp_path / "marks"
    marks.mkdir()
    far = fabula.score(preds, [one, two], metrics=METRICS, repair="swap", engine=Killing(marks))
    assert sorted(m.name for m in marks.iterdir()) == ["score_shard 2", "split_piece 2", "survey_shard 2"]  # all died
    assert as_json(far) == as_json(local)


def test_a_local_run_that_was_killed_goes_on_here(files, tmp_path):  # noqa: F811
    one, two, preds = files
    written = killed_in_the_middle(files, tmp_path / "work")
    request = {"metrics": METRICS, "repair": "swap"}
    far = fabula.score(preds, [one, two], **request, work=tmp_path / "work", resume=True, engine="ray")
    assert as_json(far) == as_json(fabula.score(preds, [one, two], **request))
    assert {f: f.stat().st_mtime_ns for f in written} == written


def test_an_error_in_a_worker_is_the_users_error():
    bare = corpus({"v_1": [(0, 1)]})
    with pytest.raises(InputError, match="1 of 1 events have no caption; a metric that compares captions"):
        fabula.score(bare, bare, metrics="SODA_c(text=exact,tok=none)", engine="ray")


def test_a_worker_that_always_dies_is_said(monkeypatch):
    monkeypatch.setattr("fabula.jobs.ray.RETRIES", 1)

    def dies(job):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(fabula.FabulaError, match=r"Ray gave up .*--resume to continue"):
        list(Ray().map(dies, [1]))


def in_parts(path: Path, folder: Path, ending: str, parts: int = 3) -> Path:
    """The stories of a file in a folder of shards."""
    stories = list(fabula.read(path)[0].items())
    folder.mkdir()
    for k in range(parts):
        some = stories[k * len(stories) // parts : (k + 1) * len(stories) // parts]
        fabula.write(Corpus(dict(some)), folder / f"part-{k}.{ending}", "fabula")
    return folder


def test_activitynet(shared_data, tmp_path):
    """All 4,917 videos of val_1, as shards of Parquet and of JSON Lines; a worker is killed in every pass."""
    whole = [
        shared_data / "anet_preds_bmt" / "captioning_results_val_1_e26.json",
        shared_data / "anet_captions" / "val_1.json",
    ]
    request = {"metrics": "SODA_d,mIoU,PRF@0.5,DVC_CIDEr", "task": "dense", "repair": "swap"}
    local = fabula.score(*whole, **request)
    assert local.counts["videos"] == 4917 and local["CIDEr"].value > 0.1
    folders = [in_parts(whole[0], tmp_path / "preds", "jsonl"), in_parts(whole[1], tmp_path / "refs", "parquet")]
    marks = tmp_path / "marks"
    marks.mkdir()
    far = fabula.score(*folders, **request, engine=Killing(marks))
    assert sorted(m.name for m in marks.iterdir()) == ["score_shard 2", "split_piece 2", "survey_shard 2"]
    named = as_json(far)
    for folder, file in zip(folders, whole, strict=True):
        named = named.replace(str(folder), str(file))
    assert named == as_json(local)


def test_jobs_are_small():
    job = shards.Job(Path("work"), 7, (fabula.metric("SODA_c"), fabula.metric("DVC_CIDEr")))
    assert len(ray.cloudpickle.dumps(job)) < 2000
