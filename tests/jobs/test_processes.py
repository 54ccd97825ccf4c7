"""Over processes of this machine: the JSON of one process; a worker that is killed changes nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fabula
from fabula.core.errors import FabulaError, InputError, MissingExtra
from fabula.evaluate import shards
from fabula.evaluate.shards import Job
from fabula.jobs import processes as room
from fabula.jobs import runner
from fabula.jobs.processes import Processes, can_travel
from fabula.jobs.runner import InProcess
from tests.evaluate.test_shards import METRICS, files, sets  # noqa: F401  (fixtures)


def threads_of_libraries(job: int) -> list[str | None]:
    return [os.environ.get(name) for name in room.THREADS]


def test_no_library_of_a_worker_starts_threads_unless_the_user_says_so(monkeypatch):
    for name in room.THREADS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    ((_, found),) = Processes(1).map(threads_of_libraries, [1])
    assert found == ["1", "1", "1", "3"]


def double(job: int) -> int:
    return 2 * job


def refuse(job: int) -> int:
    raise (MissingExtra("this", "that") if job == 3 else InputError("seen", file="x", hint="mend it"))


def break_down(job: int) -> int:
    return 1 // job


def print_much(job: int) -> int:
    os.write(1, b"x" * 100_000)
    return job


def die_once(mark: str) -> str:
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return mark


def die(job: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return job


def score_and_die_once(job: Job) -> int:
    die_once(str(job.folder.at(f"died {job.shard}")))
    return shards.score_shard(job)


def test_every_job_is_answered():
    with Processes(2).ready() as team:
        assert dict(team.map(double, range(20))) == {i: 2 * i for i in range(20)}
        processes = {w.process.pid for w in team.running if w.process}
        assert dict(team.map(print_much, [5])) == {0: 5}
        assert {w.process.pid for w in team.running if w.process} == processes  # over several passes
    assert team.running == []
    for pid in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_jobs_are_taken_when_they_can_begin():
    taken = []
    answers = Processes(2).map(double, (taken.append(i) or i for i in range(100)))
    next(answers)
    assert len(taken) <= 1 + 2 * room.LOOKAHEAD
    answers.close()


def test_errors_are_answers_and_faults_are_raised():
    said = dict(Processes(2).map(refuse, [1, 3]))
    assert isinstance(said[0], InputError) and said[0].hint == "mend it" and str(said[0]) == "x: seen; mend it"
    assert isinstance(said[1], MissingExtra)
    with pytest.raises(RuntimeError, match=r"in a worker:\n(.|\n)*ZeroDivisionError"):
        list(Processes(2).map(break_down, [1, 0, 1]))


def test_a_worker_that_dies_is_replaced(tmp_path):
    marks = [str(tmp_path / f"{i}") for i in range(3)]
    assert dict(Processes(2).map(die_once, marks)) == dict(enumerate(marks))


def test_a_worker_that_always_dies_is_said(monkeypatch):
    monkeypatch.setattr(room, "RETRIES", 1)
    ((_, said),) = Processes(1).map(die, [1])
    assert isinstance(said, FabulaError) and "died 2 times" in str(said) and "--resume to continue" in str(said)


def test_the_first_of_several_errors_is_said():
    with pytest.raises(MissingExtra):
        runner.run_pass(refuse, "pass", [3, 1, 1, 1], Processes(2), lambda *_: None)


def test_what_cannot_travel_is_done_here():
    assert not can_travel(lambda: None)
    here = os.getpid()
    assert dict(Processes(2).map(lambda job: (job, os.getpid()), [7])) == {0: (7, here)}


@pytest.mark.slow
def test_the_json_of_one_process_also_when_workers_die(files, tmp_path):  # noqa: F811
    one, two, preds = files
    request = {"metrics": METRICS, "repair": "swap"}
    alone = fabula.score(preds, [one, two], **request, engine=InProcess())

    class Deadly(Processes):
        def map(self, work, jobs):
            return super().map(score_and_die_once if work is shards.score_shard else work, jobs)

    many = fabula.score(preds, [one, two], **request, engine=Deadly(2), work=tmp_path / "work")
    assert len(list((tmp_path / "work").glob("died *"))) == 8
    assert json.dumps(many.to_dict()) == json.dumps(alone.to_dict())


PROGRAM = """
import json, sys
from dataclasses import dataclass
import fabula
from fabula.jobs.processes import Processes
from fabula.metrics.stories import StoryMetric

@dataclass(frozen=True, kw_only=True)
class Own(StoryMetric):
    name = "Own"
    def unit(self, ref, pred, ctx):
        return {"value": len(pred) / len(ref)}

refs, preds = sys.argv[1:]
both = [fabula.score(preds, refs, metrics=m, engine=Processes(2)) for m in ("SODA_d", Own())]
print(json.dumps([next(iter(r.scores.values())).value for r in both]))
"""


@pytest.mark.slow
def test_a_program_without_a_guard_and_with_a_metric_of_its_own(files, tmp_path):  # noqa: F811
    """multiprocessing would run the program again in every worker."""
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py"), str(files[1]), str(files[2])]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0 and run.stderr == ""
    assert json.loads(run.stdout)[0] == fabula.score(files[2], files[1], metrics="SODA_d")["SODA_d"].value


def test_processes_are_for_inputs_that_are_worth_them(monkeypatch):
    monkeypatch.setattr(runner, "processors", lambda: 2)
    assert isinstance(runner.runner_for(100 << 20), Processes) and isinstance(runner.runner_for(1000), InProcess)
    monkeypatch.setattr(runner, "processors", lambda: 1)
    assert isinstance(runner.runner_for(100 << 20), InProcess)
