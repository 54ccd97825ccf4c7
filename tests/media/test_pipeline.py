"""Stages side by side give what they would give one after the other, in its order; an error, and a stop, end all."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest

from fabula.media.decode import Video
from fabula.media.pipeline import Stages, ahead, share_of
from tests.media.conftest import write_video


def stage_threads() -> int:
    return sum(thread.name == "fabula-stage" for thread in threading.enumerate())


def test_order_is_kept_and_every_stage_has_its_seconds():
    stages = Stages()
    first = stages.ahead("decode", (time.sleep(0.001) or i for i in range(50)))
    second = stages.ahead("square", first, lambda i: time.sleep(0.001) or i * i, depth=1)
    assert list(second) == [i * i for i in range(50)]
    assert stages.seconds["decode"] >= 0.05 and stages.seconds["square"] >= 0.05
    assert stage_threads() == 0


def test_two_stages_work_at_the_same_time():
    """The second item is made while the first is worked on: else neither would go on."""
    made = threading.Event()

    def items():
        yield 1
        made.set()
        yield 2

    def work(i: int) -> int:
        assert i != 1 or made.wait(10)
        return i

    assert [work(i) for i in ahead(items())] == [1, 2]


def test_no_stage_is_further_ahead_than_it_may():
    made: list[int] = []
    with closing(ahead((made.append(i) or i for i in range(1000)), depth=3)) as items:
        assert next(items) == 0
        time.sleep(0.05)
        assert len(made) <= 5  # one taken, three ready, one waits
    assert stage_threads() == 0 and len(made) < 20


def test_an_error_comes_behind_what_was_finished_before_it():
    def fail(i: int) -> int:
        if i == 7:
            raise ValueError("seven")
        return i

    taken = []
    stages = Stages()
    with pytest.raises(ValueError, match="seven"):
        taken.extend(iter_into(stages.ahead("b", stages.ahead("a", range(100)), fail), taken))
    assert taken == list(range(7)) and stage_threads() == 0


def iter_into(items, taken):
    for item in items:
        taken.append(item)
    return ()


def test_who_stops_early_ends_every_stage_and_closes_what_it_opened():
    closed: list[int] = []

    def items():
        try:
            yield from range(10**9)
        finally:
            closed.append(threading.get_ident())

    stages = Stages()
    chain = stages.ahead("b", stages.ahead("a", items()), lambda i: i)
    with pytest.raises(KeyboardInterrupt), closing(chain):
        for i in chain:
            if i == 5:
                raise KeyboardInterrupt
    assert stage_threads() == 0 and len(closed) == 1 and closed[0] != threading.get_ident()


def test_without_a_thread_the_items_come_all_the_same(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert list(ahead(iter(range(5)))) == list(range(5))


def test_shares():
    assert share_of({"decode": 3.0, "embed": 1.0}) == "decode 75 %, embed 25 %" and share_of({}) == ""
    account = Stages()
    account.add({"decode": 1.0}, 10)
    account.add({"decode": 2.0, "write": 1.0}, 5)
    assert account.line().startswith("15 frames decoded, ") and account.line().endswith("decode 75 %, write 25 %")


@pytest.mark.parametrize("fps", [0.3, 1.0, 2.5, 7.0, 30.0])
def test_samples_are_the_pictures_on_the_screen_at_exact_times(tmp_path, fps):
    """By hand: the last picture that has begun at (i + ½)/fps, for every such time before the end; one at least."""
    import numpy as np

    path = write_video(tmp_path / "v.mkv", [np.full((32, 32, 3), 8 * i, np.uint8) for i in range(11)], fps=5)
    shown = list(Video(path).walk())
    video = Video(path, fps)
    found = [(t, frame.pts) for t, frame in video.sample()]
    times = [(i + 0.5) / fps for i in range(1000) if not i or (i + 0.5) / fps < video.duration]
    assert [float(t) for t, _ in found] == pytest.approx(times)
    for t, pts in found:
        assert pts == max((frame.pts for s, frame in shown if s <= t), default=shown[0][1].pts)
    assert len(list(Video(path, fps).steps())) == len(shown) == 11
