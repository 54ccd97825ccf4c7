"""What the system refuses costs one line and exit code 2; a fault of ours shows where it is."""

from __future__ import annotations

import errno
import importlib

import pytest

from fabula import _kernels
from fabula.core.errors import KernelError, SpecError
from fabula.stats.resampling import Resampling
from fabula.verbs import command_line

REFUSED = {
    "memory ran out": MemoryError(),
    "nested too deeply": RecursionError(),
    "No space left on device": OSError(errno.ENOSPC, "No space left on device", "out.json"),
    "standard output cannot be written": OSError(errno.ENOSPC, "No space left on device"),
    "Too many open files": OSError(errno.EMFILE, "Too many open files"),
}


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(importlib.import_module("fabula.verbs.scoring.commands.doctor"), "kernel_state", fail)
    monkeypatch.setattr("sys.argv", ["fabula", "doctor"])


@pytest.mark.parametrize("said", REFUSED)
def test_what_the_system_refuses_costs_one_line(monkeypatch, capsys, said):
    fail_with(monkeypatch, REFUSED[said])
    with pytest.raises(SystemExit) as ended:
        command_line.run()
    err = capsys.readouterr().err
    assert ended.value.code == 2 and said in err and err.count("\n") == 1


@pytest.mark.parametrize("error", [ValueError("ours"), KeyError("ours"), EOFError("ours"), AssertionError("ours")])
def test_a_fault_of_ours_is_not_hidden_nor_taken_for_ctrl_d(monkeypatch, error):
    fail_with(monkeypatch, error)
    with pytest.raises(Exception, match="ours") as seen:
        command_line.run()
    assert not isinstance(seen.value, SystemExit)


@pytest.mark.parametrize("said", ["3000000000", "abc", "-1", "0", "1e3", "9" * 5000, " 4", "٤", "1025", "\x1b[2J"])
def test_a_number_of_threads_that_is_none_is_refused(monkeypatch, said):
    monkeypatch.setenv("FABULA_THREADS", said)
    with pytest.raises(KernelError, match="from 1 to 1024") as seen:
        _kernels.threads()
    assert len(str(seen.value)) < 200


def test_threads_within_the_bound_are_taken(monkeypatch):
    monkeypatch.setenv("FABULA_THREADS", "1024")
    assert _kernels.threads() == 1024


def test_absurd_counts_are_refused(fabula):
    with pytest.raises(SpecError, match="1,000,000,000,000 resamples; say at most 1,000,000"):
        Resampling(resamples=10**12)
    score = ("score", "preds.json", "--refs", "refs.json", "--metrics", "mIoU", "--ci")
    for more, said in (
        (("--resamples", 10**12), "say at most 1,000,000"),
        (("--resamples", "1e12"), "not a valid integer"),
        (("--resamples", "9" * 5000), "not a valid integer"),
        (("--seed", 2**63), "between -2^63 and 2^63"),
    ):
        ran = fabula(*score, *more)
        assert ran.code == 2 and said in ran.err, ran.err
        assert max(map(len, ran.err.splitlines())) <= 510
