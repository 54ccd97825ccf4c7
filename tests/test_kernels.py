"""Which kernels serve: FABULA_KERNELS=python|native|auto, and a plain error for anything else."""

import os
import subprocess
import sys

import pytest

from fabula import _kernels
from fabula.core.errors import KernelError
from fabula.match import ordered

ASK = (
    "import fabula\n"
    "from fabula import _kernels\n"
    "try:\n"
    "    print(fabula.match.ordered([[0, 1], [0.5, 0]]), _kernels.native() is not None)\n"
    "except fabula.FabulaError as error:\n"
    "    print(type(error).__name__, error)\n"
)


def asked(choice: str | None) -> str:
    env = {k: v for k, v in os.environ.items() if k != "FABULA_KERNELS"}
    env |= {} if choice is None else {"FABULA_KERNELS": choice}
    run = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True, env=env, timeout=60)
    return run.stdout.strip()


def test_python():
    assert asked("python") == "(1.0, [(0, 1)]) False"


@pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
@pytest.mark.parametrize("choice", ["native", "auto", None])
def test_native(choice):
    assert asked(choice) == "(1.0, [(0, 1)]) True"


def test_bogus():
    assert asked("bogus") == "KernelError FABULA_KERNELS is 'bogus'; it may be auto, python, native"


def test_native_demanded_and_absent(monkeypatch):
    monkeypatch.setattr(_kernels, "NATIVE", None)
    with pytest.raises(KernelError, match="no compiled kernels"), _kernels.using("native"):
        pass
    with _kernels.using("auto"):
        assert _kernels.native() is None
        assert ordered([[1]]) == (1.0, [(0, 0)])


def test_using_is_undone():
    before = _kernels.native()
    with pytest.raises(ZeroDivisionError), _kernels.using("python"):
        assert _kernels.native() is None
        raise ZeroDivisionError
    assert _kernels.native() is before
    with pytest.raises(KernelError, match="it may be"), _kernels.using("bogus"):
        pass
    assert _kernels.native() is before


def test_threads(monkeypatch):
    monkeypatch.delenv("FABULA_THREADS", raising=False)
    assert _kernels.threads() == os.cpu_count()
    monkeypatch.setenv("FABULA_THREADS", "3")
    assert _kernels.threads() == 3
    for wrong in ("0", "-1", "two"):
        monkeypatch.setenv("FABULA_THREADS", wrong)
        with pytest.raises(KernelError, match="it is a number from 1 to 1024"):
            _kernels.threads()
